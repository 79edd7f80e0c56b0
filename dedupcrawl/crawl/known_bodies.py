"""Recognises pages whose bytes are those of an earlier visit, so that they are not parsed.

What is compared of a page follows from the bytes of its response, and from all that :func:`reading_key` names. So a
note (:mod:`dedupcrawl.stores.notes`) under the URL of a page says what its bytes were read as: a hash of the response,
and one of the text, and of the names and values, that were found. A note is no verdict, and cannot be out of date. If a
response has the same hash, and a committed record of its URL has the text, names and values of the note, then the
record of the page is made from that one, and judged by the records of its URL as always. Only ``unchanged`` pages that
are dropped are answered so: this relation comes before all others, and depends on the records of the URL alone. All
other pages are read.

A page is noted when it was read and dropped as ``unchanged``. So a crawl of new pages stores no notes. A note that was
lost or removed costs a parse, and no page.
"""

from __future__ import annotations

import sys
import time
import unicodedata
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from importlib.metadata import version
from random import Random
from typing import TYPE_CHECKING, NamedTuple, ParamSpec

from lxml import etree
from scrapy.http import HtmlResponse, Response

from dedupcrawl.crawl.concurrency import TurnQueue
from dedupcrawl.crawl.items import BodyEntry, ComparedRecord, ItemClaim
from dedupcrawl.crawl.validator_entry import code_of
from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.errors import StoreError, package_version
from dedupcrawl.fingerprinting import without_fragment
from dedupcrawl.page.options import BUILT_IN
from dedupcrawl.sites.registrable_domain import site_of
from dedupcrawl.stores.base import ClaimState, url_key
from dedupcrawl.text.features import KERNEL_VERSION, kernel_description

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import TextResponse

    from dedupcrawl.crawl.items import ResponseState
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.crawl.store_client import StoreClient
    from dedupcrawl.decision import Verdict
    from dedupcrawl.deduplicator import Deduplicator
    from dedupcrawl.stores.base import Candidate, Record

P = ParamSpec("P")

BODIES = "bodies"  #: table of notes

MAX_BODIES = 1_000_000  #: pages of a site with a note
MAX_NOTED = 5_000_000  #: notes of a namespace, those of other tables included, beyond which no page is noted
KEY_BYTES = 8  #: of the hash of a URL; another URL with this hash has another hash of its response
BODY_BYTES = 12  #: of the hash of a response
READ_BYTES = 8  #: of the hash of what was read
FLUSH_SECONDS = 0.5  #: in which notes are stored together
EXPIRED_SITES = 1000  #: sites whose notes are examined at the end of a crawl with ``DEDUP_TTL``
LIBRARIES = ("parsel", "w3lib", "charset-normalizer", "scrapy")  #: that take part in decoding and parsing


class KnownRecord(NamedTuple):
    """The verdict on a page that was not read, and the records that it was compared with."""

    verdict: Verdict
    record: Record
    candidates: tuple[Candidate, ...]


