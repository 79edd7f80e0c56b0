"""The rules of claims, leases and age, for stores whose tables are changed in local transactions.

:class:`TransactionalStore` implements the whole contract of :class:`~dedupcrawl.stores.base.Store` over four
tables (:class:`StoreTables`). A subclass supplies the tables, the transactions, and a test of which processes
are alive.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Protocol, TypedDict, TypeVar, Unpack

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import (
    BUCKET_CAP,
    FILE_ANYWAY,
    SCAN_CAP,
    Candidate,
    ClaimState,
    Offer,
    Store,
    StoreInfo,
    url_key,
)
from dedupcrawl.stores.codec import decode, decode_seen, encode
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.stores.base import Record

T = TypeVar("T")

OWNER_BYTES = 8  #: size of the random token that identifies a store object
CHUNK = 256  #: records removed in one transaction, so that other writers wait a few milliseconds at most
PRUNE_SCAN = 16 * CHUNK  #: records examined in one transaction of ``prune``


class Timing(TypedDict):
    """The keyword arguments of a transactional store that concern time."""

    lease: float  #: seconds after which a claim ends unless it is renewed, above 0
    ttl: float | None  #: seconds after which a record no longer counts; None: never
    clock: Callable[[], float]  #: returns the Unix time in seconds


@dataclass(frozen=True, slots=True)
class Lease:
    """The claim on a record that is not committed yet; a committed record has none."""

    owner: bytes  #: token of the store object that filed the record, ``OWNER_BYTES`` long
    state: ClaimState
    until: float  #: Unix time at which the lease ends unless the owner renews it


@dataclass(frozen=True, slots=True)
class Owner:
    """A store object that files records. One small write renews all its leases."""

    until: float  #: Unix time up to which all its leases are renewed
    lost: int = 0  #: how many of its claims others have removed


@dataclass(frozen=True, slots=True)
class TableSizes:
    """The size of a namespace."""

    pages: int  #: records
    keys: int  #: bucket entries
    bytes: int  #: on disk or in memory


class StoreTables(Protocol):
    """The tables of one namespace inside one transaction."""

    def next_id(self) -> int:
        """Return an id above all ids given before, and store it."""

    def put_record(self, id: int, value: bytes, keys: Iterable[bytes]) -> None:
        """Store an encoded record under its bucket keys."""

    def delete_record(self, id: int, keys: Iterable[bytes]) -> None:
        """Remove a record and its bucket entries."""

    def record(self, id: int) -> bytes | None:
        """Return an encoded record."""

    def records(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield the encoded records with an id of at least ``start``."""

    def first_and_last(self) -> list[tuple[int, bytes]]:
        """Return the encoded records with the lowest and the highest id; an empty list if there are none."""

    def newest(self, key: bytes, since: int) -> Iterable[int]:
        """Yield the ids above ``since`` in a bucket, newest first."""

    def lease(self, id: int) -> Lease | None:
        """Return the lease of a record."""

    def put_lease(self, id: int, lease: Lease) -> None:
        """Store the lease of a record."""

    def delete_lease(self, id: int) -> None:
        """Remove the lease of a record."""

    def leases(self, start: int) -> Iterator[tuple[int, Lease]]:
        """Yield the leases of the records with an id of at least ``start``."""

    def owner(self, token: bytes) -> Owner | None:
        """Return an owner."""

    def put_owner(self, token: bytes, owner: Owner) -> None:
        """Store an owner."""

    def delete_owner(self, token: bytes) -> None:
        """Remove an owner that has no leases any more."""

    def owners(self) -> list[bytes]:
        """Return the tokens of all owners."""

    def sizes(self) -> TableSizes:
        """Return the size of the namespace."""


