"""JSON Lines: an object a line (https://jsonlines.org), which is also how Scrapy writes its feeds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from dedupcrawl.batch.formats.base import (
    COLUMNS,
    MOST_BYTES,
    Bad,
    PartError,
    check_end,
    check_more,
    in_chunks,
    values_of,
)
from dedupcrawl.batch.formats.fields import check_columns, missing, names_of, row_of
from dedupcrawl.batch.formats.lines import MARK, Lines
from dedupcrawl.batch.formats.packing import packed_to, packing_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from dedupcrawl.batch.formats.base import Chunk, Fields, Keep, Part, Row

_LOOKED_AT = 10_000  #: rows that are searched for a column that is named


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Lines of JSON. Blank ones are no rows; one longer than ``most`` bytes is a bad row."""

    most: int = MOST_BYTES

    def chunks(self, part: Part, fields: Fields) -> Iterator[Chunk]:
        """Cut a file into runs of lines."""
        self._check(part, fields)
        lines = Lines(part, self.most)
        yield from in_chunks(((line, len(line or b"")) for line in lines), lambda: lines.read)

    def rows(self, chunk: Chunk, fields: Fields) -> Iterator[Row | Bad]:
        """Parse each line."""
        names = names_of(fields)
        for number, line in enumerate(chunk.data, chunk.first):
            found = _parsed(line, number, self.most)
            yield found if isinstance(found, Bad) else row_of(number, found.get, names)

    def copy(self, part: Part, target: Path, keep: Keep, *, cut: bool = False) -> int:
        """Write the very lines that are kept."""
        flags, written, number = keep.tobytes(), 0, -1
        with packed_to(target, packing_of(part.path)) as file:
            for number, line in self._until(part, len(flags), cut=cut):
                if flags[number]:
                    file.write(_whole(part, number, line))
                    written += 1
        check_end(part, number + 1, len(flags))
        return written

    def annotate(self, part: Part, target: Path, columns: pa.Table, *, cut: bool = False) -> int:
        """Write each line with the columns as its last keys; the rest of it stays byte for byte.

        A line that has one of these keys already is written anew.
        """
        written, number = 0, -1
        values = values_of(columns)
        with packed_to(target, packing_of(part.path)) as file:
            for number, line in self._until(part, columns.num_rows, cut=cut):
                value = next(values)
                if value[COLUMNS[0]] is not None:
                    file.write(_extended(_whole(part, number, line), value))
                    written += 1
        check_end(part, number + 1, columns.num_rows)
        return written

    def _until(self, part: Part, count: int, *, cut: bool) -> Iterator[tuple[int, bytes | None]]:
        """Number the lines, up to those that were counted."""
        if cut and not count:
            return
        for number, line in enumerate(Lines(part, self.most)):
            if check_more(part, number, count, cut=cut):
                return
            yield number, line
            if cut and number + 1 == count:
                return

    def _check(self, part: Part, fields: Fields) -> None:
        """Raise if none of the first rows has a column that is needed."""
        there: dict[str, None] = {}
        number = -1
        try:
            for number, line in zip(range(_LOOKED_AT), Lines(part, self.most), strict=False):
                found = _parsed(line, number, self.most)
                there |= {} if isinstance(found, Bad) else dict.fromkeys(found)
                if there and not missing(fields, there):
                    return
        except PartError:  # it is raised once more, after the rows before it
            return
        if there:
            check_columns(part.path, fields, there)


def _parsed(line: bytes | None, number: int, most: int) -> dict[str, Any] | Bad:
    """Parse a line. What Python writes, and JSON does not know, is read too: NaN, half surrogate pairs."""
    if line is None:
        return Bad(number, f"the line is longer than {most} bytes")
    line = line.removeprefix(MARK) if not number else line
    try:
        found = orjson.loads(line)
    except ValueError as error:
        try:
            found = json.loads(line.decode())
        except UnicodeDecodeError as wrong:
            return Bad(number, f"the line is not UTF-8 at its byte {wrong.start}")
        except (ValueError, RecursionError):
            return Bad(number, f"the line is no JSON: {error}")
    return found if isinstance(found, dict) else Bad(number, "the line is no JSON object")


def _whole(part: Part, number: int, line: bytes | None) -> bytes:
    if line is None:
        raise PartError(str(part.path), number, "the line is too long, and was to be written")
    return line


def _extended(line: bytes, value: dict[str, Any]) -> bytes:
    """Add keys behind the others of an object."""
    body = line.rstrip()
    end = line[len(body) :]
    if b'"dedup_' in body:
        return _without(body.removeprefix(MARK), COLUMNS, value) + end
    inside = body[:-1].rstrip()
    between = b"" if inside.endswith(b"{") else b", "
    return inside + between + _written(value)[1:] + end


def _without(body: bytes, names: tuple[str, ...], value: dict[str, Any]) -> bytes:
    found = {key: each for key, each in json.loads(body).items() if key not in names}
    return _written(found | value)


def _written(value: dict[str, Any]) -> bytes:
    """Write JSON as Scrapy does, half surrogate pairs escaped."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
