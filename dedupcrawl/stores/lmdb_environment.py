"""The folder of an LMDB store: its files, its locks, its namespaces, and the environment of this process.

===============  ==========================================================================
``data.mdb``     the tables
``lock.mdb``     LMDB's own table of readers and its writer lock
``owners/``      a lock file for every open store object
``opening.lock`` held while a store object is opened or closed
``running``      the boot id of the machine since the store is open; removed by the last to leave
===============  ==========================================================================

LMDB forbids a process to open an environment twice, its memory map may only be moved while no transaction
runs, and a forked child must not use what its parent opened. So all transactions of a process on a folder go
through one :class:`LmdbEnvironment` with one lock.

A commit is not flushed to the disk (``sync=False``): it passes its pages to the operating system, so that a
killed process loses nothing. :meth:`LmdbEnvironment.flush` flushes. The map is not writable (``writemap=False``),
so that a wrong pointer cannot write into the file, and the file grows only as it is filled.

A machine that goes down while the store is open may lose pages that were not flushed, and may have written
the pages of a commit in any order. So the first to open the store after another boot verifies the whole file
(about two seconds for 100,000 pages), and refuses a damaged one.
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
from dedupcrawl.stores.validation import parse_scheme
from dedupcrawl.utils.redaction import SECRET_BYTES, SecretSeed

if TYPE_CHECKING:
    from collections.abc import Callable

    Transaction = lmdb.Transaction[bytes]
    Table = lmdb._Database

T = TypeVar("T")

MAP_SIZE = 64 << 20  #: bytes of the first map; it doubles whenever the file outgrows it
MAX_TABLES = 384  #: tables that one process can have open in one folder
FORKED = "was opened before this process forked: open it anew in the child"
FORMAT = b"5"  #: version of the tables and their relations

_META_TABLE = "dedupcrawl"
_FORMAT_KEY = b"format"
_SCHEME_PREFIX = b"scheme:"
_SECRET_PREFIX = b"secret:"
_BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")

logger = logging.getLogger(__name__)


class LmdbFolder:
    """A folder that one store object, identified by ``token``, has open."""

    def __init__(self, path: Path, token: bytes, *, create: bool) -> None:
        if not create and not (path / "data.mdb").is_file():
            raise StoreError(f"There is no store in the folder {path}.")
        (path / "owners").mkdir(parents=True, exist_ok=True)
        self._path = path
        self.locks = LockRegistry(path / "owners")
        with self.opening_lock():
            alone = not self.locks.sweep()
            if alone:
                self._verify_after_boot()
            self.environment = acquire_environment(path)
            self._enter(token, alone=alone)

    def leave(self) -> None:
        """Close the folder; the last store object marks it as cleanly closed."""
        self.locks.leave()
        with self.opening_lock():
            try:
                if not self.locks.sweep() and not self.environment.unusable:
                    self.environment.flush()
                    self._running.unlink(missing_ok=True)
            finally:
                release_environment(self.environment)

    def _enter(self, token: bytes, *, alone: bool) -> None:
        try:
            if alone and self.environment.is_truncated():
                self._verify("is shorter than its header says")
            self._mark_running()
            self.locks.enter(token)
        except BaseException:
            release_environment(self.environment)
            raise

    @property
    def _running(self) -> Path:
        return self._path / "running"

    def _mark_running(self) -> None:
        """Write the boot id, and flush it: it must survive a power failure."""
        with self._running.open("wb") as file:
            file.write(_boot_id())
            file.flush()
            os.fsync(file.fileno())
        if os.name == "posix":  # other systems cannot flush a folder, and need not
            folder = os.open(self._path, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def opening_lock(self) -> FileLock:
        """Return the lock that is held while a store object is opened, reset or closed."""
        return FileLock(self._path / "opening.lock", thread_local=False)

    def _verify_after_boot(self) -> None:
        """Verify the file if the machine went down while the store was open."""
        data = self._path / "data.mdb"
        filled = data.is_file() and data.stat().st_size > 0
        if filled and self._running.is_file() and self._running.read_bytes() != _boot_id():
            self._verify("was open when the machine went down")

    def _verify(self, reason: str) -> None:
        data = self._path / "data.mdb"
        logger.warning("%(data)s %(reason)s: verifying it", {"data": data, "reason": reason})
        try:
            problems = lmdb.verify.verify(str(data))  # type: ignore[no-untyped-call]  # it has no annotations
        except lmdb.verify.VerifyError as error:
            problems = [str(error)]
        if problems:
            raise StoreError(
                f"The store in {self._path} {reason} and is damaged ({problems[0]}): "
                "remove the folder and let the crawl fill it anew, or restore a backup."
            )


def _boot_id() -> bytes:
    """Return the id of the machine's current boot; b"" where the system has none."""
    try:
        return _BOOT_ID_FILE.read_bytes().strip()
    except OSError:
        return b""


