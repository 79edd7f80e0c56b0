"""The item pipeline: an item goes on when its content is new."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import call_later, create_looping_call
from scrapy.utils.defer import deferred_from_coro

from dedupcrawl.crawl.concurrency import BackgroundTasks, OneShotEvent
from dedupcrawl.crawl.context import context_of
from dedupcrawl.crawl.items import ItemClaim, PageState
from dedupcrawl.crawl.responses import (
    SKIPPED,
    MediaRequests,
    is_informative,
    is_skipped,
    own_url,
    read_item,
    tag,
)
from dedupcrawl.crawl.stats import ProgressLog, describe
from dedupcrawl.decision import unchecked
from dedupcrawl.page import Page

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from scrapy.http import Response
    from scrapy.signalmanager import SignalManager
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from dedupcrawl.crawl.context import CrawlContext
    from dedupcrawl.crawl.items import ResponseState
    from dedupcrawl.verdict import Verdict

BATCH_SECONDS = 0.02  #: for which a page waits for others
BATCH_SIZE = 16  #: pages judged in one go: the reactor is not blocked for more than some 20 ms


class DuplicatePage(DropItem):
    """The item's content was stored before; the message names the page that had it first."""

    def __init__(self, verdict: Verdict) -> None:
        # Scrapy logs a dropped item in full; the pipeline has logged in one line what matters.
        super().__init__(describe(verdict), log_level="DEBUG")
        self.verdict = verdict


@dataclass(slots=True)
class _Ticket:
    """An item that this pipeline let in, until its outcome is known."""

    claim: ItemClaim
    source: ref[Response] | None
    is_used: bool = False


#: Scrapy processes an item and reports its outcome in one context.
_TICKET: ContextVar[_Ticket | None] = ContextVar("dedupcrawl_ticket", default=None)


