"""Notes: small values that a store keeps beside its records, by table, site and key.

A note is what a crawl has learnt about the URLs of a site: a rule, a count, the validators of a page, a request that
was not sent. A table has a name of its own; a site in it has at most ``limit`` notes, and the oldest of them go. Notes
are no claims: a worker that writes a note replaces what others have written. Counters are added by the store.

A note that is to be worked on is *taken*: for some seconds no other worker gets it. It stays until it is removed, so
that the work of a worker that died is done by another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

T = TypeVar("T")

MAX_SITE_BYTES = 1020  #: of the name of a site in UTF-8; a longer one has no notes
MAX_TABLE_NAME = 16  #: characters of the name of a table
MAX_NOTE_KEY_BYTES = 1024  #: a note with a longer key is not stored
MAX_NOTE_BYTES = 1 << 16  #: of a value; a note whose new value is larger is removed
MAX_NOTES = 10_000  #: of a site in a table, where the caller names no limit
MAX_NOTE_SITES = 200_000  #: sites with notes, counted once for each table; with more, any of them lose their notes
MAX_TOTAL = 10**15 - 1  #: of a counter; servers compute with floating-point numbers
PRUNED_AT_ONCE = 1000  #: notes removed in one transaction

_TABLE_NAME = re.compile(rf"[a-z0-9_-]{{1,{MAX_TABLE_NAME}}}")
_COUNTER = re.compile(rb"-?\d{1,15}")


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A value, and when it was written."""

    value: bytes
    changed: float  #: Unix time in seconds
    until: float = 0.0  #: Unix time until which the note is taken


@dataclass(frozen=True, slots=True)
class NoteSize:
    """The size of all notes of a namespace."""

    sites: int = 0  #: sites with notes, counted once for each table
    notes: int = 0
    bytes: int = 0  #: on disk or in memory; 0 where it is unknown


class NoteTables:
    """The notes that a store keeps. All methods are synchronous and thread-safe.

    This class keeps none: the notes of a process are lost when it ends.

    Every method raises :class:`~dedupcrawl.errors.StoreError` when the operation fails, and ``ValueError`` for a table
    whose name is not 1 to 16 of ``a-z0-9_-``.
    """

    def read(self, table: str, site: str, keys: Sequence[bytes]) -> list[bytes | None]:  # noqa: ARG002
        """Return the values of these keys, in their order."""
        return [None] * len(keys)

    def read_all(self, table: str, site: str) -> dict[bytes, bytes]:  # noqa: ARG002
        """Return all notes of a site in a table."""
        return {}

    def write(self, table: str, site: str, values: Mapping[bytes, bytes | None], limit: int = MAX_NOTES) -> None:
        """Write notes, which makes them the newest and no longer taken.

        Args:
            table: name of the table.
            site: the site.
            values: the values by key; None removes a note.
            limit: notes of this site in this table that are kept, at least 1.
        """

    def add(
        self,
        table: str,  # noqa: ARG002
        site: str,  # noqa: ARG002
        deltas: Mapping[bytes, int],
        limit: int = MAX_NOTES,  # noqa: ARG002
    ) -> dict[bytes, int]:
        """Add to counters in one atomic step, and return their totals; 0 reads a counter.

        A counter is a note whose value is a decimal number: :meth:`read` returns it as such. A value that is none
        counts as 0. A total has at most 15 digits. After an error, the numbers may have been added: added again, they
        are counted twice.
        """
        return dict(deltas)

    def take(self, table: str, site: str, count: int, lease: float) -> dict[bytes, bytes]:  # noqa: ARG002
        """Return the oldest notes that are not taken, and take them, in one atomic step.

        Two workers never get the same note within ``lease``. Whoever has done the work removes the note with
        :meth:`write`. A note that was taken and not removed is returned again after the lease, also to another crawl.

        Args:
            table: name of the table.
            site: the site.
            count: how many notes at most.
            lease: seconds for which they are taken.
        """
        return {}

    def sites(self, table: str) -> Iterator[str]:  # noqa: ARG002
        """Yield the sites that have notes in a table, in any order."""
        return iter(())

    def tables(self) -> list[tuple[str, str]]:
        """Return all tables with the sites that have notes there."""
        return []

    def forget(self, sites: Collection[str]) -> set[str]:  # noqa: ARG002
        """Remove the notes of these sites from all tables; return the sites that had any."""
        return set()

    def prune(self, older_than: float, places: Sequence[tuple[str, str]] | None = None) -> int:  # noqa: ARG002
        """Remove the notes that were not written since a time; return how many.

        Args:
            older_than: Unix time in seconds.
            places: tables, each with a site; None: all that have notes.
        """
        return 0

    def size(self) -> NoteSize:
        """Count the notes."""
        return NoteSize()


