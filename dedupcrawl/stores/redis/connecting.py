"""From the address of a server to a client of redis-py, and what the server must be like."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from redis import Redis, RedisCluster
from redis.backoff import NoBackoff
from redis.connection import Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import NoPermissionError
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

from dedupcrawl.errors import StoreError

if TYPE_CHECKING:
    from dedupcrawl.stores.redis.address import Address

OLDEST = (6, 2)  #: of Redis; every Valkey is newer
logger = logging.getLogger(__name__)


def connect(address: Address) -> Redis | RedisCluster:
    """Make a client, and check the server behind it.

    Raises :class:`~dedupcrawl.errors.StoreError` for a server that is too old, and what redis-py raises for
    one that cannot be reached.
    """
    client = _client(address)
    try:
        about = _about(client)
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


def _about(client: Redis) -> dict[str, Any]:
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
    if version and (int(version[1]), int(version[2])) < OLDEST:
        raise StoreError(
            f"The store {shown} cannot be opened: its server is Redis {said}, and Redis "
            f"{'.'.join(map(str, OLDEST))} or Valkey is the oldest that will do."
        )


def _warn_of_eviction(address: Address, about: dict[str, Any]) -> None:
    policy, limit = str(about.get("maxmemory_policy", "")), int(about.get("maxmemory", 0) or 0)
    if limit and policy.startswith("allkeys"):
        logger.warning(
            "The store %(url)s may lose its records: its server has maxmemory-policy %(policy)s, which "
            "throws keys away when %(limit)d bytes are full; set it to noeviction",
            {"url": address.shown, "policy": policy, "limit": limit},
        )
