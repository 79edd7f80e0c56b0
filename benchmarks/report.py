"""The cost of ``DEDUP_REPORT`` in a crawl: ``python -m benchmarks.report [--rounds N] [--pages N]``.

The crawl of :mod:`benchmarks.crawl` runs with the add-on and its defaults, with and without a report, on two
sites: one with different pages only, and one where every second page reprints the previous one (each copy is
compared and recorded with all assessments). A round is a process. In each round both ways take turns on 1,000
pages at a time. The figure of a turn is its minimum over all rounds, because other load only adds time. It
covers CPU and wall time from the opening of the spider to the end of its crawl; writing the HTML page is
reported apart.

Separate processes crawl the whole site in one way. They report the peak memory and, by the CPU clock of each
thread, the time spent collecting. This second figure hardly depends on other load.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.reactor import install_reactor
from twisted.internet.task import react

from benchmarks import crawl as plain
from benchmarks.crawl_sites import PART, page
from benchmarks.crawl_sites import serve as serve_pages
from benchmarks.results import add_json_option, write_results
from dedupcrawl import Addon
from dedupcrawl.crawl.recorder import LedgerRecorder, LedgerWriter
from dedupcrawl.ledger.ledger_appender import LedgerFileWriter

if TYPE_CHECKING:
    from collections.abc import Callable

BAR = 3.0  #: bar: per cent of additional CPU
TURN = 1000  #: pages per turn; enough that the fixed cost of a crawl has a realistic weight
WAYS = ("without", "with")
SITES = ("distinct", "reprints")
_STORY = re.compile(rb"<h1>.*</article>", re.DOTALL)


def reprint(number: int) -> bytes:
    """Generate a page; every second one has the story of the previous page, among other links."""
    own = page(number)
    story = _STORY.search(page(number - number % 2))
    assert story is not None
    return _STORY.sub(story.group().replace(b"\\", b"\\\\"), own)


class AllPartsSpider(plain.NewsSpider):
    """Crawls several parts at once."""

    name = "whole"
    pages = range(0)

    async def start(self) -> Any:
        """Begin at the first page of each part."""
        for first in self.pages[::PART]:
            yield Request(f"{self.start_url}/{first}")


class Meter:
    """CPU and wall time of a crawl, and the share of writing the HTML page."""

    def __init__(self) -> None:
        self.began = self.making = (0.0, 0.0)

    def begin(self) -> None:
        """Start the clocks."""
        self.began = (plain.cpu(), time.perf_counter())

    def spent(self) -> dict[str, float]:
        """Return the time since the start."""
        cpu, wall = plain.cpu() - self.began[0], time.perf_counter() - self.began[1]
        return {"cpu": cpu - self.making[0], "wall": wall - self.making[1], "page_cpu": self.making[0]}

    def watch(self, before_page: Callable[[], object] = lambda: None) -> None:
        """Measure the writing of the HTML page separately."""
        make = LedgerWriter.make_report

        def watched(ledger_writer: LedgerWriter) -> int:
            before_page()
            before = plain.cpu(), time.perf_counter()
            size = make(ledger_writer)
            self.making = plain.cpu() - before[0], time.perf_counter() - before[1]
            return size

        setattr(LedgerWriter, make.__name__, watched)


async def crawl(way: str, url: str, folder: str, meter: Meter, pages: range) -> dict[str, float]:
    """Crawl some pages of the site; return its cost, and the number of pages kept and dropped."""
    settings = {
        "ADDONS": {Addon: 500},
        "DEDUP_STORE": f"lmdb://{folder}/{way}",
        "DEDUP_REPORT": f"{folder}/report.html" if way == "with" else "",
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
    }
    crawler = Crawler(AllPartsSpider, Settings(settings))
    meter.making = (0.0, 0.0)
    crawler.signals.connect(meter.begin, signals.spider_opened)
    await crawler.crawl_async(start_url=url, pages=pages)
    counts = {name: crawler.stats.get_value(f"dedup/{name}", 0) for name in ("kept", "dropped")}
    return {**meter.spent(), **counts}


@deferred_f_from_coro_f
async def take_turns(_: object, base: str, pages: int) -> None:
    """Crawl the site in both ways, in turns, and print the cost of each."""
    turns: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    meter = Meter()
    meter.watch()
    with tempfile.TemporaryDirectory() as folder:
        for number, first in enumerate(range(0, pages, TURN)):
            turn = range(first, min(first + TURN, pages))
            for way in WAYS if number % 2 else WAYS[::-1]:
                turns[way].append(await crawl(way, base, folder, meter, turn))
    print(json.dumps(turns))


class CollectingTime:
    """CPU seconds that threads spend collecting."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def charge(self, owner: type, name: str) -> None:
        """Measure a method."""
        method = getattr(owner, name)

        def charged(*args: Any, **kwargs: Any) -> Any:
            began = time.thread_time()
            try:
                return method(*args, **kwargs)
            finally:
                self.seconds += time.thread_time() - began

        setattr(owner, name, charged)


