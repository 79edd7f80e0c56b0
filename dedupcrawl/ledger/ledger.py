"""A ledger: one file in which a run writes down what it does, and from which reports are made.

Several ledgers, those of the workers of one crawl, are read one by one: whatever they hold adds up, and what
is sampled is sampled by the same hash.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from dedupcrawl.ledger.counters import BINS, Flow, Histogram, Host, Slice, bin_edges
from dedupcrawl.ledger.entry import Entry, Fate, load_comparisons, load_verdict, storable
from dedupcrawl.ledger.ledger_schema import LedgerLimits, ledger_errors, open_for_reading
from dedupcrawl.ledger.ledger_writer import LedgerAppender
from dedupcrawl.utils.resources import Closing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dedupcrawl.ledger.entry import Comparison

_PAGE_COLUMNS = "pages.id, url, time, bytes, title, requests, fate, verdict"


@dataclass(frozen=True, slots=True)
class Run:
    """One run that wrote into a ledger; a crawl that is resumed adds another."""

    began: float  #: Unix time
    ended: float | None  #: None: it goes on, or was killed
    about: Mapping[str, Any]  #: what it said of itself; see :meth:`Ledger.create`


@dataclass(frozen=True, slots=True)
class Sample:
    """How much of what came is listed. Counts are exact whatever it says."""

    pages: int  #: rows
    one_in: int  #: clusters whose pages are listed: all (1), every second one (2), 4, 8, …
    texts: int  #: pages with their text, or with what they were held against
    texts_one_in: int  #: clusters whose texts and opinions are kept
    lost: int  #: pages that are not listed since they could not be written


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """A page as it is listed."""

    id: int
    entry: Entry  #: without text and ``held``, which :meth:`Ledger.text` and :meth:`Ledger.held` give
    fate: Fate


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """Pages with the same content."""

    name: str
    pages: int  #: exact, even where not all of them are listed
    first: float  #: Unix time
    last: float


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A page that was held against an earlier one and did not match it."""

    page: int  #: id of its row
    place: int  #: of the earlier page in :meth:`Ledger.held`
    old: str  #: URL of the earlier page
    detector: str  #: the one to which they look most alike
    similarity: float


