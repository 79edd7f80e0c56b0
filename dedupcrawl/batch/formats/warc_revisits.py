"""Revisit records (ISO 28500, section 6.7): a capture whose content was stored with an earlier one.

Of a copy that a batch drops, ``--revisits`` keeps the header of the record and that of the response. A replay tool
shows the page that was kept in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.batch.formats.warc_records import first_value, parse_header
from dedupcrawl.decision import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dedupcrawl.batch.formats.warc_records import WarcRecord
    from dedupcrawl.decision import Verdict

#: Profile of a record with the same bytes, by the version line of the file.
SAME_BYTES = b"http://netpreserve.org/warc/%b/revisit/identical-payload-digest"
#: Profile of a record with a text that repeats an earlier one, in another page: not one of the standard's.
SAME_TEXT = b"urn:x-dedupcrawl:revisit:%b"
#: Fields of a response record that a revisit record does not have, or has with another value.
_REPLACED = (
    b"warc-type", b"warc-profile", b"warc-refers-to", b"warc-refers-to-target-uri", b"warc-refers-to-date",
    b"warc-block-digest", b"warc-truncated", b"content-length",
)  # fmt: skip
_END_OF_HEAD = (b"\r\n\r\n", b"\n\n")


@dataclass(frozen=True, slots=True)
class RevisitRecord:
    """What a revisit record refers to."""

    relation: str  #: of the copy to the kept page, such as "near-duplicate"
    url: str  #: of the kept page
    mine: bytes  #: :func:`capture_of` the copy
    other: bytes  #: of the kept page; b"" if it is not from a WARC file

    @property
    def is_same_payload(self) -> bool:
        """Whether both records name the same digest of what was received."""
        digests = [each.rpartition(b"\n")[2] for each in (self.mine, self.other)]
        return bool(digests[0]) and digests[0] == digests[1]


def capture_of(fields: Mapping[bytes, list[bytes]]) -> bytes:
    """Return ID, date and payload digest of a response or resource, with line ends between them; else b""."""
    if first_value(fields, b"warc-type").lower() not in (b"response", b"resource"):
        return b""
    names = (b"warc-record-id", b"warc-date", b"warc-payload-digest")
    return b"\n".join(first_value(fields, name) for name in names)


def revisit_headers(verdict: Verdict | None) -> dict[str, str]:
    """Return the fields of a record header that make it a revisit record, for a crawl that writes WARC files.

    Args:
        verdict: on the page of the response.

    Returns:
        Type, profile and the URL of the kept page; nothing if the page is no copy of another one.
    """
    if verdict is None or verdict.status is not Status.DUPLICATE or not verdict.of:
        return {}
    return {
        "WARC-Type": "revisit",
        "WARC-Profile": (SAME_TEXT % str(verdict.relation).encode()).decode(),
        "WARC-Refers-To-Target-URI": _one_line(verdict.of).decode(),
    }


def revisit_record(record: WarcRecord, revisit: RevisitRecord) -> Iterator[bytes]:
    """Yield the bytes of the revisit record that takes the place of a response or resource record.

    It keeps the ID, so that its request record still refers to it, and the other fields of the capture.
    """
    head = _http_head(record)
    version, *lines = record.header.splitlines(keepends=True)
    kept = [line for line in _unfolded(lines) if line.partition(b":")[0].strip().lower() not in _REPLACED]
    body = [*_fields(version, revisit), b"Content-Length: %d\r\n" % len(head)]
    yield b"".join([version, b"WARC-Type: revisit\r\n", *kept, *body, b"\r\n"])
    yield head
    yield b"\r\n\r\n"


def _unfolded(lines: list[bytes]) -> Iterator[bytes]:
    """Yield the lines of a header, each with those that continue it; not the empty line at the end."""
    whole = b""
    for line in lines:
        if line[:1] in (b" ", b"\t"):
            whole += line
            continue
        if whole.strip():
            yield whole
        whole = line
    if whole.strip():
        yield whole


def _fields(version: bytes, revisit: RevisitRecord) -> Iterator[bytes]:
    """Yield the fields that name the kept page."""
    number = b"1.0" if version.strip().endswith(b"1.0") else b"1.1"
    profile = SAME_BYTES % number if revisit.is_same_payload else SAME_TEXT % revisit.relation.encode()
    yield b"WARC-Profile: %b\r\n" % profile
    yield b"WARC-Refers-To-Target-URI: %b\r\n" % _one_line(revisit.url)
    if revisit.other:
        record_id, date, _ = revisit.other.split(b"\n")
        named = ((b"WARC-Refers-To-Date", date), (b"WARC-Refers-To", record_id))
        yield from (b"%b: %b\r\n" % each for each in named if each[1])


def _one_line(url: str) -> bytes:
    return "".join(url.split()).encode("utf-8", "replace")


def _http_head(record: WarcRecord) -> bytes:
    """Return the HTTP header in a record, b"" if there is none."""
    kind = first_value(parse_header(record.header), b"content-type").lower()
    if not kind.startswith(b"application/http"):
        return b""
    ends = [at + len(end) for end in _END_OF_HEAD if (at := record.block.find(end)) >= 0]
    return record.block[: min(ends)] if ends else b""
