"""In a cluster redis-py finds the node, but only the store may repeat calls."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as NoConnection

from dedupcrawl.errors import StoreError
from dedupcrawl.stores import list_namespaces, open_store
from dedupcrawl.stores.base import FILE_ANYWAY
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.redis.store import RedisStore
from tests.stores.factories import file, key, record
from tests.stores.servers import WAIT, cluster_port

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.stores.servers import Server


def cluster(own: Callable[..., Server], size: int) -> list[Server]:
    """A cluster of ``size`` nodes, each with a part of the slots."""
    nodes = [own("--cluster-enabled", "yes", port=cluster_port()) for _ in range(size)]
    for n, node in enumerate(nodes):
        with node.client() as client:
            client.execute_command("CLUSTER ADDSLOTS", *range(16384 * n // size, 16384 * (n + 1) // size))
            client.execute_command("CLUSTER MEET", "127.0.0.1", nodes[0].port)
    deadline = time.monotonic() + WAIT
    while not all(map(is_whole, nodes)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return nodes


def is_whole(node: Server) -> bool:
    with node.client() as client:
        said = client.execute_command("CLUSTER", "INFO")
        return "cluster_state:ok" in (said.decode() if isinstance(said, bytes) else str(said))


def lose_an_answer(patch: pytest.MonkeyPatch) -> list[str]:
    """Execute the next script of the node, and lose its reply; return the calls of scripts that were made."""
    parse: Any = Redis.parse_response
    calls: list[str] = []

    def lossy(node: Any, connection: Any, command: str, **options: Any) -> Any:
        answer = parse(node, connection, command, **options)
        if command in {"EVALSHA", "EVAL"}:
            calls.append(command)
            if len(calls) == 1:
                raise NoConnection("Connection closed by server.")
        return answer

    patch.setattr(Redis, "parse_response", lossy)
    return calls


@pytest.mark.filterwarnings("error::DeprecationWarning:dedupcrawl")
def test_a_namespace_is_found_whichever_node_is_named(own: Callable[..., Server]) -> None:
    nodes = cluster(own, 2)
    names = [f"n{number}" for number in range(8)]  # some on either node
    for layout in LAYOUTS:
        for name in names:
            with open_store(f"{nodes[0].url}?layout={layout}", namespace=layout + name, scheme={}) as store:
                ids = [file(store, f"http://a/{n}", n, "all") for n in range(50)]
            with open_store(nodes[1].url, namespace=layout + name, scheme={}) as store:
                assert [hit.id for hit in store.find([key(7)])] == [ids[7]]
                assert store.forget("http://a/7") == 1
                assert store.prune(0.0) == 0
                assert (store.info().pages, store.info().bytes > 0) == (49, True)
                assert len(list(store.records())) == 49
    sizes = []
    for node in nodes:
        with node.client() as client:
            sizes.append(client.dbsize())
    assert all(sizes)
    for node in nodes:
        assert list_namespaces(node.url) == sorted(layout + name for layout in LAYOUTS for name in names)


@pytest.mark.filterwarnings("error::DeprecationWarning:dedupcrawl")
def test_what_is_filed_for_good_is_no_copy_of_itself_when_an_answer_is_lost(
    own: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    (server,) = cluster(own, 1)
    for n, since in enumerate((0, FILE_ANYWAY)):
        with open_store(server.url, namespace="news", scheme={}) as store:
            assert isinstance(store, RedisStore)
            store.add(record(f"http://warm/{n}", f"warm {n}", seen=time.time()))
            with monkeypatch.context() as patch:
                calls = lose_an_answer(patch)
                offer = store.add(record(f"http://a/{n}", f"story {n}", seen=time.time()), since)
            assert offer.id is not None
            assert offer.candidates == ()
            assert len(calls) >= 2
            assert len([hit for hit in store.records() if hit.record.url == f"http://a/{n}"]) == 1


def test_a_user_who_cannot_see_that_it_is_a_cluster_is_reported(own: Callable[..., Server]) -> None:
    nodes = cluster(own, 2)
    rights = ["~dedupcrawl:*", "+@hash", "+@connection", "+time", "+eval", "+evalsha"]
    refused = []
    for node in nodes:
        with node.client() as client:
            client.execute_command("ACL", "SETUSER", "few", "reset", "on", ">pw", *rights)
        try:
            open_store(f"redis://few:pw@127.0.0.1:{node.port}/0", namespace="news", scheme={}).close()
        except StoreError as error:
            refused.append(str(error))
        with node.client() as client:
            client.execute_command("ACL", "SETUSER", "few", "+info", "+cluster", "+command")
        with open_store(f"redis://few:pw@127.0.0.1:{node.port}/0", namespace="more", scheme={}) as store:
            assert store.renew() == 0
    assert len(refused) == 1  # the other node has the namespace
    assert "is a cluster, and this user may not query it: allow +info" in refused[0]
