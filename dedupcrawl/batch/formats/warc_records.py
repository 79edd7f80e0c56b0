"""The records of WARC files (ISO 28500), read so that damage to one record does not affect the others."""

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

ROW_TYPES = frozenset({b"response", b"resource", b"conversion", b"revisit"})  #: types of records that are rows
NEWLINES = (b"\r\n", b"\n")
_MAX_HEADER_BYTES = 1 << 16  #: of a record header; also of one line of it
_BUFFER_BYTES = 1 << 20
_PIECE_BYTES = 1 << 20  #: bytes of a large block that are copied at a time
_PREFIX_BYTES = 1 << 12  #: bytes of a large block that are kept in memory
_VERSION_LINE = re.compile(rb"WARC/\d\.\d+[ \t]*\r?\n\Z")
_RECORD_START = b"WARC/"


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """A record of a WARC file."""

    number: int | None  #: of the row; None if the record is not a row
    start: int | None  #: offset in the file; None inside a compressed frame
    header: bytes  #: with the empty line at its end
    fields: Mapping[bytes, list[bytes]]  #: of the header, names in lower case
    size: int  #: bytes of the block
    block: bytes  #: only the beginning of a block that is too large
    spool: BinaryIO | None  #: a file with a block that is too large, if requested
    damage: str | None  #: what is wrong; such a record is a bad row

    def pieces(self, header: bytes) -> Iterator[bytes]:
        """Yield the bytes of the record with another header."""
        yield header
        if self.spool is None:
            yield self.block
        else:
            self.spool.seek(0)
            while piece := self.spool.read(_PIECE_BYTES):
                yield piece
        yield b"\r\n\r\n"


class WarcReader:
    """Iterates over the records of a part.

    A block larger than ``max_bytes`` is not held in memory; ``spool`` puts it into a temporary file, which
    exists until the next record is read.

    Raises PartError where the rest cannot be read.
    """

    def __init__(self, part: Part, max_bytes: int = MAX_RECORD_BYTES, *, spool: bool = False) -> None:
        self._part = part
        self._max_bytes = max_bytes
        self._spools = spool
        self.rows = 0  #: rows yielded so far
        self.read = 0  #: bytes of the file read for them
        self.end: int | None = None  #: offset of the end of the last record; None inside a compressed frame

    def __iter__(self) -> Iterator[WarcRecord]:
        try:
            with DecompressedFile(self._part.path, _RECORD_START) as raw, closing(PushbackReader(raw)) as source:
                while (record := self._next(source)) is not None:
                    self.read, self.end = raw.consumed, record.start
                    yield record
                    self.rows += record.number is not None
                    if record.spool:
                        record.spool.close()
                self.read = self.end = raw.consumed
        except (CompressionError, OSError) as error:
            self.end = None
            raise PartError(str(self._part.path), self.rows, str(error)) from error

    def _next(self, source: PushbackReader) -> WarcRecord | None:
        source.skip_newlines()
        place = source.place
        start = source.offset_of(place)
        header, damage = _read_header(source)
        if not header and not damage:
            return None
        fields = parse_header(header)
        size, error = _content_length(fields)
        damage = damage or error
        block, spool = b"", None
        if not damage:
            block, spool, damage = self._read_block(source, size)
        if damage:
            source.push_back(block if size <= self._max_bytes else b"")
            _skip_to_next_record(source)
        source.skip_newlines()
        if source.has_gap(place):
            damage = "the packed data is damaged"
        is_row = bool(damage) or first_value(fields, b"warc-type").lower() in ROW_TYPES
        number = self.rows if is_row else None
        return WarcRecord(number, start, header, fields, size, block, spool, damage)

    def _read_block(self, source: PushbackReader, size: int) -> tuple[bytes, BinaryIO | None, str | None]:
        """Read a block and the two line ends after it; return block, spool and damage."""
        spool: BinaryIO | None = None
        if size <= self._max_bytes:
            block = source.read(size)
            missing = size - len(block)
        else:
            spool = tempfile.TemporaryFile() if self._spools else None  # noqa: SIM115  # closed by __iter__
            block, missing = _spool_block(source, size, spool)
        if missing:
            return block, spool, f"the block is cut off: {missing} bytes are missing"
        if not source.skip_record_end():
            return block, spool, "no line ends behind the block: its Content-Length is wrong"
        return block, spool, None


