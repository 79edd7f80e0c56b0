"""The verdicts of a crawl and of a batch in one form, to compare them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl import Deduplicator
from dedupcrawl.batch.columns import FingerprintTable, FingerprintTableBuilder
from dedupcrawl.batch.solver import NONE, RELATIONS, RowJudge, SolverResult, solve
from dedupcrawl.decision import Policy, cluster_of
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.matching import Matcher
from dedupcrawl.stores.base import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.decision import Verdict
    from dedupcrawl.page.model import Page

VerdictRow = tuple[Any, ...]


def rules_of(config: Config) -> RowJudge:
    return RowJudge(Matcher(build_detectors(config)), Policy(config.drop, config.keep))


def one_by_one(config: Config, pages: Iterable[Page]) -> list[VerdictRow]:
    """The verdicts of a crawl without site memory on these pages in order."""
    with Deduplicator(config=config, site_memory=False) as dedup:
        return [verdict_row(dedup.add(page)) for page in pages]


def verdict_row(verdict: Verdict) -> VerdictRow:
    relation = str(verdict.relation) if verdict.relation else None
    found = (verdict.keep, verdict.reason, relation, verdict.of)
    return (*found, verdict.similarity, verdict.detector, verdict.cluster)


def filed(config: Config, pages: Iterable[Page], size: int = 50) -> FingerprintTable:
    """The fingerprints of these pages, in batches of this size."""
    dedup = Deduplicator(config=config, site_memory=False)
    filings: list[FingerprintTableBuilder] = []
    for row, page in enumerate(pages):
        if row % size == 0:
            filings.append(FingerprintTableBuilder(_sketches(config)))
        record = dedup.fingerprint(page)
        if isinstance(record, Record):
            filings[-1].add(row, record)
        else:
            filings[-1].add_unchecked(row, page.url, record.reason or "")
    return FingerprintTable([filing.batch() for filing in filings])


def prints_of(records: Iterable[Record], sketches: int) -> FingerprintTable:
    """Fingerprints made by hand."""
    filing = FingerprintTableBuilder(sketches)
    for row, record in enumerate(records):
        filing.add(row, record)
    return FingerprintTable([filing.batch()])


def _sketches(config: Config) -> int:
    names = [detector.name for detector in build_detectors(config)]
    return len(names) + ("exact" not in names)


def solution_rows(prints: FingerprintTable, found: SolverResult) -> list[VerdictRow]:
    """The verdicts of a solution."""
    reasons = dict(prints.reasons())
    return [_solution_row(prints, found, row, reasons.get(row)) for row in range(len(prints))]


def _solution_row(prints: FingerprintTable, found: SolverResult, row: int, reason: str | None) -> VerdictRow:
    of, relation, detector = int(found.of[row]), int(found.relation[row]), int(found.detector[row])
    similarity = None if np.isnan(found.similarity[row]) else float(found.similarity[row])
    return (
        bool(found.keep[row]),
        reason,
        None if relation == NONE else str(RELATIONS[relation]),
        None if of == NONE else prints.url(of),
        similarity,
        None if detector == NONE else found.detectors[detector],
        None if reason else cluster_of(prints.record(int(found.founder[row]))),
    )


def solved(
    config: Config, prints: FingerprintTable, order: Sequence[int] | None = None, prior: int = 0
) -> SolverResult:
    return solve(prints, rules_of(config), order, prior=prior)
