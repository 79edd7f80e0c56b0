"""WARC files as records (ISO 28500), read so that damage to one leaves the others."""

from __future__ import annotations

import re
import tempfile
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.batch.formats.base import MOST_BYTES, PartError
from dedupcrawl.batch.formats.rewinding import NEWLINES, Source
from dedupcrawl.batch.formats.unpacking import PackedError, Unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    from dedupcrawl.batch.formats.base import Part

ROWS = frozenset({b"response", b"resource", b"conversion", b"revisit"})  #: types of records that are rows
_MOST_HEAD = 1 << 16
_PIECE = 1 << 20
_BEGINNING_BYTES = 1 << 12
_VERSION = re.compile(rb"WARC/\d\.\d+[ \t]*\r?\n\Z")
_BEGINNING = b"WARC/"


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a WARC file."""

    number: int | None  #: of the row; None for a record that belongs to others, or to the file
    start: int | None  #: where it begins in the file; None: amid a frame that is packed
    head: bytes  #: up to the empty line, and with it
    fields: Mapping[bytes, list[bytes]]  #: of the head, names in lower case
    size: int  #: bytes of the block
    block: bytes  #: its beginning alone, where it is too large to be held
    spool: BinaryIO | None  #: a file with the block that is too large, if asked for
    damage: str | None  #: what is wrong with it; such a record is a bad row

    def field(self, name: bytes) -> bytes:
        """Return the first value of a field, b"" if it is not there."""
        values = self.fields.get(name)
        return values[0] if values else b""

    def pieces(self, head: bytes) -> Iterator[bytes]:
        """Give the record under another head, to be written."""
        yield head
        if self.spool is None:
            yield self.block
        else:
            self.spool.seek(0)
            while piece := self.spool.read(_PIECE):
                yield piece
        yield b"\r\n\r\n"


class Records:
    """The records of a part, in order.

    Iterating raises :class:`~dedupcrawl.batch.formats.base.PartError` where the rest cannot be read.

    Args:
        part: the file.
        most: bytes of a block that is held in memory.
        spool: put larger blocks into a temporary file that is there until the next record is asked for.
    """

    def __init__(self, part: Part, most: int = MOST_BYTES, *, spool: bool = False) -> None:
        self._part = part
        self._most = most
        self._spools = spool
        self.rows = 0  #: rows that were given
        self.read = 0  #: bytes of the file that were taken for them
        self.end: int | None = None  #: where the last record that was given ends; None: amid a packed frame

    def __iter__(self) -> Iterator[Record]:
        try:
            with Unpacked(self._part.path, _BEGINNING) as raw, closing(Source(raw)) as source:
                while (record := self._next(source)) is not None:
                    self.read, self.end = raw.taken, record.start
                    yield record
                    self.rows += record.number is not None
                    if record.spool:
                        record.spool.close()
                self.read = self.end = raw.taken
        except (PackedError, OSError) as error:
            self.end = None
            raise PartError(str(self._part.path), self.rows, str(error)) from error

    def _next(self, source: Source) -> Record | None:
        source.skip_newlines()
        place = source.place
        start = source.start_at(place)
        head, damage = _head(source)
        if not head and not damage:
            return None
        fields = fields_of(head)
        size, wrong = _size(fields)
        damage = damage or wrong
        block, spool = b"", None
        if not damage:
            block, spool, damage = self._block(source, size)
        if damage:
            source.push(block if size <= self._most else b"")
            _find_next(source)
        source.skip_newlines()
        if source.is_broken(place):
            damage = "the packed data is damaged"
        is_row = bool(damage) or _first(fields, b"warc-type").lower() in ROWS
        return Record(self.rows if is_row else None, start, head, fields, size, block, spool, damage)

    def _block(self, source: Source, size: int) -> tuple[bytes, BinaryIO | None, str | None]:
        """Read a block and the two line ends behind it."""
        spool: BinaryIO | None = None
        if size <= self._most:
            block = source.read(size)
            missing = size - len(block)
        else:
            spool = tempfile.TemporaryFile() if self._spools else None  # noqa: SIM115  # closed by __iter__
            block, missing = _pour(source, size, spool)
        if missing:
            return block, spool, f"the block is cut off: {missing} bytes are missing"
        if not source.ends():
            return block, spool, "no line ends behind the block: its Content-Length is wrong"
        return block, spool, None


def _head(source: Source) -> tuple[bytes, str | None]:
    """Read the head of a record, and say what is wrong with it. Nothing: the end of the file."""
    line = source.readline(_MOST_HEAD)
    if line and not _VERSION.match(line):
        source.push(line)
        return b"", "no record begins where one should"
    head = line
    while line and line not in NEWLINES:
        line = source.readline(_MOST_HEAD)
        head += line
        if len(head) > _MOST_HEAD:
            return head, "its head is too long"
        if begun := _VERSION.search(line):
            source.push(line[begun.start() :])
            return head, "its head is cut off"
    return head, "its head is cut off" if head and not line else None


def fields_of(head: bytes) -> dict[bytes, list[bytes]]:
    """Parse the fields of a head; lines that begin with a blank go on with the one before."""
    fields: dict[bytes, list[bytes]] = {}
    values: list[bytes] = []
    for line in head.splitlines()[1:]:
        if line[:1] in (b" ", b"\t") and values:
            values[-1] += b" " + line.strip()
            continue
        name, colon, value = line.partition(b":")
        if colon:
            values = fields.setdefault(name.strip().lower(), [])
            values.append(value.strip())
    return fields


def _first(fields: Mapping[bytes, list[bytes]], name: bytes) -> bytes:
    return (fields.get(name) or [b""])[0]


def _size(fields: Mapping[bytes, list[bytes]]) -> tuple[int, str | None]:
    written = _first(fields, b"content-length")
    if not written.isdigit() or len(written) > 18:
        return 0, "it has no Content-Length"
    return int(written), None


def _pour(source: Source, size: int, into: BinaryIO | None) -> tuple[bytes, int]:
    """Read so many bytes without holding them; return the first of them, and how many are missing."""
    beginning = b""
    while size and (piece := source.read(min(size, _PIECE))):
        size -= len(piece)
        beginning = beginning or piece[:_BEGINNING_BYTES]
        if into:
            into.write(piece)
    return beginning, size


def _find_next(source: Source) -> None:
    """Go to the next place where a record begins, which may be amid a line: the end of it may be lost."""
    while line := source.readline(_MOST_HEAD):
        if begun := _VERSION.search(line):
            source.push(line[begun.start() :])
            return
