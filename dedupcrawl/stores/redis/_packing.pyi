"""Records, URLs and requests, packed and sent in C; compiled from ``_packing.pyx``.

:mod:`~dedupcrawl.stores.redis.packed_records`, ``packed_urls`` and ``transports`` are its only users.
"""

from collections.abc import Sequence
from socket import socket

from dedupcrawl.stores.base import Record

VERSION: int
CAN_EXCHANGE: bool  # whether ``exchange`` can be called on this system

class UrlCodec:
    def __init__(self, *, starts: tuple[bytes, ...], words: tuple[bytes, ...], characters: bytes) -> None:
        """Take the tables of ``packed_urls``. A ``ValueError`` is raised for more symbols than six bits have."""

    def unpack_url(self, packed: bytes) -> str | None:
        """Return the URL of packed bytes; None for bytes that are no packed URL. See ``packed_urls.unpack_url``."""

    def pack_url(self, url: str) -> bytes:
        """Return a URL as bytes, see ``packed_urls.pack_url``."""

class RecordCodec:
    def __init__(
        self,
        urls: UrlCodec,
        *,
        version: int,
        key_bytes: int,
        identity_bytes: int,
        max_size: int,
        second: int,  # units of the time seen in a second
        max_skew: int,  # in these units
    ) -> None:
        """Take the constants of ``packed_records``."""

    def pack_offer(self, record: Record, now: float) -> tuple[int, bytes, bytes, bytes] | None:
        """Return a packed offer, see ``offers.pack_offer``; None for a record that is rare or does not fit."""

    def pack_record(self, record: Record) -> bytes | None:
        """Return a record as bytes, see ``packed_records.pack_record``; None for a record that does not fit."""

    def unpack_record(self, value: bytes, milliseconds: int) -> Record | None:
        """Return the record of packed bytes, see ``packed_records.unpack_record``; None if it is rare or damaged."""

def pack_request(count: int, head: bytes, rest: Sequence[str | bytes | int | float]) -> bytes:
    """Return a request in the protocol of Redis, see ``transports.request_by_reference``."""

def exchange(socket: socket, request: bytes) -> int | bytes:
    """Send a request on a blocking socket, and return what comes first: a number, or bytes of a reply.

    An ``OSError`` is raised as by the methods of a socket: ``BlockingIOError`` at a time limit of the kernel.
    """
