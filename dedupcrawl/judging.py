"""From candidates to what they mean: which of them the page repeats, and how."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.detectors.base import Match, Relation, silence
from dedupcrawl.filing import text_place
from dedupcrawl.stores.base import ClaimState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.detectors.base import Detector, Opinion
    from dedupcrawl.stores.base import Candidate, Record

#: Relations by which a page repeats an earlier one.
DUPLICATE = frozenset({Relation.IDENTICAL, Relation.NEAR_DUPLICATE, Relation.UNCHANGED})

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
        return self.relation in DUPLICATE

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
class Judge:
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
            detector.weigh(mine, other) if mine and other else silence(detector.name, mine, other)
            for detector, mine, other in pairs
        )

    def _finding(self, record: Record, candidate: Candidate, versions: bool) -> Finding | None:
        finding = self._strongest(record, candidate)
        if not record.url or candidate.record.url != record.url:
            return finding
        if self._has_equal_text(record, candidate.record):
            return _restated(finding or _by_url(candidate, 1.0), Relation.UNCHANGED)
        if not versions:
            return finding
        return _restated(finding or _by_url(candidate, 0.0), Relation.UPDATED)

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
        """Compare the hashes of the texts, which every record has (see :class:`~dedupcrawl.filing.Filer`)."""
        place = text_place(self.detectors)
        return new.sketches[place] == old.sketches[place]


def _by_url(candidate: Candidate, similarity: float) -> Finding:
    return Finding(candidate, Match(similarity, Relation.UPDATED), BY_URL)


def _restated(finding: Finding, relation: Relation) -> Finding:
    return replace(finding, match=replace(finding.match, relation=relation))
