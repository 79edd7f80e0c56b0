"""From candidates to a verdict, and to the claim that reserves the content of a page.

A matcher finds the related pages, a policy applies the settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol, Self

from dedupcrawl.detectors.base import COPIES, DUPLICATE_RELATIONS, VERSIONS, Match, Relation, no_assessment
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.errors import DamageError
from dedupcrawl.fingerprinting import TEMPLATE, sketch_count, text_sketch_index
from dedupcrawl.identity.identity_sketch import unread_reason
from dedupcrawl.identity.siblings import UNREADABLE, is_refresh, why_different, why_siblings
from dedupcrawl.page.model import BINARY, TOO_DEEP, TOO_LARGE, TOO_MANY_ATTRIBUTES
from dedupcrawl.page.signatures import LITTLE_READ, evidence_with_layout, is_little_read
from dedupcrawl.page.time_limit import TOO_SLOW
from dedupcrawl.sites import manual_versions
from dedupcrawl.sites.registrable_domain import site_of
from dedupcrawl.sites.third_pages import have_templates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from dedupcrawl.detectors.base import Assessment, Detector
    from dedupcrawl.stores.base import Candidate, Record, Store


class Status(StrEnum):
    """The status of a page."""

    UNIQUE = "unique"  #: new content; it may still be related to an earlier page
    DUPLICATE = "duplicate"  #: repeats an earlier page
    UNCHECKED = "unchecked"  #: could not be judged, and is kept; see ``Verdict.reason``


#: Why a page is unchecked, by :attr:`Verdict.reason`.
UNCHECKED_REASONS = {
    "empty": "it has no main text",
    "index": "it contains only links to other pages",
    TEMPLATE: "its site repeats all of its text on other pages",
    "consent": "only a request for consent to cookies was found on it",
    LITTLE_READ: "most of its text was not read as main text, but may distinguish it from other pages",
    UNREADABLE: "the names and values stored for it or for a similar page cannot be read, so it is not known whether "
    "it is a copy",
    "short": "its text is shorter than DEDUP_MIN_CHARS or has too few letters; only the detector exact, which is not "
    "in use, compares such texts",
    "no-fingerprint": "its text has too few features for the detectors in use",
    "status": "its HTTP status is not 200",
    "not-html": "it is not HTML",
    BINARY: "it is binary data, whatever its declared type",
    TOO_LARGE: "it, or its text after normalisation, is too large",
    TOO_DEEP: "its tags are nested too deeply to be read to the end",
    TOO_MANY_ATTRIBUTES: "a tag has more attributes than can be read in a bounded time",
    TOO_SLOW: "it took more processor time than DEDUP_PAGE_TIMEOUT allows",
    "no-field": "its item has none of the fields of DEDUP_ITEM_FIELDS",
    "no-response": "its item came without a response",
    "other-item": "its page was seen before in this crawl, with other items",
    "other-page": "its item is about another page, which could not be judged",
    "claimed": "it repeats a page whose claim was neither committed nor released in time",
    "store": "the store could not be reached",
    "error": "the reader failed on it, see the log",
    "skip": "its request has dedup_skip",
    "revisit": "the archive refers to an earlier record and has no body",
    "segmented": "the archive holds it in several segments",
    "undecodable": "its encoding cannot be decoded",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a page, with its evidence."""

    url: str  #: of the page
    status: Status
    keep: bool  #: whether the page is kept; False: ``drop`` has its relation
    relation: Relation | None = None  #: to the earlier page ``of``
    of: str | None = None  #: URL of the earlier page, the first with this content
    cluster: str | None = None  #: name of the cluster of pages with the same content
    similarity: float | None = None  #: 0 to 1, in the measure of ``detector``
    detector: str | None = None  #: name of the detector; "url" if only the URL is the same
    evidence: Mapping[str, object] = field(default_factory=dict)  #: JSON values, by detector
    reason: str | None = None  #: why the page is unchecked
    supersedes: str | None = None  #: URL of the page that this one replaces (``keep="latest"``)

    @property
    def is_duplicate(self) -> bool:
        """Whether the page repeats an earlier one (kept or not)."""
        return self.status == "duplicate"

    @property
    def is_informative(self) -> bool:
        """Whether the verdict is more than "the page is new"."""
        return self.status is not Status.UNIQUE or self.relation is not None

    def to_dict(self) -> dict[str, object]:
        """Return the verdict as JSON values, without empty fields."""
        plain: dict[str, object] = {"url": self.url, "status": str(self.status), "keep": self.keep}
        for name in ("relation", "of", "cluster", "similarity", "detector", "reason", "supersedes"):
            value = getattr(self, name)
            if value is not None:
                plain[name] = str(value) if name == "relation" else value
        if self.evidence:
            plain["evidence"] = dict(self.evidence)
        return plain


