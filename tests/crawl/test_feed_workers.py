"""Workers with feeds share a namespace: what one has scraped, and not stored yet, others neither keep nor wait for."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from tests.crawl.running import PATIENCE, crawl, finish, start, wait_for
from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.crawl.running import Running
    from tests.crawl.site import Site
    from tests.stores.servers import Server

PAGES = 5
LEASE = 10.0
ALL = [f"T{n}" for n in range(PAGES)]


def articles(site: Site, lay: Any) -> list[str]:
    return [site.put(f"/{lay.__name__}/{n}", lay(f"T{n}", text(n))) for n in range(PAGES)]


@pytest.fixture(params=["lmdb", "server"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    where = f"lmdb://{tmp_path}/store"
    if request.param == "server":
        server: Server = request.getfixturevalue("server")
        where = server.url
    return {"DEDUP_STORE": where, "DEDUP_LEASE": LEASE, "FEEDS": {"out.jl": {"format": "jsonlines"}}}


@contextmanager
def working(site: Site, folder: Path, shared: dict[str, Any]) -> Iterator[Running]:
    """A worker that has scraped all articles, and whose feed is open."""
    held, go_on = site.put("/held", plain("Held", text(99))), threading.Event()
    site.on_path = lambda path: go_on.wait(PATIENCE) if path == "/held" else None
    (folder / "first").mkdir()
    running = start(folder / "first", ("Reader", {"urls": [*articles(site, plain), held]}), settings=shared)
    try:
        wait_for(lambda: scraped(shared["DEDUP_STORE"]) == PAGES)
        yield running
    finally:
        go_on.set()


def scraped(store: str) -> int:
    try:
        with Deduplicator(store, "reader", lease=LEASE) as beside:
            return beside.info().scraped
    except OSError:
        return 0


def test_copies_of_what_a_living_worker_has_scraped_are_dropped(
    site: Site, tmp_path: Path, shared: dict[str, Any]
) -> None:
    with working(site, tmp_path, shared) as first:
        copies = articles(site, fancy)
        second = crawl(tmp_path, urls=copies, settings={**shared, "DEDUP_WAIT": PATIENCE})
        assert first.process.is_alive()
        assert second.items == []
        assert second.dedup["dropped"] == PAGES
    assert len(finish(first)[0].items) == PAGES + 1
    assert crawl(tmp_path, urls=copies, settings=shared).items == []


def test_what_a_killed_worker_has_scraped_comes_again(site: Site, tmp_path: Path, shared: dict[str, Any]) -> None:
    with working(site, tmp_path, shared) as first:
        first.process.kill()
        assert first.wait() == -signal.SIGKILL
    again = crawl(tmp_path, urls=articles(site, fancy), settings={**shared, "DEDUP_WAIT": PATIENCE})
    assert sorted(item["title"] for item in again.items) == ALL
    assert "unchecked/claimed" not in again.dedup


def test_whoever_does_not_wait_keeps_what_a_killed_worker_has_scraped(
    site: Site, tmp_path: Path, server: Server
) -> None:
    shared = {"DEDUP_STORE": server.url, "FEEDS": {"out.jl": {"format": "jsonlines"}}}
    with working(site, tmp_path, {**shared, "DEDUP_LEASE": 600}) as first:
        first.process.kill()
        assert first.wait() == -signal.SIGKILL
    again = crawl(tmp_path, urls=articles(site, fancy), settings={**shared, "DEDUP_LEASE": 600, "DEDUP_WAIT": 0.2})
    assert sorted(item["title"] for item in again.items) == ALL
    assert again.dedup["unchecked/claimed"] == PAGES
