"""What is counted exactly while pages come, between two writings of a ledger."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.report.hosts import host_of
from dedupcrawl.report.note import Fate
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.report.entry import Entry
    from dedupcrawl.report.note import Note

BINS = 50  #: of a histogram of similarities 0…1
PAGES, KEPT, DROPPED = range(3)  #: places in the counts of a host
UNCHECKED = 2  #: the same in those of a slice, whose first two are KEPT - 1 and DROPPED - 1


class Sums:
    """Counters that are added to those of the file."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.hosts: Counter[tuple[str, int]] = Counter()  #: by host, and PAGES, KEPT or DROPPED
        self.flows: Counter[tuple[str, str]] = Counter()  #: by host of the copy, and host of the source
        self.slices: Counter[tuple[int, int]] = Counter()  #: by second, and kept, dropped, unchecked
        self.detectors: Counter[str] = Counter()  #: duplicates that each of them decided
        self.bins: Counter[tuple[str, int, bool]] = Counter()  #: by detector, bin, and whether it matched
        self.thresholds: dict[str, float] = {}  #: by detector

    def __bool__(self) -> bool:
        """Whether anything was counted."""
        return bool(self.counts or self.hosts or self.slices)

    def judged(self, entry: Entry, note: Note, *, again: bool) -> None:
        """Count a verdict; ``again``: the page had one before, and is no page more."""
        if note.is_unchecked or not again:
            self.hosts[note.host, PAGES] += 1
        if note.is_unchecked:
            self.slices[note.second, UNCHECKED] += 1
        if entry.verdict.status is Status.DUPLICATE:
            self.flows[note.host, host_of(entry.verdict.of or "")] += 1
            self.detectors[entry.verdict.detector or ""] += 1
        for held in entry.held:
            for opinion in held.opinions:
                self._weighed(opinion)

    def ended(self, note: Note, fate: Fate) -> None:
        """Count what became of a page."""
        place = {Fate.KEPT: KEPT, Fate.DROPPED: DROPPED}.get(fate)
        if place is None:
            return
        self.hosts[note.host, place] += 1
        if not note.is_unchecked:
            self.slices[note.second, place - 1] += 1

    def add(self, other: Sums) -> None:
        """Count what another one counted as well."""
        self.counts.update(other.counts)
        self.hosts.update(other.hosts)
        self.flows.update(other.flows)
        self.slices.update(other.slices)
        self.detectors.update(other.detectors)
        self.bins.update(other.bins)
        self.thresholds.update(other.thresholds)

    def _weighed(self, opinion: Opinion) -> None:
        if opinion.similarity is None:
            return
        self.bins[opinion.detector, bin_of(opinion.similarity), opinion.match is not None] += 1
        if opinion.detector not in self.thresholds:
            for bar in opinion.bars:
                # Detectors call it threshold, share or tau; that of a member is of another similarity.
                if bar.measure == "similarity" and bar.at_least:
                    self.thresholds[opinion.detector] = bar.value


def bin_of(similarity: float) -> int:
    """Return the bin of a similarity; one that equals an edge is above it, as floating point may deny."""
    return min(BINS - 1, max(0, int(similarity * BINS + 1e-9)))


def edges() -> tuple[float, ...]:
    """Return the edges of the bins."""
    return tuple(place / BINS for place in range(BINS + 1))
