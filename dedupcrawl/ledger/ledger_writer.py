"""The tables of a ledger as they are written, within their bounds.

Writes a ledger: what is told is collected, and written in one go from time to time.
"""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from filelock import FileLock, Timeout

from dedupcrawl.errors import DedupError
from dedupcrawl.ledger import ledger_schema
from dedupcrawl.ledger.counters import RunCounters, slice_width, widened
from dedupcrawl.ledger.entry import (
    MAX_NAME_CHARS,
    NO_HOST,
    EntryHandle,
    Fate,
    dump_comparisons,
    dump_json,
    dump_verdict,
    host_of,
    storable,
)
from dedupcrawl.ledger.ledger_schema import is_sampled, sampling_hash
from dedupcrawl.utils.resources import Closing
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from dedupcrawl.ledger.entry import Comparison, Entry
    from dedupcrawl.ledger.ledger_schema import LedgerLimits


BATCH_PAGES = 256  #: pages that are written in one go
BATCH_BYTES = 4 * 2**20  #: of texts: the same
_MAX_LEVEL = 61  #: level at which next to no cluster is left
_UPSERTS = {
    "counts": "INSERT INTO counts VALUES (?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    "detectors": "INSERT INTO detectors VALUES (?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    "flows": "INSERT INTO flows VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    "bins": "INSERT INTO bins VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    "hosts": "INSERT INTO hosts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
    "pages = pages + excluded.pages, kept = kept + excluded.kept, dropped = dropped + excluded.dropped",
    "slices": "INSERT INTO slices VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET kept = kept + excluded.kept, "
    "dropped = dropped + excluded.dropped, unchecked = unchecked + excluded.unchecked",
}
_UPSERT_CLUSTER = (
    "INSERT INTO clusters VALUES (?, ?, 1, ?, ?) ON CONFLICT DO UPDATE SET pages = pages + 1, "
    "first = min(first, excluded.first), last = max(last, excluded.last) RETURNING pages"
)
#: Pages of near misses stay, and those that they were held against, whatever their clusters.
_PINNED = "(SELECT page FROM misses UNION SELECT pages.id FROM misses JOIN pages ON pages.url = misses.old)"


@dataclass(slots=True)
class WriteBatch:
    """What waits to be written."""

    #: each with its cluster, and the one that it was in when it was judged before
    entries: list[tuple[EntryHandle, Entry, str, str | None]] = field(default_factory=list)
    changed: dict[int, EntryHandle] = field(default_factory=dict)  #: pages of which more is known now, by id
    sums: RunCounters = field(default_factory=RunCounters)
    troubles: dict[str, str] = field(default_factory=dict)
    lost: int = 0  #: pages that could not be written
    size: int = 0  #: characters of their texts

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.entries or self.changed or self.sums or self.troubles or self.lost)

    @property
    def is_large(self) -> bool:
        """Whether it is time to write it."""
        return len(self.entries) >= BATCH_PAGES or self.size >= BATCH_BYTES

    def join(self, other: WriteBatch) -> None:
        """Keep the counts of a batch that could not be written; its pages are lost."""
        self.sums.add(other.sums)
        lost = {note.id for note, *_ in other.entries}
        self.changed |= {note.id: note for note in other.changed.values() if note.id not in lost}
        self.troubles = {**other.troubles, **self.troubles}
        self.lost += other.lost + len(lost)


