"""Precision, recall and F1, and confidence intervals of proportions that were counted on a sample.

One sample has the exact interval of Clopper and Pearson (Biometrika 26, 1934): it contains the true
proportion in at least 95 % of all samples, whatever the proportion and the sample size. A proportion over
several strata, each with its own weight, has the interval that Zou and Donner (Statistics in Medicine 27,
2008) compute from those of the strata ("MOVER"): the distances from the estimates to the limits are added
like standard deviations. Strata with the same weight are one sample.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from math import log, log1p, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable


CONFIDENCE = 0.95  #: level of all intervals


@dataclass(frozen=True, slots=True)
class Scores:
    """Counts of answers, and their precision, recall and F1.

    With nothing to find and nothing found, all three are 1.
    """

    true_positives: int
    false_positives: int
    false_negatives: int

    @property
    def precision(self) -> float:
        """Share of the answers that are right, 0…1."""
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        """Share of the cases to be found that are found, 0…1."""
        return _ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 0…1."""
        twice = 2 * self.true_positives
        return _ratio(twice, twice + self.false_positives + self.false_negatives)

    def to_dict(self) -> dict[str, float]:
        """Return precision, recall and F1, rounded to four digits."""
        return {name: round(getattr(self, name), 4) for name in ("precision", "recall", "f1")}


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


@dataclass(frozen=True, slots=True)
class StratumCount:
    """The result of a sample from one stratum."""

    successes: int  #: how many of the trials are right, 0…trials
    trials: int
    weight: float = 1.0  #: number of cases of the population that one trial represents, above 0


@dataclass(frozen=True, slots=True)
class Proportion:
    """An estimated proportion with its confidence interval; without trials it is None with 0…1."""

    value: float | None
    low: float
    high: float

    def to_dict(self) -> dict[str, float | None]:
        """Return plain JSON values, rounded to four digits."""
        value = None if self.value is None else round(self.value, 4)
        return {"value": value, "low": round(self.low, 4), "high": round(self.high, 4)}


def clopper_pearson(successes: int, trials: int) -> tuple[float, float]:
    """Return the limits of the exact 95 % interval (Clopper and Pearson, 1934); 0 and 1 without trials."""
    return 1 - _upper_limit(trials - successes, trials), _upper_limit(successes, trials)


@lru_cache(maxsize=1 << 14)
def _upper_limit(found: int, trials: int) -> float:
    """Return the proportion that gives at most ``found`` successes a probability of 2.5 %."""
    if found >= trials:
        return 1.0
    counts = np.arange(1, found + 1)
    log_binomials = np.append(0.0, np.cumsum(np.log((trials + 1 - counts) / counts)))  # of (trials over 0…found)
    successes = np.arange(found + 1)
    low, high = found / trials, 1.0
    while low < (middle := (low + high) / 2) < high:
        logs = log_binomials + successes * log(middle) + (trials - successes) * log1p(-middle)
        if np.exp(logs).sum() > (1 - CONFIDENCE) / 2:
            low = middle
        else:
            high = middle
    return middle


def estimate(counts: Iterable[StratumCount]) -> float | None:
    """Return the weighted proportion of successes over all strata; None without trials."""
    strata = list(counts)
    whole = sum(each.trials * each.weight for each in strata)
    return sum(each.successes * each.weight for each in strata) / whole if whole else None


def proportion_of(counts: Iterable[StratumCount]) -> Proportion:
    """Return the weighted proportion of successes with its interval (Zou and Donner, 2008)."""
    strata = _pooled(counts)
    value = estimate(strata)
    if value is None:
        return Proportion(None, 0.0, 1.0)
    whole = sum(each.trials * each.weight for each in strata)
    down = up = 0.0
    for each in strata:
        part, found = each.trials * each.weight / whole, each.successes / each.trials
        low, high = clopper_pearson(each.successes, each.trials)
        down += (part * (found - low)) ** 2
        up += (part * (high - found)) ** 2
    return Proportion(value, max(0.0, value - sqrt(down)), min(1.0, value + sqrt(up)))


def _pooled(counts: Iterable[StratumCount]) -> list[StratumCount]:
    """Join strata with the same weight, and leave out those without trials."""
    sums: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    for each in counts:
        sums[each.weight][0] += each.successes
        sums[each.weight][1] += each.trials
    counts_by_weight = sorted(sums.items())
    return [StratumCount(right, trials, weight) for weight, (right, trials) in counts_by_weight if trials]
