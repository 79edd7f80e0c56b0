"""Crawls of sites with traps: pages that are not found, and pages without end. They end, and lose nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.foresee.patterns import EXHAUSTED, PATTERN_AUDIT, SITE_AUDIT
from dedupcrawl.foresee.soft_404 import impossible_url
from tests.crawl.running import IN_TURN
from tests.crawl.site import Answer, Site, index, plain, text

if TYPE_CHECKING:
    from tests.crawl.running import Crawled

    Run = Callable[..., Crawled]

FIFO = {**IN_TURN, "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue", "DEPTH_PRIORITY": 1}
MISSING = plain("Not here", f"The page that you are looking for is not here, for it was moved. {text(77, words=60)}")


class Computed(dict[str, Answer]):
    """Answers that are made from the path where none is stored."""

    def __init__(self, make: Callable[[str], str]) -> None:
        super().__init__()
        self._make = make

    def get(self, path: str, default: Any = None) -> Any:
        """Return an answer."""
        return super().get(path) or Answer(self._make(path).encode())


def settings(mode: object, **more: Any) -> dict[str, Any]:
    return {**FIFO, "DEDUP_FORESEE": mode, **more}


def probe_path(site: Site) -> str:
    return impossible_url(site.base).removeprefix(site.base)


def not_found_site(site: Site, missing: str = MISSING) -> list[str]:
    """Serve eight articles, slowly: the probe is answered meanwhile. Every other path is a page with status 200."""
    site.answers = Computed(lambda _: missing)
    stories = [site.put(f"/a/{number}", plain(f"T{number}", text(number)), delay=0.15) for number in range(8)]
    gone = [f"{site.base}/gone/{number}" for number in range(6)]
    return [site.put("/", index(*stories, *gone))]


@pytest.mark.parametrize("mode", ["postpone", "skip"])
def test_the_first_page_that_is_not_found_is_kept_unchecked(site: Site, run: Run, mode: str) -> None:
    crawled = run(urls=not_found_site(site), settings=settings(mode))

    assert sorted(item["title"] for item in crawled.items) == ["Not here", *(f"T{number}" for number in range(8))]
    assert crawled.dedup["unchecked/soft-404"] == 1
    assert crawled.dedup["duplicate/identical"] == 5
    assert crawled.dedup["soft_404_probes"] == 1
    assert site.asked.count(probe_path(site)) == 1
    kept = crawled.verdict_on[f"{site.base}/gone/0"]
    assert (kept["status"], kept["reason"]) == ("unchecked", "soft-404")


def test_nothing_of_a_page_that_is_not_found_is_stored(site: Site, run: Run) -> None:
    """So an article that has gone for a while is not replaced by the text that stands in its place."""
    urls = not_found_site(site)
    first = run(urls=urls, settings=settings("skip"))
    story = site.answers.pop("/a/3")
    second = run(urls=urls, settings=settings("skip"))
    site.answers["/a/3"] = story
    third = run(urls=urls, settings=settings("skip"))

    assert len(first.items) == 9
    assert [item["title"] for item in second.items] == ["Not here"]
    assert second.dedup["unchecked/soft-404"] == 1
    assert [item["title"] for item in third.items] == ["Not here"]
    assert third.dedup["duplicate/unchanged"] == 8


def test_an_honest_404_says_nothing(site: Site, run: Run) -> None:
    stories = [site.put(f"/a/{number}", plain(f"T{number}", text(number))) for number in range(3)]
    crawled = run(urls=[site.put("/", index(*stories))], settings=settings("skip"))

    assert crawled.dedup["kept"] == 3
    assert crawled.dedup["soft_404_probes"] == 1
    assert "unchecked" not in crawled.dedup


def test_copies_of_the_front_page_are_dropped_as_ever(site: Site, run: Run) -> None:
    """The front page is what the host sends for pages that do not exist: it is a page nevertheless."""
    front = plain("Front", text(99))
    not_found_site(site, front)
    crawled = run(
        urls=[f"{site.base}/", f"{site.base}/a/1", f"{site.base}/x", f"{site.base}/y"], settings=settings("skip")
    )

    assert "unchecked/soft-404" not in crawled.dedup
    assert len([item for item in crawled.items if item["title"] == "Front"]) == 1


@pytest.mark.parametrize("mode", ["observe", False])
def test_a_crawl_that_is_only_observed_sends_no_probe(site: Site, run: Run, mode: object) -> None:
    crawled = run(urls=not_found_site(site), settings=settings(mode))

    assert probe_path(site) not in site.asked
    assert "soft_404_probes" not in crawled.dedup
    assert crawled.dedup["kept"] == 9


def test_robots_txt_forbids_the_probe(site: Site, run: Run) -> None:
    urls = not_found_site(site)
    site.put("/robots.txt", "User-agent: *\nAllow: /a/\nAllow: /gone/\nAllow: /$\nDisallow: /\n", kind="text/plain")
    crawled = run(urls=urls, settings=settings("skip", ROBOTSTXT_OBEY=True))

    assert "/robots.txt" in site.asked
    assert probe_path(site) not in site.asked
    assert len(crawled.items) == 9
    assert not crawled.lines("", "ERROR")


# -- sites without end ----------------------------------------------------------------------------


def calendar(site: Site, last: int) -> list[str]:
    """Serve a calendar without end; its first 20 months have an event each, and so has a month far away."""

    def month(path: str) -> str:
        if not path.startswith("/cal?m="):
            return index()
        number = int(path.removeprefix("/cal?m="))
        events = [f"/event/{number}"] if 0 <= number < 20 or number == last else []
        return index(*events, *(f"/cal?m={other}" for other in (number + 1, number - 1)))

    site.answers = Computed(month)
    for number in (*range(20), last):
        site.put(f"/event/{number}", plain(f"E{number}", text(number)))
    return [f"{site.base}/cal?m=0"]


def test_a_calendar_without_end_is_ended(site: Site, run: Run) -> None:
    last = 20 + (EXHAUSTED + SITE_AUDIT) // 2 - 30
    crawled = run(urls=calendar(site, last), settings=settings("skip"))

    assert crawled.reason == "finished"
    assert sorted(item["title"] for item in crawled.items) == sorted(f"E{number}" for number in (*range(20), last))
    assert crawled.dedup["skipped"] >= 2
    assert len(site.asked) < 3 * SITE_AUDIT + 200


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_calendar_is_ended_in_depth_first_order_too(site: Site, run: Run, concurrency: int) -> None:
    """It goes ahead from month to month at first, and then on both sides of the months that have events."""
    last = 20 + (EXHAUSTED + SITE_AUDIT) // 2 - 60
    lifo = {"DEDUP_FORESEE": "skip", "CONCURRENT_REQUESTS": concurrency, "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency}
    urls = calendar(site, last)
    crawled = run(urls=[f"{site.base}/cal?m=10", *urls], settings=lifo)

    assert crawled.reason == "finished"
    assert sorted(item["title"] for item in crawled.items) == sorted(f"E{number}" for number in (*range(20), last))
    assert crawled.dedup["skipped"] >= 2
    assert len(site.asked) < 3 * SITE_AUDIT + 200


def test_the_next_crawl_goes_on_where_a_calendar_was_left(site: Site, run: Run) -> None:
    last = 20 + (EXHAUSTED + SITE_AUDIT) // 2 + 50
    first = run(urls=calendar(site, last), settings=settings("skip"))
    second = run(urls=[f"{site.base}/cal?m=0"], settings=settings("skip"))

    assert sorted(item["title"] for item in first.items) == sorted(f"E{number}" for number in range(20))
    assert [item["title"] for item in second.items] == [f"E{last}"]


def test_postponing_skips_nothing(site: Site, run: Run) -> None:
    most = EXHAUSTED + PATTERN_AUDIT + SITE_AUDIT
    crawled = run(urls=calendar(site, 10_000), settings=settings("postpone", CLOSESPIDER_PAGECOUNT=2 * most))

    assert crawled.reason == "closespider_pagecount"
    assert crawled.dedup["postponed"] >= most
    assert "skipped" not in crawled.dedup


def test_a_site_of_new_pages_is_not_exhausted(site: Site, run: Run) -> None:
    stories = [site.put(f"/a/{number}", plain(f"T{number}", text(number))) for number in range(3 * EXHAUSTED)]
    lists = [site.put(f"/l/{at}", index(*stories[at : at + 10])) for at in range(0, len(stories), 10)]
    crawled = run(urls=[site.put("/", index(*lists))], settings=settings("skip"))

    assert len(crawled.items) == len(stories)
    assert crawled.dedup.keys().isdisjoint(("postponed", "skipped"))
