"""The Spark session of the command: quiet, and never in the way of one that a user owns."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from dedupcrawl.batch.spark.failing import cause, logged
from dedupcrawl.batch.spark.java import java_home
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What is set where neither ``spark-defaults.conf`` nor ``spark-submit`` says otherwise.
DEFAULTS = {
    "spark.app.name": "dedupcrawl",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "true",
    "spark.driver.maxResultSize": "0",
}


@dataclass
class Session:
    """The active session, or one of our own that is started when it is first asked for.

    What its Java says goes to a file, unless ``spark-submit`` has started it.

    Args:
        master: ``local[2]``, ``spark://HOST:PORT``…
    """

    master: str
    _closing: ExitStack = field(default_factory=ExitStack)
    _spark: SparkSession | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def __call__(self) -> SparkSession:
        """Return it.

        Raises :class:`~dedupcrawl.errors.DedupError` if it cannot be started.
        """
        if self._spark is None:
            self._spark = SparkSession.getActiveSession() or self._start()
        return self._spark

    def _start(self) -> SparkSession:
        folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="dedupcrawl-spark-")))
        doing = f"start with the master {self.master!r}"
        with _environment(java_home(folder / "java")):
            _run_java(folder / "log", doing)
        try:
            conf = _configuration(self.master)
            spark = SparkSession.builder.config(conf=conf).getOrCreate()
            spark.sparkContext.pythonExec = python_of(conf)
        except (PySparkException, Py4JError) as error:
            why = logged((folder / "log").read_text("utf-8", "replace")) or cause(str(error))
            raise DedupError(f"Spark could not {doing}: {why}") from error
        self._closing.callback(_stop, spark)
        return spark


def _stop(spark: SparkSession) -> None:
    with suppress(Py4JError, OSError):  # its Java has died, which has been told
        spark.stop()


def _run_java(log: Path, doing: str) -> None:
    try:
        with log.open("wb") as sink:
            gateway = launch_gateway(popen_kwargs={"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
    except Exception as error:
        told = log.read_text("utf-8", "replace").strip()
        raise DedupError(f"Spark could not {doing}: {cause(told or str(error))}") from error
    SparkContext._ensure_initialized(gateway=gateway)


def _configuration(master: str) -> SparkConf:
    conf = SparkConf()  # of the Java that runs, so it knows of spark-defaults.conf and spark-submit
    conf.setMaster(master)
    for name, value in {**DEFAULTS, "spark.executorEnv.PYTHONPATH": _path()}.items():
        conf.setIfMissing(name, value)
    return conf


def python_of(conf: SparkConf) -> str:
    """Return the Python that workers run: the one that is named, else that of this process.

    PySpark itself asks the environment alone, and then takes any ``python3`` that it finds on the PATH.
    """
    return conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable


def _path() -> str:
    """Let workers find this package where the driver has it, on a shared disk."""
    here = str(Path(__file__).parents[3])
    others = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each and each != here]
    return os.pathsep.join([here, *others])


@contextmanager
def _environment(home: str | None) -> Iterator[None]:
    """Set what Spark's scripts look at while they start."""
    if home is None:
        yield
        return
    os.environ["JAVA_HOME"] = home
    try:
        yield
    finally:
        del os.environ["JAVA_HOME"]
