"""Exact totals of a run: counters, hosts, flows between hosts, time slices, histograms of similarity.

:class:`UnwrittenCounts` collects them between two writes; the ``merge_…`` functions add up several ledgers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.decision import Status
from dedupcrawl.ledger.ledger_schema import Outcome, stored_host

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dedupcrawl.detectors.base import Assessment, Detector
    from dedupcrawl.ledger.ledger_schema import Entry, EntryState

SliceCounts = tuple[int, int, int]  #: kept, dropped, unchecked

OTHER_HOSTS = "(others)"  #: name of all hosts that are not listed, and of pages without a host
MAX_SLICES = 120  #: time slices of a report
BINS = 50  #: bins of a histogram over similarities from 0 to 1
BIN_EDGES = tuple(index / BINS for index in range(BINS + 1))
PAGES_INDEX, KEPT_INDEX, DROPPED_INDEX = range(3)  #: positions in the counts of a host
UNCHECKED_INDEX = 2  #: position in the counts of a slice, after KEPT_INDEX - 1 and DROPPED_INDEX - 1
_THRESHOLD_NAMES = ("threshold", "share", "tau")  #: constants of detectors: the lowest similarity of a match


@dataclass(frozen=True, slots=True)
class RunCounts:
    """The totals of a run; exact even if only a sample of the pages is listed."""

    pages: int  #: checked and unchecked pages
    checked: int
    kept: int  #: pages
    dropped: int  #: pages
    duplicates: Mapping[str, int]  #: pages by relation, dropped or not
    related: Mapping[str, int]  #: pages by relation: excerpt, expansion, updated, refreshed, sibling
    unchecked: Mapping[str, int]  #: pages by reason
    released: int = 0  #: pages whose claim was released
    bytes: int = 0  #: of all pages
    bytes_saved: int = 0  #: of dropped pages
    requests_saved: int | None = None  #: requests that were not made; None: the run makes no requests


@dataclass(frozen=True, slots=True)
class SliceCount:
    """Pages in a time slice; slices have equal lengths and no gaps between them."""

    start: float  #: Unix time
    kept: int
    dropped: int  #: pages
    unchecked: int  #: pages


@dataclass(frozen=True, slots=True)
class FlowCount:
    """Number of pages of one host that are duplicates of pages of another host (or of the same)."""

    copy: str  #: host of the duplicates
    source: str  #: host of the earlier pages
    pages: int


@dataclass(frozen=True, slots=True)
class HostCount:
    """Number of pages of a host."""

    name: str  #: host and port, or ``OTHER_HOSTS``
    pages: int  #: checked and unchecked pages
    kept: int  #: pages
    dropped: int  #: pages


@dataclass(frozen=True, slots=True)
class Histogram:
    """Similarities of compared pages by one detector."""

    detector: str
    threshold: float | None  #: lowest similarity of a match; None: the detector has no single threshold
    edges: tuple[float, ...]  #: n + 1 rising edges of n bins
    matched: tuple[int, ...]  #: pairs in each bin that the detector matched
    missed: tuple[int, ...]  #: pairs in each bin that it did not match


class UnwrittenCounts:
    """Counts that are not written to the ledger yet."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.hosts: Counter[tuple[str, int]] = Counter()  #: by host and PAGES_, KEPT_ or DROPPED_INDEX
        self.flows: Counter[tuple[str, str]] = Counter()  #: by hosts of the duplicate and the earlier page
        self.slices: Counter[tuple[int, int]] = Counter()  #: by second and index in SliceCounts
        self.detectors: Counter[str] = Counter()  #: duplicates by the detector that decided
        self.bins: Counter[tuple[str, int, bool]] = Counter()  #: by detector, bin, and whether it matched
        self.thresholds: dict[str, float] = {}  #: by detector

    def __bool__(self) -> bool:
        """Whether anything was counted."""
        return bool(self.counts or self.hosts or self.slices)

    def count_verdict(self, entry: Entry, handle: EntryState, *, again: bool) -> None:
        """Count a verdict; ``again``: it replaces an earlier verdict on the same page."""
        if handle.is_unchecked or not again:
            self.hosts[handle.host, PAGES_INDEX] += 1
        if handle.is_unchecked:
            self.slices[handle.second, UNCHECKED_INDEX] += 1
        if entry.verdict.status is Status.DUPLICATE:
            self.flows[handle.host, stored_host(entry.verdict.of or "")] += 1
            self.detectors[entry.verdict.detector or ""] += 1
        for comparison in entry.comparisons:
            for assessment in comparison.assessments:
                self._count_assessment(assessment)

    def count_outcome(self, handle: EntryState, outcome: Outcome) -> None:
        """Count the outcome of a page, if it is kept or dropped."""
        index = {Outcome.KEPT: KEPT_INDEX, Outcome.DROPPED: DROPPED_INDEX}.get(outcome)
        if index is None:
            return
        self.hosts[handle.host, index] += 1
        if not handle.is_unchecked:
            self.slices[handle.second, index - 1] += 1

    def add(self, other: UnwrittenCounts) -> None:
        """Add the counts of another object."""
        for name, counts in vars(other).items():
            vars(self)[name].update(counts)

    def _count_assessment(self, assessment: Assessment) -> None:
        if assessment.similarity is None:
            return
        self.bins[assessment.detector, bin_of(assessment.similarity), assessment.match is not None] += 1
        if assessment.detector not in self.thresholds:
            for threshold in assessment.thresholds:
                # Constants have several names (_THRESHOLD_NAMES); thresholds of a member measure something else.
                if threshold.measure == "similarity" and threshold.at_least:
                    self.thresholds[assessment.detector] = threshold.value


