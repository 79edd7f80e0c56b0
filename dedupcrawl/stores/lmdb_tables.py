"""The tables of one namespace in LMDB, which is a B+ tree: every table is sorted by key.

=========  ====================  ==================================================
table      key                   value
=========  ====================  ==================================================
records    id                    the packed record
keys       bucket key, id        nothing: a bucket is a range, its newest page last
claims     id                    owner, state, end of the lease; id 0: the last id given
owners     token                 end of the lease, claims lost
=========  ====================  ==================================================

Ids are big-endian, so that they sort as numbers. A committed record has no row among the claims:
a commit removes one small row and rewrites nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from dedupcrawl.stores.base import KEY_BYTES, ClaimState
from dedupcrawl.stores.tables import OWNER_BYTES, Claim, Owner, Sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import lmdb

    from dedupcrawl.stores.environment import Environment, Table, Transaction

ID_BYTES = 6
LAST_ID = (1 << 8 * ID_BYTES) - 1

_CLAIM = Struct(f">{OWNER_BYTES}sBd")
_OWNER = Struct(">dI")
_COUNTER = bytes(ID_BYTES)


def _packed(id: int) -> bytes:
    return id.to_bytes(ID_BYTES, "big")


@dataclass(frozen=True, slots=True)
class Handles:
    """The tables of a namespace, opened."""

    records: Table
    keys: Table
    claims: Table
    owners: Table

    @classmethod
    def open(cls, environment: Environment, namespace: str) -> Handles:
        """Open the tables, making them if need be."""
        names = ("records", "keys", "claims", "owners")
        return cls(*(environment.table(f"{namespace}/{name}") for name in names))


class LmdbTables:
    """One namespace inside one transaction."""

    def __init__(self, transaction: Transaction, handles: Handles) -> None:
        self._transaction = transaction
        self._handles = handles
        self._keys = transaction.cursor(handles.keys)

    def next_id(self) -> int:
        last = self._transaction.get(_COUNTER, b"", self._handles.claims)
        id = int.from_bytes(last, "big") + 1
        self._transaction.put(_COUNTER, _packed(id), db=self._handles.claims)
        return id

    def put_record(self, id: int, value: bytes, keys: Iterable[bytes]) -> None:
        packed = _packed(id)
        # Ids only rise; told so, LMDB fills its pages instead of leaving them half empty.
        self._transaction.put(packed, value, append=True, db=self._handles.records)
        self._keys.putmulti([(key + packed, b"") for key in keys])

    def drop_record(self, id: int, keys: Iterable[bytes]) -> None:
        packed = _packed(id)
        self._transaction.delete(packed, db=self._handles.records)
        for key in keys:
            self._transaction.delete(key + packed, db=self._handles.keys)

    def record(self, id: int) -> bytes | None:
        return self._at(id, self._handles.records)

    def records(self, start: int) -> Iterator[tuple[int, bytes]]:
        return self._walk(start, self._handles.records)

    def ends(self) -> list[tuple[int, bytes]]:
        cursor = self._transaction.cursor(self._handles.records)
        items = [cursor.item() for move in (cursor.first, cursor.last) if move()]
        return [(int.from_bytes(key, "big"), value) for key, value in items]

    def newest(self, key: bytes, since: int) -> Iterable[int]:
        if since >= LAST_ID or not self._keys.set_range(key + _packed(since + 1)):
            return ()
        return self._backwards(key, since) if self._keys.key().startswith(key) else ()

    def _backwards(self, key: bytes, since: int) -> Iterator[int]:
        cursor = self._transaction.cursor(self._handles.keys)
        here = cursor.prev() if cursor.set_range(key + _packed(LAST_ID)) else cursor.last()
        while here and (entry := cursor.key()).startswith(key):
            id = int.from_bytes(entry[KEY_BYTES:], "big")
            if id <= since:
                return
            yield id
            here = cursor.prev()

    def claim(self, id: int) -> Claim | None:
        value = self._at(id, self._handles.claims)
        return None if value is None else _claim(value)

    def put_claim(self, id: int, claim: Claim) -> None:
        value = _CLAIM.pack(claim.owner, claim.state, claim.until)
        self._transaction.put(_packed(id), value, db=self._handles.claims)

    def drop_claim(self, id: int) -> None:
        self._transaction.delete(_packed(id), db=self._handles.claims)

    def claims(self, start: int) -> Iterator[tuple[int, Claim]]:
        rows = self._walk(max(start, 1), self._handles.claims)
        return ((id, _claim(value)) for id, value in rows)

    def owner(self, token: bytes) -> Owner | None:
        value = self._transaction.get(token, db=self._handles.owners)
        return None if value is None else Owner(*_OWNER.unpack(value))

    def owners(self) -> list[bytes]:
        return list(self._transaction.cursor(self._handles.owners).iternext(values=False))

    def put_owner(self, token: bytes, owner: Owner) -> None:
        self._transaction.put(token, _OWNER.pack(owner.until, owner.lost), db=self._handles.owners)

    def drop_owner(self, token: bytes) -> None:
        self._transaction.delete(token, db=self._handles.owners)

    def sizes(self) -> Sizes:
        handles = self._handles
        tables = (handles.records, handles.keys, handles.claims, handles.owners)
        stats = [self._transaction.stat(table) for table in tables]
        pages = sum(stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"] for stat in stats)
        return Sizes(stats[0]["entries"], stats[1]["entries"], pages * stats[0]["psize"])

    def _at(self, id: int, table: Table) -> bytes | None:
        return self._transaction.get(_packed(id), db=table) if 0 < id <= LAST_ID else None

    def _walk(self, start: int, table: Table) -> Iterator[tuple[int, bytes]]:
        cursor: lmdb.Cursor[bytes] = self._transaction.cursor(table)
        if cursor.set_range(_packed(start)):
            for key, value in cursor.iternext():
                yield int.from_bytes(key, "big"), value


def _claim(value: bytes) -> Claim:
    owner, state, until = _CLAIM.unpack(value)
    return Claim(owner, ClaimState(state), until)
