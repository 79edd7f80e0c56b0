"""What is said about a page.

The right to store a page, from the moment it is judged until its item is safe.
"""

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
    """The three things that can be said of a page."""

    UNIQUE = "unique"  #: it has content of its own (it may still be related to an earlier page)
    DUPLICATE = "duplicate"
    UNCHECKED = "unchecked"  #: it could not be judged, and is kept; ``reason`` says why


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said about a page, and why a person should believe it."""

    url: str
    status: Status
    keep: bool  #: False: by the settings in force the page is to be dropped
    relation: Relation | None = None
    of: str | None = None  #: URL of the page it relates to: the first of its kind
    cluster: str | None = None  #: the same for all pages with the same content
    similarity: float | None = None  #: 0…1, in the measure of ``detector``
    detector: str | None = None  #: "url" where only the URL is the same: the page was rewritten
    evidence: Mapping[str, object] = field(default_factory=dict)
    reason: str | None = None  #: why a page is unchecked
    supersedes: str | None = None  #: URL of the page that this one replaces (``keep="latest"``)

    @property
    def is_duplicate(self) -> bool:
        """Whether the page repeats an earlier one (kept or not)."""
        return self.status == "duplicate"

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values; fields that say nothing are left out."""
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
    """A page repeats one whose own fate is open; ask again once that is settled."""

    id: int  #: of the claim that it waits for
    mine: bool  #: the claim was made through this very deduplicator
    of: str


class ClaimOwner(Protocol):
    """What a claim needs of the :class:`~dedupcrawl.Deduplicator` that made it."""

    @property
    def store(self) -> Store:
        """The store that holds the claim."""

    def commit(self, claims: Iterable[Claim]) -> None:
        """Make these claims permanent."""

    def release(self, claims: Iterable[Claim]) -> None:
        """Withdraw these claims."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to store a page, or the verdict why not.

    ``id`` is None when nothing was filed: the page is a duplicate or cannot be judged. ``scraped``,
    ``commit`` and ``release`` then do nothing. ``record`` is what was judged, and is filed where there is an
    id; None for a page that has no fingerprint. ``met`` are the earlier pages that it was compared with.
    As a context manager it commits, or releases when the block raises.
    """

    verdict: Verdict
    deduplicator: ClaimOwner
    id: int | None = None
    record: Record | None = None
    supersedes: tuple[int, ...] = ()
    met: tuple[Candidate, ...] = ()

    def scraped(self) -> None:
        """Say that the item went through all pipelines but is not durable yet."""
        if self.id is not None:
            self.deduplicator.store.scraped(self.id)

    def commit(self) -> None:
        """Say that the item is durable."""
        self.deduplicator.commit([self])

    def release(self) -> None:
        """Give the page back: it was not stored after all."""
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
