"""The folder of an LMDB store: opened, checked where need be, and let go.

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
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import lmdb.verify
from filelock import FileLock

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.environment import borrow, give_back
from dedupcrawl.stores.owners import Owners

logger = logging.getLogger(__name__)

_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Folder:
    """A folder that one store object has open."""

    def __init__(self, path: Path, token: bytes, *, create: bool) -> None:
        if not create and not (path / "data.mdb").is_file():
            raise StoreError(f"There is no store in the folder {path}.")
        (path / "owners").mkdir(parents=True, exist_ok=True)
        self._path = path
        self.owners = Owners(path / "owners")
        with self._alone():
            alone = not self.owners.sweep()
            if alone:
                self._check_after_boot()
            self.environment = borrow(path)
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
                give_back(self.environment)

    def _enter(self, token: bytes, *, alone: bool) -> None:
        try:
            if alone and self.environment.cut_short():
                self._check("is shorter than it says")
            self._mark()
            self.owners.enter(token)
        except BaseException:
            give_back(self.environment)
            raise

    @property
    def _running(self) -> Path:
        return self._path / "running"

    def _mark(self) -> None:
        """Say, so that no power cut can unsay it, since which boot the store is open."""
        with self._running.open("wb") as file:
            file.write(_boot())
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
        if filled and self._running.is_file() and self._running.read_bytes() != _boot():
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


def _boot() -> bytes:
    """Name the present boot of the machine; b"" where the system does not tell."""
    try:
        return _BOOT.read_bytes().strip()
    except OSError:
        return b""
