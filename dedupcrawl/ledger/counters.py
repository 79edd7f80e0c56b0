"""Exact figures of a run: totals, hosts, time slices and histograms of similarity.

Counts over time in a bounded number of equal spans, which get longer as time goes on.

Sums of what several ledgers counted.

What is counted exactly while pages come, between two writings of a ledger.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.ledger.entry import Fate, host_of
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.ledger.entry import Entry, EntryHandle


@dataclass(frozen=True, slots=True)
class RunTotals:
    """The headline, exact whatever else is sampled.

    The stats of a crawl, and the summary of a batch, say the same.
    """

    pages: int  #: all that came: checked and unchecked
    checked: int
    kept: int
    dropped: int
    duplicates: Mapping[str, int]  #: by relation, dropped or not
    related: Mapping[str, int]  #: by relation: excerpts, expansions, updated ones
    unchecked: Mapping[str, int]  #: by reason
    released: int = 0  #: claims given back
    bytes: int = 0  #: of all pages
    bytes_saved: int = 0  #: of those that were dropped
    requests_saved: int | None = None  #: requests that were not made; None: there was nothing to request


@dataclass(frozen=True, slots=True)
class Slice:
    """What came within one span of time; spans are equal and follow each other without gaps."""

    start: float  #: Unix time
    kept: int
    dropped: int
    unchecked: int


@dataclass(frozen=True, slots=True)
class Flow:
    """How many pages of one host repeat pages of another (or of the same)."""

    copy: str  #: host whose pages are the copies
    source: str  #: host whose pages came first
    pages: int


@dataclass(frozen=True, slots=True)
class Host:
    """What came from one host."""

    name: str
    pages: int
    kept: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """How similar pages were to what they were held against, by one detector."""

    detector: str
    threshold: float | None  #: least similarity of a match, where one number says it
    edges: tuple[float, ...]  #: n + 1 rising edges of n bins
    matched: tuple[int, ...]  #: pairs in each bin that the detector matched
    missed: tuple[int, ...]  #: pairs in each bin that it did not


SliceCounts = tuple[int, int, int]  #: kept, dropped, unchecked


def slice_width(seconds: Iterable[int], width: int, most: int) -> int:
    """Return the least doubling of ``width`` at which ``most`` spans cover all ``seconds`` since 1970."""
    first, last = _first_and_last(seconds)
    while last // width - first // width >= most:
        width *= 2
    return width


def widened(counts: Mapping[int, SliceCounts], factor: int) -> dict[int, SliceCounts]:
    """Join every ``factor`` spans; keys are the places of spans, counted from 1970."""
    wider: dict[int, SliceCounts] = {}
    for place, (kept, dropped, unchecked) in counts.items():
        before = wider.get(place // factor, (0, 0, 0))
        wider[place // factor] = (before[0] + kept, before[1] + dropped, before[2] + unchecked)
    return wider


def _first_and_last(seconds: Iterable[int]) -> tuple[int, int]:
    known = tuple(seconds)
    return (min(known), max(known)) if known else (0, 0)


OTHER_HOSTS = "(others)"  #: all hosts that are not named, and pages without any
MAX_SLICES = 120  #: spans of time that are shown


def totals_from_counters(counts: Mapping[str, int]) -> RunTotals:
    """Return the headline; names are those of the stats without ``dedup/``."""
    unchecked = counters_below("unchecked/", counts)
    return RunTotals(
        pages=counts.get("checked", 0) + sum(unchecked.values()),
        checked=counts.get("checked", 0),
        kept=counts.get("kept", 0),
        dropped=counts.get("dropped", 0),
        duplicates=counters_below("duplicate/", counts),
        related=counters_below("related/", counts),
        unchecked=unchecked,
        released=counts.get("released", 0),
        bytes=counts.get("bytes", 0),
        bytes_saved=counts.get("bytes_saved", 0),
        requests_saved=counts.get("requests_saved"),
    )


def counters_below(prefix: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counters whose names begin with this, largest first."""
    found = {name.removeprefix(prefix): n for name, n in counts.items() if name.startswith(prefix) and n}
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def merge_hosts(hosts: Iterable[Host]) -> tuple[Host, ...]:
    """Add up what is said of the same host; those with most pages first."""
    sums: dict[str, Host] = {}
    for each in hosts:
        name = each.name or OTHER_HOSTS
        before = sums.get(name, Host(name, 0, 0, 0))
        sums[name] = Host(
            name, before.pages + each.pages, before.kept + each.kept, before.dropped + each.dropped
        )
    return tuple(sorted(sums.values(), key=lambda each: (-each.pages, each.name)))


