"""JSON Lines (https://jsonlines.org): one object on each line. Scrapy's feeds have this format too."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from dedupcrawl.batch.formats.base import (
    ANNOTATION_COLUMNS,
    MAX_RECORD_BYTES,
    BadRow,
    ColumnNames,
    PartError,
    annotation_rows,
    check_columns,
    check_complete,
    column_names,
    in_chunks,
    is_beyond_end,
    missing_column,
    row_from_columns,
)
from dedupcrawl.batch.formats.compression import CompressionError, DecompressedFile, compression_of, open_compressed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from dedupcrawl.batch.formats.base import Chunk, Fields, KeepMask, Part, Row

BYTE_ORDER_MARK = b"\xef\xbb\xbf"  #: of UTF-8; some programs write it before the first line
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BUFFER_BYTES = 1 << 18
_SAMPLED_ROWS = 10_000  #: rows that are searched for the named columns


@dataclass(frozen=True, slots=True)
class JsonLinesFormat:
    """JSON Lines (:class:`~dedupcrawl.batch.formats.base.Format`). Blank lines are not rows.

    A line longer than ``max_bytes`` is a bad row.
    """

    max_bytes: int = MAX_RECORD_BYTES

    def chunks(self, part: Part, fields: Fields) -> Iterator[Chunk]:
        """Cut a file into runs of lines."""
        self._check_columns(part, fields)
        lines = LineReader(part, self.max_bytes)
        yield from in_chunks(((line, len(line or b"")) for line in lines), lambda: lines.read)

    def rows(self, chunk: Chunk, fields: Fields) -> Iterator[Row | BadRow]:
        """Parse each line."""
        names, names_of = column_names(fields), dict[tuple[str, ...], ColumnNames]()
        for number, line in enumerate(chunk.data, chunk.first):
            item = _parse_line(line, number, self.max_bytes)
            if isinstance(item, BadRow):
                yield item
                continue
            columns = tuple(item)
            if columns not in names_of:  # most files have the same keys on all lines
                names_of[columns] = names.among(columns)
            yield row_from_columns(number, item.get, names_of[columns])

    def copy(self, part: Part, target: Path, keep: KeepMask, *, truncated: bool = False) -> int:
        """Copy the kept lines byte for byte."""
        flags, written, number = keep.tobytes(), 0, -1
        with open_compressed(target, compression_of(part.path)) as file:
            for number, line in self._numbered(part, len(flags), truncated=truncated):
                if flags[number]:
                    file.write(_required_line(part, number, line))
                    written += 1
        check_complete(part, number + 1, len(flags))
        return written

    def annotate(self, part: Part, target: Path, columns: pa.Table, *, truncated: bool = False) -> int:
        """Copy each line with the columns as its last keys.

        The rest stays the same byte for byte, except in lines that have one of these keys already.
        """
        written, number = 0, -1
        values = annotation_rows(columns)
        with open_compressed(target, compression_of(part.path)) as file:
            for number, line in self._numbered(part, columns.num_rows, truncated=truncated):
                value = next(values)
                if value[ANNOTATION_COLUMNS[0]] is not None:
                    file.write(_append_keys(_required_line(part, number, line), value))
                    written += 1
        check_complete(part, number + 1, columns.num_rows)
        return written

    def _numbered(self, part: Part, count: int, *, truncated: bool) -> Iterator[tuple[int, bytes | None]]:
        """Yield the first ``count`` lines with their numbers."""
        if truncated and not count:
            return
        for number, line in enumerate(LineReader(part, self.max_bytes)):
            if is_beyond_end(part, number, count, truncated=truncated):
                return
            yield number, line
            if truncated and number + 1 == count:
                return

    def _check_columns(self, part: Part, fields: Fields) -> None:
        """Raise DedupError if none of the first rows has a column that is needed."""
        columns: dict[str, None] = {}
        try:
            for number, line in zip(range(_SAMPLED_ROWS), LineReader(part, self.max_bytes), strict=False):
                item = _parse_line(line, number, self.max_bytes)
                columns |= {} if isinstance(item, BadRow) else dict.fromkeys(item)
                if not missing_column(fields, columns):
                    return
        except PartError:  # raised again, after the rows before it, by chunks()
            return
        if columns:
            check_columns(part.path, fields, columns)


class LineReader:
    """Iterates over the lines of a part without the blank ones; yields None for a line that is too long.

    Raises PartError where the rest cannot be read; the last line before damage counts as damaged too.
    """

    def __init__(self, part: Part, max_bytes: int = MAX_RECORD_BYTES) -> None:
        self._path = part.path
        self._max_bytes = max_bytes
        self.count = 0  #: lines yielded so far
        self.read = 0  #: bytes of the file read for them

    def __iter__(self) -> Iterator[bytes | None]:
        try:
            with DecompressedFile(self._path) as raw, io.BufferedReader(raw, _BUFFER_BYTES) as file:
                for line in self._lines(file):
                    self.read = raw.consumed
                    yield line
                    self.count += 1
        except (CompressionError, OSError) as error:
            raise PartError(str(self._path), self.count, str(error)) from error

    def _lines(self, file: io.BufferedReader[DecompressedFile]) -> Iterator[bytes | None]:
        if file.peek(2)[:2] in _UTF16_MARKS:
            raise CompressionError("it is UTF-16; lines of JSON are UTF-8")
        first = True
        while line := file.readline(self._max_bytes + 1):
            if len(line) > self._max_bytes and not line.endswith(b"\n"):
                _skip_line(file)
                yield None
            elif not _is_blank(line.removeprefix(BYTE_ORDER_MARK) if first else line):
                yield line
            first = False


def _is_blank(line: bytes) -> bool:
    return not line or line.isspace()


def _skip_line(file: io.BufferedReader[DecompressedFile]) -> None:
    while line := file.readline(_BUFFER_BYTES):
        if line.endswith(b"\n"):
            return


def _parse_line(line: bytes | None, number: int, max_bytes: int) -> dict[str, Any] | BadRow:
    """Parse a line; accepts what Python writes beyond JSON: NaN and lone surrogates."""
    if line is None:
        return BadRow(number, f"the line is longer than {max_bytes} bytes")
    line = line.removeprefix(BYTE_ORDER_MARK) if not number else line
    try:
        item = orjson.loads(line)
    except ValueError as error:
        try:
            item = json.loads(line.decode())
        except UnicodeDecodeError as wrong:
            return BadRow(number, f"the line is not UTF-8 at its byte {wrong.start}")
        except (ValueError, RecursionError):
            return BadRow(number, f"the line is no JSON: {error}")
    return item if isinstance(item, dict) else BadRow(number, "the line is no JSON object")


def _required_line(part: Part, number: int, line: bytes | None) -> bytes:
    if line is None:
        raise PartError(str(part.path), number, "the line is too long, and was to be written")
    return line


def _append_keys(line: bytes, value: dict[str, Any]) -> bytes:
    """Add keys at the end of an object, or replace all keys of these names."""
    body = line.rstrip()
    end = line[len(body) :]
    if b'"dedup_' in body:
        item = json.loads(body.removeprefix(BYTE_ORDER_MARK))
        return _dump({key: each for key, each in item.items() if key not in ANNOTATION_COLUMNS} | value) + end
    inside = body[:-1].rstrip()
    comma = b"" if inside.endswith(b"{") else b", "
    return inside + comma + _dump(value)[1:] + end


def _dump(value: dict[str, Any]) -> bytes:
    """Write JSON as Scrapy does; lone surrogates are escaped."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
