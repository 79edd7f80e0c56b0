"""The Spark session of the command line, and the errors of Spark as single sentences."""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from dedupcrawl.batch.spark import java_home
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
logger = logging.getLogger(__name__)

#: Settings that apply unless ``spark-defaults.conf`` or ``spark-submit`` sets them.
DEFAULT_SETTINGS = {
    "spark.app.name": "dedupcrawl",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "true",
    "spark.driver.maxResultSize": "0",
}
_ATTEMPTS = 3  #: attempts at work that Spark aborts because it lost workers
_WORKER_LOST = re.compile(
    r"ExecutorLostFailure|executor \S+ exited|Command exited with code|FetchFailed", re.IGNORECASE
)
_MAX_CAUSE_CHARS = 400  #: a longer cause is cut
_RAISED_ERROR = re.compile(r"^(?:: )?(?:[\w.]+\.)?(\w*(?:Error|Exception|Interrupt|Exit)): ?(.*)$", re.MULTILINE)
_LOGGED_ERROR = re.compile(r" ERROR [\w.$]+: (?:.* Reason: )?(.+)$", re.MULTILINE)
_OWN_ERROR = re.compile(r"^dedupcrawl\.[\w.]+: (.*)$", re.MULTILINE)
_MISSING_PACKAGE = (
    "the Python of the workers has no {}: it has to be installed there, or shipped (docs/batch.md, Spark)"
)


@dataclass
class CommandSession:
    """The active session, or a session that is started when it is first requested.

    The output of its Java goes to a file, unless ``spark-submit`` has started it.
    """

    master: str
    _closing: ExitStack = field(default_factory=ExitStack)
    _spark: SparkSession | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def __call__(self) -> SparkSession:
        """Return the session; raises DedupError if it cannot be started."""
        if self._spark is None:
            self._spark = SparkSession.getActiveSession() or self._start()
        return self._spark

    def _start(self) -> SparkSession:
        folder = Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="dedupcrawl-spark-")))
        doing = f"start with the master {self.master!r}"
        with _java_environment(java_home(folder / "java")):
            _launch_java(folder / "log", doing)
        try:
            conf = _configuration(self.master)
            spark = SparkSession.builder.config(conf=conf).getOrCreate()
            spark.sparkContext.pythonExec = python_of(conf)
        except (PySparkException, Py4JError) as error:
            why = last_logged_error((folder / "log").read_text("utf-8", "replace")) or error_cause(str(error))
            raise DedupError(f"Spark could not {doing}: {why}") from error
        self._closing.callback(_stop_session, spark)
        return spark


def _stop_session(spark: SparkSession) -> None:
    with suppress(Py4JError, OSError):  # its Java has died, which has been reported
        spark.stop()


def _launch_java(log: Path, doing: str) -> None:
    try:
        with log.open("wb") as sink:
            gateway = launch_gateway(popen_kwargs={"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
    except Exception as error:
        output = log.read_text("utf-8", "replace").strip()
        raise DedupError(f"Spark could not {doing}: {error_cause(output or str(error))}") from error
    SparkContext._ensure_initialized(gateway=gateway)


def _configuration(master: str) -> SparkConf:
    conf = SparkConf()  # from the running Java, so it includes spark-defaults.conf and spark-submit
    conf.setMaster(master)
    for name, value in {**DEFAULT_SETTINGS, "spark.executorEnv.PYTHONPATH": _python_path()}.items():
        conf.setIfMissing(name, value)
    return conf


def python_of(conf: SparkConf) -> str:
    """Return the Python of the workers: the configured one, else that of this process.

    PySpark itself reads only the environment, and else takes any ``python3`` on the PATH.
    """
    return conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable


def _python_path() -> str:
    """Return a path on which workers with a shared disk find this package."""
    here = str(Path(__file__).parents[3])
    others = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each and each != here]
    return os.pathsep.join([here, *others])


@contextmanager
def _java_environment(home: str | None) -> Iterator[None]:
    if home is None:
        yield
        return
    os.environ["JAVA_HOME"] = home
    try:
        yield
    finally:
        del os.environ["JAVA_HOME"]


@contextmanager
def translate_errors(doing: str) -> Iterator[None]:
    """Turn an error of Spark into a DedupError: "Spark could not ``doing``", and the cause."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise DedupError(f"Spark could not {doing}: {error_cause(str(error))}") from error


def retry_lost_workers(do: Callable[[], T]) -> T:
    """Call a function, again if Spark aborts it because too many workers were lost.

    Spark itself repeats the tasks of a lost worker a few times.
    """
    for left in reversed(range(_ATTEMPTS)):
        try:
            return do()
        except (PySparkException, Py4JError) as error:
            if not left or not _WORKER_LOST.search(str(error)):
                raise
            logger.info("workers were lost, trying again: %(cause)s", {"cause": error_cause(str(error))})
    raise AssertionError  # unreachable: the last attempt returns or raises


def error_cause(message: str) -> str:
    """Return the sentence for the user in a message with tracebacks of Python and Java."""
    own = _OWN_ERROR.search(message)
    if own:
        return own[1]
    missing = re.search(r"ModuleNotFoundError: No module named '([^']+)'", message)
    if missing:
        return _MISSING_PACKAGE.format(missing[1].partition(".")[0])
    raised = [f"{name}: {why}" for name, why in _RAISED_ERROR.findall(message) if why]
    python = [each for each in raised if not each.startswith(("SparkException", "PythonException"))]
    lines = message.strip().splitlines() or ["no reason was given"]
    return _truncate((python or raised or lines)[0])


def last_logged_error(log: str) -> str | None:
    """Return the last error in the log of Spark's Java."""
    found = _LOGGED_ERROR.findall(log)
    return _truncate(found[-1]) if found else None


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_CAUSE_CHARS else text[:_MAX_CAUSE_CHARS] + "…"
