"""The tables of sites on a server: one hash for a namespace, on one node of a cluster."""

from __future__ import annotations

from functools import partial
from hashlib import sha1
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.redis.replies import is_bytes, is_bytes_or_none, is_list, is_whole
from dedupcrawl.stores.site_tables import MAX_SITES, SiteTables, merge_site
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from redis import Redis, RedisCluster

    from dedupcrawl.stores.redis.namespace import KeyNames

T = TypeVar("T")

SITES = "sites"  #: name of the key
AT_ONCE = 1000  #: tables in one command
ATTEMPTS = 50  #: to merge tables that other workers change meanwhile; each attempt that fails is the success of another

#: Site, SHA-1 of the table that a worker has read, new table, and so on: puts each new table in place of the one that
#: was read. Returns the sites whose tables are others by now, and these.
_SWAP = """
local others = {}
for at = 1, #ARGV, 3 do
  local site, present = ARGV[at], redis.call('HGET', KEYS[1], ARGV[at]) or ''
  if redis.sha1hex(present) == ARGV[at + 1] then redis.call('HSET', KEYS[1], site, ARGV[at + 2])
  else others[#others + 1], others[#others + 2] = site, present end
end
return others
"""


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
        found: dict[str, bytes] = {}
        for some in chunked(sites, AT_ONCE):
            found |= self._session.with_client(partial(self._load, some))
        return found

    def _load(self, sites: Sequence[str], client: Redis | RedisCluster) -> dict[str, bytes]:
        reply: Any = client.hmget(self._key, [*map(_encoded, sites)])
        rows = zip(sites, _checked(is_list(reply, is_bytes_or_none), reply), strict=True)
        return {site: value for site, value in rows if value is not None}

    def merge_sites(self, added: Mapping[str, bytes]) -> dict[str, bytes]:
        """Do as the contract says. A table that another worker changes meanwhile is read and merged again.

        Raises:
            StoreError: the server failed. Counts of other tables in this call may be stored: added again, they are
                counted twice, which leaves out a line a few pages too early.
        """
        found = self.load_sites([*added])
        pending = {site: value for site, value in added.items() if value}
        for _ in range(ATTEMPTS):
            if not pending:
                return found
            changed = {site: merge_site(found.get(site), value) for site, value in pending.items()}
            others: dict[str, bytes] = {}
            for some in chunked(changed, AT_ONCE):
                others |= self._session.with_client(partial(self._swap, {site: changed[site] for site in some}, found))
            found |= changed | others
            pending = {site: pending[site] for site in others}
        raise StoreError(f"Other workers change the tables of {len(pending)} sites all the time.")

    def _swap(
        self, changed: Mapping[str, bytes], found: Mapping[str, bytes], client: Redis | RedisCluster
    ) -> dict[str, bytes]:
        """Store tables in place of those that were found; return those that are others by now."""
        names = {site.encode("utf-8", "surrogatepass"): site for site in changed}
        rows = [(name, _digest(found.get(site, b"")), changed[site]) for name, site in names.items()]
        arguments = cast("list[str]", [part for row in rows for part in row])
        reply: Any = client.eval(_SWAP, 1, self._key, *arguments)
        parts = _checked(is_list(reply, is_bytes) and len(reply) % 2 == 0, reply)
        excess = client.hlen(self._key) - MAX_SITES
        if excess > 0:
            victims = cast("list[str]", client.hrandfield(self._key, min(excess, AT_ONCE)))
            client.hdel(self._key, *victims)
        return {names[name]: value for name, value in zip(parts[::2], parts[1::2], strict=True)}

    def sites(self) -> Iterator[tuple[str, bytes]]:
        return iter(self._session.with_client(self._all))

    def _all(self, client: Redis | RedisCluster) -> list[tuple[str, bytes]]:
        rows: Any = [*client.hscan_iter(self._key, count=AT_ONCE)]
        _checked(all(is_bytes(part) for row in rows for part in row), rows)
        return [(site.decode("utf-8", "surrogatepass"), value) for site, value in rows]

    def forget_sites(self, sites: Iterable[str]) -> int:
        return self._session.with_client(partial(self._forget, [*map(_encoded, sites)]))

    def _forget(self, names: Sequence[str], client: Redis | RedisCluster) -> int:
        reply: Any = client.hdel(self._key, *names) if names else 0
        return int(_checked(is_whole(reply), reply))

    def size(self) -> tuple[int, int]:
        """Return the number of tables, and their bytes."""
        lengths = [len(site) + len(value) for site, value in self.sites()]
        return len(lengths), sum(lengths)


def _checked(is_reply: bool, reply: Any) -> Any:
    """Return a reply. ``ValueError`` means within ``with_client`` that it is none."""
    if not is_reply:
        raise ValueError(type(reply).__name__)
    return reply


def _digest(value: bytes) -> str:
    return sha1(value, usedforsecurity=False).hexdigest()


def _encoded(site: str) -> str:
    # redis-py encodes text as UTF-8 and refuses lone surrogates.
    return cast("str", site.encode("utf-8", "surrogatepass"))
