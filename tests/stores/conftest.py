from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.transactional import MemoryStore
from tests.stores.factories import Clock, Opener, ShardedOpener, lmdb_url
from tests.stores.servers import Server, binaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dedupcrawl.stores.base import Store
    from tests.stores.servers import Cluster

KINDS = ["memory", "lmdb", *(f"{name}-{layout}" for name in binaries() for layout in LAYOUTS), "cluster"]


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, Server]]:
    """The servers of all makes that this machine has, each started on first use."""
    started: dict[str, Server] = Servers()
    yield started
    for server in started.values():
        server.remove()


class Servers(dict[str, Server]):
    def __missing__(self, make: str) -> Server:
        self[make] = Server(binaries()[make]).start()
        return self[make]


@pytest.fixture(params=list(binaries()))
def server(request: pytest.FixtureRequest, servers: dict[str, Server]) -> Server:
    """An empty server."""
    return emptied(servers[request.param])


def emptied(server: Server) -> Server:
    with server.client() as client:
        client.flushall()
    return server


@pytest.fixture(params=KINDS)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens stores of each kind."""
    yield from opened(request, tmp_path)


def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Open stores of the kind of this request, and close them at the end."""
    make, _, layout = request.param.partition("-")
    if make == "cluster":
        opener = Opener(request.getfixturevalue("nodes").url)
    elif layout:
        server = emptied(request.getfixturevalue("servers")[make])
        opener = Opener(server.laid_out(layout))
    else:
        opener = Opener("memory://" if make == "memory" else lmdb_url(tmp_path / "store"))
    yield opener
    opener.close()


@pytest.fixture
def clocked(nodes: Cluster) -> Iterator[ShardedOpener]:
    """Opens stores on a cluster whose leases follow :func:`clock_of`."""
    opener = ShardedOpener(nodes.url)
    yield opener
    opener.close()


@pytest.fixture
def clock_of(clocked: ShardedOpener) -> Clock:
    return clocked.clock


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Opener]:
    """Opens store objects that share a folder."""
    opener = Opener(lmdb_url(tmp_path / "store"))
    yield opener
    opener.close()


@pytest.fixture
def store(opener: Opener) -> Store:
    return opener()


@pytest.fixture
def beside(opener: Opener, store: Store) -> Store:
    """Another object on the same store, as of another worker."""
    if not isinstance(store, MemoryStore):
        return opener()
    pytest.skip("a store in memory has one object")


@pytest.fixture
def clock(opener: Opener) -> Clock:
    return opener.clock


@pytest.fixture(params=list(binaries()))
def own(request: pytest.FixtureRequest) -> Iterator[Callable[..., Server]]:
    """Starts servers with the options of a test."""
    started: list[Server] = []

    def start(*options: str, **fields: Any) -> Server:
        started.append(Server(binaries()[request.param], options, **fields))
        return started[-1].start()

    yield start
    for server in started:
        server.remove()
