"""The table of a site: on how many pages a line of text stands (see :mod:`dedupcrawl.sites.site_memory`).

A table has at most ``BASE_LINES`` entries and ``PAGE_LINES`` for each counted page, at most ``MAX_LINES``. If it is
full, those with the lowest count go, the oldest first. This is *lossy counting* (Manku and Motwani, "Approximate
frequency counts over data streams", VLDB 2002): a counter may be too low. It is too high only if a server fails while
it gets the counts of many sites, and gets some of them again.

======  =====  =============================================
field   bytes  meaning
======  =====  =============================================
time        4  Unix time of the last change, seconds
pages       4  counted pages
lines     5·n  CRC-32 of the line, and the number of its pages
======  =====  =============================================

All numbers are big-endian. The oldest line comes first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from struct import Struct
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

BASE_LINES, PAGE_LINES, MAX_LINES = 8, 9, 4096
SPARE_LINES = 160  #: above the limit of a table in memory, so that it is not sorted for each page
MAX_SITE_CHARS = 255  #: of the name of a site, as of any host; longer ones have no table
MAX_COUNT = 255  #: pages of a line that are counted
MAX_SITES = 100_000  #: tables that a store keeps; with more, any of them are removed

_HEAD = Struct(">II")
_LINE = Struct(">IB")
MAX_TABLE_BYTES = _HEAD.size + MAX_LINES * _LINE.size  #: of a packed table


@dataclass(slots=True)
class SiteTable:
    """How many pages of a site have a line."""

    pages: int = 0  #: counted pages
    lines: dict[int, int] = field(default_factory=dict)  #: CRC-32 of a line → pages, the oldest first

    def add(self, lines: Iterable[tuple[int, int]], pages: int) -> None:
        """Add the lines of other pages. ``SPARE_LINES`` above the limit, the oldest of those seen once go first."""
        self.pages = min(self.pages + pages, 0xFFFFFFFF)
        for line, count in lines:
            total = self.lines.get(line, 0) + count
            self.lines[line] = total if total < MAX_COUNT else MAX_COUNT  # noqa: FURB136  # min() takes twice the time
        if self._excess() > SPARE_LINES:
            self._trim()

    def _excess(self) -> int:
        return len(self.lines) - min(MAX_LINES, BASE_LINES + PAGE_LINES * self.pages)

    def _trim(self) -> None:
        seldom = sorted(self.lines.items(), key=itemgetter(1))[: self._excess()]  # stable: the oldest of a count first
        for line, _ in seldom:
            del self.lines[line]

    def pack(self, now: float) -> bytes:
        """Return the table as bytes, without lines above the limit; ``now`` is the Unix time in seconds."""
        if self._excess() > 0:
            self._trim()
        head = _HEAD.pack(int(now) & 0xFFFFFFFF, self.pages)
        return head + b"".join([_LINE.pack(line, count) for line, count in self.lines.items()])


def unpack_site(value: bytes | None) -> SiteTable:
    """Return the table that :meth:`SiteTable.pack` wrote; an empty one for None, or for bytes that are none."""
    if value is None or len(value) < _HEAD.size or (len(value) - _HEAD.size) % _LINE.size:
        return SiteTable()
    return SiteTable(_HEAD.unpack_from(value)[1], dict(_LINE.iter_unpack(memoryview(value)[_HEAD.size :])))


def changed_at(value: bytes) -> int:
    """Return the Unix time, in seconds, at which a packed table was last changed; 0 if it is damaged."""
    return int(_HEAD.unpack_from(value)[0]) if len(value) >= _HEAD.size else 0


def merge_site(old: bytes | None, new: bytes) -> bytes:
    """Return a packed table with the counts of another one added, at the time of the later change."""
    table, added = unpack_site(old), unpack_site(new)
    table.add(added.lines.items(), added.pages)
    return table.pack(max(changed_at(old or b""), changed_at(new)))


@dataclass(frozen=True, slots=True)
class SiteView:
    """A page as its site knows it."""

    site: str
    lines: tuple[int, ...] = ()  #: CRC-32 of the lines to count if the page is kept; () if it does not count
    own: str | None = None  #: the compared text without what the site repeats; None: all is compared
    is_template: bool = False  #: whether the site repeats all of the text
    new: int = 0  #: of ``lines``, so many of the last ones stood on no page of the site yet
    beside: str = ""  #: the text beside the compared one, if its lines are counted too


class SiteTables:
    """The tables of sites that a store keeps.

    This class keeps none: then each process knows only the pages that it has counted itself.
    """

    def load_sites(self, sites: Sequence[str]) -> dict[str, bytes]:  # noqa: ARG002
        """Return the packed tables of these sites that are stored."""
        return {}

    def merge_sites(self, added: Mapping[str, bytes]) -> dict[str, bytes]:  # noqa: ARG002
        """Add the counts of packed tables to the stored ones, and return these, for the same sites.

        The counts of all workers are added, whenever they arrive. Above ``MAX_SITES`` tables, any of them go.

        Args:
            added: packed tables by site; an empty value adds nothing.
        """
        return {}

    def sites(self) -> Iterator[tuple[str, bytes]]:
        """Yield the sites with a table, and their packed tables."""
        return iter(())

    def forget_sites(self, sites: Iterable[str]) -> int:  # noqa: ARG002
        """Remove the tables of these sites; return how many there were. Records of their pages stay."""
        return 0

    def prune_sites(self, older_than: float) -> int:
        """Remove the tables that were not changed since this Unix time (seconds); return how many."""
        return self.forget_sites([site for site, value in self.sites() if changed_at(value) < older_than])


class GivenSiteTables(SiteTables):
    """Tables that do not change, such as those of a finished batch.

    Args:
        tables: packed tables by site.
    """

    def __init__(self, tables: Mapping[str, bytes]) -> None:
        self._tables = tables

    def load_sites(self, sites: Sequence[str]) -> dict[str, bytes]:
        """Return the packed tables of these sites."""
        return {site: self._tables[site] for site in sites if site in self._tables}

    def sites(self) -> Iterator[tuple[str, bytes]]:
        """Yield the sites with their packed tables."""
        return iter(self._tables.items())


class StoredSiteTables(Protocol):
    """The rows of a store over transactions that hold the tables of sites."""

    def site(self, name: str) -> bytes | None:
        """Return a packed table."""

    def put_site(self, name: str, value: bytes) -> None:
        """Store a packed table."""

    def delete_site(self, name: str) -> bool:
        """Remove a packed table; return whether there was one."""

    def site_rows(self) -> Iterator[tuple[str, bytes]]:
        """Yield the packed tables with their sites."""

    def site_count(self) -> int:
        """Return the number of packed tables."""


def loaded_rows(sites: Iterable[str], rows: StoredSiteTables) -> dict[str, bytes]:
    """Return the packed tables of these sites that are stored."""
    found = {site: rows.site(site) for site in sites}
    return {site: value for site, value in found.items() if value is not None}


def merge_rows(added: Mapping[str, bytes], rows: StoredSiteTables) -> dict[str, bytes]:
    """Do the work of :meth:`SiteTables.merge_sites` in a transaction."""
    for site, value in added.items():
        if value:
            rows.put_site(site, merge_site(rows.site(site), value))
    excess = rows.site_count() - MAX_SITES
    for site, _ in [*islice(rows.site_rows(), max(0, excess))]:
        rows.delete_site(site)
    return loaded_rows(added, rows)
