"""Writes a ledger: collects entries in memory and writes them in batches, within the ledger's limits."""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from filelock import FileLock, Timeout

from dedupcrawl.decision import Status
from dedupcrawl.errors import DedupError
from dedupcrawl.ledger.counters import UnwrittenCounts, slice_width, widened
from dedupcrawl.ledger.ledger_schema import (
    MAX_NAME_CHARS,
    NO_HOST,
    EntryState,
    Outcome,
    checkpoint,
    create_database,
    dump_comparisons,
    dump_json,
    dump_verdict,
    is_sampled,
    ledger_errors,
    open_for_writing,
    require_ledger,
    sampling_hash,
    storable,
    stored_host,
)
from dedupcrawl.utils.resources import ClosingContext

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from dedupcrawl.ledger.ledger_schema import Comparison, Entry, LedgerLimits, RuleRow

T = TypeVar("T")

BATCH_PAGES = 256  #: pages of a batch
BATCH_BYTES = 4 * 2**20  #: characters of the texts of a batch
MAX_PROBLEM_CHARS = 1_000  #: characters of a problem's description
MAX_TIME = 2.0**40  #: seconds since 1970; an archive can state any number as a time
_MAX_LEVEL = 61  #: highest sampling level: one in 2^61 clusters is listed
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
#: Pages of near misses, and the pages that they were compared with, are never deleted.
_PINNED = "(SELECT page FROM misses UNION SELECT pages.id FROM misses JOIN pages ON pages.url = misses.old)"


@dataclass(slots=True)
class WriteBatch:
    """Changes that are not written yet."""

    #: each with its cluster, and its previous cluster if it had an earlier verdict
    entries: list[tuple[EntryState, Entry, str, str | None]] = field(default_factory=list)
    changed: dict[int, EntryState] = field(default_factory=dict)  #: updated pages, by id
    counters: UnwrittenCounts = field(default_factory=UnwrittenCounts)
    problems: dict[str, str] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)  #: JSON by site and text
    lost: int = 0  #: pages that could not be written
    size: int = 0  #: characters of the texts

    def __bool__(self) -> bool:
        """Whether the batch has any changes."""
        return bool(self.entries or self.changed or self.counters or self.problems or self.rules or self.lost)

    @property
    def is_large(self) -> bool:
        """Whether the batch should be written now."""
        return len(self.entries) >= BATCH_PAGES or self.size >= BATCH_BYTES

    def join(self, other: WriteBatch) -> None:
        """Add the counters of a batch that could not be written; its pages are lost."""
        self.counters.add(other.counters)
        lost = {handle.id for handle, *_ in other.entries}
        self.changed |= {handle.id: handle for handle in other.changed.values() if handle.id not in lost}
        self.problems = {**other.problems, **self.problems}
        self.rules = {**other.rules, **self.rules}
        self.lost += other.lost + len(lost)


