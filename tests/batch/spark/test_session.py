"""The session of the command, and the errors of Spark as sentences."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from pyspark import SparkConf
from pyspark.errors import PySparkException

from dedupcrawl.batch.spark.session import (
    error_cause,
    last_logged_error,
    python_of,
    retry_lost_workers,
    translate_errors,
)
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


pytest.importorskip("pyspark")


def test_workers_run_the_python_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    conf = SparkConf(loadDefaults=False)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert python_of(conf) == sys.executable
    monkeypatch.setenv("PYSPARK_PYTHON", "/of/the/environment")
    assert python_of(conf) == "/of/the/environment"
    conf.set("spark.pyspark.python", "/of/the/configuration")
    assert python_of(conf) == "/of/the/configuration"


def test_workers_run_the_python_of_the_command_wherever_the_path_leads(spark: SparkSession) -> None:
    """Python may be that of an environment that is not activated."""
    asked = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable)
    assert asked.collect() == [sys.executable]


TASK = """[STAGE_FAILURE] Job aborted: Task 0 failed 4 times: org.apache.spark.api.python.PythonException:
Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
{raised}

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
Caused by: java.io.IOException: Connection reset
"""


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("dedupcrawl.errors.SettingError: lexicon = 'a' is not accepted: b", "lexicon = 'a' is not accepted: b"),
        ("ModuleNotFoundError: No module named 'dedupcrawl.batch'", "the Python of the workers has no dedupcrawl: "),
        ("OSError: [Errno 28] No space left on device", "OSError: [Errno 28] No space left on device"),
    ],
)
def test_the_cause_is_found_between_tracebacks(raised: str, told: str) -> None:
    assert error_cause(TASK.format(raised=raised)).startswith(told)


def test_what_has_no_traceback_is_reported_by_its_first_line() -> None:
    assert error_cause("All masters are unresponsive! Giving up.\nat a.b") == "All masters are unresponsive! Giving up."
    assert error_cause("") == "no reason was given"


def test_the_log_shows_why_java_gave_up() -> None:
    told = "26/01/01 10:00:00 ERROR StandaloneSchedulerBackend: Application has been killed. Reason: No master."
    assert last_logged_error(f"WARN Utils: loopback\n{told}\n\tat a.b") == "No master."
    assert last_logged_error("WARN Utils: loopback") is None
    called = "An error occurred while calling None.a.\n: java.lang.IllegalStateException: It is stopped.\n\tat a"
    assert error_cause(called) == "IllegalStateException: It is stopped."


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(DedupError, match=r"^as it was$"), translate_errors("do it"):
        raise DedupError("as it was")


LOST = "Job aborted: Lost task 1.3: ExecutorLostFailure (executor 0 exited) Reason: Command exited with code 137"


@pytest.mark.parametrize(("why", "attempts"), [(LOST, 3), ("OSError: No space left on device", 1)])
def test_what_lost_workers_have_ended_is_done_again_some_times(why: str, attempts: int) -> None:
    done: list[int] = []

    def fail() -> None:
        done.append(1)
        raise PySparkException(why)

    with pytest.raises(PySparkException):
        retry_lost_workers(fail)
    assert len(done) == attempts


def test_the_second_attempt_counts() -> None:
    outcomes: Iterator[str | PySparkException] = iter([PySparkException(LOST), "done"])

    def do() -> str:
        outcome = next(outcomes)
        if isinstance(outcome, PySparkException):
            raise outcome
        return outcome

    assert retry_lost_workers(do) == "done"