def merge_flows(flows: Iterable[Flow]) -> tuple[Flow, ...]:
    """Add up what is said of the same two hosts; those with most pages first."""
    sums: Counter[tuple[str, str]] = Counter()
    for each in flows:
        sums[each.copy or OTHER_HOSTS, each.source or OTHER_HOSTS] += each.pages
    return tuple(Flow(*hosts, n) for hosts, n in sorted(sums.items(), key=lambda each: (-each[1], each[0])))


def merge_histograms(histograms: Iterable[Histogram]) -> tuple[Histogram, ...]:
    """Add up what is said of the same detector; edges are the same in all."""
    sums: dict[str, Histogram] = {}
    for each in histograms:
        before = sums.get(each.detector)
        sums[each.detector] = each if before is None else _sum_histograms(before, each)
    return tuple(sums.values())


def _sum_histograms(one: Histogram, two: Histogram) -> Histogram:
    return Histogram(
        one.detector,
        two.threshold if one.threshold is None else one.threshold,
        one.edges,
        tuple(map(sum, zip(one.matched, two.matched, strict=True))),
        tuple(map(sum, zip(one.missed, two.missed, strict=True))),
    )


def merge_slices(slices: Iterable[tuple[int, Iterable[Slice]]]) -> tuple[Slice, ...]:
    """Add up spans of time; give them without gaps, at most :data:`SLICES`.

    Args:
        slices: seconds in a span, a power of two, and the spans; they begin at multiples of it.
    """
    known = [(width, tuple(each)) for width, each in slices]
    widest = max((width for width, each in known if each), default=1)
    starts = [int(each.start) for _, of_one in known for each in of_one]
    if not starts:
        return ()
    width = slice_width((min(starts), max(starts)), widest, MAX_SLICES)
    sums: Counter[tuple[int, int]] = Counter()
    for own, of_one in known:
        counts = {int(each.start) // own: (each.kept, each.dropped, each.unchecked) for each in of_one}
        for place, found in widened(counts, width // own).items():
            for kind, n in enumerate(found):
                sums[place, kind] += n
    first, last = min(starts) // width, max(starts) // width
    return tuple(
        Slice(float(place * width), *(sums[place, kind] for kind in range(3)))
        for place in range(first, last + 1)
    )


BINS = 50  #: of a histogram of similarities 0…1
PAGES_INDEX, KEPT_INDEX, DROPPED_INDEX = range(3)  #: places in the counts of a host
UNCHECKED_INDEX = 2  #: the same in those of a slice, whose first two are KEPT - 1 and DROPPED - 1


class RunCounters:
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

    def judged(self, entry: Entry, note: EntryHandle, *, again: bool) -> None:
        """Count a verdict; ``again``: the page had one before, and is no page more."""
        if note.is_unchecked or not again:
            self.hosts[note.host, PAGES_INDEX] += 1
        if note.is_unchecked:
            self.slices[note.second, UNCHECKED_INDEX] += 1
        if entry.verdict.status is Status.DUPLICATE:
            self.flows[note.host, host_of(entry.verdict.of or "")] += 1
            self.detectors[entry.verdict.detector or ""] += 1
        for held in entry.held:
            for opinion in held.opinions:
                self._weighed(opinion)

    def ended(self, note: EntryHandle, fate: Fate) -> None:
        """Count what became of a page."""
        place = {Fate.KEPT: KEPT_INDEX, Fate.DROPPED: DROPPED_INDEX}.get(fate)
        if place is None:
            return
        self.hosts[note.host, place] += 1
        if not note.is_unchecked:
            self.slices[note.second, place - 1] += 1

    def add(self, other: RunCounters) -> None:
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


def bin_edges() -> tuple[float, ...]:
    """Return the edges of the bins."""
    return tuple(place / BINS for place in range(BINS + 1))
