"""Statistics of a finished batch: totals, clusters, time slices, hosts, histograms, and near misses.

A batch does not store which pages it compared. Similar pages share many keys. So near misses are found
again: neighbours in the buckets form pairs, and the pairs that share most keys are compared.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.batch.columns import to_text
from dedupcrawl.batch.solver import NONE, RELATIONS, build_index
from dedupcrawl.detectors.base import DUPLICATE_RELATIONS
from dedupcrawl.ledger.counters import (
    BIN_EDGES,
    BINS,
    MAX_SLICES,
    OTHER_HOSTS,
    FlowCount,
    Histogram,
    HostCount,
    RunCounts,
    SliceCount,
    bin_of,
    slice_width,
)
from dedupcrawl.ledger.ledger_schema import stored_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dedupcrawl.batch.columns import FingerprintTable, Flags, Numbers
    from dedupcrawl.batch.finished_batch import VerdictTable
    from dedupcrawl.batch.solver import RowBucketIndex
    from dedupcrawl.detectors.base import Assessment
    from dedupcrawl.utils.iteration import Progress

    CompareRows = Callable[[int, int], Sequence[Assessment]]

MAX_HOSTS = 200_000  #: hosts that are counted one by one
MAX_PREDECESSORS = 3  #: pairs of a page with earlier kept pages, in each bucket
MAX_ENTRIES = 4_000_000  #: keys that are looked up; if there are more, pages are sampled
MAX_SCORED_PAIRS = 5_000  #: pairs that are compared
NEAR_SHARE = 0.5  #: lowest similarity of a near miss, as a share of the lowest similarity of a match
_DUPLICATES = tuple(code for code, each in enumerate(RELATIONS) if each in DUPLICATE_RELATIONS)
_MAX_TIME = 2.0**37  #: seconds since 1970; later times are invalid


class HostIndex:
    """The hosts of all rows of a corpus; ``progress`` is in the step that counts rows."""

    def __init__(self, prints: FingerprintTable, progress: Progress) -> None:
        self._names: dict[str, int] = {OTHER_HOSTS: 0}
        self._origins: dict[bytes, int] = {}
        self._of = np.zeros(len(prints), np.int32)
        start = 0
        for batch in prints.batches:
            urls = batch.column("url").to_pylist()
            self._of[start : start + len(urls)] = [self._index(url) for url in urls]
            start += len(urls)
            progress.advance(len(urls), len(urls))
        self.names = list(self._names)

    def _index(self, url: bytes) -> int:
        origin = b"/".join(url.split(b"/", 3)[:3])
        index = self._origins.get(origin)
        if index is None:
            name = stored_host(to_text(url)) or OTHER_HOSTS
            index = self._names.get(name, 0 if len(self._names) > MAX_HOSTS else len(self._names))
            if index:
                self._names[name] = index
            if len(self._origins) < 2 * MAX_HOSTS:
                self._origins[origin] = index
        return index

    def name(self, row: int) -> str:
        """Return the host of a row."""
        return self.names[int(self._of[row])]

    def count(self, rows: slice, keep: Flags) -> tuple[HostCount, ...]:
        """Count the pages of these rows by host, most pages first."""
        size = len(self.names)
        pages = np.bincount(self._of[rows], minlength=size)
        kept = np.bincount(self._of[rows][keep[rows]], minlength=size)
        order = np.argsort(-pages, kind="stable")
        return tuple(
            HostCount(self.names[index], int(pages[index]), int(kept[index]), int(pages[index] - kept[index]))
            for index in order[: int(np.count_nonzero(pages))].tolist()
        )

    def flows(self, copies: Numbers, sources: Numbers) -> tuple[FlowCount, ...]:
        """Count pairs of rows by their hosts, most pairs first."""
        size = len(self.names)
        pairs, counts = np.unique(self._of[copies].astype(np.int64) * size + self._of[sources], return_counts=True)
        order = np.argsort(-counts, kind="stable").tolist()
        return tuple(
            FlowCount(self.names[pairs[at] // size], self.names[pairs[at] % size], int(counts[at])) for at in order
        )


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """Two pages that were compared and do not match."""

    new: int  #: row
    old: int  #: row
    nearest: Assessment  #: the assessment with the highest similarity
    assessments: tuple[Assessment, ...]


@dataclass(frozen=True, slots=True)
class NearMissResult:
    """Near misses, and how they were found."""

    near: tuple[ScoredPair, ...]  #: highest similarity first
    unmatched: tuple[ScoredPair, ...]  #: all compared pairs that do not match
    tried: int  #: pairs that were compared
    pairs: int  #: pairs that share a key
    one_in: int  #: 1: the keys of all pages were looked up; 2: of every second page, …


def find_near_misses(
    prints: FingerprintTable, rank: Numbers, kept: Flags, of: Numbers, *, compare: CompareRows, progress: Progress
) -> NearMissResult:
    """Find pairs of kept pages that share keys and do not match; compare those that share most keys.

    Args:
        prints: the fingerprints of all rows.
        rank: by row, its position in the order of the verdicts.
        kept: by row, whether later pages were compared with it.
        of: by row, its related row, or a negative number.
        compare: returns the assessments of all detectors on a new and an earlier row.
        progress: receives the progress.
    """
    new, old, one_in = _pairs_sharing_keys(prints, rank, kept)
    unrelated = of[new] != old
    pairs, shared = np.unique(new[unrelated] * np.int64(len(prints)) + old[unrelated], return_counts=True)
    chosen = pairs[np.argsort(-shared, kind="stable")[:MAX_SCORED_PAIRS]]
    progress.begin("near misses", len(chosen))
    unmatched = []
    for pair in chosen.tolist():
        found = _score(pair // len(prints), pair % len(prints), compare)
        progress.advance(1)
        if found is not None:
            unmatched.append(found)
    near = sorted(filter(_is_near_miss, unmatched), key=lambda each: -(each.nearest.similarity or 0.0))
    return NearMissResult(tuple(near), tuple(unmatched), len(chosen), len(pairs), one_in)


def _pairs_sharing_keys(prints: FingerprintTable, rank: Numbers, kept: Flags) -> tuple[Numbers, Numbers, int]:
    """Return new and old rows, once for each key that they share."""
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


def _bucket_entries(buckets: RowBucketIndex, kept: Flags) -> tuple[Numbers, Numbers]:
    """Return bucket and row of each entry of a kept row."""
    rows = np.repeat(np.arange(len(buckets.starts) - 1), np.diff(buckets.starts))
    there = kept[rows]
    return buckets.buckets[there].astype(np.int64), rows[there]


def _score(new: int, old: int, compare: CompareRows) -> ScoredPair | None:
    """Compare two pages; None if they match, or no detector measures a similarity."""
    assessments = tuple(compare(new, old))
    measured = [each for each in assessments if each.similarity is not None]
    if not measured or any(each.match for each in assessments):
        return None
    return ScoredPair(new, old, max(measured, key=lambda each: each.similarity or 0.0), assessments)


def _is_near_miss(pair: ScoredPair) -> bool:
    similarity = pair.nearest.similarity or 0.0
    least = [threshold.value for threshold in pair.nearest.thresholds if threshold.measure == "similarity"]
    return similarity >= NEAR_SHARE * max(least, default=NEAR_SHARE)


def is_duplicate(verdicts: VerdictTable) -> Flags:
    """Return by row whether it is a duplicate."""
    return np.isin(verdicts.relation, _DUPLICATES)


def totals_of_batch(verdicts: VerdictTable, given: int, sizes: Numbers) -> RunCounts:
    """Return the totals of the rows from ``given`` on; ``sizes`` are bytes by row."""
    own = slice(given, None)
    keep, duplicate = verdicts.keep[own], is_duplicate(verdicts)[own]
    relation, reason, size = verdicts.relation[own], verdicts.reason[own], sizes[own]
    names = [*map(str, RELATIONS)]
    return RunCounts(
        pages=len(keep),
        checked=int(np.count_nonzero(reason == NONE)),
        kept=int(np.count_nonzero(keep)),
        dropped=int(np.count_nonzero(~keep)),
        duplicates=_count_by_name(relation[duplicate], names),
        related=_count_by_name(relation[~duplicate], names),
        unchecked=_count_by_name(reason, verdicts.reasons),
        bytes=int(size.sum()),
        bytes_saved=int(size[~keep].sum()),
    )


def detector_counts(verdicts: VerdictTable) -> dict[str, int]:
    """Return the number of duplicates by the detector that decided."""
    return _count_by_name(verdicts.detector[is_duplicate(verdicts)], verdicts.detectors)


def largest_clusters(verdicts: VerdictTable, given: int, most: int) -> list[tuple[int, Numbers]]:
    """Return the largest clusters with at least two pages: founder, and rows from ``given`` on."""
    rows = given + np.flatnonzero(verdicts.reason[given:] == NONE)
    order = np.argsort(verdicts.founder[rows], kind="stable")
    rows = rows[order]
    founders, starts, counts = np.unique(verdicts.founder[rows], return_index=True, return_counts=True)
    largest = np.argsort(-counts, kind="stable")[:most]
    return [
        (int(founders[at]), rows[starts[at] : starts[at] + counts[at]]) for at in largest.tolist() if counts[at] > 1
    ]


def is_valid_time(times: Numbers) -> Flags:
    """Return by Unix time whether it is valid."""
    return np.asarray(np.isfinite(times) & (np.abs(times) < _MAX_TIME))


def count_slices(verdicts: VerdictTable, given: int, times: Numbers) -> tuple[SliceCount, ...]:
    """Count the rows from ``given`` on by time slice, without pages that have no time."""
    known = given + np.flatnonzero(is_valid_time(times[given:]))
    if not len(known):
        return ()
    seconds = np.floor(times[known]).astype(np.int64)
    width = slice_width((int(seconds.min()), int(seconds.max())), 1, MAX_SLICES)
    places = seconds // width
    first, size = int(places.min()), int(places.max() - places.min()) + 1
    outcomes = (
        verdicts.keep[known] & (verdicts.reason[known] == NONE),
        ~verdicts.keep[known],
        verdicts.reason[known] != NONE,
    )
    counts = [np.bincount(places[outcome] - first, minlength=size) for outcome in outcomes]
    return tuple(SliceCount(float((first + at) * width), *(int(of_one[at]) for of_one in counts)) for at in range(size))


def similarity_histograms(
    verdicts: VerdictTable, missed: Iterable[Sequence[Assessment]], thresholds: Mapping[str, float | None]
) -> tuple[Histogram, ...]:
    """Count the similarities of related pages by the detector that decided, and of unmatched pairs by all."""
    misses: Counter[tuple[str, int]] = Counter(
        (each.detector, bin_of(each.similarity))
        for assessments in missed
        for each in assessments
        if each.similarity is not None
    )
    found = []
    for index, name in enumerate(verdicts.detectors):
        similar = verdicts.similarity[(verdicts.detector == index) & ~np.isnan(verdicts.similarity)]
        bins = np.bincount([bin_of(each) for each in similar.tolist()], minlength=BINS).tolist()
        missing = tuple(misses[name, at] for at in range(BINS))
        if any(bins) or any(missing):
            found.append(Histogram(name, thresholds.get(name), BIN_EDGES, tuple(bins), missing))
    return tuple(found)


def _count_by_name(codes: Numbers, names: Sequence[str]) -> dict[str, int]:
    """Count codes by their names, most first, without :data:`NONE`."""
    counts = np.bincount(codes[codes != NONE].astype(np.int64), minlength=len(names))
    found = {name: int(count) for name, count in zip(names, counts, strict=True) if count}
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))
