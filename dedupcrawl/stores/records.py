"""The records of a namespace: their bytes, the tables that hold them, and which of them are live.

A record is a fixed head, then its parts one after another; no pickle.

===========  =====  ==========================================
field        bytes  meaning
===========  =====  ==========================================
version          1  ``VERSION``
crc              4  CRC-32 of all bytes that follow
seen             8  Unix time, IEEE 754 double
keys             2  number of keys
sketches         1  number of sketches
url              4  bytes of the URL
cluster          4  bytes of the cluster
identity         1  bytes of the identity
lengths        4·n  bytes of each sketch
parts               keys, sketches, identity, URL, cluster
===========  =====  ==========================================

All numbers are big-endian, texts are UTF-8. ``probes`` are not stored.

:class:`StoreTables` is what a store over local transactions must supply. :class:`LiveRecordReader` reads and removes
records by the rules of claims, leases and age.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from itertools import accumulate, filterfalse, islice, pairwise
from math import inf
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, Protocol
from zlib import crc32

from dedupcrawl.errors import DamageError, StoreError
from dedupcrawl.stores.base import BUCKET_CAP, IDENTITY_BYTES, KEY_BYTES, SCAN_CAP, Candidate, ClaimState, Record
from dedupcrawl.stores.notes import TransactionTables
from dedupcrawl.stores.site_tables import StoredSiteTables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


VERSION = 5
_PREFIX = Struct(">BI")  # version, crc
_HEAD = Struct(">dHBIIB")  # seen to identity
_SEEN = Struct(">d")
_KEY_SIZES = {KEY_BYTES}
_TEXT_ENCODING = ("utf-8", "surrogatepass")
_id_of = attrgetter("id")
#: Unix times in seconds that are dates: those of the years 1 to 9999.
FIRST_TIME, LAST_TIME = -62_135_596_800.0, 253_402_300_799.0


def is_time(seconds: float) -> bool:
    """Return whether a number is a Unix time at which a page may have been seen. NaN is not."""
    return FIRST_TIME <= seconds <= LAST_TIME


def record_damage(key: object, what: str) -> DamageError:
    """Return the error of a damaged record; ``key`` is where it is stored, ``what`` says what is wrong."""
    return DamageError(f"The record under {key!r} is damaged: {what}.")


def encode(record: Record) -> bytes:
    """Return a record as bytes.

    Raises:
        StoreError: a key is not ``KEY_BYTES`` long, the identity is longer than ``IDENTITY_BYTES``, the time is no
            date, or the record has more parts than the layout can count.
    """
    if not {*map(len, record.keys)} <= _KEY_SIZES:
        raise StoreError(f"The record of {record.url!r} has a key that is not {KEY_BYTES} bytes long.")
    if len(record.identity) > IDENTITY_BYTES:
        raise StoreError(f"The record of {record.url!r} has an identity of more than {IDENTITY_BYTES} bytes.")
    if not is_time(record.seen):
        raise StoreError(f"The record of {record.url!r} was seen at {record.seen}, which is no Unix time.")
    url, cluster = record.url.encode(*_TEXT_ENCODING), record.cluster.encode(*_TEXT_ENCODING)
    counts = (len(record.keys), len(record.sketches), len(url), len(cluster), len(record.identity))
    try:
        head = _HEAD.pack(record.seen, *counts)
    except struct.error as error:
        raise StoreError(f"The record of {record.url!r} has too many parts to be filed: {error}.") from error
    lengths = struct.pack(f">{len(record.sketches)}I", *map(len, record.sketches))
    body = b"".join((head, lengths, *record.keys, *record.sketches, record.identity, url, cluster))
    return _PREFIX.pack(VERSION, crc32(body)) + body


def decode(value: bytes, key: object) -> Record:
    """Return the record that :func:`encode` wrote; ``key`` is where it is stored, for the message.

    Raises:
        DamageError: the value is damaged or has another version.
    """
    _check(value, key)
    seen, keys, sketches, url, cluster, identity = _HEAD.unpack_from(value, _PREFIX.size)
    start = _PREFIX.size + _HEAD.size
    first = start + 4 * sketches  # of the parts
    lengths = struct.unpack_from(f">{sketches}I", value, start) if first <= len(value) else ()
    if first + KEY_BYTES * keys + sum(lengths) + identity + url + cluster != len(value):
        raise record_damage(key, "its length differs from the sizes in its header")
    cuts = accumulate((*(KEY_BYTES,) * keys, *lengths, identity, url, cluster), initial=first)
    parts = [value[left:right] for left, right in pairwise(cuts)]
    try:
        page, cluster_name = parts[-2].decode(*_TEXT_ENCODING), parts[-1].decode(*_TEXT_ENCODING)
    except UnicodeDecodeError:
        raise record_damage(key, "its URL or the name of its cluster is not UTF-8") from None
    return Record(
        url=page,
        keys=tuple(parts[:keys]),
        sketches=tuple(parts[keys:-3]),
        seen=seen,
        cluster=cluster_name,
        identity=parts[-3],
    )


def decode_seen(value: bytes, key: object) -> float:
    """Return only the Unix time at which an encoded record was seen, without verifying its checksum.

    Raises:
        DamageError: the value is too short, or its time is no date.
    """
    _check_length(value, key)
    time: float = _SEEN.unpack_from(value, _PREFIX.size)[0]
    if not is_time(time):
        raise record_damage(key, "its time is no date")
    return time


def is_intact(value: bytes) -> bool:
    """Whether these bytes have a right checksum and a time. Whether their parts fit together, :func:`decode` finds."""
    try:
        _check(value, "")
    except DamageError:
        return False
    return True


def _check(value: bytes, key: object) -> None:
    _check_length(value, key)
    version, crc = _PREFIX.unpack_from(value)
    if version != VERSION:
        raise DamageError(f"The record under {key!r} is damaged or has layout {version}, not {VERSION}.")
    if crc != crc32(memoryview(value)[_PREFIX.size :]):
        raise record_damage(key, "its checksum is wrong")
    decode_seen(value, key)


def _check_length(value: bytes, key: object) -> None:
    if len(value) < _PREFIX.size + _HEAD.size:
        raise record_damage(key, f"only {len(value)} bytes are left of it")


#: Records that a store keeps decoded, about 2 kB each. Pages of a template have the same candidates again and again.
CACHED_RECORDS = 2048


class RecordCache:
    """The records that were decoded last, by id. One is used only if its stored bytes are still the same.

    Not thread-safe: a store uses it within its transactions.

    Args:
        most: records that are kept, at least 1; the one that was decoded first goes first.
    """

    def __init__(self, most: int = CACHED_RECORDS) -> None:
        self._most = most
        # By id: the stored bytes, the committed page, and the claim as it was found last.
        self._known: dict[int, tuple[bytes, Candidate, Candidate | None]] = {}

    def committed(self, id: int, value: bytes) -> Candidate:
        """Return the committed page with these stored bytes; raise ``DamageError`` as :func:`decode` does."""
        known = self._known.get(id)
        if known is not None and known[0] == value:
            return known[1]
        return self.add(id, value, decode(value, id))

    def claimed(self, id: int, value: bytes, state: ClaimState, *, mine: bool) -> Candidate:
        """Return the claim with these stored bytes, whose owner is alive; errors as those of :meth:`committed`."""
        known = self._known.get(id)
        claim = known[2] if known is not None and known[0] == value else None
        if claim is not None and claim.state is state and claim.mine is mine:
            return claim
        committed = self.committed(id, value)
        claim = Candidate(id, committed.record, state, mine, witnessed=not mine)
        self._known[id] = value, committed, claim
        return claim

    def add(self, id: int, value: bytes, record: Record) -> Candidate:
        """Add a record that was decoded from these bytes, or encoded as them; return it as a committed page."""
        candidate = Candidate(id, record, ClaimState.COMMITTED, mine=False)
        self._known[id] = value, candidate, None
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return candidate


OWNER_BYTES = 8  #: size of the random token that identifies a store object
EXPIRE_SCAN = 64  #: highest number of damaged records that are passed over to find those past their time to live


@dataclass(frozen=True, slots=True)
class Lease:
    """The claim on a record that is not committed yet; a committed record has none."""

    owner: bytes  #: token of the store object that filed the record, ``OWNER_BYTES`` long
    state: ClaimState
    until: float  #: Unix time at which the lease ends unless the owner renews it
    is_damaged: bool = False  #: whether the stored value could not be read


@dataclass(frozen=True, slots=True)
class Owner:
    """A store object that files records. One small write renews all its leases."""

    until: float  #: Unix time up to which all its leases are renewed
    lost: int = 0  #: how many of its claims others have removed


@dataclass(frozen=True, slots=True)
class NamespaceSize:
    """The size of a namespace."""

    pages: int  #: records
    keys: int  #: bucket entries
    bytes: int  #: on disk or in memory
    sites: int = 0  #: tables of sites
    site_bytes: int = 0  #: of these tables


class StoreTables(StoredSiteTables, TransactionTables, Protocol):
    """The tables of one namespace inside one transaction."""

    def next_id(self) -> int:
        """Return an id above all ids given before, and store it."""

    def put_record(self, id: int, value: bytes, keys: Iterable[bytes]) -> None:
        """Store an encoded record under its bucket keys."""

    def delete_record(self, id: int) -> None:
        """Remove a record, but not its bucket entries."""

    def delete_keys(self, id: int, keys: Iterable[bytes]) -> None:
        """Remove the entries of a record from these buckets; those that do not exist are ignored."""

    def record(self, id: int) -> bytes | None:
        """Return an encoded record."""

    def rows(self, ids: Sequence[int]) -> Iterable[tuple[bytes | None, Lease | None]]:
        """Return for each id the encoded record, and its lease."""

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

    def sizes(self) -> NamespaceSize:
        """Return the size of the namespace."""


@dataclass(slots=True)
class LiveRecordReader:
    """The live records of a namespace, as one store object sees them at one moment.

    A record is live unless it is too old, its lease has ended, or its owner is dead.
    """

    tables: StoreTables
    token: bytes  #: of the store object
    now: float  #: Unix time in seconds
    oldest: float  #: records seen before this Unix time are past their time to live
    is_alive: Callable[[bytes], bool]  #: whether the process of another owner is alive
    cache: RecordCache = field(default_factory=RecordCache)  #: of the store object
    _renewed: dict[bytes, float] = field(default_factory=dict)  #: owner -> end of its leases, 0 for a dead one

    def candidate(self, id: int) -> Candidate | None:
        """Return the live record with this id."""
        return self._candidates((id,))[0]

    def _candidates(self, ids: Sequence[int]) -> list[Candidate | None]:
        """Return for each id the live record; of a template's pages, a search examines dozens."""
        found: list[Candidate | None] = []
        cache, token, expires = self.cache, self.token, self.oldest > -inf
        for id, (value, lease) in zip(ids, self.tables.rows(ids), strict=True):
            if value is None or (expires and decode_seen(value, id) < self.oldest):
                found.append(None)
            elif lease is None:
                found.append(cache.committed(id, value))
            elif (mine := lease.owner == token) or self.is_held(lease):  # whoever holds a lease lives
                found.append(cache.claimed(id, value, lease.state, mine=mine))
            else:
                found.append(None)
        return found

    def search(self, probes: Iterable[bytes], since: int) -> tuple[list[Candidate], list[int]]:
        """Return the live records under the probes by rising id, and the ids of the dead ones."""
        found: dict[int, Candidate] = {}
        dead: set[int] = set()
        for probe in probes:
            ids, live = islice(self.tables.newest(probe, since), SCAN_CAP), 0
            while live < BUCKET_CAP and (some := [*islice(ids, BUCKET_CAP - live)]):
                # Buckets of a template hold the same pages, a few dozen each: no step of Python for each of them.
                unmet = [*filterfalse(dead.__contains__, filterfalse(found.__contains__, some))]
                for id, hit in zip(unmet, self._candidates(unmet) if unmet else (), strict=True):
                    if hit is None:
                        dead.add(id)
                    else:
                        found[id] = hit
                live += len(some) - (len(dead.intersection(some)) if dead else 0)
        return sorted(found.values(), key=_id_of), sorted(dead)

    def is_held(self, lease: Lease) -> bool:
        """Whether a lease is running and its owner is alive. The store object that asks is alive."""
        if lease.owner == self.token:
            return True
        renewed = self._renewed.get(lease.owner)
        if renewed is None:
            renewed = self._renewed[lease.owner] = self._renewed_until(lease.owner)
        return self.now < max(lease.until, renewed) and renewed > 0

    def _renewed_until(self, token: bytes) -> float:
        owner = self.tables.owner(token)
        if owner is None or not self.is_alive(token):
            return 0.0
        return owner.until

    def remove(self, id: int, *, notify_owner: bool = True) -> bool:
        """Remove a record with its keys and its lease; return whether it existed.

        ``notify_owner`` counts the claim as lost, which its owner notices at the next renewal.

        Raises:
            DamageError: the keys of the record cannot be read. Nothing was removed.
        """
        value = self.tables.record(id)
        if value is None:
            return False
        self._delete(id, decode(value, id).keys, notify_owner=notify_owner)
        return True

    def remove_url(self, id: int, url: str) -> bool:
        """Remove a record if it has this URL; return whether it had. Raises as :meth:`remove` does."""
        value = self.tables.record(id)
        return value is not None and decode(value, id).url == url and self.remove(id)

    def remove_dead(self, id: int, probes: Iterable[bytes] = (), *, notify_owner: bool = True) -> bool:
        """Remove a dead record, even if it is damaged; return whether it existed.

        The keys of a damaged record are not known. Its entries are removed from the buckets of ``probes`` now, and from
        other buckets when they are found there.
        """
        try:
            if self.remove(id, notify_owner=notify_owner):
                return True
            is_damaged = False
        except DamageError:
            is_damaged = True
        self.tables.delete_keys(id, probes)
        if is_damaged:
            self._delete(id, (), notify_owner=notify_owner)
        return is_damaged

    def _delete(self, id: int, keys: Iterable[bytes], *, notify_owner: bool) -> None:
        self.tables.delete_record(id)
        self.tables.delete_keys(id, keys)
        lease = self.tables.lease(id)
        if lease is not None:
            self.tables.delete_lease(id)
            if notify_owner:
                self._count_loss(lease.owner)

    def expire(self) -> None:
        """Remove the two oldest records if they are past their time to live. This bounds the store.

        Damaged records show no reliable time. They are removed with a later record that is past its time to
        live, or if nothing but damaged records is found.
        """
        damaged: list[int] = []
        old: list[int] = []
        oldest = islice(self.tables.records(0), EXPIRE_SCAN)
        young = False
        while len(old) < 2 and not young and (row := next(oldest, None)):
            if not is_intact(row[1]):
                damaged.append(row[0])
            elif decode_seen(row[1], row[0]) < self.oldest:
                old += [*damaged, row[0]]
                damaged = []
            else:
                young = True
        for id in old or (() if young else damaged[:2]):
            self.remove_dead(id)

    def _count_loss(self, token: bytes) -> None:
        owner = self.tables.owner(token)
        if owner is not None:
            self.tables.put_owner(token, replace(owner, lost=owner.lost + 1))
