"""The daemon from which Spark forks its Python workers, with the imports of all tasks.

They take longer than most tasks. The cluster has Spark's own daemon.
"""

from __future__ import annotations

import gc

import pandas as pd  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager
from pyspark.sql.pandas import serializers  # noqa: F401

import dedupcrawl.batch.preload
import dedupcrawl.batch.spark.dataframe
import dedupcrawl.batch.spark.engine  # noqa: F401

if __name__ == "__main__":
    gc.freeze()
    manager()
