"""How far a share that was counted on a sample can be trusted: intervals of 95 %.

One sample has the interval of Clopper and Pearson (Biometrika 26, 1934): it holds the true share at least as
often as it says, whatever the share and however small the sample. A share over several strata, each with a
weight of its own, has the interval that Zou and Donner (Statistics in Medicine 27, 2008) make of those of the
strata ("MOVER"): the distances from the estimates to the limits are added up like standard deviations. Strata
in which a case weighs the same are one sample.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from math import exp, isqrt, lgamma, log, log1p, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

CONFIDENCE = 0.95
_STEPS = 50  #: of bisection; the interval from 0 to 1 is halved so often
_TERMS = 20  #: of a continued fraction, and more for many cases


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted in a stratum."""

    right: int  #: of ``cases``, those that are what they should be
    cases: int
    weight: float = 1.0  #: of each case: how many like it one stands for


@dataclass(frozen=True, slots=True)
class Share:
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
    return 1 - _highest(cases - right, cases), _highest(right, cases)


def estimate_of(counts: Iterable[Counted]) -> float | None:
    """Return the weighted share of the right cases over all strata; None without cases."""
    strata = list(counts)
    whole = sum(each.cases * each.weight for each in strata)
    return sum(each.right * each.weight for each in strata) / whole if whole else None


def share_of(counts: Iterable[Counted]) -> Share:
    """Return the weighted share of the right cases over all strata, with its interval."""
    strata = _pooled(counts)
    value = estimate_of(strata)
    if value is None:
        return Share(None, 0.0, 1.0)
    whole = sum(each.cases * each.weight for each in strata)
    down = up = 0.0
    for each in strata:
        part, found = each.cases * each.weight / whole, each.right / each.cases
        low, high = clopper_pearson(each.right, each.cases)
        down += (part * (found - low)) ** 2
        up += (part * (high - found)) ** 2
    return Share(value, max(0.0, value - sqrt(down)), min(1.0, value + sqrt(up)))


def _pooled(counts: Iterable[Counted]) -> list[Counted]:
    """Join the strata in which a case weighs the same, and leave out those without cases."""
    sums: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    for each in counts:
        sums[each.weight][0] += each.right
        sums[each.weight][1] += each.cases
    return [Counted(right, cases, weight) for weight, (right, cases) in sorted(sums.items()) if cases]


@lru_cache(maxsize=1 << 14)
def _highest(found: int, cases: int) -> float:
    """Return the highest share at which so few are found in one sample of forty."""
    if found >= cases:
        return 1.0
    low, high = found / cases, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _at_most(found, cases, middle) > (1 - CONFIDENCE) / 2:
            low = middle
        else:
            high = middle
    return high


def _at_most(found: int, cases: int, share: float) -> float:
    """Return the probability of at most ``found`` in ``cases`` (binomial); found < cases, 0 < share < 1."""
    return _incomplete_beta(cases - found, found + 1, 1 - share)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), 0 < x < 1.

    By its continued fraction (NIST Digital Library of Mathematical Functions, 8.17.22), from whichever side
    it converges fast.
    """
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)
    fraction = 1.0
    for m in range(_TERMS + 3 * isqrt(int(a + b)), 0, -1):
        odd = (a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        fraction = 1 - odd / (1 + even / fraction)
    return exp(front) / (a * fraction)
