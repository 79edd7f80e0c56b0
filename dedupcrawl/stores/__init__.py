"""Stores of fingerprints, opened by their URL."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import MissingPackageError, SettingError
from dedupcrawl.stores.base import scheme_json
from dedupcrawl.stores.lmdb import LmdbStore, namespaces_of
from dedupcrawl.stores.redis.address import SHARDED, URL_FORMS, is_server, read_address
from dedupcrawl.stores.transactional import MemoryStore
from dedupcrawl.stores.validation import NAMESPACE_BYTES, is_namespace
from dedupcrawl.utils.redaction import hide_password, hide_password_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dedupcrawl.stores.base import Store
    from dedupcrawl.stores.transactional import TimeOptions
    from dedupcrawl.utils.redaction import SecretSeed


__all__ = ["list_namespaces", "open_existing", "open_store"]

MEMORY = "memory://"
LMDB = "lmdb://"


def open_store(
    url: str,
    *,
    namespace: str,
    scheme: Mapping[str, object],
    lease: float = 60.0,
    ttl: float | None = None,
    clock: Callable[[], float] = time.time,
    secret: SecretSeed | None = None,
    reset: bool = False,
) -> Store:
    """Open a store; create it if it is missing.

    Args:
        url: ``memory://`` (private to the object), ``lmdb://relative/folder``, ``lmdb:///absolute/folder``,
            or a Redis or Valkey server: ``redis://``, ``rediss://``, ``unix://``, ``redis+sentinel://``,
            ``redis+cluster://`` or ``redis-cluster://``.
        namespace: which part of the store, 1 to 200 bytes of UTF-8. Records of different namespaces are never
            compared.
        scheme: every constant that shapes keys or sketches, as JSON values.
        lease: seconds after which a claim ends unless it is renewed, above 0.
        ttl: seconds after which a record no longer counts; None: never.
        clock: returns the Unix time in seconds. With a server it only gives the age of a record; leases
            follow the clock of the server.
        secret: the secret seed of a new namespace. An existing one keeps its own: see ``Store.secret``.
        reset: whether to remove the namespace with its configuration first. It must have no other user.

    Raises:
        MissingPackageError: the store is on a server, and the extra ``redis`` is not installed.
        SettingError: the URL or the namespace is not accepted.
        StoreInUseError: the namespace is to be reset, and another process or object has it open.
        StoreMismatchError: the store was filled under another scheme.
        StoreUnreachableError: the server of the store does not answer.
        StoreError: the store cannot be opened.
    """
    _check_namespace(namespace)
    configuration = scheme_json(scheme)
    timing: TimeOptions = {"lease": lease, "ttl": ttl, "clock": clock}
    if url == MEMORY:
        return MemoryStore(namespace, configuration, secret=secret, **timing)
    if is_server(url):
        return _open_on_server(url, namespace, configuration, secret=secret, reset=reset, **timing)
    return LmdbStore(url, _folder(url), namespace, configuration, secret=secret, reset=reset, **timing)


def open_existing(url: str, namespace: str) -> Store:
    """Open an existing namespace of a persistent store, whatever its configuration, to read and maintain it.

    Raises as :func:`open_store` does, and ``StoreError`` if the store or the namespace does not exist.
    """
    _check_namespace(namespace)
    if is_server(url):
        return _open_on_server(url, namespace, None, lease=60.0, ttl=None)
    return LmdbStore(url, _folder(url), namespace, None, lease=60.0, ttl=None, clock=time.time)


def list_namespaces(url: str) -> list[str]:
    """List the namespaces of an existing persistent store, sorted; raise as :func:`open_existing` does."""
    if is_server(url):
        address = read_address(url)
        with _requires_redis(url):
            from dedupcrawl.stores.redis.connection import list_server_namespaces  # noqa: PLC0415  # see below
        return list_server_namespaces(address)
    return namespaces_of(url, _folder(url))


def is_local(url: str) -> bool:
    """Whether a store is on this machine, so that opening it takes no noticeable time."""
    return url == MEMORY or url.startswith(LMDB)


def _open_on_server(url: str, namespace: str, configuration: str | None, **options: Any) -> Store:
    """Open a store on a server. The client library is imported only here: other stores start without it."""
    address = read_address(url)
    with _requires_redis(url):
        from dedupcrawl.stores.redis.namespace import OpenOptions  # noqa: PLC0415  # only stores on servers need it
        from dedupcrawl.stores.redis.sharded.store import ShardedStore  # noqa: PLC0415  # an optional dependency
        from dedupcrawl.stores.redis.store import RedisStore  # noqa: PLC0415  # the same
    kind = ShardedStore if address.layout == SHARDED else RedisStore
    return kind(address, namespace, configuration, OpenOptions(**options))


@contextmanager
def _requires_redis(url: str) -> Iterator[None]:
    """Raise ``MissingPackageError`` if the client library is not installed, or too old."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "redis":
            raise
        raise MissingPackageError(f"The store {hide_password(url)}", "redis", "redis") from error


def _folder(url: str) -> Path:
    folder = url.removeprefix(LMDB) if _is_text(url) and url.startswith(LMDB) else ""
    if not folder or "\0" in folder:
        memory = "" if url == MEMORY else '"memory://", '
        accepted = f'{memory}"lmdb://relative/folder", "lmdb:///absolute/folder", {URL_FORMS}'
        raise SettingError("store", hide_password_in(url), accepted)
    return Path(folder)


def _check_namespace(namespace: str) -> None:
    if not is_namespace(namespace):
        raise SettingError("namespace", namespace, f"1 to {NAMESPACE_BYTES} bytes of UTF-8, none of them zero")


def _is_text(value: object) -> bool:
    """Whether this is a string that UTF-8 can encode: one without lone surrogates."""
    return isinstance(value, str) and value.encode("utf-8", "replace").decode() == value
