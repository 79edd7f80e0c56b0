"""Which records of a WARC file go with which rows: requests, metadata, and continued blocks.

Pages in WARC records: HTTP responses decoded, texts of WET files.

WARC files, WET files among them: a row for each response, resource, conversion and revisit.
"""

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
    unix_time,
)
from dedupcrawl.batch.formats.compression import compression_of, warc_dictionary_frame, write_frame
from dedupcrawl.batch.formats.warc_records import WarcReader, parse_header
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    import pyarrow as pa

    from dedupcrawl.batch.formats.base import Chunk, Fields, KeepMask, Part
    from dedupcrawl.batch.formats.warc_records import WarcRecord

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]


_REFERENCES = (b"warc-concurrent-to", b"warc-refers-to", b"warc-segment-origin-id")
_UNKNOWN, _DROP, _KEEP = 0, 1, 2


class RecordLinks:
    """Collects what records refer to each other, and says which are to be kept.

    A record that is no row, and is linked with rows, directly or through others of its kind, is kept if one
    of those rows is; one that is linked with none is kept. It takes some 30 bytes for each record.
    """

    def __init__(self) -> None:
        self._ids = array("Q")
        self._fates = bytearray()
        self._from = array("q")
        self._to = array("Q")

    def add(self, record: WarcRecord, keep: bool) -> None:
        """Add the next record; ``keep`` is asked of rows only."""
        place = len(self._fates)
        is_row = record.number is not None
        self._fates.append((_KEEP if keep else _DROP) if is_row else _UNKNOWN)
        self._ids.append(_id_hash(record.field(b"warc-record-id")))
        # A row refers to other captures of its page as well: to those that it repeats, for one.
        for name in _REFERENCES[:1] if is_row else _REFERENCES:
            for each in record.fields.get(name, ()):
                self._from.append(place)
                self._to.append(_id_hash(each))

    def kept(self) -> list[bool]:
        """Return of each record whether it is kept."""
        fates = np.frombuffer(bytes(self._fates), np.uint8).copy()
        rows = fates != _UNKNOWN
        one, other = self._edges()
        while len(one):
            before = fates.copy()
            for source, target in ((one, other), (other, one)):
                follows = ~rows[target]
                np.maximum.at(fates, target[follows], fates[source[follows]])
            if np.array_equal(before, fates):
                break
        kept: list[bool] = (fates != _DROP).tolist()
        return kept

    def _edges(self) -> tuple[Numbers, Numbers]:
        """Return which records are linked, those that refer to others and those others."""
        ids, sought = np.array(self._ids, np.uint64), np.array(self._to, np.uint64)
        order = np.argsort(ids, kind="stable")
        places = np.searchsorted(ids, sought, sorter=order)
        places[places == len(ids)] = 0
        found = order[places] if len(ids) else places
        fits = ids[found] == sought if len(ids) else np.zeros(0, bool)
        return np.array(self._from, np.int64)[fits], found[fits]


def _id_hash(id: bytes) -> int:
    """Return a number for the id of a record; half of the 64 bits would be enough for any file."""
    return int.from_bytes(blake2b(id.strip(b"<> "), digest_size=8).digest(), "big")


#: The head of a record, its block or the beginning of that, the bytes of the block, and its damage.
RawRecord = tuple[bytes, bytes, int, str | None]

HTML_TYPES = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")
_BINARY_TYPE = re.compile(
    rb"(?i)\ncontent-type:[ \t]*(image|audio|video|font|application/(pdf|zip|octet-stream))"
)
_BINARY_PREFIX_BYTES = 1 << 12  #: of a record that holds no page
_is_chunk_header = re.compile(rb"[0-9a-fA-F]{1,8}[ \t]*(;[^\r\n]*)?\r?\n").match


@dataclass(frozen=True, slots=True)
class _Content:
    """What a record holds: the bytes of a page, or why there is none."""

    type: str  #: of the page, as HTTP names it
    page: bytes = b""
    reason: str | None = None


def raw_record(record: WarcRecord) -> RawRecord:
    """Return what another process needs of a record; of images and the like that is the beginning."""
    if record.damage:
        return b"", b"", record.size, record.damage
    other = _BINARY_TYPE.search(record.block, 0, _BINARY_PREFIX_BYTES) or _BINARY_TYPE.search(record.head)
    return record.head, record.block[:_BINARY_PREFIX_BYTES] if other else record.block, record.size, None


