"""Feeds of killed crawls, and what waiting for a feed costs: ``python -m benchmarks.feeds [PART …] [--rounds N]``.

    kills   ``scrapy crawl news -o stories.jsonl`` with default settings is killed (SIGKILL) at a random moment, ten
            times for each store, and run again: with the same file, which it appends to; with a new file; or with
            ``-O``, which overwrites the file (``DEDUP_ON_OVERWRITE = "close"``: a crawl that was killed after its
            last page may have stored all). Every story must be in a file then.
    memory  a crawl of 20,000 different pages into one feed: how much more memory the process has for each page before
            the feed is closed than with ``item_scraped``, which commits each page at once; and how long the commits
            take then.
    cpu     the same two ways take turns, a part of the site at a time, as in :mod:`benchmarks.crawl`: CPU time per
            page, from the opening of the spider to the end of its crawl, and the median of the ratios. The bar is
            1.05.

Exit code 1 if a story is missing or the bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.reactor import install_reactor
from twisted.internet.task import react

from benchmarks.crawl import ASYNCIO, ListSpider, NewsSpider, cpu
from benchmarks.crawl_sites import PART, serve
from benchmarks.results import add_json_option, write_results
from dedupcrawl import Addon
from tests.crawl.site import Site, index, plain, text
from tests.stores.servers import Cluster, Server, binaries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

BAR = 1.05  #: CPU time with the feed, relative to that of ``item_scraped``
MODES = (ITEMS, FEED) = ("item_scraped", "auto")
ME = (sys.executable, "-m", "benchmarks.feeds")
CPU_PAGES = 4 * PART
STORES = ("lmdb", "valkey")  #: ``--stores`` takes ``cluster`` too
STORIES = 100
PATIENCE = 600.0  #: seconds for a crawl
_SETTINGS = """
SPIDER_MODULES = ["news"]
ADDONS = {"dedupcrawl.Addon": 500}
DOWNLOAD_DELAY = 0.02
CONCURRENT_REQUESTS_PER_DOMAIN = 4
LOG_LEVEL = "INFO"
TELNETCONSOLE_ENABLED = False
"""
_SPIDER = """
from scrapy import Spider


class News(Spider):
    name = "news"
    start_urls = ["START"]

    def parse(self, response):
        body = "\\n".join(response.css("article p::text").getall())
        if body:
            yield {"url": response.url, "title": response.css("h1::text").get(), "body": body}
        yield from response.follow_all(css="a.follow", callback=self.parse)
"""


@contextmanager
def store_of(kind: str, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty store."""
    if kind == "lmdb":
        yield f"lmdb://{folder}/store-{uuid4().hex}"
        return
    server = Cluster(replicas=0) if kind == "cluster" else Server(binaries()[kind])
    try:
        yield server.start().url
    finally:
        server.remove()


# -- kills ----------------------------------------------------------------------------------------

#: The feeds of the crawl that is killed, and of the next one.
WAYS = {
    "appended": (("-o", "stories.jsonl"), ("-o", "stories.jsonl")),
    "new": (("-o", "first.jsonl"), ("-o", "second.jsonl")),
    "overwritten": (("-O", "stories.jsonl"), ("-O", "stories.jsonl", "-s", "DEDUP_ON_OVERWRITE=close")),
}


class Project:
    """A Scrapy project with default settings, which crawls a site of stories.

    Args:
        folder: of the project; it is created.
        site: has the stories.
        store: ``DEDUP_STORE``.
    """

    def __init__(self, folder: Path, site: Site, store: str) -> None:
        self._folder, self._site, self._store = folder, site, store
        self._log = folder / "log.txt"
        self._namespace = uuid4().hex
        urls = [site.put(f"/{n}", plain(f"T{n}", text(n))) for n in range(STORIES)]
        folder.mkdir()
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n")
        (folder / "project_settings.py").write_text(_SETTINGS)
        (folder / "news.py").write_text(_SPIDER.replace("START", site.put("/", index(*urls))))

    def run(self, way: str, chance: random.Random) -> dict[str, int]:
        """Kill a crawl and run another one; return how many stories are in no file then, and how many are again."""
        first, second = WAYS[way]
        request = self._kill_at_random(first, chance)
        left = len(set(self._stored()))
        if self._start(second).wait(PATIENCE):
            raise SystemExit(f"A crawl has failed:\n{self._log.read_text()}")
        stored = self._stored()
        lost = STORIES - len(set(stored))
        return {"request": request, "left": left, "lost": lost, "again": len(stored) - STORIES + lost}

    def _kill_at_random(self, feed: Sequence[str], chance: random.Random) -> int:
        """Kill a crawl shortly after a random request; return its number. If the crawl has ended, draw again."""
        while True:
            request, delay = chance.randint(2, STORIES + 1), chance.uniform(0, 1)
            crawl, fatal = self._start(feed), len(self._site.asked) + request
            timer = threading.Timer(delay, crawl.kill)
            self._site.on_request = lambda count, at=fatal, timer=timer: timer.start() if count == at else None
            ended = crawl.wait(PATIENCE)
            self._site.on_request = None
            if ended == -signal.SIGKILL:
                return request
            timer.cancel()
            self._namespace = uuid4().hex
            for path in self._folder.glob("*.jsonl"):
                path.unlink()

    def _start(self, feed: Sequence[str]) -> subprocess.Popen[bytes]:
        shared = ("-s", f"DEDUP_STORE={self._store}", "-s", f"DEDUP_NAMESPACE={self._namespace}")
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "scrapy", "crawl", "news", *feed, *shared]
            return subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log)

    def _stored(self) -> list[str]:
        """Return the titles of the items in all files, except of those that were cut off."""
        lines = (line for path in self._folder.glob("*.jsonl") for line in path.read_text().splitlines())
        return [json.loads(line)["title"] for line in lines if line.endswith("}")]


