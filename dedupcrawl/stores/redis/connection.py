"""Connect to a server, check that it is suitable, and translate the errors of redis-py to ``StoreError``."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from redis import Redis, RedisCluster, exceptions
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.connection import Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

from dedupcrawl.errors import StoreError, StoreFullError, StoreUnreachableError
from dedupcrawl.stores.redis.namespace import META_PATTERN, namespace_of
from dedupcrawl.stores.redis.replies import UNUSABLE, FilteringParser, filter_replies
from dedupcrawl.utils.redaction import remove_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.stores.redis.address import ConnectionOptions

MIN_VERSION = (6, 2)  #: of Redis; every Valkey is newer

# An error inside a script. Redis 6.2: "Error running script (call to f_…): @user_script:9: @user_script: 9:
# -OOM …"; later versions append "… script: on @user_script:9." or "… script: NAME, on @user_function:9.".
_IN_SCRIPT = re.compile(
    r"^Error running script .*?@user_script: \d+: -?|\s*script: \S* ?on @user_(?:script|function):\d+\.$"
)
_REFUSALS: dict[str, type[exceptions.ResponseError]] = {
    "OOM ": exceptions.OutOfMemoryError,
    "READONLY ": exceptions.ReadOnlyError,
    "NOPERM ": exceptions.NoPermissionError,
    "ACL failure in script:": exceptions.NoPermissionError,
    "The user executing the script ": exceptions.NoPermissionError,
}
#: What redis-py raises when a server or its network is the cause. ``RedisClusterException`` is no ``RedisError``.
SERVER_ERRORS = (exceptions.RedisError, exceptions.RedisClusterException, OSError)
#: These errors, and what redis-py raises if it cannot use a reply.
FAILURES = (*SERVER_ERRORS, *UNUSABLE)
_TRANSIENT = (
    exceptions.ClusterError,
    exceptions.MasterDownError,
    exceptions.RedisClusterException,
    exceptions.TryAgainError,
)
_NO_WRITES = {"MISCONF": "its server cannot save", "NOREPLICAS": "its server lacks replicas"}
_MESSAGES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    ((exceptions.AuthenticationError, exceptions.AuthorizationError), "refuses this user or password: {reason}"),
    (exceptions.NoPermissionError, "does not allow this user to do what is needed: {reason}"),
    (exceptions.ReadOnlyError, "cannot be written: its server is a read-only replica; name the primary"),
    (exceptions.MovedError, "is a cluster, and this user may not query it: allow +info, +cluster and +command"),
)

logger = logging.getLogger(__name__)


def connect(address: ConnectionOptions) -> Redis | RedisCluster:
    """Return a client, and check the server behind it. Errors of redis-py are not translated."""
    client: Redis | RedisCluster = _cluster(address) if address.seeds else _client(address)
    try:
        about = _server_info(client)
        check_version(address.shown, about)
        if isinstance(client, Redis) and about.get("cluster_enabled"):  # the field that Valkey and Redis share
            client.close()
            client = _cluster(address)
        _warn_of_eviction(address, about)
    except BaseException:
        client.close()
        raise
    return client


def _client(address: ConnectionOptions) -> Redis:
    """Return a client that retries nothing by itself: only the caller knows what may be repeated."""
    options = {**address.options, "protocol": 2, "retry": Retry(NoBackoff(), 0), "parser_class": FilteringParser}
    if not address.sentinels:
        kind = UnixDomainSocketConnection if "path" in options else SSLConnection if address.tls else Connection
        return Redis(connection_pool=ConnectionPool(connection_class=kind, **options))
    timeouts = {name: options[name] for name in ("socket_timeout", "socket_connect_timeout")}
    certificates = {name: value for name, value in options.items() if name.startswith("ssl_")}
    # Without the retries of redis-py, which ask a sentinel that is dead for seconds before the next one.
    sentinel_options = {**timeouts, **certificates, **address.sentinel_options, "ssl": address.tls}
    sentinel_options["retry"] = Retry(NoBackoff(), 0)
    # redis-py has no types for its sentinels.
    sentinel: Any = Sentinel(  # type: ignore[no-untyped-call]
        address.sentinels, sentinel_kwargs=sentinel_options
    )
    pool: Any = SentinelConnectionPool(  # type: ignore[no-untyped-call]
        address.service, sentinel, ssl=address.tls, **options
    )
    return Redis(connection_pool=pool)


def _cluster(address: ConnectionOptions) -> RedisCluster:
    """Return a client that follows slots from node to node, and retries nothing else by itself.

    One of the seeds must answer. It names the other nodes, so that seeds may go away later.
    """
    options = {name: value for name, value in address.options.items() if name not in {"db", "host", "port"}}
    seeds = address.seeds or ((address.options["host"], address.options["port"]),)
    nodes = [ClusterNode(*seed) for seed in seeds]  # type: ignore[no-untyped-call]
    options |= {"protocol": 2, "retry": Retry(NoBackoff(), 0), "redis_connect_func": filter_replies}
    return RedisCluster(startup_nodes=nodes, **options, ssl=address.tls)


def _server_info(client: Redis | RedisCluster) -> dict[str, Any]:
    """Return the result of ``INFO``, of one node of a cluster; an empty dict if the user may not call it."""
    try:
        if isinstance(client, RedisCluster):
            return client.info(target_nodes=client.get_default_node())  # type: ignore[no-untyped-call]
        return client.info()
    except exceptions.NoPermissionError:
        client.ping()
        return {}


def check_version(shown: str, about: dict[str, Any]) -> None:
    """Raise ``StoreError`` for a server whose scripting is too old; ``about`` is the result of ``INFO``."""
    text = str(about.get("redis_version", ""))
    version = re.match(r"(\d+)\.(\d+)", text)
    if version and (int(version[1]), int(version[2])) < MIN_VERSION:
        raise StoreError(
            f"The store {shown} cannot be opened: its server is Redis {text}; it must be Redis "
            f"{'.'.join(map(str, MIN_VERSION))} or newer, or Valkey."
        )


def _warn_of_eviction(address: ConnectionOptions, about: dict[str, Any]) -> None:
    policy, limit = str(about.get("maxmemory_policy", "")), int(about.get("maxmemory", 0) or 0)
    if limit and policy.startswith("allkeys"):
        logger.warning(
            "The store %(url)s may lose its records: its server has maxmemory-policy %(policy)s, which "
            "evicts keys when %(limit)d bytes are full; set it to noeviction",
            {"url": address.shown, "policy": policy, "limit": limit},
        )


def list_server_namespaces(address: ConnectionOptions) -> list[str]:
    """List the namespaces of a server's database, sorted."""
    try:
        client = connect(address)
        try:
            found = [namespace_of(key) for key in client.scan_iter(match=META_PATTERN, count=10_000)]
        finally:
            client.close()
    except FAILURES as error:
        raise store_error(address.shown, error, address.secrets) from error
    return sorted({name for name in found if name is not None})