@dataclass(slots=True)
class LiveRecords:
    """The live records of a namespace, as one store object sees them at one moment.

    A record is live unless it is too old, its lease has ended, or its owner is dead.
    """

    tables: StoreTables
    token: bytes  #: of the store object
    now: float  #: Unix time in seconds
    oldest: float  #: records seen before this Unix time are past their time to live
    is_alive: Callable[[bytes], bool]  #: whether the process of another owner is alive
    _renewed: dict[bytes, float] = field(default_factory=dict)  #: owner -> end of its leases, 0 for a dead one

    def candidate(self, id: int) -> Candidate | None:
        """Return the live record with this id."""
        value = self.tables.record(id)
        if value is None or decode_seen(value, id) < self.oldest:
            return None
        lease = self.tables.lease(id)
        if lease is None:
            return Candidate(id, decode(value, id), ClaimState.COMMITTED, mine=False)
        if not self.is_held(lease):
            return None
        return Candidate(id, decode(value, id), lease.state, mine=lease.owner == self.token)

    def search(self, probes: Iterable[bytes], since: int) -> tuple[list[Candidate], list[int]]:
        """Return the live records under the probes by rising id, and the ids of the dead ones."""
        examined: dict[int, Candidate | None] = {}
        for probe in probes:
            live = 0
            for id in islice(self.tables.newest(probe, since), SCAN_CAP):
                if id not in examined:
                    examined[id] = self.candidate(id)
                live += examined[id] is not None
                if live == BUCKET_CAP:
                    break
        found = sorted((hit for hit in examined.values() if hit is not None), key=lambda hit: hit.id)
        return found, [id for id, hit in examined.items() if hit is None]

    def is_held(self, lease: Lease) -> bool:
        """Whether a lease is running and its owner is alive."""
        renewed = self._renewed.get(lease.owner)
        if renewed is None:
            renewed = self._renewed[lease.owner] = self._renewed_until(lease.owner)
        return self.now < max(lease.until, renewed) and renewed > 0

    def _renewed_until(self, token: bytes) -> float:
        owner = self.tables.owner(token)
        if owner is None or (token != self.token and not self.is_alive(token)):
            return 0.0
        return owner.until

    def remove(self, id: int, *, notify_owner: bool = True) -> bool:
        """Remove a record with its keys and its lease; return whether it existed.

        ``notify_owner`` counts the claim as lost, which its owner notices when it next renews.
        """
        value = self.tables.record(id)
        if value is None:
            return False
        self.tables.delete_record(id, decode(value, id).keys)
        lease = self.tables.lease(id)
        if lease is not None:
            self.tables.delete_lease(id)
            if notify_owner:
                self._count_loss(lease.owner)
        return True

    def expire(self) -> None:
        """Remove the two oldest records if they are past their time to live. This bounds the store."""
        for _ in range(2):
            oldest = self.tables.first_and_last()[:1]
            if not oldest or decode_seen(oldest[0][1], oldest[0][0]) >= self.oldest:
                return
            with suppress(StoreError):  # a damaged record stays: filing other pages must not fail because of it
                self.remove(oldest[0][0])

    def _count_loss(self, token: bytes) -> None:
        owner = self.tables.owner(token)
        if owner is not None:
            self.tables.put_owner(token, replace(owner, lost=owner.lost + 1))


