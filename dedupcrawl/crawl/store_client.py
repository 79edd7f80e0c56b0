"""The store client, a circuit breaker around a thread pool: all calls of a crawl to its store go through it.

A call that fails may have met one damaged record, or the beginning of an outage: the leases are renewed
at once to find out. A store that is full counts as away, although it renews leases. During an outage no other
call is made, so that no page waits for a connection that will not come; with growing pauses one call probes
whether the store is back. Then the backlog is delivered, and only then are pages judged again.
"""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from math import inf
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from scrapy.utils.asyncio import call_later

from dedupcrawl.crawl.backlog import Backlog
from dedupcrawl.crawl.concurrency import BackgroundTasks, OneShotEvent, ThreadPool, gather, sleep
from dedupcrawl.crawl.settings import as_setting
from dedupcrawl.crawl.stats import CallTimes, Outage
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import SettingError, StoreError, StoreFullError, StoreUnreachableError
from dedupcrawl.stores.base import ClaimState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.backlog import SpoolFile
    from dedupcrawl.crawl.items import PageState
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.stores.base import Record
    from dedupcrawl.verdict import Claim

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE = 0.25  #: seconds before the store is probed again; doubles up to
LONGEST_PAUSE = 8.0  #: or a third of the lease, if that is shorter
STEADY = 60.0  #: seconds without an outage after which the pauses start again at the first
OPEN_PAUSE = 1.0  #: seconds before a store that cannot be opened is tried again
CONCURRENT_DELIVERIES = 16  #: calls side by side: pages wait until the backlog is empty


class StoreAwayError(StoreError):
    """The store was not called, for it is known to be away."""


