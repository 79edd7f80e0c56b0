"""From candidates to what they mean: which of them the page repeats, and how.

From findings to a verdict: what the settings make of a related page.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from dedupcrawl.detectors.base import Match, Relation, no_opinion
from dedupcrawl.fingerprinting import text_sketch_index
from dedupcrawl.stores.base import ClaimState
from dedupcrawl.verdict import Pending, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.detectors.base import Detector, Opinion
    from dedupcrawl.stores.base import Candidate, Record


#: Relations by which a page repeats an earlier one.
DUPLICATE_RELATIONS = frozenset({Relation.IDENTICAL, Relation.NEAR_DUPLICATE, Relation.UNCHANGED})

#: Stands for a detector where nothing but the URL relates two pages, and nothing was measured.
BY_URL = "url"

#: When several earlier pages are related, the first of these decides.
_STRENGTH = {
    relation: rank
    for rank, relation in enumerate(
        (
            Relation.UNCHANGED,
            Relation.IDENTICAL,
            Relation.NEAR_DUPLICATE,
            Relation.UPDATED,
            Relation.EXPANSION,
            Relation.EXCERPT,
        )
    )
}


@dataclass(frozen=True, slots=True)
class Finding:
    """An earlier page that is related to the new one."""

    candidate: Candidate
    match: Match
    detector: str

    @property
    def relation(self) -> Relation:
        """How the new page relates to the candidate."""
        return self.match.relation

    @property
    def is_duplicate(self) -> bool:
        """Whether the new page repeats the candidate."""
        return self.relation in DUPLICATE_RELATIONS

    @property
    def settled(self) -> bool:
        """Whether the earlier page can be relied upon.

        A page that this process has scraped itself counts: should the process die, both come again.
        """
        state = self.candidate.state
        return state is ClaimState.COMMITTED or (state is ClaimState.SCRAPED and self.candidate.mine)

    @property
    def order(self) -> tuple[int, int]:
        """The strongest relation first, then the oldest page."""
        return _STRENGTH[self.relation], self.candidate.id


@dataclass(frozen=True, slots=True)
class Matcher:
    """Compares a page with its candidates."""

    detectors: tuple[Detector, ...]

    def findings(self, record: Record, candidates: Iterable[Candidate], *, versions: bool) -> list[Finding]:
        """Return the related candidates, the most telling first.

        With ``versions`` an earlier page of the same URL is a version of this page: unchanged or
        updated, whether their texts are alike or not.
        """
        found = (self._finding(record, candidate, versions) for candidate in candidates)
        return sorted((finding for finding in found if finding), key=lambda finding: finding.order)

    def opinions(self, new: Record, old: Record) -> tuple[Opinion, ...]:
        """Return what each detector says of a new and an older page, in order; one that cannot says why."""
        pairs = zip(self.detectors, new.sketches, old.sketches, strict=False)  # the last may be of the text
        return tuple(
            detector.assess(mine, other) if mine and other else no_opinion(detector.name, mine, other)
            for detector, mine, other in pairs
        )

    def _finding(self, record: Record, candidate: Candidate, versions: bool) -> Finding | None:
        finding = self._strongest(record, candidate)
        if not record.url or candidate.record.url != record.url:
            return finding
        if self._has_equal_text(record, candidate.record):
            return _with_relation(finding or _by_url(candidate, 1.0), Relation.UNCHANGED)
        if not versions:
            return finding
        return _with_relation(finding or _by_url(candidate, 0.0), Relation.UPDATED)

    def _strongest(self, record: Record, candidate: Candidate) -> Finding | None:
        best: Finding | None = None
        for place, detector in enumerate(self.detectors):
            new, old = record.sketches[place], candidate.record.sketches[place]
            match = detector.compare(new, old) if new and old else None
            if match is None:
                continue
            finding = Finding(candidate, match, detector.name)
            if best is None or finding.order < best.order:
                best = finding
        return best

    def _has_equal_text(self, new: Record, old: Record) -> bool:
        """Compare the hashes of the texts, which every record has."""
        place = text_sketch_index(self.detectors)
        return new.sketches[place] == old.sketches[place]


def _by_url(candidate: Candidate, similarity: float) -> Finding:
    return Finding(candidate, Match(similarity, Relation.UPDATED), BY_URL)


def _with_relation(finding: Finding, relation: Relation) -> Finding:
    return replace(finding, match=replace(finding.match, relation=relation))


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
        decisive = [finding for finding in findings if finding.relation in DUPLICATE_RELATIONS | self.drop]
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
        same_content = relation in DUPLICATE_RELATIONS or (
            relation is Relation.UPDATED and measured is not None
        )
        joins = cluster_of(old) if same_content else ""
        replaces = self._replaces(first)
        verdict = Verdict(
            url=url,
            status=Status.DUPLICATE if relation in DUPLICATE_RELATIONS else Status.UNIQUE,
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
