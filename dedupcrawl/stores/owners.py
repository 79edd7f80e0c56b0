"""Who lives: every store object holds a lock file, which the system frees when its process ends.

So the claims of a killed process end at once, without waiting for the lease.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from pathlib import Path


class Owners:
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
            _remove(*self._mine)
            self._mine = None

    def lives(self, token: bytes) -> bool:
        """Whether another owner's process still runs, on this machine."""
        path = self._path(token)
        if not path.exists():
            return False
        lock = _take(path)
        if lock is not None:
            lock.release()
        return lock is None

    def sweep(self) -> int:
        """Remove the lock files that the dead left; return how many owners live."""
        paths = list(self._folder.glob("*.lock"))
        free = [(path, lock) for path in paths if (lock := _take(path)) is not None]
        for path, lock in free:
            _remove(path, lock)
        return len(paths) - len(free)

    def _path(self, token: bytes) -> Path:
        return self._folder / f"{token.hex()}.lock"


def _take(path: Path) -> FileLock | None:
    """Lock a file if nobody else holds it."""
    lock = FileLock(path, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        return None
    return lock


def _remove(path: Path, lock: FileLock) -> None:
    """Remove the file while it is locked, so that nobody locks a file about to vanish.

    Where an open file cannot be removed (Windows) it is removed right after.
    """
    with suppress(OSError):
        path.unlink()
    lock.release()
    with suppress(OSError):
        path.unlink(missing_ok=True)