def checked_table(table: str) -> str:
    """Return the name of a table; raise ``ValueError`` if it is none."""
    if _TABLE_NAME.fullmatch(table) is None:
        raise ValueError(f"{table!r} is no name of a table of notes: 1 to 16 of a-z0-9_- are accepted")
    return table


def encoded_site(site: str) -> bytes:
    """Return the name of a site as it is stored; b"" if it is so long that it has no notes."""
    name = site.encode("utf-8", "surrogatepass")
    return name if len(name) <= MAX_SITE_BYTES else b""


def storable(values: Mapping[bytes, bytes | None]) -> dict[bytes, bytes | None]:
    """Return what is written for these values: nothing for a long key, None for a large value."""
    kept = {key: value for key, value in values.items() if len(key) <= MAX_NOTE_KEY_BYTES}
    return {key: None if value is not None and len(value) > MAX_NOTE_BYTES else value for key, value in kept.items()}


def storable_deltas(deltas: Mapping[bytes, int]) -> dict[bytes, int]:
    """Return the deltas of counters whose keys are short enough."""
    return {key: within_total(delta) for key, delta in deltas.items() if len(key) <= MAX_NOTE_KEY_BYTES}


def within_total(number: int) -> int:
    """Return a number within the range of counters."""
    return max(-MAX_TOTAL, min(MAX_TOTAL, number))


def counter_value(value: bytes | None) -> int:
    """Return the total of a counter; 0 for a value that is none."""
    return int(value) if value is not None and _COUNTER.fullmatch(value) else 0


# -- over transactions ----------------------------------------------------------------------------


class StoredNoteTables(Protocol):
    """The notes of a namespace inside one transaction."""

    def note(self, table: str, site: str, key: bytes) -> NoteRow | None:
        """Return a note; None if there is none, or if it is damaged."""

    def put_note(self, table: str, site: str, key: bytes, note: NoteRow) -> None:
        """Store a note: it is the newest of its site in this table if it was written last."""

    def take_note(self, table: str, site: str, key: bytes, note: NoteRow) -> None:
        """Store a note again, whose ``until`` alone has changed."""

    def delete_note(self, table: str, site: str, key: bytes) -> bool:
        """Remove a note; return whether there was one."""

    def delete_oldest(self, table: str, site: str, count: int) -> None:
        """Remove the oldest notes of a site in a table, damaged ones included."""

    def notes(self, table: str, site: str) -> Iterator[tuple[bytes, NoteRow]]:
        """Yield the notes of a site in a table, the oldest first; damaged ones are skipped."""

    def note_count(self, table: str, site: str) -> int:
        """Return the number of notes of a site in a table."""

    def note_sites(self) -> Iterator[tuple[str, str]]:
        """Yield the tables with the sites that have notes there."""

    def note_site_count(self) -> int:
        """Return the number of sites with notes, counted once for each table."""

    def note_size(self) -> NoteSize:
        """Return the size of all notes."""


class TransactionTables(Protocol):
    """The tables of a namespace inside one transaction, of which notes are one part."""

    @property
    def noted(self) -> StoredNoteTables:
        """The notes."""


class TransactionSession(Protocol):
    """Runs work in a transaction."""

    def __call__(self, work: Callable[[TransactionTables], T], /) -> T:
        """Run ``work`` with the tables; return its result."""


