"""Which other workers of a namespace on servers have been seen alive."""

from __future__ import annotations

MAX_WORKERS = 4096  #: workers that are remembered; of more the first is forgotten, until it is seen again


class SeenWorkerTable:
    """The workers whose lease was seen to be renewed.

    An unexpired lease does not prove that a worker is alive: it outlives a killed worker by up to its duration. A
    renewal proves it.
    Thread-safe.
    """

    def __init__(self) -> None:
        self._first: dict[bytes, int] = {}  # token -> end of its lease when it was seen for the first time

    def sees(self, token: bytes, till: int) -> bool:
        """Note when the lease of a worker ends, in milliseconds; return whether it was renewed since the first note."""
        first = self._first.setdefault(token, till)
        if len(self._first) > MAX_WORKERS:
            self._first.pop(next(iter(self._first)), None)
        return till > first
