"""The session of the command."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark import SparkConf

from dedupcrawl.batch.spark.session import python_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_workers_run_the_python_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    conf = SparkConf(loadDefaults=False)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert python_of(conf) == sys.executable
    monkeypatch.setenv("PYSPARK_PYTHON", "/of/the/environment")
    assert python_of(conf) == "/of/the/environment"
    conf.set("spark.pyspark.python", "/of/the/configuration")
    assert python_of(conf) == "/of/the/configuration"


def test_workers_run_the_python_of_the_command_wherever_the_path_leads(spark: SparkSession) -> None:
    """It may be that of an environment that is not activated."""
    asked = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable)
    assert asked.collect() == [sys.executable]
