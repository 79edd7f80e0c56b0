"""How well main text is extracted: the 4-gram score of article-extraction-benchmark, and the time of reading.

A page set is a folder with ``html/<id>.html.gz`` and ``truth.jsonl``, whose rows have ``id``, ``url`` and
``text``.
"""

from __future__ import annotations

import gzip
import json
import re
import time
import zlib
from collections import Counter
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupcrawl.errors import DedupError
from dedupcrawl.page import PageError, ReadOptions, read_tree
from dedupcrawl.page.document import parse, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    #: Wraps the iteration over the rows of a page set, to show progress.
    RowTracker = Callable[[Sequence[dict[str, Any]]], Iterable[dict[str, Any]]]

SHINGLE_TOKENS = 4  #: as in article-extraction-benchmark
TIMING_ROUNDS = 3
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
#: Whole words; each character in Chinese and Japanese, which have no spaces between words.
tokenize = re.compile(f"[{_CJK}]|[^\\W{_CJK}]+").findall


class PageSetError(DedupError):
    """A folder is no page set, or a file of it cannot be read."""


class ShingleOverlap(NamedTuple):
    """Numbers of shingles of one page, as multisets."""

    right: int  #: in the extracted text and in the truth
    wrong: int  #: only in the extracted text
    missed: int  #: only in the truth

    @property
    def precision(self) -> float | None:
        """Right / found; None if nothing was found, as such a page has no precision."""
        found = self.right + self.wrong
        return self.right / found if found else None

    @property
    def recall(self) -> float | None:
        """Right / true; None if there was nothing to find."""
        true = self.right + self.missed
        return self.right / true if true else None


@dataclass(frozen=True, slots=True)
class ExtractionReport:
    """Scores and times of a reader on a page set; the times are those of reading a parsed page."""

    pages: int
    f1: float  #: 0…1, as the next two
    precision: float
    recall: float
    ms_per_page: float
    ratio_to_parse: float  #: time of reading / time of parsing

    def to_dict(self) -> dict[str, float]:
        """Return plain JSON values."""
        return asdict(self)


class ExtractionPage(NamedTuple):
    """A page of a set, and its true main text."""

    id: str
    url: str
    html: bytes  #: not yet decoded
    text: str


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Return the multiset of runs of four tokens; a shorter text is one run."""
    words = tokenize(text)
    if len(words) < SHINGLE_TOKENS:
        return Counter([tuple(words)] if words else [])
    return Counter(zip(*(words[first:] for first in range(SHINGLE_TOKENS)), strict=False))


def overlap(true: str, found: str) -> ShingleOverlap:
    """Compare the true text of a page with the extracted one."""
    true_shingles, found_shingles = shingles(true), shingles(found)
    right = (true_shingles & found_shingles).total()
    return ShingleOverlap(right, found_shingles.total() - right, true_shingles.total() - right)


def score(overlaps: Iterable[ShingleOverlap]) -> tuple[float, float, float]:
    """Return F1, precision and recall as article-extraction-benchmark defines them.

    Precision and recall are means over the pages that have one, F1 is the harmonic mean of those two.
    """
    pages = list(overlaps)
    precision = _mean(page.precision for page in pages)
    recall = _mean(page.recall for page in pages)
    both = precision + recall
    return (2 * precision * recall / both if both else 0.0), precision, recall


def _mean(values: Iterable[float | None]) -> float:
    counted = [value for value in values if value is not None]
    return fmean(counted) if counted else 0.0


def evaluate_extraction(
    folder: Path,
    options: ReadOptions | None = None,
    *,
    repeats: int = TIMING_ROUNDS,
    track: RowTracker = lambda rows: rows,
) -> ExtractionReport:
    """Read every page of a set, score the text, and measure the time of reading and of parsing.

    A page that the reader refuses counts as one in which nothing was found.

    Args:
        folder: the page set.
        options: how pages are read; default: ``ReadOptions()``. ``Page.blocks`` is not filled, as in a crawl.
        repeats: rounds of measurement; the best of each page counts. Parsing and reading alternate, so that
            other load on the machine affects both alike.
        track: wraps the iteration over the rows, to show progress.

    Raises:
        PageSetError: the folder is no page set, or a file of it is damaged.
    """
    options = replace(options or ReadOptions(), blocks=False)
    overlaps, reading, parsing = [], 0.0, 0.0
    for row in load_pages(folder, track):
        try:
            text = to_text(row.html, encoding=None, content_type="", max_bytes=options.max_bytes)
            found = read_tree(parse(text), row.url, options, html=text).text
        except PageError:
            overlaps.append(overlap(row.text, ""))
            continue
        overlaps.append(overlap(row.text, found))
        times = [_time(text, row.url, options) for _ in range(repeats)]
        parsing += min(parse_time for parse_time, _ in times)
        reading += min(read_time for _, read_time in times)
    pages = len(overlaps)
    ratio = reading / parsing if parsing else 0.0
    return ExtractionReport(pages, *score(overlaps), 1000 * reading / pages, ratio)


def _time(text: str, url: str, options: ReadOptions) -> tuple[float, float]:
    start = time.perf_counter()
    root = parse(text)
    parsed = time.perf_counter()
    read_tree(root, url, options, html=text)
    return parsed - start, time.perf_counter() - parsed


def load_pages(folder: Path, track: RowTracker = lambda rows: rows) -> Iterator[ExtractionPage]:
    """Yield the pages of a set in the order of its ``truth.jsonl``.

    Raises:
        PageSetError: a file is missing or damaged.
    """
    truth = folder / "truth.jsonl"
    if not truth.is_file():
        raise PageSetError(f"{folder} is no page set: it has no truth.jsonl (and html/<id>.html.gz beside it)")
    try:
        lines = truth.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise PageSetError(f"{truth} cannot be read: {error}") from error
    rows = [_row(line, truth, number) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise PageSetError(f"{truth} holds no page")
    for row in track(rows):
        yield ExtractionPage(row["id"], row.get("url", ""), _html(folder, row["id"]), row["text"])


def _row(line: str, truth: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise PageSetError(f"{truth}, line {number}: no JSON ({error})") from error
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in ("id", "text")):
        raise PageSetError(f'{truth}, line {number}: expected {{"id": …, "url": …, "text": …}}')
    return row


def _html(folder: Path, page: str) -> bytes:
    path = folder / "html" / f"{page}.html.gz"
    try:
        with gzip.open(path) as file:
            return file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise PageSetError(f"{path} cannot be read: {error}") from error
