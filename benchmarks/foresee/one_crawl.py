"""One crawl of a made site in a process of its own: ``python -m benchmarks.foresee.one_crawl OPTIONS``.

The options are JSON, those of :class:`CrawlPlan`. What is served is appended to a log, line by line, so that a crawl
that is killed leaves it. Pages are made in the process by a download handler: Scrapy with its queues and middlewares,
and dedupcrawl with its store, are those of any crawl.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time
import tracemalloc
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import orjson
from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse, Response

from benchmarks.foresee.endless_sites import BY_NAME
from benchmarks.foresee.observe_cost import MethodClock
from benchmarks.foresee.strategies import settings_of
from dedupcrawl import Addon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

    from benchmarks.foresee.made_sites import MadeSite

#: Files whose memory is that of foreseeing.
FORESEEING_FILES = ("*/dedupcrawl/foresee/*", "*/dedupcrawl/crawl/foreseeing.py")
STATS = ("foreseen", "skipped", "probes", "revoked", "postponed", "kept", "dropped")


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """What is crawled, and how."""

    site: str
    strategy: str
    folder: str  #: of the log, the result, and the store
    seed: int = 0  #: 0: links in the order of the page; others shuffle them, and choose other probes
    concurrency: int = 8
    order: str = "breadth"  #: or "depth"
    change_at: int = 500
    most: int = 0  #: requests; 0: as the site says
    keeps: bool = False  #: whether the store is in the folder, for a later crawl
    job: bool = False  #: whether the queue is in the folder, to resume this crawl
    memory: bool = False  #: whether the memory of foreseeing is measured
    timed: bool = False  #: whether the processor time of foreseeing is measured

    def settings(self) -> dict[str, Any]:
        """Return the settings of the crawl."""
        own = settings_of(self.strategy, self.seed)
        fifo = {
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        }
        return {
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "ROBOTSTXT_OBEY": False,
            "COOKIES_ENABLED": False,
            "RETRY_ENABLED": False,
            "DOWNLOAD_DELAY": 0,
            "DOWNLOAD_HANDLERS": {"http": MadeSiteHandler, "https": MadeSiteHandler},
            "CONCURRENT_REQUESTS": self.concurrency,
            "CONCURRENT_REQUESTS_PER_DOMAIN": self.concurrency,
            "CLOSESPIDER_PAGECOUNT": self.most or BY_NAME[self.site].most,
            "DEDUP_STORE": f"lmdb://{self.folder}/store" if self.keeps else "memory://",
            "JOBDIR": f"{self.folder}/job" if self.job else None,
            **(fifo if self.order == "breadth" else {}),
            **own,
            "ADDONS": {Addon: 500, **own.get("ADDONS", {})},
        }

    @property
    def log(self) -> Path:
        """The log of what was served, over all runs in this folder: URL, tab, content."""
        return Path(self.folder) / "served.tsv"

    @property
    def result(self) -> Path:
        """The result of a run that was not killed, as JSON."""
        return Path(self.folder) / "result.json"


class ServedSite:
    """A site that logs what it serves. Requests of earlier runs count, for a site that changes."""

    def __init__(self, plan: CrawlPlan) -> None:
        self.site: MadeSite = BY_NAME[plan.site](plan.change_at)
        if plan.log.exists():
            self.site.requests = plan.log.read_bytes().count(b"\n")
        self.bytes = self.requests = 0
        self._log = plan.log.open("a", buffering=1)

    def serve(self, request: Request) -> Response:
        """Return the response to a request."""
        page = self.site.serve(request.url)
        body = page.html()
        self.requests += 1
        self.bytes += len(body)
        self._log.write(f"{request.url}\t{page.content}\n")
        headers = {"Content-Type": "text/html; charset=utf-8"}
        return HtmlResponse(request.url, page.status, headers=headers, body=body, request=request)


class MadeSiteHandler:
    """Downloads pages of the site of a crawl, from a server in the same process that takes up to 2 ms."""

    lazy = False

    def __init__(self, crawler: Crawler) -> None:
        self._served: ServedSite = crawler.spider.served  # type: ignore[union-attr]
        self._chance = random.Random(crawler.spider.plan.seed)  # type: ignore[union-attr]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the handler of a crawl."""
        return cls(crawler)

    async def download_request(self, request: Request) -> Response:
        """Return a page."""
        await asyncio.sleep(self._chance.random() * 0.002)
        return self._served.serve(request)

    async def close(self) -> None:
        """Do nothing."""


class FollowingSpider(Spider):
    """Follows all links of a site, and yields an item of each article."""

    name = "following"
    plan: CrawlPlan
    served: ServedSite

    async def start(self) -> Any:
        """Begin at the front page."""
        yield Request(self.served.site.seed)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield an item and the links."""
        if response.css("article p"):
            yield {"url": response.url, "title": response.css("h1::text").get()}
        links = [each for each in response.css("a::attr(href)").getall() if not each.startswith("#")]
        if self.plan.seed:
            random.Random(f"{self.plan.seed} {response.url}").shuffle(links)
        for link in links:
            url = response.urljoin(link)
            if urlsplit(url).netloc.endswith(self.served.site.host):
                yield Request(url, meta={"avoid_dup_content": True})


def run(plan: CrawlPlan) -> None:
    """Crawl, and write the result."""
    served, clock = ServedSite(plan), MethodClock()
    if plan.timed:
        clock.start()
    process = AsyncCrawlerProcess(plan.settings())
    crawler = process.create_crawler(FollowingSpider)
    clocks: dict[str, float] = {}
    memory = [0]

    def begin() -> None:
        clocks["cpu"] = time.process_time()
        if plan.memory:
            tracemalloc.start()

    def end() -> None:
        clocks["cpu"] = time.process_time() - clocks["cpu"]
        if plan.memory:
            memory[0] = _foreseeing_bytes()

    crawler.signals.connect(begin, signals.spider_opened, weak=False)
    crawler.signals.connect(end, signals.spider_closed, weak=False)
    process.crawl(crawler, plan=plan, served=served)
    process.start()
    assert crawler.stats is not None
    stats = crawler.stats.get_stats()
    result = {
        **asdict(plan),
        "requests": served.requests,
        "bytes": served.bytes,
        "reason": stats.get("finish_reason"),
        "cpu": clocks["cpu"],
        "memory_bytes": memory[0],
        "errors": stats.get("log_count/ERROR", 0),
        "stats": {name: stats.get(f"dedup/{name}", 0) for name in STATS},
        "foresee_cost": clock.figures() if plan.timed else {},
    }
    plan.result.write_bytes(orjson.dumps(result))


def _foreseeing_bytes() -> int:
    """Return the bytes that code of foreseeing has allocated and still holds."""
    gc.collect()
    snapshot = tracemalloc.take_snapshot()
    filters = [tracemalloc.Filter(inclusive=True, filename_pattern=each) for each in FORESEEING_FILES]
    return sum(each.size for each in snapshot.filter_traces(filters).statistics("filename"))


if __name__ == "__main__":
    run(CrawlPlan(**orjson.loads(sys.argv[1])))