class TransactionalNoteTables(NoteTables):
    """The notes of a store over transactions.

    Args:
        read: runs work on one consistent view.
        write: runs work in a transaction, all of whose changes are made, or none.
        clock: returns the Unix time in seconds.
    """

    def __init__(self, read: TransactionSession, write: TransactionSession, clock: Callable[[], float]) -> None:
        self._read, self._write, self._clock = read, write, clock

    def read(self, table: str, site: str, keys: Sequence[bytes]) -> list[bytes | None]:
        place = checked_table(table), site

        def work(tables: TransactionTables) -> list[bytes | None]:
            found = (tables.noted.note(*place, key) for key in keys)
            return [None if note is None else note.value for note in found]

        return self._read(work) if encoded_site(site) else [None] * len(keys)

    def read_all(self, table: str, site: str) -> dict[bytes, bytes]:
        place = checked_table(table), site
        return self._read(lambda tables: {key: note.value for key, note in tables.noted.notes(*place)})

    def write(self, table: str, site: str, values: Mapping[bytes, bytes | None], limit: int = MAX_NOTES) -> None:
        place, kept = (checked_table(table), site), storable(values)
        if kept and encoded_site(site):
            self._write(lambda tables: write_notes(tables.noted, place, kept, limit, self._clock()))

    def add(self, table: str, site: str, deltas: Mapping[bytes, int], limit: int = MAX_NOTES) -> dict[bytes, int]:
        place, kept = (checked_table(table), site), storable_deltas(deltas)
        if not encoded_site(site):
            return dict(deltas)
        totals = self._write(lambda tables: add_notes(tables.noted, place, kept, limit, self._clock()))
        return {key: totals.get(key, delta) for key, delta in deltas.items()}

    def take(self, table: str, site: str, count: int, lease: float) -> dict[bytes, bytes]:
        place = checked_table(table), site
        return self._write(lambda tables: take_notes(tables.noted, place, count, self._clock(), lease))

    def sites(self, table: str) -> Iterator[str]:
        name = checked_table(table)
        return iter([site for each, site in self.tables() if each == name])

    def tables(self) -> list[tuple[str, str]]:
        return self._read(lambda tables: [*tables.noted.note_sites()])

    def forget(self, sites: Collection[str]) -> set[str]:
        places = [place for place in self.tables() if place[1] in sites]
        for place in places:
            while self._write(partial(_remove_some, place)):
                pass
        return {site for _, site in places}

    def prune(self, older_than: float, places: Sequence[tuple[str, str]] | None = None) -> int:
        removed = 0
        for place in self.tables() if places is None else places:
            while some := self._write(partial(_prune_some, place, older_than)):
                removed += some
        return removed

    def size(self) -> NoteSize:
        return self._read(lambda tables: tables.noted.note_size())


def write_notes(
    notes: StoredNoteTables, place: tuple[str, str], values: Mapping[bytes, bytes | None], limit: int, now: float
) -> None:
    """Do the work of :meth:`NoteTables.write` in a transaction; ``place`` is table and site."""
    for key, value in values.items():
        if value is None:
            notes.delete_note(*place, key)
        else:
            notes.put_note(*place, key, NoteRow(value, now))
    notes.delete_oldest(*place, max(0, notes.note_count(*place) - limit))
    excess = notes.note_site_count() - MAX_NOTE_SITES
    for other in [*islice((each for each in notes.note_sites() if each != place), max(0, excess))]:
        notes.delete_oldest(*other, notes.note_count(*other))


def add_notes(
    notes: StoredNoteTables, place: tuple[str, str], deltas: Mapping[bytes, int], limit: int, now: float
) -> dict[bytes, int]:
    """Do the work of :meth:`NoteTables.add` in a transaction; ``place`` is table and site."""
    found = {key: notes.note(*place, key) for key in deltas}
    present = {key: counter_value(note.value) if note is not None else 0 for key, note in found.items()}
    totals = {key: within_total(present[key] + delta) for key, delta in deltas.items()}
    changed: dict[bytes, bytes | None] = {key: b"%d" % totals[key] for key, delta in deltas.items() if delta}
    if changed:
        write_notes(notes, place, changed, limit, now)
    return totals


def take_notes(
    notes: StoredNoteTables, place: tuple[str, str], count: int, now: float, lease: float
) -> dict[bytes, bytes]:
    """Do the work of :meth:`NoteTables.take` in a transaction; ``place`` is table and site."""
    free = ((key, note) for key, note in notes.notes(*place) if note.until <= now)
    taken = dict(islice(free, max(0, count)))
    for key, note in taken.items():
        notes.take_note(*place, key, replace(note, until=now + lease))
    return {key: note.value for key, note in taken.items()}


def _remove_some(place: tuple[str, str], tables: TransactionTables) -> int:
    count = min(PRUNED_AT_ONCE, tables.noted.note_count(*place))
    tables.noted.delete_oldest(*place, count)
    return count


def _prune_some(place: tuple[str, str], older_than: float, tables: TransactionTables) -> int:
    old = [key for key, note in islice(tables.noted.notes(*place), PRUNED_AT_ONCE) if note.changed < older_than]
    return sum(tables.noted.delete_note(*place, key) for key in old)