@dataclass(frozen=True, slots=True)
class Pending:
    """The page repeats one whose claim is still open: try again when that claim is settled."""

    id: int  #: of the open claim
    mine: bool  #: whether this very deduplicator made the claim
    of: str  #: URL of the claimed page


class ClaimOwner(Protocol):
    """The methods of :class:`~dedupcrawl.Deduplicator` that a claim needs."""

    @property
    def store(self) -> Store:
        """The store that holds the claim."""

    def commit(self, claims: Iterable[Claim]) -> None:
        """Make these claims permanent."""

    def release(self, claims: Iterable[Claim]) -> None:
        """Withdraw these claims."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to store a page, or the verdict that denies it.

    As a context manager it commits, or releases if the block raises.
    """

    verdict: Verdict  #: on the page
    deduplicator: ClaimOwner  #: that made the claim
    id: int | None = None  #: None: nothing was filed, and ``scraped``, ``commit``, ``release`` do nothing
    record: Record | None = None  #: the fingerprint; None for a page that has none
    supersedes: tuple[int, ...] = ()  #: ids of the records that a commit removes
    candidates: tuple[Candidate, ...] = ()  #: the earlier pages that it was compared with

    def scraped(self) -> None:
        """Record that the item passed all pipelines but is not durable yet."""
        if self.id is not None:
            self.deduplicator.store.scraped(self.id)

    def commit(self) -> None:
        """Record that the item is durable: the claim becomes permanent."""
        self.deduplicator.commit([self])

    def release(self) -> None:
        """Withdraw the claim: the item was not stored."""
        self.deduplicator.release([self])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.release()


OTHER_SITES = "other-hosts"  #: a scope: pages of one site are not compared

SIBLINGS = "siblings"  #: key of the evidence of siblings: by what they differ
#: Reasons for which a page stays unchecked though it resembles another one: it is not known whether it is a copy.
DOUBTS = (LITTLE_READ, UNREADABLE)

#: In place of a detector: only the URL relates the two pages, and no similarity was measured.
BY_URL = "url"

