"""The statistics that workers publish: stored beside their leases, and validated when read."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from redis.exceptions import ResponseError

from dedupcrawl.stores import open_existing, open_store
from dedupcrawl.stores.redis.address import read_address
from dedupcrawl.stores.redis.namespace import OpenOptions
from dedupcrawl.stores.redis.store import RedisStore
from dedupcrawl.stores.workers import InvalidStatsError, WorkersInfo, WorkerStats
from tests.stores.factories import file, lmdb_url, record
from tests.stores.servers import cluster_port

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dedupcrawl.stores.base import Store
    from tests.stores.servers import Server

WORKERS = "dedupcrawl:{news}:workers"
OWNERS = "dedupcrawl:{news}:owners"
STATS = WorkerStats(
    host="crawl-7.example",
    process=4711,
    spider="reader",
    uptime=12.5,
    checked=100,
    kept=80,
    dropped=15,
    duplicates={"identical": 12, "near-duplicate": 3},
    related={"excerpt": 2},
    unchecked={"empty": 4},
    claims=7,
    interval=20.0,
    recent=50,
    calls=120,
    mean=1.25,
    worst=33.0,
)


def joined(server: Server, *, lease: float = 60.0, stats: WorkerStats | None = STATS, url: str = "") -> Store:
    store = open_store(url or server.url, namespace="news", scheme={}, lease=lease)
    if stats is not None:
        store.publish(stats)
        store.renew()
    return store


def seen(server: Server) -> WorkersInfo:
    with open_existing(server.url, "news") as beside:
        found = beside.workers()
    assert found is not None
    return found


def states(server: Server) -> list[str]:
    return [each.state for each in seen(server).workers]


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# -- coming and going ---------------------------------------------------------------------------


def test_a_worker_is_seen_while_it_runs_and_its_last_stats_afterwards(server: Server) -> None:
    store = joined(server, stats=None)
    assert seen(server).workers == ()
    store.publish(STATS)
    assert seen(server).workers == ()
    store.renew()
    (worker,) = seen(server).workers
    assert (worker.state, worker.stats) == ("here", STATS)
    assert 0 <= worker.age < 60
    store.publish(replace(STATS, checked=101))
    store.close()
    (worker,) = seen(server).workers
    assert worker.state == "done"
    assert worker.stats == replace(STATS, checked=101)


def test_a_worker_without_stats_leaves_nothing(server: Server) -> None:
    joined(server, stats=None).close()
    with server.client() as client:
        assert list(client.scan_iter("*")) == [b"dedupcrawl:{news}:meta"]


def test_a_worker_whose_lease_has_ended_is_gone_until_it_comes_back(server: Server) -> None:
    store = joined(server, lease=0.2)
    until(lambda: states(server) == ["gone"])
    with open_store(server.url, namespace="news", scheme={}, lease=60.0) as other:
        other.publish(replace(STATS, process=4712))
        other.renew()
        assert states(server) == ["gone", "here"]
    until(lambda: store.renew() == 0 and states(server)[0] == "here")
    store.close()
    assert states(server) == ["done", "done"]


def test_those_long_gone_make_room_when_another_comes(server: Server) -> None:
    address = read_address(server.url)
    past = time.time() - 7200
    old = RedisStore(address, "news", "{}", OpenOptions(lease=60.0, ttl=None, server_clock=lambda: past))
    old.publish(STATS)
    old.renew()
    assert states(server) == []
    joined(server).close()
    with server.client() as client:
        assert client.hlen(WORKERS) == 1
    old.close()


def test_the_stats_of_hundreds_of_ended_workers_are_not_kept(server: Server) -> None:
    store = joined(server)
    stamp = int(time.time() * 1000).to_bytes(6, "big")
    with server.client() as client:
        client.hset(WORKERS, mapping={f"ended{n:03}".encode(): stamp + STATS.to_json() for n in range(300)})
        assert len(seen(server).workers) == 301
        newer = joined(server)
        assert client.hlen(WORKERS) == 2
    assert states(server) == ["here", "here"]
    store.close()
    newer.close()


def test_prune_removes_the_stats_of_ended_workers_only(server: Server) -> None:
    living, dead = joined(server), joined(server, lease=0.1)
    joined(server).close()
    until(lambda: sorted(states(server)) == ["done", "gone", "here"])
    with open_existing(server.url, "news") as beside:
        beside.prune(0.0)
    assert states(server) == ["here"]
    dead.close()
    living.close()


def test_a_server_that_lost_its_data_hears_it_again(server: Server) -> None:
    store = joined(server)
    with server.client() as client:
        client.flushall()
    file(store, "http://a", "story")
    assert states(server) == ["here"]
    store.close()


def test_other_stores_publish_no_stats(tmp_path: Path) -> None:
    for url in ("memory://", lmdb_url(tmp_path / "store")):
        with open_store(url, namespace="news", scheme={}) as store:
            store.publish(STATS)
            assert store.renew() == 0
            assert store.workers() is None


# -- servers that are short of something --------------------------------------------------------


def test_a_full_server_still_hears_of_workers(own: Callable[..., Server]) -> None:
    server = own("--maxmemory-policy", "noeviction")
    store = joined(server, stats=None)
    id = file(store, "http://a", "story", commit=False)
    with server.client() as client:
        client.config_set("maxmemory", 1)
        with pytest.raises(ResponseError, match="maxmemory"):
            client.set("more", 1)
        store.publish(STATS)
        assert store.renew() == 1
        assert store.commit([id]) == 1
        assert seen(server).memory is not None
    assert states(server) == ["here"]
    store.close()


def test_a_user_with_few_rights_sees_the_workers_and_not_the_memory(server: Server) -> None:
    rights = ["~dedupcrawl:*", "+@hash", "+@connection", "+time", "+evalsha", "+eval"]
    with server.client() as client:
        client.acl_setuser("worker", enabled=True, reset=True, passwords=["+pw"])
        client.execute_command("ACL", "SETUSER", "worker", *rights)
    with joined(server, url=f"redis://worker:pw@127.0.0.1:{server.port}/0") as store:
        found = store.workers()
    assert found is not None
    assert [each.stats for each in found.workers] == [STATS]
    assert found.memory is None
    memory = seen(server).memory
    assert memory is not None
    assert memory.used > 100_000


def test_workers_of_a_cluster_are_seen(own: Callable[..., Server]) -> None:
    server = own("--cluster-enabled", "yes", port=cluster_port())
    with server.client() as client:
        client.execute_command("CLUSTER ADDSLOTS", *range(16384))
        until(lambda: "cluster_state:ok" in _text(client.execute_command("CLUSTER", "INFO")))
    with joined(server):
        found = seen(server)
    assert [each.stats for each in found.workers] == [STATS]
    assert found.memory is not None


def _text(answer: Any) -> str:
    if isinstance(answer, dict):
        return " ".join(f"{name}:{value}" for name, value in answer.items())
    return answer.decode() if isinstance(answer, bytes) else str(answer)


# -- values of others ---------------------------------------------------------------------------


def test_another_programs_key_is_named_and_does_no_harm(server: Server) -> None:
    with server.client() as client:
        client.set(WORKERS, "mine")
        with joined(server) as store:
            assert store.offer(record("http://a", "story")).id == 1
            assert store.renew() == 1
            found = seen(server)
            store.prune(0.0)
        assert client.get(WORKERS) == b"mine"
    assert found.workers == ()
    assert f"key '{WORKERS}' is another program's" in found.problem


def test_values_that_are_not_ours_are_named_and_the_others_shown(server: Server) -> None:
    stamp = int(time.time() * 1000).to_bytes(6, "big")
    with joined(server), server.client() as client:
        client.hset(WORKERS, mapping={b"x": b"", b"\xff" * 9: b"\xff" * 99, b"eight888": stamp + b"{}"})
        client.hset(OWNERS, b"eight888", b"no owner")
        found = seen(server)
    assert [each.stats for each in found.workers] == [STATS, None, None, None]
    assert f"key '{WORKERS}' has values at" in found.problem
    assert b"eight888".hex() in found.problem


def told(**changed: object) -> bytes:
    return orjson.dumps({**orjson.loads(STATS.to_json()), **changed}, option=orjson.OPT_NON_STR_KEYS)


WRONG = [
    b"",
    b"null",
    b"[]",
    b"{",
    b"\xff\xfe",
    b"[" * 5000,
    told()[:-1],
    told(v=2),
    told(more=1),
    orjson.dumps({"v": 1}),
    told(host=7),
    told(spider=None),
    told(process=-1),
    told(checked=True),
    told(checked=1.0),
    told(kept="80"),
    told(kept=2**53),
    told(uptime=-0.1),
    told(mean="fast"),
    told().replace(b"1.25", b"1e999"),
    told().replace(b"1.25", b"NaN"),
    told(duplicates=[]),
    told(duplicates={"identical": None}),
    told(duplicates={"\x1b[31m": 1}),
    told(unchecked={f"reason-{'abcdefghijkl'[n // 12]}{'abcdefghijkl'[n % 12]}": n for n in range(65)}),
    told(host="h" * 9000),
]


@pytest.mark.parametrize("said", WRONG, ids=lambda said: repr(said[:20]))
def test_invalid_stats_are_not_read(said: bytes) -> None:
    with pytest.raises(InvalidStatsError):
        WorkerStats.from_json(said)


def test_stats_are_read_again() -> None:
    assert WorkerStats.from_json(STATS.to_json()) == STATS
    none = replace(STATS, duplicates={}, related={}, unchecked={}, calls=0, mean=0.0, worst=0.0)
    assert WorkerStats.from_json(none.to_json()) == none


@pytest.mark.parametrize("sign", ["\x1b[2J", "\x07", "\r\n", "\u009b31m", "\u202e", "\x00", "\ud800"])
def test_names_cannot_steer_a_terminal(sign: str) -> None:
    stats = replace(STATS, host=f"ho{sign}st", spider=f"{sign}新闻")
    for each in (WorkerStats.from_json(stats.to_json()), WorkerStats.from_json(_unclean(stats))):
        assert (each.host + each.spider).isprintable()
        assert each.host.startswith("ho")
        assert each.spider.endswith("新闻")


def _unclean(stats: WorkerStats) -> bytes:
    """The statistics of a worker that does not clean its names."""
    names = {name: getattr(stats, name) for name in ("host", "spider")}
    plain = {name: text.encode("utf-8", "replace").decode() for name, text in names.items()}
    return told(**plain)


def test_rates_need_some_time() -> None:
    assert STATS.rate == 2.5
    for interval, recent in product((0.0, 0.1), (0, 5)):
        assert replace(STATS, interval=interval, recent=recent).rate is None
