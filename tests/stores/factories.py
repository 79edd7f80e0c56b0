"""Records, clocks and stores for the tests of stores."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import StoreError
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import KEY_BYTES, Record, Store, scheme_json, url_key
from dedupcrawl.stores.redis.address import SHARDED, is_server, read_address
from dedupcrawl.stores.redis.namespace import OpenOptions
from dedupcrawl.stores.redis.sharded.store import ShardedStore
from dedupcrawl.stores.redis.store import RedisStore
from tests.stores.servers import WAIT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

START = 1_700_000_000.0


def key(name: object) -> bytes:
    """A bucket key for this name."""
    return blake2b(str(name).encode(), digest_size=KEY_BYTES).digest()


def record(url: str, *names: object, seen: float = START, cluster: str = "") -> Record:
    """A page filed under the keys of these names and of its URL."""
    keys = (*map(key, names), url_key(url))
    return Record(url, keys, (blake2b(repr(url).encode(), digest_size=16).digest(), b""), seen, cluster)


def file(store: Store, url: str, *names: object, commit: bool = True, seen: float = START) -> int:
    """File a page whether or not copies of it are there."""
    offer = store.offer(record(url, *names, seen=seen), since=2**63 - 1)
    assert offer.id is not None
    if commit:
        assert store.commit([offer.id]) == 1
    return offer.id


@dataclass
class Clock:
    """A clock that the test sets."""

    now: float = START

    def __call__(self) -> float:
        return self.now


@dataclass
class Opener:
    """Opens stores of one kind, and closes them at the end."""

    url: str
    clock: Clock = field(default_factory=Clock)
    opened: list[Store] = field(default_factory=list)

    def __call__(
        self,
        *,
        namespace: str = "news",
        scheme: Mapping[str, object] | None = None,
        lease: float = 60.0,
        ttl: float | None = None,
        clock: Callable[[], float] | None = None,
    ) -> Store:
        scheme = {"exact": {"bits": 128}} if scheme is None else scheme
        clock = clock or self.clock
        if is_server(self.url):  # whose own clock would rule
            address = read_address(self.url)
            kind = ShardedStore if address.layout == SHARDED else RedisStore
            options = OpenOptions(lease=lease, ttl=ttl, clock=clock, server_clock=clock)
            store: Store = kind(address, namespace, scheme_json(scheme), options)
            if isinstance(store, ShardedStore):
                store.protocol.wire.patience = 2 * WAIT
        else:
            store = open_store(self.url, namespace=namespace, scheme=scheme, lease=lease, ttl=ttl, clock=clock)
        self.opened.append(store)
        return store

    def close(self) -> None:
        for store in self.opened:
            store.close()


class ShardedOpener(Opener):
    """Opens stores on a cluster."""

    def __call__(self, **options: Any) -> ShardedStore:
        store = super().__call__(**options)
        assert isinstance(store, ShardedStore)
        return store


def lmdb_url(folder: Path) -> str:
    return f"lmdb://{folder}"


def error_message(ask: Callable[[], object]) -> str | None:
    """Return the message of the error that a call raises; None if it raises none."""
    try:
        ask()
    except StoreError as error:
        return str(error)
    return None
