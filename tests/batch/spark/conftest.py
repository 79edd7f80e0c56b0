from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.batch.spark.machine import small, why_not

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], SparkSession]]:
    """A session of our own with two cores, created as by the command."""
    missing = why_not()
    if missing:
        pytest.skip(f"NO SPARK IS TESTED HERE: {missing}")
    from dedupcrawl.batch.spark.session import CommandSession

    with pytest.MonkeyPatch.context() as patch:
        daemon = {"spark.python.daemon.module": "tests.batch.spark.daemon"}
        for name, value in small(tmp_path_factory.mktemp("spark"), **daemon).items():
            patch.setenv(name, value)
        with CommandSession("local[2]") as started:
            yield started


@pytest.fixture(scope="session")
def spark(session: Callable[[], SparkSession]) -> SparkSession:
    return session()
