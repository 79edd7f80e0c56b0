"""Pages of a store that share keys and do not match: how near to each other they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.formatting import counted
from dedupcrawl.report.figures import Histogram
from dedupcrawl.report.material import Both
from dedupcrawl.report.sums import BINS, bin_of, edges

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupcrawl.detectors.base import Detector
    from dedupcrawl.judging import Judge
    from dedupcrawl.progress import Progress
    from dedupcrawl.report.material import Key
    from dedupcrawl.stores.base import Candidate, Store

AGAINST = 8  #: earlier pages with which one is compared, the newest
_THRESHOLDS = ("threshold", "share", "tau")  #: what detectors call the least similarity of a match


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What was found."""

    nearest: tuple[Both, ...]  #: pairs, nearest first
    weighed: int  #: pairs in all
    looked_at: int  #: pages whose neighbours were looked up
    missed: Counter[tuple[str, int]]  #: by detector and bin
    thresholds: dict[str, float | None]  #: by detector

    @classmethod
    def found(cls, store: Store, ids: Sequence[int], judge: Judge, most: int, teller: Progress) -> Neighbours:
        """Look up the neighbours of these pages, and weigh them."""
        teller.begin("neighbours", len(ids))
        nearest: list[Both] = []
        missed: Counter[tuple[str, int]] = Counter()
        weighed = 0
        for id in ids:  # noqa: A001  # the field's own word
            for both in _pairs(store, id, judge):
                weighed += 1
                missed.update(
                    (each.detector, bin_of(each.similarity))
                    for each in both.opinions
                    if each.similarity is not None
                )
                nearest.append(both)
            nearest = sorted(nearest, key=lambda each: -(each.similarity or 0.0))[:most]
            teller.advance(1)
        thresholds = {each.name: threshold_of(each) for each in judge.detectors}
        return cls(tuple(nearest), weighed, len(ids), missed, thresholds)

    @property
    def keys(self) -> tuple[Key, ...]:
        """Name the pairs."""
        return tuple(each.key for each in self.nearest)

    def pairs(self, wanted: Sequence[Key]) -> Iterator[Both]:
        """Give those that are wanted."""
        there = {each.key: each for each in self.nearest}
        return (there[key] for key in wanted if key in there)

    def histograms(self) -> tuple[Histogram, ...]:
        """Return how near to each other the pairs are."""
        names = dict.fromkeys(detector for detector, _ in self.missed)
        return tuple(
            Histogram(
                name,
                self.thresholds.get(name),
                edges(),
                (0,) * BINS,
                tuple(self.missed[name, place] for place in range(BINS)),
            )
            for name in names
        )

    def notes(self, pages: int) -> Iterator[str]:
        """Say which pages were compared."""
        some = "all pages" if self.looked_at >= pages else f"{self.looked_at:,} pages, chosen by hash,"
        pairs = counted(self.weighed, "pair")
        yield f"For near misses {some} were compared with others under their keys: {pairs}."


def _pairs(store: Store, id: int, judge: Judge) -> Iterator[Both]:
    """Give a page and each earlier one under its keys that it does not match."""
    page = store.get(id)
    if page is None:
        return
    earlier = [each for each in store.find(page.record.keys) if each.id < id]
    for old in earlier[-AGAINST:]:
        both = _both(page, old, judge)
        if both is not None:
            yield both


def _both(new: Candidate, old: Candidate, judge: Judge) -> Both | None:
    if new.record.url == old.record.url:
        return None
    opinions = judge.opinions(new.record, old.record)
    similarities = [each.similarity for each in opinions if each.similarity is not None]
    if not similarities or any(each.match for each in opinions):
        return None
    key = (new.id, old.id)
    return Both(key, new.record.url, old.record.url, opinions, similarity=max(similarities))


def threshold_of(detector: Detector) -> float | None:
    """Return the least similarity of a match; None where no single constant of the detector is it."""
    found = [getattr(detector, name) for name in _THRESHOLDS if hasattr(detector, name)]
    return float(found[0]) if found else None
