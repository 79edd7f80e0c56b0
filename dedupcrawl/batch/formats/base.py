"""The contract of a file format, and how the columns of a row become a page."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dedupcrawl.errors import DedupError
from dedupcrawl.text.features import utf8_length

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    import numpy as np
    import pyarrow as pa

    KeepMask = np.ndarray[tuple[int], np.dtype[np.bool_]]

#: The columns that ``annotate`` adds to each row, in this order.
ANNOTATION_COLUMNS = (
    "dedup_status", "dedup_relation", "dedup_of", "dedup_similarity", "dedup_cluster", "dedup_detector",
    "dedup_position", "dedup_layout",
)  # fmt: skip
CHUNK_BYTES = 1 << 20  #: approximate size of a chunk; a larger row is a chunk of its own
#: Maximal size of a line or record. A longer one is a bad row and is never held in memory.
MAX_RECORD_BYTES = 64 << 20
#: Column names that are looked for if none are given, the most likely first.
URL_COLUMNS = ("url", "link", "uri", "page_url", "source_url", "target_uri", "WARC-Target-URI", "href")
HTML_COLUMNS = ("html", "raw_html", "html_content", "content_html", "page_html", "body_html", "body")
TEXT_COLUMNS = (
    "text", "content", "main_text", "maintext", "article_text", "raw_text", "raw_content", "plain_text",
)  # fmt: skip
TIME_COLUMNS = (
    "time", "timestamp", "date", "fetched", "fetched_at", "fetch_time", "crawled", "crawled_at", "crawl_time",
    "scraped_at", "published", "published_at", "date_published", "publish_date", "pub_date", "datetime",
    "created_at",
)  # fmt: skip
_is_number = re.compile(r"-?\d+(\.\d*)?").fullmatch
_is_archive_time = re.compile(r"\d{14}").fullmatch  # yyyymmddhhmmss, as web archives write it


class PartError(DedupError):
    """A part cannot be read to its end; all rows before ``row`` are intact.

    Args:
        part: path of the file.
        row: number of the first row that cannot be read, from 0.
        why: what is wrong.
    """

    def __init__(self, part: str, row: int, why: str) -> None:
        super().__init__(part, row, why)
        self.part, self.row, self.why = part, row, why

    def __str__(self) -> str:
        return f"{self.part}: cannot be read{f' from row {self.row} on' if self.row else ''}: {self.why}"


@dataclass(frozen=True, slots=True)
class Part:
    """An input file."""

    number: int  #: its place in the order of arrival, from 0
    path: Path
    name: str  #: unique relative path of its output, with slashes
    format: str  #: key of :func:`~dedupcrawl.batch.formats.format_named`


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns that hold the pages; "": look for the usual names.

    If only one of ``html`` and ``text`` is named, the other is not used. HTML takes precedence over text.
    """

    url: str = ""
    html: str = ""
    text: str = ""
    time: str = ""
    score: str = ""  #: column with a number by which copies are preferred; "": none
    captures: bool = False  #: whether a :class:`Row` of a WARC file has the identity of its record


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows that are not parsed yet: cheap to create and to send to another process."""

    first: int  #: number of the first row
    count: int  #: number of rows, including bad ones
    read: int  #: bytes of the file before the end of the chunk; may be approximate
    data: Any  #: the rows, in a form that only the format knows; can be pickled


class Row(NamedTuple):
    """A page of the corpus. A named tuple, because a batch makes one for every page.

    If ``reason`` is None, exactly one of ``html`` and ``text`` is not None; it may be empty. A row with a
    ``reason`` is not a complete page; it stays unchecked for this reason.
    """

    number: int  #: in its part, from 0
    url: str
    html: bytes | str | None
    text: str | None
    time: float | None  #: Unix time in seconds
    size: int  #: bytes of the page
    content_type: str = ""  #: the HTTP header, which may name the encoding of ``html``
    reason: str | None = None
    score: float | None = None  #: in ``Fields.score``; None: it has none
    capture: bytes = b""  #: ID, date and payload digest of its WARC record, with line ends between them

    @property
    def is_textless(self) -> bool:
        """Whether it has no HTML, and no text but white space."""
        return self.reason is None and self.html is None and not (self.text or "").strip()


@dataclass(frozen=True, slots=True)
class BadRow:
    """A damaged row, or one without text; the rows after it can be read."""

    number: int  #: in its part, from 0
    why: str


class Format(Protocol):
    """Reads and writes the files of one format. Row numbers are the same in all four methods.

    No method holds more than a few chunks of a file in memory.

    Raises:
        PartError: a file cannot be read to its end, or has changed.
        DedupError: an optional package is missing.
    """

    def chunks(self, part: Part, fields: Fields) -> Iterator[Chunk]:
        """Cut a file into chunks.

        Args:
            part: the file.
            fields: the columns that hold the pages.

        Raises:
            DedupError: a named column is missing, or no column holds pages.
        """

    def rows(self, chunk: Chunk, fields: Fields) -> Iterator[Row | BadRow]:
        """Parse a chunk.

        Args:
            chunk: from :meth:`chunks`.
            fields: the columns that hold the pages.

        Returns:
            One ``Row`` or ``BadRow`` for each number from ``chunk.first`` on.
        """

    def copy(self, part: Part, target: Path, keep: KeepMask, *, truncated: bool = False) -> int:
        """Copy the kept rows to a new file of the same format and compression.

        Args:
            part: the file to copy.
            target: the file to write; incomplete after an error.
            keep: for each row whether to copy it; False for bad rows.
            truncated: stop after the rows of ``keep``, since the rest cannot be read. Otherwise a file with
                more or fewer rows raises PartError.

        Returns:
            The number of rows written.
        """

    def annotate(self, part: Part, target: Path, columns: pa.Table, *, truncated: bool = False) -> int:
        """Copy all rows and add columns.

        Args:
            part: the file to copy.
            target: the file to write; incomplete after an error.
            columns: :data:`ANNOTATION_COLUMNS` of each row; existing columns of these names are replaced. Bad
                rows, whose ``dedup_status`` is null, are left out.
            truncated: as in :meth:`copy`.

        Returns:
            The number of rows written.
        """


def in_chunks(rows: Iterable[tuple[object, int]], read: Callable[[], int]) -> Iterator[Chunk]:
    """Yield rows, given with their sizes in bytes, in chunks of about :data:`CHUNK_BYTES`.

    ``read`` returns the number of bytes read from the file so far. If ``rows`` raises PartError, the rows
    before the error are yielded first.
    """
    pending: list[object] = []
    first = size = 0
    try:
        for row, length in rows:
            pending.append(row)
            size += length
            if size >= CHUNK_BYTES:
                yield Chunk(first, len(pending), read(), tuple(pending))
                first, pending, size = first + len(pending), [], 0
    except PartError:
        if pending:
            yield Chunk(first, len(pending), read(), tuple(pending))
        raise
    if pending:
        yield Chunk(first, len(pending), read(), tuple(pending))


def check_complete(part: Part, seen: int, expected: int) -> None:
    """Raise :class:`PartError` if a file has fewer rows than expected."""
    if seen < expected:
        raise _changed(part, seen, expected)


def is_beyond_end(part: Part, number: int, expected: int, *, truncated: bool) -> bool:
    """Return whether a row of a truncated file is to be ignored; raises PartError if it is not truncated."""
    if number >= expected and not truncated:
        raise _changed(part, number, expected)
    return number >= expected


def _changed(part: Part, row: int, expected: int) -> PartError:
    return PartError(str(part.path), row, f"the file has changed: it had {expected} rows")


def annotation_rows(columns: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the values of :data:`ANNOTATION_COLUMNS` of each row."""
    for batch in columns.select(ANNOTATION_COLUMNS).to_batches(max_chunksize=1024):
        yield from batch.to_pylist()


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The columns to look for, in order of precedence."""

    url: tuple[str, ...]
    html: tuple[str, ...]
    text: tuple[str, ...]
    time: tuple[str, ...]
    score: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """All names, without repetitions."""
        return tuple(dict.fromkeys((*self.url, *self.html, *self.text, *self.time, *self.score)))

    def among(self, columns: Collection[str]) -> ColumnNames:
        """Return the names that are among these columns: rows of the same columns are searched faster with them."""
        every = (self.url, self.html, self.text, self.time, self.score)
        return ColumnNames(*(tuple(name for name in names if name in columns) for names in every))


def column_names(fields: Fields) -> ColumnNames:
    """Return the columns to look for. If HTML or text is named, the other is not looked for."""
    named = bool(fields.html or fields.text)
    return ColumnNames(
        url=(fields.url,) if fields.url else URL_COLUMNS,
        html=(fields.html,) if fields.html else () if named else HTML_COLUMNS,
        text=(fields.text,) if fields.text else () if named else TEXT_COLUMNS,
        time=(fields.time,) if fields.time else TIME_COLUMNS,
        score=(fields.score,) if fields.score else (),
    )


def textless_reason(fields: Fields) -> str:
    """Return why a row has no text.

    >>> textless_reason(Fields(text="story"))
    "no text: 'story' is missing or empty"
    >>> textless_reason(Fields())
    'no text: all columns of the usual names of HTML and text are missing or empty'
    """
    if named := " and ".join(repr(name) for name in (fields.html, fields.text) if name):
        return f"no text: {named} {'are' if fields.html and fields.text else 'is'} missing or empty"
    return "no text: all columns of the usual names of HTML and text are missing or empty"


def missing_column(fields: Fields, columns: Collection[str]) -> str | None:
    """Return an error message if a column that is needed is not among these; else None."""
    named = {name: what for what in ("url", "html", "text", "time", "score") if (name := getattr(fields, what))}
    for name, what in named.items():
        if name not in columns:
            return f"no column {name!r}, named as that of the {what}"
    names = column_names(fields)
    if not any(name in columns for name in (*names.html, *names.text)):
        return "no column of the usual names of HTML or text"
    return None


def check_columns(path: object, fields: Fields, columns: Collection[str]) -> None:
    """Raise DedupError if a column that is needed is not among these."""
    error = missing_column(fields, columns)
    if error:
        raise DedupError(f"{path}: {error}; it has {', '.join(sorted(columns)) or 'none'}")


def row_from_columns(number: int, get: Callable[[str], object], names: ColumnNames) -> Row | BadRow:
    """Return the row of a page; ``get`` returns the value of a column, or None if it is missing."""
    try:
        html: bytes | str | None = _first_value(get, names.html, _html_value)
        text = None if html else _first_value(get, names.text, _as_text)
        url = _first_value(get, names.url, _as_text) or ""
        time = _time_value(get, names.time)
        score = score_value(get(names.score[0])) if names.score else None
    except TypeError as error:
        return BadRow(number, str(error))
    if html:
        return Row(number, url, html, None, time, _byte_size(html), score=score)
    return Row(number, url, None, text or "", time, _byte_size(text or ""), score=score)


def _first_value(get: Callable[[str], object], names: Iterable[str], convert: Callable[[str, object], Any]) -> Any:
    """Return the first value that is not empty."""
    for name in names:
        value = get(name)
        if value is not None and (found := convert(name, value)):
            return found
    return None


def _html_value(name: str, value: object) -> bytes | str | None:
    return value if isinstance(value, bytes) else _as_text(name, value)  # the page reader detects encodings


def _time_value(get: Callable[[str], object], names: Iterable[str]) -> float | None:
    for name in names:
        value = get(name)
        if value is not None and (found := unix_time(value)) is not None:
            return found
    return None


def _as_text(name: str, value: object) -> str | None:
    """Convert a value to text; raises TypeError for other types."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list):
        return "\n".join(filter(None, (_as_text(name, each) for each in value)))
    if isinstance(value, int | float):
        return str(value)
    raise TypeError(f"column {name!r} holds {type(value).__name__}, which is neither text nor HTML")


def score_value(value: object) -> float | None:
    """Return a number, also one in a string, as a float; None if it is not a finite number.

    >>> score_value(3), score_value("0.75"), score_value("good"), score_value(True)
    (3.0, 0.75, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return _finite(float(value))
    except (ValueError, OverflowError):
        return None


def _byte_size(page: bytes | str) -> int:
    return len(page) if isinstance(page, bytes) else utf8_length(page)


def unix_time(value: object) -> float | None:
    """Return a time as Unix seconds; None if it is not a time.

    A number is Unix seconds. A string is ISO 8601, a date of e-mail or HTTP (RFC 2822, RFC 7231), or 14
    digits (``yyyymmddhhmmss``). A time without a time zone is UTC.

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
    for parse in (_parse_archive_time, _parse_number, datetime.fromisoformat, parsedate_to_datetime):
        try:
            return _seconds(parse(text))
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