class TransactionalStore(Store):
    """A store over :class:`StoreTables`.

    Work passed to :meth:`_read` and :meth:`_write` may run twice, so it changes nothing but the tables.

    Args:
        url: of the store, for messages.
        namespace: part of the store.
        scheme: JSON of the configuration.
        **timing: see :class:`Timing`.
    """

    def __init__(self, url: str, namespace: str, scheme: str, **timing: Unpack[Timing]) -> None:
        self.url = url
        self.namespace = namespace
        self._scheme = scheme
        ttl = timing["ttl"]
        self._lease = timing["lease"]
        self._ttl = inf if ttl is None else ttl
        self._clock = timing["clock"]
        self._token = secrets.token_bytes(OWNER_BYTES)
        self._own: set[int] = set()  # ids of own claims
        self._lost = 0  # how many own claims others have removed, as far as this object has noticed

    @abstractmethod
    def _read(self, work: Callable[[StoreTables], T]) -> T:
        """Run ``work`` on one consistent view of the tables."""

    @abstractmethod
    def _write(self, work: Callable[[StoreTables], T]) -> T:
        """Run ``work`` in a transaction: all its changes are made, or none."""

    @abstractmethod
    def _is_alive(self, token: bytes) -> bool:
        """Whether the process of another owner is alive, as far as this can be known."""

    def _live(self, tables: StoreTables) -> LiveRecords:
        now = self._clock()
        return LiveRecords(tables, self._token, now, now - self._ttl, self._is_alive)

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
        encoded = [(record, encode(record)) for record in records]
        return self._write(lambda tables: [self._file(*pair, 0, [], tables) for pair in encoded])

    def restore(self, records: Sequence[Record]) -> int:
        encoded = [(record, encode(record)) for record in records]
        return self._in_chunks(partial(self._restore, encoded))

    def _restore(
        self, encoded: Sequence[tuple[Record, bytes]], start: int, tables: StoreTables
    ) -> tuple[int, int | None]:
        live, end = self._live(tables), start + CHUNK
        chunk = encoded[start:end]
        fresh = [pair for pair in chunk if not pair[0].is_among(live.search(pair[0].own_keys, 0)[0])]
        for record, value in fresh:
            self._file(record, value, FILE_ANYWAY, [], tables)
        return len(fresh), end if end < len(encoded) else None

    def _file(
        self, record: Record, value: bytes, since: int, supersede: list[int] | None, tables: StoreTables
    ) -> Offer:
        """File a record as committed, or as a claim (``supersede`` is None)."""
        live = self._live(tables)
        found, dead = live.search(record.lookup_keys, since)
        for id in dead:
            live.remove(id)
        if found:
            return Offer(None, tuple(found))
        if self._ttl < inf:
            live.expire()
        id = tables.next_id()
        tables.put_record(id, value, record.keys)
        if supersede is None:
            tables.put_lease(id, Lease(self._token, ClaimState.OPEN, live.now + self._lease))
        for old in supersede or ():
            live.remove(old)
        return Offer(id)

    # -- claims -------------------------------------------------------------------------------

    def scraped(self, id: int) -> bool:
        return self._write(partial(self._mark_scraped, id))

    def _mark_scraped(self, id: int, tables: StoreTables) -> bool:
        lease = tables.lease(id)
        if lease is None or lease.owner != self._token:
            return False
        tables.put_lease(id, Lease(self._token, ClaimState.SCRAPED, lease.until))
        return True

    def commit(self, ids: Iterable[int], supersede: Iterable[int] = ()) -> int:
        committed = self._write(partial(self._commit, set(ids), sorted(set(supersede))))
        self._own.difference_update(committed)
        return len(committed)

    def _commit(self, ids: set[int], supersede: list[int], tables: StoreTables) -> list[int]:
        claims = self._own_claims(ids, tables)
        for id in claims:
            tables.delete_lease(id)
        live = self._live(tables)
        for id in supersede if claims else ():
            live.remove(id)
        return claims

    def release(self, ids: Iterable[int]) -> int:
        released = self._write(partial(self._release, set(ids)))
        self._own.difference_update(released)
        return len(released)

    def _release(self, ids: set[int], tables: StoreTables) -> list[int]:
        claims = self._own_claims(ids, tables)
        live = self._live(tables)
        for id in claims:
            live.remove(id, notify_owner=False)
        return claims

    def _own_claims(self, ids: Iterable[int], tables: StoreTables) -> list[int]:
        leases = ((id, tables.lease(id)) for id in sorted(ids))
        return [id for id, lease in leases if lease is not None and lease.owner == self._token]

    def renew(self) -> int:
        lost, gone = self._write(self._renew)
        self._lost = lost
        self._own.difference_update(gone)
        return len(self._own)

    def _renew(self, tables: StoreTables) -> tuple[int, set[int]]:
        # Without a row another process has taken this one for dead, and may have removed any of its claims.
        owner = tables.owner(self._token) or Owner(0.0, self._lost + 1)
        tables.put_owner(self._token, Owner(self._clock() + self._lease, owner.lost))
        own = set(self._own) if owner.lost != self._lost else set()
        return owner.lost, own.difference(self._own_claims(own, tables))

    def _release_all(self) -> None:
        for chunk in chunked(sorted(self._own), CHUNK):
            self.release(chunk)

    # -- lookups ------------------------------------------------------------------------------

    def find(self, probes: Sequence[bytes]) -> tuple[Candidate, ...]:
        return self._read(lambda tables: tuple(self._live(tables).search(probes, 0)[0]))

    def get(self, id: int) -> Candidate | None:
        return self._read(lambda tables: self._live(tables).candidate(id))

    def lookup(self, url: str) -> Candidate | None:
        return self._read(partial(self._lookup, url))

    def _lookup(self, url: str, tables: StoreTables) -> Candidate | None:
        live = self._live(tables)
        hits = (live.candidate(id) for id in tables.newest(url_key(url), 0))
        return next((hit for hit in hits if hit is not None and hit.record.url == url), None)

    def records(self) -> Iterator[Candidate]:
        start: int | None = 0
        while start is not None:
            found, start = self._read(partial(self._records_from, start))
            yield from found

    def _records_from(self, start: int, tables: StoreTables) -> tuple[list[Candidate], int | None]:
        """Return a chunk of live records, and the id to go on with (None: at the end)."""
        live = self._live(tables)
        ids = [id for id, _ in islice(tables.records(start), CHUNK)]
        found = [hit for hit in map(live.candidate, ids) if hit is not None]
        return found, ids[-1] + 1 if ids else None

    # -- housekeeping -------------------------------------------------------------------------

    def forget(self, url: str) -> int:
        return self._write(partial(self._forget, url))

    def _forget(self, url: str, tables: StoreTables) -> int:
        ids = list(tables.newest(url_key(url), 0))
        values = ((id, tables.record(id)) for id in ids)
        doomed = [id for id, value in values if value is not None and decode(value, id).url == url]
        live = self._live(tables)
        return sum(live.remove(id) for id in doomed)

    def prune(self, older_than: float) -> int:
        return self._remove_dead_owners() + self._in_chunks(partial(self._prune, older_than))

    def _prune(self, older_than: float, start: int, tables: StoreTables) -> tuple[int, int | None]:
        """Remove a chunk; return how many records, and the id to go on with (None: at the end)."""
        live = self._live(tables)
        doomed: list[int] = []
        following = None
        for examined, (id, value) in enumerate(tables.records(start)):
            if examined == PRUNE_SCAN or len(doomed) == CHUNK:
                following = id
                break
            lease = tables.lease(id)
            old = decode_seen(value, id) < max(older_than, live.oldest)
            if old if lease is None else not live.is_held(lease):
                doomed.append(id)
        return sum(live.remove(id) for id in doomed), following

    def _remove_dead_owners(self) -> int:
        """Remove the dead owners and all their claims; return how many records were removed."""
        owners = self._read(lambda tables: tables.owners())
        dead = {token for token in owners if token != self._token and not self._is_alive(token)}
        removed = self._in_chunks(partial(self._remove_claims_of, dead)) if dead else 0
        for token in dead:
            self._write(partial(_delete_owner, token))
        return removed

    def _remove_claims_of(self, dead: set[bytes], start: int, tables: StoreTables) -> tuple[int, int | None]:
        leases = list(islice(tables.leases(start), CHUNK))
        live = self._live(tables)
        removed = sum(live.remove(id, notify_owner=False) for id, lease in leases if lease.owner in dead)
        return removed, leases[-1][0] + 1 if leases else None

    def _in_chunks(self, work: Callable[[int, StoreTables], tuple[int, int | None]]) -> int:
        """Do a long piece of work in short transactions, each starting where the one before stopped."""
        changed = 0
        start: int | None = 0
        while start is not None:
            count, start = self._write(partial(work, start))
            changed += count
        return changed

    def info(self) -> StoreInfo:
        return self._read(self._info)

    def _info(self, tables: StoreTables) -> StoreInfo:
        sizes = tables.sizes()
        times = [decode_seen(value, id) for id, value in tables.first_and_last()]
        live = self._live(tables)
        leases = [lease for _, lease in tables.leases(0)]
        states = [lease.state for lease in leases]
        return StoreInfo(
            url=self.url,
            namespace=self.namespace,
            pages=sizes.pages,
            open=states.count(ClaimState.OPEN),
            scraped=states.count(ClaimState.SCRAPED),
            keys=sizes.keys,
            bytes=sizes.bytes,
            oldest=times[0] if times else None,
            newest=times[-1] if times else None,
            scheme=self._scheme,
            ended=sum(not live.is_held(lease) for lease in leases),
        )


def _delete_owner(token: bytes, tables: StoreTables) -> None:
    tables.delete_owner(token)
