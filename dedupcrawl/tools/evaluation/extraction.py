"""How well main text is read: the 4-gram score of article-extraction-benchmark, and what reading costs.

A page set is a folder with ``html/<id>.html.gz`` and ``truth.jsonl``, whose rows hold ``id``, ``url`` and
``text``.
"""

from __future__ import annotations

import gzip
import json
import re
import time
import zlib
from collections import Counter
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupcrawl.errors import DedupError
from dedupcrawl.page import PageError, ReadOptions, read_tree
from dedupcrawl.page.document import parse, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    RowTracker = Callable[[Sequence[dict[str, Any]]], Iterable[dict[str, Any]]]

SHINGLE_TOKENS = 4
TIMING_ROUNDS = 3
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
#: Whole words; Chinese and Japanese do not part them, so that there every character is a token.
tokenize = re.compile(f"[{_CJK}]|[^\\W{_CJK}]+").findall


class PageSetError(DedupError):
    """A folder is no page set, or a file of it cannot be read."""


class ShingleOverlap(NamedTuple):
    """Shingles of one page that were found rightly, found wrongly and missed, as multisets."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float | None:
        """Right / found; None where nothing was found, because such a page has no precision."""
        found = self.right + self.wrong
        return self.right / found if found else None

    @property
    def recall(self) -> float | None:
        """Right / true; None where nothing was to be found."""
        true = self.right + self.missed
        return self.right / true if true else None


@dataclass(frozen=True, slots=True)
class ExtractionReport:
    """What the reader made of a page set; the times are those of reading a page whose tree is given."""

    pages: int
    f1: float
    precision: float
    recall: float
    ms_per_page: float
    ratio_to_parse: float

    def to_dict(self) -> dict[str, float]:
        """Return plain JSON values."""
        return asdict(self)


class ExtractionPage(NamedTuple):
    """A page of a set, its HTML not yet decoded, and what a person says is its main text."""

    id: str
    url: str
    html: bytes
    text: str


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Return the multiset of runs of four tokens; a shorter text is one run."""
    words = tokenize(text)
    return Counter(
        tuple(words[at : at + SHINGLE_TOKENS])
        for at in range(max(1, len(words) - SHINGLE_TOKENS + 1))
        if words
    )


def overlap(true: str, found: str) -> ShingleOverlap:
    """Compare a page's text with what was read."""
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
    """Read every page of a set, score the text and time the reading beside the parse.

    A page that the reader refuses counts as one in which nothing was found.

    Parses and readings alternate, and of ``repeats`` rounds the best of each page counts, so that what else
    the machine does weighs on both alike.

    ``track`` sees the rows of the truth pass as their pages are done.

    Raises:
        PageSetError: the folder is no page set or a file of it is garbled.
    """
    options = options or ReadOptions()
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
    f1, precision, recall = score(overlaps)
    pages = len(overlaps)
    ratio = reading / parsing if parsing else 0.0
    return ExtractionReport(pages, f1, precision, recall, 1000 * reading / pages, ratio)


def _time(text: str, url: str, options: ReadOptions) -> tuple[float, float]:
    start = time.perf_counter()
    root = parse(text)
    parsed = time.perf_counter()
    read_tree(root, url, options, html=text)
    return parsed - start, time.perf_counter() - parsed


def load_pages(folder: Path, track: RowTracker = lambda rows: rows) -> Iterator[ExtractionPage]:
    """Yield the pages of a set in the order of its truth; ``track`` sees its rows pass.

    Raises:
        PageSetError: what is missing or garbled, and what a page set looks like.
    """
    truth = folder / "truth.jsonl"
    if not truth.is_file():
        raise PageSetError(
            f"{folder} is no page set: it has no truth.jsonl (and html/<id>.html.gz beside it)"
        )
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
