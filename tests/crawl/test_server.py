"""Crawls that share a real server, which restarts under them."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from tests.crawl.running import REACTORS, finish, start, wait_for_lines
from tests.crawl.site import fancy, plain, text
from tests.stores.servers import Server, binaries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.crawl.site import Site

PAGES = 20


def over(server: Server, **settings: Any) -> dict[str, Any]:
    return {"DEDUP_STORE": server.url, "DEDUP_WAIT": 60, "CONCURRENT_REQUESTS": 4, **settings}


@pytest.mark.parametrize("reactor", REACTORS)
def test_two_workers_share_a_server(site: Site, tmp_path: Path, server: Server, reactor: str) -> None:
    urls = [site.put(f"/{side}/{n}", plain(f"T{n}", text(n))) for n in range(PAGES) for side in "ab"]
    settings = over(server, ITEM_PIPELINES={"tests.crawl.components.Slow": 300})
    runs = [start(tmp_path, ("Reader", {"urls": urls[::way]}), settings=settings, reactor=reactor) for way in (1, -1)]
    done = [finish(run)[0] for run in runs]

    titles = [item["title"] for crawled in done for item in crawled.items]
    assert sorted(titles) == sorted(f"T{n}" for n in range(PAGES))
    with Deduplicator(server.url, "reader") as beside:
        info = beside.info()
    assert (info.pages, info.open, info.scraped) == (PAGES, 0, 0)


def when_both_crawl(site: Site, events: Mapping[int, Callable[[], object]]) -> None:
    """Delay answers until both workers have sent a request; call functions at the n-th request after that."""
    both, numbers, turn = threading.Event(), count(1), threading.Lock()

    def note(_: int) -> None:
        if len({path[:2] for path in site.asked}) == 2:
            both.set()
        both.wait(600)
        with turn:  # what happens later does not happen while this still does
            event = events.get(next(numbers))
            if event is not None:
                event()

    site.on_request = note


@pytest.mark.parametrize("mode", ["keep", "wait"])
def test_a_server_restarts_under_two_workers(site: Site, tmp_path: Path, server: Server, mode: str) -> None:
    settings = over(server, DEDUP_ON_STORE_ERROR=mode)
    urls, runs = [], []

    def restart() -> None:
        wait_for_lines(tmp_path, "The store is away")
        server.start()

    when_both_crawl(site, {10: server.stop, 18: restart})
    for worker in "ab":
        own = [site.put(f"/{worker}/{n}", plain(f"T{n}", text(n)), delay=0.1) for n in range(PAGES)]
        runs.append(start(tmp_path, ("Reader", {"urls": own}), settings=settings))
        urls += own
    done = [finish(run)[0] for run in runs]
    site.on_request = None

    kept = Counter(item["title"] for crawled in done for item in crawled.items)
    assert set(kept) == {f"T{n}" for n in range(PAGES)}
    twice = sum(kept.values()) - PAGES
    unchecked = sum(crawled.dedup.get("unchecked/store", 0) for crawled in done)
    assert twice <= unchecked
    assert unchecked == 0 or mode == "keep"
    assert sum(crawled.dedup.get("outages", 0) for crawled in done) >= 1
    for crawled in done:
        # Who has come to the end of its pages before the server is back leaves its spool to the next crawl.
        assert len(crawled.lines("The store is back")) <= crawled.dedup.get("outages", 0)
        assert not crawled.lines("Traceback")

    copies = [site.put(f"/c/{n}", fancy(f"T{n}", text(n))) for n in range(PAGES)]
    last = finish(start(tmp_path, ("Reader", {"urls": [*urls, *copies]}), settings=settings))[0]
    assert last.items == []
    with Deduplicator(server.url, "reader") as beside:
        assert (beside.info().open, beside.info().scraped) == (0, 0)


@pytest.mark.parametrize("mode", ["keep", "wait", "close"])
def test_a_full_server_is_as_good_as_away(site: Site, tmp_path: Path, server: Server, mode: str) -> None:
    """It renews leases, but no page can be filed until there is room again."""

    def limit(size: str) -> Callable[[], object]:
        return lambda: server.client().config_set("maxmemory", size)

    def make_room() -> None:
        wait_for_lines(tmp_path, "The store is away")
        limit("0")()

    urls = [site.put(f"/{n}", plain(f"T{n}", text(n)), delay=0.1) for n in range(PAGES)]
    events = {6: limit("1mb"), 14: make_room} if mode != "close" else {6: limit("1mb")}
    site.on_request = lambda count: events.get(count, int)()
    settings = over(server, DEDUP_ON_STORE_ERROR=mode, DEDUP_CLOSE_PATIENCE=1, CONCURRENT_REQUESTS=2)
    crawled = finish(start(tmp_path, ("Reader", {"urls": urls}), settings=settings))[0]

    (away,) = crawled.lines("The store is away")
    assert "is full: its server has reached maxmemory" in away
    missed = crawled.dedup.get("unchecked/store", 0)
    assert crawled.dedup.get("spool/added", 0) >= missed  # and what was claimed before, and stored since
    assert len(crawled.items) == crawled.dedup["checked"] + missed
    if mode == "close":
        assert crawled.reason == "dedup_store_error"
        assert len(crawled.items) < PAGES
        (left,) = crawled.lines("stored pages could not be filed, they are left in", "WARNING")
        assert [str(path) in left for path in tmp_path.rglob("*.sqlite")] == [True]
        limit("0")()
    else:
        assert len(crawled.items) == PAGES
        assert (missed > 0) is (mode == "keep")
        filed = crawled.lines("Of the pages kept while the store was away")
        assert all(line.endswith(" 0 are refused by the store") for line in filed)
    site.on_request = None
    if mode != "wait":
        again = finish(start(tmp_path, ("Reader", {"urls": urls}), settings=settings))[0]
        assert len(again.items) == PAGES - len(crawled.items)


def test_what_was_claimed_on_a_server_that_lost_its_data_is_filed_again(server: Server) -> None:
    """Its id may be another page's by then."""
    with Deduplicator(server.url) as dedup, Deduplicator(server.url, wait=0) as other:
        claim = dedup.claim(text=text(1), url="https://a.example/1")
        with server.client() as client:
            client.flushall()
        other.add(text=text(2), url="https://b.example/2")
        filed = other.lookup("https://b.example/2")
        assert filed is not None
        assert other.store.lookup("https://b.example/2").id == claim.id  # type: ignore[union-attr]
        claim.commit()
        assert other.check(text=text(1), url="https://c.example/3").of == "https://a.example/1"
        assert other.info().pages == 2


def test_a_wrong_password_is_reported_in_a_sentence_without_it(site: Site, tmp_path: Path) -> None:
    server = Server(next(iter(binaries().values())), password="sesame").start()
    try:
        url = site.put("/a", plain("Ice", text(1)))
        store = server.url.replace("redis://", "redis://:opensaysme@")
        settings = over(server, DEDUP_STORE=store, DEDUP_ON_STORE_ERROR="wait", DEDUP_STORE_PATIENCE=300)
        running = start(tmp_path, ("Reader", {"urls": [url]}), settings=settings)
        assert running.wait() == 1
    finally:
        server.remove()
    (line,) = [line for line in running.output.splitlines() if "ERROR: dedupcrawl: " in line]
    assert "password" in line
    assert "opensaysme" not in running.output
    assert "Traceback" not in running.output
    assert site.asked == []
