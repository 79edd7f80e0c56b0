"""The server of a store is gone, or answers no more, when a crawl ends: the crawl ends as usual, and loses nothing."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from tests.crawl.running import finish, start
from tests.crawl.site import plain, text
from tests.stores.servers import Server

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

PAGES = 6


def crawl(folder: Path, site: Site, server: Server, *extensions: str, reactor: str = "asyncio", **more: Any) -> Crawled:
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n))) for n in range(PAGES)]
    settings = {
        "DEDUP_STORE": f"{server.url}?socket_timeout=5",
        "DEDUP_CLOSE_PATIENCE": 0,
        "EXTENSIONS": {f"tests.crawl.components.{name}": 0 for name in extensions},
        **more,
    }
    return finish(start(folder, ("Reader", {"urls": urls}), settings=settings, reactor=reactor))[0]


@pytest.mark.parametrize(
    ("number", "commit", "reactor"),
    [
        (signal.SIGKILL, "item_scraped", "epoll"),
        (signal.SIGKILL, "feed_slot_closed", "asyncio"),
        (signal.SIGSTOP, "item_scraped", "none"),
        (signal.SIGSTOP, "feed_slot_closed", "asyncio"),
    ],
)
def test_a_crawl_whose_server_leaves_first_ends_as_usual(
    site: Site, tmp_path: Path, server: Server, number: signal.Signals, commit: str, reactor: str
) -> None:
    assert server.process is not None
    pid = server.process.pid
    feeds = {"FEEDS": {str(tmp_path / "out.jl"): {"format": "jsonlines"}}, "DEDUP_COMMIT": commit}
    leaves = {"SIGNAL_WHEN_IDLE": (pid, int(number))}
    first = crawl(tmp_path, site, server, "SignalWhenIdle", reactor=reactor, **leaves, **feeds)
    if number == signal.SIGSTOP:
        os.kill(pid, signal.SIGCONT)
    else:
        server.kill()
        server.start()

    titles = sorted(f"T{n}" for n in range(PAGES))
    assert first.reason == "finished"
    assert sorted(item["title"] for item in first.items) == titles
    assert len((tmp_path / "out.jl").read_text().splitlines()) == PAGES
    assert len(first.lines("cannot be reached")) == 1
    assert not first.lines("Traceback")
    assert "errors" not in first.dedup

    again = crawl(tmp_path, site, server)
    assert again.items == []  # all are known, also those whose commit did not arrive
    assert again.dedup["dropped"] == PAGES
    with Deduplicator(server.url, "reader") as beside:
        # With feeds, the claims of the first crawl end with their lease, beside the records from its spool.
        assert len({hit.record.url for hit in beside.store.records()}) == PAGES
        assert beside.info().open == 0


def test_statistics_that_cannot_be_published_do_not_keep_the_store_open(
    site: Site, tmp_path: Path, server: Server
) -> None:
    crawled = crawl(tmp_path, site, server, "UnreadableStats")
    assert crawled.reason == "finished"
    assert len(crawled.items) == PAGES
    assert len(crawled.lines("could not be published, the crawl goes on: the spider has no name", "WARNING")) == 1
    assert crawled.dedup["publish_errors"] == 1
    with server.client() as client:
        assert client.hlen("dedupcrawl:{reader}:owners") == 0  # the worker has left
