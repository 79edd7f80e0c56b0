"""The contract of a file format: how the rows of a corpus are read, and written again.

When a page was fetched or published, however a corpus writes it.

Which columns of a corpus hold what, and what their values say.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    import numpy as np
    import pyarrow as pa

    KeepMask = np.ndarray[tuple[int], np.dtype[np.bool_]]


#: What ``annotate`` adds to each row, in this order.
ANNOTATION_COLUMNS = (
    "dedup_status", "dedup_relation", "dedup_of", "dedup_similarity", "dedup_cluster", "dedup_detector",
)  # fmt: skip

CHUNK_BYTES = 1 << 20  #: a chunk is about so large; one row that is larger is a chunk of its own
MAX_RECORD_BYTES = 64 << 20  #: of a line or a record; a longer one is a bad row, and is never held in memory


class PartError(DedupError):
    """The rest of a part cannot be read; all rows before ``row`` are intact.

    Args:
        part: the file.
        row: the number of the first row that cannot be read.
        why: what is wrong, in words.
    """

    def __init__(self, part: str, row: int, why: str) -> None:
        super().__init__(part, row, why)
        self.part = part
        self.row = row
        self.why = why

    def __str__(self) -> str:
        return f"{self.part}: cannot be read{f' from row {self.row} on' if self.row else ''}: {self.why}"


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the corpus."""

    number: int  #: its place in the order of arrival
    path: Path
    name: str  #: of its output: a relative path with slashes, another one for each part
    format: str  #: key of :func:`~dedupcrawl.batch.formats.format_named`


@dataclass(frozen=True, slots=True)
class Fields:
    """In which columns the pages are; "" looks for the usual names.

    Where ``html`` or ``text`` is named, the other is not looked for. HTML counts before text.
    """

    url: str = ""
    html: str = ""
    text: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows that follow each other, not parsed yet: cheap to make and to send to another process."""

    first: int  #: number of the first row
    count: int  #: rows, bad ones included
    read: int  #: bytes of the file that lie before the end of the chunk, as near as the format can tell
    data: Any  #: known to the format alone; it can be pickled


def in_chunks(rows: Iterable[tuple[object, int]], read: Callable[[], int]) -> Iterator[Chunk]:
    """Yield rows in chunks of about :data:`CHUNK_BYTES`.

    Args:
        rows: each with its size in bytes.
        read: returns how many bytes of the file have been read so far.

    Raises :class:`PartError`, after a chunk of the rows before it, where the rows cannot be read on.
    """
    held: list[object] = []
    first = size = 0
    try:
        for row, length in rows:
            held.append(row)
            size += length
            if size >= CHUNK_BYTES:
                yield Chunk(first, len(held), read(), tuple(held))
                first, held, size = first + len(held), [], 0
    except PartError:
        if held:
            yield Chunk(first, len(held), read(), tuple(held))
        raise
    if held:
        yield Chunk(first, len(held), read(), tuple(held))


@dataclass(frozen=True, slots=True)
class Row:
    """A page of the corpus.

    Where ``reason`` is None exactly one of ``html`` and ``text`` is given, which may be empty. A row with a
    ``reason`` is to stay unchecked(reason), whatever it holds: what is no page, or no whole one.
    """

    number: int  #: in its part, from 0
    url: str
    html: bytes | str | None
    text: str | None
    time: float | None  #: Unix time in seconds
    size: int  #: bytes of the page
    content_type: str = ""  #: the HTTP header, which may name the encoding of ``html``
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is damaged; those after it can be read."""

    number: int
    why: str


