"""The tables of a store in memory."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from dedupcrawl.stores.base import KEY_BYTES
from dedupcrawl.stores.notes import NoteSize
from dedupcrawl.stores.records import NamespaceSize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupcrawl.stores.notes import NoteRow
    from dedupcrawl.stores.records import Lease, Owner

T = TypeVar("T")


class MemoryTables:
    """The tables as dicts. Ids are filed in rising order, and dicts keep that order."""

    def __init__(self) -> None:
        self._last_id = 0
        self._records: dict[int, bytes] = {}
        self._leases: dict[int, Lease] = {}
        self._owners: dict[bytes, Owner] = {}
        # Most buckets hold one page: a bare id takes a third of the memory of a list with one id.
        self._buckets: dict[bytes, int | list[int]] = {}
        self._keys = 0
        self._bytes = 0
        self._sites: dict[str, bytes] = {}
        self.noted = MemoryNoteTables()

    def next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def put_record(self, id: int, value: bytes, keys: Iterable[bytes]) -> None:
        self._records[id] = value
        self._bytes += len(value)
        for key in dict.fromkeys(keys):
            self._keys += 1
            ids = self._buckets.get(key)
            if ids is None:
                self._buckets[key] = id
            elif isinstance(ids, int):
                self._buckets[key] = [ids, id]
            else:
                ids.append(id)

    def delete_record(self, id: int) -> None:
        self._bytes -= len(self._records.pop(id))

    def delete_keys(self, id: int, keys: Iterable[bytes]) -> None:
        for key in dict.fromkeys(keys):
            ids = self._buckets.get(key, ())
            several = [ids] if isinstance(ids, int) else ids
            at = bisect_left(several, id)
            if several[at : at + 1] != [id]:
                continue
            self._keys -= 1
            if isinstance(ids, list) and len(ids) > 1:
                del ids[at]
            else:
                del self._buckets[key]

    def record(self, id: int) -> bytes | None:
        return self._records.get(id)

    def rows(self, ids: Sequence[int]) -> list[tuple[bytes | None, Lease | None]]:
        records, leases = self._records, self._leases
        return [(records.get(id), leases.get(id)) for id in ids]

    def records(self, start: int) -> Iterator[tuple[int, bytes]]:
        return _rows_from(self._records, start)

    def first_and_last(self) -> list[tuple[int, bytes]]:
        rows = self._records.items()
        return [next(iter(rows)), next(reversed(rows))] if rows else []

    def newest(self, key: bytes, since: int) -> Sequence[int]:
        ids = self._buckets.get(key)
        if ids is None:
            return ()
        if isinstance(ids, int):
            return (ids,) if ids > since else ()
        return ids[: bisect_left(ids, since + 1) - len(ids) - 1 : -1]

    def lease(self, id: int) -> Lease | None:
        return self._leases.get(id)

    def put_lease(self, id: int, lease: Lease) -> None:
        self._leases[id] = lease

    def delete_lease(self, id: int) -> None:
        del self._leases[id]

    def leases(self, start: int) -> Iterator[tuple[int, Lease]]:
        return _rows_from(self._leases, start)

    def owner(self, token: bytes) -> Owner | None:
        return self._owners.get(token)

    def put_owner(self, token: bytes, owner: Owner) -> None:
        self._owners[token] = owner

    def delete_owner(self, token: bytes) -> None:
        del self._owners[token]

    def owners(self) -> list[bytes]:
        return list(self._owners)

    def site(self, name: str) -> bytes | None:
        return self._sites.get(name)

    def put_site(self, name: str, value: bytes) -> None:
        self._sites[name] = value

    def delete_site(self, name: str) -> bool:
        return self._sites.pop(name, None) is not None

    def site_rows(self) -> Iterator[tuple[str, bytes]]:
        return iter(self._sites.items())

    def site_count(self) -> int:
        return len(self._sites)

    def sizes(self) -> NamespaceSize:
        of_sites = sum(map(len, self._sites.values()))
        total = self._bytes + self._keys * KEY_BYTES + of_sites
        return NamespaceSize(len(self._records), self._keys, total, len(self._sites), of_sites)


class MemoryNoteTables:
    """The notes as dicts by table and site (see :class:`~dedupcrawl.stores.notes.StoredNoteTables`), oldest first."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, str], dict[bytes, NoteRow]] = {}

    def note(self, table: str, site: str, key: bytes) -> NoteRow | None:
        return self._notes.get((table, site), {}).get(key)

    def put_note(self, table: str, site: str, key: bytes, note: NoteRow) -> None:
        notes = self._notes.setdefault((table, site), {})
        notes.pop(key, None)
        notes[key] = note

    def take_note(self, table: str, site: str, key: bytes, note: NoteRow) -> None:
        self._notes[table, site][key] = note

    def delete_note(self, table: str, site: str, key: bytes) -> bool:
        notes = self._notes.get((table, site), {})
        is_removed = notes.pop(key, None) is not None
        if not notes:
            self._notes.pop((table, site), None)
        return is_removed

    def delete_oldest(self, table: str, site: str, count: int) -> None:
        for key in [*islice(self._notes.get((table, site), {}), count)]:
            self.delete_note(table, site, key)

    def notes(self, table: str, site: str) -> Iterator[tuple[bytes, NoteRow]]:
        return iter(self._notes.get((table, site), {}).items())

    def note_count(self, table: str, site: str) -> int:
        return len(self._notes.get((table, site), {}))

    def note_sites(self) -> Iterator[tuple[str, str]]:
        return iter(self._notes)

    def note_site_count(self) -> int:
        return len(self._notes)

    def note_size(self) -> NoteSize:
        lengths = [len(key) + len(note.value) for notes in self._notes.values() for key, note in notes.items()]
        return NoteSize(len(self._notes), len(lengths), sum(lengths))


def _rows_from(table: dict[int, T], start: int) -> Iterator[tuple[int, T]]:
    if start <= 1:  # from the oldest on: the caller usually reads few of them
        return iter(table.items())
    ids = list(table)
    return ((id, table[id]) for id in ids[bisect_left(ids, start) :])
