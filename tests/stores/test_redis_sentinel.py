"""A store that sentinels name: it follows a failover, and a sentinel that is dead does not matter."""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from redis import Redis

from dedupcrawl.errors import StoreUnreachableError
from dedupcrawl.stores import open_existing, open_store
from tests.stores.factories import file, record
from tests.stores.servers import WAIT, Server, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PASSWORD = "hunter2"


@contextmanager
def sentinel(folder: Path, primary: Server) -> Iterator[int]:
    """Run a sentinel that watches a primary; it requires a password of its own."""
    port = free_port()
    config = folder / "sentinel.conf"
    config.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {folder}\nrequirepass {PASSWORD}\n"
        f"sentinel monitor news-db 127.0.0.1 {primary.port} 1\n"
        "sentinel down-after-milliseconds news-db 600000\nsentinel failover-timeout news-db 3000\n"
    )
    process = subprocess.Popen(
        [primary.binary, str(config), "--sentinel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield port
    finally:
        process.terminate()
        process.wait(WAIT)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def has_replica(primary: Server) -> bool:
    with primary.client() as client:
        about = client.info("replication")
        return bool(about["connected_slaves"]) and about["slave0"]["state"] == "online"


def records_at(server: Server) -> int:
    """Return how many records a server has; the marks of claims beside them do not count."""
    with server.client() as client:
        return sum(name.isdigit() for name in client.hkeys("dedupcrawl:{news}:records"))


def answers(action: Callable[[], object]) -> bool:
    try:
        action()
    except StoreUnreachableError:
        return False
    return True


def address(*ports: int) -> str:
    """The store's address by sentinels at these ports."""
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"redis+sentinel://{hosts}/news-db/0?sentinel_password={PASSWORD}"


@pytest.fixture
def watched(own: Callable[..., Server], tmp_path: Path) -> Iterator[tuple[Server, Server, int]]:
    """A primary, its replica, and the port of their sentinel, which has found the primary."""
    primary = own("--repl-diskless-sync-delay", "0")
    replica = own("--replicaof", "127.0.0.1", str(primary.port))
    until(lambda: has_replica(primary))
    with sentinel(tmp_path, primary) as port:
        until(lambda: answers(lambda: open_store(address(port), namespace="news", scheme={}).close()))
        yield primary, replica, port


def test_a_store_follows_a_failover(watched: tuple[Server, Server, int]) -> None:
    primary, replica, port = watched
    url = address(free_port(), port)
    with open_store(url, namespace="news", scheme={}, lease=60.0) as store:
        file(store, "http://a", "story")
        held = store.offer(record("http://open", "open", seen=time.time())).id
        assert held is not None
        until(lambda: records_at(replica) == 2)
        until(lambda: sentinel_knows_replica(port))
        primary.kill()
        notice_outages(port)
        assert not answers(store.renew)
        until(lambda: answers(store.renew))
        assert store.lookup("http://a") is not None
        assert store.commit([held]) == 1
        file(store, "http://b", "another story")
    with open_existing(replica.url, "news") as store:
        assert [hit.record.url for hit in store.records()] == ["http://a", "http://open", "http://b"]
    with pytest.raises(StoreUnreachableError, match=r"cannot be reached: .*No master found") as caught:
        open_existing(url.replace("news-db", "other"), "news")
    assert PASSWORD not in str(caught.value)


def test_a_primary_that_became_a_replica_is_left(watched: tuple[Server, Server, int]) -> None:
    primary, replica, port = watched
    with open_store(address(port), namespace="news", scheme={}, lease=60.0) as store:
        file(store, "http://a", "story")
        until(lambda: records_at(replica) == 1)
        until(lambda: sentinel_knows_replica(port))
        with Redis(port=port, password=PASSWORD) as client:
            client.execute_command("SENTINEL", "FAILOVER", "news-db")
        until(lambda: not is_primary(primary))
        until(lambda: answers(lambda: file(store, "http://b", "another story")))
    assert records_at(replica) == 2


def is_primary(server: Server) -> bool:
    with server.client() as client:
        return bool(client.info("replication")["role"] == "master")


def notice_outages(port: int) -> None:
    """Let the sentinel notice them soon. Before, a primary that is slow on a busy machine must not be replaced."""
    with Redis(port=port, password=PASSWORD) as client:
        client.execute_command("SENTINEL", "SET", "news-db", "down-after-milliseconds", "1000")


def sentinel_knows_replica(port: int) -> bool:
    with Redis(port=port, password=PASSWORD) as client:
        return bool(client.sentinel_slaves("news-db"))
