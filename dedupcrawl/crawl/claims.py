"""Pages are judged here, and their claims are committed or released."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from dedupcrawl.crawl.concurrency import BackgroundTasks, OneShotEvent, sleep
from dedupcrawl.crawl.items import Comparison, ItemClaim, PageState
from dedupcrawl.crawl.recorder import PageRecorder
from dedupcrawl.crawl.stats import Heartbeat
from dedupcrawl.crawl.store_client import StoreAwayError
from dedupcrawl.decision import unchecked
from dedupcrawl.errors import StoreError
from dedupcrawl.utils.iteration import backoff, chunked
from dedupcrawl.verdict import Pending, Verdict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.items import ResponseState
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.crawl.store_client import StoreClient
    from dedupcrawl.deduplicator import Deduplicator
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.page import Page
    from dedupcrawl.stores.base import Record
    from dedupcrawl.verdict import Claim

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE = 0.05  #: seconds before another worker's claim is looked at again; doubles up to
LONGEST_PAUSE = 1.0
CHUNK = 256  #: most claims committed at once, so that the reactor runs in between
CLOSE_REASON = "dedup_store_error"  #: why a crawl ends that must not go on without its store


class ClaimManager:
    """Judges pages, and commits or releases their claims.

    A call of the store may take its time, and other items come meanwhile: a page changes its state before
    the store is called.

    Args:
        crawler: closed when its store is away for too long.
        client: of the store.
        options: the settings in force.
        stats: counts what is released, and faults.
        recorder: records which pages are released.
    """

    def __init__(
        self,
        crawler: Crawler,
        client: StoreClient,
        options: Options,
        stats: CrawlStats,
        recorder: PageRecorder | None = None,
    ) -> None:
        self._crawler = crawler
        self._client = client
        self._options = options
        self._stats = stats
        self._recorder = recorder or PageRecorder()
        self._registry = ClaimRegistry(crawler, client, waits=options.on_store_error == "wait")
        self._heartbeat = Heartbeat(crawler, stats, client.times)
        self._background = BackgroundTasks()
        self._unfiled: set[ItemClaim] = set()  # kept unchecked, to be filed once their items are safe
        self._is_renewing = False

    # -- opening and closing ------------------------------------------------------------------

    async def open(self) -> None:
        """Open a store across a network, unless one is open; file what earlier crawls could not.

        Raises :class:`~dedupcrawl.errors.DedupError` when it cannot be opened.
        """
        if not self._client.is_open:
            await self._client.open()
        if self._options.on_store_error != "keep":
            self._background.start(self._close_crawl_when_given_up())
        if self._client.dedup.store.remote:
            await self.renew()  # registers this worker for `store watch`
        self._client.deliver_left_behind()

    async def close(self) -> None:
        """Commit what is left when no item will come any more, and close the store."""
        left = [claim for claim in (*self._registry.open.values(), *self._unfiled) if not claim.feeds]
        await self._commit(
            _advance((each for each in left if each.state is PageState.SCRAPED), PageState.COMMITTED)
        )
        self._publish()
        await self._client.close()

    async def renew(self) -> None:
        """Renew the leases of all claims, and publish the figures of this worker."""
        if self._is_renewing:  # the last renewal has not ended yet
            return
        self._is_renewing = True
        try:
            self._publish()
            await self._succeeds(self._client.call_urgently(self._client.dedup.renew))
        finally:
            self._is_renewing = False
        if self._client.backlog.is_pending:
            await self._client.deliver_backlog()

    def _publish(self) -> None:
        self._client.dedup.store.publish(self._heartbeat.figures(len(self._registry.open)))

    async def _close_crawl_when_given_up(self) -> None:
        if await self._client.wait_until_given_up():
            engine = self._crawler.engine
            if engine is not None and engine.spider is not None:
                await engine.close_spider_async(reason=CLOSE_REASON)

    # -- verdicts -----------------------------------------------------------------------------

    async def check(self, page: Page) -> ItemClaim:
        """Judge a page by what is known of it, and file nothing."""
        dedup = self._client.dedup
        try:
            record = dedup.file(page)
            if isinstance(record, Verdict):
                return ItemClaim(record)
            found = await self._registry.retry(self._client.call, dedup.candidates, record)
            verdict = dedup.verdict_among(found, record, page.url)
            return ItemClaim(verdict, comparison=Comparison(record, found))
        except StoreError:
            return ItemClaim(unchecked(page.url, "store"))
        except Exception as error:  # noqa: BLE001  # a page is never lost for a fault of ours
            return ItemClaim(self._crashed(page, error))

    async def judge(self, page: Page, response: ResponseState | None, *, track_url: bool = True) -> ItemClaim:
        """Claim a page's content; wait as long as it repeats one that is neither committed nor released."""
        dedup = self._client.dedup
        try:
            record = dedup.file(page, track_url=track_url)
            if isinstance(record, Verdict):
                return ItemClaim(record, response)
            try:
                return await self._registry.claim(dedup, record, page.url, response, versions=track_url)
            except StoreError:
                return self._unchecked(record, page.url, response)
        except Exception as error:  # noqa: BLE001  # the same
            return ItemClaim(self._crashed(page, error), response)

    def weigh(self, new: Record, old: Record) -> tuple[Opinion, ...]:
        """Return the opinion of each detector of a new and an older page."""
        return self._client.dedup.opinions(new, old)

    def _unchecked(self, record: Record, url: str, response: ResponseState | None) -> ItemClaim:
        self._client.count_unchecked()
        claim = ItemClaim(unchecked(url, "store"), response, record=record)
        self._unfiled.add(claim)
        return claim

    def _crashed(self, page: Page, error: Exception) -> Verdict:
        self._stats.crashed(page.url, error)
        return unchecked(page.url, "error")

    # -- outcomes of items --------------------------------------------------------------------

    async def item_scraped(self, claim: ItemClaim, *, is_first: bool) -> None:
        """Note that one more of the items under ``claim`` passed all pipelines."""
        claim.in_flight -= 1
        await self.settle([claim])
        if is_first and claim.claim is not None and not claim.state.is_settled:
            is_stored = await self._call(claim.claim.scraped)
            if not is_stored and not claim.state.is_settled:  # else a later state is deferred by now
                self._client.defer_claims([claim.claim], PageState.SCRAPED)
            claim.outcome.set()

    async def item_refused(self, claim: ItemClaim) -> None:
        """Note that one of the items under ``claim`` was dropped or failed."""
        claim.in_flight -= 1
        if not claim.is_refused:
            await self.settle([claim])
        elif claim.is_filed:
            await self._release(_advance([claim], PageState.RELEASED))
        else:
            if claim.state.allows(PageState.REFUSED):
                claim.advance(PageState.REFUSED)
            self._recorder.record_state(claim)

    async def settle(self, claims: Iterable[ItemClaim]) -> None:
        """Commit those of ``claims`` whose items are all safe; release those that a feed lost."""
        complete = [claim for claim in claims if claim.is_complete]
        safe = _advance(
            (claim for claim in complete if claim.state is PageState.SCRAPED), PageState.COMMITTED
        )
        lost = _advance((claim for claim in complete if claim.state is PageState.LOST), PageState.RELEASED)
        await self._commit(safe)
        await self._release(lost)

    async def _commit(self, claims: Sequence[ItemClaim]) -> None:
        for chunk in chunked(claims, CHUNK):
            filed = _filed(chunk)
            unfiled = [claim.record for claim in chunk if claim.record]
            if filed and not await self._call(self._client.dedup.commit, filed):
                self._client.defer_claims(filed, PageState.COMMITTED)
                unfiled += [claim.record for claim in filed if claim.record]
            self._finish(chunk)
            if unfiled:
                self._client.defer_records(unfiled)

    async def _release(self, claims: Sequence[ItemClaim]) -> None:
        for chunk in chunked(claims, CHUNK):
            filed = _filed(chunk)
            if filed and not await self._call(self._client.dedup.release, filed):
                self._client.defer_claims(filed, PageState.RELEASED)
            self._stats.released(len(filed))
            for claim in chunk:
                self._recorder.record_state(claim)
            self._finish(chunk)

    def _finish(self, claims: Sequence[ItemClaim]) -> None:
        for claim in claims:
            self._registry.remove(claim)
            self._unfiled.discard(claim)
            claim.outcome.set()

    async def _call(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Make a call that the crawl can do without: a store that fails costs no item."""
        return await self._succeeds(self._client.call(function, *args, **kwargs))

    async def _succeeds(self, answer: Awaitable[object]) -> bool:
        try:
            await answer
        except StoreError:
            return False
        except Exception as error:  # noqa: BLE001  # pages may wait for the outcome
            self._stats.crashed("a claim", error)
            return False
        return True


class ClaimRegistry:
    """Makes claims, and knows those that are open.

    Answers of a store across a network may come in another order than it gave them. So a claim is registered
    in one step with its answer, and a page that repeats an own claim whose answer is still under way waits
    for that.

    Args:
        crawler: a crawl that ends waits for no other worker.
        client: of the store.
        waits: whether pages wait for a store that is away.
    """

    def __init__(self, crawler: Crawler, client: StoreClient, *, waits: bool) -> None:
        self._crawler = crawler
        self._client = client
        self._waits = waits
        self._offers: set[OneShotEvent] = set()  # under way; their ids are not known here yet
        self.open: dict[int, ItemClaim] = {}

    def remove(self, claim: ItemClaim) -> None:
        """Forget a claim that is committed or released."""
        if claim.claim is not None and claim.claim.id is not None:
            self.open.pop(claim.claim.id, None)

    async def claim(
        self, dedup: Deduplicator, record: Record, url: str, response: ResponseState | None, *, versions: bool
    ) -> ItemClaim:
        """Claim the content of a page; wait as long as it repeats one that is neither committed nor released.

        Raises :class:`~dedupcrawl.errors.StoreError` when the store cannot be called.
        """
        offer = partial(dedup.claim_record, record, url, versions=versions)
        patience = dedup.config.wait
        gives_up = False
        while True:
            answer = await self.retry(self._offer, offer, response, give_up=gives_up)
            if isinstance(answer, ItemClaim):
                return answer
            own = await self._own(answer)
            # A store that failed may show a claim as open although its outcome is known here.
            if own is not None and not own.outcome.is_set:
                await own.outcome.wait()
            else:
                patience = await self._wait_for(dedup, answer, patience)
                gives_up = patience <= 0

    async def retry(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call again where that may help: once if the store is there, and after an outage if pages wait."""
        failures = 0
        while True:
            try:
                return await call(*args, **kwargs)
            except StoreError as error:
                if isinstance(error, StoreAwayError) or self._client.outage is not None:
                    again = self._waits and await self._client.wait_for_return()
                else:
                    failures += 1
                    again = failures == 1
                if not again:
                    raise

    async def _offer(
        self, offer: Callable[..., Claim | Pending], response: ResponseState | None, *, give_up: bool
    ) -> ItemClaim | Pending:
        answered = OneShotEvent()
        self._offers.add(answered)
        try:
            answer = await self._client.call(offer, give_up=give_up)
            return answer if isinstance(answer, Pending) else self._register(answer, response)
        finally:
            self._offers.discard(answered)
            answered.set()

    def _register(self, claim: Claim, response: ResponseState | None) -> ItemClaim:
        comparison = Comparison(claim.record, claim.met) if claim.record and claim.met else None
        if claim.id is None:
            return ItemClaim(claim.verdict, response, comparison=comparison)
        kept = replace(claim, met=()) if comparison else claim
        registered = ItemClaim(claim.verdict, response, kept, comparison=comparison)
        self.open[claim.id] = registered
        return registered

    async def _own(self, pending: Pending) -> ItemClaim | None:
        """Return our own claim that a page waits for; the answer that names it may come after this one."""
        if pending.mine and pending.id not in self.open:
            for answered in tuple(self._offers):
                await answered.wait()
        return self.open.get(pending.id) if pending.mine else None

    async def _wait_for(self, dedup: Deduplicator, pending: Pending, patience: float) -> float:
        """Wait until another worker's claim is settled; return the seconds of patience that are left.

        The time of an outage does not count, for nobody can settle anything meanwhile.
        """
        pauses = backoff(FIRST_PAUSE, LONGEST_PAUSE)
        began, away = time.monotonic(), self._client.seconds_away
        end = began + patience
        while (
            left := end - time.monotonic() + self._client.seconds_away - away
        ) > 0 and self._crawler.crawling:
            await sleep(min(next(pauses), left))
            if await self.retry(self._client.call, dedup.is_settled, pending.id):
                return end - time.monotonic() + self._client.seconds_away - away
        return 0


def _advance(claims: Iterable[ItemClaim], state: PageState) -> Sequence[ItemClaim]:
    """Change the state of claims before the store is called, so that none is settled twice."""
    advanced = list(claims)
    for claim in advanced:
        claim.advance(state)
    return advanced


def _filed(claims: Iterable[ItemClaim]) -> list[Claim]:
    return [claim.claim for claim in claims if claim.claim]