def measure_kills(rounds: int, stores: Sequence[str], seed: int) -> dict[str, Any]:
    """Run the rounds with each store, and print each; return the sums."""
    sums = {}
    for kind in stores:
        chance, found = random.Random(seed), []
        with tempfile.TemporaryDirectory() as folder, store_of(kind, Path(folder)) as store:
            for number in range(rounds):
                way = list(WAYS)[number % len(WAYS)]
                with Site() as site:
                    outcome = Project(Path(folder, f"project-{number}"), site, store).run(way, chance)
                found.append(outcome)
                print(f"{kind:7} {way:12}", ", ".join(f"{name} {value}" for name, value in outcome.items()), flush=True)
        sums[kind] = {name: sum(each[name] for each in found) for name in ("left", "lost", "again")}
        sums[kind]["kills"] = rounds
    return sums


# -- memory ---------------------------------------------------------------------------------------


class GeneratedPages:
    """A download handler that generates a page for each number."""

    lazy = False

    @classmethod
    def from_crawler(cls, _: Crawler) -> GeneratedPages:
        """Return a handler."""
        return cls()

    async def download_request(self, request: Request) -> HtmlResponse:
        """Return the page."""
        number = int(request.url.rpartition("/")[2])
        return HtmlResponse(request.url, body=plain(f"T{number}", text(number)).encode(), request=request)

    async def close(self) -> None:
        """Do nothing."""


class MeasuredSpider(NewsSpider):
    """Measures the process when all pages are scraped."""

    pages = 0

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.resident, self.ended = 0, 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Connect the signal."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.spider_idle, signals.spider_idle)
        return spider

    async def start(self) -> Any:
        """Request all pages."""
        for number in range(self.pages):
            yield Request(f"generated://pages/{number}")

    def spider_idle(self) -> None:
        """Measure: no feed is closed yet."""
        self.resident, self.ended = resident_bytes(), time.monotonic()


def resident_bytes() -> int:
    """Return the memory of this process without files that it shares, such as that of LMDB."""
    gc.collect()
    resident, shared = map(int, Path("/proc/self/statm").read_text().split()[1:3])
    return (resident - shared) * resource.getpagesize()


def settings_of(mode: str, store: str, folder: Path) -> dict[str, object]:
    """Return the settings of a crawl whose items are stored in a feed of this folder."""
    return {
        "ADDONS": {Addon: 500},
        "DEDUP_STORE": store,
        "DEDUP_COMMIT": mode,
        "FEEDS": {str(folder / f"{uuid4().hex}.jsonl"): {"format": "jsonlines"}},
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
    }


@deferred_f_from_coro_f
async def crawl_generated(_: object, mode: str, store: str, pages: int) -> None:
    """Crawl generated pages, and print the memory, and the seconds after the last page."""
    with tempfile.TemporaryDirectory() as folder:
        handlers = {"DOWNLOAD_HANDLERS": {"generated": GeneratedPages}}
        crawler = Crawler(MeasuredSpider, Settings({**settings_of(mode, store, Path(folder)), **handlers}))
        await crawler.crawl_async(pages=pages)
    ended, spider = time.monotonic(), crawler.spider
    assert isinstance(spider, MeasuredSpider)
    assert crawler.stats.get_value("dedup/kept") == pages, crawler.stats.get_stats()
    print(json.dumps({"bytes": spider.resident, "seconds": ended - spider.ended}))


