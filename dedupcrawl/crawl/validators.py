"""Asks for known pages conditionally, so that those that did not change are not downloaded (``DEDUP_REVALIDATE``).

A page is asked for conditionally if its last visit was complete: the spider has read it to the end, each item passed
the pipelines or was dropped as a copy, and all its requests could be stored. The records that this visit filed, or
repeated, must still be committed: then its items are durable. If the server answers 304, the spider is not called, and
the requests of the last visit are made again, so that discovery does not stop.

Servers may lie: a page may change under an equal validator. So each page is asked for unconditionally at least once in
``TURNS`` crawls. Where such a probe finds a change, the site has lost its trust. Its pages are asked for without
conditions in this and in later crawls, until ``HONEST_PAGES`` pages in a row were right. Those that the server called
unchanged in this crawl are asked for again, by whichever worker takes them.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import orjson
from scrapy import signals
from scrapy.exceptions import DontCloseSpider

from dedupcrawl.crawl.concurrency import BackgroundTaskGroup, TurnQueue
from dedupcrawl.crawl.recent_table import RecentTable
from dedupcrawl.crawl.responses import SKIP
from dedupcrawl.crawl.revisits import KnownPage, RevisitState, UnchangedPage
from dedupcrawl.crawl.validator_entry import (
    MAX_PROOFS,
    MAX_REQUESTS,
    VALIDATORS,
    ValidatorEntry,
    body_hash,
    code_of,
    may_be_conditional,
    request_key,
    restored_request,
    storable_fields,
    validators_of,
)
from dedupcrawl.errors import StoreError
from dedupcrawl.foresee.rule_state import wilson_bound
from dedupcrawl.sites.registrable_domain import site_of
from dedupcrawl.stores.base import ClaimState

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.crawl.store_client import StoreClient

logger = logging.getLogger(__name__)

UNCHANGED = "unchanged"  #: table of notes: requests that were answered with 304 in a crawl that has not ended
TRUST = "trust"  #: table of notes: how many pages of a site must be right before it is trusted again

MAX_VALIDATORS = 100_000  #: pages of a site with an entry
MAX_UNCHANGED = 50_000  #: pages of a site that a worker may find unchanged in one crawl; further ones are downloaded
TURNS = 20  #: crawls in which a page is asked for unconditionally once: 5 % of the pages in each of them
HONEST_PAGES = 500  #: unchanged pages under equal validators after which a site is trusted again
#: Downloads of known pages without a lie from which pages of a site are asked for conditionally that were not compared
#: themselves yet: at least 99 % of the site's pages tell the truth then (bound of :func:`wilson_bound`). 268.
TRUST_PAGES = next(count for count in range(1, 1000) if wilson_bound(count, count) >= 0.99)
TRUST_SECONDS = 20.0  #: after which the trust in a site is read again, unless a third of the lease is less
FLUSH_SECONDS = 0.5  #: in which entries are stored together
TAKEN_AT_ONCE = 500  #: requests that are made again
TAKE_LEASE = 3600.0  #: seconds for which they are taken
OPEN_SITES = 10_000  #: sites whose trust is remembered

_WRONG, _RIGHT = b"wrong", b"right"  #: pages that must be right before a site is trusted again; pages that were right
_CUT_FLAGS = frozenset(("partial", "dataloss", "download_stopped"))  # of responses whose body was cut


class RevalidationManager:
    """Decides which requests of a crawl are conditional, and stores what the next crawl needs for that.

    Args:
        crawler: the crawl.
        options: the settings in force.
        client: of the store.
        stats: count and log.
        has_feeds: whether items are durable only when their feed is closed.
    """

    def __init__(
        self, crawler: Crawler, options: Options, client: StoreClient, stats: CrawlStats, *, has_feeds: bool
    ) -> None:
        self._crawler, self._client, self._stats = crawler, client, stats
        self._has_feeds = has_feeds
        self._has_cookies = crawler.settings.getbool("COOKIES_ENABLED")
        self._started = time.time()
        self._trust_seconds = min(TRUST_SECONDS, options.config.lease / 3)
        self._code = ""
        self._trust: RecentTable[str, tuple[float, bool]] = RecentTable(OPEN_SITES)  # until when, is it trusted
        self._right: RecentTable[str, int] = RecentTable(OPEN_SITES)  # pages that told the truth, of all workers
        self._unchanged: dict[str, set[bytes]] = {}  # keys by site, of this worker
        self.pages: WeakKeyDictionary[Request, KnownPage] = WeakKeyDictionary()  #: of the requests that were sent
        self._queue: TurnQueue[RevisitState | UnchangedPage] = TurnQueue(self._store)
        self._background = BackgroundTaskGroup()  # of what may make requests
        self._is_checked = False  # whether the trust was read again at the end
        self._turns: list[int] = []  # of the next new pages
        self._chance = Random()  # noqa: S311  # spreads the probes
        crawler.signals.connect(self.spider_idle, signals.spider_idle)

    # -- requests -----------------------------------------------------------------------------

    async def find(self, request: Request) -> KnownPage | None:
        """Return what is known of the page of a request; None for a request that is left alone."""
        spider = self._crawler.spider
        if spider is None or request.meta.get(SKIP) or not may_be_conditional(request):
            return None
        self._code = self._code or code_of(spider)
        fingerprinter = self._crawler.request_fingerprinter
        assert fingerprinter is not None
        page = KnownPage(site_of(request.url), request_key(fingerprinter.fingerprint(request), request))
        try:
            entry = await self._client.call(self._read, page)
            if entry is None or not await self._is_trusted(page.site):
                return replace(page, entry=entry)
        except StoreError:
            return page
        found = replace(page, entry=entry)
        has_jar = self._has_cookies and not request.meta.get("dont_merge_cookies")
        fields = storable_fields(request, spider, is_sent=has_jar)
        has_room = len(self._unchanged.get(page.site, ())) < MAX_UNCHANGED
        is_due = entry.turn <= 0 or not (entry.compared or self._right.get(page.site, 0) >= TRUST_PAGES)
        if is_due or fields is None or not has_room:
            return found
        try:
            return replace(found, requests=tuple(entry.restored(spider)), fields=orjson.dumps(fields))
        except ValueError:  # the spider has no such callback any more
            return found

    def _read(self, page: KnownPage) -> ValidatorEntry | None:
        """Return the entry of a page whose records are all committed, if it is of an earlier crawl of this spider."""
        store = self._client.dedup.store
        value = store.notes.read(VALIDATORS, page.site, [page.key])[0]
        entry = None if value is None else ValidatorEntry.unpack(value)
        if entry is None or entry.code != self._code or entry.at >= self._started:
            return None
        found = map(store.get, entry.proofs)
        return entry if all(hit is not None and hit.state is ClaimState.COMMITTED for hit in found) else None

    async def _is_trusted(self, site: str) -> bool:
        until, is_trusted = self._trust.get(site, (0.0, True))
        if time.monotonic() < until or not is_trusted:
            return is_trusted
        missing, self._right[site] = await self._client.call(self._counts, site)
        is_trusted = missing <= 0
        self._trust[site] = time.monotonic() + self._trust_seconds, is_trusted
        if not is_trusted:
            self._start(self._ask_again(site))
        return is_trusted

    def _counts(self, site: str) -> tuple[int, int]:
        """Return how many pages of a site must be right before it is trusted again, and how many were right."""
        found = self._client.dedup.store.notes.add(TRUST, site, {_WRONG: 0, _RIGHT: 0})
        return found[_WRONG], found[_RIGHT]

    def is_trusted_now(self, site: str) -> bool:
        """Whether nothing is known here against a site."""
        return self._trust.get(site, (0.0, True))[1]

    # -- responses ----------------------------------------------------------------------------

    def not_modified(self, page: KnownPage) -> None:
        """Count a page that the server calls unchanged, and store its request until the crawl ends."""
        assert page.entry is not None
        self._stats.count("not_modified")
        self._stats.count("not_modified/bytes", page.entry.size)
        self._unchanged.setdefault(page.site, set()).add(page.key)
        self._is_checked = False
        self._queue.add([UnchangedPage(page)], FLUSH_SECONDS)

    def visit(self, page: KnownPage, response: Response) -> RevisitState:
        """Return the state of a page that was downloaded."""
        etag, modified = validators_of(response)
        if page.entry is not None and page.entry.headers and page.requests is None:
            self._stats.count("not_modified/probes")
        state = RevisitState(page, etag, modified, body_hash(response), len(response.body))
        is_whole = response.status == 200 and _CUT_FLAGS.isdisjoint(response.flags)
        state.is_incomplete = not (is_whole and (etag or modified))
        return state

    def request_made(self, state: RevisitState, request: Request) -> None:
        """Note a request that the spider has made of a page."""
        spider = self._crawler.spider
        fields = None
        if spider is not None and not state.is_incomplete and len(state.requests) < MAX_REQUESTS:
            fields = storable_fields(request, spider)
        if fields is None:
            state.is_incomplete = True
        else:
            state.requests.append(fields)

    def item_ended(self, state: RevisitState, *, is_lost: bool) -> None:
        """Handle an item that passed the pipelines or was dropped as a copy; ``is_lost``: it was refused otherwise."""
        state.open -= 1
        state.is_incomplete |= is_lost
        self._finish(state)

    def output_ended(self, state: RevisitState) -> None:
        """Handle the end of what the spider makes of a page."""
        state.has_ended = True
        state.is_incomplete |= state.passed > len(state.requests)  # a middleware has added requests of its own
        self._finish(state)

    def _finish(self, state: RevisitState) -> None:
        """Judge and store a page when nothing more can happen to it."""
        if not state.has_ended or state.open > 0:
            return
        entry = state.page.entry
        if entry is not None and not state.is_incomplete:
            self._compare(state, entry)
        is_uncertain = state.is_unchecked and self._has_feeds  # no record says whether the items are durable
        if not state.is_incomplete and not is_uncertain and len(state.proofs) + len(state.repeats) <= MAX_PROOFS:
            self._queue.add([state], FLUSH_SECONDS)

    def _compare(self, state: RevisitState, entry: ValidatorEntry) -> None:
        """Compare a page with its last visit: does it differ under equal validators?"""
        site, is_equal = state.page.site, state.has_validators_of(entry)
        if is_equal and state.differs_from(entry):
            self._stats.count("not_modified/lies")
            self._distrust(site)
            return
        state.is_compared = state.was_unconditional
        if is_equal and not self.is_trusted_now(site):
            self._start(self._write_trust(site, -1))
        elif state.is_compared and self._right.get(site, 0) < TRUST_PAGES:
            self._right[site] = self._right.get(site, 0) + 1
            self._start(self._write_right(site))

    # -- trust --------------------------------------------------------------------------------

    def _distrust(self, site: str) -> None:
        was_trusted = self.is_trusted_now(site)
        self._trust[site] = time.monotonic() + self._trust_seconds, False
        self._right[site] = 0
        if was_trusted:
            message = (
                "A page of %(site)s has changed under an equal ETag or Last-Modified: its pages are asked for "
                "unconditionally from now on, and again where the server called them unchanged"
            )
            self._stats.warn(message, {"site": site})
        self._start(self._write_trust(site, HONEST_PAGES))
        self._start(self._ask_again(site))

    async def _write_trust(self, site: str, pages: int) -> None:
        notes = self._client.dedup.store.notes
        present, right = await self._client.call(self._counts, site)
        change = max(pages - present, 0) if pages > 0 else pages * (present > 0)
        await self._client.call(notes.add, TRUST, site, {_WRONG: change, _RIGHT: -right if pages > 0 else 0})

    async def _write_right(self, site: str) -> None:
        """Count a page that told the truth, until that are enough."""
        counts = await self._client.call(self._client.dedup.store.notes.add, TRUST, site, {_RIGHT: 1})
        self._right[site] = counts[_RIGHT] if self.is_trusted_now(site) else 0

    async def _ask_again(self, site: str) -> None:
        """Make the requests of a site again that were answered with 304 in this crawl, by any worker."""
        await self._queue.drain()
        self._unchanged.pop(site, None)
        notes = self._client.dedup.store.notes
        while taken := await self._client.call(notes.take, UNCHANGED, site, TAKEN_AT_ONCE, TAKE_LEASE):
            for value in taken.values():
                self._make_again(value)
            await self._client.call(notes.write, UNCHANGED, site, dict.fromkeys(taken), MAX_VALIDATORS)

    def _make_again(self, value: bytes) -> None:
        spider, engine = self._crawler.spider, self._crawler.engine
        if spider is None or engine is None:
            return
        try:
            request = restored_request(orjson.loads(value), spider, dont_filter=True)
        except (ValueError, TypeError) as error:  # another program's note
            self._stats.crashed("a request", error)
            return
        self._stats.count("not_modified/again")
        engine.crawl(request)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._background.start(self._guarded(work))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except StoreError:
            self._stats.count("not_modified/errors")
        except Exception as error:  # noqa: BLE001  # an error of ours must not end a crawl
            self._stats.crashed("a conditional request", error)

    def spider_idle(self) -> None:
        """Handle Scrapy's signal: keep the crawl open while requests may have to be made again."""
        if not self._is_checked and self._unchanged:
            self._is_checked = True
            self._start(self._check_trust())
        if self._background.running:
            raise DontCloseSpider

    async def _check_trust(self) -> None:
        """Read again whether the sites of unchanged pages are trusted: another worker may have found a lie."""
        await self._queue.drain()
        for site in [*self._unchanged]:
            if (await self._client.call(self._counts, site))[0] > 0:
                self._trust[site] = 0.0, False
                await self._ask_again(site)

    # -- notes --------------------------------------------------------------------------------

    async def _store(self, changed: Sequence[RevisitState | UnchangedPage]) -> None:
        """Store entries; without them, the next crawl downloads the pages."""
        try:
            await self._client.call(self._write, changed)
        except StoreError:
            self._stats.count("not_modified/errors")
        except Exception as error:  # noqa: BLE001  # an error of ours must not end a crawl
            self._stats.crashed("the validators of pages", error)

    def _write(self, changed: Sequence[RevisitState | UnchangedPage]) -> None:
        notes, now = self._client.dedup.store.notes, time.time()
        requests: dict[str, dict[bytes, bytes | None]] = {}
        entries: dict[str, dict[bytes, bytes | None]] = {}
        for each in changed:
            page = each.page
            if isinstance(each, RevisitState):
                entry = self._entry(each, now)
            else:
                entry = each.refreshed(now)
                requests.setdefault(page.site, {})[page.key] = page.fields
            if entry is not None:
                entries.setdefault(page.site, {})[page.key] = entry.pack()
        for site, some in requests.items():
            notes.write(UNCHANGED, site, some, 2 * MAX_VALIDATORS)
        for site, some in entries.items():
            notes.write(VALIDATORS, site, some, MAX_VALIDATORS)

    def _entry(self, state: RevisitState, now: float) -> ValidatorEntry | None:
        """Return the entry of a complete visit; None if a page that it repeats is not there any more."""
        found = [self._client.dedup.store.lookup(url) for url in dict.fromkeys(state.repeats)]
        proofs = [*state.proofs, *(hit.id for hit in found if hit is not None)]
        if None in found:
            return None
        turn = self._first_turn() if state.page.entry is None else TURNS - 1
        return state.entry(tuple(dict.fromkeys(proofs)), code=self._code, at=now, turn=turn)

    def _first_turn(self) -> int:
        """Return when a new page is asked for unconditionally: each of ``TURNS`` pages in another crawl."""
        if not self._turns:
            self._turns = self._chance.sample(range(TURNS), TURNS)
        return self._turns.pop()

    async def close(self) -> None:
        """Store what is left, and remove the requests that need not be made again."""
        await self._queue.drain()
        self._stats.log_not_modified()
        write = self._client.dedup.store.notes.write
        for site, keys in self._unchanged.items():
            await self._guarded(self._client.call(write, UNCHANGED, site, dict.fromkeys(keys), 2 * MAX_VALIDATORS))
