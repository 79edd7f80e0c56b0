"""Chunks of items, pauses for retries, and callbacks for the progress of long runs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")


def chunked(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of ``size``; the last list may be shorter.

    Like ``itertools.batched`` of Python 3.12.

    >>> list(chunked("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def backoff(first: float, longest: float) -> Iterator[float]:
    """Yield an endless exponential backoff: each pause is twice as long as the previous one.

    Args:
        first: seconds of the first pause, above 0.
        longest: upper limit of a pause in seconds, at least ``first``.

    >>> from itertools import islice
    >>> list(islice(backoff(0.25, 1.5), 5))
    [0.25, 0.5, 1.0, 1.5, 1.5]
    """
    pause = first
    while True:
        yield pause
        pause = min(2 * pause, longest)


class Progress(Protocol):
    """Receives the progress of a run, which is a sequence of steps."""

    def begin(self, step: str, total: int) -> None:
        """Begin a step.

        Args:
            step: name for the user.
            total: sum of all amounts of the step, in its unit (bytes, rows, records).
        """
        ...

    def advance(self, amount: int, pages: int = 0) -> None:
        """Add progress to the current step.

        Args:
            amount: work done since the last call, in the unit of the step.
            pages: number of pages in this amount.
        """
        ...


class NoProgress:
    """A :class:`Progress` that does nothing."""

    def begin(self, step: str, total: int) -> None:
        """Do nothing."""

    def advance(self, amount: int, pages: int = 0) -> None:
        """Do nothing."""
