"""From findings to a verdict: what the settings make of a related page."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from dedupcrawl.claim import Pending
from dedupcrawl.detectors.base import Relation
from dedupcrawl.judging import BY_URL, DUPLICATE
from dedupcrawl.verdict import Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.judging import Finding
    from dedupcrawl.stores.base import Record

_REPLACEABLE = frozenset({Relation.IDENTICAL, Relation.NEAR_DUPLICATE, Relation.UPDATED})


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and what filing the page under it entails."""

    verdict: Verdict
    cluster: str = ""  #: that the record joins, "" when it founds its own
    supersedes: tuple[int, ...] = ()  #: ids of the records that go when this page is committed
    because: Finding | None = None  #: what the verdict rests on


@dataclass(frozen=True, slots=True)
class Policy:
    """Which relations drop a page, and whether the first or the latest copy stays."""

    drop: frozenset[Relation]
    keep: str  #: "first" or "latest"

    def decide(
        self, url: str, record: Record, findings: Sequence[Finding], *, give_up: bool = False
    ) -> Decision | Pending:
        """Decide on a page whose ``findings`` stand the most telling first.

        Only a settled page may cost another one its place; for an unsettled one the page waits, or
        with ``give_up`` it is kept unchecked("claimed"): one too many is the lesser evil.
        """
        decisive = [finding for finding in findings if finding.relation in DUPLICATE | self.drop]
        settled = [finding for finding in decisive if finding.settled]
        if settled or not decisive:
            return self._related(url, record, settled or findings)
        first = decisive[0].candidate
        if not give_up:
            return Pending(first.id, first.mine, first.record.url)
        return Decision(unchecked(url, "claimed", of=first.record.url))

    def verdict(self, url: str, record: Record, findings: Sequence[Finding]) -> Verdict:
        """Say what is known now, from settled pages alone."""
        return self._related(url, record, [finding for finding in findings if finding.settled]).verdict

    def _related(self, url: str, record: Record, findings: Sequence[Finding]) -> Decision:
        if not findings:
            return Decision(Verdict(url=url, status=Status.UNIQUE, keep=True, cluster=cluster_of(record)))
        first = findings[0]
        relation, old = first.relation, first.candidate.record
        measured = None if first.detector == BY_URL else round(first.match.similarity, 4)
        # An updated page of which the URL alone says so has nothing of its old text.
        same_content = relation in DUPLICATE or (relation is Relation.UPDATED and measured is not None)
        joins = cluster_of(old) if same_content else ""
        replaces = self._replaces(first)
        verdict = Verdict(
            url=url,
            status=Status.DUPLICATE if relation in DUPLICATE else Status.UNIQUE,
            keep=replaces or relation not in self.drop,
            relation=relation,
            of=old.url,
            cluster=joins or cluster_of(record),
            similarity=measured,
            detector=first.detector,
            evidence=first.match.evidence,
            supersedes=old.url if replaces else None,
        )
        old_ids = (finding.candidate.id for finding in findings if self._replaces(finding))
        return Decision(verdict, joins, tuple(old_ids) if replaces else (), first)

    def _replaces(self, finding: Finding) -> bool:
        relation = finding.relation
        wanted = relation in self.drop or relation is Relation.UPDATED
        return self.keep == "latest" and wanted and relation in _REPLACEABLE and finding.settled


def unchecked(url: str, reason: str, of: str | None = None) -> Verdict:
    """Keep a page that could not be judged, and say why."""
    return Verdict(url=url, status=Status.UNCHECKED, keep=True, reason=reason, of=of)


def cluster_of(record: Record) -> str:
    """Name the cluster of a record: the one that it joined, else one named after its own URL and text."""
    if record.cluster:
        return record.cluster
    return blake2b(
        b"\0".join((record.url.encode("utf-8", "replace"), *record.sketches)), digest_size=6
    ).hexdigest()
