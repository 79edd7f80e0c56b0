"""A store in a folder, shared by all processes of a machine; no server is needed."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar, Unpack

import lmdb

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.claiming import ClaimingStore
from dedupcrawl.stores.environment import FORKED
from dedupcrawl.stores.folder import Folder
from dedupcrawl.stores.lmdb_tables import Handles, LmdbTables
from dedupcrawl.stores.namespaces import admit, names
from dedupcrawl.stores.tables import OWNER_BYTES, Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dedupcrawl.stores.tabled import Timing
    from dedupcrawl.stores.tables import Tables

T = TypeVar("T")


class LmdbStore(ClaimingStore):
    """One namespace of an LMDB folder.

    A killed process loses nothing that was filed; its claims end with it. A machine that goes down can
    lose what was filed since the last :meth:`renew`, and can damage the file, which the next opening
    finds out (see :mod:`dedupcrawl.stores.folder`).

    Args:
        url: how the user calls the store, for messages.
        folder: where it is, made if it is missing.
        namespace: which part of it.
        scheme: JSON of the configuration; None: whichever it was filled with, and it must exist.
        lease: seconds for which a claim lives without being renewed.
        ttl: seconds after which a record no longer counts; None: never.
        clock: Unix time in seconds.

    Raises:
        StoreMismatchError: it was filled under another configuration.
        StoreError: it cannot be opened.
    """

    def __init__(
        self, url: str, folder: Path, namespace: str, scheme: str | None, **timing: Unpack[Timing]
    ) -> None:
        super().__init__(url, namespace, scheme or "", **timing)
        self._closed = False
        with _telling(self.url, "opened"):
            self._folder = Folder(folder, self._me, create=scheme is not None)
        self._environment = self._folder.environment
        try:
            self._begin(scheme)
        except BaseException:
            self._folder.leave()
            raise

    def _begin(self, scheme: str | None) -> None:
        with _telling(self.url, "opened"):
            self._scheme = admit(self._environment, self.url, self.namespace, scheme)
            self._handles = Handles.open(self._environment, self.namespace)
        self._write(lambda tables: tables.put_owner(self._me, Owner(self._clock() + self._lease)))
        self._bury()

    def _read(self, work: Callable[[Tables], T]) -> T:
        self._check_open()
        with _telling(self.url, "read"):
            return self._environment.read(lambda transaction: work(LmdbTables(transaction, self._handles)))

    def _write(self, work: Callable[[Tables], T]) -> T:
        self._check_open()
        with _telling(self.url, "written"):
            return self._environment.write(lambda transaction: work(LmdbTables(transaction, self._handles)))

    def _breathes(self, token: bytes) -> bool:
        return self._folder.owners.lives(token)

    def renew(self) -> int:
        held = super().renew()
        with _telling(self.url, "written"):
            self._environment.tend()
        return held

    def close(self) -> None:
        try:
            with self._environment.lock:
                if not self._closed and not self._environment.lost:
                    self._withdraw()
                    self._write(lambda tables: tables.drop_owner(self._me))
        finally:
            self._let_go()

    def _let_go(self) -> None:
        with self._environment.lock:
            # In a forked child there is nothing to let go: lock and file are the parent's.
            done, self._closed = self._closed or self._environment.lost == FORKED, True
        if not done:
            with _telling(self.url, "closed"):
                self._folder.leave()

    def _check_open(self) -> None:
        lost = "has been closed" if self._closed else self._environment.lost
        if lost:
            raise StoreError(f"The store {self.url} {lost}.")


def namespaces_of(url: str, folder: Path) -> list[str]:
    """List the namespaces of a store that exists, sorted."""
    with _telling(url, "opened"):
        opened = Folder(folder, secrets.token_bytes(OWNER_BYTES), create=False)
        try:
            return names(opened.environment, url)
        finally:
            opened.leave()


@contextmanager
def _telling(url: str, what: str) -> Iterator[None]:
    """Say in one sentence what went wrong below."""
    try:
        yield
    except (lmdb.Error, OSError) as error:
        reason = str(error).rstrip(".")
        raise StoreError(f"The store {url} cannot be {what}: {reason}.") from error
