"""Measuring the cost of a call by the processor time of its thread, which other processes hardly change."""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


ROUNDS = 30  #: calls whose processor time is measured before a test fails


def least_cpu_seconds(call: Callable[[], object], rounds: int = 3) -> float:
    """Return the least processor time of several calls."""
    seconds = []
    for _ in range(rounds):
        start = thread_time()
        call()
        seconds.append(thread_time() - start)
    return min(seconds)


def takes_less(call: Callable[[], object], seconds: float) -> bool:
    """Whether one of many calls takes less processor time; others may suffer from what the machine does beside them."""
    return any(least_cpu_seconds(call, 1) < seconds for _ in range(ROUNDS))
