"""Requests that were not sent, in the notes of the store until somebody needs them.

A request is skipped only after the store has it. It stays there until its page was downloaded after all, or for
``EXPIRY_DAYS``. So it is not lost when a worker is killed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import orjson
from scrapy.utils.request import request_from_dict

from dedupcrawl.crawl.concurrency import OneShotEvent, TurnQueue
from dedupcrawl.crawl.stored_requests import COOKIE, SECRET_HEADERS, decoded_headers, has_password, json_fields
from dedupcrawl.errors import StoreError
from dedupcrawl.stores.notes import MAX_NOTE_BYTES, NoteTables, encoded_site

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterator, Mapping, Sequence

    from scrapy import Request, Spider

    from dedupcrawl.crawl.store_client import StoreClient

SKIPPED, TOTALS = "skipped", "skipped-totals"  #: tables of notes: requests, and their number
MAX_SKIPPED = 100_000  #: requests of one site; beyond that, all are sent
EXPIRY_DAYS = 30.0  #: after which the end of a crawl removes a request
FLUSH_SECONDS = 0.02  #: in which requests are stored together, if the store is across a network

_TOTAL = b"total"


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """A request that was not sent."""

    key: bytes  #: in the table of its site
    fields: Mapping[str, Any]  #: as :meth:`scrapy.Request.to_dict` returns them, as JSON values
    rules: tuple[str, ...]  #: the texts of the rules by which it was skipped
    at: float  #: Unix time
    spider: str = ""  #: name of the spider; another one that shares the store cannot send it
    refuted: int = 0  #: how often the rules had been refuted; one that was since then was wrong, even if it acts again

    def request(self, spider: Spider) -> Request:
        """Return the request; raises ``ValueError`` or ``AttributeError`` if the spider has no such callback."""
        pairs = self.fields.get("headers", {}).items()
        headers = {name.encode("latin-1"): [each.encode("latin-1") for each in values] for name, values in pairs}
        fields = {**self.fields, "headers": headers, "body": b"", "dont_filter": True}
        return request_from_dict(fields, spider=spider)

    def pack(self) -> bytes:
        """Return the note."""
        return orjson.dumps(
            {"request": self.fields, "rules": self.rules, "at": self.at, "spider": self.spider, "refuted": self.refuted}
        )

    @classmethod
    def unpack(cls, key: bytes, value: bytes) -> SkippedEntry | None:
        """Read a note; None if it is damaged."""
        try:
            note = orjson.loads(value)
            fields, rules = dict(note["request"]), tuple(map(str, note["rules"]))
            return cls(key, fields, rules, float(note["at"]), str(note["spider"]), int(note["refuted"]))
        except (ValueError, LookupError, TypeError):
            return None


def request_key(url: str, purpose: str, spider: str = "") -> bytes:
    """Return the key of a request."""
    return blake2b(f"{spider}\0{purpose}\0{url}".encode("utf-8", "surrogatepass"), digest_size=12).digest()


def storable_fields(request: Request, spider: Spider, without: Container[str] = ()) -> dict[str, Any] | None:
    """Return a request as JSON values; None if they would not be the same request.

    Args:
        request: the request.
        spider: has its callback.
        without: keys of its meta that are left out: marks of this package, which need not be JSON values.
    """
    has_secret = bool(request.cookies) or not {*SECRET_HEADERS, COOKIE}.isdisjoint(request.headers.keys())
    if request.body or has_secret or has_password(request.url):
        return None
    try:
        fields = request.to_dict(spider=spider)
    except ValueError:  # its callback is no method of the spider
        return None
    fields["meta"] = {key: value for key, value in request.meta.items() if key not in without}
    fields = {name: value for name, value in fields.items() if value and name not in ("body", "dont_filter")}
    return json_fields(fields | {"headers": decoded_headers(request)})


@dataclass(eq=False, slots=True)
class _PendingEntry:
    site: str
    key: bytes
    value: bytes  # the note
    stored: OneShotEvent = field(default_factory=OneShotEvent)
    is_stored: bool = False


class SkippedRequestQueue:
    """Stores requests that are skipped, finds them again, and removes them.

    Args:
        client: of the store with the notes.
    """

    def __init__(self, client: StoreClient) -> None:
        self._client = client
        self._totals: dict[str, int] = {}
        self._queue = TurnQueue(self._store)

    async def add(self, site: str, note: SkippedEntry) -> bool:
        """Store a request; return False if it must be sent: the store has no room for it, or does not answer."""
        value = note.pack()
        keeps = type(self._client.dedup.store.notes) is not NoteTables  # a store of somebody else may keep no notes
        if (
            not keeps
            or self._totals.get(site, 0) >= MAX_SKIPPED
            or len(value) > MAX_NOTE_BYTES
            or not encoded_site(site)
        ):
            return False
        pending = _PendingEntry(site, note.key, value)
        if not self._client.is_remote:
            await self._store([pending])
            return pending.is_stored
        self._queue.add([pending], FLUSH_SECONDS)
        await pending.stored.wait()
        return pending.is_stored

    async def _store(self, pending: Sequence[_PendingEntry]) -> None:
        by_site: dict[str, list[_PendingEntry]] = {}
        for each in pending:
            by_site.setdefault(each.site, []).append(each)
        try:
            for site, requests in by_site.items():
                await self._store_site(site, requests)
        except StoreError:
            return  # the requests that were not stored are sent
        finally:
            for each in pending:
                each.stored.set()

    async def _store_site(self, site: str, pending: Sequence[_PendingEntry]) -> None:
        notes = self._client.dedup.store.notes
        values: dict[bytes, bytes | None] = {each.key: each.value for each in pending}
        # Each crawl skips the requests of the last one again: they are counted once.
        await self._add_to_total(site, len(values) - await self._stored(site, [*values]))
        # Above the limit, notes would go: so the limit is never reached.
        await self._client.call(notes.write, SKIPPED, site, values, 2 * MAX_SKIPPED)
        for each in pending:
            each.is_stored = True

    async def find(self, site: str, keys: Sequence[bytes] | None = None) -> list[SkippedEntry]:
        """Return the requests of a site, or those with these keys."""
        notes = self._client.dedup.store.notes
        if keys is None:
            found = await self._client.call(notes.read_all, SKIPPED, site)
        else:
            values = await self._client.call(notes.read, SKIPPED, site, keys)
            found = {key: value for key, value in zip(keys, values, strict=True) if value is not None}
        read = (SkippedEntry.unpack(key, value) for key, value in found.items())
        return [each for each in read if each is not None]

    async def sites(self) -> list[str]:
        """Return the sites that have skipped requests."""
        notes = self._client.dedup.store.notes
        return await self._client.call(lambda: [*notes.sites(SKIPPED)])

    async def remove(self, site: str, keys: Collection[bytes]) -> None:
        """Remove requests whose pages were downloaded, or that have expired."""
        stored = await self._stored(site, [*keys])
        if not stored:
            return
        notes = self._client.dedup.store.notes
        await self._client.call(notes.write, SKIPPED, site, dict.fromkeys(keys), 2 * MAX_SKIPPED)
        await self._add_to_total(site, -stored)

    async def _stored(self, site: str, keys: Sequence[bytes]) -> int:
        """Return how many of these requests are stored; a request may be skipped, or removed, more than once."""
        values = await self._client.call(self._client.dedup.store.notes.read, SKIPPED, site, keys)
        return sum(value is not None for value in values)

    async def _add_to_total(self, site: str, count: int) -> None:
        totals = await self._client.call(self._client.dedup.store.notes.add, TOTALS, site, {_TOTAL: count})
        self._totals[site] = totals[_TOTAL]

    async def expire(self, site: str) -> None:
        """Remove the requests of a site that are older than ``EXPIRY_DAYS``."""
        oldest = time.time() - EXPIRY_DAYS * 86_400
        old = [each.key for each in await self.find(site) if each.at < oldest]
        if old:
            await self.remove(site, old)


def skipped_by(requests: Sequence[SkippedEntry], rules: Collection[str]) -> Iterator[SkippedEntry]:
    """Yield the requests that any of these rules has skipped."""
    return (each for each in requests if not set(rules).isdisjoint(each.rules))
