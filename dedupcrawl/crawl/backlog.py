"""The backlog: calls that must be made again when the store is back.

States of claims are kept in memory, since a claim ends with its process. Pages to file, whose items are stored, are
kept in the spool. If this crawl cannot file them, the next one does.

A spool is a folder for one store, namespace and configuration. Each process adds pages to an SQLite file of its own,
which it locks exclusively while it runs. A file without a lock was left by a process that has ended; any process may
replay it, and removes each page that is filed.

A page is a row: its record as packed by :mod:`~dedupcrawl.stores.records`, with a checksum, and a second record
whose keys are the probes of the first (NULL if they equal its keys). Ids only rise. SQLite's write-ahead log keeps
every page of a killed process. A power failure can cost the last pages, never the file.
"""

from __future__ import annotations

import json
import logging
import secrets
import sqlite3
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, urlsplit

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import Record
from dedupcrawl.stores.records import decode, encode

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from dedupcrawl.crawl.items import PageState
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.decision import Claim

logger = logging.getLogger(__name__)

MAX_BYTES = 64 << 20  #: highest number of bytes of one file: about 50,000 pages
_SUFFIX = ".sqlite"
_LOG_SUFFIX = "-wal"  #: of SQLite's write-ahead log, after the name of the file
_MAX_NAMES = 10  #: new files that other processes may lock first, one after the other
_SCHEMA = "CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY AUTOINCREMENT, record BLOB NOT NULL, probes BLOB)"
_USED = (
    "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
)


class SpooledPage(NamedTuple):
    """A page of a spool file."""

    id: int  #: of its row
    record: Record


def spool_name(store: str, namespace: str, scheme: str) -> str:
    """Return the name of a store's spool. It does not depend on the login, but on the configuration."""
    address = urlsplit(store)
    host = address.netloc.rpartition("@")[2]
    database = parse_qs(address.query).get("db", [])
    place = [address.scheme, host, address.path, *database, namespace, scheme]
    return blake2b(json.dumps(place).encode(), digest_size=8).hexdigest()


