"""Pages in WARC records: HTTP responses decoded, texts of WET files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dedupcrawl.batch.formats.base import MOST_BYTES, Bad, Row
from dedupcrawl.batch.formats.records import fields_of
from dedupcrawl.batch.formats.times import unix_time
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from dedupcrawl.batch.formats.records import Record

#: The head of a record, its block or the beginning of that, the bytes of the block, and its damage.
Piece = tuple[bytes, bytes, int, str | None]

HTML = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")
_UNSENT = re.compile(rb"(?i)\ncontent-type:[ \t]*(image|audio|video|font|application/(pdf|zip|octet-stream))")
_SENT_BYTES = 1 << 12  #: of a record that holds no page
_is_chunk = re.compile(rb"[0-9a-fA-F]{1,8}[ \t]*(;[^\r\n]*)?\r?\n").match


@dataclass(frozen=True, slots=True)
class _Content:
    """What a record holds: the bytes of a page, or why there is none."""

    type: str  #: of the page, as HTTP names it
    page: bytes = b""
    reason: str | None = None


def piece_of(record: Record) -> Piece:
    """Return what another process needs of a record; of images and the like that is the beginning."""
    if record.damage:
        return b"", b"", record.size, record.damage
    other = _UNSENT.search(record.block, 0, _SENT_BYTES) or _UNSENT.search(record.head)
    return record.head, record.block[:_SENT_BYTES] if other else record.block, record.size, None


def row_of(number: int, piece: Piece) -> Row | Bad:
    """Return the page of a record."""
    head, block, size, damage = piece
    if damage:
        return Bad(number, damage)
    fields = {name: each[0].decode("utf-8", "replace") for name, each in fields_of(head).items()}
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
        return _response(block, is_cut=size > len(block))
    wanted = (*HTML, "text/") if kind == "conversion" else HTML
    if content_type and not content_type.lower().startswith(wanted):
        return _Content(content_type, reason="not-html")
    if size > len(block):
        return _Content(content_type, reason="too-large")
    return _Content(content_type, block)


def _response(raw: bytes, *, is_cut: bool) -> _Content:
    status, content_type, plain = _parsed(raw, "none")
    if status != 200:
        return _Content(content_type, reason="status")
    if content_type and not _is_html(content_type):
        return _Content(content_type, reason="not-html")
    body = None if is_cut else _decoded(raw, plain)
    if is_cut or len(body or b"") > MOST_BYTES:
        return _Content(content_type, reason="too-large")
    return _Content(content_type, reason="undecodable") if body is None else _Content(content_type, body)


def _decoded(raw: bytes, plain: bytes) -> bytes | None:
    """Return the body of a response; None if it is coded, and not as it says.

    Many crawlers undo the codings and leave the headers that tell of them.
    """
    for coding in ("all", "transfer"):
        try:
            body = _parsed(raw, coding)[2]
        except OSError:
            continue
        if coding == "all" or not _is_packed(body):
            return body
    return None if _is_packed(plain) or _is_chunk(plain) else plain


def _is_packed(body: bytes) -> bool:
    return body.startswith(b"\x1f\x8b") or b"\0" in body[:1024]


def _parsed(raw: bytes, coding: str) -> tuple[int | None, str, bytes]:
    """Parse an HTTP response. Raises OSError where it is not coded as it says."""
    record = fastwarc().warc.WarcRecord()
    record.init_headers(content_length=len(raw))
    record.is_http = True
    record.set_bytes_content(raw)
    record.parse_http(auto_decode=coding, max_header_len=len(raw), strict_mode=False, quirks_mode=True)
    headers = record.http_headers
    body = record.reader.read(MOST_BYTES + 1)
    return headers.status_code, headers.get("Content-Type") or "", body


def _is_html(content_type: str) -> bool:
    return content_type.lower().startswith(HTML)


def fastwarc() -> Any:
    """Import fastwarc, or raise :class:`~dedupcrawl.errors.DedupError`."""
    try:
        import fastwarc as module  # noqa: PLC0415  # an extra
        import fastwarc.warc  # noqa: PLC0415
    except ImportError:
        raise DedupError("WARC files need fastwarc: pip install 'dedupcrawl[batch]'") from None
    return module
