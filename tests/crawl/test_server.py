"""Crawls that share a real server, which restarts under them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from tests.crawl.running import REACTORS, finish, start
from tests.crawl.site import fancy, plain, text
from tests.crawl.test_outage import at
from tests.stores.servers import Server, binaries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.crawl.site import Site

PERSISTENT = ("--appendonly", "yes", "--appendfsync", "always")
PAGES = 20


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(next(iter(binaries().values())), PERSISTENT).start()
    try:
        yield server
    finally:
        server.remove()


def over(server: Server, **settings: Any) -> dict[str, Any]:
    return {"DEDUP_STORE": server.url, "DEDUP_WAIT": 60, "CONCURRENT_REQUESTS": 4, **settings}


@pytest.mark.parametrize("reactor", REACTORS)
def test_two_workers_share_a_server(site: Site, tmp_path: Path, server: Server, reactor: str) -> None:
    urls = [site.put(f"/{side}/{n}", plain(f"T{n}", text(n))) for n in range(PAGES) for side in "ab"]
    settings = over(server, ITEM_PIPELINES={"tests.crawl.components.Slow": 300})
    runs = [
        start(tmp_path, ("Reader", {"urls": urls[::way]}), settings=settings, reactor=reactor)
        for way in (1, -1)
    ]
    done = [finish(run)[0] for run in runs]

    titles = [item["title"] for crawled in done for item in crawled.items]
    assert sorted(titles) == sorted(f"T{n}" for n in range(PAGES))
    with Deduplicator(server.url, "reader") as beside:
        info = beside.info()
    assert (info.pages, info.open, info.scraped) == (PAGES, 0, 0)


@pytest.mark.parametrize("mode", ["keep", "wait"])
def test_a_server_restarts_under_two_workers(site: Site, tmp_path: Path, server: Server, mode: str) -> None:
    urls = [site.put(f"/a/{n}", plain(f"T{n}", text(n)), delay=0.1) for n in range(PAGES)]
    settings = over(server, DEDUP_ON_STORE_ERROR=mode)
    runs = [start(tmp_path, ("Reader", {"urls": urls[::way]}), settings=settings) for way in (1, -1)]
    at(site, _10=server.stop, _18=server.start)
    done = [finish(run)[0] for run in runs]
    site.on_request = None

    kept = Counter(item["title"] for crawled in done for item in crawled.items)
    assert set(kept) == {f"T{n}" for n in range(PAGES)}
    twice = sum(count - 1 for count in kept.values())
    unchecked = sum(crawled.dedup.get("unchecked/store", 0) for crawled in done)
    assert twice <= unchecked
    assert unchecked == 0 or mode == "keep"
    assert sum(crawled.dedup.get("outages", 0) for crawled in done) >= 1
    for crawled in done:
        assert crawled.dedup.get("outages", 0) == len(crawled.lines("The store is back"))
        assert not crawled.lines("Traceback")

    copies = [site.put(f"/b/{n}", fancy(f"T{n}", text(n))) for n in range(PAGES)]
    last = finish(start(tmp_path, ("Reader", {"urls": [*urls, *copies]}), settings=settings))[0]
    assert last.items == []
    with Deduplicator(server.url, "reader") as beside:
        assert (beside.info().open, beside.info().scraped) == (0, 0)