class LedgerTables:
    """Adds batches to the tables, and deletes rows beyond the limits."""

    def __init__(self, connection: sqlite3.Connection, limits: LedgerLimits) -> None:
        self._connection = connection
        self._limits = limits
        self.load_state()

    def load_state(self) -> None:
        """Read from the file how many rows it has."""
        if self._connection.in_transaction:
            self._connection.rollback()
        self.last_page: int = self._one("SELECT max(coalesce(max(id), 0), ?) FROM pages", self._state("last_page", 0))
        self._level, self._bulk_level = self._state("level", 0), self._state("bulk_level", 0)
        self._width = self._state("width", 1)
        self._pages: int = self._one("SELECT count(*) FROM pages")
        self._bulk: int = self._one("SELECT coalesce(sum(size), 0) FROM bulk")
        self._hosts: set[str] = {name for (name,) in self._connection.execute("SELECT name FROM hosts")}
        self._flows: set[tuple[str, str]] = set(self._connection.execute("SELECT copy, source FROM flows"))
        self._ends = self._connection.execute("SELECT min(place), max(place) FROM slices").fetchone()
        self._misses = dict(self._connection.execute("SELECT detector, count(*) FROM misses GROUP BY detector"))
        self._floors: dict[str, float] = {}
        for detector in self._misses:
            self._keep_nearest(detector)

    def begin(self, now: float, about: str) -> int:
        """Add a run; return its id."""
        return self._one("INSERT INTO runs (began, about) VALUES (?, ?) RETURNING id", now, about)

    def end(self, run: int, now: float) -> None:
        """Store the end of a run."""
        self._connection.execute("UPDATE runs SET ended = ? WHERE id = ?", (now, run))

    def write(self, batch: WriteBatch) -> None:
        """Write a batch in one transaction."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._write_pages(batch)
        self._write_counters(batch.counters)
        self._write_state(batch)
        self._connection.execute("COMMIT")

    # -- pages --------------------------------------------------------------------------------

    def _write_pages(self, batch: WriteBatch) -> None:
        rows, bulk = [], []
        for handle, entry, cluster, earlier in batch.entries:
            self.last_page = max(self.last_page, handle.id)
            hashed = sampling_hash(cluster or entry.url)
            if earlier is not None:
                self._delete_misses(handle.id)
            is_near = self._store_misses(handle, entry)
            pages = self._count_in_cluster(cluster, hashed, entry.time, earlier)
            listed = is_sampled(hashed, self._level) and pages <= self._limits.cluster_pages
            if not listed and not is_near:
                continue
            rows.append(self._row(handle, entry, cluster, hashed))
            fits = is_sampled(hashed, self._bulk_level) and pages <= self._limits.cluster_texts
            if (fits or is_near) and (entry.text or entry.comparisons):
                bulk.append(self._bulk_row(handle, entry))
        self._insert(rows, bulk)
        changed = [(str(handle.outcome), handle.requests, handle.id) for handle in batch.changed.values()]
        self._connection.executemany("UPDATE pages SET outcome = ?, requests = ? WHERE id = ?", changed)
        self._trim()

    def _count_in_cluster(self, cluster: str, hashed: int, time: float, earlier: str | None) -> int:
        """Count a page of a cluster; return the number of its pages."""
        if not cluster or not is_sampled(hashed, self._level):
            return 1
        if earlier == cluster:
            return self._one("SELECT coalesce(max(pages), 1) FROM clusters WHERE name = ?", cluster)
        if earlier:
            self._connection.execute("UPDATE clusters SET pages = pages - 1 WHERE name = ?", (earlier,))
        return self._one(_UPSERT_CLUSTER, cluster, hashed, time, time)

    def _row(self, handle: EntryState, entry: Entry, cluster: str, hashed: int) -> tuple[object, ...]:
        limits = self._limits
        url, title = storable(entry.url, limits.url_chars), storable(entry.title, limits.title_chars)
        verdict = dump_verdict(entry.verdict, limits.url_chars)
        about = (handle.id, hashed, url, entry.time, entry.bytes, title, handle.requests)
        return (*about, str(handle.outcome), cluster, verdict)

    def _bulk_row(self, handle: EntryState, entry: Entry) -> tuple[object, ...]:
        # Texts are not compressed: it would take longer than everything else that is done for a page.
        text = entry.text[: self._limits.text_chars].encode("utf-8", "surrogatepass") or None
        comparisons = dump_comparisons(entry.comparisons, self._limits.url_chars) if entry.comparisons else None
        notes = "\n".join(storable(each, self._limits.url_chars) for each in entry.notes) or None
        return handle.id, len(text or b"") + len(comparisons or b"") + len(notes or ""), text, comparisons, notes

    def _insert(self, rows: Collection[tuple[object, ...]], bulk: Collection[tuple[object, ...]]) -> None:
        self._connection.executemany("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._connection.executemany("INSERT OR REPLACE INTO bulk VALUES (?, ?, ?, ?, ?)", bulk)
        self._pages += len(rows)
        self._bulk += sum(row[1] for row in bulk)  # type: ignore[misc]

    # -- near misses --------------------------------------------------------------------------

    def _store_misses(self, handle: EntryState, entry: Entry) -> bool:
        """Store the near misses of a page; return whether any is stored."""
        # The page that the verdict names is not a near miss: it is related, if only by its URL.
        others = [(n, each) for n, each in enumerate(entry.comparisons) if each.url != entry.verdict.of]
        return sum(self._store_miss(handle, n, each) for n, each in others) > 0

    def _store_miss(self, handle: EntryState, index: int, comparison: Comparison) -> bool:
        nearest = comparison.nearest
        if nearest is None or any(assessment.match for assessment in comparison.assessments):
            return False
        detector, similarity = nearest.detector, nearest.similarity or 0.0
        if similarity <= self._floors.get(detector, -1.0):
            return False
        self._connection.execute(
            "INSERT INTO misses (detector, similarity, page, place, old) VALUES (?, ?, ?, ?, ?)",
            (detector, similarity, handle.id, index, storable(comparison.url, self._limits.url_chars)),
        )
        self._misses[detector] = self._misses.get(detector, 0) + 1
        if self._misses[detector] >= 2 * self._limits.misses:
            self._keep_nearest(detector)
        return True

    def _delete_misses(self, page: int) -> None:
        """Delete the near misses of an earlier verdict on a page: the new verdict has other comparisons."""
        deleted = self._connection.execute("DELETE FROM misses WHERE page = ? RETURNING detector", (page,))
        for (detector,) in deleted.fetchall():
            self._misses[detector] -= 1

    def _keep_nearest(self, detector: str) -> None:
        self._connection.execute(
            "DELETE FROM misses WHERE detector = ?1 AND id NOT IN "
            "(SELECT id FROM misses WHERE detector = ?1 ORDER BY similarity DESC, id LIMIT ?2)",
            (detector, self._limits.misses),
        )
        self._misses[detector] = self._one("SELECT count(*) FROM misses WHERE detector = ?", detector)
        if self._misses[detector] >= self._limits.misses:
            self._floors[detector] = self._one("SELECT min(similarity) FROM misses WHERE detector = ?", detector)

    # -- limits -------------------------------------------------------------------------------

    def _trim(self) -> None:
        while self._pages > self._limits.pages and self._level < _MAX_LEVEL:
            self._level += 1
            self._bulk_level = max(self._level, self._bulk_level)
            self._delete_pages((1 << self._level) - 1)
        while self._bulk > self._limits.content_bytes and self._bulk_level < _MAX_LEVEL:
            self._bulk_level += 1
            self._delete_bulk((1 << self._bulk_level) - 1)

    def _delete_pages(self, mask: int) -> None:
        execute = self._connection.execute
        execute(f"DELETE FROM pages WHERE hash & ? != 0 AND id NOT IN {_PINNED}", (mask,))  # noqa: S608
        execute("DELETE FROM clusters WHERE hash & ? != 0", (mask,))
        execute("DELETE FROM bulk WHERE page NOT IN (SELECT id FROM pages)")
        self._pages = self._one("SELECT count(*) FROM pages")
        self._bulk = self._one("SELECT coalesce(sum(size), 0) FROM bulk")

    def _delete_bulk(self, mask: int) -> None:
        pages = f"SELECT id FROM pages WHERE hash & ? != 0 AND id NOT IN {_PINNED}"  # noqa: S608
        self._connection.execute(f"DELETE FROM bulk WHERE page IN ({pages})", (mask,))  # noqa: S608
        self._bulk = self._one("SELECT coalesce(sum(size), 0) FROM bulk")

    # -- counts -------------------------------------------------------------------------------

    def _write_counters(self, counters: UnwrittenCounts) -> None:
        self._add("counts", counters.counts.items())
        self._add("detectors", counters.detectors.items())
        self._add("bins", ((*key, n) for key, n in counters.bins.items()))
        self._add_columns("hosts", counters.hosts, self._admitted_host)
        self._add_flows(counters)
        self._add_slices(counters)

    def _add(self, table: str, rows: Iterable[tuple[object, ...]]) -> None:
        self._connection.executemany(_UPSERTS[table], rows)

    def _add_columns(self, table: str, counts: Mapping[tuple[T, int], int], name_of: Callable[[T], object]) -> None:
        """Add counts by key and column; ``name_of`` returns the row of a key."""
        rows: defaultdict[object, list[int]] = defaultdict(lambda: [0, 0, 0])
        for (key, column), n in counts.items():
            rows[name_of(key)][column] += n
        self._add(table, ((name, *numbers) for name, numbers in rows.items()))

    def _admitted_host(self, host: str) -> str:
        return _admitted(host, self._hosts, self._limits.hosts, NO_HOST)

    def _add_flows(self, counters: UnwrittenCounts) -> None:
        rows: defaultdict[tuple[str, str], int] = defaultdict(int)
        for flow, n in counters.flows.items():
            rows[_admitted(flow, self._flows, self._limits.flows, (NO_HOST, NO_HOST))] += n
        self._add("flows", ((*flow, n) for flow, n in rows.items()))

    def _add_slices(self, counters: UnwrittenCounts) -> None:
        if not counters.slices:
            return
        seconds = {second for second, _ in counters.slices}
        seconds |= {number * self._width for number in self._ends if number is not None}
        self._widen(slice_width(seconds, self._width, self._limits.slices))
        self._add_columns("slices", counters.slices, lambda second: second // self._width)
        self._ends = self._connection.execute("SELECT min(place), max(place) FROM slices").fetchone()

    def _widen(self, width: int) -> None:
        if width == self._width:
            return
        found = self._connection.execute("SELECT place, kept, dropped, unchecked FROM slices")
        wider = widened({number: counts for number, *counts in found}, width // self._width)
        self._connection.execute("DELETE FROM slices")
        self._add("slices", ((number, *counts) for number, counts in wider.items()))
        self._width = width

    # -- state --------------------------------------------------------------------------------

    def _write_state(self, batch: WriteBatch) -> None:
        state: dict[str, object] = {"level": self._level, "bulk_level": self._bulk_level}
        state |= {"width": self._width, "last_page": self.last_page, "lost": self._state("lost", 0) + batch.lost}
        state |= {f"threshold/{name}": value for name, value in batch.counters.thresholds.items()}
        state |= {f"trouble/{kind}": sentence for kind, sentence in batch.problems.items()}
        state |= {f"rule/{name}": rule for name, rule in batch.rules.items()}
        self._connection.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", state.items())

    def _state(self, name: str, default: int) -> int:
        return self._one("SELECT coalesce(max(value), ?) FROM state WHERE name = ?", default, name)

    def _one(self, sql: str, *values: object) -> int:
        # fetchall reads to the end, which ends a RETURNING statement
        rows: list[tuple[int]] = self._connection.execute(sql, values).fetchall()
        return rows[0][0]


def _admitted(name: T, known: set[T], most: int, other: T) -> T:
    """Return a name, and note it; ``other`` if it is not among the first ``most`` names."""
    if name not in known:
        if len(known) >= most:
            return other
        known.add(name)
    return name


class LedgerFileWriter(ClosingContext):
    """Writes one ledger; create it with :meth:`~dedupcrawl.ledger.ledger.Ledger.create`.

    It writes every :data:`BATCH_PAGES` pages, or only on :meth:`flush`, from any thread, if ``auto_flush`` is
    False. Every method may raise :class:`~dedupcrawl.errors.DedupError` if the file cannot be written. The
    pages of the batch are lost then (see ``SampleSize.lost``); its counters are written with the next batch.
    """

    def __init__(self, path: Path, lock: FileLock, connection: sqlite3.Connection, limits: LedgerLimits) -> None:
        self.path = path
        self.auto_flush = True
        self._lock = lock
        self._connection = connection
        self._tables = LedgerTables(connection, limits)
        self._next_id = self._tables.last_page + 1
        self._batch = WriteBatch()
        self._batch_lock = threading.RLock()
        self._file_lock = threading.Lock()  # one thread writes at a time
        self._run = 0

    @classmethod
    def begin(cls, path: Path, about: Mapping[str, Any], *, resume: bool, limits: LedgerLimits) -> Self:
        """Open the file and add a run; see :meth:`~dedupcrawl.ledger.ledger.Ledger.create`."""
        lock = _acquire_lock(path)
        try:
            with ledger_errors(path):
                connection = _open_database(path, resume=resume)
                writer = cls(path, lock, connection, limits)
                writer._run = writer._tables.begin(time.time(), dump_json(dict(about)).decode())
        except BaseException:
            _release_lock(lock)
            raise
        return writer

    def add(self, entry: Entry, outcome: Outcome | None = None, *, again: EntryState | None = None) -> EntryState:
        """Add a page, and return its handle.

        Args:
            entry: the page.
            outcome: its outcome; None: kept or dropped, as its verdict decides.
            again: the handle of its earlier verdict, whose row is replaced.
        """
        if outcome is None:
            outcome = Outcome.KEPT if entry.verdict.keep else Outcome.DROPPED
        with self._batch_lock:
            handle, earlier = self._handle(entry, again)
            self._batch.entries.append((handle, entry, handle.cluster, earlier))
            self._batch.size += len(entry.text)
            self._batch.counters.count_verdict(entry, handle, again=again is not None)
            self.set_outcome(handle, outcome)
        if self.auto_flush and self.is_due:
            self.flush()
        return handle

    def set_outcome(self, handle: EntryState, outcome: Outcome) -> None:
        """Set the outcome of a page."""
        with self._batch_lock:
            if outcome is not handle.outcome:
                handle.outcome = outcome
                self._batch.changed[handle.id] = handle
                self._batch.counters.count_outcome(handle, outcome)

    def add_saved_requests(self, handle: EntryState, requests: int) -> None:
        """Count requests that were not made because a page was dropped."""
        with self._batch_lock:
            handle.requests += requests
            self._batch.changed[handle.id] = handle

    def count(self, name: str, by: int = 1) -> None:
        """Increment a counter; its name is that of the stat without ``dedup/``."""
        with self._batch_lock:
            self._batch.counters.counts[name] += by

    def add_problem(self, kind: str, sentence: str) -> None:
        """Store why the report is incomplete; only the first sentence of a kind is stored."""
        with self._batch_lock:
            self._batch.problems.setdefault(kind, storable(sentence, MAX_PROBLEM_CHARS))

    def set_rule(self, rule: RuleRow) -> None:
        """Store a rule by which requests were foreseen; it replaces that of an earlier run."""
        with self._batch_lock:
            self._batch.rules[storable(f"{rule.site} {rule.text}", MAX_PROBLEM_CHARS)] = dump_json(
                asdict(rule)
            ).decode()

    @property
    def is_due(self) -> bool:
        """Whether :meth:`flush` should be called now."""
        return self._batch.is_large

    @property
    def pending(self) -> int:
        """The number of pages that are not written yet."""
        return len(self._batch.entries)

    def flush(self) -> None:
        """Write the batch."""
        with self._file_lock:
            with self._batch_lock:
                batch, self._batch = self._batch, WriteBatch()
            if not batch:
                return
            try:
                with ledger_errors(self.path):
                    self._tables.write(batch)
            except BaseException as error:
                with self._batch_lock:
                    self._batch.join(batch)
                with suppress(sqlite3.Error):
                    self._tables.load_state()
                if isinstance(error, OSError | MemoryError):
                    raise DedupError(f"The ledger {self.path} cannot be written: {error}") from error
                raise

    def close(self) -> None:
        """Write the batch and the end of the run, and close the file."""
        try:
            self.flush()
            with ledger_errors(self.path):
                self._tables.end(self._run, time.time())
                checkpoint(self._connection)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file without writing, as after a kill."""
        with suppress(sqlite3.Error):
            self._connection.close()
        _release_lock(self._lock)

    def _handle(self, entry: Entry, again: EntryState | None) -> tuple[EntryState, str | None]:
        cluster = storable(entry.verdict.cluster or "", MAX_NAME_CHARS)
        is_unchecked = entry.verdict.status is Status.UNCHECKED
        if again is not None:
            earlier, again.cluster, again.is_unchecked = again.cluster, cluster, is_unchecked
            again.outcome, again.requests = Outcome.OPEN, entry.requests
            return again, earlier
        second = int(min(max(entry.time, 0.0), MAX_TIME)) if math.isfinite(entry.time) else 0
        handle = EntryState(self._next_id, stored_host(entry.url), second, is_unchecked, cluster, entry.requests)
        self._next_id += 1
        return handle, None


def _acquire_lock(path: Path) -> FileLock:
    """Lock the ledger against other writers; the system releases the lock of a killed process."""
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
    """Release the lock; its file is deleted first, while no other process can hold it."""
    with suppress(OSError):
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


def _open_database(path: Path, *, resume: bool) -> sqlite3.Connection:
    if path.exists():
        if resume:
            return open_for_writing(path)
        if path.stat().st_size:
            require_ledger(path)
        for each in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
            each.unlink(missing_ok=True)
    return create_database(path)
