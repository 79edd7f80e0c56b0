"""What site memory costs: ``python -m benchmarks.site_memory [FOLDER …] [--rounds N] [--json FILE]``.

The pages of ``benchmarks.sites`` (real pages, as sites of many pages) are read and judged twice, with
``DEDUP_SITE_MEMORY`` on and off, each with an LMDB store of its own; the two take turns at every page. The figures are
CPU time a page: of a look into the memory, of reading and judging, and the ratio of the latter two. It has none of the
work of Scrapy, so the ratio of a crawl is lower. The bytes are those of the tables in the store, per page that is
filed. Exit code 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks.reprints import load_sources, make_reprints
from benchmarks.results import add_json_option, write_results
from benchmarks.sites import FIRST_SEED, SITE_ARTICLES, SITES
from dedupcrawl import Deduplicator, Page
from dedupcrawl.sites.site_memory import SiteTracker
from dedupcrawl.stores.site_tables import SiteTables
from dedupcrawl.text.features import compared_text
from tests.data import page_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.reprints import Reprint

MAX_RATIO = 1.05  #: with memory over without it, reading and judging
MAX_LOOK = 10.0  #: microseconds a page
MAX_BYTES = 60.0  #: of the tables, a filed page
LOOKS = 9  #: looks at a page, of which the fastest counts: the text is in the cache then, as behind the reader


def judging_seconds(pages: Sequence[Reprint]) -> tuple[dict[bool, float], float]:
    """Return the seconds of all pages with memory and without it, and the bytes of the tables for a filed page."""
    seconds = {True: 0.0, False: 0.0}
    with tempfile.TemporaryDirectory() as folder:
        both = {on: Deduplicator(f"lmdb://{folder}/{on}", site_memory=on) for on in seconds}
        for number, page in enumerate(pages):
            for on in (True, False) if number % 2 else (False, True):
                began = time.thread_time()
                both[on].add(html=page.html, url=page.url)
                seconds[on] += time.thread_time() - began
        began = time.thread_time()
        both[True].close()
        seconds[True] += time.thread_time() - began
        both[False].close()
        with Deduplicator(f"lmdb://{folder}/True") as dedup:
            size = sum(len(site) + len(table) for site, table in dedup.store.sites())
            return seconds, size / dedup.info().pages


def look_microseconds(pages: Sequence[Reprint]) -> tuple[float, float, float]:
    """Return the time of a look, the mean bytes of a text, and the mean number of its lines."""
    reader = Deduplicator()
    found = [read for page in pages if isinstance(read := reader.read(html=page.html, url=page.url), Page)]
    memory, texts, times = SiteTracker(SiteTables(), remote=False), [*map(compared_text, found)], []
    for page in found:
        best = min(_seconds(memory, page) for _ in range(LOOKS))
        memory.count(memory.view(page))
        times.append(best)
    lines = fmean(text.count("\n") + 1 for text in texts)
    return 1e6 * fmean(times), fmean(len(text.encode("utf-8", "replace")) for text in texts), lines


def _seconds(memory: SiteTracker, page: Page) -> float:
    began = time.perf_counter()
    memory.view(page)
    return time.perf_counter() - began


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="page sets (html/<id>.html.gz + truth.jsonl)")
    parser.add_argument("--rounds", type=int, default=3, help="how often all pages are judged; the median ratio counts")
    add_json_option(parser)
    options = parser.parse_args(arguments)
    folders = page_sets(options.folders)
    if not folders:
        return 0
    pages = make_reprints(load_sources(folders, 1), FIRST_SEED, SITE_ARTICLES, SITES)
    gc.disable()
    rounds = [judging_seconds(pages) for _ in range(options.rounds)]
    seconds, size = sorted(rounds, key=lambda each: each[0][True] / each[0][False])[len(rounds) // 2]
    look, length, lines = look_microseconds(pages)
    ratio = seconds[True] / seconds[False]
    on, off = (1e6 * seconds[which] / len(pages) for which in (True, False))
    print(f"{len(pages)} pages, read and judged: {on:,.0f} µs a page with site memory, {off:,.0f} µs without")
    print(f"a look: text of {length:,.0f} bytes in {lines:.0f} lines")
    bars = [("ratio", ratio, MAX_RATIO), ("microseconds of a look", look, MAX_LOOK), ("bytes a page", size, MAX_BYTES)]
    for name, value, bar in bars:
        print(f"{'ok    ' if value <= bar else 'MISSED'} {name}: {value:.3f} (bar: {bar})")
    figures = {
        "look, microseconds": look,
        "bytes of a text": length,
        "bytes a page": size,
        "on, µs": on,
        "off, µs": off,
    }
    write_results(options.json, "site_memory", ratios={"site memory: on/off": ratio}, figures=figures)
    return 0 if all(value <= bar for _, value, bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
