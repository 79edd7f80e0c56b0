"""The store client: a circuit breaker around a thread pool, through which a crawl calls its store.

A failed call is due to one damaged record, or to an outage. To find out, the client renews the leases.
During an outage it makes no other calls, so that no page waits for a connection. After growing pauses one
call probes the store. When the store is back, the backlog is delivered before other calls are made. A store counts as
away until that has succeeded. A full store counts as away, although it still renews leases.
"""

from __future__ import annotations

import time
from functools import partial
from math import inf
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from scrapy.utils.asyncio import call_later

from dedupcrawl.crawl.backlog import Backlog
from dedupcrawl.crawl.concurrency import BackgroundTaskGroup, OneShotEvent, ThreadPool, sleep
from dedupcrawl.crawl.delivery import BacklogClient
from dedupcrawl.crawl.progress import CallStats, OutageState
from dedupcrawl.crawl.settings import as_setting
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import SettingError, StoreError, StoreFullError, StoreUnreachableError
from dedupcrawl.stores.base import JudgedStore
from dedupcrawl.utils.iteration import backoff

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.items import PageState
    from dedupcrawl.crawl.lease_renewer import RenewalResult
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.decision import Claim
    from dedupcrawl.stores.base import Record

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE = 0.25  #: seconds before the first probe of an outage; doubles each time
#: Upper limit of the pause in seconds, unless a third of the lease is less. A faltering store answers only at times:
#: leases must be renewed in such a moment.
LONGEST_PAUSE = 1.0
RECOVERY = 10.0  #: seconds in which other workers notice that the store is back, unless 5/12 of the lease is less
DELIVERY_ATTEMPTS = 3  #: after which the store counts as away, although it replies to other calls
OPEN_PAUSE = 1.0  #: seconds between two attempts to open the store
CLOSE_REASON = "dedup_store_error"  #: finish reason of a crawl that is closed because its store is away


class StoreAwayError(StoreError):
    """The store was not called, because it is known to be away."""


