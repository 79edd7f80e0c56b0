"""The delivery of the backlog to a real server that falters: only what the server refuses stays in the spool."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from redis import RedisCluster
from scrapy import Spider
from scrapy.utils.test import get_crawler

from dedupcrawl import Deduplicator, Page
from dedupcrawl.config import Config
from dedupcrawl.crawl.items import PageState
from dedupcrawl.crawl.settings import Options
from dedupcrawl.crawl.stats import CrawlStats
from dedupcrawl.crawl.store_client import StoreClient
from dedupcrawl.stores.base import Record
from dedupcrawl.stores.redis.namespace import KeyNames
from tests.crawl.running import IN_TURN, finish, start
from tests.crawl.site import plain, text
from tests.faults.stutter import stopped
from tests.stores.proxy import Proxy, operation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.crawl.site import Site
    from tests.stores.servers import Cluster, Server

NAMESPACE = "news"
TIMEOUT = 1.0  #: seconds that a call waits for its reply
LIMIT = 600  #: seconds that a delivery may take
PAGES = 24


def url_of(port: int, timeout: float = TIMEOUT) -> str:
    return f"redis://127.0.0.1:{port}/0?socket_timeout={timeout}"


class Crawl:
    """The store client of a crawl, without the crawl."""

    def __init__(self, url: str, folder: Path, *, patience: float = LIMIT, lease: float = 60.0) -> None:
        crawler = get_crawler(Spider)
        options = Options(url, NAMESPACE, Config(lease=lease), spool=folder, close_patience=patience)
        self.stats = CrawlStats(crawler)
        self.client = StoreClient(crawler, options, self.stats)
        self.dedup = Deduplicator(url, NAMESPACE, config=options.config)
        self.client.connect(self.dedup)

    def add(self, numbers: range) -> list[Record]:
        """Add pages to the spool: they were stored while the store was away."""
        records = [record(self.dedup, n) for n in numbers]
        self.client.backlog.add_records(records)
        return records

    async def deliver(self) -> None:
        """Deliver the backlog, however often that takes."""
        await self.client.deliver_backlog()
        while self.client.backlog.is_pending or self.client.outage is not None:
            await asyncio.sleep(0.02)

    def run(self, *steps: Callable[[], Awaitable[object]]) -> None:
        """Take these steps, and close the client."""

        async def work() -> None:
            for step in steps:
                await step()
            await self.client.close()

        asyncio.run(asyncio.wait_for(work(), LIMIT))


def record(dedup: Deduplicator, number: int) -> Record:
    found = dedup.fingerprint(Page.from_text(text(number), f"https://a.example/{number}"))
    assert isinstance(found, Record)
    return found


def on_record(server: Server | Cluster) -> set[int]:
    """Return the numbers of the pages that the server has."""
    with Deduplicator(server.url, NAMESPACE) as beside:
        return {int(each.record.url.rpartition("/")[2]) for each in beside.store.records()}


def test_a_page_whose_reply_was_lost_is_filed_in_the_same_crawl(server: Server, tmp_path: Path) -> None:
    """The server executes a call, or does not, and answers the next one: that is no refusal."""
    with Proxy(server.port) as proxy:
        crawl = Crawl(url_of(proxy.port), tmp_path)
        crawl.add(range(PAGES))
        proxy.lose(operation("offer_again"), 5)
        crawl.run(crawl.deliver)
        assert proxy.lost == 5
    assert on_record(server) == {*range(PAGES)}
    assert (crawl.stats.counts["spool/filed"], crawl.stats.counts["spool/left"]) == (PAGES, 0)
    assert not [*tmp_path.rglob("*.sqlite")]


def test_a_node_of_a_cluster_that_gives_no_reply_refuses_nothing(nodes: Cluster, tmp_path: Path) -> None:
    """The node that keeps the leases replies: the store seems to be there."""
    crawl = Crawl(f"{nodes.url}?socket_timeout={TIMEOUT}", tmp_path, lease=6.0)  # calls wait for a node for a second
    crawl.add(range(PAGES))
    meta = RedisCluster.from_url(nodes.url.partition(",")[0].replace("-cluster", ""))
    leases: Any = meta.get_node_from_key(KeyNames(NAMESPACE).key("owners"))  # type: ignore[no-untyped-call]
    mute = next(node for node in nodes.primaries() if node.port != leases.port)
    meta.close()

    async def falter() -> None:
        with stopped([mute]):
            await crawl.client.deliver_backlog()
            assert crawl.client.backlog.is_pending
        await crawl.deliver()

    crawl.run(falter)
    assert on_record(nodes) == {*range(PAGES)}
    assert (crawl.stats.counts["spool/filed"], crawl.stats.counts["spool/left"]) == (PAGES, 0)


@pytest.mark.parametrize("how", ["lose", "drop"])
def test_the_state_of_a_claim_is_stored_in_the_end(server: Server, tmp_path: Path, how: str) -> None:
    """Of a claim that is committed one record is left, and none of one that is released."""
    with Proxy(server.port) as proxy:
        crawl = Crawl(url_of(proxy.port), tmp_path)
        kept, refused = (crawl.dedup.claim(text=text(n), url=f"https://a.example/{n}") for n in (1, 2))
        for name in ("commit", "release"):
            getattr(proxy, how)(operation(name), 1)

        async def settle() -> None:
            crawl.client.defer_claims([kept], PageState.COMMITTED)
            crawl.client.defer_claims([refused], PageState.RELEASED)
            await asyncio.sleep(0)
            await crawl.deliver()

        crawl.run(settle)
        assert proxy.lost == 2
    with Deduplicator(server.url, NAMESPACE) as beside:
        info = beside.info()
    assert (info.pages, info.open) == (1, 0)
    assert on_record(server) == {1}


def test_what_the_store_refuses_stays_for_the_next_crawl(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Another program has written under a key of one page."""
    crawl = Crawl(server.url, tmp_path)
    refused = crawl.add(range(PAGES))[3]
    buckets = KeyNames(NAMESPACE).key("buckets")
    with server.client() as client:
        client.hset(buckets, refused.keys[0], b"no id")
    crawl.run(crawl.deliver)
    counts = crawl.stats.counts
    assert (counts["spool/filed"], counts["spool/left"], counts["outages"]) == (PAGES - 1, 1, 0)
    (path,) = tmp_path.rglob("*.sqlite")
    assert f"1 stored pages could not be filed, they are left in {path}. Keep this file" in caplog.text

    with server.client() as client:
        client.hdel(buckets, refused.keys[0])
    again = Crawl(server.url, tmp_path)
    again.run(again.client.deliver_backlog)
    assert (again.stats.counts["spool/filed"], again.stats.counts["spool/left"]) == (1, 0)
    assert on_record(server) == {*range(PAGES)}