def measure_memory(pages: int, stores: Sequence[str]) -> dict[str, Any]:
    """Crawl with each store in both ways, each in a process of its own, and print the figures."""
    found: dict[str, Any] = {"pages": pages}
    for kind in stores:
        with tempfile.TemporaryDirectory() as folder:
            of_mode = {}
            for mode in MODES:
                with store_of(kind, Path(folder)) as store:
                    of_mode[mode] = run_child("memory", mode, store, str(pages))
        added, seconds = (of_mode[FEED]["bytes"] - of_mode[ITEMS]["bytes"]) / pages, of_mode[FEED]["seconds"]
        found[kind] = {"bytes per waiting page": added, "seconds to commit all": seconds}
        print(f"{kind:7} {added:.0f} bytes for each page that waits; {seconds:.2f} s after the last page", flush=True)
    return found


# -- CPU time -------------------------------------------------------------------------------------


@deferred_f_from_coro_f
async def take_turns(_: object, base: str, kind: str, pages: int) -> None:
    """Crawl the site in both ways, part by part, and print the CPU seconds of each."""
    spent: dict[str, list[float]] = {mode: [] for mode in MODES}

    async def crawl(mode: str, store: str, numbers: Iterable[int]) -> float:
        crawler, began = Crawler(ListSpider, Settings(settings_of(mode, store, Path(folder)))), []

        def begin() -> None:
            began.append(cpu())

        crawler.signals.connect(begin, signals.spider_opened)
        urls = [f"{base}/{number}" for number in numbers]
        await crawler.crawl_async(urls=urls)
        assert crawler.stats.get_value("dedup/kept") == PART, crawler.stats.get_stats()  # links stay within a part
        return cpu() - began[0]

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for mode in MODES:  # loads modules, models and tables
            await crawl(mode, stack.enter_context(store_of(kind, Path(folder))), range(PART))
        stores = {mode: stack.enter_context(store_of(kind, Path(folder))) for mode in MODES}
        for first in range(0, pages, PART):
            for mode in MODES if first // PART % 2 else reversed(MODES):
                spent[mode].append(await crawl(mode, stores[mode], range(first, first + PART)))
    print(json.dumps(spent))


def measure_cpu(rounds: int, stores: Sequence[str], pages: int) -> dict[str, float]:
    """Compare both ways with each store, and print the ratios."""
    ratios = {}
    with subprocess.Popen([*ME, "--child", "serve", str(pages)], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        base = f"http://127.0.0.1:{json.loads(server.stdout.readline())['port']}"
        try:
            for kind in stores:
                turns = [run_child("cpu", base, kind, str(pages)) for _ in range(rounds)]
                pairs = [pair for each in turns for pair in zip(each[FEED], each[ITEMS], strict=True)]
                ratios[kind] = statistics.median(feed / items for feed, items in pairs)
                ms = [1000 * statistics.median(side) / PART for side in zip(*pairs, strict=True)]
                print(f"{kind:7} {ms[0]:.2f} ms per page with the feed, {ms[1]:.2f} without: {ratios[kind]:.3f}")
        finally:
            server.kill()
    return ratios


# -- the command ----------------------------------------------------------------------------------


def run_child(*arguments: str) -> Any:
    """Run a part of this program in a process of its own; return what it prints last."""
    out = subprocess.run([*ME, "--child", *arguments], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out.splitlines()[-1])


def be_child(part: str, *arguments: str) -> None:
    """Do what :func:`run_child` asks for."""
    if part == "serve":
        serve(int(arguments[0]))
        return
    install_reactor(ASYNCIO)
    first, second, pages = arguments
    react(crawl_generated if part == "memory" else take_turns, (first, second, int(pages)))


def main() -> int:
    """Measure; return 1 if a story is missing or the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="kills, memory or cpu; default: all")
    parser.add_argument("--rounds", type=int, default=10, help="of kills; of cpu a quarter")
    parser.add_argument("--pages", type=int, default=20_000, help="of memory")
    parser.add_argument("--stores", nargs="+", choices=(*STORES, "cluster"), default=STORES)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    add_json_option(parser)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        be_child(*asked.child)
        return 0
    parts = asked.parts or ["kills", "memory", "cpu"]
    if unknown := {*parts} - {"kills", "memory", "cpu"}:
        parser.error(f"PART = {', '.join(sorted(unknown))} is not accepted: kills, memory or cpu")
    kills = measure_kills(asked.rounds, asked.stores, asked.seed) if "kills" in parts else {}
    memory = measure_memory(asked.pages, asked.stores) if "memory" in parts else {}
    ratios = measure_cpu(max(1, asked.rounds // 4), asked.stores, CPU_PAGES) if "cpu" in parts else {}
    write_results(asked.json, "feeds", ratios=ratios, figures={"kills": kills, "memory": memory})
    lost = sum(each["lost"] for each in kills.values())
    is_missed = lost > 0 or max(ratios.values(), default=0) > BAR
    print(f"{'MISSED' if is_missed else 'ok'}: {lost} stories lost (bar: 0); ratios of CPU time {ratios} (bar: {BAR})")
    return int(is_missed)


if __name__ == "__main__":
    raise SystemExit(main())
