from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.batch.spark.machine import small, why_not

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    Commands = Callable[[Mapping[str, str]], dict[str, str]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests that end the session run after those that use it."""
    items.sort(key=lambda item: "java_of_session" in getattr(item, "fixturenames", ()))


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


@pytest.fixture
def java_of_session(session: Callable[[], SparkSession]) -> Commands:
    """Return a function that ends the session, and returns variables with which a command uses its Java.

    So does spark-submit. To start and load a Java is most of the work of a small run. The function gets settings of
    Spark; those with an empty value are removed.
    """

    def end(settings: Mapping[str, str]) -> dict[str, str]:
        context: Any = session().sparkContext
        session().stop()
        system = context._jvm.java.lang.System
        for name, value in settings.items():
            system.setProperty(name, value) if value else system.clearProperty(name)
        gateway = context._gateway.gateway_parameters
        return {"PYSPARK_GATEWAY_PORT": str(gateway.port), "PYSPARK_GATEWAY_SECRET": gateway.auth_token}

    return end