def bin_of(similarity: float) -> int:
    """Return the bin of a similarity; the upper bin if it equals an edge, despite rounding errors."""
    return min(BINS - 1, max(0, int(similarity * BINS + 1e-9)))


def similarity_threshold(detector: Detector) -> float | None:
    """Return the lowest similarity of a match; None if no single constant of the detector defines it."""
    found = (float(getattr(detector, name)) for name in _THRESHOLD_NAMES if hasattr(detector, name))
    return next(found, None)


def slice_width(seconds: Iterable[int], width: int, most: int) -> int:
    """Double ``width`` (seconds) until ``most`` slices cover all ``seconds`` (Unix times)."""
    known = tuple(seconds) or (0,)
    while max(known) // width - min(known) // width >= most:
        width *= 2
    return width


def widened(counts: Mapping[int, SliceCounts], factor: int) -> dict[int, SliceCounts]:
    """Join every ``factor`` slices; keys are slice numbers, counted from 1970."""
    wider: dict[int, SliceCounts] = {}
    for number, (kept, dropped, unchecked) in counts.items():
        before = wider.get(number // factor, (0, 0, 0))
        wider[number // factor] = (before[0] + kept, before[1] + dropped, before[2] + unchecked)
    return wider


def totals_from_counters(counts: Mapping[str, int]) -> RunCounts:
    """Return the totals; ``counts`` has the names of the stats without ``dedup/``."""
    unchecked = _counts_below("unchecked/", counts)
    checked = counts.get("checked", 0)
    return RunCounts(
        pages=checked + sum(unchecked.values()),
        checked=checked,
        duplicates=_counts_below("duplicate/", counts),
        related=_counts_below("related/", counts),
        unchecked=unchecked,
        requests_saved=counts.get("requests_saved"),
        **{name: counts.get(name, 0) for name in ("kept", "dropped", "released", "bytes", "bytes_saved")},
    )


def _counts_below(prefix: str, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts whose names begin with the prefix, largest first."""
    found = {name.removeprefix(prefix): n for name, n in counts.items() if name.startswith(prefix) and n}
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def merge_hosts(hosts: Iterable[HostCount]) -> tuple[HostCount, ...]:
    """Add up the counts of each host; hosts with most pages first."""
    sums: dict[str, HostCount] = {}
    for each in hosts:
        name = each.name or OTHER_HOSTS
        before = sums.get(name, HostCount(name, 0, 0, 0))
        sums[name] = HostCount(name, before.pages + each.pages, before.kept + each.kept, before.dropped + each.dropped)
    return tuple(sorted(sums.values(), key=lambda each: (-each.pages, each.name)))


def merge_flows(flows: Iterable[FlowCount]) -> tuple[FlowCount, ...]:
    """Add up the counts of each pair of hosts; pairs with most pages first."""
    sums: Counter[tuple[str, str]] = Counter()
    for each in flows:
        sums[each.copy or OTHER_HOSTS, each.source or OTHER_HOSTS] += each.pages
    return tuple(FlowCount(*hosts, n) for hosts, n in sorted(sums.items(), key=lambda each: (-each[1], each[0])))


def merge_histograms(histograms: Iterable[Histogram]) -> tuple[Histogram, ...]:
    """Add up the histograms of each detector; all have the same edges."""
    sums: dict[str, Histogram] = {}
    for each in histograms:
        before = sums.get(each.detector)
        sums[each.detector] = each if before is None else _add_histograms(before, each)
    return tuple(sums.values())


def _add_histograms(one: Histogram, two: Histogram) -> Histogram:
    return Histogram(
        one.detector,
        two.threshold if one.threshold is None else one.threshold,
        one.edges,
        tuple(map(sum, zip(one.matched, two.matched, strict=True))),
        tuple(map(sum, zip(one.missed, two.missed, strict=True))),
    )


def merge_slices(slices: Iterable[tuple[int, Iterable[SliceCount]]]) -> tuple[SliceCount, ...]:
    """Add up time slices; return at most :data:`MAX_SLICES` of equal length, without gaps.

    Args:
        slices: the length of a slice (seconds, a power of two) and slices that begin at multiples of it.
    """
    known = [(width, tuple(each)) for width, each in slices]
    starts = [int(each.start) for _, of_one in known for each in of_one]
    if not starts:
        return ()
    width = slice_width(starts, max(width for width, of_one in known if of_one), MAX_SLICES)
    sums: Counter[tuple[int, int]] = Counter()
    for own, of_one in known:
        counts = {int(each.start) // own: (each.kept, each.dropped, each.unchecked) for each in of_one}
        for number, found in widened(counts, width // own).items():
            for kind, n in enumerate(found):
                sums[number, kind] += n
    numbers = range(min(starts) // width, max(starts) // width + 1)
    return tuple(SliceCount(float(number * width), *(sums[number, kind] for kind in range(3))) for number in numbers)
