"""From the address of a server to a client of redis-py, and what the server must be like.

What a server, or the way to it, was short of: said in one sentence.

Which namespaces a server holds.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from redis import Redis, RedisCluster
from redis.backoff import NoBackoff
from redis.connection import Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

from dedupcrawl.errors import StoreError, StoreFullError, StoreUnreachableError
from dedupcrawl.stores.redis.namespace import META_PATTERN, namespace_of

if TYPE_CHECKING:
    from dedupcrawl.stores.redis.address import Address


MIN_VERSION = (6, 2)  #: of Redis; every Valkey is newer
logger = logging.getLogger(__name__)


def connect(address: Address) -> Redis | RedisCluster:
    """Make a client, and check the server behind it.

    Raises :class:`~dedupcrawl.errors.StoreError` for a server that is too old, and what redis-py raises for
    one that cannot be reached.
    """
    client = _client(address)
    try:
        about = _server_info(client)
        check_version(address.shown, about)
        if about.get("cluster_enabled"):  # what else it says of that, Valkey and Redis say differently
            client.close()
            return _cluster(address)
        _warn_of_eviction(address, about)
    except BaseException:
        client.close()
        raise
    return client


def _client(address: Address) -> Redis:
    """Make a client that repeats nothing by itself: only the caller knows what may be repeated."""
    options = {**address.options, "protocol": 2, "retry": Retry(NoBackoff(), 0)}
    if not address.sentinels:
        kind = (
            UnixDomainSocketConnection if "path" in options else SSLConnection if address.tls else Connection
        )
        return Redis(connection_pool=ConnectionPool(connection_class=kind, **options))
    quick = {name: options[name] for name in ("socket_timeout", "socket_connect_timeout")}
    secret = {name: value for name, value in options.items() if name.startswith("ssl_")}
    asked = {**quick, **secret, **address.sentinel_options, "ssl": address.tls}
    # redis-py has no types for its sentinels.
    sentinel: Any = Sentinel(address.sentinels, sentinel_kwargs=asked)  # type: ignore[no-untyped-call]
    pool: Any = SentinelConnectionPool(  # type: ignore[no-untyped-call]
        address.service, sentinel, ssl=address.tls, **options
    )
    return Redis(connection_pool=pool)


def _cluster(address: Address) -> RedisCluster:
    """Make a client that follows slots from node to node, and repeats nothing else by itself."""
    options = {name: value for name, value in address.options.items() if name != "db"}
    return RedisCluster(**options, ssl=address.tls, retry=Retry(NoBackoff(), 0))


def _server_info(client: Redis) -> dict[str, Any]:
    """Ask the server about itself; nothing where the user may not ask."""
    try:
        return client.info()
    except NoPermissionError:
        client.ping()
        return {}


def check_version(shown: str, about: dict[str, Any]) -> None:
    """Refuse a server whose scripts know too little."""
    said = str(about.get("redis_version", ""))
    version = re.match(r"(\d+)\.(\d+)", said)
    if version and (int(version[1]), int(version[2])) < MIN_VERSION:
        raise StoreError(
            f"The store {shown} cannot be opened: its server is Redis {said}, and Redis "
            f"{'.'.join(map(str, MIN_VERSION))} or Valkey is the oldest that will do."
        )


def _warn_of_eviction(address: Address, about: dict[str, Any]) -> None:
    policy, limit = str(about.get("maxmemory_policy", "")), int(about.get("maxmemory", 0) or 0)
    if limit and policy.startswith("allkeys"):
        logger.warning(
            "The store %(url)s may lose its records: its server has maxmemory-policy %(policy)s, which "
            "throws keys away when %(limit)d bytes are full; set it to noeviction",
            {"url": address.shown, "policy": policy, "limit": limit},
        )


def store_error(shown: str, error: Exception) -> StoreError:
    """Say in one sentence what a server, or the way to it, was short of."""
    error = _script_cause(error)
    reason = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, OutOfMemoryError):
        return StoreFullError(
            f"The store {shown} is full: its server has reached maxmemory; raise it, or prune the store."
        )
    for kinds, sentence in _MESSAGES:
        if isinstance(error, kinds):
            return StoreError(f"The store {shown} {sentence.format(reason=reason)}.")
    if isinstance(error, NoConnection | NoAnswer | OSError):
        return _unreachable(shown, reason)
    if isinstance(error, _TRANSIENT) or reason.startswith(("LOADING", "BUSY")):
        return StoreUnreachableError(f"The store {shown} cannot be used now: {reason}.")
    for code, sentence in _NO_WRITES.items():
        if reason.startswith(code):
            return StoreUnreachableError(f"The store {shown} takes no writes, for {sentence}: {reason}.")
    return StoreError(f"The store {shown} cannot be used: {reason}.")


def _script_cause(error: Exception) -> Exception:
    """Return what a command was refused for inside a script, where the server says that of the script."""
    if type(error) is not ResponseError:
        return error
    said = _IN_SCRIPT.sub("", str(error))
    for code, kind in _REFUSALS.items():
        if said.startswith(code):
            return kind(said.removeprefix(code).strip())
    return error if said == str(error) else ResponseError(said)


def _unreachable(shown: str, reason: str) -> StoreError:
    if "certificate" in reason.lower() or "ssl" in reason.lower():
        return StoreError(f"The store {shown} cannot be reached over TLS: {reason}.")
    return StoreUnreachableError(f"The store {shown} cannot be reached: {reason}.")


# Redis 6.2: "Error running script (call to f_…): @user_script:9: @user_script: 9: -OOM …"; later ones say
# "… script: on @user_script:9." behind it.
_IN_SCRIPT = re.compile(
    r"^Error running script .*?@user_script: \d+: -?|\s*script: \S* ?on @user_script:\d+\.$"
)
_REFUSALS: dict[str, type[ResponseError]] = {
    "OOM ": OutOfMemoryError,
    "READONLY ": ReadOnlyError,
    "NOPERM ": NoPermissionError,
    "ACL failure in script:": NoPermissionError,
    "The user executing the script ": NoPermissionError,
}
_TRANSIENT = (ClusterDownError, MasterDownError, RedisClusterException, TryAgainError)
_NO_WRITES = {"MISCONF": "its server cannot save", "NOREPLICAS": "its server lacks replicas"}
_MESSAGES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    ((AuthenticationError, AuthorizationError), "refuses this user or password: {reason}"),
    (NoPermissionError, "does not allow this user what is needed: {reason}"),
    (ReadOnlyError, "cannot be written: its server is a read-only replica; name the primary"),
    (MovedError, "is a cluster, which this user may not ask about: allow it +info, +cluster and +command"),
)


def list_server_namespaces(address: Address) -> list[str]:
    """List the namespaces of a server's database, sorted.

    Raises :class:`~dedupcrawl.errors.StoreError` when it cannot be asked.
    """
    try:
        client = connect(address)
        try:
            found = [namespace_of(key) for key in client.scan_iter(match=META_PATTERN, count=10_000)]
        finally:
            client.close()
    except (RedisError, OSError) as error:
        raise store_error(address.shown, error) from error
    return sorted({name for name in found if name is not None})
