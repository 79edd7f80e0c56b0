"""The cost of network latency to the store: ``python -m benchmarks.latency [--rounds N] [--pages N]``.

The site and the spider are those of :mod:`benchmarks.crawl`, with 16 concurrent requests. All pages are
different, so each is claimed and committed. The store is in memory; every call waits 0 or 50 ms first, in a
thread, as over a network. With ``--store`` it is a cluster, and every round trip waits. Both variants take turns in
one process. The figure is pages per second of wall time, from the opening of the spider to its close; the bar is a
ratio of at least 0.91.

The site responds after ``--delay`` seconds (default: 0.05), like a site on another machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.reactor import install_reactor
from twisted.internet.task import react

from benchmarks.crawl import ASYNCIO, NewsSpider
from benchmarks.crawl_sites import PART, serve
from benchmarks.results import add_json_option, write_results
from dedupcrawl import Addon, Deduplicator
from dedupcrawl.crawl.context import CrawlContext
from dedupcrawl.stores.redis.sharded.store import ShardedStore
from dedupcrawl.stores.transactional import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LATENCIES = (0.0, 0.05)  #: seconds per call
BAR = 1 / 1.1  #: a crawl takes at most 1.1 times as long


class AllPartsSpider(NewsSpider):
    """Begins in every part of the site at once."""

    base = ""
    parts = 1

    async def start(self) -> Any:
        """Begin at the first page of each part."""
        for part in range(self.parts):
            yield Request(f"{self.base}/{part * PART}")


class RemoteStore(MemoryStore):
    """A store in memory with network latency."""

    remote = True
    latency = 0.0

    def _write(self, work: Callable[[Any], Any]) -> Any:
        time.sleep(self.latency)
        return super()._write(work)


class RemoteStoreAddon(Addon):
    """The add-on with a store that no setting can name."""

    @cached_property
    def context(self) -> CrawlContext:
        """Create a context with the remote store."""
        context = CrawlContext.create(self._crawler, self.pipeline)
        latency = self._crawler.settings.getfloat("LATENCY")
        if url := self._crawler.settings.get("STORE"):
            dedup = Deduplicator(url, f"latency {uuid4()}", config=context.options.config)
            assert isinstance(dedup.store, ShardedStore)
            dedup.store._wire.ask = partial(_late, dedup.store._wire.ask, latency)  # type: ignore[method-assign]
            context.client.connect(dedup)
            return context
        store = RemoteStore("daily", "{}", lease=60.0, ttl=None, clock=time.time)
        store.latency = latency
        context.client.connect(Deduplicator(store, config=context.options.config))
        return context


def _late(ask: Callable[[Any], list[Any]], latency: float, commands: Any) -> list[Any]:
    time.sleep(latency)
    return ask(commands)


async def crawl(base: str, parts: int, latency: float, store: str = "") -> float:
    """Crawl the site; return pages per second."""
    settings = {
        "ADDONS": {RemoteStoreAddon: 500},
        "DEDUP_STORE": "memory://",
        "LATENCY": latency,
        "STORE": store,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
    }
    crawler = Crawler(AllPartsSpider, Settings(settings))
    moments: list[float] = []

    def note() -> None:
        moments.append(time.monotonic())

    crawler.signals.connect(note, signals.spider_opened)
    crawler.signals.connect(note, signals.spider_closed)
    await crawler.crawl_async(base=base, parts=parts)
    kept: int = crawler.stats.get_value("dedup/kept", 0)
    assert kept == parts * PART, crawler.stats.get_stats()
    return kept / (moments[1] - moments[0])


@deferred_f_from_coro_f
async def take_turns(_: object, base: str, rounds: int, parts: int, file: Path | None, store: str = "") -> None:
    """Crawl the site in both ways, several times, and print the results."""
    rates: dict[float, list[float]] = {latency: [] for latency in LATENCIES}
    for turn in range(rounds):
        for latency in LATENCIES if turn % 2 else reversed(LATENCIES):
            rates[latency].append(await crawl(base, parts, latency, store))
    near, far = (rates[latency] for latency in LATENCIES)
    ratio = statistics.median(b / a for a, b in zip(near, far, strict=True))
    shown = {f"{1000 * key:.0f} ms": round(statistics.median(each), 1) for key, each in rates.items()}
    print(
        json.dumps(
            {"pages_per_second": shown, "rounds": rounds, "ratio": round(ratio, 3), "bar": BAR, "holds": ratio >= BAR}
        )
    )
    write_results(file, "latency", ratios={"near/far: time": ratio}, figures={"pages per second": shown})


def main() -> None:
    """Measure, or serve the site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--store", default="", metavar="URL", help="a cluster, redis-cluster://…, in place of memory")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    add_json_option(parser)
    asked = parser.parse_args()
    if asked.pages % PART:
        parser.error(f"--pages {asked.pages} is not accepted: a multiple of {PART}")
    if asked.serve:
        serve(asked.pages, asked.delay)
        return
    me = [sys.executable, "-m", "benchmarks.latency", "--pages", str(asked.pages), "--delay", str(asked.delay)]
    with subprocess.Popen([*me, "--serve"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        site = json.loads(server.stdout.readline())
        try:
            install_reactor(ASYNCIO)
            react(
                take_turns,
                (f"http://127.0.0.1:{site['port']}", asked.rounds, asked.pages // PART, asked.json, asked.store),
            )
        finally:
            server.kill()


if __name__ == "__main__":
    main()
