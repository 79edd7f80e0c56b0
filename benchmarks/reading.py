"""Quality and speed of main text extraction: ``python -m benchmarks.reading [FOLDER …] [--repeats N]``.

The default folders are the page sets ``aeb``, ``cwced`` and ``wcxb`` (seven types of pages) of the data folder. For
each set the benchmark prints F1, precision and recall by the 4-gram score of article-extraction-benchmark, and the time
as a multiple of the lxml parse of the same pages, measured in turns. Trafilatura and resiliparse are measured in the
same run if they are installed. Trafilatura gets a copy of the same tree, because it modifies it; the copying is not
timed. Resiliparse gets a tree of its own parser, whose time is not counted either.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.results import add_json_option, write_results
from dedupcrawl.errors import DedupError
from dedupcrawl.page import compiled
from dedupcrawl.page.document import parse, to_text
from dedupcrawl.page.readers import DEFAULT_OPTIONS
from dedupcrawl.tools.evaluation.extraction import evaluate_extraction, load_pages, overlap, score
from tests.data import page_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dedupcrawl.tools.evaluation.extraction import ExtractionReport

F1 = {"aeb": 0.96, "cwced": 0.95}
#: Bars of the time by set, as multiples of the parse: with compiled code, and without it.
ARTICLES, TYPES = ("aeb", "cwced"), ("wcxb",)
RATIOS = {ARTICLES: 0.75, TYPES: 0.95}
RATIOS_NOT_COMPILED = {ARTICLES: 1.5, TYPES: 2.0}
PEER_REPEATS = 2  #: rounds of a peer at most; trafilatura takes twenty times as long
HEADING = "set      reader       pages      F1 precision  recall  ms/page  /parse"


@dataclass(frozen=True)
class Peer:
    """Another reader."""

    name: str
    prepare: Callable[[str, Any], Any]  #: text of the page, tree of lxml → the tree that the peer reads; not timed
    extract: Callable[[Any], str | None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table; return 1 if a known set misses a bar."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="page sets (html/<id>.html.gz + truth.jsonl)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds per page; the best counts")
    add_json_option(parser)
    options = parser.parse_args(arguments)
    folders = page_sets(options.folders)
    if not folders:
        return 0
    print(f"page reading: {compiled.description()}\n{HEADING}")
    rows: list[dict[str, float | str]] = []
    try:
        reports = {folder.name: measure(folder, options.repeats, rows) for folder in folders}
    except DedupError as error:
        print(error, file=sys.stderr)
        return 2
    passed = judge(reports)
    write_results(
        options.json,
        "reading",
        ratios={
            **{f"{row['set']}: {row['reader']}/parse": float(row["ratio_to_parse"]) for row in rows},
            **{f"{' + '.join(names)}: ours/parse": share for names, share in together(reports).items()},
        },
        figures={"page reading": compiled.description(), "rows": rows},
    )
    return 0 if passed else 1


def measure(folder: Path, repeats: int, rows: list[dict[str, float | str]]) -> ExtractionReport:
    """Measure one set, print its rows and add them to ``rows``."""
    report = evaluate_extraction(folder, DEFAULT_OPTIONS, repeats=repeats)
    rows.append(row(folder.name, "dedupcrawl", *report.to_dict().values()))
    repeats = min(repeats, PEER_REPEATS)
    rows += [row(folder.name, peer.name, *measure_peer(folder, peer, repeats)) for peer in peers()]
    return report


def judge(reports: Mapping[str, ExtractionReport]) -> bool:
    """Print whether the quality of each set and the total time meet the bars."""
    right = {name: report.f1 >= F1.get(name, 0) for name, report in reports.items()}
    for name, passed in right.items():
        print(f"{name:8} {'passes' if passed else 'fails'}: F1 >= {F1.get(name, 0)}")
    times = [judge_time(names, reports) for names in RATIOS]
    return all(times) and all(right.values())


def judge_time(names: tuple[str, ...], reports: Mapping[str, ExtractionReport]) -> bool:
    """Print whether the time of some sets together meets its bar."""
    ratio = together(reports).get(names)
    if ratio is None:
        return True
    bar = (RATIOS if compiled.description() == "compiled" else RATIOS_NOT_COMPILED)[names]
    print(f"{' + '.join(names):8} {'passes' if ratio <= bar else 'fails'}: {ratio:.2f}x, at most {bar}x the parse")
    return ratio <= bar


def together(reports: Mapping[str, ExtractionReport]) -> dict[tuple[str, ...], float]:
    """Return for each group of sets the time of reading their pages as a multiple of the parse."""
    found = {}
    for names in RATIOS:
        if chosen := [reports[name] for name in names if name in reports]:
            reading = sum(report.pages * report.ms_per_page for report in chosen)
            found[names] = reading / sum(report.pages * report.ms_per_page / report.ratio_to_parse for report in chosen)
    return found


def row(name: str, reader: str, pages: float, *figures: float) -> dict[str, float | str]:
    """Print one row of the table and return it."""
    f1, precision, recall, ms_per_page, ratio = figures
    scores = f"{f1:7.4f} {precision:9.4f} {recall:7.4f}"
    print(f"{name:8} {reader:12} {pages:5.0f} {scores} {ms_per_page:8.2f} {ratio:6.2f}x", flush=True)
    named = {"f1": f1, "precision": precision, "recall": recall, "ms_per_page": ms_per_page, "ratio_to_parse": ratio}
    return {"set": name, "reader": reader, "pages": pages, **named}


def measure_peer(folder: Path, peer: Peer, repeats: int) -> tuple[float, ...]:
    """Measure another reader as the own one: the best round of each page, and the best parse by lxml."""
    overlaps, reading, parsing = [], 0.0, 0.0
    for page in load_pages(folder):
        text = to_text(page.html, encoding=None, content_type="", max_bytes=DEFAULT_OPTIONS.max_bytes)
        best_parse = best_read = float("inf")
        found: str | None = None
        for _ in range(repeats):
            start = time.perf_counter()
            root = parse(text)
            best_parse = min(best_parse, time.perf_counter() - start)
            tree = peer.prepare(text, root)
            start = time.perf_counter()
            found = peer.extract(tree)
            best_read = min(best_read, time.perf_counter() - start)
        overlaps.append(overlap(page.text, found or ""))
        parsing += best_parse
        reading += best_read
    pages = len(overlaps)
    return (pages, *score(overlaps), 1000 * reading / pages, reading / parsing)


def peers() -> Iterator[Peer]:
    """Yield the installed ones of trafilatura and resiliparse, with their options for articles without comments."""
    try:
        extract = import_module("trafilatura").extract
    except ImportError:
        pass
    else:
        yield Peer("trafilatura", lambda _, root: copy.deepcopy(root), partial(extract, include_comments=False))
    try:
        tree_class = import_module("resiliparse.parse.html").HTMLTree
        plain_text = import_module("resiliparse.extract.html2text").extract_plain_text
    except ImportError:
        return
    yield Peer("resiliparse", lambda text, _: tree_class.parse(text), lambda tree: plain_text(tree, main_content=True))


if __name__ == "__main__":
    sys.exit(main())
