"""Which records are live: the rules of leases, dead owners and age, inside one transaction."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import BUCKET_CAP, SCAN_CAP, Candidate, ClaimState
from dedupcrawl.stores.codec import decode, seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupcrawl.stores.tables import Claim, Tables


@dataclass(slots=True)
class View:
    """The tables as one store object sees them at one moment."""

    tables: Tables
    me: bytes  #: the token of that store object
    now: float
    oldest: float  #: records seen before this Unix time are past their time to live
    breathes: Callable[[bytes], bool]  #: whether the process of another owner still lives
    _verdicts: dict[bytes, float] = field(default_factory=dict)

    def candidate(self, id: int) -> Candidate | None:
        """Return the live record with this id."""
        value = self.tables.record(id)
        if value is None or seen(value, id) < self.oldest:
            return None
        claim = self.tables.claim(id)
        if claim is None:
            return Candidate(id, decode(value, id), ClaimState.COMMITTED, mine=False)
        if not self.holds(claim):
            return None
        return Candidate(id, decode(value, id), claim.state, mine=claim.owner == self.me)

    def search(self, probes: Iterable[bytes], since: int) -> tuple[list[Candidate], list[int]]:
        """Return the live records under the probes by rising id, and the ids of dead ones met."""
        met: dict[int, Candidate | None] = {}
        for probe in probes:
            live = 0
            for id in islice(self.tables.newest(probe, since), SCAN_CAP):
                if id not in met:
                    met[id] = self.candidate(id)
                live += met[id] is not None
                if live == BUCKET_CAP:
                    break
        found = sorted((hit for hit in met.values() if hit is not None), key=lambda hit: hit.id)
        return found, [id for id, hit in met.items() if hit is None]

    def holds(self, claim: Claim) -> bool:
        """Whether the lease of a claim runs and its owner lives."""
        renewed = self._verdicts.get(claim.owner)
        if renewed is None:
            renewed = self._verdicts[claim.owner] = self._renewed(claim.owner)
        return self.now < max(claim.until, renewed) and renewed > 0

    def _renewed(self, token: bytes) -> float:
        """Until when an owner has renewed its claims; 0 for a dead one."""
        owner = self.tables.owner(token)
        if owner is None or (token != self.me and not self.breathes(token)):
            return 0.0
        return owner.until

    def remove(self, id: int, *, tell: bool = True) -> bool:
        """Take a record out with its keys and its claim. False: it is not there.

        ``tell``: whether the owner of the claim has yet to learn of it.
        """
        value = self.tables.record(id)
        if value is None:
            return False
        self.tables.drop_record(id, decode(value, id).keys)
        claim = self.tables.claim(id)
        if claim is not None:
            self.tables.drop_claim(id)
            if tell:
                self._tell_loss(claim.owner)
        return True

    def expire(self) -> None:
        """Remove the two oldest records if they are past their time to live.

        So a store to which pages are added does not grow without end, and no addition takes long.
        """
        for _ in range(2):
            oldest = self.tables.ends()[:1]
            if not oldest or seen(oldest[0][1], oldest[0][0]) >= self.oldest:
                return
            with suppress(StoreError):  # a damaged record stays, and nobody has to wait for its sake
                self.remove(oldest[0][0])

    def _tell_loss(self, token: bytes) -> None:
        """Let an owner know, when it next renews, that a claim of its own is gone."""
        owner = self.tables.owner(token)
        if owner is not None:
            self.tables.put_owner(token, replace(owner, lost=owner.lost + 1))
