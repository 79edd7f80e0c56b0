"""Which hosts the pages of a batch are of, and who repeats whom.

The near misses of a batch: kept pages that were compared and did not match.

A batch does not write down whom it compared. Pages that meet share a key, and pages that are much alike share
many: so pairs are made of neighbours in the buckets, and those with most keys in common are weighed.

What the verdicts of a batch amount to, in exact figures.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.fingerprint_table import to_text
from dedupcrawl.batch.solver import NONE, RELATIONS, build_index
from dedupcrawl.decision import DUPLICATE_RELATIONS
from dedupcrawl.ledger.counters import (
    BINS,
    MAX_SLICES,
    OTHER_HOSTS,
    Flow,
    Histogram,
    Host,
    RunTotals,
    Slice,
    bin_edges,
    bin_of,
    slice_width,
)
from dedupcrawl.ledger.entry import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dedupcrawl.batch.fingerprint_table import FingerprintTable
    from dedupcrawl.batch.finished_batch import BatchVerdicts
    from dedupcrawl.batch.solver import RowBuckets
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.utils.progress import Progress

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]
    Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
    Compare = Callable[[int, int], Sequence[Opinion]]


MAX_HOSTS = 200_000  #: hosts that are told apart


class HostIndex:
    """The host of every row.

    Args:
        prints: the corpus.
        teller: is told how far it has come; it has begun already.
    """

    def __init__(self, prints: FingerprintTable, teller: Progress) -> None:
        self._names: dict[str, int] = {OTHER_HOSTS: 0}
        self._origins: dict[bytes, int] = {}
        self._of = np.zeros(len(prints), np.int32)
        start = 0
        for batch in prints.batches:
            urls = batch.column("url").to_pylist()
            self._of[start : start + len(urls)] = [self._place(url) for url in urls]
            start += len(urls)
            teller.advance(len(urls), len(urls))
        self.names = list(self._names)

    def _place(self, url: bytes) -> int:
        origin = b"/".join(url.split(b"/", 3)[:3])
        place = self._origins.get(origin)
        if place is None:
            name = host_of(to_text(url)) or OTHER_HOSTS
            place = self._names.get(name, 0 if len(self._names) > MAX_HOSTS else len(self._names))
            if place:
                self._names[name] = place
            if len(self._origins) < 2 * MAX_HOSTS:
                self._origins[origin] = place
        return place

    def name(self, row: int) -> str:
        """Return the host of a row."""
        return self.names[int(self._of[row])]

    def counted(self, rows: slice, keep: Flags) -> tuple[Host, ...]:
        """Count the pages of these rows by their hosts, those with most pages first."""
        size = len(self.names)
        pages = np.bincount(self._of[rows], minlength=size)
        kept = np.bincount(self._of[rows][keep[rows]], minlength=size)
        order = np.argsort(-pages, kind="stable")
        return tuple(
            Host(self.names[place], int(pages[place]), int(kept[place]), int(pages[place] - kept[place]))
            for place in order[: int(np.count_nonzero(pages))].tolist()
        )

    def flows(self, copies: Numbers, sources: Numbers) -> tuple[Flow, ...]:
        """Count pairs of rows by their hosts, those with most pairs first."""
        size = len(self.names)
        pairs, counts = np.unique(
            self._of[copies].astype(np.int64) * size + self._of[sources], return_counts=True
        )
        order = np.argsort(-counts, kind="stable").tolist()
        return tuple(
            Flow(self.names[pairs[at] // size], self.names[pairs[at] % size], int(counts[at])) for at in order
        )


MAX_PREDECESSORS = 3  #: kept pages before it in each bucket with which a page is paired
MAX_ENTRIES = 4_000_000  #: keys of pages that are looked at; where there are more, those of some pages
MAX_SCORED_PAIRS = 5_000  #: pairs that are weighed
NEAR_SHARE = 0.5  #: of the least similarity of a match: what is farther away is no near miss


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """Two pages that do not match."""

    new: int  #: row
    old: int
    nearest: Opinion  #: the one with the highest similarity
    opinions: tuple[Opinion, ...]


@dataclass(frozen=True, slots=True)
class NearMisses:
    """What was found."""

    near: tuple[ScoredPair, ...]  #: nearest first
    weighed: tuple[ScoredPair, ...]  #: all that do not match
    tried: int  #: pairs that were to be weighed
    pairs: int  #: that there were to choose them from
    one_in: int  #: pages whose neighbours were looked at: all (1), every second one (2), …


def find_near_misses(
    prints: FingerprintTable, rank: Numbers, kept: Flags, of: Numbers, *, weigh: Compare, teller: Progress
) -> NearMisses:
    """Find pairs of kept pages that share keys and do not match, and weigh those that share most.

    Args:
        prints: the corpus.
        rank: of each row, its place in the order in which pages were judged.
        kept: of each row, whether it stands where later pages look.
        of: of each row, the one that it relates to, or a negative number.
        weigh: gives the opinions on a new and an older row.
        teller: is told how far it has come.
    """
    new, old, one_in = _pairs_sharing_keys(prints, rank, kept)
    unrelated = of[new] != old
    pairs, shared = np.unique(new[unrelated] * np.int64(len(prints)) + old[unrelated], return_counts=True)
    chosen = pairs[np.argsort(-shared, kind="stable")[:MAX_SCORED_PAIRS]]
    teller.begin("near misses", len(chosen))
    weighed = []
    for pair in chosen.tolist():
        found = _score(pair // len(prints), pair % len(prints), weigh)
        teller.advance(1)
        if found is not None:
            weighed.append(found)
    near = sorted(filter(_is_near_miss, weighed), key=lambda each: -(each.nearest.similarity or 0.0))
    return NearMisses(tuple(near), tuple(weighed), len(chosen), len(pairs), one_in)


def _pairs_sharing_keys(prints: FingerprintTable, rank: Numbers, kept: Flags) -> tuple[Numbers, Numbers, int]:
    """Return new and old rows, once for each key that they meet under."""
    index = build_index(prints)
    filed_bucket, filed_row = _bucket_entries(index.filed, kept)
    sought_bucket, sought_row = _bucket_entries(index.probed, kept)
    one_in = -(-len(sought_row) // MAX_ENTRIES) or 1
    if one_in > 1:
        some = sought_row % one_in == 0
        sought_bucket, sought_row = sought_bucket[some], sought_row[some]
    rows = len(prints)
    order = np.argsort(filed_bucket * np.int64(rows) + rank[filed_row])
    places, filed_row = (filed_bucket * np.int64(rows) + rank[filed_row])[order], filed_row[order]
    behind = np.searchsorted(places, sought_bucket * np.int64(rows) + rank[sought_row])
    new, old = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for back in range(1, MAX_PREDECESSORS + 1):
        there = behind - back
        fits = there >= 0
        fits[fits] = places[there[fits]] // rows == sought_bucket[fits]
        new.append(sought_row[fits])
        old.append(filed_row[there[fits]])
    return np.concatenate(new), np.concatenate(old), one_in


def _bucket_entries(buckets: RowBuckets, kept: Flags) -> tuple[Numbers, Numbers]:
    """Return bucket and row of each entry of a row that is kept."""
    rows = np.repeat(np.arange(len(buckets.starts) - 1), np.diff(buckets.starts))
    there = kept[rows]
    return buckets.buckets[there].astype(np.int64), rows[there]


def _score(new: int, old: int, weigh: Compare) -> ScoredPair | None:
    """Weigh two pages; None where they match after all, or nothing can be measured."""
    opinions = tuple(weigh(new, old))
    measured = [each for each in opinions if each.similarity is not None]
    if not measured or any(each.match for each in opinions):
        return None
    return ScoredPair(new, old, max(measured, key=lambda each: each.similarity or 0.0), opinions)


def _is_near_miss(weighed: ScoredPair) -> bool:
    similarity = weighed.nearest.similarity or 0.0
    least = [bar.value for bar in weighed.nearest.bars if bar.measure == "similarity"]
    return similarity >= NEAR_SHARE * max(least, default=NEAR_SHARE)


_DUPLICATES = tuple(place for place, each in enumerate(RELATIONS) if each in DUPLICATE_RELATIONS)
_MAX_TIME = 2.0**37  #: seconds; a time that is later is none that a clock has told


def is_duplicate(told: BatchVerdicts) -> Flags:
    """Return of each row whether it repeats another one."""
    return np.isin(told.relation, _DUPLICATES)


def totals_of_batch(told: BatchVerdicts, given: int, sizes: Numbers) -> RunTotals:
    """Return the headline of the rows behind the given ones; ``sizes`` in bytes are of all rows."""
    own = slice(given, None)
    keep, duplicate = told.keep[own], is_duplicate(told)[own]
    relation, reason, size = told.relation[own], told.reason[own], sizes[own]
    names = [*map(str, RELATIONS)]
    return RunTotals(
        pages=len(keep),
        checked=int(np.count_nonzero(reason == NONE)),
        kept=int(np.count_nonzero(keep)),
        dropped=int(np.count_nonzero(~keep)),
        duplicates=_count_by_name(relation[duplicate], names),
        related=_count_by_name(relation[~duplicate], names),
        unchecked=_count_by_name(reason, told.reasons),
        bytes=int(size.sum()),
        bytes_saved=int(size[~keep].sum()),
    )


def detector_counts(told: BatchVerdicts) -> dict[str, int]:
    """Return how many duplicates each detector decided."""
    return _count_by_name(told.detector[is_duplicate(told)], told.detectors)


def largest_clusters(told: BatchVerdicts, given: int, most: int) -> list[tuple[int, Numbers]]:
    """Return the largest clusters of at least two pages: founder, and rows behind the given ones."""
    rows = given + np.flatnonzero(told.reason[given:] == NONE)
    order = np.argsort(told.founder[rows], kind="stable")
    rows = rows[order]
    founders, starts, counts = np.unique(told.founder[rows], return_index=True, return_counts=True)
    largest = np.argsort(-counts, kind="stable")[:most]
    return [
        (int(founders[at]), rows[starts[at] : starts[at] + counts[at]])
        for at in largest.tolist()
        if counts[at] > 1
    ]


def is_valid_time(times: Numbers) -> Flags:
    """Return of each Unix time whether it can be one."""
    return np.asarray(np.isfinite(times) & (np.abs(times) < _MAX_TIME))


def count_slices(told: BatchVerdicts, given: int, times: Numbers) -> tuple[Slice, ...]:
    """Count what came when; pages without a time are left out."""
    known = given + np.flatnonzero(is_valid_time(times[given:]))
    if not len(known):
        return ()
    seconds = np.floor(times[known]).astype(np.int64)
    width = slice_width((int(seconds.min()), int(seconds.max())), 1, MAX_SLICES)
    places = seconds // width
    first, size = int(places.min()), int(places.max() - places.min()) + 1
    fates = (
        told.keep[known] & (told.reason[known] == NONE),
        ~told.keep[known],
        told.reason[known] != NONE,
    )
    counts = [np.bincount(places[fate] - first, minlength=size) for fate in fates]
    return tuple(
        Slice(float((first + at) * width), *(int(of_one[at]) for of_one in counts)) for at in range(size)
    )


def similarity_histograms(
    told: BatchVerdicts, missed: Iterable[Sequence[Opinion]], thresholds: Mapping[str, float | None]
) -> tuple[Histogram, ...]:
    """Count similarities: of related pages by the detector that decided, of others as they were weighed."""
    misses: Counter[tuple[str, int]] = Counter(
        (each.detector, bin_of(each.similarity))
        for opinions in missed
        for each in opinions
        if each.similarity is not None
    )
    found = []
    for place, name in enumerate(told.detectors):
        similar = told.similarity[(told.detector == place) & ~np.isnan(told.similarity)]
        bins = np.bincount([bin_of(each) for each in similar.tolist()], minlength=BINS).tolist()
        missing = tuple(misses[name, at] for at in range(BINS))
        if any(bins) or any(missing):
            found.append(Histogram(name, thresholds.get(name), bin_edges(), tuple(bins), missing))
    return tuple(found)


def _count_by_name(places: Numbers, names: Sequence[str]) -> dict[str, int]:
    """Count places by their names, most first; ``NOBODY`` is none."""
    counts = np.bincount(places[places != NONE].astype(np.int64), minlength=len(names))
    found = {name: int(count) for name, count in zip(names, counts, strict=True) if count}
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))
