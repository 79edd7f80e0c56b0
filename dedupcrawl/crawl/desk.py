"""Where pages are judged and claims are settled: the only caller of the store in a crawl."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, ParamSpec

from dedupcrawl.claim import Claim
from dedupcrawl.crawl.claiming import Claiming
from dedupcrawl.crawl.collecting import Collector
from dedupcrawl.crawl.debts import Debts
from dedupcrawl.crawl.holds import Hold, Met
from dedupcrawl.crawl.line import Line
from dedupcrawl.crawl.opening import open_patiently
from dedupcrawl.crawl.pulse import Pulse
from dedupcrawl.crawl.waiting import Background
from dedupcrawl.errors import StoreError
from dedupcrawl.policy import unchecked
from dedupcrawl.report.note import Fate
from dedupcrawl.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.line import Outage
    from dedupcrawl.crawl.options import Options
    from dedupcrawl.crawl.pulse import Waits
    from dedupcrawl.crawl.tally import Tally
    from dedupcrawl.crawl.visits import Visit
    from dedupcrawl.deduplicator import Deduplicator
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.page import Page
    from dedupcrawl.stores.base import Record

P = ParamSpec("P")

CHUNK = 256  #: most claims committed at once, so that the reactor breathes in between
CLOSED = "dedup_store_error"  #: why a crawl ends that must not go on without its store


class Desk:
    """Judges pages, and settles what becomes of their claims.

    Whatever is asked of the store may take its time, and other items come meanwhile: a hold is over before
    the store is told.
    """

    def __init__(
        self, crawler: Crawler, tally: Tally, options: Options, collector: Collector | None = None
    ) -> None:
        self._collector = collector or Collector()
        self._crawler = crawler
        self._tally = tally
        self._options = options
        self._dedup: Deduplicator
        self._debts: Debts
        patience = {"keep": None, "wait": options.store_patience, "close": 0.0}[options.on_store_error]
        self._line = Line(
            tally,
            self._live,
            self._try_filing,
            self._make_up,
            lease=options.config.lease,
            patience=patience,
            give_up=self._give_up,
            is_ending=lambda: not crawler.crawling,
        )
        self._claiming = Claiming(crawler, self._line, waits=options.on_store_error == "wait")
        self._pulse = Pulse(crawler, tally, self._line.waits)
        self._background = Background()
        self._unfiled: set[Hold] = set()  # kept unchecked, to be filed once their items are safe
        self.is_open = self._renews = False

    def take(self, dedup: Deduplicator) -> None:
        """Work with this deduplicator from now on."""
        self._dedup = dedup
        self._debts = Debts(dedup, self._tally, self._options)
        self.is_open = True
        if dedup.store.remote:
            self._line.cross_network()

    @property
    def outage(self) -> Outage | None:
        """The time for which the store is away now."""
        return self._line.outage

    def count_waits(self) -> Waits:
        """Return how long the crawl waits for the store from now on."""
        return self._line.waits.beside()

    async def open(self, opening: Callable[[], Deduplicator]) -> None:
        """Open a store across a network, unless there is one; file what earlier crawls could not.

        Raises :class:`~dedupcrawl.errors.DedupError` when it cannot be opened.
        """
        if not self.is_open:
            self._line.cross_network()
            try:
                self.take(
                    await open_patiently(opening, self._line, self._options, self._tally, self._crawler)
                )
            except BaseException:
                self._line.hang_up()
                raise
        if self._dedup.store.remote:
            await self.renew()  # so that whoever watches knows of this worker
        if self._debts.are_inherited:
            self._background.start(self._line.make_up())

    async def look(self, page: Page) -> Hold:
        """Say what is known of a page, and file nothing."""
        try:
            record = self._dedup.file(page)
            if isinstance(record, Verdict):
                return Hold(record)
            met = await self._claiming.insist(self._line.ask, self._dedup.candidates, record)
            return Hold(self._dedup.verdict_among(met, record, page.url), met=Met(record, met))
        except StoreError:
            return Hold(unchecked(page.url, "store"))
        except Exception as error:  # noqa: BLE001  # a page is never lost for a fault of ours
            return Hold(self._crashed(page, error))

    def weigh(self, new: Record, old: Record) -> tuple[Opinion, ...]:
        """Return what each detector says of a new and an older page."""
        return self._dedup.opinions(new, old)

    async def judge(self, page: Page, visit: Visit | None, *, track_url: bool = True) -> Hold:
        """Claim a page's content; wait as long as it repeats one whose own fate is open."""
        try:
            record = self._dedup.file(page, track_url=track_url)
            if isinstance(record, Verdict):
                return Hold(record, visit)
            try:
                return await self._claiming.claim(self._dedup, record, page.url, visit, versions=track_url)
            except StoreError:
                return self._unchecked(record, page.url, visit)
        except Exception as error:  # noqa: BLE001  # the same
            return Hold(self._crashed(page, error), visit)

    async def scraped(self, hold: Hold) -> None:
        """Note that all pipelines took one more of the items under ``hold``."""
        hold.in_flight -= 1
        first = not hold.scraped
        hold.scraped = True
        await self.settle([hold])
        if first and not hold.over and hold.claim is not None:
            told = await self._tell(hold.claim.scraped)
            if not told and not hold.over:  # else more is owed by now
                self._owe([hold.claim], Claim.scraped)
            hold.outcome.settle()

    async def refused(self, hold: Hold) -> None:
        """Note that one of the items under ``hold`` was dropped or failed."""
        hold.in_flight -= 1
        if (hold.claim or hold.record) and hold.is_refused and not hold.over:
            await self._release(_end([hold]))
        else:
            await self.settle([hold])

    async def settle(self, holds: Iterable[Hold]) -> None:
        """Commit those of ``holds`` whose items are all safe; release those that a feed lost."""
        ripe = _end([hold for hold in holds if hold.scraped and hold.is_ripe and not hold.over])
        if ripe:
            await self._commit([hold for hold in ripe if not hold.lost])
            await self._release([hold for hold in ripe if hold.lost])

    async def close(self) -> None:
        """Settle what is left when no item will come any more, and let the store go."""
        left = [hold for hold in (*self._claiming.open.values(), *self._unfiled) if not hold.over]
        await self._commit(_end([hold for hold in left if hold.scraped and not hold.feeds and not hold.lost]))
        self._publish()
        await self._line.close(self._dedup.close)
        self._debts.close()

    async def renew(self) -> None:
        """Tell the store that this process lives."""
        if self._renews:  # the last time has not ended yet
            return
        self._renews = True
        try:
            self._publish()
            await self._told(self._line.hurry(self._live))
        finally:
            self._renews = False
        if self._debts.are_there:
            await self._line.make_up()

    # -- claims -------------------------------------------------------------------------------

    def _unchecked(self, record: Record, url: str, visit: Visit | None) -> Hold:
        self._line.miss()
        hold = Hold(unchecked(url, "store"), visit, record=record)
        self._unfiled.add(hold)
        return hold

    async def _commit(self, holds: Sequence[Hold]) -> None:
        for chunk in _chunks(holds):
            claims = _claims(chunk)
            unfiled = [hold.record for hold in chunk if hold.record]
            if claims and not await self._tell(self._dedup.commit, claims):
                self._owe(claims, Claim.commit)
                unfiled += [claim.record for claim in claims if claim.record]
            self._conclude(chunk)
            if unfiled:
                self._debts.remember(unfiled)
                self._background.start(self._line.make_up())

    async def _release(self, holds: Sequence[Hold]) -> None:
        for chunk in _chunks(holds):
            for hold in chunk:
                if hold.visit is not None and hold.visit.hold is hold:
                    hold.visit.hold = None
            claims = _claims(chunk)
            if claims and not await self._tell(self._dedup.release, claims):
                self._owe(claims, Claim.release)
            self._tally.released(len(claims))
            for hold in chunk:
                self._collector.ended(hold, Fate.RELEASED)
            self._conclude(chunk)

    def _owe(self, claims: Sequence[Claim], order: Callable[[Claim], None]) -> None:
        self._debts.owe(claims, order)
        self._background.start(self._line.make_up())

    def _conclude(self, holds: Sequence[Hold]) -> None:
        for hold in holds:
            if hold.claim is not None and hold.claim.id is not None:
                self._claiming.open.pop(hold.claim.id, None)
            self._unfiled.discard(hold)
            hold.outcome.settle()

    # -- the store ----------------------------------------------------------------------------

    async def _tell(self, order: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Ask for what the crawl can do without: a store that fails costs no item."""
        return await self._told(self._line.ask(order, *args, **kwargs))

    async def _told(self, answer: Awaitable[object]) -> bool:
        try:
            await answer
        except StoreError:
            return False
        except Exception as error:  # noqa: BLE001  # pages may wait for the outcome of what is told
            self._tally.crashed("a claim", error)
            return False
        return True

    def _publish(self) -> None:
        self._dedup.store.publish(self._pulse.figures(len(self._claiming.open)))

    def _live(self) -> int:
        return self._dedup.renew()

    def _try_filing(self) -> None:
        self._dedup.try_filing()

    async def _make_up(self) -> None:
        await self._debts.pay(self._line)

    def _give_up(self) -> None:
        self._tally.gave_up()
        self._background.start(self._end_crawl())

    async def _end_crawl(self) -> None:
        if self._crawler.engine is not None and self._crawler.engine.spider is not None:
            await self._crawler.engine.close_spider_async(reason=CLOSED)

    def _crashed(self, page: Page, error: Exception) -> Verdict:
        self._tally.crashed(page.url, error)
        return unchecked(page.url, "error")


def _end(holds: Sequence[Hold]) -> Sequence[Hold]:
    """Mark them as over before the store is told, so that nobody settles them twice."""
    for hold in holds:
        hold.over = True
    return holds


def _claims(holds: Iterable[Hold]) -> list[Claim]:
    return [hold.claim for hold in holds if hold.claim]


def _chunks(holds: Iterable[Hold]) -> Iterable[list[Hold]]:
    remaining = iter(holds)
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk
