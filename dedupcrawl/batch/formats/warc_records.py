"""WARC files as records (ISO 28500), read so that damage to one leaves the others.

Bytes that can be put back: behind damage, what was read in vain is read once more.
"""

from __future__ import annotations

import io
import re
import tempfile
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.batch.formats.base import MAX_RECORD_BYTES, PartError
from dedupcrawl.batch.formats.compression import CompressionError, DecompressedFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    from dedupcrawl.batch.formats.base import Part


NEWLINES = (b"\r\n", b"\n")
_MAX_LINE_BYTES = 1 << 16
_BUFFER_BYTES = 1 << 20


class PushbackReader:
    """Bytes that can be put back."""

    def __init__(self, raw: DecompressedFile) -> None:
        self._raw = raw
        self._file = io.BufferedReader(raw, _BUFFER_BYTES)
        self._back = b""  # put back
        self._at = 0  # bytes of it that were read again
        self.place = 0  #: bytes that were read, and not put back

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, count: int) -> bytes:
        """Return so many bytes, or what there is."""
        data = self._back[self._at : self._at + count]
        self._at += len(data)
        if len(data) < count:
            data += self._file.read(count - len(data))
        self.place += len(data)
        return data

    def readline(self, most: int) -> bytes:
        """Return a line with its end, or the first bytes of one that is longer; nothing at the end."""
        end = self._back.find(b"\n", self._at, self._at + most) + 1
        line = self._back[self._at : end or self._at + most]
        self._at += len(line)
        if not end and len(line) < most:
            line += self._file.readline(most - len(line))
        self.place += len(line)
        return line

    def push(self, data: bytes) -> None:
        """Put bytes back that were the last to be read."""
        self.place -= len(data)
        if self._back.endswith(data, 0, self._at):  # no copy of what may be large
            self._at -= len(data)
        else:
            self._back, self._at = data + self._back[self._at :], 0

    def skip_newlines(self) -> None:
        """Go on to the next record. That it cannot be read is its own trouble: asked again, it tells."""
        try:
            while (line := self.readline(_MAX_LINE_BYTES)) in NEWLINES:
                continue
        except CompressionError:
            return
        self.push(line)

    def ends(self) -> bool:
        """Read two line ends, or the end of the file; anything else is put back."""
        first, second = self.readline(_MAX_LINE_BYTES), self.readline(_MAX_LINE_BYTES)
        ended = first in (*NEWLINES, b"") and second in (*NEWLINES, b"")
        if not ended:
            self.push(first + second)
        return ended

    def start_at(self, place: int) -> int | None:
        """Return where in the file a frame, or a plain byte, of this place in the bytes is."""
        return self._raw.frame_at(place)

    def is_broken(self, since: int) -> bool:
        """Whether bytes are missing from this place on, as far as it was read."""
        return any(since <= each < self.place for each in self._raw.breaks)


ROW_TYPES = frozenset(
    {b"response", b"resource", b"conversion", b"revisit"}
)  #: types of records that are rows
_MAX_HEADER_BYTES = 1 << 16
_PIECE_BYTES = 1 << 20
_PREFIX_BYTES = 1 << 12
_VERSION_LINE = re.compile(rb"WARC/\d\.\d+[ \t]*\r?\n\Z")
_RECORD_START = b"WARC/"


@dataclass(frozen=True, slots=True)
class WarcRecord:
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
            while piece := self.spool.read(_PIECE_BYTES):
                yield piece
        yield b"\r\n\r\n"


