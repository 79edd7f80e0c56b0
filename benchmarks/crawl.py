"""The cost of deduplication in a crawl: ``python -m benchmarks.crawl [--site NAME] [--rounds N] [--count N]``.

A server process serves one of these sites:

* *texts*: articles of 600 words on pages of 20 kB, all different: every page is read, sketched, claimed and committed;
* *template*: a catalogue whose pages share nine tenths of their text: each has many candidates, which are siblings;
* *forum*: threads of five posts, with the signatures of 40 members;
* *recrawl*: the pages of *texts* once more, when a crawl before has filed them: all are dropped as ``unchanged``;
* *known*: the same when two crawls came before: now the store knows the bytes of the pages, which are not read;
* *pages*: the labelled pages, or those of ``--folder``. Without the folder the benchmark says so, and does nothing.

``--before`` is the number of crawls that came before, for any site: *pages* with 2 are real pages that did not change.

Two spiders crawl them: *css* extracts title and body by CSS, so the add-on reads the tree that Scrapy has parsed;
*plain* yields the URL alone, so the add-on parses the page itself. The spiders run in these ways:

* *off*: without the add-on;
* *frozen*: without the add-on, but existing objects are frozen as ``DEDUP_GC_FREEZE`` does it;
* *parsed*: as *frozen*, and each page is parsed: what *plain* pays before anything of a page is read;
* *shell*: with the add-on, but without reading and fingerprinting pages, and without a store;
* *on*: with the add-on and its defaults, into an LMDB store;
* *unfrozen*: as *on*, with ``DEDUP_GC_FREEZE = False``;
* *reading*: as *on*, but all pages are read, whatever the store knows of their bytes;
* *memoryless*: as *on*, with ``DEDUP_SITE_MEMORY = False``;
* *naive*: with an item pipeline of 25 lines that extracts the text with trafilatura and compares it with datasketch.

So *on* − *off* is what a crawl pays; *on* − *frozen* is the add-on's own work, with the freeze on both sides;
*unfrozen* − *off* is that work without a freeze on either side; *frozen* − *off* is what the freeze alone saves
(negative); *parsed* − *frozen* is the part of parsing.

A round is a new process that crawls all pages in each way, a part at a time, the ways taking turns: on a machine with
other load, the CPU time of long crawls varies by a third. The figure is CPU time (user + system) per page, from the
opening of the spider to the end of its crawl, the median of the parts of all rounds. Differences are those of the same
part of the same round, and their median counts; ratios are these over *off*. Exit code 1 if the bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.reactor import install_reactor
from twisted.internet.task import react

from benchmarks.crawl_shell import NullAddon, ReadingAddon
from benchmarks.crawl_sites import GENERATED, LABELLED_PAGES, PART, REAL, page, serve
from benchmarks.results import add_json_option, write_results
from dedupcrawl import Addon
from dedupcrawl.utils.resources import FrozenHeap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy.http import Response

MODES = ("off", "frozen", "parsed", "shell", "on", "reading", "unfrozen", "memoryless", "naive")
WITH_ADDON = frozenset({"on", "reading", "unfrozen", "memoryless"})
SPIDERS = ("css", "plain")
ADDONS: Mapping[str, Mapping[type[Addon], int]] = {"shell": {NullAddon: 500}, "reading": {ReadingAddon: 500}}
WARM_UP = 8  #: pages that are crawled in each way before the time is measured
ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
#: What is measured: a way, and the way that it is compared with.
DIFFERENCES = {
    "added": ("on", "off"),
    "own work": ("on", "frozen"),
    "own work, nothing frozen": ("unfrozen", "off"),
    "freeze": ("frozen", "off"),
    "site memory": ("on", "memoryless"),
    "known bytes": ("on", "reading"),
    "own work, all read": ("reading", "frozen"),
    "parsing": ("parsed", "frozen"),
    "shell": ("shell", "frozen"),
    "naive": ("naive", "off"),
}


@dataclass(frozen=True)
class Crawled:
    """What is crawled of a site unless options name something else."""

    count: int  #: number of pages
    spiders: Sequence[str]
    modes: Sequence[str]
    bars: Mapping[str, float]  #: by ratio: the most that it may be
    before: int = 0  #: crawls of the same pages that came before


USUAL = ("off", "frozen", "on", "unfrozen")
SITES = {
    "texts": Crawled(1000, SPIDERS, [mode for mode in MODES if mode != "reading"], {"css: added/off": 0.10}),
    "template": Crawled(1000, ("css",), USUAL, {"css: added/off": 0.25}),
    "forum": Crawled(500, ("css",), USUAL, {}),
    "recrawl": Crawled(500, SPIDERS, ("off", "frozen", "parsed", "on", "unfrozen"), {}, before=1),
    "known": Crawled(500, SPIDERS, ("off", "frozen", "parsed", "on", "reading", "unfrozen"), {}, before=2),
    REAL: Crawled(250, SPIDERS, ("off", "frozen", "parsed", "on", "unfrozen", "naive"), {}),
}


# -- the crawl ------------------------------------------------------------------------------------


class NewsSpider(Spider):
    """Extracts title and body and follows links."""

    name = "daily"
    start_url = ""
    gives_html = False  #: whether items contain their page, for the naive pipeline
    parses = False  #: whether each page is parsed, whatever is extracted

    async def start(self) -> Any:
        """Begin at the first page."""
        yield Request(self.start_url)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the article and its links."""
        yield self.item(
            response, title=response.css("h1::text").get(), body="\n".join(response.css("article p::text").getall())
        )
        for link in response.css("a.next::attr(href)").getall():
            yield response.follow(link)

    def item(self, response: Response, **fields: object) -> dict[str, object]:
        """Return the item of a page."""
        if self.parses:
            response.xpath(".")
        html = {"html": response.text} if self.gives_html else {}
        return {"url": response.url, **fields, **html}


