"""How a page stands to others: to one more page, or to all that a store holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.stores.base import Candidate, ClaimState
from dedupcrawl.tools.report.diff import compare_texts
from dedupcrawl.tools.report.report_model import Pair
from dedupcrawl.utils.formatting import instant
from dedupcrawl.verdict import Status, Verdict
from dedupcrawl.verdict_text import why

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.config import Config
    from dedupcrawl.decision import Finding
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.page.model import Page
    from dedupcrawl.stores.base import Store

MAX_PAIRS = 12  #: that are shown: the pages it relates to, then the nearest of the others


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """What came of holding a page against others."""

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
        if self.verdict.status is Status.UNCHECKED:
            fate = "Kept"
        else:
            fate = "Kept" if self.verdict.keep else "Dropped"
        return f"{fate}: {why(self.verdict)}."


def compare_with_store(
    page: Page, store: Store, config: Config, where: str, notes: Sequence[str] = ()
) -> ComparisonResult:
    """Hold a page against all that a store has under its keys; nothing is filed.

    Raises :class:`~dedupcrawl.errors.StoreError`.
    """
    dedup = Deduplicator(store, config=config)
    record = dedup.file(page)
    if isinstance(record, Verdict):
        return ComparisonResult("store", "Against the store", where, record, tuple(notes))
    verdict = dedup.check_record(record, page.url)
    findings = {finding.candidate.id: finding for finding in dedup.findings(page)}
    met = dedup.candidates(record)
    others = [each for each in met if each.id not in findings]
    weighed = [(each, dedup.opinions(record, each.record)) for each in others]
    weighed.sort(key=lambda one: -_likeness(one[1]))
    related = [(each.candidate, dedup.opinions(record, each.candidate.record)) for each in findings.values()]
    pairs = [_pair(page, each, opinions, findings.get(each.id)) for each, opinions in [*related, *weighed]]
    return ComparisonResult(
        "store",
        "Against the store",
        where,
        verdict,
        (*notes, *_remarks(met, len(pairs))),
        tuple(pairs[:MAX_PAIRS]),
    )


def compare_with_page(page: Page, other: Page, config: Config) -> ComparisonResult:
    """Hold a page against one that came earlier, and compare their texts."""
    with Deduplicator(config=config) as dedup:
        earlier, verdict = dedup.add(other), dedup.check(page)
        new, old = dedup.file(page), dedup.file(other)
        opinions = () if isinstance(new, Verdict) or isinstance(old, Verdict) else dedup.opinions(new, old)
    found = compare_texts(other.text, page.text)
    pair = Pair(
        page.url,
        other.url,
        page.title,
        other.title,
        opinions,
        relation=str(verdict.relation or ""),
        decided=verdict.detector or "",
        similarity=verdict.similarity if verdict.relation else _nearest(opinions),
        changes=found.changes,
        is_cut=found.is_cut,
    )
    note = (f"Nothing can repeat the other page: {why(earlier)}.",) if isinstance(old, Verdict) else ()
    return ComparisonResult(
        "other", "Against the other page, which came first", other.url, verdict, note, (("", pair),)
    )


def _pair(
    page: Page, candidate: Candidate, opinions: tuple[Opinion, ...], finding: Finding | None
) -> tuple[str, Pair]:
    state = (
        ""
        if candidate.state is ClaimState.COMMITTED
        else f" ({candidate.state.name.lower()}, not settled yet)"
    )
    pair = Pair(
        page.url,
        candidate.record.url,
        page.title,
        f"Filed {instant(candidate.record.seen)} UTC",
        opinions,
        relation=str(finding.relation) if finding else "",
        decided=finding.detector if finding else "",
        similarity=finding.match.similarity if finding else _nearest(opinions),
    )
    return (f"Related{state}" if finding else f"Met under a shared key, and no match{state}"), pair


def _remarks(met: Sequence[Candidate], pairs: int) -> list[str]:
    said = []
    if not met:
        said.append(
            "No page of the store is filed under a key of this one: none was compared. A crawl would keep it."
        )
    if pairs:
        said.append("A store keeps no texts: to compare them, give the address of the page as --other.")
    if pairs > MAX_PAIRS:
        said.append(
            f"{pairs} pages of the store share a key with it; the {MAX_PAIRS} that tell most are shown."
        )
    return said


def _nearest(opinions: Sequence[Opinion]) -> float | None:
    measured = [each.similarity for each in opinions if each.similarity is not None]
    return max(measured, default=None)


def _likeness(opinions: Sequence[Opinion]) -> float:
    return _nearest(opinions) or 0.0
