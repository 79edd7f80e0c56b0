"""Damaged records: maintenance skips and names them, and other pages are filed, found and removed as before."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.cli.store import claims_text
from dedupcrawl.errors import DamageError
from dedupcrawl.stores.base import FILE_ANYWAY, Store, raise_damage
from dedupcrawl.stores.lmdb_environment import LmdbEnvironment, acquire_environment, release_environment
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.redis.namespace import KeyNames
from dedupcrawl.stores.transfer import export_records, read_header
from tests.stores.conftest import KINDS, opened
from tests.stores.factories import START, Opener, key, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redis import Redis

    from tests.stores.servers import Server

KEYS = KeyNames("news")
PAGES = 40
SEEDS = range(40)


@dataclass
class Values:
    """The stored values of records, whatever the kind of the store."""

    opener: Opener
    server: Server | None

    def change(self, id: int, change: Callable[[bytes], bytes]) -> None:
        """Change the stored bytes of a record."""
        self.put("records", id, change(self.get("records", id)))

    def get(self, name: str, id: int) -> bytes:
        """Read a value of a table."""
        if self.server is not None:
            with self.client() as client:
                return client.hget(KEYS.key(name), str(id)) or b""
        with self.environment() as environment:
            table = environment.table(f"news/{name}")
            return environment.read(lambda transaction: transaction.get(packed(id), b"", table))

    def put(self, name: str, id: int, value: bytes | None) -> None:
        """Write a value into a table; None removes it."""
        if self.server is not None:
            with self.client() as client:
                if value is None:
                    client.hdel(KEYS.key(name), str(id))
                else:
                    client.hset(KEYS.key(name), str(id), value)
        elif value is not None:
            with self.environment() as environment:
                table = environment.table(f"news/{name}")
                environment.write(lambda transaction: transaction.put(packed(id), value, db=table))

    @contextmanager
    def environment(self) -> Iterator[LmdbEnvironment]:
        """The environment that the store object has open."""
        environment = acquire_environment(Path(self.opener.url.removeprefix("lmdb://")))
        try:
            yield environment
        finally:
            release_environment(environment)

    def client(self) -> Redis:
        assert self.server is not None
        client = self.server.client()
        client.select(LAYOUTS.index("compact" if "compact" in self.opener.url else "hash"))
        return client


def packed(id: int) -> bytes:
    return id.to_bytes(6, "big")


# Nothing damages a dict, and MemoryStore shares its rules with LMDB; test_sharded.py damages the values of a cluster.
@pytest.fixture(params=[kind for kind in KINDS if kind not in {"memory", "cluster"}])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    yield from opened(request, tmp_path)


@pytest.fixture
def values(opener: Opener, request: pytest.FixtureRequest) -> Values:
    make = request.node.callspec.params["opener"].partition("-")
    return Values(opener, request.getfixturevalue("servers")[make[0]] if make[2] else None)


def damaged_at_random(random: Random, value: bytes) -> bytes:
    """Flip bits, overwrite a run of bytes, cut the value, or replace it."""
    changed = bytearray(value)
    kind = random.randrange(4)
    if kind == 0:
        for _ in range(random.randint(1, 3)):
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    elif kind == 1:
        start = random.randrange(len(changed))
        run = random.randbytes(random.randint(1, 16))
        changed[start : start + len(run)] = run
    elif kind == 2:
        del changed[random.randrange(len(changed)) :]
    else:
        changed[:] = random.randbytes(random.randrange(80))
    return bytes(changed)


def filled(store: Store) -> None:
    for n in range(PAGES):
        store.add(record(f"http://a/{n}", n, seen=START + n), FILE_ANYWAY)


@pytest.mark.parametrize("seed", SEEDS)
def test_maintenance_ends_whatever_bytes_are_damaged(opener: Opener, values: Values, tmp_path: Path, seed: int) -> None:
    store = opener()
    filled(store)
    random = Random(seed)
    damaged = set(random.sample(range(1, PAGES + 1), random.randint(1, 6)))
    for id in damaged:
        values.change(id, lambda value: damaged_at_random(random, value))
    errors: list[DamageError] = []
    found = {hit.id for hit in store.records(errors.append)}
    assert found >= {*range(1, PAGES + 1)} - damaged
    assert len(found) + len(errors) == PAGES
    path = tmp_path / "export"
    assert export_records(store, path, on_damage=lambda _: None) == len(found)
    assert read_header(path).records == len(found)
    for n in range(PAGES):
        forgotten = store.forget(f"http://a/{n}", errors.append) if n % 2 else 0
        assert forgotten == n % 2 or n + 1 in damaged
    store.prune(START + PAGES, errors.append)
    assert {hit.id for hit in store.records(lambda _: None)} <= damaged
    assert store.info().pages <= len(damaged)
    assert store.add(record("http://b", "new")).id is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_oldest_records_do_not_stop_the_time_to_live(opener: Opener, values: Values, seed: int) -> None:
    store = opener(ttl=100.0)
    filled(store)
    random = Random(seed)
    for id in range(1, random.randint(2, 8)):
        values.change(id, lambda value: damaged_at_random(random, value))
    for n in range(200):
        opener.clock.now += 10
        store.add(record(f"http://b/{n}", f"b{n}", seen=opener.clock.now), FILE_ANYWAY)
    assert store.info().pages <= 12 + 2


def test_each_damaged_record_is_named_and_strict_stops(opener: Opener, values: Values, tmp_path: Path) -> None:
    store = opener()
    filled(store)
    for id in (3, 7):
        values.change(id, lambda _: b"junk")
    for work in (
        lambda on_damage: list(store.records(on_damage)),
        lambda on_damage: export_records(store, tmp_path / "export", on_damage=on_damage),
        lambda on_damage: store.prune(START - 1, on_damage),
    ):
        errors: list[DamageError] = []
        work(errors.append)
        assert len(errors) == 2
        assert "3" in str(errors[0])
        assert "7" in str(errors[1])
        with pytest.raises(DamageError):
            work(raise_damage)
    errors = []
    assert store.forget("http://a/2", errors.append) == 0
    assert len(errors) == 1
    assert store.prune(START + PAGES, lambda _: None) == PAGES - 2


def test_a_damaged_url_is_named_by_forget(opener: Opener, values: Values) -> None:
    store = opener()
    filled(store)
    values.change(3, lambda value: value[:-3] + bytes([value[-3] ^ 1]) + value[-2:])
    errors: list[DamageError] = []
    assert store.forget("http://a/2", errors.append) == 0
    assert len(errors) == 1
    assert store.forget("http://a/3", errors.append) == 1
    assert len(errors) == 1


def test_a_dropped_record_leaves_nothing_behind_that_hides_others(opener: Opener, values: Values) -> None:
    """Its keys were not known, so its id is left in the buckets until an offer meets it there."""
    store = opener(ttl=100.0)
    store.add(record("http://a/1", "story"), FILE_ANYWAY)
    values.change(1, lambda value: value[:20])
    opener.clock.now += 200
    for n in range(3):
        store.add(record(f"http://b/{n}", f"b{n}", seen=opener.clock.now - 150), FILE_ANYWAY)
    assert store.get(1) is None
    again = store.add(record("http://c/1", "story", seen=opener.clock.now))
    assert again.id is not None
    assert [hit.id for hit in store.find([key("story")])] == [again.id]


def test_a_dead_claim_with_a_damaged_record_does_not_stop_offers(
    opener: Opener, values: Values, store: Store, beside: Store
) -> None:
    id = beside.offer(record("http://a/1", "story")).id
    assert id is not None
    values.change(id, lambda value: value[:31] + b"\xff" * 5 + value[36:])
    opener.clock.now += 61
    assert store.offer(record("http://b/1", "story")).id is not None


@pytest.mark.parametrize("value", [b"", b"junk", b"x" * 17, b"x" * 21])
def test_a_damaged_claim_stops_no_maintenance(opener: Opener, store: Store, values: Values, value: bytes) -> None:
    filled(store)
    id = store.offer(record("http://open", "open")).id
    assert id is not None
    values.put("claims", id, value)
    errors: list[DamageError] = []
    assert len(list(store.records(errors.append))) == PAGES
    assert store.info().open == 1
    assert store.info().damaged_claims == (str(id),)
    assert claims_text(store.info()).endswith(f"; not readable: {id}")
    assert store.forget("http://a/1", errors.append) == 1
    assert PAGES - 1 <= store.prune(START + PAGES, errors.append) <= PAGES
    values.put("claims", id, None)
    assert store.info().damaged_claims == ()
