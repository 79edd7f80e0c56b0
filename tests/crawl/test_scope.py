"""``DEDUP_SCOPE``: which pages a page is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Config, Deduplicator
from tests.batch.corpus import Batch, lines, write_lines
from tests.crawl.running import IN_TURN, crawl
from tests.crawl.site import Site, fancy, plain, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def pages() -> Iterator[dict[str, str]]:
    """Serve two sites: an article, its copy on the same site, and a copy of it on another; return the URLs."""
    with Site() as one, Site() as two:
        yield {
            "article": one.put("/article", plain("The ferry", text(1))),
            "print": one.put("/print", plain("The ferry", text(1))),
            "reprint": two.put("/news/7", fancy("The ferry", text(1))),
            "other": two.put("/news/8", fancy("The tunnel", text(2))),
        }


def kept(folder: Path, pages: dict[str, str], **settings: Any) -> list[str]:
    crawled = crawl(folder, "Plainly", urls=list(pages.values()), settings={**IN_TURN, **settings})
    names = {url: name for name, url in pages.items()}
    assert not crawled.lines("", "ERROR")
    return [names[item["url"]] for item in crawled.items]


def test_by_default_all_pages_are_compared(tmp_path: Path, pages: dict[str, str]) -> None:
    assert kept(tmp_path, pages) == ["article", "other"]


def test_pages_of_other_sites_only(tmp_path: Path, pages: dict[str, str]) -> None:
    assert kept(tmp_path, pages, DEDUP_SCOPE="other-hosts") == ["article", "print", "other"]


def test_the_scope_may_change_from_crawl_to_crawl(tmp_path: Path, pages: dict[str, str]) -> None:
    store = {"DEDUP_STORE": f"lmdb://{tmp_path}/store"}
    first = {name: pages[name] for name in ("article", "other")}
    assert kept(tmp_path, first, **store) == ["article", "other"]
    again = {name: pages[name] for name in ("article", "print", "reprint")}
    assert kept(tmp_path, again, DEDUP_SCOPE="other-hosts", **store) == ["print"]


def test_a_page_that_did_not_change_is_still_dropped(tmp_path: Path, pages: dict[str, str]) -> None:
    settings = {"DEDUP_STORE": f"lmdb://{tmp_path}/store", "DEDUP_SCOPE": "other-hosts"}
    assert kept(tmp_path, pages, **settings) == ["article", "print", "other"]
    assert kept(tmp_path, pages, **settings) == []


def test_a_batch_compares_what_a_crawl_compares(tmp_path: Path) -> None:
    sites = {"https://www.one.example/": 2, "https://m.one.example/": 1, "https://two.example/": 2}
    rows = [{"url": f"{site}{number}", "text": text(1)} for site, pages in sites.items() for number in range(pages)]
    config = Config(scope="other-hosts")
    write_lines(tmp_path / "in" / "pages.jsonl", rows)
    Batch(tmp_path).run(tmp_path / "in", config=config)
    with Deduplicator(config=config) as dedup:
        verdicts = [dedup.add(text=row["text"], url=row["url"]) for row in rows]
    urls = [row["url"] for row in lines(tmp_path / "out" / "pages.jsonl")]
    assert urls == [verdict.url for verdict in verdicts if verdict.keep]
    assert urls == [row["url"] for row in rows if ".one.example" in row["url"]]  # hosts of one site are no other hosts
