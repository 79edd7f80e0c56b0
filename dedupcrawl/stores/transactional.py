"""The rules of claims, leases and age, for stores whose tables are changed in local transactions.

:class:`TransactionalStore` implements the whole contract of :class:`~dedupcrawl.stores.base.Store` over four
tables (:class:`StoreTables`). A subclass supplies the tables, the transactions, and a test of which processes
are alive. :class:`MemoryStore` is the shortest one: its tables are dicts.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import inf
from threading import RLock
from typing import TYPE_CHECKING, ParamSpec, TypedDict, TypeVar, Unpack

from dedupcrawl.errors import DamageError, StoreError
from dedupcrawl.stores.base import (
    FILE_ANYWAY,
    MAX_DAMAGED,
    Candidate,
    ClaimState,
    Offer,
    Store,
    StoreInfo,
    log_damage,
    raise_damage,
    url_key,
)
from dedupcrawl.stores.memory_tables import MemoryTables
from dedupcrawl.stores.notes import TransactionalNoteTables
from dedupcrawl.stores.records import OWNER_BYTES, Lease, LiveRecordReader, Owner, RecordCache, decode_seen, encode
from dedupcrawl.stores.site_tables import loaded_rows, merge_rows
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dedupcrawl.stores.base import OnDamage, Record
    from dedupcrawl.stores.records import StoreTables
    from dedupcrawl.utils.redaction import SecretSeed


P = ParamSpec("P")
T = TypeVar("T")

CHUNK = 256  #: records removed in one transaction, so that other writers wait a few milliseconds at most
PRUNE_SCAN = 16 * CHUNK  #: records examined in one transaction of ``prune``


class TimeOptions(TypedDict):
    """The keyword arguments of a transactional store that concern time."""

    lease: float  #: seconds after which a claim ends unless it is renewed, above 0
    ttl: float | None  #: seconds after which a record no longer counts; None: never
    clock: Callable[[], float]  #: returns the Unix time in seconds


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """The result of one of the transactions of a long piece of work."""

    changed: int  #: records
    following: int | None  #: the id to go on with; None: at the end
    damaged: tuple[DamageError, ...] = ()  #: records that were skipped

    def report(self, on_damage: OnDamage) -> int:
        """Report the damaged records; return how many others were changed."""
        for error in self.damaged:
            on_damage(error)
        return self.changed


class TransactionalStore(Store):
    """A store over :class:`StoreTables`.

    Work passed to :meth:`_read` and :meth:`_write` may run twice, so it changes nothing but the tables.

    Args:
        url: of the store, for messages.
        namespace: part of the store.
        scheme: JSON of the configuration.
        **timing: see :class:`TimeOptions`.
    """

    def __init__(self, url: str, namespace: str, scheme: str, **timing: Unpack[TimeOptions]) -> None:
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
        self._cache = RecordCache()
        self._encoded: tuple[Record, bytes] | None = None  # a page with candidates is offered twice
        self.notes = TransactionalNoteTables(self._read, self._write, self._clock)

    @abstractmethod
    def _read(self, work: Callable[[StoreTables], T]) -> T:
        """Run ``work`` on one consistent view of the tables."""

    @abstractmethod
    def _write(self, work: Callable[[StoreTables], T]) -> T:
        """Run ``work`` in a transaction: all its changes are made, or none."""

    @abstractmethod
    def _is_alive(self, token: bytes) -> bool:
        """Whether the process of another owner is alive, as far as this can be known."""

    def _live(self, tables: StoreTables) -> LiveRecordReader:
        now = self._clock()
        return LiveRecordReader(tables, self._token, now, now - self._ttl, self._is_alive, self._cache)

    # -- filing -------------------------------------------------------------------------------

    def offer(self, record: Record, since: int = 0) -> Offer:
        offer = self._write(partial(self._file, record, self._encode(record), since, None))
        if offer.id is not None:
            self._own.add(offer.id)
        return offer

    def add(self, record: Record, since: int = 0, supersede: Iterable[int] = ()) -> Offer:
        old = sorted(set(supersede))
        return self._write(partial(self._file, record, self._encode(record), since, old))

    def _encode(self, record: Record) -> bytes:
        known = self._encoded
        if known is None or known[0] is not record:
            known = self._encoded = record, encode(record)
        return known[1]

    def add_many(self, records: Sequence[Record]) -> list[Offer]:
        encoded = [(record, encode(record)) for record in records]
        return self._write(lambda tables: [self._file(*pair, 0, [], tables) for pair in encoded])

    def restore(self, records: Sequence[Record]) -> int:
        encoded = [(record, encode(record)) for record in records]
        return self._in_chunks(partial(self._restore, encoded), raise_damage)

    def _restore(self, encoded: Sequence[tuple[Record, bytes]], start: int, tables: StoreTables) -> TransactionResult:
        live, end = self._live(tables), start + CHUNK
        chunk = encoded[start:end]
        fresh = [pair for pair in chunk if not pair[0].is_among(live.search(pair[0].own_keys, 0)[0])]
        for record, value in fresh:
            self._file(record, value, FILE_ANYWAY, [], tables)
        return TransactionResult(len(fresh), end if end < len(encoded) else None)

    def _file(
        self, record: Record, value: bytes, since: int, supersede: list[int] | None, tables: StoreTables
    ) -> Offer:
        """File a record as committed, or as a claim (``supersede`` is None)."""
        live = self._live(tables)
        found, dead = live.search(record.lookup_keys, since)
        for id in dead:
            live.remove_dead(id, record.lookup_keys)
        if found:
            return Offer(None, tuple(found))
        if self._ttl < inf:
            live.expire()
        id = tables.next_id()
        tables.put_record(id, value, record.keys)
        if since and since != FILE_ANYWAY:  # the page had candidates: the next ones may have it, too
            self._cache.add(id, value, replace(record, probes=None, context=None))
        if supersede is None:
            tables.put_lease(id, Lease(self._token, ClaimState.OPEN, live.now + self._lease))
        for old in supersede or ():
            live.remove(old)
        return Offer(id)

    # -- claims -------------------------------------------------------------------------------

    def scraped(self, id: int) -> bool:
        return self._write(partial(self._mark_scraped, id))

    def scraped_many(self, ids: Iterable[int]) -> None:
        claims = sorted(set(ids))
        self._write(lambda tables: [self._mark_scraped(id, tables) for id in claims])

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
        claims = set(ids)
        released = self._write(partial(self._release, claims))
        self._own -= claims
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
        # If the row is missing, another process has taken this one for dead, and may have removed its claims.
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

    def records(self, on_damage: OnDamage = raise_damage) -> Iterator[Candidate]:
        start: int | None = 0
        while start is not None:
            found, start = self._read(partial(self._records_from, start))
            for each in found:
                if isinstance(each, DamageError):
                    on_damage(each)
                else:
                    yield each

    def _records_from(self, start: int, tables: StoreTables) -> tuple[list[Candidate | DamageError], int | None]:
        """Return a chunk of live and damaged records, and the id to go on with (None: at the end)."""
        live = self._live(tables)
        ids = [id for id, _ in islice(tables.records(start), CHUNK)]
        found = [_result_or_damage(live.candidate, id) for id in ids]
        return [hit for hit in found if hit is not None], ids[-1] + 1 if ids else None

    # -- tables of sites ----------------------------------------------------------------------

    def load_sites(self, sites: Sequence[str]) -> dict[str, bytes]:
        return self._read(partial(loaded_rows, sites))

    def merge_sites(self, added: Mapping[str, bytes]) -> dict[str, bytes]:
        return self._write(partial(merge_rows, added))

    def sites(self) -> Iterator[tuple[str, bytes]]:
        return iter(self._read(lambda tables: [*tables.site_rows()]))

    def forget_sites(self, sites: Iterable[str]) -> int:
        names = [*sites]
        return self._write(lambda tables: sum(map(tables.delete_site, names)))

    # -- housekeeping -------------------------------------------------------------------------

    def forget(self, url: str, on_damage: OnDamage = log_damage) -> int:
        return self._write(partial(self._forget, url)).report(on_damage)

    def _forget(self, url: str, tables: StoreTables) -> TransactionResult:
        live = self._live(tables)
        removed = [_result_or_damage(live.remove_url, id, url) for id in list(tables.newest(url_key(url), 0))]
        return _chunk(removed, None)

    def prune(self, older_than: float, on_damage: OnDamage = log_damage) -> int:
        dead = self._remove_dead_owners()
        self.prune_sites(older_than)
        self.notes.prune(older_than)
        return dead + self._in_chunks(partial(self._prune, older_than), on_damage)

    def _prune(self, older_than: float, start: int, tables: StoreTables) -> TransactionResult:
        """Remove the old records and the ended claims of a chunk."""
        live = self._live(tables)
        doomed: list[int] = []
        damaged: list[DamageError] = []
        following = None
        for examined, (id, value) in enumerate(tables.records(start)):
            if examined == PRUNE_SCAN or len(doomed) == CHUNK:
                following = id
                break
            seen = _result_or_damage(decode_seen, value, id)
            lease = tables.lease(id)
            if isinstance(seen, DamageError):
                damaged.append(seen)
            elif seen < max(older_than, live.oldest) if lease is None else not live.is_held(lease):
                doomed.append(id)
        removed = [_result_or_damage(live.remove, id) for id in doomed]
        return _chunk([*damaged, *removed], following)

    def _remove_dead_owners(self) -> int:
        """Remove the dead owners and all their claims; return how many records were removed."""
        owners = self._read(lambda tables: tables.owners())
        dead = {token for token in owners if token != self._token and not self._is_alive(token)}
        removed = self._in_chunks(partial(self._remove_claims_of, dead), raise_damage) if dead else 0
        for token in dead:
            self._write(partial(_delete_owner, token))
        return removed

    def _remove_claims_of(self, dead: set[bytes], start: int, tables: StoreTables) -> TransactionResult:
        leases = list(islice(tables.leases(start), CHUNK))
        live = self._live(tables)
        removed = sum(live.remove_dead(id, notify_owner=False) for id, lease in leases if lease.owner in dead)
        return TransactionResult(removed, leases[-1][0] + 1 if leases else None)

    def _in_chunks(self, work: Callable[[int, StoreTables], TransactionResult], on_damage: OnDamage) -> int:
        """Do a long piece of work in short transactions, each starting where the one before stopped."""
        changed = 0
        start: int | None = 0
        while start is not None:
            chunk = self._write(partial(work, start))
            changed += chunk.report(on_damage)
            start = chunk.following
        return changed

    def info(self) -> StoreInfo:
        return self._read(self._info)

    def _info(self, tables: StoreTables) -> StoreInfo:
        sizes, notes = tables.sizes(), tables.noted.note_size()
        times = [_result_or_damage(decode_seen, value, id) for id, value in tables.first_and_last()]
        readable = [each for each in times if not isinstance(each, DamageError)]
        live = self._live(tables)
        claims = list(tables.leases(0))
        leases = [lease for _, lease in claims]
        states = [lease.state for lease in leases]
        return StoreInfo(
            url=self.url,
            namespace=self.namespace,
            pages=sizes.pages,
            open=states.count(ClaimState.OPEN),
            scraped=states.count(ClaimState.SCRAPED),
            keys=sizes.keys,
            bytes=sizes.bytes + notes.bytes,
            oldest=readable[0] if readable else None,
            newest=readable[-1] if readable else None,
            scheme=self._scheme,
            sites=sizes.sites,
            site_bytes=sizes.site_bytes,
            notes=notes.notes,
            note_bytes=notes.bytes,
            ended=sum(not live.is_held(lease) for lease in leases),
            damaged_claims=tuple([str(id) for id, lease in claims if lease.is_damaged][:MAX_DAMAGED]),
        )


def _result_or_damage(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | DamageError:
    """Return what a function returns, or the error of a damaged record."""
    try:
        return work(*args, **kwargs)
    except DamageError as error:
        return error


def _chunk(results: Iterable[bool | DamageError], following: int | None) -> TransactionResult:
    """Return how many records were removed, and the damaged ones."""
    done = list(results)
    damaged = tuple(each for each in done if isinstance(each, DamageError))
    return TransactionResult(done.count(True), following, damaged)


def _delete_owner(token: bytes, tables: StoreTables) -> None:
    tables.delete_owner(token)


# -- in memory ------------------------------------------------------------------------------------


class MemoryStore(TransactionalStore):
    """A store in memory, for tests and one-off scripts. It is private to the object: closing it discards its records.

    Arguments are those of :func:`~dedupcrawl.stores.open_store`, except:

    Args:
        scheme: JSON of the configuration.
        secret: the secret seed.
    """

    def __init__(
        self, namespace: str, scheme: str, secret: SecretSeed | None = None, **timing: Unpack[TimeOptions]
    ) -> None:
        super().__init__("memory://", namespace, scheme, **timing)
        self.secret = secret
        self._lock = RLock()
        self._tables: MemoryTables | None = MemoryTables()
        self._tables.put_owner(self._token, Owner(self._clock() + self._lease))

    def _read(self, work: Callable[[StoreTables], T]) -> T:
        return self._write(work)

    def _write(self, work: Callable[[StoreTables], T]) -> T:
        with self._lock:
            if self._tables is None:
                raise StoreError("The store memory:// has been closed.")
            return work(self._tables)

    def _is_alive(self, token: bytes) -> bool:
        return token == self._token

    def close(self) -> None:
        with self._lock:
            self._tables = None
            self._own.clear()
