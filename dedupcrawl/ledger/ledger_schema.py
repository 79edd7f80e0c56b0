"""The file of a ledger: its tables, and how it is opened.

SQLite with a write-ahead log: what is written survives a killed process at once and is read while it is being
written, and the disk is only waited for each time the log is folded into the file.

How much a ledger holds, and which pages stay when that is too little.
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


APPLICATION_ID = 0x64647570  #: what tells our files from other people's: "ddup"
SCHEMA_VERSION = 1  #: rises when the tables change
BUSY_TIMEOUT = 30.0  #: seconds for which another process's lock on the file is waited for
_WAL_BYTES = 16 * 2**20  #: bytes to which the write-ahead log is cut back

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


def create_database(path: Path) -> sqlite3.Connection:
    """Make a file with empty tables and open it for writing."""
    connection = _connect(path, "rwc")
    connection.executescript(
        f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}; "
        f"BEGIN; {_SCHEMA} COMMIT;"
    )
    return _configured(connection)


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open a file to go on with it; raises as :func:`open_for_reading` does."""
    return _configured(_connect_checked(path, "rw"))


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a file, also one that is being written, as it is at this moment.

    Raises :class:`~dedupcrawl.errors.DedupError` for a file that is missing, damaged, or something else.
    """
    if not path.is_file():
        raise DedupError(f"{path} is not a file" if path.exists() else f"{path} does not exist")
    with ledger_errors(path):
        connection = _connect_checked(path, "ro")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM runs").fetchone()  # from here on nothing changes for us
        return connection


def require_ledger(path: Path) -> None:
    """Raise :class:`~dedupcrawl.errors.DedupError` for a file that is not ours to overwrite."""
    with ledger_errors(path):
        connection = _connect(path, "ro")
        application = _pragma(connection, "application_id")
        connection.close()
    if application != APPLICATION_ID:
        raise DedupError(f"{path} is something else than a ledger of dedupcrawl, and is not overwritten")


def checkpoint(connection: sqlite3.Connection) -> None:
    """Fold the log into the file for good, so that one file is all, unless somebody is reading it."""
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA busy_timeout = 1000")
        connection.execute("PRAGMA journal_mode = DELETE")


@contextmanager
def ledger_errors(path: Path) -> Iterator[None]:
    """Name the file in what SQLite complains of; raises :class:`~dedupcrawl.errors.DedupError`."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise DedupError(f"The ledger {path} cannot be used: {error}") from None
    except sqlite3.DatabaseError as error:
        raise DedupError(f"{path} is no ledger of dedupcrawl, or is damaged: {error}") from None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_TIMEOUT,
        isolation_level=None,
        check_same_thread=False,
    )


def _connect_checked(path: Path, mode: str) -> sqlite3.Connection:
    connection = _connect(path, mode)
    try:
        _check(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(path: Path, connection: sqlite3.Connection) -> None:
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise DedupError(f"{path} is no ledger of dedupcrawl")
    layout = _pragma(connection, "user_version")
    if layout != SCHEMA_VERSION:
        told = (
            f"{path} is a ledger of layout {layout}; this version of dedupcrawl reads layout {SCHEMA_VERSION}"
        )
        raise DedupError(told)


def _pragma(connection: sqlite3.Connection, pragma: str) -> int:
    value: int = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return value


def _configured(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    return connection


@dataclass(frozen=True, slots=True)
class LedgerLimits:
    """The most that a ledger holds of each kind, however many pages come.

    With these defaults a file stays below some 170 MB, and a process that writes it keeps some 20 MB for it.
    """

    pages: int = 100_000  #: rows; beyond them half of the clusters go
    #: bytes of texts and opinions; beyond them half of the clusters lose theirs
    bulk: int = 64 * 2**20
    text: int = 100_000  #: characters of one text
    title: int = 500  #: characters of one title
    url: int = 4_096  #: characters of one URL
    of_cluster: int = 1_000  #: rows of one cluster; all of its pages are counted
    texts_of_cluster: int = 50  #: texts of one cluster
    hosts: int = 20_000  #: those that come first; what comes from others is counted together
    flows: int = 20_000  #: pairs of hosts; the same
    slices: int = 512  #: spans of time; beyond them each gets twice as long
    misses: int = 1_000  #: near misses of each detector, the nearest


def sampling_hash(name: str) -> int:
    """Hash the name of a cluster, the same in every ledger, to a whole number of at least 0, below 2⁶²."""
    data = name.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 2


def is_sampled(hashed: int, level: int) -> bool:
    """Whether what has this hash is among the one in 2^level that stay.

    What stays at a level stayed at all lower ones, so its pages were all there to be counted.
    """
    return not hashed & ((1 << level) - 1)
