"""Progress callbacks of long runs."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the progress of a run, which consists of steps."""

    def begin(self, step: str, total: int) -> None:
        """Begin a step.

        Args:
            step: its name, shown to the user.
            total: the sum of the amounts until its end, in the unit of the step (bytes, rows, records).
        """
        ...

    def advance(self, amount: int, pages: int = 0) -> None:
        """Add progress to the current step.

        Args:
            amount: done since the last call, in the unit of the step.
            pages: how many pages that were.
        """
        ...


class NoProgress:
    """Ignores the progress of a run."""

    def begin(self, step: str, total: int) -> None:
        """Ignore it."""

    def advance(self, amount: int, pages: int = 0) -> None:
        """Ignore it."""
