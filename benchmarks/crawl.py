"""The cost of deduplication in a crawl: ``python -m benchmarks.crawl [--rounds N] [--count N] [--pages [FOLDER]]``.

A server process serves pages: generated ones of about 20 kB, or those of a folder (``*.html.gz``; without a name the
labelled ones). All generated pages
are different, which is the most expensive case: every page is read, sketched, claimed and committed. Two spiders
crawl them: *css* extracts title and body by CSS, so the add-on reads the tree that Scrapy has parsed; *plain* yields
the URL alone, so the add-on parses the page itself. The spiders run in five ways:

* *off*: without the add-on;
* *empty*: with an item pipeline that does nothing;
* *shell*: with the add-on, but without reading and fingerprinting pages, and without a store;
* *on*: with the add-on and its defaults, into a new LMDB store;
* *naive*: with an item pipeline of 25 lines that extracts the text with trafilatura and compares it with datasketch.

A round is a new process that crawls all pages in each way, a part at a time, the ways taking turns: on a machine with
other load, the CPU time of long crawls varies by a third. The figure is CPU time (user + system) per page, from the
opening of the spider to the end of its crawl, the median of the parts of all rounds. The cost is the median difference
from *off* in the same part of the same round; ratios are this difference over *off*. Exit code 1 if the bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache, cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.reactor import install_reactor
from twisted.internet.task import react

from benchmarks.results import add_json_option, write_results
from dedupcrawl import Addon, Claim, Config, Page, Status, Verdict
from dedupcrawl.crawl.claims import ClaimManager
from dedupcrawl.crawl.context import CrawlContext
from dedupcrawl.crawl.items import PageRecorder, ResponseTracker
from dedupcrawl.crawl.responses import PageJudge, ResponseReader
from dedupcrawl.crawl.settings import Options
from dedupcrawl.crawl.stats import CrawlStats
from dedupcrawl.crawl.store_client import StoreClient
from dedupcrawl.filing import LeaseMonitor
from dedupcrawl.stores.base import Record
from tests.data import LABELLED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy.http import Response

    from dedupcrawl.detectors.base import Assessment

BAR = 0.10  #: bar: CPU added to a crawl of generated pages with the spider *css*, as a share of Scrapy's own
MODES = ("off", "empty", "shell", "on", "naive")
SPIDERS = ("css", "plain")
LINKS = 10
WARM_UP = 8  #: pages that are crawled in each way before the time is measured
PART = 250  #: pages per turn; links stay within their part
ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"

# -- the site -------------------------------------------------------------------------------------


def page(number: int) -> bytes:
    """Generate a page of about 20 kB: an article of 600 words, and the navigation around it."""
    chance = random.Random(number)
    part = number - number % PART
    title = sentence(chance, 7)
    story = "".join(f"<p>{' '.join(sentence(chance, 15) for _ in range(4))}</p>\n" for _ in range(10))
    onward = "".join(
        f'<li><a class="next" href="/{part + other % PART}">{sentence(chance, 6)}</a></li>\n'
        for other in range(number * LINKS + 1, number * LINKS + 1 + LINKS)
    )
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} | The Daily</title>
<meta name="description" content="{sentence(chance, 15)}"><link rel="stylesheet" href="/style.css">
<style>{".c{color:#123;margin:0 auto;padding:1px 2px}" * 60}</style>
<script>{"window.q=window.q||[];q.push(['event',1,2,3]);" * 90}</script></head><body>
<header><div class="logo"><a href="/">The Daily</a></div><nav><ul>{menu(40)}</ul></nav></header>
<div id="wrap"><main><article><h1>{title}</h1><div class="meta">By <a href="/staff/7">A. Writer</a>
<time datetime="2024-05-01">1 May 2024</time></div>
{story}</article>
<section class="comments"><h2>Comments</h2>{comments(chance)}</section></main>
<aside class="related"><h3>Read next</h3><ul>{onward}</ul></aside></div>
<footer><ul>{menu(20)}</ul><p>All rights reserved.</p></footer></body></html>""".encode()


@cache
def vocabulary() -> list[str]:
    """Generate words of two to nine letters."""
    chance = random.Random(0)
    return ["".join(chance.choices("etaoinshrdlucmf", k=chance.randint(2, 9))) for _ in range(5000)]


def sentence(chance: random.Random, words: int) -> str:
    """Generate a sentence."""
    return " ".join(chance.choices(vocabulary(), k=words)) + "."


def menu(entries: int) -> str:
    """Generate the list of links that every page has."""
    return "".join(f'<li class="menu-item"><a href="/section/{i}">Section {i}</a></li>\n' for i in range(entries))


