"""The verdicts of a corpus: those of a crawl that sees the same pages one after the other in the same order.

A page is compared with the newest ``BUCKET_CAP`` *kept* pages of each of its buckets, and dropped only for a
match with one of them; matches are never closed transitively. Only pages that share a key with another page
are visited. A page costs at most ``BUCKET_CAP`` comparisons for each of its keys, however full its buckets
are and however long a chain of matches is.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.detectors.base import Relation
from dedupcrawl.matching import DOUBTS
from dedupcrawl.stores.base import BUCKET_CAP, Candidate, ClaimState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.batch.columns import FingerprintTable, Flags, ListColumn, Numbers
    from dedupcrawl.decision import FindingOutcome, Policy
    from dedupcrawl.matching import Finding, Matcher
    from dedupcrawl.stores.base import Record


NONE = -1  #: "no row", "no relation" or "no detector" in an integer column
RELATIONS = tuple(Relation)  #: a column of relations holds places in this tuple
FIRST_DOUBT = len(RELATIONS)  #: from this place on: the page is unchecked, for the reason at that place in ``DOUBTS``
_PROGRESS_STEP = 1000  #: rows after which progress is reported


@dataclass(frozen=True, slots=True)
class HotBucketCounts:
    """Buckets with more kept pages than a page is compared with."""

    buckets: int = 0  #: number of hot buckets
    pages: int = 0  #: pages with a hot bucket
    fullest: int = 0  #: kept pages in the fullest of all buckets


@dataclass(frozen=True, slots=True)
class SolverResult:
    """The verdicts: one value in each array for each row of the table of fingerprints."""

    keep: Flags
    of: Numbers  #: the row that it relates to, or ``NONE``
    relation: Numbers  #: a place in ``RELATIONS``, ``NONE``, or ``FIRST_DOUBT`` and a place in ``DOUBTS``
    similarity: Numbers  #: 0 to 1; NaN where nothing was measured
    detector: Numbers  #: a place in ``detectors``, or ``NONE``
    founder: Numbers  #: the row after which its cluster is named
    detectors: tuple[str, ...]
    hot_buckets: HotBucketCounts = field(default_factory=HotBucketCounts)
    compared: Flags | None = None  #: the pages that others are compared with; None: those that are kept


class RowJudge:
    """Decides whether a page is kept, given the candidates it is compared with.

    Args:
        matcher: compares records.
        policy: decides; its ``keep`` is ignored: of two copies the first one in order is kept.
    """

    def __init__(self, matcher: Matcher, policy: Policy) -> None:
        self._matcher = matcher
        self._policy = replace(policy, keep="first")
        self.detectors = (*(detector.name for detector in matcher.detectors), "url")

    def decide(self, record: Record, candidates: Iterable[tuple[int, Record]]) -> FindingOutcome | None:
        """Decide on a page; None if it relates to no candidate and is kept.

        ``candidates`` are the kept pages before it, with numbers that rise with the order.
        """
        known = [Candidate(number, old, ClaimState.COMMITTED, mine=False) for number, old in candidates]
        return self._policy.outcome(self._matcher.findings(record, known, versions=True))

    def places(self, because: Finding) -> tuple[int, int | None]:
        """Return the places of a finding's relation and detector in the columns of a solution."""
        if because.doubt:
            return FIRST_DOUBT + DOUBTS.index(because.doubt), None
        return RELATIONS.index(because.relation), self.detectors.index(because.detector)


def solve(
    table: FingerprintTable,
    rules: RowJudge,
    order: Sequence[int] | Numbers | None = None,
    *,
    prior: int = 0,
    on_progress: Callable[[int], object] = lambda _: None,
) -> SolverResult:
    """Judge every row in this order (default: that of the table).

    The first ``prior`` rows are kept without being judged. ``on_progress`` gets the number of rows done.
    """
    rows = np.arange(len(table)) if order is None else np.asarray(order, np.int64)
    return _Solver(table, rules, rows, prior).run(on_progress)


