"""The calls of one new page in a crawl: ``python -m benchmarks.journey [--list] [--json]``.

A spider crawls a local site, one request at a time, with the add-on, its default settings and a store in
memory. All pages are different. The last page is traced, after ``--warm`` others: modules are imported and
caches are filled by then.

What is counted:

* The trace begins when the page is downloaded (signal ``response_downloaded``), before the middlewares. It
  ends when the spider is idle (``spider_idle``): the item has passed all pipelines, and its claim is
  committed.
* A call counts if its code is in a file of the package ``dedupcrawl``. The calls come from ``sys.setprofile``
  and ``threading.setprofile``, so the threads of the crawl are traced too. Methods that ``dataclasses``
  generates belong to no file and are not counted.
* *files*: files with at least one call.
* *functions*: distinct code objects that were called. This includes lambdas and generator expressions, and
  before Python 3.12 comprehensions: compare only figures of the same Python version.
* *calls*: all calls. The resumption of a coroutine or generator counts as a call.
* *moves*: in order of time, the calls whose file differs from that of the previous call.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.crawler import CrawlerProcess

import dedupcrawl
from benchmarks.crawl_sites import page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from types import FrameType

    from scrapy.http import Response

ROOT = Path(dedupcrawl.__file__).parent
WARM = 12  #: pages before the traced one
SETTINGS = {
    "ADDONS": {"dedupcrawl.Addon": 500},
    "DEDUP_STORE": "memory://",
    "CONCURRENT_REQUESTS": 1,
    "DOWNLOAD_DELAY": 0,
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
}


@dataclass
class Trace:
    """The calls into the package while it is active, in order of time."""

    is_on: bool = False
    calls: list[CodeType] = field(default_factory=list)

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """Record a call; for ``sys.setprofile``."""
        if self.is_on and event == "call" and frame.f_code.co_filename.startswith(f"{ROOT}/"):
            self.calls.append(frame.f_code)

    @property
    def files(self) -> dict[str, list[CodeType]]:
        """Return the functions of each file, in the order of their first call."""
        found: dict[str, dict[CodeType, None]] = {}
        for code in self.calls:
            found.setdefault(Path(code.co_filename).relative_to(ROOT).as_posix(), {})[code] = None
        return {file: list(codes) for file, codes in found.items()}

    @property
    def figures(self) -> dict[str, int]:
        """Return the figures that are compared between versions."""
        moves = sum(one.co_filename != other.co_filename for one, other in pairwise(self.calls))
        return {
            "files": len(self.files),
            "functions": sum(map(len, self.files.values())),
            "calls": len(self.calls),
            "moves": moves,
        }


class SequentialSpider(Spider):
    """Requests the pages one after the other and yields an item for each."""

    name = "straight"
    urls: Sequence[str] = ()

    async def start(self) -> AsyncIterator[Any]:
        """Request all pages."""
        for url in self.urls:
            yield Request(url)

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        """Yield the article."""
        yield {"url": response.url, "title": response.css("h1::text").get()}


class Handler(BaseHTTPRequestHandler):
    """Serves generated pages by their numbers."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send a page."""
        name = self.path[1:]
        body = page(int(name)) if name.isdigit() else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write no log."""


@contextmanager
def serving() -> Iterator[str]:
    """Serve the site from a thread; yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def traced(warm: int = WARM) -> Trace:
    """Crawl ``warm`` pages and one more; return the calls of the last one."""
    trace = Trace()
    with serving() as base:
        process = CrawlerProcess(SETTINGS)
        crawler = process.create_crawler(SequentialSpider)

        def begin(request: Request) -> None:
            trace.is_on = request.url == f"{base}/{warm}"

        def end() -> None:
            trace.is_on = False

        crawler.signals.connect(begin, signals.response_downloaded)
        crawler.signals.connect(end, signals.spider_idle)
        process.crawl(crawler, urls=[f"{base}/{number}" for number in range(warm + 1)])
        threading.setprofile(trace.profile)
        sys.setprofile(trace.profile)
        try:
            process.start()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    kept = crawler.stats.get_value("dedup/kept") if crawler.stats else None
    assert kept == warm + 1, f"{kept} of {warm + 1} pages were kept"
    return trace


def lines(code: CodeType) -> int:
    """Count the lines of a function, from its first line or decorator to its last line."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    last = max((line for *_, line in code.co_lines() if line), default=code.co_firstlineno)
    return max(last, *(each.co_firstlineno + lines(each) - 1 for each in inner), 0) - code.co_firstlineno + 1


def name(code: CodeType) -> str:
    """Return the name of a function for the list."""
    return f"{code.co_qualname.replace('.<locals>', '')} {lines(code)}"


def main() -> None:
    """Trace a page and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--warm", type=int, default=WARM, help="pages before the one that is traced")
    parser.add_argument("--list", action="store_true", help="print files and functions, with lines of each")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    trace = traced(asked.warm)
    files = {file: [name(code) for code in codes] for file, codes in trace.files.items()}
    if asked.json:
        print(json.dumps({**trace.figures, **({"list": files} if asked.list else {})}, indent=2))
        return
    if asked.list:
        for number, (file, functions) in enumerate(files.items(), 1):
            print(f"{number:3} {file}: {', '.join(functions)}")
    print("   ".join(f"{figure} {count}" for figure, count in trace.figures.items()))


if __name__ == "__main__":
    main()