class LockRegistry:
    """The lock files of all store objects on a folder.

    The operating system releases the lock of a killed process, so its claims end immediately.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own: tuple[Path, FileLock] | None = None

    def enter(self, token: bytes) -> None:
        """Acquire the lock of this owner."""
        path = self._path(token)
        lock = FileLock(path, timeout=0, thread_local=False)
        lock.acquire()
        self._own = path, lock

    def leave(self) -> None:
        """Release the own lock and remove its file."""
        if self._own is not None:
            _remove_lock(*self._own)
            self._own = None

    def is_alive(self, token: bytes) -> bool:
        """Whether the process of another owner is running on this machine."""
        path = self._path(token)
        if not path.exists():
            return False
        lock = _try_lock(path)
        if lock is not None:
            lock.release()
        return lock is None

    def sweep(self) -> int:
        """Remove the lock files of dead owners; return how many owners are alive."""
        paths = list(self._folder.glob("*.lock"))
        free = [(path, lock) for path in paths if (lock := _try_lock(path)) is not None]
        for path, lock in free:
            _remove_lock(path, lock)
        return len(paths) - len(free)

    def _path(self, token: bytes) -> Path:
        return self._folder / f"{token.hex()}.lock"


def _try_lock(path: Path) -> FileLock | None:
    lock = FileLock(path, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        return None
    return lock


def _remove_lock(path: Path, lock: FileLock) -> None:
    """Remove the file while it is locked, so that no process locks a file that is about to be removed.

    Where an open file cannot be removed (Windows) it is removed right after.
    """
    with suppress(OSError):
        path.unlink()
    lock.release()
    with suppress(OSError):
        path.unlink(missing_ok=True)


def open_namespace(
    environment: LmdbEnvironment, url: str, namespace: str, scheme: str | None, secret: SecretSeed | None = None
) -> tuple[str, SecretSeed | None]:
    """Check the configuration of a namespace, or create the namespace; return the configuration and secret it has.

    ``scheme`` is our configuration in JSON; None accepts any, and requires that the namespace exists.
    ``secret`` is the secret seed of a new namespace: of several that are offered the first stays.
    """
    meta = meta_table(environment, url)
    key, secret_key = _SCHEME_PREFIX + namespace.encode(), _SECRET_PREFIX + namespace.encode()

    def work(transaction: Transaction) -> tuple[str, SecretSeed | None]:
        stored = transaction.get(key, db=meta)
        if stored is not None:
            kept = transaction.get(secret_key, db=meta)
            if parse_scheme(stored) is None or len(kept or b"") not in {0, SECRET_BYTES}:
                raise StoreError(f"The store {url} is damaged: namespace {namespace!r} has no configuration of ours.")
            check_scheme(url, namespace, stored.decode(), scheme or stored.decode())
            return stored.decode(), SecretSeed.from_stored(kept)
        if scheme is None:
            known = ", ".join(map(repr, _stored_names(transaction, meta))) or "none"
            raise StoreError(f"The store {url} has no namespace {namespace!r}; it has {known}.")
        transaction.put(_FORMAT_KEY, FORMAT, db=meta)
        transaction.put(key, scheme.encode(), db=meta)
        if secret is not None:
            transaction.put(secret_key, secret.stored(), db=meta)
        return scheme, secret

    return environment.write(work)


def remove_namespace(transaction: Transaction, meta: Table, namespace: str) -> None:
    """Remove the configuration and the secret of a namespace from the table ``meta``."""
    for prefix in (_SCHEME_PREFIX, _SECRET_PREFIX):
        transaction.delete(prefix + namespace.encode(), db=meta)


def namespace_names(environment: LmdbEnvironment, url: str) -> list[str]:
    """List the namespaces of a folder, sorted."""
    meta = meta_table(environment, url)
    return environment.read(lambda transaction: _stored_names(transaction, meta))


def meta_table(environment: LmdbEnvironment, url: str) -> Table:
    """Return the table of namespaces; refuse a file of an older format or of another program (``StoreError``)."""
    if environment.is_foreign(_META_TABLE):
        raise StoreError(f"The store {url} cannot be opened: another program's LMDB database is there.")
    meta = environment.table(_META_TABLE)
    found = environment.read(lambda transaction: transaction.get(_FORMAT_KEY, FORMAT, meta))
    if found != FORMAT:
        raise StoreError(
            f"The store {url} cannot be opened: it has format {found.decode('ascii', 'replace')}, "
            f"and this version reads format {FORMAT.decode()}; use another folder and crawl again."
        )
    return meta


def _stored_names(transaction: Transaction, meta: Table) -> list[str]:
    keys = transaction.cursor(meta).iternext(values=False)
    found = (key.removeprefix(_SCHEME_PREFIX) for key in keys if key.startswith(_SCHEME_PREFIX))
    return [name.decode() for name in found if name.decode("utf-8", "replace").encode() == name]  # others are not ours


class LmdbEnvironment:
    """An open LMDB environment. Work passed to it may run twice, after the map has grown."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = RLock()
        self.flush_lock = Lock()
        self.unusable = ""  #: why it can no longer be used, "" while it can
        self._tables: dict[str, Table] = {}
        # No spare transactions (the default): one would keep a slot that a forked child wipes out.
        self._lmdb: lmdb.Environment | None = lmdb.open(
            str(folder), map_size=MAP_SIZE, max_dbs=MAX_TABLES, sync=False, meminit=False
        )

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` in a read transaction."""
        with self.lock, self._begin(write=False) as transaction:
            return work(transaction)

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` in a write transaction."""
        with self.lock:
            while True:
                try:
                    with self._begin(write=True) as transaction:
                        return work(transaction)
                except lmdb.MapFullError:
                    self._map(2 * self._open.info()["map_size"])

    def table(self, name: str, *, sets: bool = False) -> Table:
        """Return the handle of a table; create the table if it is missing.

        Args:
            name: of the table.
            sets: whether a key has a sorted set of values of one size, instead of one value.
        """
        with self.lock:
            if name not in self._tables:
                # A handle is valid only once the transaction that opened it has been committed.
                self._tables[name] = self.write(
                    lambda transaction: self._open.open_db(name.encode(), transaction, dupsort=sets, dupfixed=sets)
                )
            return self._tables[name]

    def is_foreign(self, name: str) -> bool:
        """Whether the folder holds tables, but none of this name: another program's database."""
        with self.lock:
            names = self._open.dbs()
            return bool(self._open.stat()["entries"]) and name.encode() not in names

    def is_truncated(self) -> bool:
        """Whether the file ends before its last page. Reading beyond the end would kill the process."""
        with self.lock:
            pages = self._open.info()["last_pgno"] + 1
            return (self.folder / "data.mdb").stat().st_size < pages * self._open.stat()["psize"]

    def flush(self) -> None:
        """Flush all commits to the disk, and free what killed readers hold. Does not block other threads."""
        with self.flush_lock:
            self._open.sync(True)
            # A killed reader leaves a slot that keeps freed pages from being used again.
            self._open.reader_check()

    def discard(self, reason: str) -> None:
        """Close the file without taking a lock, as a forked child must; ``reason`` is for messages."""
        if self._lmdb is not None:
            self._lmdb.close()
            self._lmdb, self.unusable = None, reason

    @property
    def _open(self) -> lmdb.Environment:
        if self._lmdb is None:
            raise StoreError(f"The store in {self.folder} {self.unusable}.")
        return self._lmdb

    def _begin(self, *, write: bool) -> Transaction:
        try:
            return self._open.begin(write=write)
        except lmdb.MapResizedError:  # another process has filled more than our map shows
            self._map(0)
            return self._open.begin(write=write)

    def _map(self, size: int) -> None:
        """Map the file anew. LMDB unmaps the old map first, so after a failure there is none."""
        try:
            self._open.set_mapsize(size)
        except lmdb.Error as error:
            self.discard(f"has no memory to map its file: {error}")
            raise


