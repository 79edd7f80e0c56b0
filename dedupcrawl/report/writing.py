"""Writes a ledger: what is told is collected, and written in one go from time to time."""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from filelock import FileLock, Timeout

from dedupcrawl.closing import Closing
from dedupcrawl.errors import DedupError
from dedupcrawl.report import layout
from dedupcrawl.report.hosts import host_of
from dedupcrawl.report.note import Fate, Note
from dedupcrawl.report.plain import MOST_NAME, storable, to_json
from dedupcrawl.report.tables import Batch, Tables
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.report.bounds import Bounds
    from dedupcrawl.report.entry import Entry

MOST_SENTENCE = 1_000  #: characters that tell of a trouble
MOST_SECONDS = 2.0**40  #: since 1970; what a file states as its time may be anything


class Writer(Closing):
    """Writes one ledger.

    It writes when :data:`~dedupcrawl.report.tables.BATCH` pages wait, or when it is told to :meth:`flush`;
    where ``flushes`` is False, then alone: whoever sets that calls it, from any thread. Every method may
    raise :class:`~dedupcrawl.errors.DedupError` when the file cannot be written: the pages that waited are
    then not listed, which :attr:`~dedupcrawl.report.ledger.Sample.lost` counts, and all counts are written
    next time.
    """

    def __init__(self, path: Path, lock: FileLock, connection: sqlite3.Connection, bounds: Bounds) -> None:
        self.path = path
        self.flushes = True
        self._lock = lock
        self._connection = connection
        self._tables = Tables(connection, bounds)
        self._next = self._tables.last_page + 1
        self._batch = Batch()
        self._guard = threading.RLock()  # of the batch
        self._mutex = threading.Lock()  # of the file: one thread writes at a time
        self._run = 0

    @classmethod
    def begin(cls, path: Path, about: Mapping[str, Any], *, resume: bool, bounds: Bounds) -> Self:
        """Open the file; see :meth:`~dedupcrawl.report.ledger.Ledger.create`."""
        lock = _locked(path)
        try:
            with layout.complaining_of(path):
                connection = _opened(path, resume=resume)
                writer = cls(path, lock, connection, bounds)
                writer._run = writer._tables.begin(time.time(), to_json(dict(about)).decode())
        except BaseException:
            _unlocked(lock)
            raise
        return writer

    def add(self, entry: Entry, fate: Fate | None = None, *, again: Note | None = None) -> Note:
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

    def outcome(self, note: Note, fate: Fate) -> None:
        """Write down what became of a page."""
        with self._guard:
            if fate is not note.fate:
                note.fate = fate
                self._batch.changed[note.id] = note
                self._batch.sums.ended(note, fate)

    def saved(self, note: Note, requests: int) -> None:
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
            self._batch.troubles.setdefault(kind, storable(sentence, MOST_SENTENCE))

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
                batch, self._batch = self._batch, Batch()
            if not batch:
                return
            try:
                with layout.complaining_of(self.path):
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
            with layout.complaining_of(self.path):
                self._tables.end(self._run, time.time())
                layout.finish(self._connection)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the file without a word, as a killed process does."""
        with suppress(sqlite3.Error):
            self._connection.close()
        _unlocked(self._lock)

    def _note(self, entry: Entry, again: Note | None) -> tuple[Note, str | None]:
        cluster = storable(entry.verdict.cluster or "", MOST_NAME)
        is_unchecked = entry.verdict.status is Status.UNCHECKED
        if again is not None:
            earlier, again.cluster, again.is_unchecked = again.cluster, cluster, is_unchecked
            again.fate, again.requests = Fate.OPEN, entry.requests
            return again, earlier
        second = int(min(max(entry.time, 0.0), MOST_SECONDS)) if math.isfinite(entry.time) else 0
        note = Note(self._next, host_of(entry.url), second, is_unchecked, cluster, entry.requests)
        self._next += 1
        return note, None


def _locked(path: Path) -> FileLock:
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


def _unlocked(lock: FileLock) -> None:
    """Let others write it; the file goes first, while nobody else can have locked it."""
    with suppress(OSError):
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


def _opened(path: Path, *, resume: bool) -> sqlite3.Connection:
    if not path.exists():
        return layout.make(path)
    if resume:
        return layout.open_for_writing(path)
    if path.stat().st_size:
        layout.refuse_foreign(path)
    for each in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        each.unlink(missing_ok=True)
    return layout.make(path)
