"""A store in a folder, shared by all processes of a machine; it needs no server.

Its tables are in LMDB, a B+ tree: every table is sorted by key.

=========  ====================  ======================================================
table      key                   value
=========  ====================  ======================================================
records    id                    the encoded record
keys       ``_SET``              bucket key, id: a bucket is a range of values, its newest page last
claims     id                    owner, state, end of the lease; id 0: the last id given
owners     token                 end of all leases, number of claims lost
sites      site                  the packed table (:mod:`dedupcrawl.stores.site_tables`)
notes      see :mod:`dedupcrawl.stores.lmdb_notes`, also for ``note_places``
=========  ====================  ======================================================

Ids are big-endian, so that they sort as numbers. A committed record has no row in ``claims``: a commit
deletes one small row and rewrites nothing. All rows of ``keys`` are values of one key: LMDB keeps a sorted set of
values of one size (``dupfixed``) without the ten bytes that a row needs beside its content elsewhere.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, TypeVar, Unpack

import lmdb

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import BUCKET_CAP, KEY_BYTES, ClaimState, check_unused, log_reset
from dedupcrawl.stores.lmdb_environment import (
    FORKED,
    LmdbFolder,
    meta_table,
    namespace_names,
    open_namespace,
    remove_namespace,
)
from dedupcrawl.stores.lmdb_notes import LmdbNoteTables
from dedupcrawl.stores.records import OWNER_BYTES, Lease, NamespaceSize, Owner
from dedupcrawl.stores.transactional import TransactionalStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from dedupcrawl.stores.lmdb_environment import LmdbEnvironment, Table, Transaction
    from dedupcrawl.stores.records import StoreTables
    from dedupcrawl.stores.transactional import TimeOptions
    from dedupcrawl.utils.redaction import SecretSeed

T = TypeVar("T")

ID_BYTES = 6
MAX_ID = (1 << 8 * ID_BYTES) - 1
_SET = b"k"  #: key of all rows of ``keys``
_KEY_ROW = Struct(f">{KEY_BYTES}xHI")  #: a row of ``keys``: the upper 16 and the lower 32 bits of its id
#: Bytes of a row of ``keys`` with its share of the free space: nodes that are filled in random order are 69 % full
#: (A. C.-C. Yao, "On random 2-3 trees", Acta Informatica 9, 1978).
_KEY_ROW_BYTES = (KEY_BYTES + ID_BYTES) / 0.69

_LEASE = Struct(f">{OWNER_BYTES}sBd")
_OWNER = Struct(">dI")
_STATES = {ClaimState.OPEN.value, ClaimState.SCRAPED.value}
UNPACKED_LEASES = 4096  #: that are kept unpacked: pages of a template meet the same claims again and again
_LAST_ID_KEY = bytes(ID_BYTES)  # of the row of ``claims`` that holds the last id given


class LmdbStore(TransactionalStore):
    """One namespace of an LMDB folder.

    A killed process loses nothing that was filed; its claims end with it. A machine that goes down can lose
    what was filed since the last :meth:`renew`, and can damage the file; the next opening detects that (see
    :class:`~dedupcrawl.stores.lmdb_environment.LmdbFolder`).

    Arguments and errors are those of :func:`~dedupcrawl.stores.open_store`, except:

    Args:
        url: of the store, for messages.
        folder: the folder, created if it is missing.
        scheme: JSON of the configuration; None: accept any, and the namespace must exist.
        secret: the secret seed of a new namespace.
        reset: whether to remove the namespace first; nobody else may have it open.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        namespace: str,
        scheme: str | None,
        secret: SecretSeed | None = None,
        *,
        reset: bool = False,
        **timing: Unpack[TimeOptions],
    ) -> None:
        super().__init__(url, namespace, scheme or "", **timing)
        self._closed = False
        self._shared: LmdbTables | None = None  # of the transaction of ``together``, of the thread that has the lock
        with _store_errors(self.url, "opened"):
            self._folder = LmdbFolder(folder, self._token, create=scheme is not None)
        self._environment = self._folder.environment
        try:
            with self._folder.opening_lock():
                if reset:
                    self._reset()
                self._enter(scheme, secret)
        except BaseException:
            self._folder.leave()
            raise

    def _enter(self, scheme: str | None, secret: SecretSeed | None) -> None:
        with _store_errors(self.url, "opened"):
            stored = open_namespace(self._environment, self.url, self.namespace, scheme, secret)
            self._scheme, self.secret = stored
            self._handles = OpenTables.open(self._environment, self.namespace)
        self._write(lambda tables: tables.put_owner(self._token, Owner(self._clock() + self._lease)))
        self._remove_dead_owners()

    def _reset(self) -> None:
        """Remove the namespace. The folder must be locked: a process that opens it is registered before, or waits."""

        def work(transaction: Transaction) -> int:
            owners = [bytes(token) for token in transaction.cursor(handles.owners).iternext(values=False)]
            check_unused(self.url, self.namespace, sum(map(self._is_alive, owners)))
            pages: int = transaction.stat(handles.records)["entries"]
            for table in handles.all:
                transaction.drop(table, delete=False)
            remove_namespace(transaction, meta, self.namespace)
            return pages

        with _store_errors(self.url, "opened"):
            meta = meta_table(self._environment, self.url)
            handles = OpenTables.open(self._environment, self.namespace)
            log_reset(self.url, self.namespace, self._environment.write(work))

    def _read(self, work: Callable[[StoreTables], T]) -> T:
        self._check_open()
        with self._environment.lock:
            if self._shared is not None:
                return work(self._shared)
            with _store_errors(self.url, "read"):
                return self._environment.read(lambda transaction: work(LmdbTables(transaction, self._handles)))

    def _write(self, work: Callable[[StoreTables], T]) -> T:
        self._check_open()
        with self._environment.lock:
            if self._shared is not None:  # the environment handles the errors of the whole transaction
                return work(self._shared)
            with _store_errors(self.url, "written"):
                return self._environment.write(lambda transaction: work(LmdbTables(transaction, self._handles)))

    def together(self, work: Callable[[], T]) -> T:
        """Call ``work``, and return its result; all its calls of this store share one transaction."""

        def attempt(transaction: Transaction) -> T:
            self._shared = LmdbTables(transaction, self._handles)
            try:
                return work()
            finally:
                self._shared = None

        self._check_open()
        with self._environment.lock, _store_errors(self.url, "written"):
            return self._environment.write(attempt)

    def _is_alive(self, token: bytes) -> bool:
        return self._folder.locks.is_alive(token)

    def renew(self) -> int:
        claims = super().renew()
        with _store_errors(self.url, "written"):
            self._environment.flush()
        return claims

    def close(self) -> None:
        try:
            with self._environment.lock:
                if not self._closed and not self._environment.unusable:
                    self._release_all()
                    self._write(lambda tables: tables.delete_owner(self._token))
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._environment.lock:
            # A forked child has nothing to release: lock and file belong to the parent.
            done, self._closed = self._closed or self._environment.unusable == FORKED, True
        if not done:
            with _store_errors(self.url, "closed"):
                self._folder.leave()

    def _check_open(self) -> None:
        reason = "has been closed" if self._closed else self._environment.unusable
        if reason:
            raise StoreError(f"The store {self.url} {reason}.")


