"""The verdicts on a corpus: those that a crawl would have come to, page by page in the same order.

A page is compared with the pages *kept* before it in its buckets, the newest ``BUCKET_CAP`` of each, and
dropped only for a match with one of them; matches are never closed transitively. Only pages that share a key
with another are looked at, one after the other, so the work grows with them, and no chain of matches is too
long: each page costs at most ``BUCKET_CAP`` comparisons for each of its keys, however full its buckets are.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.index import index_of
from dedupcrawl.detectors.base import Relation
from dedupcrawl.policy import Decision
from dedupcrawl.stores.base import BUCKET_CAP, Candidate, ClaimState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.batch.index import Index
    from dedupcrawl.batch.prints import Prints
    from dedupcrawl.judging import Judge
    from dedupcrawl.policy import Policy
    from dedupcrawl.stores.base import Record

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]

NOBODY = -1
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

    def __init__(self, judge: Judge, policy: Policy) -> None:
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
    prints: Prints,
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
    return _Solving(prints, rules, _order(prints, order), given).run(tell)


def _order(prints: Prints, order: Sequence[int] | Numbers | None) -> Numbers:
    return np.arange(len(prints)) if order is None else np.asarray(order, np.int64)


class _Solving:
    """One run: pages are filed in chains of entries, one for each bucket, the newest first."""

    def __init__(self, prints: Prints, rules: Rules, order: Numbers, given: int) -> None:
        self._prints = prints
        self._rules = rules
        self._order = order
        self._given = given
        self._index: Index = index_of(prints)
        size = len(self._index.keys)
        self._heads = array("q", [NOBODY]) * size  # newest entry of each bucket
        self._counts = array("q", [0]) * size
        self._before = array("q")  # of each entry: the one before in its bucket
        self._ranks = array("q")  # of each entry: the place of its page in the order
        self._crowded: set[int] = set()
        self._crowded_pages = 0
        self._found = _blank(len(prints), rules.detectors)

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
        return note(self._found, row, decision, lambda rank: int(order[rank]))

    def _meet(self, row: int) -> set[int]:
        met: set[int] = set()
        crowded = False
        for bucket in self._index.sought.of(row):
            entry = self._heads[bucket]
            for _ in range(BUCKET_CAP):
                if entry == NOBODY:
                    break
                met.add(self._ranks[entry])
                entry = self._before[entry]
            if entry != NOBODY:
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


def _blank(rows: int, detectors: tuple[str, ...]) -> Solution:
    return Solution(
        keep=np.ones(rows, bool),
        of=np.full(rows, NOBODY, np.int64),
        relation=np.full(rows, NOBODY, np.int8),
        similarity=np.full(rows, np.nan),
        detector=np.full(rows, NOBODY, np.int8),
        founder=np.arange(rows),
        detectors=detectors,
    )


def note(found: Solution, row: int, decision: Decision, row_of: Callable[[int], int]) -> bool:
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
