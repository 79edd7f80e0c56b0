"""Items that are assembled over several pages: which page decides about them, and what is never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl.running import IN_TURN, finish, start
from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

ARTICLES = 7
#: Ways by which the article is known when its item comes.
WAYS = (
    "item",
    "copy",
    "fields",
    "meta",
    "loader",
    "partial",
    "chain",
    "relative_url",
    "canonical",
    "link",
    "page_url",
    "page_response",
)


def newspaper(site: Site, author: str = "/author") -> list[str]:
    """Articles of one author, each also in another layout."""
    site.put("/author", plain("About the author", text(100)))
    site.put("/numbers", plain("The numbers", text(101)))
    byline = f'<a class=author href="{author}">By A. Writer</a>'
    urls = []
    for number in range(ARTICLES):
        for path, lay_out in ((f"/a/{number}", plain), (f"/b/{number}", fancy)):
            links = f'<link rel=canonical href="{site.base}{path}?canonical">'
            page = lay_out(f"Story {number}", text(number)).replace("<head>", f"<head>{links}")
            urls.append(site.put(path, page.replace("</body>", f"{byline}</body>")))
    return urls


def bodies(items: Iterable[Any]) -> list[str]:
    return sorted(item["body"] for item in items)


DISTINCT = sorted(text(number) for number in range(ARTICLES))


def test_an_item_is_judged_by_the_page_that_it_is_about(site: Site, tmp_path: Path) -> None:
    urls = newspaper(site)
    crawls = [("Assembler", {"urls": urls, "way": way}) for way in WAYS]
    own = [{"DEDUP_NAMESPACE": way} for way in WAYS]
    for _ in range(2):
        done = finish(start(tmp_path, *crawls, own=own, settings=IN_TURN))
        for way, crawled in zip(WAYS, done, strict=True):
            print(way, crawled.dedup, len(crawled.items), crawled.lines("items were", "WARNING")[:0])
