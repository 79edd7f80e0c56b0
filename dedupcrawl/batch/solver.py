"""The verdicts on a corpus: those that a crawl would have come to, page by page in the same order.

A page is compared with the pages *kept* before it in its buckets, the newest ``BUCKET_CAP`` of each, and
dropped only for a match with one of them; matches are never closed transitively. Only pages that share a key
with another are looked at, one after the other, so the work grows with them, and no chain of matches is too
long: each page costs at most ``BUCKET_CAP`` comparisons for each of its keys, however full its buckets are.

Which pages share a key with another: all the others can be judged without looking.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.decision import Decision
from dedupcrawl.detectors.base import Relation
from dedupcrawl.stores.base import BUCKET_CAP, Candidate, ClaimState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.batch.fingerprint_table import FingerprintTable, ListColumn
    from dedupcrawl.decision import Matcher, Policy
    from dedupcrawl.stores.base import Record

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class RowBuckets:
    """For each row some buckets, by number: those of row r are ``buckets[starts[r]:starts[r + 1]]``."""

    starts: Numbers
    buckets: Numbers

    def of(self, row: int) -> list[int]:
        """Return the buckets of a row."""
        found: list[int] = self.buckets[self.starts[row] : self.starts[row + 1]].tolist()
        return found

    @property
    def rows(self) -> Numbers:
        """The rows that have any, rising."""
        return np.flatnonzero(np.diff(self.starts))


@dataclass(frozen=True, slots=True)
class BucketIndex:
    """The buckets that are of interest: those with more than one page in them, or about them."""

    filed: RowBuckets  #: where each page is filed
    sought: RowBuckets  #: where each page looks
    keys: Numbers  #: the key of each bucket, as a number


def build_index(prints: FingerprintTable) -> BucketIndex:
    """Index a corpus. While it is made it takes 16 bytes for each key of a page."""
    filed, sought = prints.filed(), prints.sought()
    keys = (
        _shared_keys(filed, sought) if prints.look_elsewhere else _repeated([lists.values for lists in filed])
    )
    there = _bucket_numbers(filed, keys)
    return BucketIndex(there, _bucket_numbers(sought, keys) if prints.look_elsewhere else there, keys)


def _repeated(values: Sequence[Numbers]) -> Numbers:
    """Return the numbers that stand there more than once, rising."""
    everything = np.concatenate([np.zeros(0, np.uint64), *values])
    everything.sort()
    return np.unique(everything[1:][everything[1:] == everything[:-1]])


def _shared_keys(filed: Sequence[ListColumn], sought: Sequence[ListColumn]) -> Numbers:
    """Return the numbers that two rows have, be it that they are filed there or look there."""
    return _repeated([_distinct_per_row(one, two) for one, two in zip(filed, sought, strict=True)])


def _distinct_per_row(one: ListColumn, two: ListColumn) -> Numbers:
    """Return the values of the rows of two columns, each once for each row."""
    row = np.arange(len(one.counts))
    rows = np.concatenate([np.repeat(row, one.counts), np.repeat(row, two.counts)])
    values = np.concatenate([one.values, two.values])
    order = np.lexsort((values, rows))
    rows, values = rows[order], values[order]
    fresh = np.ones(len(rows), bool)
    fresh[1:] = (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])
    return values[fresh]


def _bucket_numbers(lists: Sequence[ListColumn], keys: Numbers) -> RowBuckets:
    """Give those keys of each row their numbers that are among ``keys``."""
    counts, found = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
    for each in lists:
        places = np.searchsorted(keys, each.values)
        places[places == len(keys)] = 0
        fits = keys[places] == each.values if len(keys) else np.zeros(len(places), bool)
        found.append(places[fits].astype(np.int32))
        until = np.concatenate([[0], np.cumsum(fits)])
        counts.append(np.diff(until[np.concatenate([[0], np.cumsum(each.counts)])]))
    return RowBuckets(np.cumsum(np.concatenate(counts)), np.concatenate(found))


NONE = -1
RELATIONS = tuple(Relation)  #: by their number in :class:`Solution`


@dataclass(frozen=True, slots=True)
class Crowding:
    """Buckets with more pages in them than are read."""

    buckets: int = 0  #: how many
    pages: int = 0  #: that looked into one
    fullest: int = 0  #: kept pages in the fullest of all buckets


@dataclass(frozen=True, slots=True)
class Solution:
    """The verdicts, a row each; numbers of rows are those of the fingerprints."""

    keep: np.ndarray[tuple[int], np.dtype[np.bool_]]
    of: Numbers  #: the row that it relates to, ``NOBODY`` if there is none
    relation: Numbers  #: a place in ``RELATIONS``, ``NOBODY`` if there is none
    similarity: Numbers  #: NaN where nothing was measured
    detector: Numbers  #: a place in ``detectors``, ``NOBODY`` if there is none
    founder: Numbers  #: the row after which its cluster is named
    detectors: tuple[str, ...]
    crowding: Crowding = field(default_factory=Crowding)


class Rules:
    """What is made of a page and those it meets.

    Args:
        judge: compares.
        policy: decides; of two copies the first stays, whatever it is told to keep.
    """

    def __init__(self, judge: Matcher, policy: Policy) -> None:
        self._judge = judge
        self._policy = replace(policy, keep="first")
        self.detectors = (*(detector.name for detector in judge.detectors), "url")

    def decide(self, record: Record, met: Iterable[tuple[int, Record]]) -> Decision:
        """Decide on a page; those it meets come with numbers that rise with the order of filing."""
        candidates = [Candidate(number, old, ClaimState.COMMITTED, mine=False) for number, old in met]
        findings = self._judge.findings(record, candidates, versions=True)
        decision = self._policy.decide(record.url, record, findings)
        assert isinstance(decision, Decision)
        return decision


def solve(
    prints: FingerprintTable,
    rules: Rules,
    order: Sequence[int] | Numbers | None = None,
    *,
    given: int = 0,
    tell: Callable[[int], object] = lambda _: None,
) -> Solution:
    """Judge every row.

    Args:
        prints: the corpus.
        rules: what decides.
        order: the rows in the order in which they come, default: as they stand.
        given: how many rows, at the front of ``order``, are kept already, by an earlier run or a crawl.
        tell: is called with the number of rows that are done.
    """
    return _Solver(prints, rules, _row_order(prints, order), given).run(tell)


def _row_order(prints: FingerprintTable, order: Sequence[int] | Numbers | None) -> Numbers:
    return np.arange(len(prints)) if order is None else np.asarray(order, np.int64)


class _Solver:
    """One run: pages are filed in chains of entries, one for each bucket, the newest first."""

    def __init__(self, prints: FingerprintTable, rules: Rules, order: Numbers, given: int) -> None:
        self._prints = prints
        self._rules = rules
        self._order = order
        self._given = given
        self._index: BucketIndex = build_index(prints)
        size = len(self._index.keys)
        self._heads = array("q", [NONE]) * size  # newest entry of each bucket
        self._counts = array("q", [0]) * size
        self._before = array("q")  # of each entry: the one before in its bucket
        self._ranks = array("q")  # of each entry: the place of its page in the order
        self._crowded: set[int] = set()
        self._crowded_pages = 0
        self._found = _empty_solution(len(prints), rules.detectors)

    def run(self, tell: Callable[[int], object]) -> Solution:
        ranks = self._interesting()
        done = 0
        for rank in ranks.tolist():
            row = int(self._order[rank])
            if rank < self._given or self._judge(row):
                self._file(row, rank)
            if rank - done >= 1000:
                tell(rank)
                done = rank
        tell(len(self._order))
        fullest = max(self._counts, default=0)
        crowding = Crowding(len(self._crowded), self._crowded_pages, fullest)
        return replace(self._found, crowding=crowding)

    def _interesting(self) -> Numbers:
        """Return the places, in the order, of the pages that share a key with another."""
        looking = np.zeros(len(self._prints), bool)
        looking[self._index.sought.rows] = True
        looking[self._index.filed.rows] = True
        return np.flatnonzero(looking[self._order])

    def _judge(self, row: int) -> bool:
        """Judge a page; return whether it is kept."""
        met = self._meet(row)
        if not met:
            return True
        prints, order = self._prints, self._order
        earlier = ((rank, prints.judged(int(order[rank]))) for rank in sorted(met))
        decision = self._rules.decide(prints.judged(row), earlier)
        return record_decision(self._found, row, decision, lambda rank: int(order[rank]))

    def _meet(self, row: int) -> set[int]:
        met: set[int] = set()
        crowded = False
        for bucket in self._index.sought.of(row):
            entry = self._heads[bucket]
            for _ in range(BUCKET_CAP):
                if entry == NONE:
                    break
                met.add(self._ranks[entry])
                entry = self._before[entry]
            if entry != NONE:
                self._crowded.add(bucket)
                crowded = True
        self._crowded_pages += crowded
        return met

    def _file(self, row: int, rank: int) -> None:
        for bucket in self._index.filed.of(row):
            self._before.append(self._heads[bucket])
            self._heads[bucket] = len(self._ranks)
            self._ranks.append(rank)
            self._counts[bucket] += 1


def _empty_solution(rows: int, detectors: tuple[str, ...]) -> Solution:
    return Solution(
        keep=np.ones(rows, bool),
        of=np.full(rows, NONE, np.int64),
        relation=np.full(rows, NONE, np.int8),
        similarity=np.full(rows, np.nan),
        detector=np.full(rows, NONE, np.int8),
        founder=np.arange(rows),
        detectors=detectors,
    )


def record_decision(found: Solution, row: int, decision: Decision, row_of: Callable[[int], int]) -> bool:
    """Enter a decision; ``row_of`` tells the row of a candidate. Returns whether the page is kept."""
    because = decision.because
    if because is not None:
        verdict = decision.verdict
        old = row_of(because.candidate.id)
        found.keep[row] = verdict.keep
        found.of[row] = old
        found.relation[row] = RELATIONS.index(because.relation)
        if verdict.similarity is not None:
            found.similarity[row] = verdict.similarity
        found.detector[row] = found.detectors.index(because.detector)
        if decision.cluster:
            found.founder[row] = found.founder[old]
    return decision.verdict.keep