class Format(Protocol):
    """Reads and writes the files of one kind. Rows have the same numbers in all four methods.

    Every method raises :class:`PartError` where the rest of a file cannot be read, and
    :class:`~dedupcrawl.errors.DedupError` where an optional package is missing. None holds more than a few
    chunks of the file in memory.
    """

    def chunks(self, part: Part, fields: Fields) -> Iterator[Chunk]:
        """Cut a file into chunks.

        Raises :class:`~dedupcrawl.errors.DedupError` if a column that is named, or any page, is not there.
        """
        ...

    def rows(self, chunk: Chunk, fields: Fields) -> Iterator[Row | BadRow]:
        """Parse a chunk: one ``Row`` or ``Bad`` for each number from ``first`` on."""
        ...

    def copy(self, part: Part, target: Path, keep: KeepMask, *, cut: bool = False) -> int:
        """Write those rows to ``target`` whose place in ``keep`` is True, and return how many.

        Args:
            part: what is copied, packed like it.
            target: a path that is written at once; what is there after an error is not whole.
            keep: for each row of the part. Bad rows must be False.
            cut: end after the rows of ``keep``, for the rest cannot be read. Otherwise a file with more rows
                raises :class:`PartError`, as does one with fewer: it is not the one that was judged.
        """
        ...

    def annotate(self, part: Part, target: Path, columns: pa.Table, *, cut: bool = False) -> int:
        """Write all rows with :data:`COLUMNS`, which replace any of these names; return how many.

        ``columns`` has a row for each row of the part. One whose ``dedup_status`` is null, a bad row, is left
        out. The rest is as in ``copy``.
        """
        ...


def check_complete(part: Part, seen: int, expected: int) -> None:
    """Raise :class:`PartError` if a file has ended before all rows that were expected."""
    if seen < expected:
        raise PartError(str(part.path), seen, f"the file has changed: it had {expected} rows")


def is_beyond_end(part: Part, number: int, expected: int, *, cut: bool) -> bool:
    """Whether a row is one too many, behind a cut. Raises :class:`PartError` where there is no cut."""
    if number >= expected and not cut:
        raise PartError(str(part.path), number, f"the file has changed: it had {expected} rows")
    return number >= expected


def annotation_rows(columns: pa.Table) -> Iterator[dict[str, Any]]:
    """Give :data:`COLUMNS` row by row."""
    for batch in columns.select(ANNOTATION_COLUMNS).to_batches(max_chunksize=1024):
        yield from batch.to_pylist()


_is_number = re.compile(r"-?\d+(\.\d*)?").fullmatch
_is_archive_time = re.compile(r"\d{14}").fullmatch  # yyyymmddhhmmss, as web archives write it


def unix_time(value: object) -> float | None:
    """Return Unix seconds, or None for what is no time.

    Numbers are Unix seconds; strings are ISO 8601, or as in e-mail and HTTP (RFC 2822, RFC 7231), or 14
    digits. Without a time zone a time is UTC.

    >>> unix_time("2026-01-31T12:00:00+01:00") == unix_time("Sat, 31 Jan 2026 11:00:00 GMT") == 1769857200
    True
    >>> unix_time("yesterday") is None
    True
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _finite(value)
    if isinstance(value, datetime):
        return _seconds(value)
    if isinstance(value, date):
        return _seconds(datetime.combine(value, time()))
    return _parse_text(value.strip()) if isinstance(value, str) else None


def _finite(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _parse_text(text: str) -> float | None:
    for read in (_parse_archive_time, _parse_number, datetime.fromisoformat, parsedate_to_datetime):
        try:
            return _seconds(read(text))
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None


def _parse_archive_time(text: str) -> datetime:
    if not _is_archive_time(text):
        raise ValueError
    return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)


def _parse_number(text: str) -> float:
    if not _is_number(text) or _is_archive_time(text):
        raise ValueError
    return float(text)


def _seconds(value: datetime | float) -> float:
    if not isinstance(value, datetime):
        return value
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()


#: The usual names, the likeliest first.
URL_COLUMNS = ("url", "link", "uri", "page_url", "source_url", "target_uri", "WARC-Target-URI", "href")
HTML_COLUMNS = ("html", "raw_html", "html_content", "content_html", "page_html", "body_html", "body")
TEXT_COLUMNS = (
    "text",
    "content",
    "main_text",
    "maintext",
    "article_text",
    "raw_text",
    "raw_content",
    "plain_text",
)
TIME_COLUMNS = (
    "time", "timestamp", "date", "fetched", "fetched_at", "fetch_time", "crawled", "crawled_at", "crawl_time",
    "scraped_at", "published", "published_at", "date_published", "publish_date", "pub_date", "datetime",
    "created_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Which columns are asked, in turn, for each of the four."""

    url: tuple[str, ...]
    html: tuple[str, ...]
    text: tuple[str, ...]
    time: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.url, *self.html, *self.text, *self.time)))


