"""How far a share that was counted on a sample can be trusted: intervals of 95 %.

One sample has the interval of Clopper and Pearson (Biometrika 26, 1934): it holds the true share at least as
often as it says, whatever the share and however small the sample. A share over several strata, each with a
weight of its own, has the interval that Zou and Donner (Statistics in Medicine 27, 2008) make of those of the
strata ("MOVER"): the distances from the estimates to the limits are added up like standard deviations. Strata
in which a case weighs the same are one sample.

Precision, recall and F1.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class StratumCount:
    """What was counted in a stratum."""

    right: int  #: of ``cases``, those that are what they should be
    cases: int
    weight: float = 1.0  #: of each case: how many like it one stands for


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share of a whole, and the interval in which the true one lies; nothing counted is 0…1."""

    value: float | None  #: None: nothing was counted
    low: float
    high: float

    def to_dict(self) -> dict[str, float | None]:
        """Return plain JSON values, rounded to four digits."""
        value = None if self.value is None else round(self.value, 4)
        return {"value": value, "low": round(self.low, 4), "high": round(self.high, 4)}


def clopper_pearson(right: int, cases: int) -> tuple[float, float]:
    """Return the limits of 95 % for a share that ``right`` of ``cases`` have; 0 and 1 without cases."""
    return 1 - _upper_limit(cases - right, cases), _upper_limit(right, cases)


def estimate(counts: Iterable[StratumCount]) -> float | None:
    """Return the weighted share of the right cases over all strata; None without cases."""
    strata = list(counts)
    whole = sum(each.cases * each.weight for each in strata)
    return sum(each.right * each.weight for each in strata) / whole if whole else None


def proportion_of(counts: Iterable[StratumCount]) -> Proportion:
    """Return the weighted share of the right cases over all strata, with its interval."""
    strata = _pooled(counts)
    value = estimate(strata)
    if value is None:
        return Proportion(None, 0.0, 1.0)
    whole = sum(each.cases * each.weight for each in strata)
    down = up = 0.0
    for each in strata:
        part, found = each.cases * each.weight / whole, each.right / each.cases
        low, high = clopper_pearson(each.right, each.cases)
        down += (part * (found - low)) ** 2
        up += (part * (high - found)) ** 2
    return Proportion(value, max(0.0, value - sqrt(down)), min(1.0, value + sqrt(up)))


def _pooled(counts: Iterable[StratumCount]) -> list[StratumCount]:
    """Join the strata in which a case weighs the same, and leave out those without cases."""
    sums: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    for each in counts:
        sums[each.weight][0] += each.right
        sums[each.weight][1] += each.cases
    return [StratumCount(right, cases, weight) for weight, (right, cases) in sorted(sums.items()) if cases]


@lru_cache(maxsize=1 << 14)
def _upper_limit(found: int, cases: int) -> float:
    """Return the highest share at which so few are found in one sample of forty."""
    from scipy.special import betaincinv  # noqa: PLC0415  # takes a quarter of a second to load

    return 1.0 if found >= cases else float(betaincinv(found + 1, cases - found, (1 + CONFIDENCE) / 2))


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
