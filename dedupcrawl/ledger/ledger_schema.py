"""The SQLite file of a ledger: its tables, its limits, and how it is opened.

The file is in write-ahead mode: data that was written survives a killed process and can be read during a run.
Only a checkpoint waits for the disk.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APPLICATION_ID = 0x64647570  #: "ddup", marks the SQLite files of dedupcrawl
SCHEMA_VERSION = 1  #: incremented when the tables change
BUSY_TIMEOUT = 30.0  #: seconds to wait for another process that locks the file
_WAL_BYTES = 16 * 2**20  #: size to which the write-ahead log is truncated
_SCHEMA = """
CREATE TABLE runs (id INTEGER PRIMARY KEY, began REAL, ended REAL, about TEXT);
CREATE TABLE state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE counts (name TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TABLE detectors (name TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TABLE hosts (name TEXT PRIMARY KEY, pages INTEGER, kept INTEGER, dropped INTEGER) WITHOUT ROWID;
CREATE TABLE flows (copy TEXT, source TEXT, n INTEGER, PRIMARY KEY (copy, source)) WITHOUT ROWID;
CREATE TABLE slices (place INTEGER PRIMARY KEY, kept INTEGER, dropped INTEGER, unchecked INTEGER);
CREATE TABLE bins (detector TEXT, bin INTEGER, matched INTEGER, n INTEGER,
                   PRIMARY KEY (detector, bin, matched)) WITHOUT ROWID;
CREATE TABLE clusters (name TEXT PRIMARY KEY, hash INTEGER, pages INTEGER, first REAL, last REAL)
                       WITHOUT ROWID;
CREATE TABLE pages (id INTEGER PRIMARY KEY, hash INTEGER, url TEXT, time REAL, bytes INTEGER, title TEXT,
                    requests INTEGER, fate TEXT, cluster TEXT, verdict TEXT);
CREATE INDEX pages_by_url ON pages (url);
CREATE INDEX pages_by_cluster ON pages (cluster);
CREATE TABLE bulk (page INTEGER PRIMARY KEY, size INTEGER, text BLOB, held BLOB);
CREATE TABLE misses (id INTEGER PRIMARY KEY, detector TEXT, similarity REAL, page INTEGER, place INTEGER,
                     old TEXT);
"""


@dataclass(frozen=True, slots=True)
class LedgerLimits:
    """The largest amounts that a ledger stores, for any number of pages.

    With these defaults a file stays below about 170 MB, and its writer uses about 20 MB of memory.
    """

    pages: int = 100_000  #: rows; beyond them half of the clusters are deleted
    content_bytes: int = 64 * 2**20  #: texts and comparisons; beyond them half of the clusters lose theirs
    text_chars: int = 100_000  #: of one text
    title_chars: int = 500  #: of one title
    url_chars: int = 4_096  #: of one URL
    cluster_pages: int = 1_000  #: rows of one cluster; all of its pages are counted
    cluster_texts: int = 50  #: texts of one cluster
    hosts: int = 20_000  #: the first ones; all later hosts are counted together
    flows: int = 20_000  #: pairs of hosts, likewise
    slices: int = 512  #: time slices; beyond them their length doubles
    misses: int = 1_000  #: near misses of each detector, the most similar ones


def sampling_hash(name: str) -> int:
    """Hash the name of a cluster to an integer from 0 to 2⁶² - 1, the same in every ledger."""
    data = name.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 2


def is_sampled(hashed: int, level: int) -> bool:
    """Whether the sample of one in 2^level clusters includes this hash.

    The sample of a level is a subset of all lower levels. So the pages of its clusters were all counted.
    """
    return not hashed & ((1 << level) - 1)


def create_database(path: Path) -> sqlite3.Connection:
    """Create a file with empty tables, and open it for writing."""
    connection = _connect(path, "rwc")
    connection.executescript(
        f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}; BEGIN; {_SCHEMA} COMMIT;"
    )
    return _configured(connection)


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open an existing ledger to append to it; raises DedupError if it is damaged or no ledger."""
    return _configured(_connect_checked(path, "rw"))


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a snapshot of a ledger; raises DedupError if it is missing, damaged, or no ledger."""
    if not path.is_file():
        raise DedupError(f"{path} is not a file" if path.exists() else f"{path} does not exist")
    with ledger_errors(path):
        connection = _connect_checked(path, "ro")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM runs").fetchone()  # the first query takes the snapshot
        return connection


def require_ledger(path: Path) -> None:
    """Raise DedupError if the file is not a ledger, and so must not be overwritten."""
    with ledger_errors(path):
        connection = _connect(path, "ro")
        application = _pragma(connection, "application_id")
        connection.close()
    if application != APPLICATION_ID:
        raise DedupError(f"{path} is something else than a ledger of dedupcrawl, and is not overwritten")


def checkpoint(connection: sqlite3.Connection) -> None:
    """Move the log into the database file and delete it, unless another process is reading."""
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA busy_timeout = 1000")
        connection.execute("PRAGMA journal_mode = DELETE")


@contextmanager
def ledger_errors(path: Path) -> Iterator[None]:
    """Convert SQLite errors to DedupError with the name of the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise DedupError(f"The ledger {path} cannot be used: {error}") from None
    except sqlite3.DatabaseError as error:
        raise DedupError(f"{path} is no ledger of dedupcrawl, or is damaged: {error}") from None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)


def _connect_checked(path: Path, mode: str) -> sqlite3.Connection:
    connection = _connect(path, mode)
    try:
        _check_schema(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_schema(path: Path, connection: sqlite3.Connection) -> None:
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise DedupError(f"{path} is no ledger of dedupcrawl")
    version = _pragma(connection, "user_version")
    if version != SCHEMA_VERSION:
        raise DedupError(
            f"{path} is a ledger of layout {version}; this version of dedupcrawl reads layout {SCHEMA_VERSION}"
        )


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _configured(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    return connection
