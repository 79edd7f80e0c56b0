"""What the rules of claiming need of a backend: five small tables in one consistent view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupcrawl.stores.base import ClaimState

OWNER_BYTES = 8


@dataclass(frozen=True, slots=True)
class Claim:
    """Who filed a record that is not committed yet; a committed record has no claim."""

    owner: bytes  #: ``OWNER_BYTES`` random bytes, another token for each store object
    state: ClaimState
    until: float  #: Unix time at which the lease ends unless the owner renewed it


@dataclass(frozen=True, slots=True)
class Owner:
    """A store object that files records; renewing all its claims is one small write."""

    until: float  #: Unix time to which it has renewed all its claims
    lost: int = 0  #: how many of its claims ended without its doing


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much a namespace holds."""

    pages: int
    keys: int
    bytes: int


class Tables(Protocol):
    """One namespace inside one transaction."""

    def next_id(self) -> int:
        """Return an id above all that were ever given, and remember it."""

    def put_record(self, id: int, value: bytes, keys: Iterable[bytes]) -> None:
        """File a packed record under its keys."""

    def drop_record(self, id: int, keys: Iterable[bytes]) -> None:
        """Take a record out, and its keys."""

    def record(self, id: int) -> bytes | None:
        """Return a packed record."""

    def records(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Walk the packed records from the id ``start`` on."""

    def ends(self) -> list[tuple[int, bytes]]:
        """Return the packed records filed first and last, or nothing."""

    def newest(self, key: bytes, since: int) -> Iterable[int]:
        """Walk the ids above ``since`` in a bucket, newest first."""

    def claim(self, id: int) -> Claim | None:
        """Return the claim on a record."""

    def put_claim(self, id: int, claim: Claim) -> None:
        """File a claim, or another state of it."""

    def drop_claim(self, id: int) -> None:
        """End a claim."""

    def claims(self, start: int) -> Iterator[tuple[int, Claim]]:
        """Walk the claims from the id ``start`` on."""

    def owner(self, token: bytes) -> Owner | None:
        """Return what is known of an owner."""

    def put_owner(self, token: bytes, owner: Owner) -> None:
        """Remember an owner."""

    def drop_owner(self, token: bytes) -> None:
        """Forget an owner, which has no claims any more."""

    def owners(self) -> list[bytes]:
        """Return the tokens of all owners."""

    def sizes(self) -> Sizes:
        """Count."""