#: If several earlier pages are related, the relation that comes first here decides.
_STRENGTH = {
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

    @property
    def order(self) -> tuple[int, int]:
        """Sort key: the strongest relation first, then the oldest page."""
        return _STRENGTH[self.relation], self.candidate.id


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

    def findings(self, record: Record, candidates: Iterable[Candidate], *, versions: bool) -> list[Finding]:
        """Return the related candidates, the strongest relation first.

        Args:
            record: the new page.
            candidates: the pages to compare it with.
            versions: whether an earlier page of the same URL is a version of this page, unchanged or updated,
                even if their texts have nothing in common.
        """
        found = [each for candidate in candidates if (each := self._finding(record, candidate, versions))]
        if any(each.relation is Relation.NEAR_DUPLICATE for each in found):
            both = zip(found, have_templates(record.url, [self._as_third(record, each) for each in found]), strict=True)
            found = [self._of_template(record, each) if has_template else each for each, has_template in both]
        return sorted(found, key=lambda finding: finding.order)

    def _as_third(self, record: Record, finding: Finding) -> tuple[str, Relation]:
        """Return URL and relation of an earlier page; a sibling that has only a part of the text shows no template."""
        whole = self._strongest(record, finding.candidate) if finding.relation is Relation.SIBLING else finding
        is_whole = whole is not None and whole.relation in COPIES and not finding.doubt
        return finding.candidate.record.url, finding.relation if is_whole else Relation.EXCERPT

    def _of_template(self, record: Record, finding: Finding) -> Finding:
        """Compare the sentences of two pages of a template."""
        if manual_versions.VERSIONS in finding.match.evidence:
            return finding
        why = self.why_siblings(record, finding.candidate.record, of_template=True)
        return _as_siblings(finding, why) if why else finding

    def assessments(self, new: Record, old: Record) -> tuple[Assessment, ...]:
        """Return the result of each detector for a new and an older page, matched or not, in order."""
        # Not strict: the last sketch may be the hash of the text, which has no detector.
        pairs = zip(self.detectors, new.sketches, old.sketches, strict=False)
        return tuple(
            detector.assess(mine, other) if mine and other else no_assessment(detector.name, mine, other)
            for detector, mine, other in pairs
        )

    def _finding(self, record: Record, candidate: Candidate, versions: bool) -> Finding | None:
        old = candidate.record
        if len(old.sketches) != self._count:
            check_sketch_count(old, self._count)
        if not record.url or old.url != record.url:
            return self._of_other_url(record, candidate)
        finding = self._strongest(record, candidate)
        equal = self.has_equal_text(record, old)
        why = self.why_siblings(record, old, by_sentences=False) if versions else ""
        if why == UNREADABLE and (equal or (finding and finding.relation in COPIES)):
            return _as_siblings(finding or _by_url(candidate, 1.0), why)
        # If the text is the same, another name is a change, and so is another price or date beside a standing text.
        is_changed = bool(why)
        if equal and not is_changed:
            return _with_relation(finding or _by_url(candidate, 1.0), Relation.UNCHANGED)
        if not versions:
            return self._of_other_url(record, candidate)
        if finding and finding.relation in COPIES and not is_changed and is_refresh(record.identity, old.identity):
            return _with_relation(finding, Relation.REFRESHED)
        return _with_relation(finding or _by_url(candidate, 0.0), Relation.UPDATED)

    def _of_other_url(self, record: Record, candidate: Candidate) -> Finding | None:
        """Compare pages of two URLs. The values of both must agree too, and on one site their names and sentences."""
        old = candidate.record
        is_same_site = _are_of_one_site(record, old)
        if is_same_site and self.scope == OTHER_SITES:
            return None
        finding = self._strongest(record, candidate)
        if finding is None or (not is_same_site and finding.relation not in COPIES):
            return finding
        why = self.why_siblings(record, old, by_sentences=finding.relation in COPIES)
        if not why and is_same_site and finding.relation in COPIES and is_little_read(record.identity, old.identity):
            why = LITTLE_READ
        if why and why not in DOUBTS and finding.relation in COPIES and (pair := self.version_pair(record, old)):
            return _with_evidence(finding, manual_versions.VERSIONS, [*pair])
        return _as_siblings(finding, why) if why else finding

    def _strongest(self, record: Record, candidate: Candidate) -> Finding | None:
        """Return the strongest match of the sketches of a page, also of those of its whole text."""
        best: Finding | None = None
        whole = record.context.whole if record.context else ()
        for sketches in (record.sketches, whole) if whole else (record.sketches,):
            for detector, new, old in zip(self.detectors, sketches, candidate.record.sketches, strict=False):
                match = detector.compare(new, old) if new and old else None
                if match is None:
                    continue
                finding = Finding(candidate, match, detector.name)
                if best is None or finding.order < best.order:
                    best = finding
                if match.relation is Relation.IDENTICAL:  # no detector finds a stronger relation
                    return best
        return best

    def has_equal_text(self, new: Record, old: Record) -> bool:
        """Return whether the main texts of two pages are equal."""
        return new.sketches[self._text] == old.sketches[self._text]

    def version_pair(self, new: Record, old: Record) -> manual_versions.VersionPair | None:
        """Return the versions of two pages that are copies as versions of one page; None if they are not."""
        is_asked = self.versions == manual_versions.COPIES and _are_of_one_site(new, old)
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
        if _are_of_one_site(new, old):
            return why_siblings(new.identity, old.identity, equal_text=equal_text, by_sentences=by_sentences)
        mine, other = (new.identity, old.identity) if new.url and old.url else (b"", b"")
        return why_different(mine, other, equal_text=equal_text, of_template=of_template)


@dataclass(frozen=True, slots=True)
class FindingOutcome:
    """The consequences of the deciding finding for a page."""

    because: Finding  #: the finding that decided
    keep: bool  #: whether the page is kept
    similarity: float | None  #: to the earlier page, 0 to 1; None if only the URL relates them
    joins: bool  #: whether the page joins the cluster of the earlier one
    replaces: bool  #: whether it replaces the earlier one


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and how the page is to be filed."""

    verdict: Verdict
    cluster: str = ""  #: name of the cluster that the record joins; "" if it starts a new one
    supersedes: tuple[int, ...] = ()  #: ids of the records to remove on commit
    because: Finding | None = None  #: the finding that decided


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings that turn findings into a verdict."""

    drop: frozenset[Relation]  #: relations that drop a page
    keep: str  #: which copy is kept, "first" or "latest"

    def decide(
        self, url: str, record: Record, findings: Sequence[Finding], *, give_up: bool = False
    ) -> Decision | Pending:
        """Decide about a page.

        Only a settled page may drop another one. If the deciding page is unsettled, the result is
        ``Pending``, or with ``give_up`` unchecked("claimed"): storing a page twice is better than losing it.
        """
        decisive = self._decisive(findings)
        settled = [finding for finding in decisive if finding.settled]
        if settled or not decisive:
            return self._related(url, record, settled or findings)
        first = decisive[0].candidate
        if not give_up:
            return Pending(first.id, first.mine, first.record.url)
        return Decision(unchecked(url, "claimed", of=first.record.url))

    def outcome(self, findings: Sequence[Finding]) -> FindingOutcome | None:
        """Return the consequences of settled findings, like :meth:`decide`, but without a verdict for people.

        None for no findings: the page is kept.
        """
        return self._outcome((self._decisive(findings) or findings)[0]) if findings else None

    def blockers(self, findings: Sequence[Finding]) -> tuple[int, ...]:
        """Return the ids of the unsettled pages that may drop the page."""
        return tuple(finding.candidate.id for finding in self._decisive(findings) if not finding.settled)

    def is_final(self, finding: Finding) -> bool:
        """Return whether a page that this finding drops is dropped whatever other findings there are."""
        stronger = {each for each in DUPLICATE_RELATIONS if _STRENGTH[each] < _STRENGTH[finding.relation]}
        return self.keep == "first" and stronger <= self.drop

    def verdict(self, url: str, record: Record, findings: Sequence[Finding]) -> Verdict:
        """Return the verdict from settled pages alone."""
        return self._related(url, record, [finding for finding in findings if finding.settled]).verdict

    def _related(self, url: str, record: Record, findings: Sequence[Finding]) -> Decision:
        if not findings:
            reason = record.context.reason if record.context else ""
            reason = reason or unread_reason(record.identity)
            if reason:  # it is filed nevertheless: pages with the same text are its copies
                return Decision(unchecked(url, reason))
            return Decision(Verdict(url=url, status=Status.UNIQUE, keep=True, cluster=cluster_of(record)))
        first = findings[0]
        if first.doubt:
            return Decision(unchecked(url, first.doubt, of=first.candidate.record.url), because=first)
        outcome = self._outcome(first)
        relation, old = first.relation, first.candidate.record
        cluster = cluster_of(old) if outcome.joins else ""
        verdict = Verdict(
            url=url,
            status=Status.DUPLICATE if relation in DUPLICATE_RELATIONS else Status.UNIQUE,
            keep=outcome.keep,
            relation=relation,
            of=old.url,
            cluster=cluster or cluster_of(record),
            similarity=outcome.similarity,
            detector=first.detector,
            evidence=evidence_with_layout(first.match.evidence, record.identity, old.identity),
            supersedes=old.url if outcome.replaces else None,
        )
        old_ids = (finding.candidate.id for finding in findings if self._replaces(finding))
        return Decision(verdict, cluster, tuple(old_ids) if outcome.replaces else (), first)

    def _outcome(self, finding: Finding) -> FindingOutcome:
        if finding.doubt:
            return FindingOutcome(finding, keep=True, similarity=None, joins=False, replaces=False)
        relation = finding.relation
        measured = None if finding.detector == BY_URL else round(finding.match.similarity, 4)
        # If only the URL relates an updated page to the old one, they have no text in common.
        joins = relation in DUPLICATE_RELATIONS or (relation in VERSIONS and measured is not None)
        replaces = self._replaces(finding)
        return FindingOutcome(finding, replaces or relation not in self.drop, measured, joins, replaces)

    def _decisive(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings that may drop the page."""
        dropping = DUPLICATE_RELATIONS | self.drop
        return [each for each in findings if each.relation in dropping and not each.doubt]

    def _replaces(self, finding: Finding) -> bool:
        relation = finding.relation
        is_replaceable = relation in VERSIONS or (relation in COPIES and relation in self.drop)
        return self.keep == "latest" and is_replaceable and finding.settled


def check_sketch_count(record: Record, count: int) -> None:
    """Raise ``DamageError`` for a record with another number of sketches."""
    found = len(record.sketches)
    if found != count:
        raise DamageError(f"The record of {record.url!r} is damaged: it has {found} sketches in place of {count}.")


def unchecked(url: str, reason: str, of: str | None = None) -> Verdict:
    """Return the verdict on a page that could not be checked; ``of`` is the page it waited for."""
    return Verdict(url=url, status=Status.UNCHECKED, keep=True, reason=reason, of=of)


def cluster_of(record: Record) -> str:
    """Return the cluster of a record: the one it joined, else a hash of its own URL and sketches."""
    if record.cluster:
        return record.cluster
    return blake2b(b"\0".join((record.url.encode("utf-8", "replace"), *record.sketches)), digest_size=6).hexdigest()


def _are_of_one_site(new: Record, old: Record) -> bool:
    return bool(new.url and old.url) and site_of(new.url) == site_of(old.url)


def _by_url(candidate: Candidate, similarity: float) -> Finding:
    return Finding(candidate, Match(similarity, Relation.UPDATED), BY_URL)


def _as_siblings(finding: Finding, why: str) -> Finding:
    return _with_relation(_with_evidence(finding, SIBLINGS, why), Relation.SIBLING)


def _with_evidence(finding: Finding, name: str, value: object) -> Finding:
    evidence = {**finding.match.evidence, name: value}
    return replace(finding, match=replace(finding.match, evidence=evidence))


def _with_relation(finding: Finding, relation: Relation) -> Finding:
    return replace(finding, match=replace(finding.match, relation=relation))
