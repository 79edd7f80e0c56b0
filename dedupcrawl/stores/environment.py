"""One LMDB environment a folder and process, shared by every store object on it.

LMDB forbids a process to open an environment twice, its memory map may only be moved while no
transaction runs, and a forked child must not use what its parent opened. So all transactions of a
process on a folder pass through one object with one lock.

A commit is not flushed to the disk (``sync=False``): it hands its pages to the operating system, so
that a killed process loses nothing. :meth:`Environment.tend` flushes. The map is not writable
(``writemap=False``), so that a stray pointer cannot write into the file and the file grows only as it
is filled.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from threading import Lock, RLock
from typing import TYPE_CHECKING, TypeVar

import lmdb

from dedupcrawl.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
class _Shared:
    """The environments of this process, and how many store objects use each."""

    lock: RLock = field(default_factory=RLock)
    users: dict[str, tuple[Environment, int]] = field(default_factory=dict)


# The one exception to the rule of no global state: that a process must not open a folder twice is a
# fact about the process, and only the process can know it.
_shared = _Shared()


def borrow(folder: Path) -> Environment:
    """Return the environment of an existing folder; :func:`give_back` is owed."""
    name = os.path.realpath(folder)
    with _shared.lock:
        environment, users = _shared.users.get(name, (None, 0))
        if environment is None or environment.lost:
            environment, users = Environment(folder), 0
        _shared.users[name] = environment, users + 1
        return environment


def give_back(environment: Environment) -> None:
    """Close the environment when nobody else in this process uses it."""
    with _shared.lock:
        for name, (each, users) in list(_shared.users.items()):
            if each is environment and users > 1:
                _shared.users[name] = each, users - 1
            elif each is environment:
                del _shared.users[name]
                environment.close()


def _before_fork() -> None:
    """Wait until no transaction runs: in the child nobody would be left to end it."""
    _shared.lock.acquire()
    for environment, _ in _shared.users.values():
        environment.syncing.acquire()
        environment.lock.acquire()


def _after_fork() -> None:
    for environment, _ in _shared.users.values():
        environment.lock.release()
        environment.syncing.release()
    _shared.lock.release()


def _after_fork_in_child() -> None:
    """Drop what the parent opened, so that the child can open stores of its own."""
    for environment, _ in _shared.users.values():
        environment.drop(FORKED)
    _after_fork()
    _shared.users.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
