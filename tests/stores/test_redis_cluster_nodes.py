"""A cluster of three primaries: dead seeds, one round trip for many calls, and slots that move to another node."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
from redis.connection import AbstractConnection
from redis.crc import key_slot

from dedupcrawl.errors import SettingError, StoreError, StoreUnreachableError
from dedupcrawl.stores import list_namespaces, open_store
from dedupcrawl.stores.redis import transports
from dedupcrawl.stores.redis.address import read_address
from dedupcrawl.stores.redis.store import RedisStore
from tests.stores.factories import file, record
from tests.stores.servers import Server, binaries, free_port
from tests.stores.test_redis_cluster import cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMEOUT = "--cluster-node-timeout", "3000"


@pytest.fixture(scope="module", params=list(binaries()))
def nodes(request: pytest.FixtureRequest) -> Iterator[list[Server]]:
    started: list[Server] = []

    def own(*options: str, **fields: Any) -> Server:
        started.append(Server(binaries()[request.param], [*options, *TIMEOUT], **fields))
        return started[-1].start()

    yield cluster(own, 3)
    for server in started:
        server.remove()


def url_of(*ports: int, query: str = "") -> str:
    return f"redis+cluster://{','.join(f'127.0.0.1:{port}' for port in ports)}/0{query}"


def opened(url: str, namespace: str = "news") -> RedisStore:
    store = open_store(url, namespace=namespace, scheme={})
    assert isinstance(store, RedisStore)
    return store


def some(first: int, count: int) -> list[Any]:
    return [record(f"http://a/{n}", f"story {n}", seen=time.time()) for n in range(first, first + count)]


def urls_in(store: RedisStore) -> list[str]:
    return [hit.record.url for hit in store.records()]


# -- seeds --------------------------------------------------------------------------------------


def test_seeds_are_read_from_the_url() -> None:
    address = read_address("rediss+cluster://me:pw@a:1,[::1]:2,b/0?layout=compact")
    assert address.seeds == (("a", 1), ("::1", 2), ("b", 6379))
    assert (address.tls, address.layout, address.options["username"]) == (True, "compact", "me")
    assert not {"db", "host", "port"} & address.options.keys()
    for url in ("redis+cluster://a/3", "redis+cluster://a/news", "redis+cluster://a,/0", "redis://a,b/0"):
        with pytest.raises(SettingError):
            read_address(url)


def test_a_seed_that_is_dead_does_not_matter(nodes: list[Server]) -> None:
    ports = [node.port for node in nodes]
    for dead in ([free_port(), *ports], [ports[0], free_port()], [free_port(), free_port(), ports[2]]):
        with opened(url_of(*dead), f"seeds{len(dead)}") as store:
            file(store, "http://a", "story")
            assert store.lookup("http://a") is not None
        assert f"seeds{len(dead)}" in list_namespaces(url_of(*dead))


def test_a_seed_that_never_answers_costs_its_timeout(nodes: list[Server]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        seeds = (deaf.getsockname()[1], nodes[1].port)
        with opened(url_of(*seeds, query="?socket_timeout=5"), "deaf") as store:
            file(store, "http://a", "story")
            assert urls_in(store) == ["http://a"]


def test_seeds_that_are_all_dead_are_reported() -> None:
    with pytest.raises(StoreUnreachableError, match=r"cannot be reached: .*[Rr]efused"):
        opened(url_of(free_port(), free_port()))


def test_a_single_server_is_no_cluster(server: Server) -> None:
    with pytest.raises(StoreError, match="is no cluster: write redis://"):
        opened(url_of(server.port))


def test_a_user_is_checked_by_every_seed(nodes: list[Server]) -> None:
    with pytest.raises(StoreError, match=r"redis\+cluster://me:\*\*\*@127.* refuses this user or password") as caught:
        opened(url_of(nodes[0].port).replace("//", "//me:hunter2@"))
    assert "hunter2" not in str(caught.value)


# -- round trips --------------------------------------------------------------------------------


class Sends:
    """Counts how often a client sends to a server: a pipeline is sent at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real: Any = AbstractConnection.send_packed_command

        def counted(connection: Any, command: Any, *args: Any, **kwargs: Any) -> Any:
            self.count += 1
            return real(connection, command, *args, **kwargs)

        directly = transports.exchange_directly

        def counted_too(*args: Any) -> list[Any]:
            self.count += 1
            return directly(*args)

        monkeypatch.setattr(AbstractConnection, "send_packed_command", counted)
        monkeypatch.setattr(transports, "exchange_directly", counted_too)

    def of(self, store: RedisStore, records: list[Any]) -> int:
        before = self.count
        assert all(offer.id is not None for offer in store.add_many(records))
        return self.count - before


