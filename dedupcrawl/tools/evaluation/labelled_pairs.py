"""Labelled pairs of pages, really judged: filed, found through their keys, compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import DedupError
from dedupcrawl.page.model import Page
from dedupcrawl.tools.evaluation.metrics import Proportion, StratumCount, proportion_of
from dedupcrawl.tools.label.labels import Answer, Label
from dedupcrawl.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.tools.label.sampling import OfferedPage, Stratum

_OLD, _NEW = "https://old.invalid/", "https://new.invalid/"  # two pages of one URL would be versions


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A pair of which a person said whether it is the same content."""

    label: Label
    weight: float  #: how many pairs of its run it stands for

    @property
    def is_same(self) -> bool:
        """What the person said."""
        return self.label.answer is Answer.SAME


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """What a configuration makes of a labelled pair."""

    pair: LabelledPair
    is_found: bool  #: whether it takes the newer page for a duplicate of the older one
    opinions: tuple[Opinion, ...]  #: () where one of the pages cannot be judged


@dataclass(frozen=True, slots=True)
class PairScores:
    """How right a configuration is on labelled pairs."""

    pairs: int
    of_found: tuple[StratumCount, ...]  #: what is found, by weight; right is what is the same
    of_same: tuple[StratumCount, ...]  #: what is the same, by weight; right is what is found

    @property
    def found(self) -> int:
        """How many are found."""
        return sum(each.cases for each in self.of_found)

    @property
    def wrong(self) -> int:
        """How many are found, and are different."""
        return self.found - sum(each.right for each in self.of_found)

    @property
    def missed(self) -> int:
        """How many are the same, and not found."""
        return sum(each.cases - each.right for each in self.of_same)

    @property
    def precision(self) -> Proportion:
        """Share of the same pairs among those found."""
        return proportion_of(self.of_found)

    @property
    def recall(self) -> Proportion:
        """Share of those found among the same pairs."""
        return proportion_of(self.of_same)

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        counts = {name: getattr(self, name) for name in ("pairs", "found", "wrong", "missed")}
        return {**counts, "precision": self.precision.to_dict(), "recall": self.recall.to_dict()}


def weighted_pairs(labels: Sequence[Label]) -> list[LabelledPair]:
    """Return the pairs that were said to be the same or different, each with its weight.

    Those of a stratum stand for all of its pairs; what was labelled by other means stands for itself.

    Raises:
        DedupError: there is none.
    """
    answered = [label for label in labels if label.answer is not Answer.SKIP]
    if not answered:
        raise DedupError("No pair is labelled the same or different: dedupcrawl label asks for them")
    counts = Counter(_stratum(label.stratum) for label in answered)
    sizes: dict[object, int] = {}
    for label in answered:
        if label.stratum is not None:
            key = _stratum(label.stratum)
            sizes[key] = max(sizes.get(key, 0), label.stratum.size)
    return [
        LabelledPair(label, max(1.0, sizes.get(key, 0) / counts[key]) if label.stratum else 1.0)
        for label in answered
        for key in [_stratum(label.stratum)]
    ]


def _stratum(stratum: Stratum | None) -> object:
    return stratum and (stratum.run, stratum.kind, stratum.zone, stratum.around)


def judge_pairs(
    pairs: Iterable[LabelledPair], config: Config, advance: Callable[[], object] = lambda: None
) -> list[JudgedPair]:
    """Judge each pair as a crawl would that meets the older page first, and nothing else."""
    with Deduplicator(config=config) as dedup:
        judged = []
        for pair in pairs:
            judged.append(_judge_pair(dedup, pair))
            advance()
    return judged


def _judge_pair(dedup: Deduplicator, pair: LabelledPair) -> JudgedPair:
    old = dedup.file(_page(pair.label.pair.old, _OLD))
    new = dedup.file(_page(pair.label.pair.new, _NEW))
    if isinstance(old, Verdict) or isinstance(new, Verdict):
        return JudgedPair(pair, is_found=False, opinions=())
    dedup.store.add(old)
    verdict = dedup.check_record(new, _NEW)
    dedup.forget(_OLD)
    return JudgedPair(pair, verdict.is_duplicate, dedup.opinions(new, old))


def _page(side: OfferedPage, url: str) -> Page:
    return Page.from_text(side.text, url, side.title)


class PairScorer:
    """Scores what is found of labelled pairs, for all pairs that they stand for."""

    def __init__(self, same: Sequence[bool], weights: Sequence[float]) -> None:
        self._same = np.array(same, dtype=bool)
        of_kinds, self._kinds = np.unique(weights, return_inverse=True)
        self._weights: list[float] = of_kinds.tolist()

    @classmethod
    def of(cls, judged: Sequence[JudgedPair]) -> PairScorer:
        """Score these pairs."""
        return cls([each.pair.is_same for each in judged], [each.pair.weight for each in judged])

    def scores(self, found: npt.NDArray[np.bool_]) -> PairScores:
        """Score flags, one for each pair."""
        right, wrong, missed = (
            self._count(flags) for flags in (found & self._same, found & ~self._same, ~found & self._same)
        )
        counts = list(zip(right, wrong, missed, self._weights, strict=True))
        return PairScores(
            len(found),
            tuple(StratumCount(hits, hits + errors, weight) for hits, errors, _, weight in counts),
            tuple(StratumCount(hits, hits + lost, weight) for hits, _, lost, weight in counts),
        )

    def _count(self, flags: npt.NDArray[np.bool_]) -> list[int]:
        """Count by weight."""
        counted: list[int] = np.bincount(self._kinds[flags], minlength=len(self._weights)).tolist()
        return counted


def score_pairs(judged: Sequence[JudgedPair]) -> PairScores:
    """Score what a configuration found."""
    found = np.array([each.is_found for each in judged], dtype=bool)
    return PairScorer.of(judged).scores(found)