class SpoolFolder:
    """The file of this process, and the files that others have left.

    Args:
        folder: of the spool; created by the first record.
        most: highest number of bytes of the file of this process.
    """

    def __init__(self, folder: Path, most: int = MAX_BYTES) -> None:
        self._folder = folder
        self._most = most
        self._own: SpoolFile | None = None
        self._passed: set[Path] = set()  # other processes' files that are replayed or cannot be read

    def append(self, records: Iterable[Record]) -> int:
        """Append records as long as there is room; return how many.

        Raises :class:`OSError` when the file cannot be written.
        """
        if self._own is None:
            self._own = self._new_file()
        return self._own.append(records, self._most)

    @property
    def has_files(self) -> bool:
        """Whether the folder contains a file."""
        return any(self._folder.glob(f"*{_SUFFIX}"))

    @property
    def has_pending(self) -> bool:
        """Whether the file of this process contains records to replay."""
        return self._own is not None and self._own.has_pending

    def files(self) -> Generator[SpoolFile, None, None]:
        """Yield each file that an ended process has left, once; then the file of this process."""
        own = self._own.path if self._own else None
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            file = SpoolFile(path)
            if path != own and path not in self._passed and self._acquires(file):
                try:
                    yield file
                    if not file.has_pending:
                        self._passed.add(path)
                finally:
                    file.release()
        if self._own is not None:
            yield self._own

    def close(self) -> tuple[Path, int] | None:
        """Release the file of this process; return its path and the number of its records, or remove an empty file."""
        own, self._own = self._own, None
        left = own.release() if own is not None else 0
        return (own.path, left) if own is not None and left else None

    def _new_file(self) -> SpoolFile:
        """Create and lock the file of this process.

        Another process may lock a new file first, since it looks like one that was left. It removes the file, which
        is empty.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        for _ in range(_MAX_NAMES):
            file = SpoolFile(self._folder / f"{secrets.token_hex(8)}{_SUFFIX}")
            if file.acquire(new=True):
                return file
        raise OSError(f"{self._folder}: other processes have locked {_MAX_NAMES} new files")

    def _acquires(self, file: SpoolFile) -> bool:
        try:
            return file.acquire()
        except OSError as error:
            # Another user's file, or a folder: this process's own records must be filed nevertheless.
            self._pass_over(file.path, str(error))
            return False

    def _pass_over(self, path: Path, reason: str) -> None:
        logger.warning("The pages in %(path)s cannot be filed: %(reason)s", {"path": path, "reason": reason})
        self._passed.add(path)


class SpoolFile:
    """A file of pages; it may be read and written only between :meth:`acquire` and :meth:`release`.

    Every method raises :class:`OSError` when the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database: sqlite3.Connection
        self._last = 0  # id of the newest page
        self._done = 0  # id of the last page that was replayed

    def acquire(self, *, new: bool = False) -> bool:
        """Lock and open the file; return False if another process has it or has removed it."""
        try:
            with self._errors():
                self._open("rwc" if new else "rw")
                if not self.path.exists():  # its former owner has removed it just before it was locked
                    self._database.close()
                    return False
        except OSError as error:
            reason = error.__cause__
            is_locked = getattr(reason, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if is_locked or not self.path.exists():
                return False
            raise
        return True

    def _open(self, mode: str) -> None:
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        database = sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)
        try:
            # The lock is held until the connection is closed, or the process ends.
            for statement in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL"):
                database.execute(f"PRAGMA {statement}")
            database.execute("BEGIN IMMEDIATE")
            database.execute(_SCHEMA)
            database.execute("COMMIT")
            (self._last,) = database.execute("SELECT coalesce(max(id), 0) FROM pages").fetchone()
        except BaseException:
            database.close()
            raise
        self._database = database

    @property
    def has_pending(self) -> bool:
        """Whether the file contains pages that were not replayed."""
        return self._last > self._done

    def append(self, records: Iterable[Record], most: int = MAX_BYTES) -> int:
        """Append records that keep the file within ``most`` bytes; return how many."""
        count = 0
        for row in map(_pack, records):
            with self._errors():
                (used,) = self._database.execute(_USED).fetchone()
                if used + sum(len(value or b"") for value in row) <= most:
                    inserted = self._database.execute("INSERT INTO pages (record, probes) VALUES (?, ?)", row)
                    self._last = inserted.lastrowid or self._last
                    count += 1
        return count

    def batches(self, most: int) -> Iterator[list[SpooledPage]]:
        """Yield the pages that were not replayed, up to ``most`` a batch.

        A batch counts as replayed when the next one is requested. Two records of a batch share no key, so they
        may be filed in any order. Damaged pages are removed.
        """
        while self.has_pending:  # pages may be appended while a batch is filed
            batch, done = self._batch(most)
            if batch:
                yield batch
            self._done = done

    def _batch(self, most: int) -> tuple[list[SpooledPage], int]:
        """Return the next batch, and the id after which the following one starts."""
        with self._errors():
            query = "SELECT id, record, probes FROM pages WHERE id > ? ORDER BY id LIMIT ?"
            rows = self._database.execute(query, (self._done, most)).fetchall()
        batch, seen = list[SpooledPage](), set[bytes]()
        for key, *row in rows:
            record = self._unpack(key, *row)
            if record is not None:
                keys = {*record.keys, *record.lookup_keys}
                if not seen.isdisjoint(keys):
                    return batch, key - 1
                batch.append(SpooledPage(key, record))
                seen |= keys
        return batch, rows[-1][0] if rows else self._last

    def remove(self, ids: Iterable[int]) -> None:
        """Remove pages: they are filed."""
        with self._errors():
            self._database.execute("BEGIN")
            self._database.executemany("DELETE FROM pages WHERE id = ?", zip(ids, strict=True))
            self._database.execute("COMMIT")

    def clear(self) -> None:
        """Remove all pages."""
        with self._errors():
            self._database.execute("DELETE FROM pages")
        self.skip_pending()

    def skip_pending(self) -> None:
        """Leave the pages that were not replayed to another process. Needs no access to the file."""
        self._done = self._last

    def release(self) -> int:
        """Close and unlock the file; return how many pages it contains, or remove it if it is empty."""
        pages = self._last - self._done or 1  # if they cannot be counted
        with suppress(OSError), self._errors():
            (pages,) = self._database.execute("SELECT count(*) FROM pages").fetchone()
        if not pages:
            self._remove()  # while it is locked: a process that locks it afterwards notices that it is gone
        with suppress(OSError), self._errors():
            self._database.close()
        if not pages:
            self._remove()  # where open files cannot be removed
        return pages

    def _remove(self) -> None:
        """Remove the file and its log, as far as the system permits: others may have it open."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
            # SQLite leaves the log of a file that was removed.
            self.path.with_name(self.path.name + _LOG_SUFFIX).unlink(missing_ok=True)

    def _unpack(self, id: int, value: bytes, probes: bytes | None) -> Record | None:
        try:
            record = decode(value, id)
            return record if probes is None else replace(record, probes=decode(probes, id).keys)
        except StoreError as error:
            what = {"path": self.path, "error": error}
            logger.warning("A page in %(path)s is damaged, it is removed: %(error)s", what)
            self.remove([id])
            return None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Translate errors of SQLite to ``OSError``, and end a transaction that failed."""
        try:
            yield
        except sqlite3.Error as error:
            with suppress(AttributeError, sqlite3.Error):  # it may not be open
                self._database.rollback()
            raise OSError(f"{self.path}: {error}") from error