def test_a_page_is_judged_after_all_that_were_stored_before_it(server: Server, tmp_path: Path) -> None:
    crawl = Crawl(server.url, tmp_path)
    found: list[Record | None] = []

    async def judge() -> None:
        page = record(crawl.dedup, 1)
        crawl.client.defer_records([page])
        assert not crawl.client.takes_batches
        found.append(await crawl.client.call(crawl.dedup.lookup, page.url))

    crawl.run(judge)
    assert [each is not None for each in found] == [True]


def test_the_end_of_a_crawl_waits_for_a_store_that_is_away(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = Crawl(url_of(server.port), tmp_path)
    crawl.add(range(PAGES))

    async def close() -> None:
        with stopped([server]):
            ending = asyncio.create_task(crawl.client.close())
            while "The crawl ends when its stored pages are filed" not in caplog.text:
                await asyncio.sleep(0.02)
                assert not ending.done()
        await ending

    asyncio.run(asyncio.wait_for(close(), LIMIT))
    assert on_record(server) == {*range(PAGES)}
    assert crawl.stats.counts["spool/left"] == 0
    assert not [*tmp_path.rglob("*.sqlite")]


def test_the_end_of_a_crawl_waits_no_longer_than_its_patience(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = Crawl(url_of(server.port), tmp_path, patience=0.5)
    crawl.add(range(PAGES))
    with stopped([server]):
        crawl.run()
    (path,) = tmp_path.rglob("*.sqlite")
    assert f"{PAGES} stored pages could not be filed, they are left in {path}. Keep this file" in caplog.text
    assert crawl.stats.counts["spool/left"] == PAGES

    again = Crawl(server.url, tmp_path)
    again.run(again.client.deliver_backlog)
    assert on_record(server) == {*range(PAGES)}
    assert not path.exists()


def test_pages_wait_for_a_call_that_gets_no_reply(site: Site, server: Server, tmp_path: Path) -> None:
    """With "wait" no page is unchecked, although the server answers every other call."""
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n))) for n in range(4)]
    with Proxy(server.port) as proxy:
        proxy.lose(operation("offer"), 5)
        settings = {"DEDUP_STORE": url_of(proxy.port, 2.0), "DEDUP_ON_STORE_ERROR": "wait", **IN_TURN}
        crawled = finish(start(tmp_path, ("Reader", {"urls": urls}), settings=settings))[0]
        assert proxy.lost == 5
    assert crawled.dedup["checked"] == crawled.dedup["kept"] == 4
    assert "unchecked/store" not in crawled.dedup