class Ledger(Closing):
    """Reads a ledger as it is at the moment it was opened; a context manager.

    Its methods raise :class:`~dedupcrawl.errors.DedupError` for a file that is damaged.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @staticmethod
    def create(
        path: Path, about: Mapping[str, Any], *, resume: bool = False, bounds: LedgerLimits | None = None
    ) -> LedgerAppender:
        """Begin to write a ledger in the place of one that stands there.

        Args:
            path: the file.
            about: plain JSON: ``title``, ``kind`` ("crawl", "batch" or "store"), ``version``, and
                ``settings``, a mapping of names to texts.
            resume: go on with the ledger that stands there.
            bounds: how much it may hold.

        Raises:
            DedupError: the file cannot be written, is something else, or is being written by another process.
        """
        return LedgerAppender.begin(path, about, resume=resume, bounds=bounds or LedgerLimits())

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a ledger, also one that is being written.

        Raises :class:`~dedupcrawl.errors.DedupError` for a file that is missing, damaged, or something else.
        """
        return cls(path, open_for_reading(path))

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    # -- exact, however much came -------------------------------------------------------------

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that wrote it, the first one first."""
        found = self._query("SELECT began, ended, about FROM runs ORDER BY id")
        return tuple(Run(began, ended, json.loads(about)) for began, ended, about in found)

    @property
    def counts(self) -> dict[str, int]:
        """The counters, by the names of the stats without ``dedup/``."""
        return dict(self._query("SELECT name, n FROM counts ORDER BY name"))

    @property
    def detectors(self) -> dict[str, int]:
        """How many duplicates each detector decided."""
        return dict(self._query("SELECT name, n FROM detectors ORDER BY n DESC, name"))

    @property
    def hosts(self) -> tuple[Host, ...]:
        """What came from each host, those with most pages first.

        :data:`~dedupcrawl.ledger.entry.NO_HOST` stands for all that are not counted one by one.
        """
        found = self._query("SELECT name, pages, kept, dropped FROM hosts ORDER BY pages DESC, name")
        return tuple(Host(*row) for row in found)

    @property
    def flows(self) -> tuple[Flow, ...]:
        """Which host's pages repeat which one's, those with most pages first; the same of OTHERS."""
        found = self._query("SELECT copy, source, n FROM flows ORDER BY n DESC, copy, source")
        return tuple(Flow(*row) for row in found)

    @property
    def width(self) -> int:
        """Seconds in a slice of time: a power of two."""
        return int(self._state("width", 1))

    @property
    def slices(self) -> tuple[Slice, ...]:
        """What came when, in spans of :attr:`width` seconds; those in which nothing came are left out.

        A slice's ``kept`` are checked pages, so that with ``unchecked`` no page is in it twice.
        """
        width = self.width
        found = self._query("SELECT place, kept, dropped, unchecked FROM slices ORDER BY place")
        return tuple(Slice(float(place * width), *counts) for place, *counts in found)

    @property
    def histograms(self) -> tuple[Histogram, ...]:
        """How similar pages were to those that they were held against, by detector."""
        bins: dict[str, tuple[list[int], list[int]]] = {}
        for detector, place, matched, n in self._query("SELECT detector, bin, matched, n FROM bins"):
            missed_matched = bins.setdefault(detector, ([0] * BINS, [0] * BINS))
            missed_matched[matched][place] = n
        return tuple(
            Histogram(name, self._state(f"threshold/{name}"), bin_edges(), tuple(matched), tuple(missed))
            for name, (missed, matched) in sorted(bins.items())
        )

    @property
    def troubles(self) -> tuple[str, ...]:
        """What went wrong while it was written, each in one sentence."""
        found = self._query("SELECT value FROM state WHERE name LIKE 'trouble/%' ORDER BY name")
        return tuple(value for (value,) in found)

    # -- all pages, or a sample of them -------------------------------------------------------

    @property
    def sample(self) -> Sample:
        """How much of what came is listed."""
        [(pages, texts)] = self._query("SELECT (SELECT count(*) FROM pages), (SELECT count(*) FROM bulk)")
        level, bulk_level = self._state("level", 0), self._state("bulk_level", 0)
        return Sample(pages, 2**level, texts, 2**bulk_level, self._state("lost", 0))

    def rows(self, fate: Fate | None = None) -> Iterator[LedgerRow]:
        """Iterate over the pages that are listed, in the order in which they were judged."""
        if fate is None:
            return self._rows("ORDER BY id")
        return self._rows("WHERE fate = ? ORDER BY id", fate)

    def row(self, id: int) -> LedgerRow | None:
        """Return one page."""
        return next(self._rows("WHERE id = ?", id), None)

    def find(self, url: str) -> tuple[LedgerRow, ...]:
        """Return the pages of a URL, the latest first."""
        return tuple(self._rows("WHERE url = ? ORDER BY id DESC", storable(url, len(url))))

    def cluster(self, name: str) -> tuple[LedgerRow, ...]:
        """Return the pages of a cluster that are listed, the earliest first."""
        return tuple(self._rows("WHERE cluster = ? ORDER BY id", name))

    def clusters(self, most: int, least: int = 2) -> tuple[ClusterSize, ...]:
        """Return the largest clusters that are listed, of at least ``least`` pages each."""
        found = self._query(
            "SELECT name, pages, first, last FROM clusters WHERE pages >= ? "
            "ORDER BY pages DESC, name LIMIT ?",
            least,
            most,
        )
        return tuple(ClusterSize(*row) for row in found)

    def text(self, id: int) -> str | None:
        """Return the main text of a page, None where it was not kept."""
        for (text,) in self._query("SELECT text FROM bulk WHERE page = ?", id):
            return None if text is None else bytes.decode(text, "utf-8", "surrogatepass")
        return None

    def held(self, id: int) -> tuple[Comparison, ...]:
        """Return what a page was held against; () where that was not kept."""
        for (held,) in self._query("SELECT held FROM bulk WHERE page = ?", id):
            return () if held is None else load_comparisons(held)
        return ()

    def misses(self, most: int) -> tuple[NearMiss, ...]:
        """Return the nearest misses, whatever their detector, the nearest first."""
        found = self._query(
            "SELECT page, place, old, detector, similarity FROM misses ORDER BY similarity DESC, id LIMIT ?",
            most,
        )
        return tuple(NearMiss(*row) for row in found)

    # -- inside -------------------------------------------------------------------------------

    def _rows(self, clause: str, *values: object) -> Iterator[LedgerRow]:
        for row in self._query(f"SELECT {_PAGE_COLUMNS} FROM pages {clause}", *values):  # noqa: S608  # our own words
            id_, url, time, size, title, requests, fate, verdict = row
            entry = Entry(url, time, load_verdict(url, verdict), size, title, requests=requests)
            yield LedgerRow(id_, entry, Fate(fate))

    def _state(self, name: str, default: Any = None) -> Any:
        for (value,) in self._query("SELECT value FROM state WHERE name = ?", name):
            return value
        return default

    def _query(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with ledger_errors(self.path):
            yield from self._connection.execute(sql, values)
