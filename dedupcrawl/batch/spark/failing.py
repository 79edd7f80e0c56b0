"""What went wrong in a task, as one sentence."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
logger = logging.getLogger(__name__)

_ATTEMPTS = 3  #: at what was given up because workers were lost
_LOST = re.compile(
    r"ExecutorLostFailure|executor \S+ exited|Command exited with code|FetchFailed", re.IGNORECASE
)
_LENGTH = 400  #: characters of a cause that are told
_RAISED = re.compile(r"^(?:: )?(?:[\w.]+\.)?(\w*(?:Error|Exception|Interrupt|Exit)): ?(.*)$", re.MULTILINE)
_LOGGED = re.compile(r" ERROR [\w.$]+: (?:.* Reason: )?(.+)$", re.MULTILINE)
_OURS = re.compile(r"^dedupcrawl\.[\w.]+: (.*)$", re.MULTILINE)
_MISSING = (
    "the Python of the workers has no {}: it has to be installed there, or shipped (docs/batch.md, Spark)"
)


@contextmanager
def in_one_sentence(doing: str) -> Iterator[None]:
    """Turn what Spark raises into a :class:`~dedupcrawl.errors.DedupError` that says what was being done."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise DedupError(f"Spark could not {doing}: {cause(str(error))}") from error


def persistently(do: Callable[[], T]) -> T:
    """Do a thing; where Spark gives it up because too many workers were lost, do it again.

    Spark itself does the tasks of a lost worker again; this is for when it has had enough of that.
    """
    for left in reversed(range(_ATTEMPTS)):
        try:
            return do()
        except (PySparkException, Py4JError) as error:
            if not left or not _LOST.search(str(error)):
                raise
            logger.info("workers were lost, it is done again: %(cause)s", {"cause": cause(str(error))})
    raise AssertionError  # the last attempt has returned, or raised


def cause(told: str) -> str:
    """Find, in a text with the tracebacks of Python and Java, what to tell a user."""
    ours = _OURS.search(told)
    if ours:
        return ours[1]
    missing = re.search(r"ModuleNotFoundError: No module named '([^']+)'", told)
    if missing:
        return _MISSING.format(missing[1].partition(".")[0])
    raised = [f"{name}: {why}" for name, why in _RAISED.findall(told) if why]
    return _short(_innermost(raised, told))


def logged(log: str) -> str | None:
    """Find the last error in what Spark's Java has logged."""
    found = _LOGGED.findall(log)
    return _short(found[-1]) if found else None


def _innermost(raised: list[str], told: str) -> str:
    """Return the first error of a task, which is that of Python where there is one; else the first line."""
    python = [each for each in raised if not each.startswith(("SparkException", "PythonException"))]
    lines = told.strip().splitlines() or ["no reason was given"]
    return (python or raised or lines)[0]


def _short(text: str) -> str:
    return text if len(text) <= _LENGTH else text[:_LENGTH] + "…"
