"""WARC and WET files: one row for each response, resource, conversion and revisit record (ISO 28500)."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.formats.base import (
    ANNOTATION_COLUMNS,
    MAX_RECORD_BYTES,
    BadRow,
    PartError,
    Row,
    annotation_rows,
    check_complete,
    in_chunks,
    is_beyond_end,
    score_value,
    unix_time,
)
from dedupcrawl.batch.formats.compression import compression_of, warc_dictionary_frame, write_frame
from dedupcrawl.batch.formats.warc_records import WarcReader, first_value, parse_header
from dedupcrawl.batch.formats.warc_revisits import capture_of, revisit_record
from dedupcrawl.utils.optional import import_extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    import pyarrow as pa

    from dedupcrawl.batch.columns import Numbers
    from dedupcrawl.batch.formats.base import Chunk, Fields, KeepMask, Part
    from dedupcrawl.batch.formats.warc_records import WarcRecord
    from dedupcrawl.batch.formats.warc_revisits import RevisitRecord


#: Header, block or its beginning, size of the block in bytes, and damage of a record.
RawRecord = tuple[bytes, bytes, int, str | None]

#: Names of the header fields that ``annotate`` adds. ISO 28500 reserves only names that start with "WARC-".
ANNOTATION_HEADERS = {name: b"X-" + name.replace("_", "-").title().encode() for name in ANNOTATION_COLUMNS}
HTML_TYPES = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")
_BINARY_TYPE = re.compile(rb"(?i)\ncontent-type:[ \t]*(image|audio|video|font|application/(pdf|zip|octet-stream))")
_BINARY_PREFIX_BYTES = 1 << 12  #: bytes of a record without a page that are sent to a worker
_COPY_BYTES = 1 << 20
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_REFERENCES = (b"warc-concurrent-to", b"warc-refers-to", b"warc-segment-origin-id")
_UNKNOWN, _DROP, _KEEP = 0, 1, 2
_is_chunk_header = re.compile(rb"[0-9a-fA-F]{1,8}[ \t]*(;[^\r\n]*)?\r?\n").match


@dataclass(frozen=True, slots=True)
class WarcFormat:
    """WARC (:class:`~dedupcrawl.batch.formats.base.Format`). Records without a complete page stay unchecked.

    A block larger than ``max_bytes`` is never held in memory.
    """

    max_bytes: int = MAX_RECORD_BYTES

    def chunks(self, part: Part, fields: Fields) -> Iterator[Chunk]:  # noqa: ARG002
        """Cut a file into runs of records; ``fields`` is ignored."""
        import_fastwarc()
        records = WarcReader(part, self.max_bytes)
        rows = (raw_record(record) for record in records if record.number is not None)
        yield from in_chunks(((row, len(row[1])) for row in rows), lambda: records.read)

    def rows(self, chunk: Chunk, fields: Fields) -> Iterator[Row | BadRow]:
        """Read the pages in the records of a chunk; of ``fields`` the score counts, a field of the record header."""
        return (row_from_record(number, raw, fields) for number, raw in enumerate(chunk.data, chunk.first))

    def copy(self, part: Part, target: Path, keep: KeepMask, *, truncated: bool = False) -> int:
        """Copy the kept records, the records that refer to them, and those that refer to no row.

        If each record is compressed by itself, compressed bytes are copied; else each record is compressed by
        itself now.
        """
        plan = _plan_copy(WarcReader(part, self.max_bytes), part, keep, truncated=truncated)
        with target.open("wb") as file:
            if plan.has_offsets:
                file.write(warc_dictionary_frame(part.path))
                with part.path.open("rb") as source:
                    for start, end in plan.ranges():
                        _copy_range(source, file, start, end)
            else:
                compression = compression_of(part.path)
                # zip() stops at the end of plan.kept before it reads a record that may be unreadable.
                for kept, record in zip(plan.kept, WarcReader(part, self.max_bytes, spool=True), strict=False):
                    if kept:
                        write_frame(file, compression, record.pieces(record.header))
            _write_empty_frame(file, part)
        return int(keep.sum())

    def copy_revisits(
        self,
        part: Part,
        target: Path,
        keep: KeepMask,
        revisits: Mapping[int, RevisitRecord],
        *,
        truncated: bool = False,
    ) -> int:
        """Copy the kept records as :meth:`copy`, and write a revisit record for each row of ``revisits``.

        Records that refer to such a row are copied too: it is a capture like others, without its content.
        """
        replaced = keep.copy()
        replaced[[*revisits]] = True
        kept = _plan_copy(WarcReader(part, self.max_bytes), part, replaced, truncated=truncated).kept
        compression = compression_of(part.path)
        with target.open("wb") as file:
            for is_kept, record in zip(kept, WarcReader(part, self.max_bytes, spool=True), strict=False):
                revisit = None if record.number is None else revisits.get(record.number)
                if is_kept:
                    pieces = record.pieces(record.header) if revisit is None else revisit_record(record, revisit)
                    write_frame(file, compression, pieces)
            _write_empty_frame(file, part)
        return int(keep.sum())

    def annotate(self, part: Part, target: Path, columns: pa.Table, *, truncated: bool = False) -> int:
        """Copy all records; the columns become header fields of rows (:data:`ANNOTATION_HEADERS`)."""
        records = WarcReader(part, self.max_bytes, spool=True)
        compression, values, written = compression_of(part.path), annotation_rows(columns), 0
        with target.open("wb") as file:
            for record in _records_until(records, part, columns.num_rows, truncated=truncated):
                header = record.header
                if record.number is not None:
                    value = next(values)
                    if record.damage or value[ANNOTATION_COLUMNS[0]] is None:
                        continue
                    header = _annotated_header(header, value)
                    written += 1
                write_frame(file, compression, record.pieces(header))
            _write_empty_frame(file, part)
        check_complete(part, records.rows, columns.num_rows)
        return written


@dataclass(frozen=True, slots=True)
class _CopyTable:
    """Which records of a file are copied."""

    kept: list[bool]
    offsets: array[int]  #: of each record in the file, and the end of the last; -1 inside a compressed frame

    @property
    def has_offsets(self) -> bool:
        """Whether the kept records can be copied without decompressing them."""
        return all(min(self.offsets[at], self.offsets[at + 1]) >= 0 for at, kept in enumerate(self.kept) if kept)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the byte ranges of the kept records, adjacent ones joined."""
        start = end = 0
        for kept, (here, there) in zip(self.kept, pairwise(self.offsets), strict=True):
            if kept and here == end:
                end = there
            elif kept:
                yield start, end
                start, end = here, there
        yield start, end


