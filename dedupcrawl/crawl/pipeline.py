"""The item pipeline: an item goes on when its content is new."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import deferred_from_coro

from dedupcrawl.crawl.holds import Hold
from dedupcrawl.crawl.media import Media
from dedupcrawl.crawl.progress import Progress
from dedupcrawl.crawl.reading import SKIPPED, is_skipped, own_url, read_item
from dedupcrawl.crawl.rounds import Rounds
from dedupcrawl.crawl.session import session_of
from dedupcrawl.crawl.tagging import is_telling, tag
from dedupcrawl.crawl.tally import described
from dedupcrawl.crawl.waiting import Outcome
from dedupcrawl.policy import unchecked
from dedupcrawl.report.note import Fate

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from scrapy.http import Response
    from scrapy.signalmanager import SignalManager
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from dedupcrawl.crawl.session import Session
    from dedupcrawl.crawl.visits import Visit
    from dedupcrawl.page import Page
    from dedupcrawl.verdict import Verdict


class DuplicatePage(DropItem):
    """The item's content was stored before; the message names the page that had it first."""

    def __init__(self, verdict: Verdict) -> None:
        # Scrapy logs a dropped item in full; the pipeline has said in a line what matters.
        super().__init__(described(verdict), log_level="DEBUG")
        self.verdict = verdict


@dataclass(slots=True)
class _Ticket:
    """An item that this pipeline let in, until its outcome is known."""

    hold: Hold
    source: ref[Response] | None
    is_used: bool = False


#: Scrapy processes an item and reports its outcome in one context.
_TICKET: ContextVar[_Ticket | None] = ContextVar("dedupcrawl_ticket", default=None)