def comments(chance: random.Random) -> str:
    """Generate a few comments."""
    return "".join(f'<div class="comment"><b>reader{i}</b><p>{sentence(chance, 25)}</p></div>\n' for i in range(16))


def pages_of(folder: Path, most: int) -> list[bytes]:
    """Return the pages of a folder and its subfolders; if there are more than ``most``, evenly spread ones."""
    paths = sorted(folder.rglob("*.html.gz"))
    step = max(1, -(-len(paths) // most))
    return [gzip.decompress(path.read_bytes()) for path in paths[::step]]


def serve(pages: int, delay: float = 0.0, folder: Path | None = None) -> None:
    """Serve the site, each response after ``delay`` seconds; print the port, and number and mean size of the pages."""
    bodies = [page(number) for number in range(pages)] if folder is None else pages_of(folder, pages)
    kind = "text/html; charset=utf-8" if folder is None else "text/html"

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            time.sleep(delay)
            name = self.path[1:]
            body = bodies[int(name)] if name.isdigit() and int(name) < len(bodies) else b"not here"
            self.send_response(200 if name.isdigit() else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    mean = sum(map(len, bodies)) / len(bodies)
    site = {"port": server.server_address[1], "pages": len(bodies), "bytes": round(mean)}
    print(json.dumps(site), flush=True)
    server.serve_forever()


# -- the crawl ------------------------------------------------------------------------------------


class NewsSpider(Spider):
    """Extracts title and body and follows links."""

    name = "daily"
    start_url = ""
    gives_html = False  #: whether items contain their page, for the naive pipeline

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


class EmptyPipeline:
    """Does nothing."""

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


class NullDeduplicator:
    """A deduplicator for which every page is new."""

    config = Config()
    store = SimpleNamespace(remote=False, publish=lambda _: None, scraped_many=lambda _: None)
    scheme = ""
    lapses = 0

    def __init__(self) -> None:
        self._ids = count(1)
        self.lease = LeaseMonitor(self.config.lease)

    def fingerprint(self, page: Page, **_: object) -> Record:
        """Return a record with nothing but the URL."""
        return Record(page.url, (), (), 0.0)

    def fingerprint_many(self, pages: Sequence[Page], _: object) -> list[Record]:
        """Return records with nothing but the URL."""
        return [self.fingerprint(page) for page in pages]

    def claim_record(self, record: Record, url: str, **_: object) -> Claim:
        """Claim without a lookup."""
        verdict = Verdict(url, Status.UNIQUE, keep=True)
        return Claim(verdict, self, next(self._ids), record)  # type: ignore[arg-type]

    def claim_records(self, pages: Iterable[tuple[Record, str]]) -> list[Claim]:
        """Claim without a lookup."""
        return [self.claim_record(record, url) for record, url in pages]

    def assessments(self, *_: object) -> tuple[Assessment, ...]:
        """Return no assessment."""
        return ()

    def commit(self, claims: Iterable[Claim]) -> None:
        """Do nothing."""

    def renew(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class NullReader(ResponseReader):
    """A reader that does not read."""

    def read(self, response: Response) -> Page:
        """Return a page with nothing but its URL."""
        return Page(response.url, "")


class NullAddon(Addon):
    """The add-on with all its parts, but without their work."""

    @cached_property
    def context(self) -> CrawlContext:
        """Return a context that neither reads nor stores."""
        crawler = self._crawler
        options = Options.from_settings(crawler.settings, "daily")
        stats = CrawlStats(crawler)
        client = StoreClient(crawler, options, stats)
        client.connect(NullDeduplicator())  # type: ignore[arg-type]
        claims = ClaimManager(crawler, client, options, stats)
        recorder, responses = PageRecorder(), ResponseTracker()
        reader = NullReader(options.config.reading, responses, stats)
        judge = PageJudge(options, reader, claims, stats, recorder)
        return CrawlContext(options, responses, client, claims, reader, judge, stats, recorder)


async def crawl(mode: str, spider: type[Spider], store: str, **arguments: object) -> tuple[float, int]:
    """Crawl a part of the site; return the CPU seconds it took and the number of items."""
    settings = {
        "ADDONS": {"shell": {NullAddon: 500}, "on": {Addon: 500}}.get(mode, {}),
        "ITEM_PIPELINES": {"empty": {EmptyPipeline: 300}, "naive": {NaivePipeline: 300}}.get(mode, {}),
        "DEDUP_STORE": store,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
    }
    gc.collect()  # a full collection takes as long as 20 pages: no way pays for the objects of another one
    crawler = Crawler(spider, Settings(settings))
    began: list[float] = []

    def begin() -> None:
        began.append(cpu())

    crawler.signals.connect(begin, signals.spider_opened)
    await crawler.crawl_async(gives_html=mode == "naive", **arguments)
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
    is_linked: bool  #: whether the first page of a part leads to all others
    spider: str
    modes: Sequence[str]

    @property
    def parts(self) -> list[range]:
        """The numbers of the pages of each part."""
        return [range(first, min(first + PART, self.pages)) for first in range(0, self.pages, PART)]

    async def crawl(self, mode: str, part: range, store: str) -> tuple[float, int]:
        """Crawl a part; return the CPU seconds it took and the number of items."""
        if self.is_linked and self.spider == "css":
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
                seconds, items = await plan.crawl(mode, part, f"lmdb://{folder}/store")
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
    me = [sys.executable, "-m", "benchmarks.crawl", "--count", str(asked.count), "--modes", *asked.modes]
    if asked.pages:
        me += ["--pages", str(asked.pages)]
    rounds: dict[str, list[dict[str, list[float]]]] = {spider: [] for spider in asked.spiders}
    with subprocess.Popen([*me, "--serve"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        site = json.loads(server.stdout.readline())
        me[4] = str(site["pages"])
        try:
            for _ in range(asked.rounds):
                for spider in asked.spiders:
                    command = [*me, "--spiders", spider, "--crawl", f"http://127.0.0.1:{site['port']}"]
                    out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
                    rounds[spider].append(json.loads(out))
        finally:
            server.kill()
    found = {spider: added(of_spider, site["pages"]) for spider, of_spider in rounds.items()}
    ratios = {
        f"{spider}: added by {mode}/off": each["ms_added"][mode] / each["ms_per_page"]["off"]
        for spider, each in found.items()
        for mode in each["ms_added"]
    }
    return {"pages": site["pages"], "bytes_per_page": site["bytes"], "rounds": asked.rounds, **found}, ratios


def added(rounds: Sequence[dict[str, list[float]]], pages: int) -> dict[str, dict[str, float]]:
    """Return milliseconds of CPU per page by way, and what each adds to *off*: medians of all parts and rounds."""
    sizes = [min(PART, pages - first) for first in range(0, pages, PART)]
    spent = {
        mode: [1000 * seconds / size for each in rounds for seconds, size in zip(each[mode], sizes, strict=True)]
        for mode in rounds[0]
    }
    more = {
        mode: statistics.median(one - off for one, off in zip(turns, spent["off"], strict=True))
        for mode, turns in spent.items()
        if mode != "off"
    }
    return {
        "ms_per_page": {mode: round(statistics.median(turns), 3) for mode, turns in spent.items()},
        "ms_added": {mode: round(ms, 3) for mode, ms in more.items()},
    }


def main() -> int:
    """Compare, or run as one of the subprocesses; return 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--count", type=int, default=1000, help="number of pages; of a folder at most")
    parser.add_argument(
        "--pages",
        type=Path,
        nargs="?",
        const=LABELLED / "pages",
        metavar="FOLDER",
        help="real pages (*.html.gz, also in subfolders); without a folder the labelled ones",
    )
    parser.add_argument("--spiders", nargs="+", choices=SPIDERS, default=SPIDERS)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES, help="off is needed")
    add_json_option(parser)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--crawl", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.pages is None and asked.count % PART:
        parser.error(f"--count {asked.count} is not accepted: a multiple of {PART}, for links stay within a part")
    if asked.pages is not None and not any(asked.pages.rglob("*.html.gz")):
        parser.error(f"--pages {asked.pages} is not accepted: a folder with files *.html.gz")
    if asked.modes[0] != "off":
        parser.error("--modes is not accepted: the first one is off")
    if asked.serve:
        serve(asked.count, folder=asked.pages)
        return 0
    if asked.crawl:
        install_reactor(ASYNCIO)
        react(take_turns, (Plan(asked.crawl, asked.count, asked.pages is None, asked.spiders[0], asked.modes),))
    found, ratios = compare(asked)
    print(json.dumps({**found, "ratios": {name: round(ratio, 3) for name, ratio in ratios.items()}}, indent=2))
    write_results(asked.json, "crawl_pages" if asked.pages else "crawl", ratios=ratios, figures=found)
    ratio = ratios.get("css: added by on/off")
    if asked.pages is not None or ratio is None:
        return 0
    print(f"{'ok    ' if ratio <= BAR else 'MISSED'} {ratio:.3f} of Scrapy's own CPU added (bar: {BAR})")
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    raise SystemExit(main())