class ListSpider(NewsSpider):
    """Extracts title and body of given pages."""

    urls: Sequence[str] = ()

    async def start(self) -> Any:
        """Request all pages."""
        for url in self.urls:
            yield Request(url)


class PlainSpider(ListSpider):
    """Extracts nothing: the response is not parsed."""

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the URL."""
        yield self.item(response)


class FreezingPipeline:
    """Freezes existing objects during the crawl, as the add-on does."""

    def __init__(self) -> None:
        self._heap = FrozenHeap()

    def open_spider(self) -> None:
        """Freeze."""
        self._heap.freeze()

    def close_spider(self) -> None:
        """Undo it."""
        self._heap.unfreeze()

    def process_item(self, item: Any) -> Any:
        """Return the item."""
        return item


class NaivePipeline:
    """Extracts the text with trafilatura, and drops near-duplicates by datasketch's index in memory."""

    def __init__(self) -> None:
        from datasketch import MinHashLSH  # noqa: PLC0415  # the other ways do not pay for it

        self._index = MinHashLSH(threshold=0.8, num_perm=128)
        self._seen: dict[str, Any] = {}

    def process_item(self, item: Any) -> Any:
        """Return the item without its page, unless it is a near-duplicate."""
        import trafilatura  # noqa: PLC0415
        from datasketch import MinHash  # noqa: PLC0415

        from benchmarks.peers import SLOTS, THRESHOLD, cut  # noqa: PLC0415

        shingles = cut(trafilatura.extract(item.pop("html")) or "")
        sketch = MinHash(SLOTS)
        sketch.update_batch([shingle.encode() for shingle in shingles])
        if shingles and any(self._seen[hit].jaccard(sketch) >= THRESHOLD for hit in self._index.query(sketch)):
            raise DropItem("a near-duplicate")
        self._seen[item["url"]] = sketch
        self._index.insert(item["url"], sketch)
        return item