def _plan_copy(records: WarcReader, part: Part, keep: KeepMask, *, truncated: bool) -> _CopyTable:
    links, offsets = RecordLinkTable(), array("q")
    for record in _records_until(records, part, len(keep), truncated=truncated):
        is_kept = record.number is not None and not record.damage and bool(keep[record.number])
        links.add(record, keep=is_kept)
        offsets.append(-1 if record.start is None else record.start)
    check_complete(part, records.rows, len(keep))
    offsets.append(records.end if records.end is not None else -1)
    return _CopyTable(links.kept(), offsets)


def _records_until(records: WarcReader, part: Part, count: int, *, truncated: bool) -> Iterator[WarcRecord]:
    """Yield the records of the first ``count`` rows, and the other records up to the next row."""
    try:
        for record in records:
            if record.number is not None and is_beyond_end(part, record.number, count, truncated=truncated):
                return
            yield record
    except PartError:
        if not truncated or records.rows < count:
            raise


def _write_empty_frame(file: BinaryIO, part: Part) -> None:
    """Write a frame if nothing was written: a compressed file has at least one."""
    if not file.tell():
        write_frame(file, compression_of(part.path), ())


def _copy_range(source: BinaryIO, target: BinaryIO, start: int, end: int) -> None:
    source.seek(start)
    while start < end and (piece := source.read(min(end - start, _COPY_BYTES))):
        target.write(piece)
        start += len(piece)