def column_names(fields: Fields) -> ColumnNames:
    """Return which columns are asked. Where HTML or text is named, the other is not guessed."""
    named = bool(fields.html or fields.text)
    return ColumnNames(
        url=(fields.url,) if fields.url else URL_COLUMNS,
        html=(fields.html,) if fields.html else () if named else HTML_COLUMNS,
        text=(fields.text,) if fields.text else () if named else TEXT_COLUMNS,
        time=(fields.time,) if fields.time else TIME_COLUMNS,
    )


def missing_column(fields: Fields, there: Collection[str]) -> str | None:
    """Say which column is missing among those that are there; None: all that is needed is there."""
    named = {name: what for what in ("url", "html", "text", "time") if (name := getattr(fields, what))}
    for name, what in named.items():
        if name not in there:
            return f"no column {name!r}, named as that of the {what}"
    names = column_names(fields)
    if not any(name in there for name in (*names.html, *names.text)):
        return "no column of the usual names of HTML or text"
    return None


def check_columns(path: object, fields: Fields, there: Collection[str]) -> None:
    """Raise :class:`~dedupcrawl.errors.DedupError` if a column is missing, naming those that are there."""
    lacking = missing_column(fields, there)
    if lacking:
        raise DedupError(f"{path}: {lacking}; it has {', '.join(sorted(there)) or 'none'}")


def row_from_columns(number: int, get: Callable[[str], object], names: ColumnNames) -> Row | BadRow:
    """Make a row of the values of its columns; ``get`` returns None for what is not there."""
    try:
        html = _html_value(get, names.html)
        text = None if html else _text_value(get, names.text)
        url = _text_value(get, names.url) or ""
        time = _time_value(get, names.time)
    except TypeError as error:
        return BadRow(number, str(error))
    if html:
        return Row(number, url, html, None, time, _byte_size(html))
    return Row(number, url, None, text or "", time, _byte_size(text or ""))


def _html_value(get: Callable[[str], object], names: Iterable[str]) -> bytes | str | None:
    """Return the first HTML that is there; bytes are left to the reader of pages, which knows encodings."""
    for name in names:
        value = get(name)
        if value is None:
            continue
        found = value if isinstance(value, bytes) else _as_text(name, value)
        if found:
            return found
    return None


def _text_value(get: Callable[[str], object], names: Iterable[str]) -> str | None:
    for name in names:
        value = get(name)
        if value is not None and (found := _as_text(name, value)):
            return found
    return None


def _time_value(get: Callable[[str], object], names: Iterable[str]) -> float | None:
    for name in names:
        value = get(name)
        if value is not None and (found := unix_time(value)) is not None:
            return found
    return None


def _as_text(name: str, value: object) -> str | None:
    """Return the text of a value. Raises TypeError for what is none."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list):
        return "\n".join(filter(None, (_as_text(name, each) for each in value)))
    if isinstance(value, int | float):
        return str(value)
    raise TypeError(f"column {name!r} holds {type(value).__name__}, which is neither text nor HTML")


def _byte_size(page: bytes | str) -> int:
    return len(page) if isinstance(page, bytes) or page.isascii() else len(page.encode("utf-8", "replace"))