class BodyTracker:
    """Looks pages up by their bytes, and notes the bytes of unchanged pages.

    Args:
        crawler: the crawl, whose spider may change the trees that are read.
        options: the settings in force.
        client: of the store.
        stats: count and log.
    """

    def __init__(self, crawler: Crawler, options: Options, client: StoreClient, stats: CrawlStats) -> None:
        self._crawler, self._client, self._stats = crawler, client, stats
        self._ttl = options.config.ttl
        # A report shows the texts of dropped pages. A user's reader may read a page in another way next time.
        is_read = options.report is not None or options.config.reader not in BUILT_IN
        #: whether pages are looked up; False: all are read
        self.is_used = not is_read and not options.item_fields and Relation.UNCHANGED in options.config.drop
        self._reading = b""  # key of this crawl
        self._sites: set[str] | None = None  # with notes; None: the store was not asked
        self._room: int | None = None  # notes that may be added; None: they were not counted
        self._queue: TurnQueue[tuple[BodyEntry, bytes]] = TurnQueue(self._store)

    # -- before a page is read ----------------------------------------------------------------

    async def unchanged(self, pages: Sequence[tuple[Response, ResponseState]]) -> list[ItemClaim | None]:
        """Return the claims of pages that are dropped as ``unchanged`` by their bytes; None: the page must be read.

        Pages of sites without a note are not even hashed.

        Args:
            pages: HTML or text, with status 200, which were not read yet.
        """
        claims: list[ItemClaim | None] = [None] * len(pages)
        if not self.is_used or self._client.outage is not None:
            return claims
        try:
            sites = self._sites if self._sites is not None else await self._client.call(self._load_sites)
            for response, state in pages:
                state.body = self._entry(response) if site_of(response.url) in sites else None
            looked_up = [state.body for _, state in pages if state.body is not None]
            found = await self._client.call(self._find, looked_up) if looked_up else {}
        except StoreError:
            return claims
        except Exception as error:  # noqa: BLE001  # an error of ours must not lose a page
            self._stats.crashed("the bytes of pages", error)
            return claims
        return [_as_claim(found[state.body], state) if state.body in found else None for _, state in pages]

    def used(self) -> None:
        """Count a page that was not read."""
        self._stats.count("same_bytes")

    def _load_sites(self) -> set[str]:
        dedup = self._client.dedup
        # With another order of detectors, the evidence of a verdict does not follow from equal texts alone.
        self.is_used = dedup.names[:1] == (Exact.name,)
        self._sites = {*dedup.store.notes.sites(BODIES)} if self.is_used else set()
        return self._sites

    def _entry(self, response: Response) -> BodyEntry | None:
        """Return the bytes of a response; None if they cannot be read: then reading the page tells why."""
        self._reading = self._reading or reading_key(self._client.dedup, self._crawler.spider)
        url = without_fragment(response.url)
        key = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
        with suppress(Exception):
            return BodyEntry(response.url, site_of(url), key, response_hash(response, self._reading))
        return None

    def _find(self, entries: Sequence[BodyEntry]) -> dict[BodyEntry | None, KnownRecord]:
        """Look pages up; may run in a thread. The notes of a site are read in one call, and so are all records."""
        dedup = self._client.dedup
        for site, some in _by_site(entries).items():
            values = dedup.store.notes.read(BODIES, site, [entry.key for entry in some])
            for entry, value in zip(some, values, strict=True):
                entry.noted = value
        equal = [entry for entry in entries if entry.noted is not None and entry.noted.startswith(entry.hashed)]
        candidates = dedup.store.find([url_key(without_fragment(entry.url)) for entry in equal]) if equal else ()
        known = ((entry, known_record(dedup, entry, candidates)) for entry in equal)
        return {entry: record for entry, record in known if record is not None}

    # -- after it was judged ------------------------------------------------------------------

    def note(self, response: Response, state: ResponseState, claim: ItemClaim) -> None:
        """Note the bytes of a page that was read and dropped as ``unchanged``.

        Args:
            response: of the page.
            state: of the response.
            claim: of the page, with the records that it was compared with.
        """
        compared = claim.comparison
        if not self.is_used or compared is None or not is_unchanged(claim.verdict):
            return
        try:
            entry = state.body or self._entry(response)
            value = b"" if entry is None else entry.hashed + read_hash(compared.record)
            filed = _committed(value, compared.record.url, compared.candidates)
            if entry is not None and filed is not None and value != entry.noted:
                self._queue.add([(entry, value)], FLUSH_SECONDS)
        except Exception as error:  # noqa: BLE001  # an error of ours must not lose a page
            self._stats.crashed("the bytes of pages", error)

    async def _store(self, noted: Sequence[tuple[BodyEntry, bytes]]) -> None:
        """Store notes; without them, the pages are parsed again."""
        await self._update(self._write, noted)

    async def _update(self, function: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Change notes; an error of the store or of ours is counted, and must not end a crawl."""
        try:
            await self._client.call(function, *args, **kwargs)
        except StoreError:
            self._stats.count("same_bytes/errors")
        except Exception as error:  # noqa: BLE001  # the store must still be closed
            self._stats.crashed("the bytes of pages", error)

    def _write(self, noted: Sequence[tuple[BodyEntry, bytes]]) -> None:
        values, notes = dict(noted), self._client.dedup.store.notes
        sites = self._load_sites() if self._sites is None else self._sites
        room = MAX_NOTED - notes.size().notes if self._room is None else self._room
        self._room = room - len(values)
        if room <= 0 or not self.is_used:
            return
        for site, some in _by_site(values).items():
            notes.write(BODIES, site, {each.key: values[each] for each in some}, MAX_BODIES)
            sites.add(site)

    async def close(self) -> None:
        """Store what is left, and remove notes that are older than any record."""
        await self._queue.drain()
        if self.is_used and self._ttl is not None and self._client.outage is None:
            await self._update(self._expire, self._ttl)

    def _expire(self, ttl: float) -> None:
        dedup = self._client.dedup
        sites = [*dedup.store.notes.sites(BODIES)]
        Random().shuffle(sites)  # noqa: S311  # so that each crawl examines others
        dedup.store.notes.prune(time.time() - ttl, [(BODIES, site) for site in sites[:EXPIRED_SITES]])


def reading_key(dedup: Deduplicator, spider: Spider | None) -> bytes:
    """Return a hash of all that decides, beside a response, what is compared of its page.

    These are the versions of this package and of the libraries, the settings of the reader and of the detectors, and
    the code of the spider: it may change the tree that is read.
    """
    config = dedup.config
    kernel = (package_version(), KERNEL_VERSION, kernel_description())
    ours = (kernel, dedup.scheme, dedup.reading, config.min_chars, config.fold_chinese)
    libraries = (etree.LXML_VERSION, etree.LIBXML_VERSION, *map(version, LIBRARIES))
    python = (sys.version_info[:3], unicodedata.unidata_version)
    code = "" if spider is None else code_of(spider)
    return blake2b(repr((ours, libraries, python, code)).encode(), digest_size=16).digest()


def response_hash(response: Response, reading: bytes) -> bytes:
    """Return a hash of a response: its bytes, encoding, type and URL, and of how it is read (:func:`reading_key`)."""
    kind = (isinstance(response, HtmlResponse), response.headers.get("Content-Type"), _encoding(response))
    head = repr((reading, response.url, kind)).encode("utf-8", "surrogatepass")
    hasher = blake2b(len(head).to_bytes(4, "big") + head, digest_size=BODY_BYTES)
    hasher.update(response.body)
    return hasher.digest()


def _encoding(response: Response) -> str:
    text: TextResponse = response  # type: ignore[assignment]  # others are not read
    return text.encoding


def read_hash(record: Record) -> bytes:
    """Return a hash of the text of a page, which the first detector hashes, and of its names and values."""
    text = record.sketches[0]
    return blake2b(bytes([len(text)]) + text + record.identity, digest_size=READ_BYTES).digest()


def known_record(dedup: Deduplicator, entry: BodyEntry, candidates: Iterable[Candidate]) -> KnownRecord | None:
    """Return the verdict on a page whose bytes were noted; None if it is not dropped as ``unchanged``.

    Args:
        dedup: judges it.
        entry: the page, with a note.
        candidates: among which are all live records of its URL.
    """
    url = without_fragment(entry.url)
    own = tuple([each for each in candidates if each.record.url == url])
    filed = _committed(entry.noted or b"", url, own)
    if filed is None:
        return None
    record = replace(filed.record, cluster="", probes=None, context=None)
    verdict = dedup.verdict_among(own, record, entry.url)
    if not is_unchanged(verdict):
        return None
    if dedup.site_memory is not None:
        dedup.site_memory.has_lines(url)  # loads what the store knows of the site, as reading the page would
    return KnownRecord(verdict, record, own)


def is_unchanged(verdict: Verdict) -> bool:
    """Return whether a page is dropped since it repeats an earlier page of its URL."""
    return verdict.relation is Relation.UNCHANGED and not verdict.keep


def _committed(value: bytes, url: str, candidates: Iterable[Candidate]) -> Candidate | None:
    """Return the oldest committed record of a URL with the text, names and values that a note tells."""
    return next(
        (
            each
            for each in candidates
            if each.state is ClaimState.COMMITTED
            and each.record.url == url
            and read_hash(each.record) == value[BODY_BYTES:]
        ),
        None,
    )


def _as_claim(known: KnownRecord, state: ResponseState) -> ItemClaim:
    return ItemClaim(known.verdict, state, comparison=ComparedRecord(known.record, known.candidates))


def _by_site(entries: Iterable[BodyEntry]) -> dict[str, list[BodyEntry]]:
    found: dict[str, list[BodyEntry]] = {}
    for entry in entries:
        found.setdefault(entry.site, []).append(entry)
    return found
