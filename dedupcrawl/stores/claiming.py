"""The store whose rules are written once, whatever holds its tables."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING, Unpack

from dedupcrawl.chunks import chunked
from dedupcrawl.stores.base import FILE_ANYWAY, ClaimState, Offer
from dedupcrawl.stores.codec import encode
from dedupcrawl.stores.tabled import CHUNK, TabledStore, Timing
from dedupcrawl.stores.tables import Claim, Owner

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.stores.base import Record
    from dedupcrawl.stores.tables import Tables


class ClaimingStore(TabledStore):
    """Offers, claims and leases."""

    def __init__(self, url: str, namespace: str, scheme: str, **timing: Unpack[Timing]) -> None:
        super().__init__(url, namespace, scheme, **timing)
        self._own: set[int] = set()
        self._lost = 0

    # -- filing -------------------------------------------------------------------------------

    def offer(self, record: Record, since: int = 0) -> Offer:
        offer = self._write(partial(self._file, record, encode(record), since, None))
        if offer.id is not None:
            self._own.add(offer.id)
        return offer

    def add(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        old = sorted(set(supersede))
        return self._write(partial(self._file, record, encode(record), since, old))

    def add_many(self, records: Sequence[Record]) -> list[Offer]:
        packed = [(record, encode(record)) for record in records]
        return self._write(partial(self._add_many, packed))

    def _add_many(self, packed: Sequence[tuple[Record, bytes]], tables: Tables) -> list[Offer]:
        return [self._file(record, value, 0, [], tables) for record, value in packed]

    def restore(self, records: Sequence[Record]) -> int:
        packed = [(record, encode(record)) for record in records]
        return self._in_chunks(partial(self._restore, packed))

    def _restore(
        self, packed: Sequence[tuple[Record, bytes]], start: int, tables: Tables
    ) -> tuple[int, int | None]:
        view, end = self._view(tables), start + CHUNK
        some = packed[start:end]
        fresh = [pair for pair in some if not pair[0].is_among(view.search(pair[0].home, 0)[0])]
        for record, value in fresh:
            self._file(record, value, FILE_ANYWAY, [], tables)
        return len(fresh), end if end < len(packed) else None

    def _file(
        self, record: Record, value: bytes, since: int, supersede: list[int] | None, tables: Tables
    ) -> Offer:
        """File a record for good, or (None: it supersedes nothing yet) as a claim."""
        view = self._view(tables)
        found, dead = view.search(record.looks_under, since)
        for id in dead:
            view.remove(id)
        if found:
            return Offer(None, tuple(found))
        if self._ttl < inf:
            view.expire()
        id = tables.next_id()
        tables.put_record(id, value, record.keys)
        if supersede is None:
            tables.put_claim(id, Claim(self._me, ClaimState.OPEN, view.now + self._lease))
        for old in supersede or ():
            view.remove(old)
        return Offer(id)

    # -- claims -------------------------------------------------------------------------------

    def scraped(self, id: int) -> bool:
        return self._write(partial(self._mark_scraped, id))

    def _mark_scraped(self, id: int, tables: Tables) -> bool:
        claim = tables.claim(id)
        if claim is None or claim.owner != self._me:
            return False
        tables.put_claim(id, Claim(self._me, ClaimState.SCRAPED, claim.until))
        return True

    def commit(self, ids: Iterable[int], supersede: Iterable[int] = ()) -> int:
        mine = self._write(partial(self._commit, set(ids), sorted(set(supersede))))
        self._own.difference_update(mine)
        return len(mine)

    def _commit(self, ids: set[int], supersede: list[int], tables: Tables) -> list[int]:
        mine = self._mine(ids, tables)
        for id in mine:
            tables.drop_claim(id)
        view = self._view(tables)
        for id in supersede if mine else ():
            view.remove(id)
        return mine

    def release(self, ids: Iterable[int]) -> int:
        mine = self._write(partial(self._release, set(ids)))
        self._own.difference_update(mine)
        return len(mine)

    def _release(self, ids: set[int], tables: Tables) -> list[int]:
        mine = self._mine(ids, tables)
        view = self._view(tables)
        for id in mine:
            view.remove(id, tell=False)
        return mine

    def _mine(self, ids: Iterable[int], tables: Tables) -> list[int]:
        claims = ((id, tables.claim(id)) for id in sorted(ids))
        return [id for id, claim in claims if claim is not None and claim.owner == self._me]

    def renew(self) -> int:
        lost, gone = self._write(self._renew)
        self._lost = lost
        self._own.difference_update(gone)
        return len(self._own)

    def _renew(self, tables: Tables) -> tuple[int, set[int]]:
        # Without a row somebody took this process for dead, and may have removed any claim.
        owner = tables.owner(self._me) or Owner(0.0, self._lost + 1)
        tables.put_owner(self._me, Owner(self._clock() + self._lease, owner.lost))
        own = set(self._own) if owner.lost != self._lost else set()
        return owner.lost, own.difference(self._mine(own, tables))

    def _withdraw(self) -> None:
        """Release every own claim, a chunk at a time."""
        for chunk in chunked(sorted(self._own), CHUNK):
            self.release(chunk)