async def crawl(mode: str, spider: type[Spider], store: str, **arguments: object) -> tuple[float, int]:
    """Crawl a part of the site; return the CPU seconds it took and the number of items."""
    freezing = {FreezingPipeline: 300}
    settings = {
        "ADDONS": ADDONS.get(mode, {Addon: 500} if mode in WITH_ADDON else {}),
        "ITEM_PIPELINES": {"frozen": freezing, "parsed": freezing, "naive": {NaivePipeline: 300}}.get(mode, {}),
        "DEDUP_STORE": store,
        "DEDUP_GC_FREEZE": mode != "unfrozen",
        "DEDUP_SITE_MEMORY": mode != "memoryless",
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",  # each crawl of another part warns of its dropped pages
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
    }
    gc.collect()  # a full collection takes as long as 20 pages: no way pays for the objects of another one
    crawler = Crawler(spider, Settings(settings))
    began: list[float] = []

    def begin() -> None:
        began.append(cpu())

    crawler.signals.connect(begin, signals.spider_opened)
    await crawler.crawl_async(gives_html=mode == "naive", parses=mode == "parsed", **arguments)
    spent = cpu() - began[0]
    stats = crawler.stats
    assert not stats.get_value("dedup/errors"), stats.get_stats()
    assert not stats.get_value("dedup/store_errors"), stats.get_stats()
    items: int = stats.get_value("item_scraped_count", 0) + stats.get_value("item_dropped_count", 0)
    return spent, items


@dataclass(frozen=True)
class Plan:
    """What a round crawls."""

    base: str  #: URL of the server
    pages: int
    site: str
    spider: str
    modes: Sequence[str]
    before: int  #: crawls of the same pages that came before

    @property
    def parts(self) -> list[range]:
        """The numbers of the pages of each part."""
        return [range(first, min(first + PART, self.pages)) for first in range(0, self.pages, PART)]

    async def crawl(self, mode: str, part: range, store: str) -> tuple[float, int]:
        """Crawl a part; return the CPU seconds it took and the number of items."""
        if self.spider == "css" and self.site in GENERATED and not self.before:
            return await crawl(mode, NewsSpider, store, start_url=f"{self.base}/{part[0]}")
        kind = ListSpider if self.spider == "css" else PlainSpider
        return await crawl(mode, kind, store, urls=[f"{self.base}/{number}" for number in part])


@deferred_f_from_coro_f
async def take_turns(_: object, plan: Plan) -> None:
    """Crawl the site in all ways, part by part, and print the CPU seconds of each."""
    spent: dict[str, list[float]] = {mode: [] for mode in plan.modes}
    with tempfile.TemporaryDirectory() as folder:
        for mode in plan.modes:  # loads modules, models and tables
            await crawl(mode, ListSpider, f"lmdb://{folder}/first", urls=[f"{plan.base}/{n}" for n in range(WARM_UP)])
        for number, part in enumerate(plan.parts):
            first = number % len(plan.modes)
            for mode in (*plan.modes[first:], *plan.modes[:first]):
                store = f"lmdb://{folder}/{mode}"
                for _ in range(plan.before if mode in WITH_ADDON else 0):
                    await plan.crawl(mode, part, store)
                seconds, items = await plan.crawl(mode, part, store)
                assert items == len(part), (mode, items)
                spent[mode].append(seconds)
    print(json.dumps(spent))


