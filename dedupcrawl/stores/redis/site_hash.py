"""The tables of sites on a server: one hash for a namespace, on one node of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from dedupcrawl.stores.site_tables import MAX_SITES, SiteTables, merge_site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from redis import Redis, RedisCluster

    from dedupcrawl.stores.redis.namespace import KeyNames

T = TypeVar("T")

SITES = "sites"  #: name of the key
AT_ONCE = 1000  #: tables in one command


class ClientSession(Protocol):
    """Calls the server, and translates its errors."""

    def with_client(self, work: Callable[[Redis | RedisCluster], T]) -> T:
        """Call ``work`` with the client of redis-py."""


class RedisSiteTables(SiteTables):
    """The tables of a namespace.

    Args:
        session: calls the server.
        names: keys of the namespace.
    """

    def __init__(self, session: ClientSession, names: KeyNames) -> None:
        self._session, self._key = session, names.key(SITES)

    def load_sites(self, sites: Sequence[str]) -> dict[str, bytes]:
        if not sites:
            return {}
        found = self._session.with_client(lambda client: client.hmget(self._key, [*map(_encoded, sites)]))
        values = cast("list[bytes | None]", found)
        return {site: value for site, value in zip(sites, values, strict=True) if value is not None}

    def merge_sites(self, added: Mapping[str, bytes]) -> dict[str, bytes]:
        found = self.load_sites([*added])
        changed = {site: merge_site(found.get(site), value) for site, value in added.items() if value}
        if changed:
            self._session.with_client(lambda client: self._put(client, changed))
        return found | changed

    def _put(self, client: Redis | RedisCluster, changed: Mapping[str, bytes]) -> None:
        rows: Any = {_encoded(site): value for site, value in changed.items()}
        client.hset(self._key, mapping=rows)
        excess = client.hlen(self._key) - MAX_SITES
        if excess > 0:
            victims = cast("list[bytes]", client.hrandfield(self._key, min(excess, AT_ONCE)))
            client.hdel(self._key, *cast("list[str]", victims))

    def sites(self) -> Iterator[tuple[str, bytes]]:
        rows: Any = self._session.with_client(lambda client: [*client.hscan_iter(self._key, count=AT_ONCE)])
        return ((site.decode("utf-8", "surrogatepass"), value) for site, value in rows)

    def forget_sites(self, sites: Iterable[str]) -> int:
        names: Any = [*map(_encoded, sites)]
        return int(self._session.with_client(lambda client: client.hdel(self._key, *names))) if names else 0

    def size(self) -> tuple[int, int]:
        """Return the number of tables, and their bytes."""
        lengths = [len(site) + len(value) for site, value in self.sites()]
        return len(lengths), sum(lengths)


def _encoded(site: str) -> str:
    # redis-py encodes text as UTF-8 and refuses lone surrogates.
    return cast("str", site.encode("utf-8", "surrogatepass"))
