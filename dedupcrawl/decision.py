"""From the related pages to a verdict, and to the claim that reserves the content of a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol, Self

from dedupcrawl.detectors.base import COPIES, DUPLICATE_RELATIONS, VERSIONS, Relation
from dedupcrawl.fingerprinting import TEMPLATE
from dedupcrawl.identity.identity_sketch import unread_reason
from dedupcrawl.identity.siblings import UNREADABLE
from dedupcrawl.matching import BY_URL, STRENGTH
from dedupcrawl.page.model import BINARY, TOO_DEEP, TOO_LARGE, TOO_MANY_ATTRIBUTES
from dedupcrawl.page.signatures import LITTLE_READ, evidence_with_layout
from dedupcrawl.page.time_limit import TOO_SLOW

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from dedupcrawl.matching import Finding
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
    "short": "its text is shorter than DEDUP_MIN_CHARS or has too few letters; only the detector exact compares such "
    "texts, if it is in use and the page was downloaded",
    "no-fingerprint": "its text has too few features for the detectors in use",
    "status": "its HTTP status is not 200",
    "soft-404": "its host sends such a page for a URL that cannot exist, although with status 200",
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

    @property
    def ignores_siblings(self) -> bool:
        """Whether the oldest of several siblings decides for all; see ``is_brief`` of :meth:`Matcher.findings`."""
        return Relation.SIBLING not in self.drop

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
        stronger = {each for each in DUPLICATE_RELATIONS if STRENGTH[each] < STRENGTH[finding.relation]}
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
            return Decision(new_page(url, cluster_of(record)))
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


def new_page(url: str, cluster: str) -> Verdict:
    """Return the verdict on a page that is related to no other, and starts this cluster."""
    return Verdict(url=url, status=Status.UNIQUE, keep=True, cluster=cluster)


def unchecked(url: str, reason: str, of: str | None = None) -> Verdict:
    """Return the verdict on a page that could not be checked; ``of`` is the page it waited for."""
    return Verdict(url=url, status=Status.UNCHECKED, keep=True, reason=reason, of=of)


def cluster_of(record: Record) -> str:
    """Return the cluster of a record: the one it joined, else a hash of its own URL and sketches."""
    return record.cluster or cluster_name(record.url, record.sketches)


def cluster_name(url: str, sketches: Iterable[bytes]) -> str:
    """Return the name of the cluster that a page starts, given its URL without the fragment, and its sketches."""
    return blake2b(b"\0".join((url.encode("utf-8", "replace"), *sketches)), digest_size=6).hexdigest()