def store_error(shown: str, error: Exception, secrets: Sequence[str] = ()) -> StoreError:
    """Translate an error of redis-py, an ``OSError`` or one of ``UNUSABLE`` to an error with a one-sentence message.

    ``secrets`` are removed from both errors. The result is a ``StoreFullError`` at maxmemory, a
    ``StoreUnreachableError`` where trying again later may help.
    """
    remove_secrets(error, secrets)
    error = _script_cause(_cluster_cause(error))
    reason = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, exceptions.OutOfMemoryError):
        return StoreFullError(
            f"The store {shown} is full: its server has reached maxmemory; raise it, or prune the store."
        )
    for kinds, message in _MESSAGES:
        if isinstance(error, kinds):
            return StoreError(f"The store {shown} {message.format(reason=reason)}.")
    if isinstance(error, exceptions.ConnectionError | exceptions.TimeoutError | OSError):
        return _unreachable(shown, reason)
    if isinstance(error, _TRANSIENT) or reason.startswith(("LOADING", "BUSY")):
        return StoreUnreachableError(f"The store {shown} cannot be used now: {reason}.")
    if isinstance(error, (exceptions.InvalidResponse, *UNUSABLE)):
        return StoreError(f"The store {shown} cannot be used: its server sends no valid reply of Redis ({reason}).")
    return _other_error(shown, reason)


def _other_error(shown: str, reason: str) -> StoreError:
    for code, cause in _NO_WRITES.items():
        if reason.startswith(code):
            return StoreUnreachableError(f"The store {shown} accepts no writes, since {cause}: {reason}.")
    if "cluster support disabled" in reason:
        return StoreError(f"The store {shown} is no cluster: write redis:// or rediss:// in place of …+cluster://.")
    return StoreError(f"The store {shown} cannot be used: {reason}.")


def _cluster_cause(error: Exception) -> Exception:
    """Return why redis-py could connect to no node of a cluster, of the last node that it tried."""
    if type(error) is not exceptions.RedisClusterException:
        return error
    cause = error.__cause__ or error.__context__
    return _cluster_cause(cause) if isinstance(cause, Exception) else error


def _script_cause(error: Exception) -> Exception:
    """Return the error of a command inside a script, if the server reports it as an error of the script."""
    if type(error) is not exceptions.ResponseError:
        return error
    text = _IN_SCRIPT.sub("", str(error))
    for code, kind in _REFUSALS.items():
        if text.startswith(code):
            return kind(text.removeprefix(code).strip())
    return error if text == str(error) else exceptions.ResponseError(text)


def _unreachable(shown: str, reason: str) -> StoreError:
    if "certificate" in reason.lower() or "ssl" in reason.lower():
        return StoreError(f"The store {shown} cannot be reached over TLS: {reason}.")
    return StoreUnreachableError(f"The store {shown} cannot be reached: {reason}.")
