"""JSON Lines: an object a line (https://jsonlines.org), which is also how Scrapy writes its feeds.

Files of lines: cut into lines of a bounded length.
"""

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
from dedupcrawl.batch.formats.compression import (
    CompressionError,
    DecompressedFile,
    compression_of,
    open_compressed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from dedupcrawl.batch.formats.base import Chunk, Fields, KeepMask, Part, Row


BYTE_ORDER_MARK = b"\xef\xbb\xbf"  #: of UTF-8, which some programs set before the first line
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BUFFER_BYTES = 1 << 18


class LineReader:
    """The lines of a part, those with nothing in them left out; None stands for one that is too long.

    Iterating raises :class:`~dedupcrawl.batch.formats.base.PartError` where the rest cannot be read; a line
    that was cut off there is part of that rest.
    """

    def __init__(self, part: Part, most: int = MAX_RECORD_BYTES) -> None:
        self._path = part.path
        self._most = most
        self.count = 0  #: lines that were given
        self.read = 0  #: bytes of the file that were taken for them

    def __iter__(self) -> Iterator[bytes | None]:
        try:
            with DecompressedFile(self._path) as raw, io.BufferedReader(raw, _BUFFER_BYTES) as file:
                for line in self._lines(file):
                    self.read = raw.taken
                    yield line
                    self.count += 1
        except (CompressionError, OSError) as error:
            raise PartError(str(self._path), self.count, str(error)) from error

    def _lines(self, file: io.BufferedReader[DecompressedFile]) -> Iterator[bytes | None]:
        if file.peek(2)[:2] in _UTF16_MARKS:
            raise CompressionError("it is UTF-16; lines of JSON are UTF-8")
        first = True
        while line := file.readline(self._most + 1):
            if len(line) > self._most and not line.endswith(b"\n"):
                _skip_line(file)
                yield None
            elif (line.removeprefix(BYTE_ORDER_MARK) if first else line).strip():
                yield line
            first = False


def _skip_line(file: io.BufferedReader[DecompressedFile]) -> None:
    while line := file.readline(_BUFFER_BYTES):
        if line.endswith(b"\n"):
            return


_SAMPLED_ROWS = 10_000  #: rows that are searched for a column that is named


@dataclass(frozen=True, slots=True)
class JsonLinesFormat:
    """Lines of JSON. Blank ones are no rows; one longer than ``most`` bytes is a bad row."""

    most: int = MAX_RECORD_BYTES

    def chunks(self, part: Part, fields: Fields) -> Iterator[Chunk]:
        """Cut a file into runs of lines."""
        self._check(part, fields)
        lines = LineReader(part, self.most)
        yield from in_chunks(((line, len(line or b"")) for line in lines), lambda: lines.read)

    def rows(self, chunk: Chunk, fields: Fields) -> Iterator[Row | BadRow]:
        """Parse each line."""
        names = column_names(fields)
        for number, line in enumerate(chunk.data, chunk.first):
            found = _parse_line(line, number, self.most)
            yield found if isinstance(found, BadRow) else row_from_columns(number, found.get, names)

    def copy(self, part: Part, target: Path, keep: KeepMask, *, cut: bool = False) -> int:
        """Write the very lines that are kept."""
        flags, written, number = keep.tobytes(), 0, -1
        with open_compressed(target, compression_of(part.path)) as file:
            for number, line in self._until(part, len(flags), cut=cut):
                if flags[number]:
                    file.write(_required_line(part, number, line))
                    written += 1
        check_complete(part, number + 1, len(flags))
        return written

    def annotate(self, part: Part, target: Path, columns: pa.Table, *, cut: bool = False) -> int:
        """Write each line with the columns as its last keys; the rest of it stays byte for byte.

        A line that has one of these keys already is written anew.
        """
        written, number = 0, -1
        values = annotation_rows(columns)
        with open_compressed(target, compression_of(part.path)) as file:
            for number, line in self._until(part, columns.num_rows, cut=cut):
                value = next(values)
                if value[ANNOTATION_COLUMNS[0]] is not None:
                    file.write(_append_keys(_required_line(part, number, line), value))
                    written += 1
        check_complete(part, number + 1, columns.num_rows)
        return written

    def _until(self, part: Part, count: int, *, cut: bool) -> Iterator[tuple[int, bytes | None]]:
        """Number the lines, up to those that were counted."""
        if cut and not count:
            return
        for number, line in enumerate(LineReader(part, self.most)):
            if is_beyond_end(part, number, count, cut=cut):
                return
            yield number, line
            if cut and number + 1 == count:
                return

    def _check(self, part: Part, fields: Fields) -> None:
        """Raise if none of the first rows has a column that is needed."""
        there: dict[str, None] = {}
        number = -1
        try:
            for number, line in zip(range(_SAMPLED_ROWS), LineReader(part, self.most), strict=False):
                found = _parse_line(line, number, self.most)
                there |= {} if isinstance(found, BadRow) else dict.fromkeys(found)
                if there and not missing_column(fields, there):
                    return
        except PartError:  # it is raised once more, after the rows before it
            return
        if there:
            check_columns(part.path, fields, there)


def _parse_line(line: bytes | None, number: int, most: int) -> dict[str, Any] | BadRow:
    """Parse a line. What Python writes, and JSON does not know, is read too: NaN, half surrogate pairs."""
    if line is None:
        return BadRow(number, f"the line is longer than {most} bytes")
    line = line.removeprefix(BYTE_ORDER_MARK) if not number else line
    try:
        found = orjson.loads(line)
    except ValueError as error:
        try:
            found = json.loads(line.decode())
        except UnicodeDecodeError as wrong:
            return BadRow(number, f"the line is not UTF-8 at its byte {wrong.start}")
        except (ValueError, RecursionError):
            return BadRow(number, f"the line is no JSON: {error}")
    return found if isinstance(found, dict) else BadRow(number, "the line is no JSON object")


def _required_line(part: Part, number: int, line: bytes | None) -> bytes:
    if line is None:
        raise PartError(str(part.path), number, "the line is too long, and was to be written")
    return line


def _append_keys(line: bytes, value: dict[str, Any]) -> bytes:
    """Add keys behind the others of an object."""
    body = line.rstrip()
    end = line[len(body) :]
    if b'"dedup_' in body:
        return _replace_keys(body.removeprefix(BYTE_ORDER_MARK), ANNOTATION_COLUMNS, value) + end
    inside = body[:-1].rstrip()
    between = b"" if inside.endswith(b"{") else b", "
    return inside + between + _dump(value)[1:] + end


def _replace_keys(body: bytes, names: tuple[str, ...], value: dict[str, Any]) -> bytes:
    found = {key: each for key, each in json.loads(body).items() if key not in names}
    return _dump(found | value)


def _dump(value: dict[str, Any]) -> bytes:
    """Write JSON as Scrapy does, half surrogate pairs escaped."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
