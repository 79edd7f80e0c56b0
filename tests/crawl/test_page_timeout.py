"""No page holds a crawl: its time is limited, and large pages are fingerprinted in a thread."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.crawl.running import IN_TURN, on_every_reactor
from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

#: Words that jieba does not know take 0.1 ms a character.
SLOW_TEXT = "".join(map(chr, random.Random(1).choices(range(0x4E00, 0x9FA0), k=120_000)))
JIEBA = {"DEDUP_DETECTORS": ["keywords"], "LOG_LEVEL": "DEBUG"}


def test_slow_pages_are_kept_unchecked(site: Site, tmp_path: Path) -> None:
    urls = [site.put(f"/{n}", plain("Ice", SLOW_TEXT)) for n in (1, 2)] + [site.put("/3", plain("Ice", text(1)))]
    settings = {**IN_TURN, **JIEBA, "DEDUP_PAGE_TIMEOUT": 0.2}
    for (crawled,) in on_every_reactor(tmp_path, ("Reader", {"urls": urls}), settings=settings).values():
        verdicts = {url: verdict and verdict["reason"] for url, verdict in crawled.verdict_on.items()}
        assert verdicts == dict(zip(urls, ("too-slow", "too-slow", None), strict=True))
        assert crawled.dedup["unchecked/too-slow"] == 2
        assert crawled.dedup["kept"] == 3
        message = "took more than DEDUP_PAGE_TIMEOUT allows, it is kept unchecked"
        assert len(crawled.lines(message, "WARNING")) == 1
        assert len(crawled.lines(message)) == 2
        assert not crawled.lines("Traceback")


def test_slow_reading_counts_too(site: Site, run: Run) -> None:
    url = site.put("/1", plain("Ice", " ".join(f"word{n}." for n in range(50_000))))
    crawled = run(urls=[url], settings={"DEDUP_PAGE_TIMEOUT": 1e-9})
    assert crawled.verdicts[0]["reason"] == "too-slow"
    assert crawled.dedup == {"unchecked/too-slow": 1, "kept": 1}


def test_a_page_of_combining_marks_is_judged(site: Site, run: Run) -> None:
    """It took minutes, in which nothing else happened in the crawl."""
    marks = "The bridge was closed. a" + "\u0301\u0316" * 130_000
    urls = [site.put("/1", plain("Ice", marks)), site.put("/2", fancy("Ice", marks))]
    crawled = run(urls=urls, settings=IN_TURN)
    assert [item["url"] for item in crawled.items] == urls[:1]


def test_large_pages_are_judged_in_order(site: Site, tmp_path: Path) -> None:
    pages = [" ".join(f"{n}word{i}" for i in range(5000)) for n in range(4)]
    urls = [site.put(f"/{side}/{n}", page("Ice", body)) for side, page in (("a", plain), ("b", fancy))
            for n, body in enumerate(pages)]  # fmt: skip
    for (crawled,) in on_every_reactor(tmp_path, ("Reader", {"urls": urls}), settings=IN_TURN).values():
        assert [item["url"] for item in crawled.items] == urls[:4]
        assert crawled.dedup["dropped"] == 4