class WarcReader:
    """The records of a part, in order.

    Iterating raises :class:`~dedupcrawl.batch.formats.base.PartError` where the rest cannot be read.

    Args:
        part: the file.
        most: bytes of a block that is held in memory.
        spool: put larger blocks into a temporary file that is there until the next record is asked for.
    """

    def __init__(self, part: Part, most: int = MAX_RECORD_BYTES, *, spool: bool = False) -> None:
        self._part = part
        self._most = most
        self._spools = spool
        self.rows = 0  #: rows that were given
        self.read = 0  #: bytes of the file that were taken for them
        self.end: int | None = None  #: where the last record that was given ends; None: amid a packed frame

    def __iter__(self) -> Iterator[WarcRecord]:
        try:
            with (
                DecompressedFile(self._part.path, _RECORD_START) as raw,
                closing(PushbackReader(raw)) as source,
            ):
                while (record := self._next(source)) is not None:
                    self.read, self.end = raw.taken, record.start
                    yield record
                    self.rows += record.number is not None
                    if record.spool:
                        record.spool.close()
                self.read = self.end = raw.taken
        except (CompressionError, OSError) as error:
            self.end = None
            raise PartError(str(self._part.path), self.rows, str(error)) from error

    def _next(self, source: PushbackReader) -> WarcRecord | None:
        source.skip_newlines()
        place = source.place
        start = source.start_at(place)
        head, damage = _read_header(source)
        if not head and not damage:
            return None
        fields = parse_header(head)
        size, wrong = _content_length(fields)
        damage = damage or wrong
        block, spool = b"", None
        if not damage:
            block, spool, damage = self._block(source, size)
        if damage:
            source.push(block if size <= self._most else b"")
            _skip_to_next_record(source)
        source.skip_newlines()
        if source.is_broken(place):
            damage = "the packed data is damaged"
        is_row = bool(damage) or _first_value(fields, b"warc-type").lower() in ROW_TYPES
        return WarcRecord(self.rows if is_row else None, start, head, fields, size, block, spool, damage)

    def _block(self, source: PushbackReader, size: int) -> tuple[bytes, BinaryIO | None, str | None]:
        """Read a block and the two line ends behind it."""
        spool: BinaryIO | None = None
        if size <= self._most:
            block = source.read(size)
            missing = size - len(block)
        else:
            spool = tempfile.TemporaryFile() if self._spools else None  # noqa: SIM115  # closed by __iter__
            block, missing = _spool_block(source, size, spool)
        if missing:
            return block, spool, f"the block is cut off: {missing} bytes are missing"
        if not source.ends():
            return block, spool, "no line ends behind the block: its Content-Length is wrong"
        return block, spool, None


def _read_header(source: PushbackReader) -> tuple[bytes, str | None]:
    """Read the head of a record, and say what is wrong with it. Nothing: the end of the file."""
    line = source.readline(_MAX_HEADER_BYTES)
    if line and not _VERSION_LINE.match(line):
        source.push(line)
        return b"", "no record begins where one should"
    head = line
    while line and line not in NEWLINES:
        line = source.readline(_MAX_HEADER_BYTES)
        head += line
        if len(head) > _MAX_HEADER_BYTES:
            return head, "its head is too long"
        if begun := _VERSION_LINE.search(line):
            source.push(line[begun.start() :])
            return head, "its head is cut off"
    return head, "its head is cut off" if head and not line else None


def parse_header(head: bytes) -> dict[bytes, list[bytes]]:
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


def _first_value(fields: Mapping[bytes, list[bytes]], name: bytes) -> bytes:
    return (fields.get(name) or [b""])[0]


def _content_length(fields: Mapping[bytes, list[bytes]]) -> tuple[int, str | None]:
    written = _first_value(fields, b"content-length")
    if not written.isdigit() or len(written) > 18:
        return 0, "it has no Content-Length"
    return int(written), None


def _spool_block(source: PushbackReader, size: int, into: BinaryIO | None) -> tuple[bytes, int]:
    """Read so many bytes without holding them; return the first of them, and how many are missing."""
    beginning = b""
    while size and (piece := source.read(min(size, _PIECE_BYTES))):
        size -= len(piece)
        beginning = beginning or piece[:_PREFIX_BYTES]
        if into:
            into.write(piece)
    return beginning, size


def _skip_to_next_record(source: PushbackReader) -> None:
    """Go to the next place where a record begins, which may be amid a line: the end of it may be lost."""
    while line := source.readline(_MAX_HEADER_BYTES):
        if begun := _VERSION_LINE.search(line):
            source.push(line[begun.start() :])
            return
