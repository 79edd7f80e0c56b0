"""Size of a report page, and time to open it: ``python -m benchmarks.reportpage [--pages N]``.

A report of 50,000 synthetic pages is written and opened in Chromium from a file several times, each time in a
new browser. The browser measures the time from the start of the navigation until every list is filled and the
page responds. Then the page is searched and sorted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.results import add_json_option, write_results
from dedupcrawl.tools.report.html_report import render_report
from tests.browser import browsing
from tests.tools.report.large_reports import large_report

if TYPE_CHECKING:
    from collections.abc import Sequence

BYTES = 5_000_000
SECONDS = 2.0
_READY = "performance.getEntriesByName('ready')[0]?.startTime"
_PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
_TIMED = """async (act) => {
    const start = performance.now();
    new Function(act)();
    await new Promise((go) => setTimeout(() => requestAnimationFrame(() => setTimeout(go)), 150));
    return performance.now() - start - 150;
}"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--opened", type=int, default=5, help="how often the page is opened")
    add_json_option(parser)
    options = parser.parse_args(arguments)
    report = large_report(options.pages)
    start = time.perf_counter()
    page = render_report(report).encode()
    laid = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        file.write_bytes(page)
        opened = [_open(file) for _ in range(options.opened)]
    ready = [each[0] for each in opened]
    print(f"{options.pages:,} pages, {len(report.pairs):,} pairs: {len(page):,} bytes, laid out in {laid:.1f} s")
    print(f"first paint  {median(each[1] for each in opened):6.2f} s (median of {len(opened)})")
    print(f"ready        {median(ready):6.2f} s, {min(ready):.2f} to {max(ready):.2f}")
    passes = len(page) < BYTES and median(ready) < SECONDS
    print(f"{'meets' if passes else 'MISSES'} the bars: under {BYTES:,} bytes and {SECONDS} s")
    figures = {"pages": options.pages, "bytes": len(page), "seconds to ready": ready, "seconds to lay out": laid}
    write_results(options.json, "reportpage", figures=figures)
    return not passes


def _open(file: Path) -> tuple[float, float]:
    """Return the seconds until the page is ready, and until its first paint."""
    with browsing() as tab:
        tab.open(file)
        tab.page.wait_for_function(_READY)
        return tab.page.evaluate(_READY) / 1000, tab.page.evaluate(_PAINTED) / 1000


if __name__ == "__main__":
    sys.exit(main())
