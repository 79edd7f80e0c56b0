"""Comparison of a page with one other page, or with all pages of a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.decision import Status, Verdict
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.matching import SIBLINGS
from dedupcrawl.stores.base import Candidate, ClaimState
from dedupcrawl.tools.report.diff import compare_texts
from dedupcrawl.tools.report.report_model import Pair, siblings_text, verdict_sentence
from dedupcrawl.utils.formatting import instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.detectors.base import Assessment
    from dedupcrawl.matching import Finding
    from dedupcrawl.page.model import Page
    from dedupcrawl.stores.base import Store

MAX_PAIRS = 12  #: pairs shown: the related pages, then the nearest of the others


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """The result of comparing a page with others."""

    id: str  #: "store" or "other"
    heading: str
    where: str
    verdict: Verdict
    notes: tuple[str, ...] = ()
    pairs: tuple[tuple[str, Pair], ...] = ()  #: each with its heading

    @property
    def badge(self) -> str:
        """The relation, or else the status."""
        return str(self.verdict.relation or self.verdict.status)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        outcome = "Kept" if self.verdict.keep or self.verdict.status is Status.UNCHECKED else "Dropped"
        return f"{outcome}: {verdict_sentence(self.verdict)}."


def compare_with_store(
    page: Page, store: Store, config: Config, where: str, notes: Sequence[str] = ()
) -> ComparisonResult:
    """Compare a page with the pages of a store that share a key with it; nothing is stored.

    Args:
        page: the page.
        store: the store.
        config: the configuration that the store was filled under.
        where: name of the store to show.
        notes: remarks to show.

    Raises:
        StoreError: the store cannot be read.
    """
    dedup = Deduplicator(store, config=config)
    record = dedup.fingerprint(page)
    if isinstance(record, Verdict):
        return ComparisonResult("store", "Against the store", where, record, tuple(notes))
    verdict = dedup.check_record(record, page.url)
    findings = {finding.candidate.id: finding for finding in dedup.findings(page)}
    met = dedup.candidates(record)
    others = [(each, dedup.assessments(record, each.record)) for each in met if each.id not in findings]
    others.sort(key=lambda one: -(_max_similarity(one[1]) or 0.0))
    related = [(each.candidate, dedup.assessments(record, each.candidate.record)) for each in findings.values()]
    pairs = [_pair(page, each, assessments, findings.get(each.id)) for each, assessments in [*related, *others]]
    remarks, shown = (*notes, *_remarks(met, len(pairs))), tuple(pairs[:MAX_PAIRS])
    return ComparisonResult("store", "Against the store", where, verdict, remarks, shown)


def compare_with_page(page: Page, other: Page, config: Config) -> ComparisonResult:
    """Compare a page with an earlier one, and their texts."""
    with Deduplicator(config=config) as dedup:
        earlier, verdict = dedup.add(other), dedup.check(page)
        new, old = dedup.fingerprint(page), dedup.fingerprint(other)
        assessments = () if isinstance(new, Verdict) or isinstance(old, Verdict) else dedup.assessments(new, old)
    found = compare_texts(other.text, page.text)
    pair = Pair(
        page.url,
        other.url,
        page.title,
        other.title,
        assessments,
        relation=str(verdict.relation or ""),
        decided=verdict.detector or "",
        similarity=verdict.similarity if verdict.relation else _max_similarity(assessments),
        changes=found.changes,
        is_cut=found.is_cut,
        siblings=siblings_text(verdict),
    )
    note = (
        (f"No page can be a copy of the other page: {verdict_sentence(earlier)}.",) if isinstance(old, Verdict) else ()
    )
    heading = "Against the other page, which came first"
    return ComparisonResult("other", heading, other.url, verdict, note, (("", pair),))


def _pair(
    page: Page, candidate: Candidate, assessments: tuple[Assessment, ...], finding: Finding | None
) -> tuple[str, Pair]:
    committed = candidate.state is ClaimState.COMMITTED
    state = "" if committed else f" ({candidate.state.name.lower()}, not settled yet)"
    pair = Pair(
        page.url,
        candidate.record.url,
        page.title,
        f"Filed {instant(candidate.record.seen)} UTC",
        assessments,
        relation=str(finding.relation) if finding else "",
        decided=finding.detector if finding else "",
        similarity=finding.match.similarity if finding else _max_similarity(assessments),
        siblings=str(finding.match.evidence.get(SIBLINGS, "")) if finding else "",
    )
    return (f"Related{state}" if finding else f"Shares a key, but does not match{state}"), pair


def _remarks(met: Sequence[Candidate], pairs: int) -> list[str]:
    found = []
    if not met:
        found.append("No page of the store is filed under a key of this one: none was compared. A crawl would keep it.")
    if pairs:
        found.append("A store keeps no texts: to compare them, give the address of the page as --other.")
    if pairs > MAX_PAIRS:
        found.append(f"{pairs} pages of the store share a key with it; the {MAX_PAIRS} most informative are shown.")
    return found


def _max_similarity(assessments: Sequence[Assessment]) -> float | None:
    return max((each.similarity for each in assessments if each.similarity is not None), default=None)