def _read_header(source: PushbackReader) -> tuple[bytes, str | None]:
    """Return a record header and its damage; b"" and None at the end of the file."""
    line = source.readline(_MAX_HEADER_BYTES)
    if line and not _VERSION_LINE.match(line):
        source.push_back(line)
        return b"", "no record begins where one should"
    header = line
    while line and line not in NEWLINES:
        line = source.readline(_MAX_HEADER_BYTES)
        header += line
        if len(header) > _MAX_HEADER_BYTES:
            return header, "its head is too long"
        if start := _VERSION_LINE.search(line):
            source.push_back(line[start.start() :])
            return header, "its head is cut off"
    return header, "its head is cut off" if header and not line else None


def parse_header(header: bytes) -> dict[bytes, list[bytes]]:
    """Return the values of each header field, names in lower case; joins continuation lines."""
    fields: dict[bytes, list[bytes]] = {}
    values: list[bytes] = []
    for line in header.splitlines()[1:]:
        if line[:1] in (b" ", b"\t") and values:
            values[-1] += b" " + line.strip()
            continue
        name, colon, value = line.partition(b":")
        if colon:
            values = fields.setdefault(name.strip().lower(), [])
            values.append(value.strip())
    return fields


def first_value(fields: Mapping[bytes, list[bytes]], name: bytes) -> bytes:
    """Return the first value of a header field; b"" if it is missing."""
    return (fields.get(name) or [b""])[0]


def _content_length(fields: Mapping[bytes, list[bytes]]) -> tuple[int, str | None]:
    value = first_value(fields, b"content-length")
    if not value.isdigit() or len(value) > 18:
        return 0, "it has no Content-Length"
    return int(value), None


def _spool_block(source: PushbackReader, size: int, spool: BinaryIO | None) -> tuple[bytes, int]:
    """Read a large block; return its beginning and the number of missing bytes."""
    beginning = b""
    while size and (piece := source.read(min(size, _PIECE_BYTES))):
        size -= len(piece)
        beginning = beginning or piece[:_PREFIX_BYTES]
        if spool:
            spool.write(piece)
    return beginning, size


def _skip_to_next_record(source: PushbackReader) -> None:
    """Go to the next start of a record; it may be within a line whose end was lost."""
    while line := source.readline(_MAX_HEADER_BYTES):
        if start := _VERSION_LINE.search(line):
            source.push_back(line[start.start() :])
            return


class PushbackReader:
    """Reads bytes that can be pushed back, to read them again after damage."""

    def __init__(self, raw: DecompressedFile) -> None:
        self._raw = raw
        self._file = io.BufferedReader(raw, _BUFFER_BYTES)
        self._back = b""  # bytes pushed back
        self._at = 0  # how many of them were read again
        self.place = 0  #: bytes read and not pushed back

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, count: int) -> bytes:
        """Return ``count`` bytes, fewer at the end."""
        data = self._back[self._at : self._at + count]
        self._at += len(data)
        if len(data) < count:
            data += self._file.read(count - len(data))
        self.place += len(data)
        return data

    def readline(self, max_bytes: int) -> bytes:
        """Return a line with its end, or the first ``max_bytes`` of a longer one; b"" at the end."""
        end = self._back.find(b"\n", self._at, self._at + max_bytes) + 1
        line = self._back[self._at : end or self._at + max_bytes]
        self._at += len(line)
        if not end and len(line) < max_bytes:
            line += self._file.readline(max_bytes - len(line))
        self.place += len(line)
        return line

    def push_back(self, data: bytes) -> None:
        """Push back the bytes that were read last."""
        self.place -= len(data)
        if self._back.endswith(data, 0, self._at):  # avoids a copy of a large block
            self._at -= len(data)
        else:
            self._back, self._at = data + self._back[self._at :], 0

    def skip_newlines(self) -> None:
        """Go to the next record. Its damage is ignored here: reading it raises the error again."""
        try:
            while (line := self.readline(_MAX_HEADER_BYTES)) in NEWLINES:
                continue
        except CompressionError:
            return
        self.push_back(line)

    def skip_record_end(self) -> bool:
        """Skip two line ends, or the end of the file; return False, and skip nothing, if there is neither."""
        first, second = self.readline(_MAX_HEADER_BYTES), self.readline(_MAX_HEADER_BYTES)
        is_end = first in (*NEWLINES, b"") and second in (*NEWLINES, b"")
        if not is_end:
            self.push_back(first + second)
        return is_end

    def offset_of(self, place: int) -> int | None:
        """Return the offset in the file; None inside a compressed frame."""
        return self._raw.frame_at(place)

    def has_gap(self, since: int) -> bool:
        """Return whether bytes are missing between a place and the current one."""
        return any(since <= each < self.place for each in self._raw.gaps)
