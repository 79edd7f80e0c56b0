"""WARC files, WET files among them: a row for each response, resource, conversion and revisit."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dedupcrawl.batch.formats.base import (
    COLUMNS,
    MOST_BYTES,
    PartError,
    check_end,
    check_more,
    in_chunks,
    values_of,
)
from dedupcrawl.batch.formats.links import Links
from dedupcrawl.batch.formats.packing import packing_of, write_frame
from dedupcrawl.batch.formats.records import Records
from dedupcrawl.batch.formats.unpacking import preface_of
from dedupcrawl.batch.formats.warcpages import fastwarc, piece_of, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    import pyarrow as pa

    from dedupcrawl.batch.formats.base import Bad, Chunk, Fields, Keep, Part, Row
    from dedupcrawl.batch.formats.records import Record

#: What ``annotate`` adds to the head of a record; ISO 28500 allows any names that do not begin with WARC-.
HEADERS = {name: b"X-" + name.replace("_", "-").title().encode() for name in COLUMNS}
_COPIED_BYTES = 1 << 20
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Warc:
    """Records. What is no page, or no whole one, is a row that stays unchecked, and is kept.

    A block of more than ``most`` bytes is never held in memory.
    """

    most: int = MOST_BYTES

    def chunks(self, part: Part, fields: Fields) -> Iterator[Chunk]:  # noqa: ARG002
        """Cut a file into runs of records. The fields of a WARC record are known."""
        fastwarc()
        records = Records(part, self.most)
        pieces = (piece_of(record) for record in records if record.number is not None)
        yield from in_chunks(((piece, len(piece[1])) for piece in pieces), lambda: records.read)

    def rows(self, chunk: Chunk, fields: Fields) -> Iterator[Row | Bad]:  # noqa: ARG002
        """Read the pages in the records of a chunk."""
        return (row_of(number, piece) for number, piece in enumerate(chunk.data, chunk.first))

    def copy(self, part: Part, target: Path, keep: Keep, *, cut: bool = False) -> int:
        """Write the very records that are kept, with what belongs to them, and what belongs to none.

        They are copied as they are packed where each is packed by itself; else that is done now.
        """
        plan = _planned(Records(part, self.most), part, keep, cut=cut)
        with target.open("wb") as file:
            if plan.is_packed_singly:
                file.write(preface_of(part.path))
                with part.path.open("rb") as source:
                    for start, end in plan.ranges():
                        _copy(source, file, start, end)
            else:
                packing = packing_of(part.path)
                # In this order: what cannot be read must not be asked for.
                for kept, record in zip(plan.kept, Records(part, self.most, spool=True), strict=False):
                    if kept:
                        write_frame(file, packing, record.pieces(record.head))
            _fill(file, part)
        return int(keep.sum())

    def annotate(self, part: Part, target: Path, columns: pa.Table, *, cut: bool = False) -> int:
        """Write all records, rows with the columns as fields of their heads (:data:`HEADERS`)."""
        records = Records(part, self.most, spool=True)
        packing, values, written = packing_of(part.path), values_of(columns), 0
        with target.open("wb") as file:
            for record in _until(records, part, columns.num_rows, cut=cut):
                head = record.head
                if record.number is not None:
                    value = next(values)
                    if record.damage or value[COLUMNS[0]] is None:
                        continue
                    head = _headed(head, value)
                    written += 1
                write_frame(file, packing, record.pieces(head))
            _fill(file, part)
        check_end(part, records.rows, columns.num_rows)
        return written


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be done with each record of a file."""

    kept: list[bool]
    starts: array[int]  #: of each record in the file, and the end of the last; -1 where that is amid a frame

    @property
    def is_packed_singly(self) -> bool:
        """Whether what is kept can be copied without unpacking it."""
        return all(
            min(self.starts[at], self.starts[at + 1]) >= 0 for at, kept in enumerate(self.kept) if kept
        )

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Give the bytes of the records that are kept, those of neighbours in one."""
        start = end = 0
        for kept, (here, there) in zip(self.kept, pairwise(self.starts), strict=True):
            if kept and here == end:
                end = there
            elif kept:
                yield start, end
                start, end = here, there
        yield start, end


def _planned(records: Records, part: Part, keep: Keep, *, cut: bool) -> _Plan:
    links, starts = Links(), array("q")
    for record in _until(records, part, len(keep), cut=cut):
        is_kept = record.number is not None and not record.damage and bool(keep[record.number])
        links.add(record, keep=is_kept)
        starts.append(-1 if record.start is None else record.start)
    check_end(part, records.rows, len(keep))
    starts.append(records.end if records.end is not None else -1)
    return _Plan(links.kept(), starts)


def _until(records: Records, part: Part, count: int, *, cut: bool) -> Iterator[Record]:
    """Give the records up to the rows that were counted, and what stands behind the last of them."""
    try:
        for record in records:
            if record.number is not None and check_more(part, record.number, count, cut=cut):
                return
            yield record
    except PartError:
        if not cut or records.rows < count:
            raise


def _fill(file: BinaryIO, part: Part) -> None:
    """Write an empty frame where nothing was written, for a packed file has one."""
    if not file.tell():
        write_frame(file, packing_of(part.path), ())


def _copy(source: BinaryIO, target: BinaryIO, start: int, end: int) -> None:
    source.seek(start)
    while start < end and (piece := source.read(min(end - start, _COPIED_BYTES))):
        target.write(piece)
        start += len(piece)


def _headed(head: bytes, value: dict[str, Any]) -> bytes:
    """Add fields to a head, in the place of those of the same names."""
    names = tuple(name.lower() + b":" for name in HEADERS.values())
    *lines, empty = head.splitlines(keepends=True)
    kept = [line for line in lines if not line.lower().startswith(names)]
    added = [
        HEADERS[name] + b": " + _printed(each) + empty for name, each in value.items() if each is not None
    ]
    return b"".join([*kept, *added, empty])


def _printed(value: object) -> bytes:
    """Write a value on one line."""
    line = _CONTROL.sub(lambda found: f"%{ord(found[0]):02X}", str(value))
    return line.encode("utf-8", "replace")