@deferred_f_from_coro_f
async def at_once(_: object, base: str, pages: int, way: str) -> None:
    """Crawl the whole site in one way; print the peak of memory before the page is made, and after."""
    meter, peaks = Meter(), list[float]()
    meter.watch(lambda: peaks.append(peak()))
    reactor, writer = CollectingTime(), CollectingTime()
    for name in ("record_verdict", "record_state", "count"):
        reactor.charge(LedgerRecorder, name)
    writer.charge(LedgerFileWriter, "flush")
    with tempfile.TemporaryDirectory() as folder:
        results = await crawl(way, base, folder, meter, range(pages))
        size = sum(path.stat().st_size for path in Path(folder).glob("report.ledger*"))
    spent = {"reactor": reactor.seconds, "writer": writer.seconds}
    print(json.dumps({"peak": min([*peaks, peak()]), "after": peak(), "ledger": size, **spent, **results}))


def peak() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve(site: str, pages: int) -> None:
    """Serve one of the sites."""
    serve_pages(pages, make=reprint if site == "reprints" else page)


# -- the comparison -------------------------------------------------------------------------------


def compare(rounds: int, pages: int) -> dict[str, Any]:
    """Measure rounds of both sites."""
    return {"pages": pages, "rounds": rounds, "bar_percent": BAR} | {
        site: compare_on(site, rounds, pages) for site in SITES
    }


def compare_on(site: str, rounds: int, pages: int) -> dict[str, Any]:
    """Measure rounds of one site."""
    me = [sys.executable, "-m", "benchmarks.report", "--pages", str(pages)]
    with subprocess.Popen([*me, "--serve", site], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        base = f"http://127.0.0.1:{json.loads(server.stdout.readline())['port']}"
        try:
            results = [_run([*me, "--crawl", base]) for _ in range(rounds)]
            memory = {way: _run([*me, "--crawl", base, "--way", way]) for way in WAYS}
        finally:
            server.kill()
    return report(results, memory, pages)


def _run(command: list[str]) -> dict[str, Any]:
    results: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return results


def report(results: list[dict[str, Any]], memory: dict[str, Any], pages: int) -> dict[str, Any]:
    """Print the sum over the turns of the minimum of each way."""
    least = {name: {way: _least(results, way, name) for way in WAYS} for name in ("cpu", "wall")}
    added = {name: round(100 * (each["with"] / each["without"] - 1), 2) for name, each in least.items()}
    collecting = {name: 1e6 * memory["with"][name] / pages for name in ("reactor", "writer")}
    return {
        "kept_and_dropped": [memory["with"]["kept"], memory["with"]["dropped"]],
        "ms_per_page": {
            name: {way: round(1000 * one / pages, 3) for way, one in each.items()} for name, each in least.items()
        },
        "percent_added": added,
        "microseconds_of_cpu_in_collecting_per_page": {name: round(n) for name, n in collecting.items()},
        "percent_in_collecting": round(sum(collecting.values()) * pages / least["cpu"]["without"] / 1e4, 2),
        "page_made_in_cpu_seconds": round(memory["with"]["page_cpu"], 2),
        "peak_mb": {way: round(each["peak"], 1) for way, each in memory.items()},
        "peak_mb_after_the_page": round(memory["with"]["after"], 1),
        "ledger_mb": round(memory["with"]["ledger"] / 1e6, 1),
        "holds": added["cpu"] <= BAR,
    }


def _least(results: list[dict[str, Any]], way: str, name: str) -> float:
    rounds = [[turn[name] for turn in each[way]] for each in results]
    least: list[float] = [min(turns) for turns in zip(*rounds, strict=True)]
    return sum(least)


def main() -> None:
    """Compare, or run as one of the subprocesses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--serve", choices=SITES, help=argparse.SUPPRESS)
    parser.add_argument("--crawl", help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    add_json_option(parser)
    asked = parser.parse_args()
    if asked.pages % PART:
        parser.error(f"--pages {asked.pages} is not accepted: a multiple of {PART}")
    if asked.serve:
        serve(asked.serve, asked.pages)
    elif asked.crawl:
        install_reactor(plain.ASYNCIO)
        play, rest = (at_once, (asked.way,)) if asked.way else (take_turns, ())
        react(play, (asked.crawl, asked.pages, *rest))
    else:
        figures = compare(asked.rounds, asked.pages)
        print(json.dumps(figures, indent=2))
        added = {site: figures[site]["percent_added"]["cpu"] for site in SITES}
        ratios = {f"{site}: with/without: CPU": 1 + percent / 100 for site, percent in added.items()}
        write_results(asked.json, "report", ratios=ratios, figures=figures)


if __name__ == "__main__":
    main()