def _annotated_header(header: bytes, value: dict[str, Any]) -> bytes:
    """Add fields to a header; fields of the same names are replaced."""
    names = tuple(name.lower() + b":" for name in ANNOTATION_HEADERS.values())
    *lines, empty = header.splitlines(keepends=True)
    kept = [line for line in lines if not line.lower().startswith(names)]
    added = [
        ANNOTATION_HEADERS[name] + b": " + _header_value(each) + empty
        for name, each in value.items()
        if each is not None
    ]
    return b"".join([*kept, *added, empty])


def _header_value(value: object) -> bytes:
    line = _CONTROL.sub(lambda found: f"%{ord(found[0]):02X}", str(value))
    return line.encode("utf-8", "replace")


class RecordLinkTable:
    """Decides which records to keep, by the references between them.

    A record that is not a row follows the rows it is linked with, directly or through other such records: it
    is kept if one of them is kept, or if there is none. Takes about 30 bytes of memory for each record.
    """

    def __init__(self) -> None:
        self._ids = array("Q")
        self._decisions = bytearray()
        self._from = array("q")
        self._to = array("Q")

    def add(self, record: WarcRecord, keep: bool) -> None:
        """Add the next record; ``keep`` is used for rows only."""
        place = len(self._decisions)
        is_row = record.number is not None
        self._decisions.append((_KEEP if keep else _DROP) if is_row else _UNKNOWN)
        self._ids.append(_id_hash(first_value(record.fields, b"warc-record-id")))
        # The other fields of a row refer to other captures of its page, which are rows of their own.
        for name in _REFERENCES[:1] if is_row else _REFERENCES:
            for each in record.fields.get(name, ()):
                self._from.append(place)
                self._to.append(_id_hash(each))

    def kept(self) -> list[bool]:
        """Return for each record whether it is kept."""
        decisions = np.frombuffer(bytes(self._decisions), np.uint8).copy()
        rows = decisions != _UNKNOWN
        one, other = self._links()
        while len(one):
            before = decisions.copy()
            for source, target in ((one, other), (other, one)):
                follows = ~rows[target]
                np.maximum.at(decisions, target[follows], decisions[source[follows]])
            if np.array_equal(before, decisions):
                break
        kept: list[bool] = (decisions != _DROP).tolist()
        return kept

    def _links(self) -> tuple[Numbers, Numbers]:
        """Return two arrays of record numbers: the first refers to the second."""
        ids, references = np.array(self._ids, np.uint64), np.array(self._to, np.uint64)
        order = np.argsort(ids, kind="stable")
        places = np.searchsorted(ids, references, sorter=order)
        places[places == len(ids)] = 0
        found = order[places] if len(ids) else places
        exists = ids[found] == references if len(ids) else np.zeros(0, bool)
        return np.array(self._from, np.int64)[exists], found[exists]