@dataclass
class EnvironmentRegistry:
    """The environments of this process, and how many store objects use each."""

    lock: RLock = field(default_factory=RLock)
    users: dict[str, tuple[LmdbEnvironment, int]] = field(default_factory=dict)


# Module-level state is needed here: that a process must not open a folder twice is a fact about the process.
_open_environments = EnvironmentRegistry()


def acquire_environment(folder: Path) -> LmdbEnvironment:
    """Return the environment of an existing folder. The caller must call :func:`release_environment`."""
    name = os.path.realpath(folder)
    with _open_environments.lock:
        environment, users = _open_environments.users.get(name, (None, 0))
        if environment is None or environment.unusable:
            environment, users = LmdbEnvironment(folder), 0
        _open_environments.users[name] = environment, users + 1
        return environment


def release_environment(environment: LmdbEnvironment) -> None:
    """Close the environment if it has no other user in this process."""
    with _open_environments.lock:
        for name, (each, users) in list(_open_environments.users.items()):
            if each is environment and users > 1:
                _open_environments.users[name] = each, users - 1
            elif each is environment:
                del _open_environments.users[name]
                with environment.flush_lock, environment.lock:
                    environment.discard("has been closed")


def _before_fork() -> None:
    """Wait until no transaction runs: the child could not end it."""
    _open_environments.lock.acquire()
    for environment, _ in _open_environments.users.values():
        environment.flush_lock.acquire()
        environment.lock.acquire()


def _after_fork() -> None:
    for environment, _ in _open_environments.users.values():
        environment.lock.release()
        environment.flush_lock.release()
    _open_environments.lock.release()


def _after_fork_in_child() -> None:
    """Discard what the parent opened, so that the child can open its own stores."""
    for environment, _ in _open_environments.users.values():
        environment.discard(FORKED)
    _after_fork()
    _open_environments.users.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
