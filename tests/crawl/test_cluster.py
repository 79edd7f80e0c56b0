"""Crawls that share a namespace on all nodes of a cluster: pages that arrive together are claimed together."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Config, Deduplicator, Page
from dedupcrawl.crawl.claims import ClaimManager
from dedupcrawl.crawl.items import ItemClaim, PageState, ResponseState, advance_all
from dedupcrawl.crawl.settings import Options
from dedupcrawl.crawl.stats import CrawlStats
from dedupcrawl.filing import RecordJudge
from dedupcrawl.stores.base import ClaimState
from dedupcrawl.stores.redis.sharded.protocol import ShardWriter
from dedupcrawl.stores.redis.sharded.store import ShardedStore
from tests.crawl.running import finish, start
from tests.crawl.site import fancy, plain, text
from tests.stores.factories import Opener
from tests.stores.sharding import unreachable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.site import Site
    from tests.stores.servers import Cluster

PAGES = 20


def over(nodes: Cluster, query: str, **settings: Any) -> dict[str, Any]:
    return {"DEDUP_STORE": nodes.url + query, "DEDUP_WAIT": 60, "CONCURRENT_REQUESTS": 8, **settings}


def test_two_workers_share_a_cluster(site: Site, tmp_path: Path, nodes: Cluster) -> None:
    urls = [site.put(f"/{side}/{n}", plain(f"T{n}", text(n))) for n in range(PAGES) for side in "ab"]
    settings = over(nodes, "?socket_timeout=120", DEDUP_LEASE=600, ITEM_PIPELINES={"tests.crawl.components.Slow": 300})
    runs = [start(tmp_path, ("Reader", {"urls": urls[::way]}), settings=settings) for way in (1, -1)]
    done = [finish(run)[0] for run in runs]

    titles = [item["title"] for crawled in done for item in crawled.items]
    assert sorted(titles) == sorted(f"T{n}" for n in range(PAGES))
    assert sum(crawled.dedup.get("errors/store", 0) for crawled in done) == 0
    with Deduplicator(nodes.url, "reader") as beside:
        info = beside.info()
    assert (info.pages, info.open, info.scraped) == (PAGES, 0, 0)

    copies = [site.put(f"/c/{n}", fancy(f"T{n}", text(n))) for n in range(PAGES)]
    last = finish(start(tmp_path, ("Reader", {"urls": copies}), settings=settings))[0]
    assert last.items == []


def test_two_workers_judge_fields_each_for_itself(site: Site, tmp_path: Path, nodes: Cluster) -> None:
    """Of each title and description one item is stored, whichever worker is first; of a description, all titles are."""
    shared = [text(number).replace("\n", " ") for number in range(PAGES // 2)]
    entries = [(title, body) for body in shared for title in ("Red chair", "Blue chair", "Green chair")]
    urls = [
        site.put(f"/{side}/{n}", f"<div class=entry><h2>{title}</h2><p>{body}</p></div>")
        for n, (title, body) in enumerate(entries)
        for side in "ab"
    ]
    own = {"DEDUP_ITEM_FIELDS": {"title": "exact", "body": {"minhash": {"threshold": 0.8}}}}
    slow = {"ITEM_PIPELINES": {"tests.crawl.components.Slow": 300}, "SLOW": 0.05}
    settings = over(nodes, "?socket_timeout=120", DEDUP_LEASE=600, **own, **slow)
    runs = [start(tmp_path, ("Lister", {"urls": urls[::way]}), settings=settings) for way in (1, -1)]
    done = [finish(run)[0] for run in runs]
    stored = sorted((item["title"], item["body"][0]) for crawled in done for item in crawled.items)
    assert stored == sorted(entries)
    assert sum(crawled.dedup["dropped"] for crawled in done) == 3 * len(entries)
    assert sum(crawled.dedup.get("errors/store", 0) for crawled in done) == 0

    last = finish(start(tmp_path, ("Lister", {"urls": urls[:4]}), settings=settings))[0]
    assert last.items == []


def test_a_node_fails_under_two_workers(site: Site, tmp_path: Path, nodes: Cluster) -> None:
    """Its replica takes over; no page is lost, and none is stored twice without a reason."""
    urls = [site.put(f"/{side}/{n}", plain(f"T{n}", text(n)), delay=0.05) for n in range(PAGES) for side in "ab"]
    # What is acknowledged is not lost.
    settings = over(nodes, "?wait_replicas=1", DEDUP_ON_STORE_ERROR="wait", CONCURRENT_REQUESTS=2)
    victim = nodes.primaries()[0]
    replica = nodes.replica_of(victim)

    once = threading.Lock()

    def fail(count: int) -> None:
        if count >= 30 and once.acquire(blocking=False):
            victim.kill()
            nodes.take_over(replica)

    site.on_request = fail
    runs = [start(tmp_path, ("Reader", {"urls": urls[::way]}), settings=settings) for way in (1, -1)]
    done = [finish(run)[0] for run in runs]
    site.on_request = None
    victim.start()
    nodes.wait(nodes.is_whole)

    kept = Counter(item["title"] for crawled in done for item in crawled.items)
    unchecked = sum(crawled.dedup.get("kept/unchecked", 0) for crawled in done)
    assert {*kept} == {f"T{n}" for n in range(PAGES)}
    assert kept.total() - PAGES <= unchecked


@pytest.mark.parametrize("is_buried", [False, True])
@pytest.mark.parametrize("together", [False, True])
def test_a_claim_that_was_filed_under_an_ended_lease_is_confirmed(
    nodes: Cluster, monkeypatch: pytest.MonkeyPatch, together: bool, is_buried: bool
) -> None:
    """A renewal finds that the lease has ended, while a page is on its way; the clocks here do not."""
    opener = Opener(nodes.url)
    dedup, other = Deduplicator(opener(), lease=3600.0), Deduplicator(opener())
    lapses: list[int] = []
    offer = ShardWriter.offer

    def overtaken(protocol: ShardWriter, offers: Any, committed: Any) -> Any:
        end = offer(protocol, offers, committed)
        if not lapses:
            lapses.append(dedup.lapses)
            opener.clock.now += 61
            dedup.renew()  # takes a new token, and does not know of the page
        return end

    async def work() -> None:
        claims = manager(dedup, nodes.url, takes_batches=together)
        claim = await judged(claims, Page.from_text(text(1), "http://a.example/"), together=together)
        assert claim.claim is not None
        assert claim.claim.id is not None
        assert (dedup.lease.lapses, dedup.lapses) == (0, lapses[0] + 1)
        assert not claims.is_sure(claim)
        if is_buried:
            assert other.add(text=text(1), url="http://b.example/").keep
        assert await claims.confirm(claim) is not is_buried
        assert claims.is_sure(claim) is not is_buried
        found = other.store.get(claim.claim.id)  # which does not return the claims of a token that has ended
        assert (found is None) is is_buried

    monkeypatch.setattr(ShardWriter, "offer", overtaken)
    try:
        asyncio.run(asyncio.wait_for(work(), 600))
    finally:
        opener.close()


@pytest.mark.parametrize("fails", ["", "node", "page"])
def test_pages_whose_items_are_durable_are_committed_with_the_next_pages(
    nodes: Cluster, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    monkeypatch.setattr("dedupcrawl.crawl.claims.COLLECT", 600)  # a commit waits so long for the next pages
    deferred: list[Any] = []
    commits: list[Any] = []
    commit = Deduplicator.commit

    def noted(dedup: Deduplicator, claims: Any) -> None:
        commits.append(claims)
        commit(dedup, claims)

    async def work() -> None:
        with Deduplicator(nodes.url) as dedup:
            claims = manager(
                dedup,
                nodes.url,
                takes_batches=True,
                defer_claims=lambda left, state: deferred.extend((each.record.url, state) for each in left),
                defer_records=lambda left: deferred.extend(each.url for each in left),
            )
            response = ResponseState()
            first = await claims.judge(Page.from_text(text(1), "http://a.example/"), response)
            response.output_ended.set()
            advance_all([first], PageState.OPEN, PageState.SCRAPED)
            await claims.settle([first])
            store = dedup.store
            assert isinstance(store, ShardedStore)
            assert [each.state for each in store.records()] == [ClaimState.OPEN]
            with monkeypatch.context() as patched:
                patched.setattr(Deduplicator, "commit", noted)
                if fails == "page":
                    patched.setattr(RecordJudge, "__call__", unjudged)
                if fails == "node":
                    patched.setattr(store.protocol.wire, "ask", unreachable)
                second = await judged(claims, Page.from_text(text(2), "http://b.example/"), together=True)
            assert second.verdict.reason == {"": None, "page": "error", "node": "store"}[fails]
            assert first.outcome.is_set
            if fails == "node":
                assert deferred == [("http://a.example/", PageState.COMMITTED), "http://a.example/"]
            else:
                assert deferred == []
                states = {each.record.url: each.state for each in store.records()}
                assert states["http://a.example/"] is ClaimState.COMMITTED
                assert fails or states["http://b.example/"] is ClaimState.OPEN
            assert len(commits) == bool(fails)  # it was in the call of the page; after an error, in another
            await asyncio.wait_for(claims.close(), 60)  # nothing is being committed any more

    asyncio.run(asyncio.wait_for(work(), 600))


async def judged(claims: ClaimManager, page: Page, *, together: bool) -> ItemClaim:
    """Judge a page by itself, or as one of those that are claimed in one call of the store."""
    if not together:
        return await claims.judge(page, ResponseState())
    [answer] = await claims.judge_many([(page, ResponseState())])
    return answer if isinstance(answer, ItemClaim) else await answer


def unjudged(judge: RecordJudge, candidates: Any) -> Any:
    raise ValueError("the judge failed")


def manager(dedup: Deduplicator, url: str, **parts: Any) -> ClaimManager:
    """The claims of a crawl, without a crawl; the store is called at once. ``parts``: of the client."""

    async def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    stats = SimpleNamespace(inc_value=lambda *_: None)
    crawler: Any = SimpleNamespace(
        crawling=True, engine=None, spider=None, spidercls=SimpleNamespace(name="a"), stats=stats
    )
    client: Any = SimpleNamespace(
        dedup=dedup,
        call=call,
        call_urgently=call,
        wait_for=call,
        close=partial(call, dedup.close),
        count_unchecked=lambda: None,
        times=None,
        outage=None,
        is_remote=True,
    )
    vars(client).update(parts)
    return ClaimManager(crawler, client, Options(url, "news", Config()), CrawlStats(crawler))
