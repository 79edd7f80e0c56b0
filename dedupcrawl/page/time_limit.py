"""The time limit of a page: the processor time that its thread may use to read and fingerprint it.

Python cannot interrupt a function in C. So reading and fingerprinting call :func:`check_time` between their steps.
Each step takes time proportional to the size of the page.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from math import inf
from time import monotonic, thread_time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

TOO_SLOW = "too-slow"  #: reason of the verdict on a page beyond its limit


class _TimeLimits(NamedTuple):
    """The end of a limit."""

    earliest: float  #: by ``monotonic``; the limit cannot be exceeded before: processor time never runs faster
    processor: float  #: by ``thread_time``, which takes ten times as long to read


_NEVER = _TimeLimits(inf, inf)
_DEADLINE: ContextVar[_TimeLimits] = ContextVar("dedupcrawl_deadline", default=_NEVER)


class TooSlowError(Exception):
    """A page has used more processor time than it may."""


_UNLIMITED = nullcontext()


def time_limit(seconds: float | None) -> AbstractContextManager[None]:
    """Limit the processor time that the code in the block uses in this thread.

    Processor time is used, since a page is not slow because the machine is busy or asleep.

    Args:
        seconds: the limit; None: no limit. Of nested limits the earliest one counts.
    """
    return _UNLIMITED if seconds is None else _limited(seconds)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    outer = _DEADLINE.get()
    inner = _TimeLimits(min(outer.earliest, monotonic() + seconds), min(outer.processor, thread_time() + seconds))
    token = _DEADLINE.set(inner)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def check_time() -> None:
    """Raise :class:`TooSlowError` if the limit of the present page is exceeded."""
    deadline = _DEADLINE.get()
    if monotonic() >= deadline.earliest and thread_time() > deadline.processor:
        raise TooSlowError
