"""The result of a check: the verdict on a page, and the claim that reserves its content."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from dedupcrawl.detectors.base import Relation
    from dedupcrawl.stores.base import Candidate, Record, Store


class Status(StrEnum):
    """The status of a page."""

    UNIQUE = "unique"  #: new content; it may still be related to an earlier page
    DUPLICATE = "duplicate"  #: repeats an earlier page
    UNCHECKED = "unchecked"  #: could not be judged, and is kept; see ``Verdict.reason``


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
        """Whether the verdict says more than that the page is new."""
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
