"""The cost of deduplication in a crawl: ``python benchmarks/crawl.py [--rounds N] [--pages N]``.

A server process serves a site of generated pages of about 20 kB. All pages are different, which is the most
expensive case: every page is read, sketched, claimed and committed. A spider extracts title and body by CSS
and follows links. It crawls the site in three modes:

* *off*: without the add-on;
* *shell*: with the add-on, but without reading pages and without a store;
* *on*: with the add-on and its defaults, into a new LMDB store.

A round is a new process that crawls the whole site in each mode, a part at a time, the modes taking turns: on
a machine with other load, the CPU time of long crawls varies by a third. The figure is CPU time (user +
system) per page, from the opening of the spider to the end of its crawl. The cost is the median over the
rounds of the difference from *off*.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from functools import cache, cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.reactor import install_reactor
from twisted.internet.task import react

from dedupcrawl import Addon, Claim, Config, Page, Status, Verdict
from dedupcrawl.crawl.claims import ClaimManager
from dedupcrawl.crawl.context import CrawlContext
from dedupcrawl.crawl.items import ResponseTracker
from dedupcrawl.crawl.recorder import PageRecorder
from dedupcrawl.crawl.responses import PageJudge, ResponseReader
from dedupcrawl.crawl.settings import Options
from dedupcrawl.crawl.stats import CrawlStats
from dedupcrawl.crawl.store_client import StoreClient
from dedupcrawl.stores.base import Record, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.http import Response

    from dedupcrawl.detectors.base import Opinion

BAR = 1.0  #: bar: additional ms of CPU per page
MODES = ("off", "shell", "on")
LINKS = 10
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


def serve(pages: int, delay: float = 0.0) -> None:
    """Serve the site, each response after ``delay`` seconds; print the port."""
    bodies = [page(number) for number in range(pages)]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            time.sleep(delay)
            name = self.path[1:]
            body = bodies[int(name)] if name.isdigit() and int(name) < pages else b"not here"
            self.send_response(200 if name.isdigit() else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    mean = sum(map(len, bodies)) / len(bodies)
    print(json.dumps({"port": server.server_address[1], "bytes": round(mean)}), flush=True)
    server.serve_forever()


# -- the crawl ------------------------------------------------------------------------------------


class NewsSpider(Spider):
    """Extracts title and body and follows links."""

    name = "daily"
    start_url = ""

    async def start(self) -> Any:
        """Begin at the first page."""
        from scrapy import Request  # noqa: PLC0415

        yield Request(self.start_url)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the article and its links."""
        yield {
            "url": response.url,
            "title": response.css("h1::text").get(),
            "body": "\n".join(response.css("article p::text").getall()),
        }
        for link in response.css("a.next::attr(href)").getall():
            yield response.follow(link)


class NullDeduplicator:
    """A deduplicator for which every page is new."""

    config = Config()
    store = Store
    scheme = ""

    def __init__(self) -> None:
        self._ids = count(1)

    def file(self, page: Page, **_: object) -> Record:
        """Return a record with nothing but the URL."""
        return Record(page.url, (), (), 0.0)

    def claim_record(self, record: Record, url: str, **_: object) -> Claim:
        """Claim without a lookup."""
        verdict = Verdict(url, Status.UNIQUE, keep=True)
        return Claim(verdict, self, next(self._ids), record)  # type: ignore[arg-type]

    def opinions(self, *_: object) -> tuple[Opinion, ...]:
        """Return no opinion."""
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


async def crawl(mode: str, url: str, store: str) -> tuple[float, int]:
    """Crawl a part of the site; return the CPU seconds it took and the pages kept."""
    addons = {"off": {}, "shell": {NullAddon: 500}, "on": {Addon: 500}}[mode]
    settings = {
        "ADDONS": addons,
        "DEDUP_STORE": store,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
    }
    crawler = Crawler(NewsSpider, Settings(settings))
    began: list[float] = []

    def begin() -> None:
        began.append(cpu())

    crawler.signals.connect(begin, signals.spider_opened)
    await crawler.crawl_async(start_url=url)
    spent = cpu() - began[0]
    stats = crawler.stats
    kept: int = stats.get_value("item_scraped_count" if mode == "off" else "dedup/kept", 0)
    return spent, kept


@deferred_f_from_coro_f
async def take_turns(_: object, base: str, parts: int) -> None:
    """Crawl the site in all three ways, part by part, and print the cost of each."""
    spent, kept = dict.fromkeys(MODES, 0.0), dict.fromkeys(MODES, 0)
    with tempfile.TemporaryDirectory() as folder:
        for part in range(parts):
            for mode in (*MODES[part % 3 :], *MODES[: part % 3]):
                seconds, pages = await crawl(mode, f"{base}/{part * PART}", f"lmdb://{folder}/store")
                spent[mode] += seconds
                kept[mode] += pages
    print(json.dumps({"cpu": spent, "kept": kept}))


def cpu() -> float:
    """Return the CPU seconds of this process, user and system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# -- the comparison -------------------------------------------------------------------------------


def compare(rounds: int, pages: int) -> dict[str, Any]:
    """Measure rounds; return milliseconds per page."""
    spent: dict[str, list[float]] = {mode: [] for mode in MODES}
    me = [sys.executable, __file__, "--pages", str(pages)]
    with subprocess.Popen([*me, "--serve"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        site = json.loads(server.stdout.readline())
        try:
            for _ in range(rounds):
                command = [*me, "--crawl", f"http://127.0.0.1:{site['port']}"]
                result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
                assert result["kept"] == dict.fromkeys(MODES, pages), result
                for mode, seconds in result["cpu"].items():
                    spent[mode].append(1000 * seconds / pages)
        finally:
            server.kill()
    return report(spent, pages, site["bytes"])


def report(spent: dict[str, list[float]], pages: int, size: int) -> dict[str, Any]:
    """Print the medians over the rounds, and the minimum of each mode."""
    off = spent["off"]
    added = {mode: [one - other for one, other in zip(spent[mode], off, strict=True)] for mode in MODES[1:]}
    median = {mode: round(statistics.median(figures), 3) for mode, figures in added.items()}
    return {
        "pages": pages,
        "bytes_per_page": size,
        "rounds": len(off),
        "ms_per_page": {mode: round(statistics.median(figures), 3) for mode, figures in spent.items()},
        "ms_added": median,
        "ms_added_by_round": {mode: [round(each, 3) for each in figures] for mode, figures in added.items()},
        "ms_added_least_to_least": {mode: round(min(spent[mode]) - min(off), 3) for mode in MODES[1:]},
        "bar": BAR,
        "holds": median["on"] <= BAR,
    }


def main() -> None:
    """Compare, or run as one of the subprocesses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--crawl", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.pages % PART:
        parser.error(f"--pages {asked.pages} is not accepted: a multiple of {PART}")
    if asked.serve:
        serve(asked.pages)
    elif asked.crawl:
        install_reactor(ASYNCIO)
        react(take_turns, (asked.crawl, asked.pages // PART))
    else:
        print(json.dumps(compare(asked.rounds, asked.pages), indent=2))


if __name__ == "__main__":
    main()