class StoreClient:
    """Calls the store of a crawl, in a thread if it is remote, and keeps the backlog of what it missed.

    With ``DEDUP_ON_STORE_ERROR`` "wait" or "close" an outage may last too long: then
    :meth:`wait_until_given_up` returns, and the crawl is to be closed.

    Args:
        crawler: whether it still crawls decides whether waiting for the store makes sense.
        options: the store, and what to do while it is away.
        stats: counts failures, outages and returns.
    """

    def __init__(self, crawler: Crawler, options: Options, stats: CrawlStats) -> None:
        self._crawler = crawler
        self._options = options
        self._stats = stats
        self._patience = {"keep": None, "wait": options.store_patience, "close": 0.0}[options.on_store_error]
        self._lease = options.config.lease
        self._longest = max(FIRST_PAUSE, min(LONGEST_PAUSE, self._lease / 3))
        self._threads: ThreadPool | None = None
        self._examining: OneShotEvent | None = None
        self._delivering: OneShotEvent | None = None
        self._nap: OneShotEvent | None = None
        self._background = BackgroundTasks()
        self._closed = False
        self._step = FIRST_PAUSE
        self._returned = -inf  # when the store came back the last time
        self._away = 0.0  # seconds of the outages that are over
        self._given_up = OneShotEvent()  # an outage lasted too long, or the client is closed
        self.dedup: Deduplicator
        self.backlog: Backlog
        self.is_open = False
        self.outage: Outage | None = None
        self.times = CallTimes()

    # -- opening and closing ------------------------------------------------------------------

    def connect(self, dedup: Deduplicator) -> None:
        """Use this deduplicator and its store from now on."""
        self.dedup = dedup
        self.backlog = Backlog(self._options, dedup.scheme, self._stats)
        self.is_open = True
        if dedup.store.remote:
            self.use_threads()

    def open_now(self) -> None:
        """Open the store.

        Raises :class:`~dedupcrawl.errors.DedupError`; a constant that is not accepted is named as a setting.
        """
        self.connect(self._opened())

    async def open(self) -> None:
        """Open a store across a network; with ``DEDUP_ON_STORE_ERROR = "wait"`` wait until it answers.

        Raises :class:`~dedupcrawl.errors.DedupError`: a crawl that has not begun loses nothing by ending.
        """
        self.use_threads()
        try:
            self.connect(await self._open_patiently())
        except BaseException:
            self._close_threads()
            raise

    def use_threads(self) -> None:
        """Make every call in a thread from now on."""
        self._threads = self._threads or ThreadPool()

    async def close(self) -> None:
        """Close the store, after one last attempt to deliver the backlog if the store is away."""
        self._closed = True
        if self._nap is not None:
            self._nap.set()
        while busy := self._examining or self._delivering:
            await busy.wait()
        if self.outage is None:
            await self.deliver_backlog()
        else:
            await self._retry(last=True)
        try:
            await self._run(self.dedup.close)
        except StoreError as error:
            self._stats.store_failed(error, quiet=self.outage is not None)
        self._close_threads()
        self.backlog.close()
        self._given_up.set()

    def _opened(self) -> Deduplicator:
        options = self._options
        try:
            return Deduplicator(options.store, options.namespace, config=options.config)
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
                    self._stats.store_left(error)
                    is_logged = True
                await sleep(OPEN_PAUSE)
            else:
                if is_logged:
                    self._stats.store_returned(time.monotonic() - began, 0)
                return dedup

    def _close_threads(self) -> None:
        if self._threads is not None:
            self._threads.close()

    # -- calls --------------------------------------------------------------------------------

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call, after the delivery of the backlog if one is going on.

        Raises :class:`~dedupcrawl.errors.StoreError`; :class:`StoreAwayError` when it was not made at all.
        """
        while self._delivering is not None:
            await self._delivering.wait()
        return await self._call(partial(function, *args, **kwargs), urgent=False)

    async def call_urgently(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call whatever the backlog, before those that queue for a thread; raises as :meth:`call`."""
        return await self._call(partial(function, *args, **kwargs), urgent=True)

    async def _call(self, function: Callable[[], T], *, urgent: bool) -> T:
        def checked() -> T:
            # A call may have queued for a thread while others found out that the store is away. Leases are
            # renewed as soon as it is back: delivering the backlog may take longer than a lease.
            if self.outage is not None and not (urgent and self._delivering is not None):
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
        """Make a call, whatever is known of the store."""
        if self._threads is None:
            return function()
        with self.times.measuring(unless=StoreAwayError):
            return await self._threads.run(function, urgent=urgent)

    # -- the backlog --------------------------------------------------------------------------

    def defer_claims(self, claims: Sequence[Claim], state: PageState) -> None:
        """Deliver the state of claims as soon as the store can take it."""
        self.backlog.add_claims(claims, state)
        self._background.start(self.deliver_backlog())

    def defer_records(self, records: Sequence[Record]) -> None:
        """File pages whose items are stored as soon as the store can take them."""
        self.backlog.add_records(records)
        self._background.start(self.deliver_backlog())

    def deliver_left_behind(self) -> None:
        """File, beside other calls, what earlier crawls could not."""
        if self.backlog.has_files:
            self._background.start(self.deliver_backlog())

    async def deliver_backlog(self) -> None:
        """Deliver the backlog, unless the store is away; other calls wait meanwhile."""
        if self.outage is None and self._delivering is None:
            try:
                await self._deliver()
            except StoreError as error:
                await self._examine(error)
            except Exception as error:  # noqa: BLE001  # the store must be closed nevertheless
                self._stats.crashed("the backlog of the store", error)

    async def _deliver(self) -> None:
        self._delivering = delivering = OneShotEvent()
        try:
            await self._deliver_all()
            self._end_outage()
        finally:
            self._delivering = None
            delivering.set()

    async def _deliver_all(self) -> None:
        """Deliver claims and records until nothing is left.

        Raises :class:`~dedupcrawl.errors.StoreError` when the store is away; the rest is kept then.
        What the store refuses, being there, is not tried again; it stays in the spool for the next crawl.
        """
        is_first = True
        while is_first or self.backlog.is_pending:
            await self._deliver_claims()
            if is_first:
                await self._recover()
            await self._deliver_records()
            is_first = False

    async def _deliver_claims(self) -> None:
        while claims := self.backlog.claims(CONCURRENT_DELIVERIES):
            await gather(self._attempt(_deliver_state, *entry) for entry in claims.values())
            self.backlog.remove_claims(claims)

    async def _deliver_records(self) -> None:
        with closing(self.backlog.spool_files()) as files:
            for file in files:
                await self._replay(file)

    async def _replay(self, file: SpoolFile) -> None:
        answers: list[bool | None] = []
        try:
            for records in file.batches(CONCURRENT_DELIVERIES):
                fresh = await gather(self._attempt(self.dedup.remember, record) for record in records)
                for record, answer in zip(records, fresh, strict=True):
                    if answer is None:
                        file.retain(record)
                answers += fresh
            file.compact()
        except OSError as error:
            self._stats.spool_failed(error, 0)
        finally:
            self._stats.replayed(*map(answers.count, (True, False, None)))

    async def _attempt(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Make a call that was missed; None: the store is there, and refuses it.

        Raises :class:`~dedupcrawl.errors.StoreError` when the store is away.
        """
        try:
            return await self._run(partial(function, *args, **kwargs))
        except StoreFullError:
            raise
        except StoreError as error:
            await self._probe()
            self._stats.store_failed(error)
            return None

    async def _recover(self) -> None:
        """Give a store that is back the time that it, and other workers, need before pages are filed again.

        Leases may have ended meanwhile. All workers find out within a pause that the store is back, and renew
        theirs: until then a claim that seems dead may be that of a worker who lives and stores its page.

        Raises :class:`~dedupcrawl.errors.StoreError` if the store is still full.
        """
        if self.outage is None:
            return
        if self.outage.is_full:  # leases were renewed meanwhile
            await self._run(self.dedup.try_filing)
        elif self._threads is not None and self.outage.seconds > self._lease / 2 and not self._closed:
            await self._sleep(1.25 * self._longest)

    # -- outages ------------------------------------------------------------------------------

    @property
    def seconds_away(self) -> float:
        """How long the store has been away so far, in all outages."""
        return self._away + (self.outage.seconds if self.outage is not None else 0.0)

    async def wait_for_return(self) -> bool:
        """Wait for the end of an outage; False: it lasted too long."""
        if self.outage is not None:
            await self.outage.over.wait()
        return self.outage is None

    async def wait_until_given_up(self) -> bool:
        """Wait until an outage has lasted too long; False: the client was closed instead."""
        await self._given_up.wait()
        return not self._closed

    def count_unchecked(self) -> None:
        """Count a page that is kept unchecked since the store is away."""
        if self.outage is not None:
            self.outage.pages += 1

    async def _probe(self) -> None:
        """Make a cheap call that changes something in the store; raises if the store is away."""
        await self._run(self.dedup.renew, urgent=True)

    async def _examine(self, error: StoreError) -> None:
        """Find out whether the store is away, or failed this once."""
        if self._examining is not None:
            await self._examining.wait()
        elif self.outage is None:
            self._examining = examining = OneShotEvent()
            try:
                reason = await self._reason(error)
                if reason is not None:
                    self._begin_outage(reason)
            finally:
                self._examining = None
                examining.set()
        self._stats.store_failed(error, quiet=self.outage is not None)

    async def _reason(self, error: StoreError) -> StoreError | None:
        """Return why the store is away; None: it is there."""
        if isinstance(error, StoreFullError):
            return error
        try:
            await self._probe()
        except StoreError as reason:
            return reason
        return None

    def _begin_outage(self, error: StoreError) -> None:
        self.outage = Outage(error)
        if time.monotonic() - self._returned > STEADY:
            self._step = FIRST_PAUSE
        self._stats.store_left(error)
        if not self._closed:
            self._check_patience(self.outage)
            self._background.start(self._watch(self.outage))

    async def _watch(self, outage: Outage) -> None:
        """Probe the store again and again until it is back."""
        while not self._closed:
            await self._sleep(self._step)
            self._step = min(2 * self._step, self._longest)
            if self._closed or await self._retry():
                return
            self._check_patience(outage)

    async def _sleep(self, seconds: float) -> None:
        self._nap = nap = OneShotEvent()
        timer = call_later(seconds, nap.set)
        await nap.wait()
        timer.cancel()
        self._nap = None

    async def _retry(self, *, last: bool = False) -> bool:
        """Probe whether the store is back, and if so deliver the backlog."""
        try:
            await self._probe()
            if last or not self._closed:  # else the last attempt has begun meanwhile
                await self._deliver()
        except StoreError:
            return False
        except Exception as error:  # noqa: BLE001  # pages may wait for its return
            self._stats.crashed("the backlog of the store", error)
            return False
        return True

    def _end_outage(self) -> None:
        outage, self.outage = self.outage, None
        if outage is not None:
            self._returned = time.monotonic()
            self._away += outage.seconds
            self._stats.store_returned(outage.seconds, outage.pages)
            outage.over.set()

    def _check_patience(self, outage: Outage) -> None:
        if self._patience is None or outage.over.is_set:
            return
        if outage.seconds >= self._patience or not self._crawler.crawling:
            outage.over.set()
            self._stats.gave_up()
            self._given_up.set()


def _deliver_state(claim: Claim, state: PageState) -> None:
    """Bring the stored state of a claim up to date."""
    if state.stored is ClaimState.SCRAPED:
        claim.scraped()
    elif state.stored is ClaimState.COMMITTED:
        claim.commit()
    else:
        claim.release()
