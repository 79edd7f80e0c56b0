from __future__ import annotations

import pytest

from dedupcrawl.batch.spark.failing import cause, in_one_sentence, logged
from dedupcrawl.errors import DedupError

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