def _pack(record: Record) -> tuple[bytes, bytes | None]:
    differ = record.lookup_keys != record.keys
    return encode(record), encode(Record("", record.lookup_keys, (), record.seen)) if differ else None


class Backlog:
    """Undelivered states of claims, and undelivered records.

    Args:
        options: name the store and the folder of the spool; without a folder no record is kept.
        scheme: of the deduplicator, which identifies its configuration.
        stats: count the spooled pages.
    """

    def __init__(self, options: Options, scheme: str, stats: CrawlStats) -> None:
        self._stats = stats
        self._claims: dict[int, tuple[Claim, PageState]] = {}
        self._spool = None
        if options.spool is not None:
            self._spool = SpoolFolder(options.spool / spool_name(options.store, options.namespace, scheme))
            if options.reset:
                self._discard_left_behind(self._spool)

    def _discard_left_behind(self, spool: SpoolFolder) -> None:
        """Remove the spooled pages of earlier crawls.

        If they were filed after a reset, this crawl would drop its own copies as known.
        """
        for file in spool.files():
            try:
                file.clear()
            except OSError as error:
                self._stats.spool_failed(error, 0)

    @property
    def has_files(self) -> bool:
        """Whether the spool has files, also of earlier crawls."""
        return self._spool is not None and self._spool.has_files

    @property
    def is_pending(self) -> bool:
        """Whether this process has anything to deliver."""
        return bool(self._claims) or (self._spool is not None and self._spool.has_pending)

    def add_claims(self, claims: Iterable[Claim], state: PageState) -> None:
        """Add the state of claims; it replaces an earlier state of the same claim."""
        self._claims.update((claim.id, (claim, state)) for claim in claims if claim.id is not None)

    def claims(self, most: int) -> Mapping[int, tuple[Claim, PageState]]:
        """Return the next claims to deliver, up to ``most``, and their states by id."""
        return dict(islice(self._claims.items(), most))

    def remove_claims(self, delivered: Mapping[int, tuple[Claim, PageState]]) -> None:
        """Remove claims, except those whose state has changed meanwhile."""
        for key, entry in delivered.items():
            if self._claims.get(key) == entry:
                del self._claims[key]

    def add_records(self, records: Sequence[Record]) -> None:
        """Spool pages that are not filed and whose items are durable."""
        if self._spool is None:
            return
        try:
            count = self._spool.append(records)
        except (OSError, StoreError) as error:
            self._stats.spool_failed(error, len(records))
        else:
            self._stats.spooled(count, len(records) - count)

    def spool_files(self) -> Generator[SpoolFile, None, None]:
        """Yield the files of the spool; each is locked until the next one is requested."""
        if self._spool is not None:
            yield from self._spool.files()

    def close(self) -> None:
        """Leave the spool to the next crawl."""
        left = None if self._spool is None else self._spool.close()
        if left is not None:
            self._stats.spool_left(*left)
