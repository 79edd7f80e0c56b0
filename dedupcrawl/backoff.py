"""Exponential backoff."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def backoff(first: float, longest: float) -> Iterator[float]:
    """Yield pauses without end, each twice as long as the one before.

    Args:
        first: seconds of the first pause, above 0.
        longest: most seconds of a pause, at least ``first``.

    >>> from itertools import islice
    >>> list(islice(backoff(0.25, 1.5), 5))
    [0.25, 0.5, 1.0, 1.5, 1.5]
    """
    pause = first
    while True:
        yield pause
        pause = min(2 * pause, longest)
