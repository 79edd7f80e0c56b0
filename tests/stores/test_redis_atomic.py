"""The server does not roll back a failed script: so a script that fails has changed nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.errors import StoreError
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import BUCKET_CAP, FILE_ANYWAY
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.redis.namespace import KeyNames
from tests.stores.factories import START, Opener, error_message, file, key, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis import Redis

    from dedupcrawl.stores.base import Offer, Record, Store
    from tests.stores.servers import Server

KEYS = KeyNames("news")
DAY = 86400.0


def state(client: Redis) -> dict[bytes, Any]:
    names = sorted(client.scan_iter("dedupcrawl:*"))
    return {name: client.hgetall(name) if client.type(name) == b"hash" else client.get(name) for name in names}


def changes(store: Store, hot: int, claim: int) -> dict[str, Callable[[], object]]:
    """All operations that change something, with new, known, hot, and superseded pages."""
    now = time.time()
    return {
        "offer": lambda: store.offer(record("http://new", "new", seen=now)),
        "offer, hot": lambda: store.offer(record("http://hot", "hot", seen=now), FILE_ANYWAY),
        "add": lambda: store.add(record("http://added", "added", seen=now)),
        "add, hot": lambda: store.add(record("http://added/hot", "hot", seen=now), FILE_ANYWAY, [hot]),
        "commit": lambda: store.commit([claim], [hot]),
        "release": lambda: store.release([claim]),
        "forget": lambda: store.forget("http://hot/0"),
        "prune": lambda: store.prune(now + DAY),
    }


def trip(server: Server, layout: str, damage: Callable[[Redis], object]) -> tuple[set[str], set[str]]:
    """Damage a store, and try all operations that change something.

    Returns what failed, and what it said; asserts that what fails has changed nothing.
    """
    failed, said = set(), set()
    with open_store(f"{server.url}?layout={layout}", namespace="news", scheme={}) as store:
        now = time.time()
        ids = [file(store, f"http://hot/{n}", "hot", seen=now) for n in range(BUCKET_CAP + 1)]
        claim = file(store, "http://claimed", "claimed", commit=False, seen=now)
        with server.client() as client:
            sound = state(client)
            damage(client)
            for name, change in changes(store, ids[0], claim).items():
                before = state(client)
                trouble = error_message(change)
                if trouble:
                    failed.add(name)
                    said.add(trouble)
                    assert state(client) == before, (name, trouble)
            for each in client.scan_iter("dedupcrawl:*"):
                client.delete(each)
            for table, fields in sound.items():
                client.hset(table, mapping=fields)
        store.renew()
    assert all("\n" not in each for each in said)
    return failed, said


def visit(n: int) -> Record:
    """One of many pages: copies, revisits, and more pages of one bucket than are read."""
    name = "hot" if n % 5 == 0 else n % 37 if n % 2 else n
    return record(f"http://a/{n % 150}", name, n % 11 + 1000, seen=START + n)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ttl", [None, 70.0])
def test_pages_are_filed_together_as_they_are_one_by_one(server: Server, layout: str, ttl: float | None) -> None:
    """Claims that have ended and pages past their time to live are removed meanwhile."""
    found: dict[str, list[Offer]] = {}
    tables: dict[str, list[dict[Any, Any]]] = {}
    for way in ("together", "one by one"):
        opener = Opener(server.laid_out(layout))
        store, dead = opener(namespace=way, ttl=ttl), opener(namespace=way, lease=1.0)
        for n in range(9):
            assert dead.offer(visit(n), FILE_ANYWAY).id is not None
        found[way] = []
        for start in range(0, 400, 80):
            opener.clock.now = START + start + 5
            pages = [visit(n) for n in range(start, start + 80)]
            found[way] += store.add_many(pages) if way == "together" else map(store.add, pages)
        with server.client() as client:
            client.select(1)
            names = [name for name in sorted(client.scan_iter("*")) if f"{{{way}}}".encode() in name]
            kept = [name for name in names if not name.endswith((b":owners", b":meta"))]
            tables[way] = [
                *map(client.hgetall, kept),
                dict(enumerate(client.hmget(KeyNames(way).key("meta"), "last", "keys", "first", "shelves"))),
            ]
        for each in opener.opened:
            each.close()
    assert found["together"] == found["one by one"]
    assert {offer.id is None for offer in found["together"]} == {True, False}
    assert tables["together"] == tables["one by one"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("table", ["records", "claims", "buckets", "hot"])
def test_another_programs_key_is_detected_before_anything_is_changed(server: Server, table: str, layout: str) -> None:
    def put(client: Redis) -> None:
        client.delete(KEYS.key(table))
        client.set(KEYS.key(table), "mine")

    failed, said = trip(server, layout, put)
    assert "add, hot" in failed
    assert all(f"key {KEYS.key(table)!r} is another program's" in each for each in said)


@pytest.mark.parametrize("value", ["", "abc", "1.5", "nan", "inf", "-1", "1e300"])
def test_a_highest_id_that_makes_no_sense_is_named(server: Server, value: str) -> None:
    failed, said = trip(server, "hash", lambda client: client.hset(KEYS.key("meta"), "last", value))
    assert {"offer", "add", "offer, hot"} <= failed
    assert all(f"key {KEYS.key('meta')!r} has a value at last" in each for each in said)


def test_when_all_ids_are_used_up_nothing_is_filed(server: Server) -> None:
    with open_store(server.url, namespace="news", scheme={}) as store, server.client() as client:
        client.hset(KEYS.key("meta"), "last", 2**48 - 2)
        assert file(store, "http://a", "last") == 2**48 - 1
        before = state(client)
        for n in range(2):
            with pytest.raises(StoreError, match="has a value at last"):
                store.offer(record(f"http://b/{n}", "more"))
        assert state(client) == before


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("value", ["", "abc", "1.5", "nan", "9223372036854775807"])
def test_a_count_of_keys_that_makes_no_sense_is_named(server: Server, value: str, layout: str) -> None:
    failed, said = trip(server, layout, lambda client: client.hset(KEYS.key("meta"), "keys", value))
    assert {"offer", "add", "commit", "forget", "prune"} <= failed
    assert all(f"key {KEYS.key('meta')!r} has a value at keys" in each for each in said)


@pytest.mark.parametrize("value", ["", "abc", "0", "-1", "1.5", "nan", "1e300"])
def test_a_count_of_partitions_that_makes_no_sense_is_named(server: Server, value: str) -> None:
    failed, said = trip(server, "compact", lambda client: client.hset(KEYS.key("meta"), "shelves", value))
    assert {"offer", "add", "commit", "forget", "prune"} <= failed
    assert all(f"key {KEYS.key('meta')!r} has a value at shelves" in each for each in said)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("value", ["", "abc", "1.5"])
def test_a_count_of_a_hot_bucket_that_makes_no_sense_is_named(server: Server, value: str, layout: str) -> None:
    failed, said = trip(server, layout, lambda client: client.hset(KEYS.key("hot"), key("hot"), value))
    assert failed == {"offer, hot", "add, hot"}
    assert all(f"key {KEYS.key('hot')!r} has a value at {key('hot').hex()}" in each for each in said)


@pytest.mark.parametrize(("table", "field"), [("meta", "keys"), ("meta", "shelves"), ("hot", key("hot"))], ids=str)
@pytest.mark.parametrize("value", ["abc", "nan", "1.5", ""])
def test_counting_names_the_key_of_a_count_that_is_none(server: Server, table: str, field: Any, value: str) -> None:
    with open_store(f"{server.url}?layout=compact", namespace="news", scheme={}) as store:
        file(store, "http://a", "story")
        with server.client() as client:
            there = client.hget(KEYS.key(table), field)
            client.hset(KEYS.key(table), field, value)
            with pytest.raises(StoreError, match=KEYS.key(table)):
                store.info()
            client.hset(KEYS.key(table), field, there or "1")
        assert store.info().pages == 1


def test_partitions_that_another_programs_key_keeps_from_being_split_get_longer(server: Server) -> None:
    with open_store(f"{server.url}?layout=compact", namespace="news", scheme={}) as store, server.client() as client:
        client.set(KEYS.key("buckets:1"), "mine")
        ids = [file(store, f"http://a/{n}", n) for n in range(60)]
        assert [[hit.id for hit in store.find([key(n)])] for n in range(60)] == [[id] for id in ids]
        client.delete(KEYS.key("buckets:1"))
        ids += [file(store, f"http://a/{n}", n) for n in range(60, 70)]
        assert int(client.hget(KEYS.key("meta"), "shelves") or 0) > 1
        assert [[hit.id for hit in store.find([key(n)])] for n in range(70)] == [[id] for id in ids]
