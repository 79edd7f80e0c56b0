"""Build WARC files for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.batch.formats.helpers import pack

if TYPE_CHECKING:
    from pathlib import Path

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"


def record(kind: str, block: bytes, id: str = "", *more: str, type: str = "", url: str = "") -> bytes:
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:uuid:{id}>",
        "WARC-Date: 2026-01-01T00:00:00Z",
        f"WARC-Target-URI: {url or f'https://a.example/{id}'}",
        f"Content-Type: {type}",
        *more,
        f"Content-Length: {len(block)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def response(id: str, page: bytes, head: bytes = OK, *more: str) -> bytes:
    return record("response", head + b"\r\n" + page, id, *more, type="application/http;msgtype=response")


def request(id: str, *of: str) -> bytes:
    links = [f"WARC-Concurrent-To: <urn:uuid:{each}>" for each in of]
    return record("request", b"GET / HTTP/1.1\r\n\r\n", id, *links, type="application/http;msgtype=request")


def metadata(id: str, of: str) -> bytes:
    return record("metadata", b"fetchTimeMs: 5\r\n", id, f"WARC-Refers-To: <urn:uuid:{of}>")


INFO = record("warcinfo", b"software: test\r\n", "info", type="application/warc-fields")


def warc_in(folder: Path, *records: bytes, packing: str = ".gz", name: str = "in.warc") -> Path:
    """A file in which each record is packed by itself."""
    path = folder / f"{name}{packing}"
    path.write_bytes(b"".join(pack(each, packing) for each in records))
    return path