class LedgerTables:
    """Adds batches to the tables, and takes out what is beyond the bounds."""

    def __init__(self, connection: sqlite3.Connection, bounds: LedgerLimits) -> None:
        self._connection = connection
        self._bounds = bounds
        self.recall()

    def recall(self) -> None:
        """Learn from the file how full it is."""
        if self._connection.in_transaction:
            self._connection.rollback()
        one = self._one
        self.last_page: int = one(
            "SELECT max(coalesce(max(id), 0), ?) FROM pages", self._state("last_page", 0)
        )
        self._level, self._bulk_level = self._state("level", 0), self._state("bulk_level", 0)
        self._width = self._state("width", 1)
        self._pages: int = one("SELECT count(*) FROM pages")
        self._bulk: int = one("SELECT coalesce(sum(size), 0) FROM bulk")
        self._hosts = {name for (name,) in self._connection.execute("SELECT name FROM hosts")}
        self._flows = set(self._connection.execute("SELECT copy, source FROM flows"))
        self._ends = self._connection.execute("SELECT min(place), max(place) FROM slices").fetchone()
        self._misses = dict(
            self._connection.execute("SELECT detector, count(*) FROM misses GROUP BY detector")
        )
        self._floors: dict[str, float] = {}
        for detector in self._misses:
            self._keep_nearest(detector)

    def begin(self, now: float, about: str) -> int:
        """Note that a run begins; return its id."""
        self._connection.execute("INSERT INTO runs (began, about) VALUES (?, ?)", (now, about))
        return self._one("SELECT max(id) FROM runs")

    def end(self, run: int, now: float) -> None:
        """Note that a run has ended."""
        self._connection.execute("UPDATE runs SET ended = ? WHERE id = ?", (now, run))

    def write(self, batch: WriteBatch) -> None:
        """Write a batch, whole or not at all."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._write_pages(batch)
        self._write_sums(batch.sums)
        self._write_state(batch)
        self._connection.execute("COMMIT")

    # -- pages --------------------------------------------------------------------------------

    def _write_pages(self, batch: WriteBatch) -> None:
        rows, bulk = [], []
        for note, entry, cluster, earlier in batch.entries:
            self.last_page = max(self.last_page, note.id)
            hashed = sampling_hash(cluster or entry.url)
            if earlier is not None:
                self._forget_misses(note.id)
            is_near = self._note_misses(note, entry)
            place = self._place_in_cluster(cluster, hashed, entry.time, earlier)
            listed = is_sampled(hashed, self._level) and place <= self._bounds.of_cluster
            if not listed and not is_near:
                continue
            rows.append(self._row(note, entry, cluster, hashed))
            fits = is_sampled(hashed, self._bulk_level) and place <= self._bounds.texts_of_cluster
            if (fits or is_near) and (entry.text or entry.held):
                bulk.append(self._bulk_row(note, entry))
        self._insert(rows, bulk)
        changed = [(str(note.fate), note.requests, note.id) for note in batch.changed.values()]
        self._connection.executemany("UPDATE pages SET fate = ?, requests = ? WHERE id = ?", changed)
        self._trim()

    def _place_in_cluster(self, cluster: str, hashed: int, time: float, earlier: str | None) -> int:
        """Count a page of a cluster; return how many it has now."""
        if not cluster or not is_sampled(hashed, self._level):
            return 1
        if earlier == cluster:
            return self._one("SELECT coalesce(max(pages), 1) FROM clusters WHERE name = ?", cluster)
        if earlier:
            self._connection.execute("UPDATE clusters SET pages = pages - 1 WHERE name = ?", (earlier,))
        return self._one(_UPSERT_CLUSTER, cluster, hashed, time, time)

    def _row(self, note: EntryHandle, entry: Entry, cluster: str, hashed: int) -> tuple[object, ...]:
        bounds = self._bounds
        url, title = storable(entry.url, bounds.url), storable(entry.title, bounds.title)
        verdict = dump_verdict(entry.verdict, bounds.url)
        about = (note.id, hashed, url, entry.time, entry.bytes, title, note.requests)
        return (*about, str(note.fate), cluster, verdict)

    def _bulk_row(self, note: EntryHandle, entry: Entry) -> tuple[object, ...]:
        # Texts lie as they are: to compress them would cost more than all else that is done for a page.
        text = entry.text[: self._bounds.text].encode("utf-8", "surrogatepass") or None
        held = dump_comparisons(entry.held, self._bounds.url) if entry.held else None
        return note.id, len(text or b"") + len(held or b""), text, held

    def _insert(self, rows: Collection[tuple[object, ...]], bulk: Collection[tuple[object, ...]]) -> None:
        connection = self._connection
        connection.executemany("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        connection.executemany("INSERT OR REPLACE INTO bulk VALUES (?, ?, ?, ?)", bulk)
        self._pages += len(rows)
        self._bulk += sum(row[1] for row in bulk)  # type: ignore[misc]

    # -- near misses --------------------------------------------------------------------------

    def _note_misses(self, note: EntryHandle, entry: Entry) -> bool:
        """Note the near misses of a page; return whether it has any that stay."""
        found = False
        for place, held in enumerate(entry.held):
            # The page that the verdict names is related to it, be it by nothing but the URL.
            if held.url != entry.verdict.of:
                found = self._note_miss(note, place, held) or found
        return found

    def _note_miss(self, note: EntryHandle, place: int, held: Comparison) -> bool:
        nearest = held.nearest
        if nearest is None or any(opinion.match for opinion in held.opinions):
            return False
        detector, similarity = nearest.detector, nearest.similarity or 0.0
        if similarity <= self._floors.get(detector, -1.0):
            return False
        self._connection.execute(
            "INSERT INTO misses (detector, similarity, page, place, old) VALUES (?, ?, ?, ?, ?)",
            (detector, similarity, note.id, place, storable(held.url, self._bounds.url)),
        )
        self._misses[detector] = self._misses.get(detector, 0) + 1
        if self._misses[detector] >= 2 * self._bounds.misses:
            self._keep_nearest(detector)
        return True

    def _forget_misses(self, page: int) -> None:
        """Forget what a page missed when it was judged before: by now it is held against others."""
        gone = self._connection.execute("DELETE FROM misses WHERE page = ? RETURNING detector", (page,))
        for (detector,) in gone.fetchall():
            self._misses[detector] -= 1

    def _keep_nearest(self, detector: str) -> None:
        most = self._bounds.misses
        self._connection.execute(
            "DELETE FROM misses WHERE detector = ?1 AND id NOT IN "
            "(SELECT id FROM misses WHERE detector = ?1 ORDER BY similarity DESC, id LIMIT ?2)",
            (detector, most),
        )
        self._misses[detector] = self._one("SELECT count(*) FROM misses WHERE detector = ?", detector)
        if self._misses[detector] >= most:
            least = "SELECT min(similarity) FROM misses WHERE detector = ?"
            self._floors[detector] = self._one(least, detector)

    # -- bounds -------------------------------------------------------------------------------

    def _trim(self) -> None:
        while self._pages > self._bounds.pages and self._level < _MAX_LEVEL:
            self._level += 1
            self._bulk_level = max(self._level, self._bulk_level)
            self._forget_pages((1 << self._level) - 1)
        while self._bulk > self._bounds.bulk and self._bulk_level < _MAX_LEVEL:
            self._bulk_level += 1
            self._forget_bulk((1 << self._bulk_level) - 1)

    def _forget_pages(self, mask: int) -> None:
        execute = self._connection.execute
        execute(f"DELETE FROM pages WHERE hash & ? != 0 AND id NOT IN {_PINNED}", (mask,))  # noqa: S608
        execute("DELETE FROM clusters WHERE hash & ? != 0", (mask,))
        execute("DELETE FROM bulk WHERE page NOT IN (SELECT id FROM pages)")
        self._pages = self._one("SELECT count(*) FROM pages")
        self._bulk = self._one("SELECT coalesce(sum(size), 0) FROM bulk")

    def _forget_bulk(self, mask: int) -> None:
        away = f"SELECT id FROM pages WHERE hash & ? != 0 AND id NOT IN {_PINNED}"  # noqa: S608
        self._connection.execute(f"DELETE FROM bulk WHERE page IN ({away})", (mask,))  # noqa: S608
        self._bulk = self._one("SELECT coalesce(sum(size), 0) FROM bulk")

    # -- counts -------------------------------------------------------------------------------

    def _write_sums(self, sums: RunCounters) -> None:
        self._add("counts", sums.counts.items())
        self._add("detectors", sums.detectors.items())
        self._add("bins", ((*key, n) for key, n in sums.bins.items()))
        self._add_hosts(sums)
        self._add_flows(sums)
        self._add_slices(sums)

    def _add(self, table: str, rows: Iterable[tuple[object, ...]]) -> None:
        self._connection.executemany(_UPSERTS[table], rows)

    def _add_hosts(self, sums: RunCounters) -> None:
        rows: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for (host, place), n in sums.hosts.items():
            rows[self._admitted(host)][place] += n
        self._add("hosts", ((host, *counts) for host, counts in rows.items()))

    def _admitted(self, host: str) -> str:
        if host not in self._hosts:
            if len(self._hosts) >= self._bounds.hosts:
                return NO_HOST
            self._hosts.add(host)
        return host

    def _add_flows(self, sums: RunCounters) -> None:
        rows: defaultdict[tuple[str, str], int] = defaultdict(int)
        for flow, n in sums.flows.items():
            if flow not in self._flows and len(self._flows) < self._bounds.flows:
                self._flows.add(flow)
            rows[flow if flow in self._flows else (NO_HOST, NO_HOST)] += n
        self._add("flows", ((*flow, n) for flow, n in rows.items()))

    def _add_slices(self, sums: RunCounters) -> None:
        if not sums.slices:
            return
        seconds = {second for second, _ in sums.slices}
        seconds |= {place * self._width for place in self._ends if place is not None}
        self._widen(slice_width(seconds, self._width, self._bounds.slices))
        rows: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        for (second, place), n in sums.slices.items():
            rows[second // self._width][place] += n
        self._add("slices", ((place, *counts) for place, counts in rows.items()))
        self._ends = self._connection.execute("SELECT min(place), max(place) FROM slices").fetchone()

    def _widen(self, width: int) -> None:
        if width == self._width:
            return
        found = self._connection.execute("SELECT place, kept, dropped, unchecked FROM slices")
        wider = widened({place: counts for place, *counts in found}, width // self._width)
        self._connection.execute("DELETE FROM slices")
        self._add("slices", ((place, *counts) for place, counts in wider.items()))
        self._width = width

    # -- state --------------------------------------------------------------------------------

    def _write_state(self, batch: WriteBatch) -> None:
        state: dict[str, object] = {"level": self._level, "bulk_level": self._bulk_level}
        state |= {"width": self._width, "last_page": self.last_page}
        state |= {"lost": self._state("lost", 0) + batch.lost}
        state |= {f"threshold/{name}": value for name, value in batch.sums.thresholds.items()}
        state |= {f"trouble/{kind}": sentence for kind, sentence in batch.troubles.items()}
        self._connection.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", state.items())

    def _state(self, name: str, default: int) -> int:
        return self._one("SELECT coalesce(max(value), ?) FROM state WHERE name = ?", default, name)

    def _one(self, sql: str, *values: object) -> int:
        found: list[tuple[int]] = self._connection.execute(
            sql, values
        ).fetchall()  # it ends with its last row
        return found[0][0]


MAX_PROBLEM_CHARS = 1_000  #: characters that tell of a trouble
MAX_TIME = 2.0**40  #: since 1970; what a file states as its time may be anything


class LedgerAppender(Closing):
    """Writes one ledger.

    It writes when :data:`BATCH_PAGES` pages wait, or when it is told to :meth:`flush`;
    where ``flushes`` is False, then alone: whoever sets that calls it, from any thread. Every method may
    raise :class:`~dedupcrawl.errors.DedupError` when the file cannot be written: the pages that waited are
    then not listed, which :attr:`~dedupcrawl.ledger.ledger.Sample.lost` counts, and all counts are written
    next time.
    """

    def __init__(
        self, path: Path, lock: FileLock, connection: sqlite3.Connection, bounds: LedgerLimits
    ) -> None:
        self.path = path
        self.flushes = True
        self._lock = lock
        self._connection = connection
        self._tables = LedgerTables(connection, bounds)
        self._next = self._tables.last_page + 1
        self._batch = WriteBatch()
        self._guard = threading.RLock()  # of the batch
        self._mutex = threading.Lock()  # of the file: one thread writes at a time
        self._run = 0

    @classmethod
    def begin(cls, path: Path, about: Mapping[str, Any], *, resume: bool, bounds: LedgerLimits) -> Self:
        """Open the file; see :meth:`~dedupcrawl.ledger.ledger.Ledger.create`."""
        lock = _acquire_lock(path)
        try:
            with ledger_schema.ledger_errors(path):
                connection = _open_database(path, resume=resume)
                writer = cls(path, lock, connection, bounds)
                writer._run = writer._tables.begin(time.time(), dump_json(dict(about)).decode())
        except BaseException:
            _release_lock(lock)
            raise
        return writer

    def add(self, entry: Entry, fate: Fate | None = None, *, again: EntryHandle | None = None) -> EntryHandle:
        """Write down a page.

        Args:
            entry: the page.
            fate: what became of it; None: what its verdict says, as where nothing can come in between.
            again: what was noted of this page when it was judged before; its row is written anew.
        """
        if fate is None:
            fate = Fate.KEPT if entry.verdict.keep else Fate.DROPPED
        with self._guard:
            note, earlier = self._note(entry, again)
            self._batch.entries.append((note, entry, note.cluster, earlier))
            self._batch.size += len(entry.text)
            self._batch.sums.judged(entry, note, again=again is not None)
            self.outcome(note, fate)
        if self.flushes and self.is_due:
            self.flush()
        return note

    def outcome(self, note: EntryHandle, fate: Fate) -> None:
        """Write down what became of a page."""
        with self._guard:
            if fate is not note.fate:
                note.fate = fate
                self._batch.changed[note.id] = note
                self._batch.sums.ended(note, fate)

    def saved(self, note: EntryHandle, requests: int) -> None:
        """Write down that requests were not made since a page was dropped."""
        with self._guard:
            note.requests += requests
            self._batch.changed[note.id] = note

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter; names are those of the stats of a crawl, without ``dedup/``."""
        with self._guard:
            self._batch.sums.counts[name] += by

    def trouble(self, kind: str, sentence: str) -> None:
        """Write down that something went wrong, once of a kind: the report is not complete."""
        with self._guard:
            self._batch.troubles.setdefault(kind, storable(sentence, MAX_PROBLEM_CHARS))

    @property
    def is_due(self) -> bool:
        """Whether so much waits that it should be written."""
        return self._batch.is_large

    @property
    def waiting(self) -> int:
        """How many pages wait to be written."""
        return len(self._batch.entries)

    def flush(self) -> None:
        """Write what waits."""
        with self._mutex:
            with self._guard:
                batch, self._batch = self._batch, WriteBatch()
            if not batch:
                return
            try:
                with ledger_schema.ledger_errors(self.path):
                    self._tables.write(batch)
            except BaseException as error:
                with self._guard:
                    self._batch.join(batch)
                with suppress(sqlite3.Error):
                    self._tables.recall()
                if isinstance(error, OSError | MemoryError):
                    raise DedupError(f"The ledger {self.path} cannot be written: {error}") from error
                raise

    def close(self) -> None:
        """Write what waits, note the end of the run, and let go of the file."""
        try:
            self.flush()
            with ledger_schema.ledger_errors(self.path):
                self._tables.end(self._run, time.time())
                ledger_schema.checkpoint(self._connection)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the file without a word, as a killed process does."""
        with suppress(sqlite3.Error):
            self._connection.close()
        _release_lock(self._lock)

    def _note(self, entry: Entry, again: EntryHandle | None) -> tuple[EntryHandle, str | None]:
        cluster = storable(entry.verdict.cluster or "", MAX_NAME_CHARS)
        is_unchecked = entry.verdict.status is Status.UNCHECKED
        if again is not None:
            earlier, again.cluster, again.is_unchecked = again.cluster, cluster, is_unchecked
            again.fate, again.requests = Fate.OPEN, entry.requests
            return again, earlier
        second = int(min(max(entry.time, 0.0), MAX_TIME)) if math.isfinite(entry.time) else 0
        note = EntryHandle(self._next, host_of(entry.url), second, is_unchecked, cluster, entry.requests)
        self._next += 1
        return note, None


def _acquire_lock(path: Path) -> FileLock:
    """Make sure that nobody else writes this ledger; a lock ends with its process."""
    if not path.parent.is_dir() or path.is_dir():
        reason = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise DedupError(f"{path} cannot be written: it {reason}")
    lock = FileLock(path.with_name(path.name + ".lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise DedupError(f"{path} is being written by another process; give each one of its own") from None
    except OSError as error:
        raise DedupError(f"{path} cannot be written: {error.strerror}") from None
    return lock


def _release_lock(lock: FileLock) -> None:
    """Let others write it; the file goes first, while nobody else can have locked it."""
    with suppress(OSError):
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


def _open_database(path: Path, *, resume: bool) -> sqlite3.Connection:
    if not path.exists():
        return ledger_schema.create_database(path)
    if resume:
        return ledger_schema.open_for_writing(path)
    if path.stat().st_size:
        ledger_schema.require_ledger(path)
    for each in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        each.unlink(missing_ok=True)
    return ledger_schema.create_database(path)
