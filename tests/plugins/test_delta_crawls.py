"""scrapy-deltafetch and scrapy-crawl-once do not start with current versions of Scrapy; settings replace them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.crawl.site import fancy, index, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

CRAWL = """
import sys
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess

class Reader(Spider):
    name = "reader"
    start_urls = ["data:,"]

    def parse(self, response):
        yield {"url": response.url}

process = AsyncCrawlerProcess(SETTINGS)
process.crawl(Reader)
process.start()
"""
#: Settings by the documentation of each package, without dedupcrawl; and how it fails.
BROKEN = {
    "scrapy-deltafetch": (
        {"SPIDER_MIDDLEWARES": {"scrapy_deltafetch.DeltaFetch": 100}, "DELTAFETCH_ENABLED": True},
        "doesn't support asynchronous spider output",
    ),
    "scrapy-crawl-once": (
        {
            "SPIDER_MIDDLEWARES": {"scrapy_crawl_once.CrawlOnceMiddleware": 100},
            "DOWNLOADER_MIDDLEWARES": {"scrapy_crawl_once.CrawlOnceMiddleware": 50},
            "CRAWL_ONCE_DEFAULT": True,
        },
        "ImportError: cannot import name 'request_fingerprint' from 'scrapy.utils.request'",
    ),
}


@pytest.mark.parametrize("package", BROKEN)
def test_they_do_not_start_without_dedupcrawl_either(package: str, tmp_path: Path) -> None:
    """If this fails, docs/plugins.md is to be changed: the package can be used again."""
    settings, error = BROKEN[package]
    program = CRAWL.replace("SETTINGS", repr(settings))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert error in done.stderr
    assert "item_scraped_count" not in done.stderr


def test_only_new_and_changed_pages_are_downloaded_and_stored(site: Site, run: Run) -> None:
    """What replaces them: unchanged pages are asked for conditionally, and copies under other URLs are dropped too."""
    for path, number in (("/a", 1), ("/b", 2), ("/c", 3)):
        site.put(path, plain(f"T{number}", text(number)))
        give(site, path, f'"{number}"')
    start = site.put("/", index("/a", "/b", "/c"))
    settings = {"DEDUP_REVALIDATE": True}
    first = run("tests.plugins.spiders.Following", urls=[start], settings=settings)
    assert sorted(item["title"] for item in first.items) == ["T1", "T2", "T3"]
    assert run("tests.plugins.spiders.Following", urls=[start], settings=settings).items == []  # compares each page
    site.put("/b", plain("T2", text(4)))
    site.put("/d", fancy("T1", text(1)))
    site.put("/e", plain("T5", text(5)))
    site.put("/", index("/a", "/b", "/c", "/d", "/e"))
    site.statuses.clear()
    third = run("tests.plugins.spiders.Following", urls=[start], settings=settings)
    found = sorted(path for item in third.items for path in [item["url"].removeprefix(site.base)])
    assert found == ["/b", "/e"], "the changed page and the new one; not the copy, nor what was known"
    assert {path: status for path, status in site.statuses if path in ("/a", "/c")} == {"/a": 304, "/c": 304}


def give(site: Site, path: str, etag: str) -> None:
    site.answers[path] = replace(site.answers[path], etag=etag)