class DedupPipeline:
    """Claims before storage, and settles the claim when the item's fate is known."""

    def __init__(self, crawler: Crawler, session: Session) -> None:
        self._crawler = crawler
        self._session = session
        self._options = session.options
        self._visits, self._desk = session.visits, session.desk
        self._tally, self._feeds = session.tally, session.feeds
        self._collector, self._media = session.collector, Media()
        self._rounds = Rounds(session)
        self._is_over = False
        self._renewal: AsyncioLoopingCall | LoopingCall | None = None
        self._progress = Progress(crawler, session.options, session.tally, session.desk)
        self._connect(crawler.signals)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Join the crawl's session, and hear of the outcome of items."""
        return cls(crawler, session_of(crawler))

    def _connect(self, manager: SignalManager) -> None:
        manager.connect(self.item_scraped, signals.item_scraped)
        manager.connect(self.item_refused, signals.item_dropped)
        manager.connect(self.item_refused, signals.item_error)
        if self._feeds is not None:
            manager.connect(self._feeds.look, signals.spider_opened)
            manager.connect(self.feed_slot_closed, signals.feed_slot_closed)
            manager.connect(self.finish, signals.feed_exporter_closed)
        manager.connect(self.finish, signals.engine_stopped)

    async def open_spider(self) -> None:
        """Have a store at hand, and begin to tell it, three times a lease, that this process lives."""
        await self._session.open(self._crawler)
        self._media.look(self._crawler, self)
        if self._media.is_there:
            self._collector.count("requests_saved", 0)  # none is something else than no telling
        self._renewal = create_looping_call(self._renew)
        self._renewal.start(self._options.config.lease / 3, now=False)
        self._progress.start()

    async def close_spider(self) -> None:
        """Settle what is left; with feeds that waits until they are closed."""
        if self._feeds is None:
            await self.finish()

    async def finish(self) -> None:
        """Settle what is left, once, and say what became of the pages."""
        if self._is_over:
            return
        self._is_over = True
        self._progress.stop()
        if self._renewal is not None and self._renewal.running:
            self._renewal.stop()
        if self._desk.is_open:
            await self._desk.close()
            self._tally.summarise()
        await self._collector.close()

    # -- items --------------------------------------------------------------------------------

    async def process_item(self, item: Any) -> Any:
        """Let an item go on, tagged if that is wanted, or raise :class:`DuplicatePage`."""
        response = self._visits.take(item)
        hold = await self._hold(item, response)
        verdict = hold.verdict
        _TICKET.set(_Ticket(hold, None if response is None else ref(response)))
        if self._is_dropped(verdict):
            self._saved(item, hold)
            raise DuplicatePage(verdict)
        self._media.passed(item)
        if verdict.reason != SKIPPED and (not self._options.drops or is_telling(verdict)):
            tag(item, verdict)
        return item

    async def _hold(self, item: Any, response: Response | None) -> Hold:
        if self._options.item_fields:
            hold = await self._hold_of_item(item, response)
        elif response is not None:
            hold = await self._hold_of_page(response)
        else:
            hold = self._judged(Hold(unchecked(own_url(item), "no-response")), None)
        hold.in_flight += 1
        return hold

    async def _hold_of_page(self, response: Response) -> Hold:
        """Return the hold that all items of a response share; the first of them asks for it."""
        visit = self._visits.of(response)
        while visit.hold is None:
            if visit.deciding is not None:
                await visit.deciding.wait()
            else:
                await self._decide(visit, response)
        return visit.hold

    async def _decide(self, visit: Visit, response: Response) -> None:
        visit.deciding = deciding = Outcome()
        try:
            hold = await self._rounds.judge(visit, response)
            visit.hold = self._judged(hold, visit.subject, len(response.body), visit)
            visit.counted = True
            visit.subject = None  # what was read has served; should the claim be released, it is read again
        finally:
            visit.deciding = None
            deciding.settle()

    async def _hold_of_item(self, item: Any, response: Response | None) -> Hold:
        """Judge an item by its own text.

        Its URL is followed over time where it is its own: another item of the same page may have the
        page's URL too, and would look like a new version of the first.
        """
        url, base, seen = own_url(item), "", set[str]()
        if response is not None:
            if is_skipped(response):
                return self._judged(Hold(unchecked(response.url, SKIPPED)), None)
            base, seen = response.url, self._visits.of(response).urls
        is_own = bool(url) and url != base and url not in seen
        seen.add(url)
        page = read_item(item, self._options.item_fields, url or base)
        hold = await self._desk.judge(page, None, track_url=is_own)
        return self._judged(hold, page, len(page.text.encode("utf-8", "replace")))

    def _judged(
        self, hold: Hold, subject: Page | Verdict | None, size: int = 0, visit: Visit | None = None
    ) -> Hold:
        is_dropped = self._is_dropped(hold.verdict)
        self._tally.judged(hold.verdict, again=visit is not None and visit.counted)
        if is_dropped:
            self._tally.dropped(hold.verdict, size)
        self._collector.judged(hold, subject, size, visit, is_dropped=is_dropped)
        return hold

    def _saved(self, item: Any, hold: Hold) -> None:
        """Count the requests for files and images that are not made now."""
        requests = self._media.spared(item)
        if requests:
            self._tally.requests_saved(requests)
            self._collector.saved(hold, requests)

    def _is_dropped(self, verdict: Verdict) -> bool:
        return self._options.drops and not verdict.keep

    # -- outcomes -----------------------------------------------------------------------------

    async def item_scraped(self, item: Any, response: object) -> None:
        """Scrapy's signal: all pipelines took an item."""
        hold = self._outcome_of(response)
        if self._feeds is not None:
            self._feeds.took(item, hold)
        if hold is not None:
            if not hold.scraped:
                self._tally.kept()
                self._collector.ended(hold, Fate.KEPT)
            await self._desk.scraped(hold)

    async def item_refused(self, item: Any, response: object) -> None:
        """Scrapy's signals: a pipeline dropped an item, or failed."""
        hold = self._outcome_of(response)
        if hold is not None:
            await self._desk.refused(hold)
            if hold.is_refused:
                self._collector.ended(hold, Fate.RELEASED)
            return
        source = self._visits.lose(item)
        waiting = None if source is None else self._visits.of(source).hold
        if waiting is not None:
            await self._desk.settle([waiting])

    async def feed_slot_closed(self, slot: FeedSlot) -> None:
        """Scrapy's signal: a feed's file is stored, or could not be."""
        if self._feeds is not None:
            await self._desk.settle(self._feeds.closed(slot))

    def _outcome_of(self, response: object) -> Hold | None:
        """Return the hold of the item whose outcome is being told; None: this pipeline did not see it.

        The context may have been copied from that of another item, hence the check of the source.
        """
        ticket = _TICKET.get()
        if ticket is None or ticket.is_used or (ticket.source and ticket.source() is not response):
            return None
        ticket.is_used = True
        return ticket.hold

    def _renew(self) -> None:
        deferred_from_coro(self._desk.renew())
