"""The daemon from which Spark forks its Python workers, with the imports of all tasks.

They take longer than most tasks. The cluster has Spark's own daemon.
"""

from __future__ import annotations

import gc
from importlib import import_module

MODULES = (
    "pandas",
    "pyspark.sql.pandas.serializers",
    "pyspark.worker",
    "dedupcrawl.batch.preload",
    "dedupcrawl.batch.spark.dataframe",
    "dedupcrawl.batch.spark.engine",
)


def main() -> None:
    """Import the modules, then serve requests until Spark ends the process."""
    for name in MODULES:
        import_module(name)
    gc.freeze()  # a collection would write to, and so copy, the memory that forks share
    import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
