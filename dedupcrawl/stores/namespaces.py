"""What a folder says of itself: that it is ours, and which namespaces were filled under what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.scheme import check_scheme

if TYPE_CHECKING:
    from dedupcrawl.stores.environment import Environment, Table, Transaction

FORMAT = b"1"  #: of the tables and of how they hang together

_ABOUT = "dedupcrawl"
_FORMAT = b"format"
_SCHEME = b"scheme:"


def admit(environment: Environment, url: str, namespace: str, scheme: str | None) -> str:
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
    about = _about(environment, url)
    key = _SCHEME + namespace.encode()

    def work(transaction: Transaction) -> str:
        there = transaction.get(key, db=about)
        if there is not None:
            check_scheme(url, namespace, there.decode(), scheme or there.decode())
            return there.decode()
        if scheme is None:
            raise StoreError(_missing(url, namespace, _names(transaction, about)))
        transaction.put(_FORMAT, FORMAT, db=about)
        transaction.put(key, scheme.encode(), db=about)
        return scheme

    return environment.write(work)


def names(environment: Environment, url: str) -> list[str]:
    """List the namespaces of a folder, sorted."""
    about = _about(environment, url)
    return environment.read(lambda transaction: _names(transaction, about))


def _about(environment: Environment, url: str) -> Table:
    if environment.foreign(_ABOUT):
        raise StoreError(f"The store {url} cannot be opened: another program's LMDB database is there.")
    about = environment.table(_ABOUT)
    found = environment.read(lambda transaction: transaction.get(_FORMAT, FORMAT, about))
    if found != FORMAT:
        raise StoreError(
            f"The store {url} cannot be opened: it has format {found.decode('ascii', 'replace')}, "
            f"and this version reads format {FORMAT.decode()}."
        )
    return about


def _names(transaction: Transaction, about: Table) -> list[str]:
    keys = transaction.cursor(about).iternext(values=False)
    return [key.removeprefix(_SCHEME).decode() for key in keys if key.startswith(_SCHEME)]


def _missing(url: str, namespace: str, there: list[str]) -> str:
    known = ", ".join(map(repr, there)) or "none"
    return f"The store {url} has no namespace {namespace!r}; it has {known}."