class StoreClient:
    """Calls the store of a crawl, in a thread if it is remote, and delivers the backlog.

    With ``DEDUP_ON_STORE_ERROR`` "wait" or "close" the patience with an outage is limited. When it is over,
    :meth:`close_crawl_when_given_up` closes the crawl.

    Args:
        crawler: the crawl, which is closed if the store is away for too long.
        options: the store, and the policy during an outage.
        stats: count failures and outages.
    """

    def __init__(self, crawler: Crawler, options: Options, stats: CrawlStats) -> None:
        self._crawler = crawler
        self._options = options
        self._stats = stats
        self._patience = {"keep": None, "wait": options.store_patience, "close": 0.0}[options.on_store_error]
        self._lease = options.config.lease
        self._longest = max(FIRST_PAUSE, min(LONGEST_PAUSE, self._lease / 3))
        self._threads: ThreadPool | None = None
        self._examining: OneShotEvent | None = None  # exists while an error is examined
        self._delivering: OneShotEvent | None = None  # exists while the backlog is delivered
        self._pause: OneShotEvent | None = None  # ends the current pause
        self._background = BackgroundTaskGroup()
        self._is_behind = False  # the backlog may contain something
        self._closed = False  # the crawl ends
        self._ended = False  # the store is closed
        self._away = 0.0  # seconds of the ended outages
        self._recovered = -inf  # time at which all workers had renewed their leases after an outage
        self._given_up = OneShotEvent()  # the patience is over, or the client is closed
        self._delivery: BacklogClient
        self.dedup: Deduplicator
        self.backlog: Backlog
        self.is_open = False
        self.outage: OutageState | None = None
        self.times = CallStats()

    # -- opening and closing ------------------------------------------------------------------

    def connect(self, dedup: Deduplicator) -> None:
        """Use this deduplicator and its store from now on."""
        self.dedup = dedup
        self.backlog = Backlog(self._options, dedup.scheme, self._stats)
        self._delivery = BacklogClient(self.backlog, dedup, self._stats, self._run)
        self.is_open = True
        if dedup.store.remote:
            self._threads = self._threads or ThreadPool()

    def open_now(self) -> None:
        """Open a local store; raises :class:`~dedupcrawl.errors.DedupError`."""
        self.connect(self._opened())

    async def open(self) -> None:
        """Open a remote store; with ``DEDUP_ON_STORE_ERROR = "wait"`` wait until it answers.

        Raises :class:`~dedupcrawl.errors.DedupError`: nothing has been fetched yet that could be lost.
        """
        self._threads = ThreadPool()
        try:
            self.connect(await self._open_patiently())
        except BaseException:
            self._threads.close()
            raise

    async def close(self) -> None:
        """Deliver the backlog, for at most ``DEDUP_CLOSE_PATIENCE`` seconds, and close the store."""
        self._closed = True
        self._delivery.until = time.monotonic() + self._options.close_patience
        if self._pause is not None:
            self._pause.set()
        while busy := self._examining or self._delivering:
            await busy.wait()
        await self._deliver_last()
        self._ended = True
        try:
            await self._run(self.dedup.close)
        except StoreError as error:
            self._stats.store_failed(error, quiet=self.outage is not None)
        except Exception as error:  # noqa: BLE001  # the spool must still be closed, and the spider
            self._stats.crashed("the end of the store", error)
        if self._threads is not None:
            self._threads.close()
        self.backlog.close()
        self._given_up.set()

    async def _deliver_last(self) -> None:
        """Try to deliver the backlog until nothing is pending, or the time is over."""
        for pause in backoff(FIRST_PAUSE, LONGEST_PAUSE):
            await (self.deliver_backlog() if self.outage is None else self._retry(last=True))
            left = self._delivery.until - time.monotonic()
            if not self.backlog.is_pending or left <= 0:
                return
            self._stats.waiting_to_close(left)
            await sleep(min(pause, left))

    def _opened(self) -> Deduplicator:
        options = self._options
        try:
            return Deduplicator(
                options.store,
                options.namespace,
                config=options.config,
                page_timeout=options.page_timeout,
                reset=options.reset,
            )
        except SettingError as error:
            raise as_setting(error) from None

    async def _open_patiently(self) -> Deduplicator:
        began = time.monotonic()
        patience = self._options.store_patience if self._options.on_store_error == "wait" else 0.0
        is_logged = False
        while True:
            try:
                dedup = await self._run(self._opened)
            except StoreUnreachableError as error:
                if time.monotonic() - began + OPEN_PAUSE > patience or not self._crawler.crawling:
                    raise
                if not is_logged:
                    self._stats.outage_began(error)
                    is_logged = True
                await sleep(OPEN_PAUSE)
            else:
                if is_logged:
                    self._stats.outage_ended(time.monotonic() - began, 0)
                return dedup

    # -- calls --------------------------------------------------------------------------------

    @property
    def is_remote(self) -> bool:
        """Whether the store is across a network."""
        return self._threads is not None

    @property
    def takes_batches(self) -> bool:
        """Whether the store is across a network, takes many pages in few round trips, and is not away."""
        return isinstance(self.dedup.store, JudgedStore) and self._is_ready

    @property
    def answers_at_once(self) -> bool:
        """Whether the store may be called directly, without a thread: no outage or delivery is under way."""
        return self._threads is None and self._is_ready

    @property
    def _is_ready(self) -> bool:
        """Whether pages may be judged now: they are compared with all earlier ones."""
        return self.outage is None and self._delivering is None and not self._is_behind

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call ``function`` after a delivery of the backlog; return its result.

        Raises :class:`~dedupcrawl.errors.StoreError`; :class:`StoreAwayError` if the store was not called.
        """
        if not self._is_ready:
            await self.deliver_backlog()
        while self._delivering is not None:
            await self._delivering.wait()
        return await self._call(partial(function, *args, **kwargs), urgent=False)

    async def call_urgently(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call ``function`` without waiting for the backlog or for the calls that queue for a thread."""
        return await self._call(partial(function, *args, **kwargs), urgent=True)

    def renew(self) -> None:
        """Renew the leases in the calling thread, unless the store is away."""
        if self._may_call(urgent=True):
            self.dedup.renew()

    async def renewed(self, renewal: RenewalResult) -> None:
        """Handle a renewal that another thread made: examine its error, or deliver the backlog."""
        if self._threads is not None:
            self.times.add(renewal.seconds)
        if isinstance(renewal.error, StoreError):
            await self._examine(renewal.error)
        elif renewal.error is not None:
            self._stats.crashed("the renewal of leases", renewal.error)
        elif self.backlog.is_pending:
            await self.deliver_backlog()

    def _may_call(self, *, urgent: bool) -> bool:
        """Whether the store is there. Leases are renewed as soon as it is back: the backlog may take longer."""
        return self.outage is None or (urgent and self._delivering is not None)

    async def _call(self, function: Callable[[], T], *, urgent: bool) -> T:
        def checked() -> T:
            # The store may have gone away while the call queued for a thread.
            if self.outage is not None and not self._may_call(urgent=urgent):
                raise StoreAwayError(str(self.outage.error))
            return function()

        try:
            return await self._run(checked, urgent=urgent)
        except StoreAwayError:
            raise
        except StoreError as error:
            await self._examine(error)
            raise

    async def _run(self, function: Callable[[], T], *, urgent: bool = False) -> T:
        """Call ``function`` even during an outage."""
        if self._threads is None:
            return function()
        with self.times.measuring(unless=StoreAwayError):
            return await self._threads.run(function, urgent=urgent)

    async def wait_for(self, function: Callable[[], None]) -> None:
        """Call a function that may wait for a call of the store, in a thread if that is remote."""
        if self._threads is None:
            function()
        else:
            await self._threads.run(function, urgent=True)

    # -- the backlog --------------------------------------------------------------------------

    def defer_claims(self, claims: Sequence[Claim], state: PageState) -> None:
        """Store the state of claims as soon as possible."""
        self.backlog.add_claims(claims, state)
        self._is_behind = True
        self._background.start(self.deliver_backlog())

    def defer_records(self, records: Sequence[Record]) -> None:
        """File pages, whose items are durable, as soon as possible."""
        self.backlog.add_records(records)
        self._is_behind = True
        self._background.start(self.deliver_backlog())

    def deliver_left_behind(self) -> None:
        """Start to file the pages that earlier crawls left in the spool."""
        if self.backlog.has_files:
            self._background.start(self.deliver_backlog())

    async def deliver_backlog(self) -> None:
        """Deliver the backlog, unless the store is away or closed; other calls wait meanwhile."""
        if self.outage is None and self._delivering is None and not self._ended:
            try:
                await self._deliver()
            except StoreError as error:
                self._stats.store_failed(error, quiet=True)
                self._begin_outage(error)
            except Exception as error:  # noqa: BLE001  # the store must still be closed
                self._stats.crashed("the backlog of the store", error)

    async def _deliver(self) -> None:
        self._delivering = delivering = OneShotEvent()
        try:
            await self._deliver_insistently()
            self._is_behind = self.backlog.is_pending
            self._end_outage()
        finally:
            self._delivering = None
            delivering.set()

    async def _deliver_insistently(self) -> None:
        """Deliver what is pending, in a few attempts if the store replies in between."""
        for _ in range(DELIVERY_ATTEMPTS - 1):
            try:
                await self._deliver_all()
            except StoreUnreachableError as error:
                self._stats.store_failed(error, quiet=True)
                await self._probe()
            else:
                return
        await self._deliver_all()

    async def _deliver_all(self) -> None:
        """Deliver what is pending; raises :class:`~dedupcrawl.errors.StoreError` if some of it is to be sent later."""
        await self._delivery.deliver_claims()
        await self._recover()
        await self._delivery.deliver()

    async def _recover(self) -> None:
        """After a long outage, wait until every worker has renewed its leases.

        Leases may have ended meanwhile. Each worker probes the store within ``RECOVERY``, and renews its leases then.
        Before that, a claim that seems dead may be that of a worker that is alive.

        Raises :class:`~dedupcrawl.errors.StoreError` if the store is still full.
        """
        if self.outage is None:
            return
        unrenewed = time.monotonic() - max(self.outage.began, self._recovered)
        if self.outage.is_full:  # leases were renewed meanwhile
            await self._run(self.dedup.try_filing)
        elif self._threads is not None and unrenewed > self._lease / 2 and not self._closed:
            await self._sleep(min(RECOVERY, self._lease * 5 / 12))
            self._recovered = time.monotonic()

    # -- outages ------------------------------------------------------------------------------

    @property
    def seconds_away(self) -> float:
        """Duration of all outages so far."""
        return self._away + (self.outage.seconds if self.outage is not None else 0.0)

    async def wait_for_return(self) -> bool:
        """Wait for the end of an outage; return False if the patience is over."""
        while (outage := self.outage) is not None:
            await outage.over.wait()
            if self.outage is outage:
                return False
        return True

    async def close_crawl_when_given_up(self) -> None:
        """Wait until the patience is over, and close the crawl."""
        if await self.wait_until_given_up():
            engine = self._crawler.engine
            if engine is not None and engine.spider is not None:
                await engine.close_spider_async(reason=CLOSE_REASON)

    async def wait_until_given_up(self) -> bool:
        """Wait until the patience is over; return False if the client was closed instead."""
        await self._given_up.wait()
        return not self._closed

    def count_unchecked(self) -> None:
        """Count a page that is kept unchecked during an outage."""
        if self.outage is not None:
            self.outage.pages += 1

    async def _probe(self) -> None:
        """Make a cheap call that writes to the store; raises if the store is away."""
        await self._run(self.dedup.renew, urgent=True)

    async def _examine(self, error: StoreError) -> None:
        """Find out whether the store is away, or only this call failed."""
        if self._examining is not None:
            await self._examining.wait()
        elif self.outage is None and isinstance(error, StoreFullError):
            self._begin_outage(error)
        elif self.outage is None:
            self._examining = examining = OneShotEvent()
            try:
                await self._probe()
            except StoreError as reason:
                self._begin_outage(reason)
            finally:
                self._examining = None
                examining.set()
        self._stats.store_failed(error, quiet=self.outage is not None)

    def _begin_outage(self, error: StoreError) -> None:
        if self.outage is not None:  # two calls may find out at the same time
            return
        self.outage = OutageState(error)
        self._stats.outage_began(error)
        if not self._closed:
            self._check_patience(self.outage)
            self._background.start(self._watch(self.outage))

    async def _watch(self, outage: OutageState) -> None:
        """Probe the store until it is back."""
        for pause in backoff(FIRST_PAUSE, self._longest):
            await self._sleep(pause)
            if self._closed or self.outage is not outage or await self._retry():
                return
            self._check_patience(outage)

    async def _sleep(self, seconds: float) -> None:
        """Wait, at most until the client is closed."""
        self._pause = pause = OneShotEvent()
        timer = call_later(seconds, pause.set)
        await pause.wait()
        timer.cancel()
        self._pause = None

    async def _retry(self, *, last: bool = False) -> bool:
        """Probe the store, and deliver the backlog if it is back; return whether that succeeded."""
        try:
            await self._probe()
            while self._delivering is not None:  # it has begun before the outage
                await self._delivering.wait()
            if last or not self._closed:  # else close() makes the last attempt
                await self._deliver()
        except StoreError:
            return False
        except Exception as error:  # noqa: BLE001  # pages may wait for the end of the outage
            self._stats.crashed("the backlog of the store", error)
            return False
        return True

    def _end_outage(self) -> None:
        outage, self.outage = self.outage, None
        if outage is not None:
            self._away += outage.seconds
            self._stats.outage_ended(outage.seconds, outage.pages)
            outage.over.set()

    def _check_patience(self, outage: OutageState) -> None:
        if self._patience is None or outage.over.is_set:
            return
        if outage.seconds >= self._patience or not self._crawler.crawling:
            outage.over.set()
            self._stats.gave_up()
            self._given_up.set()
