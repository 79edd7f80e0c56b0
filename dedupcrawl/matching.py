"""Compares a page with its candidates: which earlier pages it is related to, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.detectors.base import COPIES, DUPLICATE_RELATIONS, Match, Relation, no_assessment
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.errors import DamageError
from dedupcrawl.fingerprinting import sketch_count, text_sketch_index
from dedupcrawl.identity.siblings import (
    NAMES_IN_TEXT,
    NUMBERS_IN_NAMES,
    UNREADABLE,
    VALUES,
    is_refresh,
    reference_names_apart,
    why_different,
    why_siblings,
)
from dedupcrawl.page.signatures import LITTLE_READ, is_little_read
from dedupcrawl.sites import manual_versions
from dedupcrawl.sites.registrable_domain import SiteComparison
from dedupcrawl.sites.third_pages import have_templates
from dedupcrawl.stores.base import ClaimState
from dedupcrawl.text import features

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupcrawl.detectors.base import Assessment, Detector
    from dedupcrawl.sites.manual_versions import VersionPair
    from dedupcrawl.stores.base import Candidate, Record

OTHER_SITES = "other-hosts"  #: a scope: pages of one site are not compared

SIBLINGS = "siblings"  #: key of the evidence of siblings: by what they differ
#: Reasons for which a page stays unchecked though it resembles another one: it is not known whether it is a copy.
DOUBTS = (LITTLE_READ, UNREADABLE)

#: In place of a detector: only the URL relates the two pages, and no similarity was measured.
BY_URL = "url"

#: If several earlier pages are related, the relation that comes first here decides.
STRENGTH = {
    Relation.UNCHANGED: 0,
    Relation.IDENTICAL: 1,
    Relation.NEAR_DUPLICATE: 2,
    Relation.REFRESHED: 3,
    Relation.UPDATED: 4,
    Relation.EXPANSION: 5,
    Relation.EXCERPT: 6,
    Relation.SIBLING: 7,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """An earlier page that is related to the new one."""

    candidate: Candidate  #: the earlier page
    match: Match
    detector: str  #: its name, or ``BY_URL``

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
        """Whether the earlier page may drop the new one; see :attr:`~dedupcrawl.stores.base.Candidate.is_settled`."""
        return self.candidate.is_settled

    @property
    def doubt(self) -> str:
        """Why it is not known whether the pages are copies, one of ``DOUBTS``; "" if it is."""
        why = self.match.evidence.get(SIBLINGS)
        return str(why) if why in DOUBTS else ""


class _RelatedPage(NamedTuple):
    """An earlier page that is related to the new one, without the evidence, which is made for few."""

    candidate: Candidate
    matched: Relation | None  #: of the sketches alone
    relation: Relation  #: as in :class:`Finding`
    why: str = ""  #: why they are siblings, or why it is not known; "" for other relations
    versions: VersionPair | None = None  #: of two pages that are copies as versions of one page

    @property
    def doubt(self) -> str:
        """As in :class:`Finding`."""
        return self.why if self.why in DOUBTS else ""

    @property
    def as_third(self) -> tuple[str, Relation]:
        """URL and relation of an earlier page; a sibling that has only a part of the text shows no template."""
        whole = self.matched if self.relation is Relation.SIBLING else self.relation
        is_whole = whole in COPIES and not self.doubt
        return self.candidate.record.url, self.relation if is_whole else Relation.EXCERPT


_HOW_APART = ("", NAMES_IN_TEXT, NUMBERS_IN_NAMES, VALUES)  #: by the byte that stands for it in compiled code


def names_apart(new: bytes, olds: list[bytes]) -> Sequence[str]:
    """Return for each of many pages how its names differ if each page has own ones in its text; else "".

    It is enough for nearly all pages of a catalogue. The pages are of one site, and their texts differ. Compiled code
    returns ``VALUES`` if the names do not differ so, but each page has many values that the other lacks: then they are
    siblings for certain, and :func:`why_siblings` returns the reason, which may be another one that comes before.

    Args:
        new: identity of the page that is compared with the others.
        olds: identities of the others.
    """
    if features.kernel is None:
        return reference_names_apart(new, olds)
    codes = features.kernel.names_apart(new, olds)
    return [*map(_HOW_APART.__getitem__, codes)]


class MatchedPage:
    """A new page that is compared with many others.

    Args:
        record: the page.
        text: place of the hash of the text among its sketches; None: siblings are not known by their names alone.
    """

    __slots__ = ("_text", "record", "site")

    def __init__(self, record: Record, text: int | None) -> None:
        self.record, self._text = record, text
        self.site = SiteComparison(record.url)

    def sibling_names(self, olds: Sequence[Record]) -> Sequence[str]:
        """Return by what each page is certainly no copy, as nearly all of a catalogue; see :func:`names_apart`."""
        at = self._text
        if at is None:
            return [""] * len(olds)
        text, url, has = self.record.sketches[at], self.record.url, self.site.has
        identities = [
            old.identity if old.sketches[at] != text and (other := old.url) != url and has(other) else b""
            for old in olds
        ]
        return names_apart(self.record.identity, identities)


@dataclass(frozen=True, slots=True)
class Matcher:
    """Compares a page with its candidates."""

    detectors: tuple[Detector, ...]  #: in the order of the sketches
    scope: str = "all"  #: "all", or "other-hosts": pages of one site are not compared
    versions: str = "siblings"  #: what versions of one page of a manual are, "siblings" or "copies"
    _count: int = field(init=False, repr=False, compare=False)  #: of the sketches of a record
    _text: int = field(init=False, repr=False, compare=False)  #: place of the hash of the text among them

    def __post_init__(self) -> None:
        object.__setattr__(self, "_count", sketch_count([detector.name for detector in self.detectors]))
        object.__setattr__(self, "_text", text_sketch_index(self.detectors))

    def findings(
        self, record: Record, candidates: Iterable[Candidate], *, versions: bool, is_brief: bool = False
    ) -> list[Finding]:
        """Return the related candidates, the strongest relation first.

        Args:
            record: the new page.
            candidates: the pages to compare it with.
            versions: whether an earlier page of the same URL is a version of this page, unchanged or updated,
                even if their texts have nothing in common.
            is_brief: whether to leave out siblings that change no verdict. A page of a catalogue has dozens of them:
                for each state of their claims only the oldest one counts.
        """
        pages = candidates if isinstance(candidates, tuple | list) else [*candidates]
        if not pages:
            return []
        related = self._related(record, pages, versions=versions, is_brief=is_brief)
        if any(each.relation is Relation.NEAR_DUPLICATE for each in related):
            related = self._related(record, pages, versions=versions) if is_brief else related
            thirds = have_templates(record.url, [each.as_third for each in related])
            pairs = zip(related, thirds, strict=True)
            related = [self._of_template(record, each) if has_template else each for each, has_template in pairs]
        if is_brief:
            related = _without_more_siblings(related)
        return [self._as_finding(record, each) for each in sorted(related, key=_order)]

    def assessments(self, new: Record, old: Record) -> tuple[Assessment, ...]:
        """Return the result of each detector for a new and an older page, matched or not, in order."""
        # Not strict: the last sketch may be the hash of the text, which has no detector.
        pairs = zip(self.detectors, new.sketches, old.sketches, strict=False)
        return tuple(
            detector.assess(mine, other) if mine and other else no_assessment(detector.name, mine, other)
            for detector, mine, other in pairs
        )

    def _related(
        self, record: Record, candidates: Sequence[Candidate], *, versions: bool, is_brief: bool = False
    ) -> list[_RelatedPage]:
        """Return the candidates that are related to a page, in their order. All sketches are compared at once.

        If ``is_brief``, siblings by their names or values are left out where an older one stands for them.
        """
        olds = [candidate.record for candidate in candidates]
        for old in olds:
            if len(old.sketches) != self._count:
                check_sketch_count(old, self._count)
        page, found, oldest = self.compared(record), [], dict[bool, int]()
        relations, names = self._matched(record, olds), page.sibling_names(olds)
        for candidate, matched, why in zip(candidates, relations, names, strict=True):
            related: _RelatedPage | None
            is_sibling = matched is not None and why != ""
            if is_sibling and is_brief and oldest.setdefault(_is_settled(candidate), candidate.id) < candidate.id:
                continue
            if is_sibling and why != VALUES:
                related = _RelatedPage(candidate, matched, Relation.SIBLING, why)
            else:
                related = self._related_page(page, candidate, matched, versions=versions)
            if related is not None:
                found.append(related)
        return found

    def compared(self, record: Record) -> MatchedPage:
        """Return a page to compare with others."""
        by_names = self.scope != OTHER_SITES and self.versions != manual_versions.COPIES
        return MatchedPage(record, self._text if by_names else None)

    def _related_page(
        self, page: MatchedPage, candidate: Candidate, matched: Relation | None, *, versions: bool
    ) -> _RelatedPage | None:
        """Return how one candidate is related to a page; None if it is not."""
        url = candidate.record.url
        if url == page.record.url and url:
            return self._of_same_url(page, candidate, matched, versions=versions)
        if matched is None:
            return None
        if page.site.has(url):
            return self._of_own_site(page, candidate, matched)
        return self._of_other_site(page.record, candidate, matched)

    def _matched(self, record: Record, pages: Sequence[Record]) -> Sequence[Relation | None]:
        """Return for each earlier page the strongest match of its sketches, also with those of the whole text."""
        best: list[Relation | None] = []
        try:
            for number, sketch in self._compared_sketches(record):
                found = self.detectors[number].relations(sketch, [old.sketches[number] for old in pages])
                best = [*map(_stronger, best, found)] if any(best) else [*found]
        except DamageError:  # not for a page whose text is equal, of which no other sketch is read
            return [self._matched_one(record, old) for old in pages]
        return best or [None] * len(pages)

    def _compared_sketches(self, record: Record) -> Iterator[tuple[int, bytes]]:
        """Yield the sketches of a page and those of its whole text, each with the place of its detector."""
        whole = record.context.whole if record.context else ()
        for sketches in (record.sketches, whole):
            # Not strict: the last sketch may be the hash of the text, which has no detector.
            for number, (_, sketch) in enumerate(zip(self.detectors, sketches, strict=False)):
                if sketch:
                    yield number, sketch

    def _matched_one(self, record: Record, old: Record) -> Relation | None:
        found = self._strongest(record, old)
        return None if found is None else found[0].relation

    def _of_same_url(
        self, page: MatchedPage, candidate: Candidate, matched: Relation | None, *, versions: bool
    ) -> _RelatedPage | None:
        """Compare two pages of one URL."""
        record, old = page.record, candidate.record
        equal = self.has_equal_text(record, old)
        why = why_siblings(record.identity, old.identity, equal_text=equal, by_sentences=False) if versions else ""
        if why == UNREADABLE and (equal or matched in COPIES):
            return _RelatedPage(candidate, matched, Relation.SIBLING, why)
        # If the text is the same, another name is a change, and so is another price or date beside a standing text.
        is_changed = bool(why)
        if equal and not is_changed:
            return _RelatedPage(candidate, matched, Relation.UNCHANGED)
        if not versions:
            return None if matched is None else self._of_own_site(page, candidate, matched)
        if matched in COPIES and not is_changed and is_refresh(record.identity, old.identity):
            return _RelatedPage(candidate, matched, Relation.REFRESHED)
        return _RelatedPage(candidate, matched, Relation.UPDATED)

    def _of_other_site(self, record: Record, candidate: Candidate, matched: Relation) -> _RelatedPage:
        """Compare pages of two sites."""
        why = self.why_siblings(record, candidate.record) if matched in COPIES else ""
        return _RelatedPage(candidate, matched, Relation.SIBLING if why else matched, why)

    def _of_own_site(self, page: MatchedPage, candidate: Candidate, matched: Relation) -> _RelatedPage | None:
        """Compare pages of one site, of which the names, values and sentences must agree, too."""
        if self.scope == OTHER_SITES:
            return None
        record, old, is_copy = page.record, candidate.record, matched in COPIES
        equal = self.has_equal_text(record, old)
        why = why_siblings(record.identity, old.identity, equal_text=equal, by_sentences=is_copy)
        if not why and is_copy and is_little_read(record.identity, old.identity):
            why = LITTLE_READ
        if why and is_copy and self.versions == manual_versions.COPIES and why not in DOUBTS:
            versions = manual_versions.versions_of_page(record, old)
            if versions:
                return _RelatedPage(candidate, matched, matched, versions=versions)
        return _RelatedPage(candidate, matched, Relation.SIBLING if why else matched, why)

    def _of_template(self, record: Record, related: _RelatedPage) -> _RelatedPage:
        """Compare the sentences of two pages of a template."""
        if related.versions:
            return related
        why = self.why_siblings(record, related.candidate.record, of_template=True)
        return related._replace(relation=Relation.SIBLING, why=why) if why else related

    def _as_finding(self, record: Record, related: _RelatedPage) -> Finding:
        """Return a related page with the evidence of its match."""
        candidate, relation = related.candidate, related.relation
        found = self._strongest(record, candidate.record) if related.matched else None
        if found is None:  # only the URL relates the pages
            found = Match(0.0 if relation is Relation.UPDATED else 1.0, Relation.UPDATED), BY_URL
        match, detector = found
        evidence = match.evidence
        if related.why:
            evidence = {**evidence, SIBLINGS: related.why}
        elif related.versions:
            evidence = {**evidence, manual_versions.VERSIONS: [*related.versions]}
        return Finding(candidate, Match(match.similarity, relation, evidence), detector)

    def _strongest(self, record: Record, old: Record) -> tuple[Match, str] | None:
        """Return the strongest match of the sketches of a page, also of those of its whole text, and its detector."""
        best: tuple[Match, str] | None = None
        whole = record.context.whole if record.context else ()
        for sketches in (record.sketches, whole) if whole else (record.sketches,):
            for detector, new, other in zip(self.detectors, sketches, old.sketches, strict=False):
                match = detector.compare(new, other) if new and other else None
                if match is None:
                    continue
                if best is None or STRENGTH[match.relation] < STRENGTH[best[0].relation]:
                    best = match, detector.name
                if match.relation is Relation.IDENTICAL:  # no detector finds a stronger relation
                    return best
        return best

    def has_equal_text(self, new: Record, old: Record) -> bool:
        """Return whether the main texts of two pages are equal."""
        return new.sketches[self._text] == old.sketches[self._text]

    def version_pair(self, new: Record, old: Record) -> VersionPair | None:
        """Return the versions of two pages that are copies as versions of one page; None if they are not."""
        is_asked = self.versions == manual_versions.COPIES and SiteComparison(new.url).has(old.url)
        return manual_versions.versions_of_page(new, old) if is_asked else None

    def check_sketches(self, record: Record) -> None:
        """Raise ``DamageError`` for a record whose sketches are not ones of these detectors."""
        check_sketch_count(record, self._count)
        # Without ``exact``, the last sketch is the hash of the text.
        for detector, sketch in zip((*self.detectors, Exact()), record.sketches, strict=False):
            if sketch:
                detector.compare(sketch, sketch)

    def why_siblings(self, new: Record, old: Record, *, by_sentences: bool = True, of_template: bool = False) -> str:
        """Return by what two similar pages differ, "" if they are about the same thing.

        Sentences of one site count ``by_sentences``; those of two, if a third page shows that they are ``of_template``.
        """
        equal_text = self.has_equal_text(new, old)
        if SiteComparison(new.url).has(old.url):
            return why_siblings(new.identity, old.identity, equal_text=equal_text, by_sentences=by_sentences)
        return _why_different(new, old, equal_text=equal_text, of_template=of_template)


def check_sketch_count(record: Record, count: int) -> None:
    """Raise ``DamageError`` for a record with another number of sketches."""
    found = len(record.sketches)
    if found != count:
        raise DamageError(f"The record of {record.url!r} is damaged: it has {found} sketches in place of {count}.")


def _why_different(new: Record, old: Record, *, equal_text: bool, of_template: bool = False) -> str:
    """Return by what two similar pages of two sites differ; "" if one of them has no URL."""
    mine, other = (new.identity, old.identity) if new.url and old.url else (b"", b"")
    return why_different(mine, other, equal_text=equal_text, of_template=of_template)


def _stronger(one: Relation | None, other: Relation | None) -> Relation | None:
    if one is None or other is None:
        return one or other
    return other if STRENGTH[other] < STRENGTH[one] else one


def _order(related: _RelatedPage) -> tuple[int, int]:
    """Return a sort key: the strongest relation first, then the oldest page."""
    return STRENGTH[related.relation], related.candidate.id


def _without_more_siblings(related: Iterable[_RelatedPage]) -> list[_RelatedPage]:
    """Leave out siblings for which an older one stands, whose claim is settled if theirs is."""
    found: list[_RelatedPage] = []
    oldest: dict[tuple[bool, str], _RelatedPage] = {}
    for each in related:
        if each.relation is not Relation.SIBLING:
            found.append(each)
            continue
        kind = _is_settled(each.candidate), each.doubt
        known = oldest.get(kind)
        if known is None or each.candidate.id < known.candidate.id:
            oldest[kind] = each
    return [*found, *oldest.values()]


def _is_settled(candidate: Candidate) -> bool:
    return candidate.state is ClaimState.COMMITTED or candidate.is_settled