def without_clusters(solution: SolverResult, prior: int = 0) -> SolverResult:
    """Drop the kept pages of each cluster of which a page was dropped, too.

    The page after which a cluster is named gets the relation to the first page that was found to be like it. The first
    ``prior`` rows stay kept.
    """
    rows = np.arange(len(solution.keep))
    joined = solution.founder != rows
    founders = np.unique(solution.founder[joined & ~solution.keep])
    founders = founders[founders >= prior]
    keep = solution.keep & ~np.isin(solution.founder, founders)
    keep[:prior] = True
    changed = replace(
        solution,
        keep=keep,
        compared=solution.keep,
        **{name: getattr(solution, name).copy() for name in ("of", "relation", "similarity", "detector")},
    )
    members = rows[joined & (solution.of == solution.founder)]
    members = members[np.lexsort((members, solution.keep[members], solution.of[members]))]  # dropped ones first
    firsts = members[np.searchsorted(solution.of[members], founders)]
    changed.of[founders] = firsts
    for name in ("relation", "similarity", "detector"):
        getattr(changed, name)[founders] = getattr(solution, name)[firsts]
    return changed


class _Solver:
    """One run. The kept pages of each bucket form a linked list of entries, the newest first."""

    def __init__(self, table: FingerprintTable, rules: RowJudge, order: Numbers, prior: int) -> None:
        self._table = table
        self._rules = rules
        self._order = order
        self._prior = prior
        self._index = build_index(table)
        size = len(self._index.keys)
        self._heads = array("q", [NONE]) * size  # newest entry of each bucket
        self._counts = array("q", [0]) * size
        self._previous = array("q")  # for each entry: the previous entry of its bucket
        self._ranks = array("q")  # for each entry: the place of its page in the order
        self._crowded: set[int] = set()
        self._crowded_pages = 0
        rows = len(table)
        self._solution = SolverResult(
            keep=np.ones(rows, bool),
            of=np.full(rows, NONE, np.int64),
            relation=np.full(rows, NONE, np.int8),
            similarity=np.full(rows, np.nan),
            detector=np.full(rows, NONE, np.int8),
            founder=np.arange(rows),
            detectors=rules.detectors,
        )

    def run(self, on_progress: Callable[[int], object]) -> SolverResult:
        done = 0
        for rank in self._ranks_to_visit().tolist():
            row = int(self._order[rank])
            if rank < self._prior or self._judge(row):
                self._add_to_buckets(row, rank)
            if rank - done >= _PROGRESS_STEP:
                on_progress(rank)
                done = rank
        on_progress(len(self._order))
        fullest = max(self._counts, default=0)
        hot_buckets = HotBucketCounts(len(self._crowded), self._crowded_pages, fullest)
        return replace(self._solution, hot_buckets=hot_buckets)

    def _ranks_to_visit(self) -> Numbers:
        """Return the places, in the order, of the pages that share a key with another."""
        visited = np.zeros(len(self._table), bool)
        visited[self._index.probed.rows] = True
        visited[self._index.filed.rows] = True
        return np.flatnonzero(visited[self._order])

    def _judge(self, row: int) -> bool:
        """Judge a page; return whether it is kept."""
        ranks = self._candidates(row)
        if not ranks:
            return True
        table, order = self._table, self._order
        candidates = ((rank, table.sketch_record(int(order[rank]))) for rank in sorted(ranks))
        outcome = self._rules.decide(table.sketch_record(row), candidates)
        if outcome is None:
            return True
        solution = self._solution
        old = int(order[outcome.because.candidate.id])
        solution.keep[row] = outcome.keep
        solution.of[row] = old
        solution.relation[row], detector = self._rules.places(outcome.because)
        if outcome.similarity is not None:
            solution.similarity[row] = outcome.similarity
        if detector is not None:
            solution.detector[row] = detector
        if outcome.joins:
            solution.founder[row] = solution.founder[old]
        return outcome.keep

    def _candidates(self, row: int) -> set[int]:
        """Return the ranks of the newest kept pages in the buckets that a page probes."""
        ranks: set[int] = set()
        crowded = False
        for bucket in self._index.probed.of(row):
            entry = self._heads[bucket]
            for _ in range(BUCKET_CAP):
                if entry == NONE:
                    break
                ranks.add(self._ranks[entry])
                entry = self._previous[entry]
            if entry != NONE:
                self._crowded.add(bucket)
                crowded = True
        self._crowded_pages += crowded
        return ranks

    def _add_to_buckets(self, row: int, rank: int) -> None:
        for bucket in self._index.filed.of(row):
            self._previous.append(self._heads[bucket])
            self._heads[bucket] = len(self._ranks)
            self._ranks.append(rank)
            self._counts[bucket] += 1