def namespaces_of(url: str, folder: Path) -> list[str]:
    """List the namespaces of an existing store, sorted; ``url`` is for messages."""
    with _store_errors(url, "opened"):
        opened = LmdbFolder(folder, secrets.token_bytes(OWNER_BYTES), create=False)
        try:
            return namespace_names(opened.environment, url)
        finally:
            opened.leave()


@contextmanager
def _store_errors(url: str, what: str) -> Iterator[None]:
    """Translate errors of LMDB and the file system to ``StoreError``."""
    try:
        yield
    except (lmdb.Error, OSError) as error:
        reason = str(error).rstrip(".")
        raise StoreError(f"The store {url} cannot be {what}: {reason}.") from error


@dataclass(frozen=True, slots=True)
class OpenTables:
    """The open tables of a namespace."""

    records: Table
    keys: Table
    claims: Table
    owners: Table
    sites: Table
    notes: Table
    note_places: Table

    @property
    def all(self) -> list[Table]:
        """All of them."""
        return [getattr(self, each.name) for each in fields(self)]

    @classmethod
    def open(cls, environment: LmdbEnvironment, namespace: str) -> OpenTables:
        """Open the tables; create those that are missing."""
        names = (each.name for each in fields(cls))
        return cls(*(environment.table(f"{namespace}/{name}", sets=name == "keys") for name in names))


