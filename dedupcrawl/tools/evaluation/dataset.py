"""Labelled pages: JSON Lines with ``id, url, html | text, cluster`` and, where it is known, ``edit``."""

from __future__ import annotations

import gzip
import time
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import orjson

from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import IO

    from dedupcrawl.config import Config
    from dedupcrawl.decision import Verdict
    from dedupcrawl.page.model import Page
    from dedupcrawl.page.options import ReadOptions


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """One labelled page; pages of the same cluster are duplicates of each other."""

    id: str
    url: str
    cluster: str
    html: str | None
    text: str | None
    edit: str  #: the kind of edit or trap, "" if not given


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """A labelled page after reading."""

    row: LabelledPage
    result: Page | Verdict  #: a verdict if the reader refused the page


@dataclass(frozen=True, slots=True)
class ParsedPages:
    """All pages of a labelled file, in its order."""

    pages: tuple[ParsedPage, ...]
    seconds: float  #: processor time of reading all pages


class ParsedPageCache:
    """The pages of a labelled file. They are read again only when the options of reading change."""

    def __init__(self, rows: Iterable[LabelledPage]) -> None:
        self._rows = tuple(rows)
        self._options: ReadOptions | None = None
        self._parsed = ParsedPages((), 0.0)

    def __len__(self) -> int:
        return len(self._rows)

    def read(
        self, config: Config, track: Callable[[Sequence[LabelledPage]], Iterable[LabelledPage]] = lambda rows: rows
    ) -> ParsedPages:
        """Return the pages as ``config`` reads them; ``track`` wraps the iteration, to show progress."""
        # reading does not depend on the detectors; this one loads no lexicon
        with Deduplicator(config=replace(config, detectors=(Exact.name,))) as dedup:
            if dedup.reading != self._options:
                self._parsed = _parse_pages(track(self._rows), dedup)
                self._options = dedup.reading
        return self._parsed


def _parse_pages(rows: Iterable[LabelledPage], dedup: Deduplicator) -> ParsedPages:
    start = time.process_time()
    pages = []
    for row in rows:
        text = row.text if row.html is None else None
        pages.append(ParsedPage(row, dedup.read(html=row.html, text=text, url=row.url)))
    return ParsedPages(tuple(pages), time.process_time() - start)


def read_labelled_pages(path: Path) -> Iterator[LabelledPage]:
    """Yield the pages of a ``.jsonl`` or ``.jsonl.gz`` file.

    Raises:
        DedupError: the file or a line of it cannot be read; the message names the line.
    """
    number, found = 0, False
    try:
        with cast("IO[bytes]", (gzip.open if path.suffix == ".gz" else open)(path, "rb")) as lines:
            for number, line in enumerate(lines, 1):  # noqa: B007 - the messages below name it
                if line.strip():
                    found = True
                    yield _row(orjson.loads(line))
    except (OSError, EOFError, zlib.error) as error:
        raise DedupError(f"{path}: cannot be read after line {number}: {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise DedupError(f"{path}, line {number}: not a row of a duplicates file: {error}") from error
    if not found:
        raise DedupError(f"{path} holds no page")


def _row(fields: object) -> LabelledPage:
    if not isinstance(fields, dict):
        raise TypeError("a row is a JSON object with id, url, html or text, and cluster")
    missing = [name for name in ("id", "url", "cluster") if fields.get(name) is None]
    html, text = fields.get("html"), fields.get("text")
    if html is None and text is None:
        missing.append("html or text")
    if missing:
        raise KeyError(f"{', '.join(missing)} missing")
    if not all(isinstance(content, str | None) for content in (html, text)):
        raise TypeError("html and text are strings")
    id_, url, cluster = (str(fields[name]) for name in ("id", "url", "cluster"))
    return LabelledPage(id_, url, cluster, html, text, edit=str(fields.get("edit", "")))
