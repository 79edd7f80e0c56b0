"""Which namespaces a server holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from dedupcrawl.stores.redis.connecting import connect
from dedupcrawl.stores.redis.names import META_PATTERN, namespace_of
from dedupcrawl.stores.redis.sentences import told

if TYPE_CHECKING:
    from dedupcrawl.stores.redis.address import Address


def namespaces_on(address: Address) -> list[str]:
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
        raise told(address.shown, error) from error
    return sorted({name for name in found if name is not None})
