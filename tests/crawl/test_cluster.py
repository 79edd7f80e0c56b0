"""Crawls that share a namespace on all nodes of a cluster: pages that arrive together are claimed together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from tests.crawl.running import REACTORS, finish, start
from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawl.site import Site
    from tests.stores.servers import Cluster

PAGES = 20


def over(nodes: Cluster, **settings: Any) -> dict[str, Any]:
    return {"DEDUP_STORE": nodes.url, "DEDUP_WAIT": 60, "CONCURRENT_REQUESTS": 8, **settings}


@pytest.mark.parametrize("reactor", REACTORS)
def test_two_workers_share_a_cluster(site: Site, tmp_path: Path, nodes: Cluster, reactor: str) -> None:
    urls = [site.put(f"/{side}/{n}", plain(f"T{n}", text(n))) for n in range(PAGES) for side in "ab"]
    settings = over(nodes, ITEM_PIPELINES={"tests.crawl.components.Slow": 300})
    runs = [start(tmp_path, ("Reader", {"urls": urls[::way]}), settings=settings, reactor=reactor) for way in (1, -1)]
    done = [finish(run)[0] for run in runs]

    titles = [item["title"] for crawled in done for item in crawled.items]
    assert sorted(titles) == sorted(f"T{n}" for n in range(PAGES))
    assert sum(crawled.dedup.get("errors/store", 0) for crawled in done) == 0
    with Deduplicator(nodes.url, "reader") as beside:
        info = beside.info()
    assert (info.pages, info.open, info.scraped) == (PAGES, 0, 0)

    copies = [site.put(f"/c/{n}", fancy(f"T{n}", text(n))) for n in range(PAGES)]
    last = finish(start(tmp_path, ("Reader", {"urls": copies}), settings=settings, reactor=reactor))[0]
    assert last.items == []


def test_a_node_fails_under_two_workers(site: Site, tmp_path: Path, nodes: Cluster) -> None:
    """Its replica takes over; no page is lost, and none is stored twice without a reason."""
    urls = [site.put(f"/{side}/{n}", plain(f"T{n}", text(n)), delay=0.05) for n in range(PAGES) for side in "ab"]
    settings = over(nodes, DEDUP_ON_STORE_ERROR="wait", CONCURRENT_REQUESTS=2)
    settings["DEDUP_STORE"] += "?wait_replicas=1"  # what is acknowledged is not lost
    victim = nodes.primaries()[0]
    site.on_request = lambda count: victim.kill() if count == 30 else None
    runs = [start(tmp_path, ("Reader", {"urls": urls[::way]}), settings=settings) for way in (1, -1)]
    done = [finish(run)[0] for run in runs]
    site.on_request = None
    nodes.wait(lambda: len(nodes.primaries()) == 3)
    victim.start()
    nodes.wait(nodes.is_whole)

    kept = Counter(item["title"] for crawled in done for item in crawled.items)
    unchecked = sum(crawled.dedup.get("kept/unchecked", 0) for crawled in done)
    assert {*kept} == {f"T{n}" for n in range(PAGES)}
    assert kept.total() - PAGES <= unchecked
