from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from dedupcrawl.batch.spark.failing import cause, in_one_sentence, logged, persistently
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        (
            "dedupcrawl.errors.SettingError: lexicon = 'a' is not accepted: b",
            "lexicon = 'a' is not accepted: b",
        ),
        (
            "ModuleNotFoundError: No module named 'dedupcrawl.batch'",
            "the Python of the workers has no dedupcrawl: ",
        ),
        ("OSError: [Errno 28] No space left on device", "OSError: [Errno 28] No space left on device"),
    ],
)
def test_the_cause_is_found_between_tracebacks(raised: str, told: str) -> None:
    assert cause(TASK.format(raised=raised)).startswith(told)


def test_what_has_no_traceback_is_told_by_its_first_line() -> None:
    assert (
        cause("All masters are unresponsive! Giving up.\nat a.b")
        == "All masters are unresponsive! Giving up."
    )
    assert cause("") == "no reason was given"


def test_the_log_tells_why_java_gave_up() -> None:
    told = (
        "26/01/01 10:00:00 ERROR StandaloneSchedulerBackend: Application has been killed. Reason: No master."
    )
    assert logged(f"WARN Utils: loopback\n{told}\n\tat a.b") == "No master."
    assert logged("WARN Utils: loopback") is None
    called = (
        "An error occurred while calling None.a.\n: java.lang.IllegalStateException: It is stopped.\n\tat a"
    )
    assert cause(called) == "IllegalStateException: It is stopped."


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(DedupError, match=r"^as it was$"), in_one_sentence("do it"):
        raise DedupError("as it was")


LOST = (
    "Job aborted: Lost task 1.3: ExecutorLostFailure (executor 0 exited) Reason: Command exited with code 137"
)


@pytest.mark.parametrize(("why", "attempts"), [(LOST, 3), ("OSError: No space left on device", 1)])
def test_what_lost_workers_have_ended_is_done_again_some_times(why: str, attempts: int) -> None:
    done: list[int] = []

    def fail() -> None:
        done.append(1)
        raise PySparkException(why)

    with pytest.raises(PySparkException):
        persistently(fail)
    assert len(done) == attempts


def test_the_second_attempt_counts() -> None:
    outcomes: Iterator[str | PySparkException] = iter([PySparkException(LOST), "done"])

    def do() -> str:
        outcome = next(outcomes)
        if isinstance(outcome, PySparkException):
            raise outcome
        return outcome

    assert persistently(do) == "done"
