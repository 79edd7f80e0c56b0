"""A limit of the processor time that one page may use.

Python cannot interrupt a function in C. So reading and fingerprinting check the time between their steps, each of
which takes time proportional to the size of the page.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TOO_SLOW = "too-slow"  #: reason of the verdict on a page beyond its limit

_DEADLINE: ContextVar[float] = ContextVar("dedupcrawl_deadline", default=inf)


class TooSlowError(Exception):
    """A page has used more processor time than it may."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Limit the processor time that the code in the block uses in this thread.

    Processor time is used, since a page is not slow because the machine is busy or asleep.

    Args:
        seconds: the limit; None: no limit. Of nested limits the earliest one counts.
    """
    if seconds is None:
        yield
        return
    token = _DEADLINE.set(min(_DEADLINE.get(), thread_time() + seconds))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def check_time() -> None:
    """Raise :class:`TooSlowError` if the limit of the present page is exceeded."""
    deadline = _DEADLINE.get()
    if deadline < inf and thread_time() > deadline:
        raise TooSlowError
