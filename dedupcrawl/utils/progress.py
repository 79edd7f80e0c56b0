"""Callbacks for the progress of long runs."""

from __future__ import annotations

from typing import Protocol


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
