"""A real crawl of a site keeps the same pages as a deduplicator that judges them in the same order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.crawl.running import IN_TURN, crawl
from tests.crawl.site import Site as Server
from tests.sites.harness import run
from tests.sites.kinds import build

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites.model import Site


def served(site: Site, server: Server) -> Site:
    """Serve the pages of a site; return the site with the URLs of the server."""
    pages = []
    for page in site.pages:
        parts = urlsplit(page.url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        pages.append(replace(page, url=server.put(path, page.html)))
    return replace(site, pages=tuple(pages))


@pytest.mark.parametrize(("kind", "seed"), [("parts", 0), ("views", 1), ("discuz", 0), ("flash", 1), ("versions", 1)])
def test_a_crawl_keeps_the_same_pages(tmp_path: Path, kind: str, seed: int) -> None:
    with Server() as server:
        site = served(build(kind, seed), server)
        urls = [page.url for page in site.pages]
        crawled = crawl(tmp_path, "Plainly", urls=urls, settings=IN_TURN)
        assert sorted(set(server.asked)) == sorted(url.removeprefix(server.base) for url in urls)
    found = run(site)
    assert [item["url"] for item in crawled.items] == [verdict.url for verdict in found.verdicts if verdict.keep]
    assert crawled.dedup["duplicate"] == len(site.pages) - found.kept