def row_from_record(number: int, piece: RawRecord) -> Row | BadRow:
    """Return the page of a record."""
    head, block, size, damage = piece
    if damage:
        return BadRow(number, damage)
    fields = {name: each[0].decode("utf-8", "replace") for name, each in parse_header(head).items()}
    found = _content(fields, block, size)
    url, time = fields.get(b"warc-target-uri", "").strip("<> "), unix_time(fields.get(b"warc-date"))
    if found.reason:
        return Row(number, url, None, None, time, size, found.type, found.reason)
    if fields[b"warc-type"].lower() == "conversion" and not _is_html(found.type):
        return Row(number, url, None, found.page.decode("utf-8", "replace"), time, len(found.page))
    return Row(number, url, found.page, None, time, len(found.page), found.type)


def _content(fields: dict[bytes, str], block: bytes, size: int) -> _Content:
    kind, content_type = fields[b"warc-type"].lower(), fields.get(b"content-type", "")
    if kind == "revisit":
        return _Content(content_type, reason="revisit")
    if b"warc-segment-number" in fields:
        return _Content(content_type, reason="segmented")
    if content_type.lower().startswith("application/http"):
        return _http_content(block, is_cut=size > len(block))
    wanted = (*HTML_TYPES, "text/") if kind == "conversion" else HTML_TYPES
    if content_type and not content_type.lower().startswith(wanted):
        return _Content(content_type, reason="not-html")
    if size > len(block):
        return _Content(content_type, reason="too-large")
    return _Content(content_type, block)


def _http_content(raw: bytes, *, is_cut: bool) -> _Content:
    status, content_type, plain = _parse_http(raw, "none")
    if status != 200:
        return _Content(content_type, reason="status")
    if content_type and not _is_html(content_type):
        return _Content(content_type, reason="not-html")
    body = None if is_cut else _decoded_body(raw, plain)
    if is_cut or len(body or b"") > MAX_RECORD_BYTES:
        return _Content(content_type, reason="too-large")
    return _Content(content_type, reason="undecodable") if body is None else _Content(content_type, body)


def _decoded_body(raw: bytes, plain: bytes) -> bytes | None:
    """Return the body of a response; None if it is coded, and not as it says.

    Many crawlers undo the codings and leave the headers that tell of them.
    """
    for coding in ("all", "transfer"):
        try:
            body = _parse_http(raw, coding)[2]
        except OSError:
            continue
        if coding == "all" or not _looks_compressed(body):
            return body
    return None if _looks_compressed(plain) or _is_chunk_header(plain) else plain


def _looks_compressed(body: bytes) -> bool:
    return body.startswith(b"\x1f\x8b") or b"\0" in body[:1024]


def _parse_http(raw: bytes, coding: str) -> tuple[int | None, str, bytes]:
    """Parse an HTTP response. Raises OSError where it is not coded as it says."""
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
    """Import fastwarc, or raise :class:`~dedupcrawl.errors.DedupError`."""
    try:
        import fastwarc as module  # noqa: PLC0415  # an extra
        import fastwarc.warc  # noqa: PLC0415
    except ImportError:
        raise DedupError("WARC files need fastwarc: pip install 'dedupcrawl[batch]'") from None
    return module


