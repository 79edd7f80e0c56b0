"""scrapy-playwright: pages that a browser renders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser import chromium
from tests.crawl.running import IN_TURN
from tests.crawl.site import text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"


def rendered(title: str, body: str, kind: str) -> str:
    """Write a page whose article is made by a script."""
    return f"""<html><head><title>{title}</title></head><body><div id={kind}></div><script>
    const page = document.getElementById("{kind}");
    page.innerHTML = `<article><h1>{title}</h1><p>{body}</p></article>`;
    </script></body></html>"""


def settings() -> dict[str, Any]:
    flags = ["--no-sandbox", "--disable-gpu"]
    return {
        "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
        "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": chromium(), "args": flags},
        **IN_TURN,
    }


@pytest.mark.parametrize(
    ("spider", "meta"),
    [("Titles", {"playwright": True}), ("Browsing", {"playwright": True, "playwright_include_page": True})],
    ids=["response", "page"],
)
def test_pages_of_a_browser(site: Site, run: Run, spider: str, meta: dict[str, Any]) -> None:
    urls = [
        site.put("/a", rendered("Ice", text(1), "a")),
        site.put("/b", rendered("Ice", text(1), "b")),
        site.put("/c", rendered("Fire", text(2), "c")),
    ]
    crawled = run(f"tests.plugins.spiders.{spider}", urls=urls, meta=meta, settings=settings())
    assert crawled.stats["playwright/page_count"] == 3
    assert [(item["url"][-2:], item["title"]) for item in crawled.items] == [("/a", "Ice"), ("/c", "Fire")]
    assert crawled.dedup["duplicate"] == 1
    assert not crawled.lines("", "WARNING")
    assert not crawled.lines("", "ERROR")


def test_what_only_the_browser_shows_is_compared(site: Site, run: Run) -> None:
    """Without the browser the text is in a script, and there is nothing to compare."""
    urls = [site.put(f"/{n}", rendered("Ice", text(1), f"n{n}")) for n in range(2)]
    crawled = run("tests.plugins.spiders.Titles", urls=urls, settings=settings())
    assert len(crawled.items) == 2
    assert crawled.dedup["unchecked/empty"] == 2


def test_the_errback_can_close_the_page_of_a_known_article(site: Site, run: Run) -> None:
    """The callback of a known page does not run with this setting, and nobody else closes the page of the browser."""
    urls = [site.put("/a", rendered("Ice", text(1), "a"))]
    meta = {"playwright": True, "playwright_include_page": True}
    given = {**settings(), "DEDUP_FOLLOW_DUPLICATES": False}
    assert len(run("tests.plugins.spiders.Browsing", urls=urls, meta=meta, settings=given).items) == 1
    again = run("tests.plugins.spiders.Browsing", urls=urls, meta=meta, settings=given)
    assert again.items == []
    assert again.dedup["withheld"] == 1
    assert again.lines("closed a page of the browser", "INFO")