class DedupPipeline:
    """Claims pages before their items are stored, and settles the claims when that is done."""

    def __init__(self, crawler: Crawler, context: CrawlContext) -> None:
        self._crawler = crawler
        self._context = context
        self._options = context.options
        self._responses, self._claims = context.responses, context.claims
        self._stats, self._feeds = context.stats, context.feeds
        self._recorder, self._media = context.recorder, MediaRequests()
        self._batcher = MicroBatcher(context)
        self._has_begun = self._is_finished = False
        self._renewal: AsyncioLoopingCall | LoopingCall | None = None
        self._progress = ProgressLog(crawler, context.options, context.stats, context.client)
        self._connect(crawler.signals)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the context of the crawl, and connect to the signals of items."""
        return cls(crawler, context_of(crawler))

    def _connect(self, manager: SignalManager) -> None:
        manager.connect(self.item_scraped, signals.item_scraped)
        manager.connect(self.item_refused, signals.item_dropped)
        manager.connect(self.item_refused, signals.item_error)
        if self._feeds is not None:
            manager.connect(self._feeds.find_grown, signals.spider_opened)
            manager.connect(self.feed_slot_closed, signals.feed_slot_closed)
            manager.connect(self.finish, signals.feed_exporter_closed)
        manager.connect(self.begin, signals.engine_started)
        manager.connect(self.end, signals.engine_stopped)

    async def open_spider(self) -> None:
        """Open the store and start the renewal of leases (every ``lease / 3`` seconds)."""
        await self._context.open(self._crawler)
        self._media.find_pipelines(self._crawler, self)
        if self._media.is_active:
            self._recorder.count("requests_saved", 0)  # the report shows a 0, and not that it is unknown
        self._renewal = create_looping_call(self._renew)
        self._renewal.start(self._options.config.lease / 3, now=False)
        self._progress.start()

    async def close_spider(self) -> None:
        """Settle what is left; with feeds that waits until they are closed."""
        if self._feeds is None:
            await self.finish()
        if not self._has_begun:  # another component could not be opened; no signal will come
            await self.end()

    def begin(self) -> None:
        """Scrapy's signal: everything is open, and the signal of the end will come."""
        self._has_begun = True

    async def end(self) -> None:
        """Scrapy's signal: the crawl is over. Settle what is left, and make the report.

        That takes its time, and may be broken off; feeds and the requests of JOBDIR are stored by now.
        """
        await self.finish()
        await self._recorder.close()

    async def finish(self) -> None:
        """Settle what is left, once, and log the summary."""
        if self._is_finished:
            return
        self._is_finished = True
        self._progress.stop()
        if self._renewal is not None and self._renewal.running:
            self._renewal.stop()
        if self._context.client.is_open:
            await self._claims.close()
            self._stats.log_summary()

    # -- items --------------------------------------------------------------------------------

    async def process_item(self, item: Any) -> Any:
        """Let an item go on, tagged if that is wanted, or raise :class:`DuplicatePage`."""
        response = self._responses.pop_item(item)
        claim = await self._claim(item, response)
        verdict = claim.verdict
        _TICKET.set(_Ticket(claim, None if response is None else ref(response)))
        if claim.state is PageState.DROPPED:
            self._count_saved_requests(item, claim)
            raise DuplicatePage(verdict)
        self._media.add_kept(item)
        if verdict.reason != SKIPPED and (not self._options.drops or is_informative(verdict)):
            tag(item, verdict)
        return item

    async def _claim(self, item: Any, response: Response | None) -> ItemClaim:
        if self._options.item_fields:
            claim = await self._claim_item(item, response)
        elif response is not None:
            claim = await self._claim_page(response)
        else:
            claim = self._judged(ItemClaim(unchecked(own_url(item), "no-response")), None)
        claim.in_flight += 1
        return claim

    async def _claim_page(self, response: Response) -> ItemClaim:
        """Return the claim that all items of a response share; the first of them asks for it."""
        state = self._responses.of(response)
        while (claim := state.valid_claim) is None:
            if state.deciding is not None:
                await state.deciding.wait()
            else:
                await self._decide(state, response)
        return claim

    async def _decide(self, state: ResponseState, response: Response) -> None:
        state.deciding = deciding = OneShotEvent()
        try:
            claim = await self._batcher.judge(state, response)
            state.claim = self._judged(claim, state.subject, len(response.body), state)
            state.subject = None  # not needed any more; should the claim be released, it is read again
        finally:
            state.deciding = None
            deciding.set()

    async def _claim_item(self, item: Any, response: Response | None) -> ItemClaim:
        """Judge an item by its own text.

        Its URL is followed over time where it is its own: another item of the same page may have the
        page's URL too, and would look like a new version of the first.
        """
        url, base, seen = own_url(item), "", set[str]()
        if response is not None:
            if is_skipped(response):
                return self._judged(ItemClaim(unchecked(response.url, SKIPPED)), None)
            base, seen = response.url, self._responses.of(response).urls
        is_own = bool(url) and url != base and url not in seen
        seen.add(url)
        page = read_item(item, self._options.item_fields, url or base)
        claim = await self._claims.judge(page, None, track_url=is_own)
        return self._judged(claim, page, len(page.text.encode("utf-8", "replace")))

    def _judged(
        self,
        claim: ItemClaim,
        subject: Page | Verdict | None,
        size: int = 0,
        response: ResponseState | None = None,
    ) -> ItemClaim:
        self._stats.judged(claim.verdict, again=response is not None and response.claim is not None)
        if self._options.drops and not claim.verdict.keep:
            claim.advance(PageState.DROPPED)
            self._stats.dropped(claim.verdict, size)
        self._recorder.record_verdict(claim, subject, size, response)
        return claim

    def _count_saved_requests(self, item: Any, claim: ItemClaim) -> None:
        """Count the requests for files and images that are not made now."""
        requests = self._media.count_saved(item)
        if requests:
            self._stats.requests_saved(requests)
            self._recorder.record_saved_requests(claim, requests)

    # -- outcomes -----------------------------------------------------------------------------

    async def item_scraped(self, item: Any, response: object) -> None:
        """Scrapy's signal: all pipelines took an item."""
        claim = self._pop_claim(response)
        is_first = claim is not None and claim.state.allows(PageState.SCRAPED)
        if claim is not None and is_first:
            claim.advance(PageState.SCRAPED)
        if self._feeds is not None:
            self._feeds.item_exported(item, claim)
        if claim is not None:
            if is_first:
                self._stats.kept()
                self._recorder.record_state(claim)
            await self._claims.item_scraped(claim, is_first=is_first)

    async def item_refused(self, item: Any, response: object) -> None:
        """Scrapy's signals: a pipeline dropped an item, or failed."""
        claim = self._pop_claim(response)
        if claim is not None:
            await self._claims.item_refused(claim)
            return
        source = self._responses.discard_item(item)
        waiting = None if source is None else self._responses.of(source).valid_claim
        if waiting is not None:
            await self._claims.settle([waiting])

    async def feed_slot_closed(self, slot: FeedSlot) -> None:
        """Scrapy's signal: a feed's file is stored, or could not be."""
        if self._feeds is not None:
            await self._claims.settle(self._feeds.slot_closed(slot))

    def _pop_claim(self, response: object) -> ItemClaim | None:
        """Return the claim of the item of this signal; None: this pipeline did not see it.

        The context may have been copied from that of another item, hence the check of the source.
        """
        ticket = _TICKET.get()
        if ticket is None or ticket.is_used or (ticket.source and ticket.source() is not response):
            return None
        ticket.is_used = True
        return ticket.claim

    def _renew(self) -> None:
        deferred_from_coro(self._claims.renew())


class MicroBatcher:
    """Collects pages that come within a moment, and judges them one right after the other.

    In a crawl, a good part of what judging a page costs is to bring code and tables into the processor's
    caches, from which Scrapy's own work has driven them; a batch pays that once.
    """

    def __init__(self, context: CrawlContext) -> None:
        self._context = context
        self._entries: list[_Entry] = []
        self._background = BackgroundTasks()

    async def judge(self, state: ResponseState, response: Response) -> ItemClaim:
        """Read a response and claim its content in the next batch."""
        entry = _Entry(state, response)
        self._entries.append(entry)
        if len(self._entries) == BATCH_SIZE:
            self._start_batch()
        elif len(self._entries) == 1:
            call_later(BATCH_SECONDS, self._start_batch)
        await entry.judged.wait()
        return entry.claim

    def _start_batch(self) -> None:
        entries, self._entries = self._entries, []
        subjects = [self._context.read(entry.response) for entry in entries]
        for entry, subject in zip(entries, subjects, strict=True):
            # Beside the others: it may have to wait for an item of one of them.
            self._background.start(self._judge(entry, subject))

    async def _judge(self, entry: _Entry, subject: Page | Verdict) -> None:
        try:
            if isinstance(subject, Page):
                entry.claim = await self._context.claims.judge(subject, entry.state)
            else:
                entry.claim = ItemClaim(subject, entry.state)
        finally:
            entry.judged.set()


class _Entry:
    """A page that waits for its batch."""

    __slots__ = ("claim", "judged", "response", "state")

    def __init__(self, state: ResponseState, response: Response) -> None:
        self.state = state
        self.response = response
        self.claim = ItemClaim(unchecked(response.url, "error"), state)
        self.judged = OneShotEvent()