@dataclass(frozen=True, slots=True)
class RowBucketIndex:
    """The buckets of each row, by number: those of row r are ``buckets[starts[r]:starts[r + 1]]``."""

    starts: Numbers
    buckets: Numbers

    def of(self, row: int) -> list[int]:
        """Return the buckets of a row."""
        found: list[int] = self.buckets[self.starts[row] : self.starts[row + 1]].tolist()
        return found

    @property
    def rows(self) -> Numbers:
        """The rows with at least one bucket, in ascending order."""
        return np.flatnonzero(np.diff(self.starts))


@dataclass(frozen=True, slots=True)
class BucketIndex:
    """The buckets with two or more pages that have the key or probe it."""

    filed: RowBucketIndex  #: the buckets of each row's keys
    probed: RowBucketIndex  #: the buckets of each row's probes
    keys: Numbers  #: the key of each bucket, as an integer


def build_index(table: FingerprintTable) -> BucketIndex:
    """Index a table; takes 16 bytes of memory for each key of a page."""
    keys, probes = table.keys(), table.probes()
    if table.has_probes:
        both = zip(keys, probes, strict=True)
        shared = _repeated([_distinct_per_row(one, two) for one, two in both])
    else:
        shared = _repeated([lists.values for lists in keys])
    filed = _bucket_numbers(keys, shared)
    return BucketIndex(filed, _bucket_numbers(probes, shared) if table.has_probes else filed, shared)


def _repeated(values: Sequence[Numbers]) -> Numbers:
    """Return the numbers that occur more than once, in ascending order."""
    everything = np.concatenate([np.zeros(0, np.uint64), *values])
    everything.sort()
    repeated = everything[1:][everything[1:] == everything[:-1]]
    first = np.ones(len(repeated), bool)
    first[1:] = repeated[1:] != repeated[:-1]
    distinct: Numbers = repeated[first]  # np.unique would sort them again, and import numpy.ma
    return distinct


def _distinct_per_row(one: ListColumn, two: ListColumn) -> Numbers:
    """Return the values of two columns; a value that a row has several times is returned once for it."""
    row = np.arange(len(one.counts))
    rows = np.concatenate([np.repeat(row, one.counts), np.repeat(row, two.counts)])
    values = np.concatenate([one.values, two.values])
    order = np.lexsort((values, rows))
    rows, values = rows[order], values[order]
    first = np.ones(len(rows), bool)
    first[1:] = (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])
    return values[first]


def _bucket_numbers(lists: Sequence[ListColumn], keys: Numbers) -> RowBucketIndex:
    """Replace the keys of each row by their places in ``keys``; leave out the others."""
    counts, found = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
    for each in lists:
        places = np.searchsorted(keys, each.values)
        places[places == len(keys)] = 0
        is_found = keys[places] == each.values if len(keys) else np.zeros(len(places), bool)
        found.append(places[is_found].astype(np.int32))
        until = np.concatenate([[0], np.cumsum(is_found)])
        counts.append(np.diff(until[np.concatenate([[0], np.cumsum(each.counts)])]))
    return RowBucketIndex(np.cumsum(np.concatenate(counts)), np.concatenate(found))
