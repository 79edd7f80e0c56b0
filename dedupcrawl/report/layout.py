"""The file of a ledger: its tables, and how it is opened.

SQLite with a write-ahead log: what is written survives a killed process at once and is read while it is being
written, and the disk is only waited for each time the log is folded into the file.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APPLICATION = 0x64647570  #: what tells our files from other people's: "ddup"
LAYOUT = 1  #: rises when the tables change
PATIENCE = 30.0  #: seconds for which another process's lock on the file is waited for
_LOG = 16 * 2**20  #: bytes to which the write-ahead log is cut back

_TABLES = """
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


def make(path: Path) -> sqlite3.Connection:
    """Make a file with empty tables and open it for writing."""
    connection = _connect(path, "rwc")
    connection.executescript(
        f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {LAYOUT}; BEGIN; {_TABLES} COMMIT;"
    )
    return _prepared(connection)


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open a file to go on with it; raises as :func:`open_for_reading` does."""
    return _prepared(_checked(path, "rw"))


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a file, also one that is being written, as it is at this moment.

    Raises :class:`~dedupcrawl.errors.DedupError` for a file that is missing, damaged, or something else.
    """
    if not path.is_file():
        raise DedupError(f"{path} is not a file" if path.exists() else f"{path} does not exist")
    with complaining_of(path):
        connection = _checked(path, "ro")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM runs").fetchone()  # from here on nothing changes for us
        return connection


def refuse_foreign(path: Path) -> None:
    """Raise :class:`~dedupcrawl.errors.DedupError` for a file that is not ours to overwrite."""
    with complaining_of(path):
        connection = _connect(path, "ro")
        application = _read(connection, "application_id")
        connection.close()
    if application != APPLICATION:
        raise DedupError(f"{path} is something else than a ledger of dedupcrawl, and is not overwritten")


def finish(connection: sqlite3.Connection) -> None:
    """Fold the log into the file for good, so that one file is all, unless somebody is reading it."""
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA busy_timeout = 1000")
        connection.execute("PRAGMA journal_mode = DELETE")


@contextmanager
def complaining_of(path: Path) -> Iterator[None]:
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
        timeout=PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )


def _checked(path: Path, mode: str) -> sqlite3.Connection:
    connection = _connect(path, mode)
    try:
        _check(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(path: Path, connection: sqlite3.Connection) -> None:
    if _read(connection, "application_id") != APPLICATION:
        raise DedupError(f"{path} is no ledger of dedupcrawl")
    layout = _read(connection, "user_version")
    if layout != LAYOUT:
        told = f"{path} is a ledger of layout {layout}; this version of dedupcrawl reads layout {LAYOUT}"
        raise DedupError(told)


def _read(connection: sqlite3.Connection, pragma: str) -> int:
    value: int = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return value


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG}")
    return connection