def test_many_records_are_one_round_trip(nodes: list[Server], server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in (url_of(nodes[0].port), server.url):
        with opened(url, "trips") as store:
            sends = Sends(monkeypatch)
            sends.of(store, some(0, 1))  # loads the script
            assert sends.of(store, some(1, 200)) == 1
            assert sends.of(store, some(201, 200)) == 1
            assert store.restore(some(300, 150)) == 49
            assert urls_in(store) == [f"http://a/{n}" for n in range(450)]


def test_many_records_are_filed_once_after_the_connections_broke(nodes: list[Server]) -> None:
    with opened(url_of(nodes[0].port), "broken") as store:
        store.add_many(some(0, 10))
        for node in nodes:
            with node.client() as client:
                client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        store.add_many(some(10, 50))
        assert urls_in(store) == [f"http://a/{n}" for n in range(60)]


def test_a_server_that_forgot_the_script_costs_two_round_trips_more(
    nodes: list[Server], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url, here in ((url_of(nodes[0].port), nodes), (server.url, [server])):
        with opened(url, "forgot") as store:
            sends = Sends(monkeypatch)
            sends.of(store, some(0, 5))
            for each in here:
                with each.client() as client:
                    client.script_flush()
            assert sends.of(store, some(5, 100)) <= 5  # without, with the script and the rest, and two of the test
            assert urls_in(store) == [f"http://a/{n}" for n in range(105)]


# -- slots that move ----------------------------------------------------------------------------


def node_id(node: Server) -> str:
    with node.client() as client:
        found = client.execute_command("CLUSTER", "MYID")
        return found.decode() if isinstance(found, bytes) else str(found)


def set_slot(node: Server, slot: int, *state: str) -> None:
    with node.client() as client:
        client.execute_command("CLUSTER", "SETSLOT", slot, *state)


def owner_of(nodes: list[Server], slot: int) -> Server:
    for node in nodes:
        with node.client() as client:
            if client.execute_command("CLUSTER", "COUNTKEYSINSLOT", slot):
                return node
    raise LookupError(slot)


def begin_move(source: Server, target: Server, slot: int) -> None:
    set_slot(target, slot, "IMPORTING", node_id(source))
    set_slot(source, slot, "MIGRATING", node_id(target))
    with source.client() as client:
        keys = client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 1000)
        client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)


def end_move(nodes: list[Server], target: Server, slot: int) -> None:
    for node in (target, *nodes):
        set_slot(node, slot, "NODE", node_id(target))


def test_a_slot_that_moves_to_another_node_is_followed(nodes: list[Server], monkeypatch: pytest.MonkeyPatch) -> None:
    slot: int = key_slot(b"moving")  # the hash tag
    with opened(url_of(nodes[0].port), "moving") as store:
        store.add_many(some(0, 20))
        source = owner_of(nodes, slot)
        target = next(node for node in nodes if node is not source)
        begin_move(source, target, slot)
        # A script with several keys cannot run while its slot is between two nodes.
        with pytest.raises(StoreUnreachableError, match="cannot be used now: "):
            store.add_many(some(20, 5))
        end_move(nodes, target, slot)
        store.add_many(some(25, 100))
        sends = Sends(monkeypatch)
        assert sends.of(store, some(125, 100)) == 1
        begin_move(target, source, slot)
        end_move(nodes, source, slot)
        # All of them, which are redirected; one to the old node and the new, which gets the script; the others.
        assert sends.of(store, some(225, 100)) <= 6
        expected = [f"http://a/{n}" for n in (*range(20), *range(25, 325))]
        assert sorted(urls_in(store), key=lambda url: int(url[9:])) == expected


# -- users --------------------------------------------------------------------------------------

RIGHTS = ("+@hash", "+@connection", "+time", "+eval", "+evalsha")


def test_a_user_with_seeds_needs_no_info(nodes: list[Server]) -> None:
    for node in nodes:
        with node.client() as client:
            rights = ["~dedupcrawl:*", *RIGHTS, "+cluster", "+command"]
            client.execute_command("ACL", "SETUSER", "few", "reset", "on", ">hunter2", *rights)
    with opened(url_of(*(node.port for node in nodes)).replace("//", "//few:hunter2@"), "user") as store:
        store.add_many(some(0, 10))
        assert len(urls_in(store)) == 10
        assert "hunter2" not in store.url


def test_a_user_may_be_limited_to_one_namespace(server: Server) -> None:
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "one", "reset", "on", ">hunter2", "~dedupcrawl:{news}:*", *RIGHTS)
    url = server.url.replace("//", "//one:hunter2@")
    with opened(url) as store:
        file(store, "http://a", "story")
        assert store.forget("http://a") == 1
    with pytest.raises(StoreError, match="does not allow this user to do what is needed: "):
        opened(url, "other")
