"""A site is crawled twice more, each time after a tenth of its articles changed: ``python -m benchmarks.recrawl``.

Two made sites on loopback: on ``leaves`` twenty list pages lead to the articles; on ``hubs`` each article also leads to
five others. The server sends an ETag with each page, and 304 to a request that names it. An honest server changes the
ETag with the page; one that lies keeps that of a quarter of the changed articles.

    plain        Scrapy with dedupcrawl's default settings: everything is downloaded again
    revalidate   the same with ``DEDUP_REVALIDATE``
    deltafetch   scrapy-deltafetch, if it is installed: pages whose items are known are not requested again

The second crawl compares each page before it is asked for conditionally, so it downloads as much as the first. Printed
are, for the third crawl, bodies and answers in bytes, as a share of the first crawl's; the requests; and the changed
articles that the second and the third crawl have missed. Where some are missed, ``revalidate`` crawls on without
further changes: also after how many crawls all were found. Exit code 1 if ``revalidate`` misses any change, of an
honest server or of one that lies, or if more than a fifth of the bytes are downloaded from an honest one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.crawler import AsyncCrawlerProcess

from benchmarks.results import add_json_option, write_results
from dedupcrawl.crawl.validators import TURNS
from tests.crawl.site import Site, plain, text
from tests.crawl.spiders import Reader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

BAR = 0.2  #: bytes of the second crawl, as a share of the first one's
METHODS = ("plain", "revalidate", "deltafetch")
LAYOUTS = ("leaves", "hubs")
LISTS = 20  #: list pages
TURNS_OF_CHANGE = 2  #: crawls after the first one, before each of which the site changes
HEAD_BYTES = 120  #: of an answer without a body
WORDS = 1500  #: of an article
ME = (sys.executable, "-m", "benchmarks.recrawl")


@dataclass(frozen=True)
class RecrawlResult:
    """The third crawl of a site, and what was missed."""

    share: float  #: of the bytes of the first crawl
    requests: int
    changed: int  #: articles, before the second crawl and before the third
    missed: int  #: of these by the crawl after the change
    crawls: int  #: until all were found; 0: they were not


class ChangingSite:
    """A made site whose articles change.

    Args:
        site: serves it.
        layout: "leaves" or "hubs".
        pages: articles.
    """

    def __init__(self, site: Site, layout: str, pages: int) -> None:
        self.site, self.layout, self.pages = site, layout, pages
        for number in range(pages):
            self._put(number, 0)
        size = -(-pages // LISTS)
        for at in range(LISTS):
            following = [f"/list/{at + 1}"] if at + 1 < LISTS else []
            self._list(f"/list/{at}", [f"/{n}" for n in range(at * size, min(pages, (at + 1) * size))] + following)

    def _put(self, number: int, version: int, *, lies: bool = False) -> None:
        links = [f"/{(number * 7 + 13 * each + 1) % self.pages}" for each in range(5)] if self.layout == "hubs" else []
        body = plain(f"Story {number}", text(number + version * 1_000_000, WORDS), *links)
        self._serve(f"/{number}", body, f'"{number}-{0 if lies else version}"')

    def _list(self, path: str, links: Sequence[str]) -> None:
        found = "".join(f'<li><a class=follow href="{link}">more</a>' for link in links)
        self._serve(path, f"<html><body><ul>{found}</ul></body></html>", f'"{path}"')

    def _serve(self, path: str, body: str, etag: str) -> None:
        self.site.put(path, body)
        self.site.answers[path] = replace(self.site.answers[path], etag=etag)

    def change(self, turn: int, *, lies: bool) -> set[str]:
        """Change a tenth of the articles, in each turn another one; return the first words of their new texts."""
        numbers, version = range(3 + turn, self.pages, 10), turn + 1
        for at, number in enumerate(numbers):
            self._put(number, version, lies=lies and at % 4 == 0)
        return {text(number + version * 1_000_000, WORDS)[:60] for number in numbers}

    def taken(self) -> tuple[int, int]:
        """Return the requests and bytes since the last call."""
        requests = len(self.site.statuses)
        found = requests, self.site.sent + HEAD_BYTES * sum(status == 304 for _, status in self.site.statuses)
        self.site.statuses.clear()
        self.site.sent = 0
        return found


def asynchronous_deltafetch() -> type[Any]:
    """Return scrapy-deltafetch with the asynchronous method that current versions of Scrapy ask for."""
    from scrapy_deltafetch import DeltaFetch  # noqa: PLC0415  # optional

    class AsynchronousDeltaFetch(DeltaFetch):  # type: ignore[misc]
        spider: Any

        def spider_opened(self, spider: Any) -> None:
            super().spider_opened(spider)
            self.spider = spider

        async def process_spider_output(self, response: Any, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
            async for output in result:
                for each in super().process_spider_output(response, [output], self.spider):
                    yield each

    return AsynchronousDeltaFetch


def settings_of(method: str, folder: Path) -> dict[str, Any]:
    """Return the settings of a crawl."""
    common = {
        "FEEDS": {f"{folder}/items.jl": {"format": "jsonlines", "overwrite": False}},
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": 0,
    }
    if method == "deltafetch":
        delta = {"DELTAFETCH_ENABLED": True, "DELTAFETCH_DIR": str(folder / "delta")}
        return {**common, **delta, "SPIDER_MIDDLEWARES": {asynchronous_deltafetch(): 100}}
    own = {"ADDONS": {"dedupcrawl.Addon": 500}, "DEDUP_STORE": f"lmdb://{folder}/store"}
    return {**common, **own, "DEDUP_REVALIDATE": method == "revalidate"}


def crawl_here(method: str, folder: Path, url: str) -> None:
    """Crawl in this process."""
    process = AsyncCrawlerProcess(settings_of(method, folder))
    process.crawl(Reader, urls=[url])
    process.start()


def crawl(method: str, folder: Path, url: str) -> set[str]:
    """Crawl in a process of its own; return the first words of the articles that all crawls have stored."""
    subprocess.run([*ME, "--crawl", method, str(folder), url], check=True)
    return crawl_items(folder)


def crawl_items(folder: Path) -> set[str]:
    """Return the first words of the articles that all crawls have stored."""
    lines = (folder / "items.jl").read_text("utf-8").splitlines()
    return {json.loads(line)["body"][:60] for line in lines}


def recrawl(method: str, layout: str, pages: int, *, lies: bool) -> RecrawlResult:
    """Crawl a made site, change it, crawl it again, and once more."""
    with tempfile.TemporaryDirectory() as name, Site() as site:
        folder, made = Path(name), ChangingSite(site, layout, pages)
        url = f"{site.base}/list/0"
        crawl(method, folder, url)
        _, before = made.taken()
        new, missed = set[str](), 0
        for turn in range(TURNS_OF_CHANGE):
            made.taken()
            changed = made.change(turn, lies=lies)
            left = changed - crawl(method, folder, url)
            new, missed = new | changed, missed + len(left)
        requests, after = made.taken()
        count = 1 + TURNS_OF_CHANGE
        left = new - crawl_items(folder)
        while left and method == "revalidate" and count <= TURNS:
            left, count = new - crawl(method, folder, url), count + 1
        return RecrawlResult(after / before, requests, len(new), missed, 0 if left else count)


def runs() -> Iterator[tuple[str, str, bool]]:
    """Yield method, layout, and whether the server lies."""
    for lies in (False, True):
        for layout in LAYOUTS:
            for method in METHODS:
                if method != "deltafetch" or find_spec("scrapy_deltafetch"):
                    yield method, layout, lies


def main() -> int:
    """Run all crawls, print a line for each pair, and check the bars."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=300, help="articles of a site")
    parser.add_argument("--crawl", nargs=3, metavar=("METHOD", "FOLDER", "URL"), help="one crawl, in this process")
    add_json_option(parser)
    asked = parser.parse_args()
    if asked.crawl:
        crawl_here(asked.crawl[0], Path(asked.crawl[1]), asked.crawl[2])
        return 0
    figures: dict[str, Any] = {}
    is_bad = False
    for method, layout, lies in runs():
        found = recrawl(method, layout, asked.pages, lies=lies)
        name = f"{layout}, {'lying' if lies else 'honest'}, {method}"
        figures[name] = {"bytes": found.share, "requests": found.requests, "changed": found.changed}
        figures[name] |= {"missed": found.missed, "crawls": found.crawls}
        print(
            f"{name:28} {found.share:6.1%} of the bytes, {found.requests:4} requests, "
            f"{found.missed:3} of {found.changed} changes missed, all found in crawl {found.crawls or '-'}",
            flush=True,
        )
        if method == "revalidate":
            is_bad |= found.missed > 0 or (not lies and found.share > BAR)
    write_results(asked.json, "recrawl", figures=figures, packages=("scrapy-deltafetch",))
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
