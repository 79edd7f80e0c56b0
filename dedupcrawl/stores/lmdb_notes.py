"""The notes of an LMDB store (see :mod:`dedupcrawl.stores.notes`).

==============  ==================================  ========================================================
table           key                                 value
==============  ==================================  ========================================================
notes           "n", place, hash of the key         time of the change, end of the lease, length of the key,
                                                    key, value
notes           "o", place, time, hash of the key   empty: the notes of a place in the order of their changes
note_places     place                               number of notes, name of the table, 0, name of the site
==============  ==================================  ========================================================

A place is the hash of table and site. Hashes are BLAKE2b-96: keys of LMDB have at most 511 bytes. Times are in
microseconds, big-endian.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING

from dedupcrawl.stores.notes import NoteRow, NoteSize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.stores.lmdb_environment import Table, Transaction

HASH_BYTES = 12
_NOTE = Struct(">QQH")
_COUNT = Struct(">I")
_TIME_BYTES = 8
_MICROSECONDS = 1_000_000
_MOST_MICROSECONDS = (1 << 63) - 1
_AT_ONCE = 256  #: rows read before some of them change


class LmdbNoteTables:
    """The notes of one namespace inside one transaction (see :class:`~dedupcrawl.stores.notes.StoredNoteTables`).

    Args:
        transaction: the transaction.
        notes: the table of notes.
        places: the table of places.
    """

    def __init__(self, transaction: Transaction, notes: Table, places: Table) -> None:
        self._transaction, self._notes, self._places = transaction, notes, places

    def note(self, table: str, site: str, key: bytes) -> NoteRow | None:
        found = self._found(_note_key(_place(table, site), key))
        return found[1] if found is not None and found[0] == key else None

    def put_note(self, table: str, site: str, key: bytes, note: NoteRow) -> None:
        place = _place(table, site)
        row, changed = _note_key(place, key), self._time_of_newest(place, note.changed)
        if not self._remove(place, row):
            self._count(table, site, 1)
        self._transaction.put(
            row, _NOTE.pack(changed, _micros(note.until), len(key)) + key + note.value, db=self._notes
        )
        self._transaction.put(_order_key(place, changed, row), b"", db=self._notes)

    def _time_of_newest(self, place: bytes, now: float) -> int:
        """Return the time of a change: later than that of all notes of the place."""
        cursor = self._transaction.cursor(self._notes)
        prefix = b"o" + place
        is_before = cursor.prev() if cursor.set_range(prefix + b"\xff" * _TIME_BYTES) else cursor.last()
        last = cursor.key() if is_before else b""
        newest = int.from_bytes(last[len(prefix) :][:_TIME_BYTES], "big") if last.startswith(prefix) else 0
        return max(_micros(now), min(newest + 1, _MOST_MICROSECONDS))

    def take_note(self, table: str, site: str, key: bytes, note: NoteRow) -> None:
        row = _note_key(_place(table, site), key)
        head = (self._transaction.get(row, b"", self._notes))[:_TIME_BYTES]
        rest = _NOTE.pack(0, _micros(note.until), len(key))[_TIME_BYTES:]
        self._transaction.put(row, head + rest + key + note.value, db=self._notes)

    def delete_note(self, table: str, site: str, key: bytes) -> bool:
        place = _place(table, site)
        is_removed = self._remove(place, _note_key(place, key))
        if is_removed:
            self._count(table, site, -1)
        return is_removed

    def _remove(self, place: bytes, row: bytes) -> bool:
        value = self._transaction.get(row, db=self._notes)
        if value is None:
            return False
        changed = int.from_bytes(value[:_TIME_BYTES], "big")
        self._transaction.delete(_order_key(place, changed, row), db=self._notes)
        return self._transaction.delete(row, db=self._notes)

    def delete_oldest(self, table: str, site: str, count: int) -> None:
        place = _place(table, site)
        orders = [*islice(self._rows(b"o" + place), count)]
        rows = [_row_of(order) for order in orders]
        for order in orders:
            self._transaction.delete(order, db=self._notes)
        rows += islice(self._rows(b"n" + place), count - len(rows))  # without an order only in a damaged file
        removed = sum(self._transaction.delete(row, db=self._notes) for row in rows)
        is_empty = removed < count and not any(self._rows(b"n" + place))
        self._count(table, site, -self.note_count(table, site) if is_empty else -removed)

    def notes(self, table: str, site: str) -> Iterator[tuple[bytes, NoteRow]]:
        prefix = b"o" + _place(table, site)
        for order in self._rows(prefix):
            found = self._found(_row_of(order))
            if found is not None:
                yield found

    def note_count(self, table: str, site: str) -> int:
        value = self._transaction.get(_place(table, site), b"", self._places)
        return _COUNT.unpack_from(value)[0] if len(value) > _COUNT.size else 0

    def note_sites(self) -> Iterator[tuple[str, str]]:
        for value in self._transaction.cursor(self._places).iternext(keys=False):
            table, separator, site = bytes(value[_COUNT.size :]).partition(b"\0")
            if separator:
                yield table.decode("ascii", "replace"), site.decode("utf-8", "surrogatepass")

    def note_site_count(self) -> int:
        count: int = self._transaction.stat(self._places)["entries"]
        return count

    def note_size(self) -> NoteSize:
        places, notes = self._transaction.stat(self._places), self._transaction.stat(self._notes)
        pages = sum(each["branch_pages"] + each["leaf_pages"] + each["overflow_pages"] for each in (places, notes))
        return NoteSize(places["entries"], notes["entries"] // 2, pages * notes["psize"])

    def _found(self, row: bytes) -> tuple[bytes, NoteRow] | None:
        """Return the key and the note of a row; None if there is none, or if it is damaged."""
        value = self._transaction.get(row, db=self._notes)
        if value is None or len(value) < _NOTE.size:
            return None
        changed, until, length = _NOTE.unpack_from(value)
        key, content = value[_NOTE.size :][:length], value[_NOTE.size + length :]
        is_sound = len(key) == length and row.endswith(_hash(key))
        return (key, NoteRow(content, changed / _MICROSECONDS, until / _MICROSECONDS)) if is_sound else None

    def _rows(self, prefix: bytes) -> Iterator[bytes]:
        """Yield the keys with a prefix; the rows may be removed meanwhile."""
        start = prefix
        while True:
            cursor = self._transaction.cursor(self._notes)
            keys = cursor.iternext(values=False) if cursor.set_range(start) else iter(())
            some = [bytes(key) for key in islice(keys, _AT_ONCE)]
            yield from (key for key in some if key.startswith(prefix))
            if len(some) < _AT_ONCE or not some[-1].startswith(prefix):
                return
            start = some[-1] + b"\0"

    def _count(self, table: str, site: str, change: int) -> None:
        place, count = _place(table, site), self.note_count(table, site) + change
        if count > 0:
            name = table.encode("ascii") + b"\0" + site.encode("utf-8", "surrogatepass")
            self._transaction.put(place, _COUNT.pack(count) + name, db=self._places)
        else:
            self._transaction.delete(place, db=self._places)


def _micros(time: float) -> int:
    return max(0, min(round(time * _MICROSECONDS), _MOST_MICROSECONDS))


@cache
def _hasher(person: bytes) -> blake2b:
    return blake2b(digest_size=HASH_BYTES, person=person)


def _hash(value: bytes, person: bytes = b"dedupcrawl.note") -> bytes:
    hasher = _hasher(person).copy()
    hasher.update(value)
    return hasher.digest()


def _place(table: str, site: str) -> bytes:
    return _hash(table.encode("ascii") + b"\0" + site.encode("utf-8", "surrogatepass"), b"dedupcrawl.place")


def _note_key(place: bytes, key: bytes) -> bytes:
    return b"n" + place + _hash(key)


def _order_key(place: bytes, changed: int, row: bytes) -> bytes:
    return b"o" + place + changed.to_bytes(_TIME_BYTES, "big") + row[-HASH_BYTES:]


def _row_of(order: bytes) -> bytes:
    """Return the key of the note to which a row of the order belongs."""
    return b"n" + order[1:][:HASH_BYTES] + order[-HASH_BYTES:]
