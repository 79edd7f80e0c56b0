"""Notices that a lease may have ended: the process was stopped, the machine slept, or renewals failed for too long."""

from __future__ import annotations

import time
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: ``time.monotonic`` stops on Linux while the machine sleeps.
_SINCE_BOOT = partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
#: A wall clock that is set forward ends leases of a local store, and is the only one that counts sleep everywhere.
CLOCKS: Sequence[Callable[[], float]] = (_SINCE_BOOT, time.time)


class LeaseWatch:
    """Counts how often the lease of this process may have ended. Thread-safe.

    A lease has ended if any of the clocks has advanced by its duration since the last renewal began. A clock that
    was set forward costs one needless check of the open claims; one that was set back hides nothing from the other.

    Args:
        seconds: duration of the lease.
        clocks: the first must never go back; each returns seconds.
    """

    def __init__(self, seconds: float, clocks: Sequence[Callable[[], float]] = CLOCKS) -> None:
        self._seconds = seconds
        self._clocks = clocks
        self._lock = Lock()
        self._lapses = 0
        self._running_since = self.now()

    def now(self) -> tuple[float, ...]:
        """Return the time by each clock."""
        return tuple(clock() for clock in self._clocks)

    @property
    def lapses(self) -> int:
        """How often the lease has ended so far.

        A claim that was made at a lower count may be another worker's by now. One that was made at this count, or was
        found in the store after a renewal at this count, is not.
        """
        with self._lock:
            now = self.now()
            if any(moment - since >= self._seconds for moment, since in zip(now, self._running_since, strict=True)):
                self._lapses += 1
                self._running_since = now
            return self._lapses

    def renewed(self, began: tuple[float, ...]) -> None:
        """Record a successful renewal; ``began``: the time (:meth:`now`) before the store was called."""
        _ = self.lapses  # a late renewal does not undo the lapse
        with self._lock:
            if began[0] > self._running_since[0]:
                self._running_since = began
