"""A crawl whose server sends invalid replies: no article is lost, and the crawl ends as ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crawl.running import crawl
from tests.crawl.site import fancy, plain, text
from tests.stores.garbling import Garbler

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawl.site import Site
    from tests.stores.servers import Server

STORIES = 30


@pytest.mark.parametrize("policy", ["keep", "wait"])
@pytest.mark.parametrize("way", ["another value", "other bytes", "endless"])
def test_no_article_is_lost(site: Site, server: Server, tmp_path: Path, way: str, policy: str) -> None:
    pages = [
        (f"/{side}/{n}", make(f"T{n}", text(n))) for n in range(STORIES) for side, make in (("a", plain), ("b", fancy))
    ]
    urls = [site.put(*page) for page in pages]
    with Garbler(server.port, way, seed=1, every=8, after=40) as garbler:
        crawled = crawl(
            tmp_path,
            urls=urls,
            settings={
                "DEDUP_STORE": f"redis://127.0.0.1:{garbler.port}/0?socket_timeout=0.5",
                "DEDUP_ON_STORE_ERROR": policy,
                "DEDUP_LEASE": 3.0,
                "DEDUP_WAIT": 1.0,
            },
        )
        assert garbler.garbled
    assert crawled.reason == "finished"
    assert {item["title"] for item in crawled.items} == {f"T{n}" for n in range(STORIES)}
    assert len(crawled.items) + crawled.dedup.get("dropped", 0) == len(urls)
    assert crawled.dedup["store_errors"]
    assert not crawled.lines("Traceback")
    assert not crawled.lines("Could not judge")
