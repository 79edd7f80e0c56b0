"""Quality and speed of main text extraction: ``python benchmarks/reading.py [FOLDER …] [--repeats N]``.

The default folders are the page sets ``aeb`` and ``cwced`` of the data folder. For each set the benchmark
prints F1, precision and recall by the 4-gram score of article-extraction-benchmark, and the time as a
multiple of the lxml parse of the same pages, measured in turns. If trafilatura is installed, it is measured
in the same run. It gets a copy of the same tree, because it modifies it; the copying is not timed.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import DedupError
from dedupcrawl.page.document import parse, to_text
from dedupcrawl.page.readers import DEFAULT_OPTIONS
from dedupcrawl.tools.evaluation.extraction import evaluate_extraction, load_pages, overlap, score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.tools.evaluation.extraction import ExtractionReport

DATA = Path(os.environ.get("DEDUPCRAWL_DATA", Path(__file__).resolve().parent.parent.parent / "shared" / "data"))
F1 = {"aeb": 0.96, "cwced": 0.95}
RATIO = 1.5
HEADING = "set      reader       pages      F1 precision  recall  ms/page  /parse"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table; return 1 if a known set misses a bar."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="page sets (html/<id>.html.gz + truth.jsonl)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds per page, of which the best counts")
    options = parser.parse_args(arguments)
    folders = options.folders or [folder for name in F1 if (folder := DATA / "pages" / name).is_dir()]
    if not folders:
        print(f"skipped: no page set below {DATA} (set DEDUPCRAWL_DATA, or name folders)", file=sys.stderr)
        return 0
    print(HEADING)
    try:
        reports = {folder.name: measure(folder, options.repeats) for folder in folders}
    except DedupError as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if judge(reports) else 1


def measure(folder: Path, repeats: int) -> ExtractionReport:
    """Measure one set and print its rows."""
    report = evaluate_extraction(folder, DEFAULT_OPTIONS, repeats=repeats)
    row(folder.name, "dedupcrawl", *report.to_dict().values())
    trafilatura = _trafilatura()
    if trafilatura:
        row(folder.name, "trafilatura", *measure_trafilatura(folder, trafilatura, min(repeats, 2)))
    return report


def judge(reports: Mapping[str, ExtractionReport]) -> bool:
    """Print whether the quality of each set and the total time meet the bars."""
    right = {name: report.f1 >= F1.get(name, 0) for name, report in reports.items()}
    for name, passed in right.items():
        print(f"{name:8} {'passes' if passed else 'fails'}: F1 >= {F1.get(name, 0)}")
    reading = sum(report.pages * report.ms_per_page for report in reports.values())
    parsing = sum(report.pages * report.ms_per_page / report.ratio_to_parse for report in reports.values())
    fast = reading <= RATIO * parsing
    print(f"together {'passes' if fast else 'fails'}: {reading / parsing:.2f}x, at most {RATIO}x the parse")
    return fast and all(right.values())


def row(name: str, reader: str, pages: float, *figures: float) -> None:
    """Print one row of the table."""
    f1, precision, recall, ms_per_page, ratio = figures
    scores = f"{f1:7.4f} {precision:9.4f} {recall:7.4f}"
    print(f"{name:8} {reader:12} {pages:5.0f} {scores} {ms_per_page:8.2f} {ratio:6.2f}x", flush=True)


def measure_trafilatura(folder: Path, trafilatura: Any, repeats: int) -> tuple[float, ...]:
    """Measure trafilatura with its options for articles: without comments."""
    overlaps, reading, parsing = [], 0.0, 0.0
    for page in load_pages(folder):
        text = to_text(page.html, encoding=None, content_type="", max_bytes=DEFAULT_OPTIONS.max_bytes)
        best_parse = best_read = float("inf")
        for _ in range(repeats):
            start = time.perf_counter()
            root = parse(text)
            best_parse = min(best_parse, time.perf_counter() - start)
            tree = copy.deepcopy(root)
            start = time.perf_counter()
            found = trafilatura.extract(tree, include_comments=False)
            best_read = min(best_read, time.perf_counter() - start)
        overlaps.append(overlap(page.text, found or ""))
        parsing += best_parse
        reading += best_read
    pages = len(overlaps)
    return (pages, *score(overlaps), 1000 * reading / pages, reading / parsing)


def _trafilatura() -> Any:
    try:
        return importlib.import_module("trafilatura")
    except ImportError:
        return None


if __name__ == "__main__":
    sys.exit(main())
