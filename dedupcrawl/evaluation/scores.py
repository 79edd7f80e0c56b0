"""Precision, recall and F1."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scores:
    """Counts of right, wrong and missing answers, and what follows from them.

    With nothing to find and nothing found, all three measures are 1.
    """

    right: int
    wrong: int
    missing: int

    @property
    def precision(self) -> float:
        """Share of the answers that are right."""
        return _share(self.right, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """Share of what was to be found that was found."""
        return _share(self.right, self.right + self.missing)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _share(2 * self.right, 2 * self.right + self.wrong + self.missing)

    def to_dict(self) -> dict[str, float]:
        """Precision, recall and F1, rounded to four digits."""
        return {name: round(getattr(self, name), 4) for name in ("precision", "recall", "f1")}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
