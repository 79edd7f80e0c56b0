"""Patterns on the made sites of ``benchmarks.foresee``: sites without end are ended, and no article is lost.

The crawl is simulated: breadth first or depth first, one request at a time, and the truth in place of verdicts. No rule
is learnt, so that this is what patterns do by themselves.
"""

from __future__ import annotations

import heapq
import random
from itertools import count
from urllib.parse import urljoin, urlsplit

import pytest
from scrapy import Request

from benchmarks.foresee.endless_sites import ALL, BY_NAME, ENDLESS, FINITE
from dedupcrawl.crawl.pattern_manager import PatternManager
from dedupcrawl.decision import Status, Verdict
from dedupcrawl.detectors.base import Relation

MOST = 8000  #: requests of a simulated crawl


class SimulatedCrawl:
    """Crawls a made site as the middlewares do with ``DEDUP_FORESEE = "skip"``."""

    def __init__(self, name: str, seed: int = 0, *, skips: bool = True, most: int = MOST, depth: bool = False) -> None:
        self.site = BY_NAME[name]()
        self.served: list[tuple[str, str]] = []
        self.skipped = 0
        self._chance, self._seed = random.Random(seed), seed
        self._patterns, self._skips, self._most = PatternManager(), skips, most
        self._queue: list[tuple[int, int, Request]] = []
        self._number = count(0, -1 if depth else 1)
        self._seen: set[str] = set()
        self._contents: dict[str, str] = {}

    @property
    def found(self) -> set[str]:
        """The articles that were served."""
        return {content for _, content in self.served if content}

    @property
    def lost(self) -> set[str]:
        """The articles that were not."""
        return self.site.wanted(self.served) - self.found

    def run(self) -> SimulatedCrawl:
        """Crawl until there is nothing to send."""
        self._push(Request(self.site.seed, meta={"depth": 0}), 0)
        while self._queue and len(self.served) < self._most:
            rank, _, request = heapq.heappop(self._queue)
            now = self._patterns.lateness(request)
            if now and not rank:
                self._push(request, now)
            elif self._skips and now and self._patterns.barren_pattern(request):
                self.skipped += 1
            else:
                self._fetch(request)
        return self

    def _push(self, request: Request, rank: int) -> None:
        heapq.heappush(self._queue, (rank, next(self._number), request))

    def _fetch(self, request: Request) -> None:
        url = request.url
        self._patterns.sent(request)
        page = self.site.serve(url)
        self.served.append((url, page.content))
        self._patterns.answered(url)
        if page.text:
            self._judge(url, page.content or page.heading)
        links = [urljoin(url, link) for link, _ in page.links]
        if self._seed:
            self._chance.shuffle(links)
        for link in links:
            if link not in self._seen and urlsplit(link).netloc.endswith(self.site.host):
                self._seen.add(link)
                found = Request(link, meta={"depth": request.meta["depth"] + 1})
                self._patterns.mark(found, url)
                self._push(found, 0)

    def _judge(self, url: str, content: str) -> None:
        first = self._contents.setdefault(content, url)
        if first == url:
            self._patterns.verdict_given(Verdict(url, Status.UNIQUE, True))
        else:
            self._patterns.verdict_given(Verdict(url, Status.DUPLICATE, False, Relation.IDENTICAL, first))


@pytest.mark.parametrize("name", [site.name for site in ENDLESS])
@pytest.mark.parametrize("seed", range(2))
def test_a_site_without_end_is_ended_and_loses_nothing(name: str, seed: int) -> None:
    crawl = SimulatedCrawl(name, seed).run()
    assert crawl.skipped
    assert len(crawl.served) < MOST
    assert crawl.lost == set()


@pytest.mark.parametrize("name", [site.name for site in ENDLESS])
@pytest.mark.parametrize("seed", range(3))
def test_a_crawl_in_depth_first_order_ends_and_loses_nothing_either(name: str, seed: int) -> None:
    """It would go on in one direction, away from pages that are near, and end there, or not at all."""
    crawl = SimulatedCrawl(name, seed, depth=True).run()
    assert len(crawl.served) < MOST * 5 // 8
    assert crawl.lost == set()


@pytest.mark.parametrize("name", [site.name for site in ALL if site.ends])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("depth", [False, True])
def test_a_site_that_ends_loses_nothing(name: str, seed: int, depth: bool) -> None:
    assert SimulatedCrawl(name, seed, depth=depth).run().lost == set()


@pytest.mark.parametrize("name", [site.name for site in FINITE if site.name != "ids"])  # it has 1,668 URLs
def test_patterns_only_postpone_what_a_small_site_has(name: str) -> None:
    plain = SimulatedCrawl(name, skips=False).run()
    assert plain.lost == set()
    assert len(SimulatedCrawl(name).run().served) >= 0.9 * len(plain.served)


@pytest.mark.parametrize("name", [site.name for site in ENDLESS if site.name != "position"])
def test_without_patterns_a_site_does_not_end(name: str) -> None:
    assert len(SimulatedCrawl(name, skips=False, most=3000).run().served) == 3000


def test_a_months_pattern_reaches_an_event_behind_a_hundred_empty_months() -> None:
    crawl = SimulatedCrawl("calendar").run()
    last = max(number for number, (_, content) in enumerate(crawl.served) if content)
    assert crawl.served[last][1] == "calendar:40"
    assert len(crawl.served) - last > 500  # the audit after it


@pytest.mark.parametrize("name", [*BY_NAME])
def test_a_page_depends_on_its_url(name: str) -> None:
    one, other = (SimulatedCrawl(name, most=300).run() for _ in range(2))
    assert one.served == other.served
