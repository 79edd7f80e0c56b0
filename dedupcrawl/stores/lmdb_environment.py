"""One LMDB environment a folder and process, shared by every store object on it.

LMDB forbids a process to open an environment twice, its memory map may only be moved while no
transaction runs, and a forked child must not use what its parent opened. So all transactions of a
process on a folder pass through one object with one lock.

A commit is not flushed to the disk (``sync=False``): it hands its pages to the operating system, so
that a killed process loses nothing. :meth:`Environment.tend` flushes. The map is not writable
(``writemap=False``), so that a stray pointer cannot write into the file and the file grows only as it
is filled.

Who lives: every store object holds a lock file, which the system frees when its process ends.

So the claims of a killed process end at once, without waiting for the lease.

The folder of an LMDB store: opened, checked where need be, and let go.

===============  ==========================================================================
``data.mdb``     the tables
``lock.mdb``     LMDB's own table of readers and its writer lock
``owners/``      a lock file for every store object that lives
``opening.lock`` held for the moment of opening and closing
``running``      the boot of the machine since which it is open; removed by the last to leave
===============  ==========================================================================

A killed process loses nothing: its commits are in the operating system's hands. A machine that goes
down while the store is open may lose what it had not written yet, and may have written the pages of a
commit in any order. So whoever opens the store after another boot first walks the whole file
(about two seconds for 100,000 pages), and refuses it when it is damaged.

What a folder says of itself: that it is ours, and which namespaces were filled under what.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, TypeVar

import lmdb
import lmdb.verify
from filelock import FileLock, Timeout

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import check_scheme

if TYPE_CHECKING:
    from collections.abc import Callable

    Transaction = lmdb.Transaction[bytes]
    Table = lmdb._Database


T = TypeVar("T")

MAP_SIZE = 64 << 20  #: bytes of the first map; it doubles whenever the file outgrows it
FORKED = "was opened before this process forked: open it anew in the child"
MAX_TABLES = 256  #: most tables that one process has open in one folder


class Environment:
    """An open folder. Work given to it may run twice, after the map has grown."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = RLock()
        self.syncing = Lock()
        self.lost = ""  #: why it can no longer be used, "" while it can
        self._tables: dict[str, Table] = {}
        # No spare transactions (the default): one would keep a slot that a forked child wipes out.
        self._lmdb: lmdb.Environment | None = lmdb.open(
            str(folder), map_size=MAP_SIZE, max_dbs=MAX_TABLES, sync=False, meminit=False
        )

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` in a transaction that sees one moment."""
        with self.lock, self._begin(write=False) as transaction:
            return work(transaction)

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` in a transaction that happens at once, or not at all."""
        with self.lock:
            while True:
                try:
                    with self._begin(write=True) as transaction:
                        return work(transaction)
                except lmdb.MapFullError:
                    self._grow()

    def table(self, name: str) -> Table:
        """Return the handle of a table, making it if need be."""
        with self.lock:
            if name not in self._tables:
                # A handle is valid only once the transaction that opened it has ended well.
                opened = self.write(lambda transaction: self._open.open_db(name.encode(), transaction))
                self._tables[name] = opened
            return self._tables[name]

    def foreign(self, name: str) -> bool:
        """Whether the folder holds tables, but none of this name: another program's database."""
        with self.lock:
            names = self._open.dbs()
            return bool(self._open.stat()["entries"]) and name.encode() not in names

    def cut_short(self) -> bool:
        """Whether the file ends before its last page: reading on could kill the process."""
        with self.lock:
            pages = self._open.info()["last_pgno"] + 1
            return (self.folder / "data.mdb").stat().st_size < pages * self._open.stat()["psize"]

    def tend(self) -> None:
        """Flush all commits to the disk, and take back what killed readers hold.

        Other threads may go on meanwhile.
        """
        with self.syncing:
            self._open.sync(True)
            # A killed reader leaves a slot that keeps freed pages from being used again.
            self._open.reader_check()

    def close(self) -> None:
        """Let the file go."""
        with self.syncing, self.lock:
            self.drop("has been closed")

    def drop(self, reason: str) -> None:
        """Let the file go without a lock, as a forked child must."""
        if self._lmdb is not None:
            self._lmdb.close()
            self._lmdb, self.lost = None, reason

    @property
    def _open(self) -> lmdb.Environment:
        if self._lmdb is None:
            raise StoreError(f"The store in {self.folder} {self.lost}.")
        return self._lmdb

    def _begin(self, *, write: bool) -> Transaction:
        try:
            return self._open.begin(write=write)
        except lmdb.MapResizedError:  # another process has filled more than our map shows
            self._map(0)
            return self._open.begin(write=write)

    def _grow(self) -> None:
        self._map(2 * self._open.info()["map_size"])

    def _map(self, size: int) -> None:
        """Map the file anew. LMDB lets the old map go first, so that after a failure there is none."""
        try:
            self._open.set_mapsize(size)
        except lmdb.Error as error:
            self.drop(f"has no memory to map its file: {error}")
            raise