def cpu() -> float:
    """Return the CPU seconds of this process, user and system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# -- the comparison -------------------------------------------------------------------------------


def compare(asked: argparse.Namespace) -> tuple[dict[str, Any], dict[str, float]]:
    """Measure rounds with each spider; return milliseconds per page, and ratios."""
    me = [sys.executable, "-m", "benchmarks.crawl", "--site", asked.site, "--modes", *asked.modes]
    folder = ["--folder", str(asked.folder)] if asked.site == REAL else []
    rounds: dict[str, list[dict[str, list[float]]]] = {spider: [] for spider in asked.spiders}
    server_command = [*me, *folder, "--count", str(asked.count), "--serve"]
    with subprocess.Popen(server_command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        site = json.loads(server.stdout.readline())
        me += [
            *folder,
            "--before",
            str(asked.before),
            "--count",
            str(site["pages"]),
            "--crawl",
            f"http://127.0.0.1:{site['port']}",
        ]
        try:
            for _ in range(asked.rounds):
                for spider in asked.spiders:
                    out = subprocess.run([*me, "--spiders", spider], stdout=subprocess.PIPE, check=True).stdout
                    rounds[spider].append(json.loads(out))
        finally:
            server.kill()
    found = {spider: costs(of_spider, site["pages"]) for spider, of_spider in rounds.items()}
    ratios: dict[str, float] = {}
    for spider, each in found.items():
        ratios |= {f"{spider}: {name}/off": ms / each["ms_per_page"]["off"] for name, ms in each["ms"].items()}
        if "parsing" in each["ms"]:
            ratios[f"{spider}: parsing/own work"] = each["ms"]["parsing"] / each["ms"]["own work"]
    return {"pages": site["pages"], "bytes_per_page": site["bytes"], "rounds": asked.rounds, **found}, ratios


def costs(rounds: Sequence[Mapping[str, Sequence[float]]], pages: int) -> dict[str, dict[str, float]]:
    """Return milliseconds of CPU per page by way, and the differences that were measured: medians of all turns.

    Args:
        rounds: for each round and way, the CPU seconds of each part.
        pages: number of pages of the site.
    """
    sizes = [min(PART, pages - first) for first in range(0, pages, PART)]
    spent = {
        mode: [1000 * seconds / size for each in rounds for seconds, size in zip(each[mode], sizes, strict=True)]
        for mode in rounds[0]
    }
    differences = {
        name: statistics.median(more - less for more, less in zip(spent[way], spent[other], strict=True))
        for name, (way, other) in DIFFERENCES.items()
        if way in spent and other in spent
    }
    return {
        "ms_per_page": {mode: round(statistics.median(turns), 3) for mode, turns in spent.items()},
        "ms": {name: round(ms, 3) for name, ms in differences.items()},
    }


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options, with those of the site where none are given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--site", choices=SITES, default="texts")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--count", type=int, help="number of pages; of a folder at most")
    parser.add_argument(
        "--folder", type=Path, default=LABELLED_PAGES, help="real pages (*.html.gz, also in subfolders)"
    )
    parser.add_argument("--before", type=int, help="crawls of the same pages that came before")
    parser.add_argument("--spiders", nargs="+", choices=SPIDERS)
    parser.add_argument("--modes", nargs="+", choices=MODES, help="the first one is off")
    add_json_option(parser)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--crawl", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    usual = SITES[asked.site]
    for name in ("count", "spiders", "modes", "before"):
        if getattr(asked, name) is None:
            setattr(asked, name, getattr(usual, name))
    if asked.site in GENERATED and asked.count % PART:
        parser.error(f"--count {asked.count} is not accepted: a multiple of {PART}, for links stay within a part")
    if asked.modes[0] != "off":
        parser.error("--modes is not accepted: the first one is off")
    return asked


def main() -> int:
    """Compare, or run as one of the subprocesses; return 1 if a bar is missed."""
    asked = options()
    if asked.site == REAL and not any(asked.folder.rglob("*.html.gz")):
        print(f"skipped: no real pages (*.html.gz) in {asked.folder}; --folder names another folder")
        return 0
    if asked.serve:
        serve(asked.count, make=GENERATED.get(asked.site, page), folder=asked.folder if asked.site == REAL else None)
        return 0
    if asked.crawl:
        install_reactor(ASYNCIO)
        react(take_turns, (Plan(asked.crawl, asked.count, asked.site, asked.spiders[0], asked.modes, asked.before),))
    found, ratios = compare(asked)
    print(json.dumps({**found, "ratios": {name: round(ratio, 3) for name, ratio in ratios.items()}}, indent=2))
    name = "crawl" if asked.site == "texts" else f"crawl_{asked.site}"
    write_results(asked.json, name, ratios=ratios, figures=found)
    missed = False
    for name, bar in SITES[asked.site].bars.items():
        if name in ratios:
            missed |= ratios[name] > bar
            print(f"{'ok    ' if ratios[name] <= bar else 'MISSED'} {name} {ratios[name]:.3f} (bar: {bar})")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
