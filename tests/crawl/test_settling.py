"""A claim is committed or released depending on its items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator
from tests.crawl.running import IN_TURN, finish, on_every_reactor, start
from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

REFUSE = {"ITEM_PIPELINES": {"tests.crawl.components.Refuse": 300}}


@pytest.mark.parametrize("how", ["drop", "fail"])
def test_a_refused_first_copy_does_not_cost_the_second(site: Site, tmp_path: Path, how: str) -> None:
    urls = [
        site.put("/a/1", plain("Ice", text(1))),
        site.put("/b/1", fancy("Ice", text(1))),
        site.put("/c/1", fancy("ICE", text(1))),
    ]
    settings = {**IN_TURN, **REFUSE, "REFUSE": "/a/", "REFUSE_HOW": how}
    for (crawled,) in on_every_reactor(tmp_path, ("Reader", {"urls": urls}), settings=settings).values():
        assert len(crawled.items) == 1
        assert crawled.items[0]["url"] in urls[1:]
        assert crawled.dedup["released"] == 1
        assert crawled.dedup["kept"] == 1
        assert crawled.dedup["dropped"] == 1  # it waited for its sister


def test_a_page_is_scraped_when_one_of_its_items_is(site: Site, run: Run) -> None:
    urls = [site.put("/a", plain("Ice", text(1))), site.put("/b", fancy("Ice", text(1)))]
    crawled = run("AsyncReader", urls=urls, copies=3, settings={**IN_TURN, **REFUSE, "REFUSE": "Ice 1"})

    assert [item["title"] for item in crawled.items] == ["Ice", "Ice 2"]
    assert {item["url"] for item in crawled.items} == {urls[0]}
    assert "released" not in crawled.dedup
    assert crawled.lines("Pages: 2 = 1 kept + 0 kept unchecked + 1 dropped (", "INFO")


def test_a_page_whose_items_are_all_refused_is_given_back(site: Site, run: Run) -> None:
    urls = [site.put("/a", plain("Ice", text(1))), site.put("/b", fancy("Ice", text(1)), delay=0.5)]
    first = run(urls=urls, copies=3, settings={**REFUSE, "REFUSE": "/"})
    assert first.items == []
    assert first.dedup["released"] == 2
    released = "2 released (other pipelines refused their items, or a feed was not stored)"
    assert first.lines(f"Pages: 2 = 0 kept + 0 kept unchecked + 0 dropped + {released}", "INFO")

    assert len(run(urls=urls).items) == 1


def test_a_spider_that_fails_or_lingers_after_its_item(site: Site, tmp_path: Path) -> None:
    urls = [site.put(f"/{number}", plain(f"Ice {number}", text(number))) for number in (1, 2)]
    for kept in (2, 0):
        done = on_every_reactor(tmp_path, ("Sleeper", {"urls": urls}), reactors=("asyncio", "none"))
        assert [len(crawled.items) for (crawled,) in done.values()] == [kept, kept]


def test_two_processes_share_a_store(site: Site, tmp_path: Path) -> None:
    urls = [site.put(f"/{side}/{n}", plain(f"T{n}", text(n))) for n in range(12) for side in "ab"]
    slow = {"ITEM_PIPELINES": {"tests.crawl.components.Slow": 300}}
    settings = {"DEDUP_STORE": f"lmdb://{tmp_path}/shared", "DEDUP_WAIT": 600, **slow}
    crawls = (start(tmp_path, ("Reader", {"urls": urls[::order]}), settings=settings) for order in (1, -1, 1))
    done = [finish(running)[0] for running in list(crawls)]

    titles = [item["title"] for crawled in done for item in crawled.items]
    assert sorted(titles) == sorted({f"T{n}" for n in range(12)})
    assert sum(crawled.dedup["dropped"] for crawled in done) == 3 * 24 - 12


def test_another_workers_claim_is_waited_for_so_long_and_no_longer(site: Site, run: Run, tmp_path: Path) -> None:
    url = site.put("/a", plain("Ice", text(1)))
    store = f"lmdb://{tmp_path}/shared"
    settings = {"DEDUP_STORE": store, "DEDUP_WAIT": 0.4}
    with Deduplicator(store, "reader") as other:
        page = other.read(html=plain("Ice", text(1)), url="https://else.example/1")
        claim = other.claim(page)  # type: ignore[arg-type]
        kept = run(urls=[url], settings=settings)
        assert kept.verdicts[0] == {
            "url": url,
            "status": "unchecked",
            "keep": True,
            "of": "https://else.example/1",
            "reason": "claimed",
        }
        assert kept.dedup["unchecked/claimed"] == 1
        other.forget(url)
        claim.commit()
        assert run(urls=[url], settings=settings).items == []
