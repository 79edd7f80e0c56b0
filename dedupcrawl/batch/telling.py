"""Who is told how far a run has come."""

from __future__ import annotations

from typing import Protocol


class Teller(Protocol):
    """Shows progress."""

    def begin(self, step: str, total: int) -> None:
        """Begin a step that has so much to do."""
        ...

    def advance(self, amount: int, pages: int = 0) -> None:
        """Tell of so much more that is done, and of so many pages."""
        ...


class Silent:
    """Shows nothing."""

    def begin(self, step: str, total: int) -> None:
        """Say nothing."""

    def advance(self, amount: int, pages: int = 0) -> None:
        """Say nothing."""