#: What ``annotate`` adds to the head of a record; ISO 28500 allows any names that do not begin with WARC-.
ANNOTATION_HEADERS = {name: b"X-" + name.replace("_", "-").title().encode() for name in ANNOTATION_COLUMNS}
_COPY_BYTES = 1 << 20
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class WarcFormat:
    """Records. What is no page, or no whole one, is a row that stays unchecked, and is kept.

    A block of more than ``most`` bytes is never held in memory.
    """

    most: int = MAX_RECORD_BYTES

    def chunks(self, part: Part, fields: Fields) -> Iterator[Chunk]:  # noqa: ARG002
        """Cut a file into runs of records. The fields of a WARC record are known."""
        import_fastwarc()
        records = WarcReader(part, self.most)
        pieces = (raw_record(record) for record in records if record.number is not None)
        yield from in_chunks(((piece, len(piece[1])) for piece in pieces), lambda: records.read)

    def rows(self, chunk: Chunk, fields: Fields) -> Iterator[Row | BadRow]:  # noqa: ARG002
        """Read the pages in the records of a chunk."""
        return (row_from_record(number, piece) for number, piece in enumerate(chunk.data, chunk.first))

    def copy(self, part: Part, target: Path, keep: KeepMask, *, cut: bool = False) -> int:
        """Write the very records that are kept, with what belongs to them, and what belongs to none.

        They are copied as they are packed where each is packed by itself; else that is done now.
        """
        plan = _plan_copy(WarcReader(part, self.most), part, keep, cut=cut)
        with target.open("wb") as file:
            if plan.is_packed_singly:
                file.write(warc_dictionary_frame(part.path))
                with part.path.open("rb") as source:
                    for start, end in plan.ranges():
                        _copy_range(source, file, start, end)
            else:
                packing = compression_of(part.path)
                # In this order: what cannot be read must not be asked for.
                for kept, record in zip(plan.kept, WarcReader(part, self.most, spool=True), strict=False):
                    if kept:
                        write_frame(file, packing, record.pieces(record.head))
            _write_empty_frame(file, part)
        return int(keep.sum())

    def annotate(self, part: Part, target: Path, columns: pa.Table, *, cut: bool = False) -> int:
        """Write all records, rows with the columns as fields of their heads (:data:`HEADERS`)."""
        records = WarcReader(part, self.most, spool=True)
        packing, values, written = compression_of(part.path), annotation_rows(columns), 0
        with target.open("wb") as file:
            for record in _records_until(records, part, columns.num_rows, cut=cut):
                head = record.head
                if record.number is not None:
                    value = next(values)
                    if record.damage or value[ANNOTATION_COLUMNS[0]] is None:
                        continue
                    head = _annotated_header(head, value)
                    written += 1
                write_frame(file, packing, record.pieces(head))
            _write_empty_frame(file, part)
        check_complete(part, records.rows, columns.num_rows)
        return written


@dataclass(frozen=True, slots=True)
class _CopyPlan:
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


def _plan_copy(records: WarcReader, part: Part, keep: KeepMask, *, cut: bool) -> _CopyPlan:
    links, starts = RecordLinks(), array("q")
    for record in _records_until(records, part, len(keep), cut=cut):
        is_kept = record.number is not None and not record.damage and bool(keep[record.number])
        links.add(record, keep=is_kept)
        starts.append(-1 if record.start is None else record.start)
    check_complete(part, records.rows, len(keep))
    starts.append(records.end if records.end is not None else -1)
    return _CopyPlan(links.kept(), starts)


def _records_until(records: WarcReader, part: Part, count: int, *, cut: bool) -> Iterator[WarcRecord]:
    """Give the records up to the rows that were counted, and what stands behind the last of them."""
    try:
        for record in records:
            if record.number is not None and is_beyond_end(part, record.number, count, cut=cut):
                return
            yield record
    except PartError:
        if not cut or records.rows < count:
            raise


def _write_empty_frame(file: BinaryIO, part: Part) -> None:
    """Write an empty frame where nothing was written, for a packed file has one."""
    if not file.tell():
        write_frame(file, compression_of(part.path), ())


def _copy_range(source: BinaryIO, target: BinaryIO, start: int, end: int) -> None:
    source.seek(start)
    while start < end and (piece := source.read(min(end - start, _COPY_BYTES))):
        target.write(piece)
        start += len(piece)


def _annotated_header(head: bytes, value: dict[str, Any]) -> bytes:
    """Add fields to a head, in the place of those of the same names."""
    names = tuple(name.lower() + b":" for name in ANNOTATION_HEADERS.values())
    *lines, empty = head.splitlines(keepends=True)
    kept = [line for line in lines if not line.lower().startswith(names)]
    added = [
        ANNOTATION_HEADERS[name] + b": " + _header_value(each) + empty
        for name, each in value.items()
        if each is not None
    ]
    return b"".join([*kept, *added, empty])


def _header_value(value: object) -> bytes:
    """Write a value on one line."""
    line = _CONTROL.sub(lambda found: f"%{ord(found[0]):02X}", str(value))
    return line.encode("utf-8", "replace")