@dataclass
class _OpenEnvironments:
    """The environments of this process, and how many store objects use each."""

    lock: RLock = field(default_factory=RLock)
    users: dict[str, tuple[Environment, int]] = field(default_factory=dict)


# The one exception to the rule of no global state: that a process must not open a folder twice is a
# fact about the process, and only the process can know it.
_open_environments = _OpenEnvironments()


def acquire_environment(folder: Path) -> Environment:
    """Return the environment of an existing folder; :func:`give_back` is owed."""
    name = os.path.realpath(folder)
    with _open_environments.lock:
        environment, users = _open_environments.users.get(name, (None, 0))
        if environment is None or environment.lost:
            environment, users = Environment(folder), 0
        _open_environments.users[name] = environment, users + 1
        return environment


def release_environment(environment: Environment) -> None:
    """Close the environment when nobody else in this process uses it."""
    with _open_environments.lock:
        for name, (each, users) in list(_open_environments.users.items()):
            if each is environment and users > 1:
                _open_environments.users[name] = each, users - 1
            elif each is environment:
                del _open_environments.users[name]
                environment.close()


def _before_fork() -> None:
    """Wait until no transaction runs: in the child nobody would be left to end it."""
    _open_environments.lock.acquire()
    for environment, _ in _open_environments.users.values():
        environment.syncing.acquire()
        environment.lock.acquire()


def _after_fork() -> None:
    for environment, _ in _open_environments.users.values():
        environment.lock.release()
        environment.syncing.release()
    _open_environments.lock.release()


def _after_fork_in_child() -> None:
    """Drop what the parent opened, so that the child can open stores of its own."""
    for environment, _ in _open_environments.users.values():
        environment.drop(FORKED)
    _after_fork()
    _open_environments.users.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


class OwnerLocks:
    """The folder of lock files, one an owner."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mine: tuple[Path, FileLock] | None = None

    def enter(self, token: bytes) -> None:
        """Take the lock that says this owner lives."""
        path = self._path(token)
        lock = FileLock(path, timeout=0, thread_local=False)
        lock.acquire()
        self._mine = path, lock

    def leave(self) -> None:
        """Give the lock back and remove its file."""
        if self._mine is not None:
            _remove_lock(*self._mine)
            self._mine = None

    def lives(self, token: bytes) -> bool:
        """Whether another owner's process still runs, on this machine."""
        path = self._path(token)
        if not path.exists():
            return False
        lock = _try_lock(path)
        if lock is not None:
            lock.release()
        return lock is None

    def sweep(self) -> int:
        """Remove the lock files that the dead left; return how many owners live."""
        paths = list(self._folder.glob("*.lock"))
        free = [(path, lock) for path in paths if (lock := _try_lock(path)) is not None]
        for path, lock in free:
            _remove_lock(path, lock)
        return len(paths) - len(free)

    def _path(self, token: bytes) -> Path:
        return self._folder / f"{token.hex()}.lock"