def _id_hash(id: bytes) -> int:
    """Return 64 bits, enough to make a collision within a file negligible."""
    return int.from_bytes(blake2b(id.strip(b"<> "), digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class _DecodedRecord:
    """The page in a record, or the reason why there is none."""

    type: str  #: Content-Type of the page
    page: bytes = b""
    reason: str | None = None


def raw_record(record: WarcRecord) -> RawRecord:
    """Return the parts of a record that a worker needs; only the beginning of images and the like."""
    if record.damage:
        return b"", b"", record.size, record.damage
    is_binary = _BINARY_TYPE.search(record.block, 0, _BINARY_PREFIX_BYTES) or _BINARY_TYPE.search(record.header)
    block = record.block[:_BINARY_PREFIX_BYTES] if is_binary else record.block
    return record.header, block, record.size, None


def row_from_record(number: int, raw: RawRecord, of: Fields | None = None) -> Row | BadRow:
    """Return the page of a record, with its score and capture if the fields ask for them."""
    row = _row_from_record(number, raw)
    if of is None or not isinstance(row, Row) or not (of.score or of.captures):
        return row
    fields = parse_header(raw[0])
    score = score_value(first_value(fields, of.score.lower().encode()).decode("utf-8", "replace")) if of.score else None
    return row._replace(score=score, capture=capture_of(fields) if of.captures else b"")


def _row_from_record(number: int, raw: RawRecord) -> Row | BadRow:
    header, block, size, damage = raw
    if damage:
        return BadRow(number, damage)
    fields = {name: each[0].decode("utf-8", "replace") for name, each in parse_header(header).items()}
    content = _content(fields, block, size)
    url, time = fields.get(b"warc-target-uri", "").strip("<> "), unix_time(fields.get(b"warc-date"))
    page = content.page
    if content.reason:
        return Row(number, url, None, None, time, size, content.type, content.reason)
    if fields[b"warc-type"].lower() == "conversion" and not _is_html(content.type):
        return Row(number, url, None, page.decode("utf-8", "replace"), time, len(page))
    return Row(number, url, page, None, time, len(page), content.type)


def _content(fields: dict[bytes, str], block: bytes, size: int) -> _DecodedRecord:
    record_type, content_type = fields[b"warc-type"].lower(), fields.get(b"content-type", "")
    if record_type == "revisit":
        return _DecodedRecord(content_type, reason="revisit")
    if b"warc-segment-number" in fields:
        return _DecodedRecord(content_type, reason="segmented")
    if content_type.lower().startswith("application/http"):
        return _http_content(block, is_cut=size > len(block))
    accepted = (*HTML_TYPES, "text/") if record_type == "conversion" else HTML_TYPES
    if content_type and not content_type.lower().startswith(accepted):
        return _DecodedRecord(content_type, reason="not-html")
    if size > len(block):
        return _DecodedRecord(content_type, reason="too-large")
    return _DecodedRecord(content_type, block)


def _http_content(raw: bytes, *, is_cut: bool) -> _DecodedRecord:
    try:
        status, content_type, encoded = _parse_http(raw, "none")
    except OSError:  # the header does not end
        return _DecodedRecord("", reason="undecodable")
    if status != 200:
        return _DecodedRecord(content_type, reason="status")
    if content_type and not _is_html(content_type):
        return _DecodedRecord(content_type, reason="not-html")
    body = None if is_cut else _decoded_body(raw, encoded)
    if is_cut or len(body or b"") > MAX_RECORD_BYTES:
        return _DecodedRecord(content_type, reason="too-large")
    return _DecodedRecord(content_type, reason="undecodable") if body is None else _DecodedRecord(content_type, body)


def _decoded_body(raw: bytes, encoded: bytes) -> bytes | None:
    """Return the decoded body of a response; None if that fails.

    Many crawlers store decoded bodies and leave the headers that name the codings.
    """
    for coding in ("all", "transfer"):
        try:
            body = _parse_http(raw, coding)[2]
        except OSError:
            continue
        if coding == "all" or not _looks_compressed(body):
            return body
    return None if _looks_compressed(encoded) or _is_chunk_header(encoded) else encoded


def _looks_compressed(body: bytes) -> bool:
    return body.startswith(b"\x1f\x8b") or b"\0" in body[:1024]


def _parse_http(raw: bytes, coding: str) -> tuple[int | None, str, bytes]:
    """Return status, Content-Type and body of a response; raises OSError if the body cannot be decoded."""
    record = import_fastwarc().warc.WarcRecord()
    record.init_headers(content_length=len(raw))
    record.is_http = True
    record.set_bytes_content(raw)
    record.parse_http(auto_decode=coding, max_header_len=len(raw), strict_mode=False, quirks_mode=True)
    headers = record.http_headers
    body = record.reader.read(MAX_RECORD_BYTES + 1)
    return headers.status_code, headers.get("Content-Type") or "", body


def _is_html(content_type: str) -> bool:
    return content_type.lower().startswith(HTML_TYPES)


def import_fastwarc() -> Any:
    """Import fastwarc with its module ``warc``, or raise MissingPackageError."""
    import_extra("fastwarc.warc", "A WARC file", "batch")
    return import_extra("fastwarc", "A WARC file", "batch")
