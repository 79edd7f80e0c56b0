"""Reads a ledger: the file in which a run stores what happened to each page.

The counts of several ledgers of one crawl add up. All ledgers sample clusters by the same hash.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from dedupcrawl.ledger.counters import BIN_EDGES, BINS, FlowCount, Histogram, HostCount, SliceCount
from dedupcrawl.ledger.ledger_appender import LedgerFileWriter
from dedupcrawl.ledger.ledger_schema import (
    Entry,
    LedgerLimits,
    Outcome,
    RuleRow,
    ledger_errors,
    load_comparisons,
    load_verdict,
    open_for_reading,
    storable,
)
from dedupcrawl.utils.resources import ClosingContext

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dedupcrawl.ledger.ledger_schema import Comparison

_PAGE_COLUMNS = "pages.id, url, time, bytes, title, requests, outcome, verdict"


@dataclass(frozen=True, slots=True)
class Run:
    """A run that wrote the ledger; resuming a crawl adds another run."""

    began: float  #: Unix time
    ended: float | None  #: Unix time; None: it is still running, or was killed
    about: Mapping[str, Any]  #: metadata; see :meth:`Ledger.create`


@dataclass(frozen=True, slots=True)
class SampleSize:
    """How many of the pages are listed; counts are always exact."""

    pages: int  #: rows
    one_in: int  #: 1: the pages of all clusters are listed; 2: of every second cluster; 4, 8, …
    texts: int  #: pages with a text or comparisons
    texts_one_in: int  #: one in so many clusters keeps its texts and comparisons
    lost: int  #: pages that are not listed because they could not be written


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """A listed page."""

    id: int
    entry: Entry  #: without text and comparisons; see :meth:`Ledger.text` and :meth:`Ledger.comparisons`
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class ClusterCount:
    """The number of pages with the same content."""

    name: str
    pages: int  #: exact, even if not all of them are listed
    first: float | None = None  #: Unix time of the first page; None: unknown
    last: float | None = None


@dataclass(frozen=True, slots=True)
class NearMissRow:
    """A page that was compared with an earlier page and did not match it."""

    page: int  #: id of its row
    index: int  #: of the earlier page in :meth:`Ledger.comparisons`
    old: str  #: URL of the earlier page
    detector: str  #: the detector that measured the highest similarity
    similarity: float


class Ledger(ClosingContext):
    """A snapshot of a ledger; a context manager.

    All methods raise :class:`~dedupcrawl.errors.DedupError` if the file is damaged.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @staticmethod
    def create(
        path: Path, about: Mapping[str, Any], *, resume: bool = False, limits: LedgerLimits | None = None
    ) -> LedgerFileWriter:
        """Create a ledger, and return its writer.

        Args:
            path: the file; an existing ledger is replaced.
            about: metadata of the run, as plain JSON: ``title``, ``kind`` ("crawl", "batch" or "store"),
                ``version``, and ``settings``, a mapping of names to texts.
            resume: append to an existing ledger instead of replacing it.
            limits: the largest amounts that it stores; None: the defaults.

        Raises:
            DedupError: the file cannot be written, is not a ledger, or is being written by another process.
        """
        return LedgerFileWriter.begin(path, about, resume=resume, limits=limits or LedgerLimits())

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a ledger, also during a run; raises DedupError if it is missing, damaged, or no ledger."""
        return cls(path, open_for_reading(path))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    # -- exact counts -------------------------------------------------------------------------

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that wrote the ledger, in their order."""
        found = self._query("SELECT began, ended, about FROM runs ORDER BY id")
        return tuple(Run(began, ended, json.loads(about)) for began, ended, about in found)

    @property
    def counts(self) -> dict[str, int]:
        """The counters, by the name of the stat without ``dedup/``."""
        return dict(self._query("SELECT name, n FROM counts ORDER BY name"))

    @property
    def detectors(self) -> dict[str, int]:
        """Duplicates by the detector that decided."""
        return dict(self._query("SELECT name, n FROM detectors ORDER BY n DESC, name"))

    @property
    def hosts(self) -> tuple[HostCount, ...]:
        """Pages by host, most pages first; ``NO_HOST`` counts all unlisted hosts."""
        found = self._query("SELECT name, pages, kept, dropped FROM hosts ORDER BY pages DESC, name")
        return tuple(HostCount(*row) for row in found)

    @property
    def flows(self) -> tuple[FlowCount, ...]:
        """Duplicates by pair of hosts, most pages first; ``NO_HOST`` counts all unlisted hosts."""
        found = self._query("SELECT copy, source, n FROM flows ORDER BY n DESC, copy, source")
        return tuple(FlowCount(*row) for row in found)

    @property
    def width(self) -> int:
        """The length of a time slice: seconds, a power of two."""
        return int(self._state("width", 1))

    @property
    def slices(self) -> tuple[SliceCount, ...]:
        """Pages by time slice, without empty slices; ``kept`` excludes unchecked pages."""
        width = self.width
        found = self._query("SELECT place, kept, dropped, unchecked FROM slices ORDER BY place")
        return tuple(SliceCount(float(number * width), *counts) for number, *counts in found)

    @property
    def histograms(self) -> tuple[Histogram, ...]:
        """Histograms of the similarity of compared pages, one for each detector."""
        bins: dict[str, tuple[list[int], list[int]]] = {}
        for detector, number, matched, n in self._query("SELECT detector, bin, matched, n FROM bins"):
            missed_matched = bins.setdefault(detector, ([0] * BINS, [0] * BINS))
            missed_matched[matched][number] = n
        return tuple(
            Histogram(name, self._state(f"threshold/{name}"), BIN_EDGES, tuple(matched), tuple(missed))
            for name, (missed, matched) in sorted(bins.items())
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the ledger is incomplete, as sentences."""
        found = self._query("SELECT value FROM state WHERE name LIKE 'trouble/%' ORDER BY name")
        return tuple(value for (value,) in found)

    @property
    def rules(self) -> tuple[RuleRow, ...]:
        """The rules by which requests were foreseen, the most useful first."""
        found = self._query("SELECT value FROM state WHERE name LIKE 'rule/%'")
        rows = [RuleRow(**json.loads(value)) for (value,) in found]
        return tuple(sorted(rows, key=lambda row: (-row.requests, row.site, row.text)))

    # -- listed pages -------------------------------------------------------------------------

    @property
    def sample(self) -> SampleSize:
        """How many of the pages are listed."""
        [(pages, texts)] = self._query("SELECT (SELECT count(*) FROM pages), (SELECT count(*) FROM bulk)")
        level, bulk_level = self._state("level", 0), self._state("bulk_level", 0)
        return SampleSize(pages, 2**level, texts, 2**bulk_level, self._state("lost", 0))

    def rows(self, outcome: Outcome | None = None) -> Iterator[LedgerRow]:
        """Iterate over the listed pages (of one outcome) in the order of their verdicts."""
        if outcome is None:
            return self._rows("ORDER BY id")
        return self._rows("WHERE outcome = ? ORDER BY id", outcome)

    def row(self, id: int) -> LedgerRow | None:
        """Return a page; None if it is not listed."""
        return next(self._rows("WHERE id = ?", id), None)

    def find(self, url: str) -> tuple[LedgerRow, ...]:
        """Return the listed pages of a URL, latest first."""
        return tuple(self._rows("WHERE url = ? ORDER BY id DESC", storable(url, len(url))))

    def cluster(self, name: str) -> tuple[LedgerRow, ...]:
        """Return the listed pages of a cluster, earliest first."""
        return tuple(self._rows("WHERE cluster = ? ORDER BY id", name))

    def clusters(self, most: int, least: int = 2) -> tuple[ClusterCount, ...]:
        """Return the ``most`` largest listed clusters (-1: all) with at least ``least`` pages."""
        found = self._query(
            "SELECT name, pages, first, last FROM clusters WHERE pages >= ? ORDER BY pages DESC, name LIMIT ?",
            least,
            most,
        )
        return tuple(ClusterCount(*row) for row in found)

    def text(self, id: int) -> str | None:
        """Return the main text of a page; None if it is not stored."""
        for (text,) in self._query("SELECT text FROM bulk WHERE page = ?", id):
            return None if text is None else bytes.decode(text, "utf-8", "surrogatepass")
        return None

    def notes(self, id: int) -> tuple[str, ...]:
        """Return how the compared text of a page differs from its main text; () if nothing is stored."""
        for (notes,) in self._query("SELECT notes FROM bulk WHERE page = ?", id):
            return tuple(str(notes).split("\n")) if notes else ()
        return ()

    def comparisons(self, id: int) -> tuple[Comparison, ...]:
        """Return the comparisons of a page; () if they are not stored."""
        for (held,) in self._query("SELECT held FROM bulk WHERE page = ?", id):
            return () if held is None else load_comparisons(held)
        return ()

    def misses(self, most: int) -> tuple[NearMissRow, ...]:
        """Return the near misses with the highest similarities of all detectors, highest first."""
        found = self._query(
            "SELECT page, place, old, detector, similarity FROM misses ORDER BY similarity DESC, id LIMIT ?", most
        )
        return tuple(NearMissRow(*row) for row in found)

    # -- queries ------------------------------------------------------------------------------

    def _rows(self, clause: str, *values: object) -> Iterator[LedgerRow]:
        for row in self._query(f"SELECT {_PAGE_COLUMNS} FROM pages {clause}", *values):  # noqa: S608  # constants only
            id_, url, time, size, title, requests, outcome, verdict = row
            entry = Entry(url, time, load_verdict(url, verdict), size, title, requests=requests)
            yield LedgerRow(id_, entry, Outcome(outcome))

    def _state(self, name: str, default: Any = None) -> Any:
        for (value,) in self._query("SELECT value FROM state WHERE name = ?", name):
            return value
        return default

    def _query(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with ledger_errors(self.path):
            yield from self._connection.execute(sql, values)