def _try_lock(path: Path) -> FileLock | None:
    """Lock a file if nobody else holds it."""
    lock = FileLock(path, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        return None
    return lock


def _remove_lock(path: Path, lock: FileLock) -> None:
    """Remove the file while it is locked, so that nobody locks a file about to vanish.

    Where an open file cannot be removed (Windows) it is removed right after.
    """
    with suppress(OSError):
        path.unlink()
    lock.release()
    with suppress(OSError):
        path.unlink(missing_ok=True)


logger = logging.getLogger(__name__)

_BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")


class LmdbFolder:
    """A folder that one store object has open."""

    def __init__(self, path: Path, token: bytes, *, create: bool) -> None:
        if not create and not (path / "data.mdb").is_file():
            raise StoreError(f"There is no store in the folder {path}.")
        (path / "owners").mkdir(parents=True, exist_ok=True)
        self._path = path
        self.owners = OwnerLocks(path / "owners")
        with self._alone():
            alone = not self.owners.sweep()
            if alone:
                self._check_after_boot()
            self.environment = acquire_environment(path)
            self._enter(token, alone=alone)

    def leave(self) -> None:
        """Let the folder go; the last to leave marks it as cleanly closed."""
        self.owners.leave()
        with self._alone():
            try:
                if not self.owners.sweep() and not self.environment.lost:
                    self.environment.tend()
                    self._running.unlink(missing_ok=True)
            finally:
                release_environment(self.environment)

    def _enter(self, token: bytes, *, alone: bool) -> None:
        try:
            if alone and self.environment.cut_short():
                self._check("is shorter than it says")
            self._mark()
            self.owners.enter(token)
        except BaseException:
            release_environment(self.environment)
            raise

    @property
    def _running(self) -> Path:
        return self._path / "running"

    def _mark(self) -> None:
        """Say, so that no power cut can unsay it, since which boot the store is open."""
        with self._running.open("wb") as file:
            file.write(_boot_id())
            file.flush()
            os.fsync(file.fileno())
        if os.name == "posix":  # elsewhere a folder cannot be flushed, and need not be
            folder = os.open(self._path, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _alone(self) -> FileLock:
        return FileLock(self._path / "opening.lock", thread_local=False)

    def _check_after_boot(self) -> None:
        """Walk the file if the machine went down while the store was open."""
        data = self._path / "data.mdb"
        filled = data.is_file() and data.stat().st_size > 0
        if filled and self._running.is_file() and self._running.read_bytes() != _boot_id():
            self._check("was open when the machine went down")

    def _check(self, reason: str) -> None:
        data = self._path / "data.mdb"
        logger.warning("%(data)s %(reason)s: checking it", {"data": data, "reason": reason})
        try:
            problems = lmdb.verify.verify(str(data))  # type: ignore[no-untyped-call]  # it has no annotations
        except lmdb.verify.VerifyError as error:
            problems = [str(error)]
        if problems:
            raise StoreError(
                f"The store in {self._path} {reason} and is damaged ({problems[0]}): "
                "remove the folder and let the crawl fill it anew, or put a copy back."
            )


def _boot_id() -> bytes:
    """Name the present boot of the machine; b"" where the system does not tell."""
    try:
        return _BOOT_ID_FILE.read_bytes().strip()
    except OSError:
        return b""


FORMAT = b"1"  #: of the tables and of how they hang together

_META_TABLE = "dedupcrawl"
_FORMAT_KEY = b"format"
_SCHEME_PREFIX = b"scheme:"


def open_namespace(environment: Environment, url: str, namespace: str, scheme: str | None) -> str:
    """Let a configuration into a namespace, making it if it is new; return the one in force.

    Args:
        environment: the open folder.
        url: how the user calls the store.
        namespace: which part of it.
        scheme: JSON of the configuration; None: whichever the namespace has.

    Raises:
        StoreMismatchError: the namespace was filled under another configuration.
        StoreError: the folder belongs to another program or version, or has no such namespace.
    """
    about = _meta_table(environment, url)
    key = _SCHEME_PREFIX + namespace.encode()

    def work(transaction: Transaction) -> str:
        there = transaction.get(key, db=about)
        if there is not None:
            check_scheme(url, namespace, there.decode(), scheme or there.decode())
            return there.decode()
        if scheme is None:
            raise StoreError(_no_namespace(url, namespace, _stored_names(transaction, about)))
        transaction.put(_FORMAT_KEY, FORMAT, db=about)
        transaction.put(key, scheme.encode(), db=about)
        return scheme

    return environment.write(work)


def namespace_names(environment: Environment, url: str) -> list[str]:
    """List the namespaces of a folder, sorted."""
    about = _meta_table(environment, url)
    return environment.read(lambda transaction: _stored_names(transaction, about))


def _meta_table(environment: Environment, url: str) -> Table:
    if environment.foreign(_META_TABLE):
        raise StoreError(f"The store {url} cannot be opened: another program's LMDB database is there.")
    about = environment.table(_META_TABLE)
    found = environment.read(lambda transaction: transaction.get(_FORMAT_KEY, FORMAT, about))
    if found != FORMAT:
        raise StoreError(
            f"The store {url} cannot be opened: it has format {found.decode('ascii', 'replace')}, "
            f"and this version reads format {FORMAT.decode()}."
        )
    return about


def _stored_names(transaction: Transaction, about: Table) -> list[str]:
    keys = transaction.cursor(about).iternext(values=False)
    return [key.removeprefix(_SCHEME_PREFIX).decode() for key in keys if key.startswith(_SCHEME_PREFIX)]


def _no_namespace(url: str, namespace: str, there: list[str]) -> str:
    known = ", ".join(map(repr, there)) or "none"
    return f"The store {url} has no namespace {namespace!r}; it has {known}."