class LmdbTables:
    """The tables of one namespace inside one transaction (see :class:`StoreTables`)."""

    def __init__(self, transaction: Transaction, handles: OpenTables) -> None:
        self._transaction = transaction
        self._handles = handles
        self._keys = transaction.cursor(handles.keys)
        self._has_leases: bool | None = None  # None: unknown

    @property
    def noted(self) -> LmdbNoteTables:
        return LmdbNoteTables(self._transaction, self._handles.notes, self._handles.note_places)

    def next_id(self) -> int:
        last = self._transaction.get(_LAST_ID_KEY, bytes(ID_BYTES), self._handles.claims)
        id = int.from_bytes(last, "big") + 1
        if len(last) != ID_BYTES or id > MAX_ID:
            raise _last_id_error()
        self._transaction.put(_LAST_ID_KEY, _pack_id(id), db=self._handles.claims)
        return id

    def put_record(self, id: int, value: bytes, keys: Iterable[bytes]) -> None:
        packed = _pack_id(id)
        # Ids only rise. With ``append`` LMDB fills its pages instead of leaving them half empty.
        if not self._transaction.put(packed, value, append=True, db=self._handles.records):
            raise _last_id_error()
        self._keys.putmulti([(_SET, key + packed) for key in keys])

    def delete_record(self, id: int) -> None:
        self._transaction.delete(_pack_id(id), db=self._handles.records)

    def delete_keys(self, id: int, keys: Iterable[bytes]) -> None:
        packed = _pack_id(id)
        for key in keys:
            self._transaction.delete(_SET, key + packed, self._handles.keys)

    def record(self, id: int) -> bytes | None:
        return self._get(id, self._handles.records)

    def rows(self, ids: Sequence[int]) -> list[tuple[bytes | None, Lease | None]]:
        if len(ids) == 1:  # as in most buckets
            return [(self.record(ids[0]), self.lease(ids[0]))]
        keys = [_pack_id(id) if 0 < id <= MAX_ID else b"" for id in ids]
        asked = [key for key in keys if key]
        values = dict(self._transaction.cursor(self._handles.records).getmulti(asked))
        claims = self._transaction.cursor(self._handles.claims).getmulti(asked) if self._may_have_leases() else ()
        leases = {key: _unpack_lease(value) for key, value in claims}
        return [(values.get(key), leases.get(key)) for key in keys]

    def records(self, start: int) -> Iterator[tuple[int, bytes]]:
        return self._rows_from(start, self._handles.records)

    def first_and_last(self) -> list[tuple[int, bytes]]:
        cursor = self._transaction.cursor(self._handles.records)
        items = [cursor.item() for move in (cursor.first, cursor.last) if move()]
        return [(int.from_bytes(key, "big"), value) for key, value in items]

    def newest(self, key: bytes, since: int) -> Iterable[int]:
        if since >= MAX_ID or not self._keys.set_range_dup(_SET, key + _pack_id(since + 1)):
            return ()
        return self._backwards(key, since) if self._keys.value().startswith(key) else ()

    def _backwards(self, key: bytes, since: int) -> Iterator[int]:
        cursor = self._transaction.cursor(self._handles.keys)
        if cursor.set_range_dup(_SET, key + _pack_id(MAX_ID)):
            has_row = cursor.prev_dup()
        else:
            has_row = cursor.set_key(_SET) and cursor.last_dup()
        # Few calls of Python read all rows that a search needs. The first row may belong to a bucket before this one.
        rows, first = cursor.iterprev_dup(keys=False) if has_row else iter(()), key + _pack_id(since + 1)
        is_within = has_row
        while is_within and (some := [*islice(rows, BUCKET_CAP)]):
            is_within = some[-1] >= first
            within = some if is_within else [row for row in some if row >= first]
            yield from [high << 32 | low for high, low in _KEY_ROW.iter_unpack(b"".join(within))]

    def lease(self, id: int) -> Lease | None:
        value = self._get(id, self._handles.claims) if self._may_have_leases() else None
        return None if value is None else _unpack_lease(value)

    def _may_have_leases(self) -> bool:
        if self._has_leases is None:
            claims = self._handles.claims
            others = self._transaction.get(_LAST_ID_KEY, db=claims) is not None  # a row that is no claim
            self._has_leases = self._transaction.stat(claims)["entries"] > others
        return self._has_leases

    def put_lease(self, id: int, lease: Lease) -> None:
        self._has_leases = True
        value = _LEASE.pack(lease.owner, lease.state, lease.until)
        self._transaction.put(_pack_id(id), value, db=self._handles.claims)

    def delete_lease(self, id: int) -> None:
        self._transaction.delete(_pack_id(id), db=self._handles.claims)

    def leases(self, start: int) -> Iterator[tuple[int, Lease]]:
        rows = self._rows_from(max(start, 1), self._handles.claims)
        return ((id, _unpack_lease(value)) for id, value in rows)

    def owner(self, token: bytes) -> Owner | None:
        value = self._transaction.get(token, db=self._handles.owners)
        return Owner(*_OWNER.unpack(value)) if value is not None and len(value) == _OWNER.size else None

    def owners(self) -> list[bytes]:
        return list(self._transaction.cursor(self._handles.owners).iternext(values=False))

    def put_owner(self, token: bytes, owner: Owner) -> None:
        self._transaction.put(token, _OWNER.pack(owner.until, owner.lost), db=self._handles.owners)

    def delete_owner(self, token: bytes) -> None:
        self._transaction.delete(token, db=self._handles.owners)

    def site(self, name: str) -> bytes | None:
        return self._transaction.get(_site_key(name), db=self._handles.sites)

    def put_site(self, name: str, value: bytes) -> None:
        self._transaction.put(_site_key(name), value, db=self._handles.sites)

    def delete_site(self, name: str) -> bool:
        return self._transaction.delete(_site_key(name), db=self._handles.sites)

    def site_rows(self) -> Iterator[tuple[str, bytes]]:
        rows = self._transaction.cursor(self._handles.sites).iternext()
        return ((bytes(key).decode("utf-8", "surrogatepass"), bytes(value)) for key, value in rows)

    def site_count(self) -> int:
        count: int = self._transaction.stat(self._handles.sites)["entries"]
        return count

    def sizes(self) -> NamespaceSize:
        handles = self._handles
        tables = (handles.records, handles.claims, handles.owners, handles.sites)
        stats = [self._transaction.stat(table) for table in tables]
        sizes = [stat["psize"] * (stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]) for stat in stats]
        keys = self._transaction.stat(handles.keys)["entries"]  # LMDB does not say how many pages these fill
        total = sum(sizes) + round(keys * _KEY_ROW_BYTES)
        return NamespaceSize(stats[0]["entries"], keys, total, stats[-1]["entries"], sizes[-1])

    def _get(self, id: int, table: Table) -> bytes | None:
        return self._transaction.get(_pack_id(id), db=table) if 0 < id <= MAX_ID else None

    def _rows_from(self, start: int, table: Table) -> Iterator[tuple[int, bytes]]:
        cursor: lmdb.Cursor[bytes] = self._transaction.cursor(table)
        if cursor.set_range(_pack_id(start)):
            for key, value in cursor.iternext():
                yield int.from_bytes(key, "big"), value


def _last_id_error() -> StoreError:
    return StoreError(
        "The last id given in the table of claims is damaged: export the namespace and import it into another."
    )


def _site_key(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _pack_id(id: int) -> bytes:
    return id.to_bytes(ID_BYTES, "big")


@lru_cache(UNPACKED_LEASES)
def _unpack_lease(value: bytes) -> Lease:
    """Return a lease; a damaged one has ended, and its owner is unknown."""
    if len(value) == _LEASE.size:
        owner, state, until = _LEASE.unpack(value)
        if state in _STATES:
            return Lease(owner, ClaimState(state), until)
    return Lease(bytes(OWNER_BYTES), ClaimState.OPEN, 0.0, is_damaged=True)
