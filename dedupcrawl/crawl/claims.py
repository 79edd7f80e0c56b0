"""Claims the content of pages in the store, and commits or releases the claims.

A call of the store takes time, and other items arrive meanwhile. So the state of a page changes before the
store is called.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

from dedupcrawl.crawl.claim_registry import COLLECT, ClaimBatch, ClaimRegistry, split
from dedupcrawl.crawl.concurrency import BackgroundTaskGroup, ThreadPool, TurnQueue, sleep
from dedupcrawl.crawl.items import ComparedRecord, ItemClaim, PageRecorder, PageState, advance_all
from dedupcrawl.crawl.lease_renewer import LeaseRenewer
from dedupcrawl.crawl.progress import HeartbeatBuilder
from dedupcrawl.decision import Pending, Verdict, unchecked
from dedupcrawl.errors import DamageError, StoreError
from dedupcrawl.stores.base import ClaimState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.items import ResponseState
    from dedupcrawl.crawl.lease_renewer import RenewalResult
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.crawl.store_client import StoreClient
    from dedupcrawl.decision import Claim
    from dedupcrawl.page import Page
    from dedupcrawl.stores.base import Record

    UnsettledClaim: TypeAlias = Coroutine[Any, Any, ItemClaim]

P = ParamSpec("P")
T = TypeVar("T")

CHUNK = 256  #: highest number of claims in one call, so that the reactor runs between two calls
LARGE_PAGE = 1 << 15  #: minimum characters of a page that is fingerprinted in a thread; others take milliseconds


class ClaimManager:
    """Judges pages, and commits or releases their claims.

    Args:
        crawler: whose pages they are.
        client: calls the store.
        options: the settings in force.
        stats: count released claims and errors.
        recorder: records released pages.
    """

    def __init__(
        self,
        crawler: Crawler,
        client: StoreClient,
        options: Options,
        stats: CrawlStats,
        recorder: PageRecorder | None = None,
    ) -> None:
        self._client = client
        self._options = options
        self._stats = stats
        self._recorder = recorder or PageRecorder()
        self._registry = ClaimRegistry(crawler, client, waits=options.on_store_error == "wait")
        self._heartbeat = HeartbeatBuilder(crawler, stats, client.times)
        self._background = BackgroundTaskGroup()
        self.large_pages = ThreadPool(1)  #: reads and fingerprints large pages
        self._unfiled: set[ItemClaim] = set()  # kept unchecked; filed once their items are durable
        self._changed = TurnQueue(self._store_states)  # claims whose state a local store does not know yet
        self._renewer = LeaseRenewer(self, options.config.lease / 3)

    # -- opening and closing ------------------------------------------------------------------

    async def open(self) -> None:
        """Open the store if it is not open, or raise ``DedupError``; file what earlier crawls left."""
        if not self._client.is_open:
            await self._client.open()
        if self._options.on_store_error != "keep":
            self._background.start(self._client.close_crawl_when_given_up())
        if self._client.dedup.store.remote:
            self.publish()
            await self._succeeds(self._client.call_urgently(self._client.dedup.renew))  # registers for `store watch`
        self._renewer.start()
        self._client.deliver_left_behind()

    async def close(self) -> None:
        """Commit the remaining claims when no more items will come, and close the store."""
        await self._changed.drain()
        left = [claim for claim in (*self._registry.open.values(), *self._unfiled) if not claim.feeds]
        await self._commit(advance_all(left, PageState.SCRAPED, PageState.COMMITTED))
        await self._client.wait_for(self._renewer.stop)
        self.publish()
        await self._client.close()
        self.large_pages.close()

    # -- leases -------------------------------------------------------------------------------

    def renew(self) -> None:
        """Renew the leases of all claims, unless the store is away. Called in the thread of the renewer."""
        self._client.renew()

    def renewed(self, renewal: RenewalResult) -> None:
        """Find out about the store after a failure; else deliver the backlog, if there is any."""
        self._background.start(self._client.renewed(renewal))

    def publish(self) -> None:
        """Publish the stats of this worker with the next renewal.

        Nothing depends on them, so an error is only logged, once of each type.
        """
        try:
            self._client.dedup.store.publish(self._heartbeat.worker_stats(self._registry.uncommitted))
        except Exception as error:  # noqa: BLE001  # leases must be renewed, and the store closed
            self._stats.publishing_failed(error)

    # -- verdicts -----------------------------------------------------------------------------

    async def check(self, page: Page) -> ItemClaim:
        """Judge a page by the pages in the store; file nothing."""
        dedup = self._client.dedup
        try:
            await self._changed.flush()
            record = await self._fingerprint(page)
            if isinstance(record, Verdict):
                return ItemClaim(record)
            found = await self._registry.retry(self._client.call, dedup.candidates, record)
            verdict = dedup.verdict_among(found, record, page.url)
            return ItemClaim(verdict, comparison=ComparedRecord(record, found))
        except StoreError:
            return ItemClaim(unchecked(page.url, "store"))
        except Exception as error:  # noqa: BLE001  # an error of ours must not lose a page
            return ItemClaim(self._crashed(page, error))

    async def judge(
        self,
        page: Page,
        response: ResponseState | None,
        *,
        track_url: bool = True,
        answered: tuple[Record, Pending] | None = None,
    ) -> ItemClaim:
        """Judge a page and claim its content; wait while a page that it repeats is not settled.

        Args:
            page: to judge.
            response: whose items share the verdict; None: a single item is judged.
            track_url: whether an earlier page of the same URL counts as an earlier version.
            answered: the record of the page, and the store's answer to a first attempt; None: there was none.
        """
        try:
            await self._changed.flush()
            record, first = answered or (await self._fingerprint(page, response, track_url=track_url), None)
            if isinstance(record, Verdict):
                return ItemClaim(record, response)
            try:
                dedup = self._client.dedup
                return await self._registry.claim(dedup, record, page.url, response, versions=track_url, first=first)
            except StoreError:
                return self._unchecked(record, page.url, response)
        except Exception as error:  # noqa: BLE001  # as in check()
            return ItemClaim(self._crashed(page, error), response)

    async def judge_many(self, pages: Sequence[tuple[Page, ResponseState]]) -> list[ItemClaim | UnsettledClaim]:
        """Judge pages in their order; those that a local store can answer at once are filed in one transaction.

        Returns:
            For each page its claim, or a coroutine that returns the claim later: it waits for the outcome of another
            page, for a thread, for a remote store, or for a store that is away.
        """
        if self._client.is_remote and self._client.takes_batches:
            return self._judge_remotely(pages)
        short = [page for page in pages if _size(page[0]) < LARGE_PAGE] if self._client.answers_at_once else []
        judged = dict(zip(map(id, short), await self._judge_together(short), strict=False))
        return [judged.get(id(page)) or self.judge(*page) for page in pages]

    def _judge_remotely(self, pages: Sequence[tuple[Page, ResponseState]]) -> list[ItemClaim | UnsettledClaim]:
        """Start to claim short pages in one call of the store, in a thread."""
        short = [page for page in pages if _size(page[0]) < LARGE_PAGE]
        try:
            records = self._client.dedup.fingerprint_many(
                [page for page, _ in short], [each.read_seconds for _, each in short]
            )
        except Exception:  # noqa: BLE001  # each page is judged, and fails, by itself
            return [self.judge(*page) for page in pages]
        batch = ClaimBatch(self.judge, self._claim_and_commit, split(short, records))
        self._background.start(batch.run())
        claims = iter(batch.claims())
        judged: dict[int, ItemClaim | UnsettledClaim] = {
            id(page): ItemClaim(record, page[1]) if isinstance(record, Verdict) else next(claims)
            for page, record in zip(short, records, strict=True)
        }
        return [judged.get(id(page)) or self.judge(*page) for page in pages]

    async def _claim_and_commit(self, pages: Sequence[tuple[Record, str, ResponseState]]) -> list[ItemClaim | Pending]:
        """Claim pages, and commit the claims whose items are durable, in one call of the store."""
        with self._changed.taken(lambda claim: claim.state is PageState.COMMITTED, CHUNK) as durable:
            try:
                answers = await self._registry.claim_together(pages, _filed(durable))
            except Exception:  # maybe of one page
                await self._commit(durable)
                raise
            except BaseException:
                self._committed(durable, is_stored=False)
                raise
            self._committed(durable, is_stored=True)
        return answers

    async def _judge_together(self, pages: Sequence[tuple[Page, ResponseState]]) -> list[ItemClaim | UnsettledClaim]:
        """Judge short pages; return nothing after an error: then each page is judged, and fails, by itself."""
        try:
            await self._changed.flush()
            spent = [response.read_seconds for _, response in pages]
            records = self._client.dedup.fingerprint_many([page for page, _ in pages], spent)
            subjects = list(zip(records, pages, strict=True))
            filed = [(each, page.url, state) for each, (page, state) in subjects if not isinstance(each, Verdict)]
            answers = iter(self._registry.claim_now(filed))
        except Exception:  # noqa: BLE001  # as in check()
            return []
        judged: list[ItemClaim | UnsettledClaim] = []
        for record, (page, response) in subjects:
            if isinstance(record, Verdict):
                judged.append(ItemClaim(record, response))
            else:
                it = next(answers)
                judged.append(self.judge(page, response, answered=(record, it)) if isinstance(it, Pending) else it)
        return judged

    async def _fingerprint(
        self, page: Page, response: ResponseState | None = None, *, track_url: bool = True
    ) -> Record | Verdict:
        """Return the record of a page, or why it cannot be checked; for a large page in a thread.

        There is one thread, so that large pages are judged in their order.
        """
        spent = response.read_seconds if response is not None else 0.0
        work = partial(self._client.dedup.fingerprint, page, track_url=track_url, spent=spent)
        return work() if _size(page) < LARGE_PAGE else await self.large_pages.run(work)

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
        """Handle an item that passed all pipelines; ``is_first``: the first one of its claim."""
        claim.in_flight -= 1
        await self.settle([claim])
        if is_first and claim.claim is not None and not claim.state.is_settled:
            await self._store([claim])

    async def item_refused(self, claim: ItemClaim) -> None:
        """Handle an item that a pipeline dropped, or for which it raised."""
        claim.in_flight -= 1
        if not claim.is_refused:
            await self.settle([claim])
        elif claim.is_filed:
            await self._store(advance_all([claim], PageState.OPEN, PageState.RELEASED))
        else:
            if claim.state.allows(PageState.REFUSED):
                claim.advance(PageState.REFUSED)
            self._recorder.record_state(claim)

    def is_sure(self, claim: ItemClaim) -> bool:
        """Whether the claim of an item is certainly valid, without asking the store.

        A claim is not certain if the lease may have ended since it was made. A page with a stored item stays as it is.
        """
        if claim.state is not PageState.OPEN:
            return claim.state is not PageState.RELEASED
        return claim.claim is None or claim.lapses == self._client.dedup.lapses

    async def confirm(self, claim: ItemClaim) -> bool:
        """Ask the store whether a claim has survived the end of its lease; release it if not.

        Returns:
            False if the page must be judged again: others may have stored it meanwhile, or the store does not answer.
        """
        lapses = self._client.dedup.lapses
        if claim.state is PageState.OPEN and claim.claim is not None:
            self._stats.lapsed(lapses)
            if await self._survives(claim.claim):
                claim.lapses = lapses
                return True
            lost = advance_all([claim], PageState.OPEN, PageState.RELEASED)
            self._stats.count("lapsed", len(lost))
            await self._release(lost)
        return claim.state is not PageState.RELEASED

    async def _survives(self, claim: Claim) -> bool:
        async def ask() -> bool:
            dedup = self._client.dedup
            await self._client.call_urgently(dedup.renew)  # then nobody removes the claim after the answer
            return await self._client.call(dedup.holds, claim)

        try:
            return await self._registry.retry(ask)
        except StoreError:
            return False
        except Exception as error:  # noqa: BLE001  # an error of ours must not lose an item
            self._stats.crashed("a claim", error)
            return True

    async def settle(self, claims: Iterable[ItemClaim]) -> None:
        """Commit the claims whose items are all durable; release those whose feed was not stored."""
        complete = [claim for claim in claims if claim.is_complete]
        if not complete:
            return
        durable = advance_all(complete, PageState.SCRAPED, PageState.COMMITTED)
        lost = advance_all(complete, PageState.LOST, PageState.RELEASED)
        await self._store([*durable, *lost])

    async def settle_in_chunks(self, chunks: Iterable[Sequence[ItemClaim]]) -> None:
        """Settle the claims of a feed that was closed. There may be millions: the reactor has its turn in between."""
        try:
            for n, claims in enumerate(chunks):
                if n:
                    await self._changed.flush()
                    await sleep(0)
                await self.settle(claims)
        except (OSError, DamageError) as error:
            self._stats.feed_claims_lost(error)

    async def _store(self, claims: Sequence[ItemClaim]) -> None:
        """Store the states of claims: at once, or together with others where the store takes them so.

        If the process is killed before, the items are stored and the claims end, as with a kill before Scrapy's signal.
        """
        if not self._client.is_remote:
            self._changed.add(claims)
        elif self._client.takes_batches:
            self._changed.add(claims, COLLECT)
        else:
            await self._store_states(claims)

    async def _store_states(self, claims: Sequence[ItemClaim]) -> None:
        scraped = [claim for claim in claims if claim.state.stored is ClaimState.SCRAPED]
        durable = [claim for claim in claims if claim.state is PageState.COMMITTED]
        released = [claim for claim in claims if claim.state is PageState.RELEASED]
        await self._mark_scraped(scraped)
        await self._commit(durable)
        await self._release(released)

    async def _mark_scraped(self, claims: Sequence[ItemClaim]) -> None:
        ids = [claim.id for claim in _filed(claims) if claim.id is not None]
        if ids and not await self._call(self._client.dedup.store.scraped_many, ids):
            # If another state has followed meanwhile, that one is stored.
            missed = _filed(claim for claim in claims if not claim.state.is_settled)
            self._client.defer_claims(missed, PageState.SCRAPED)
        for claim in claims:
            claim.outcome.set()
            if claim.feeds:
                self._registry.wait_for_feeds(claim)

    async def _commit(self, claims: Sequence[ItemClaim]) -> None:
        for start in range(0, len(claims), CHUNK):
            chunk = claims[start : start + CHUNK]
            filed = _filed(chunk)
            is_stored = not filed or await self._call(self._client.dedup.commit, filed)
            self._committed(chunk, is_stored=is_stored)

    def _committed(self, claims: Sequence[ItemClaim], *, is_stored: bool) -> None:
        """Finish claims whose items are durable. What the store does not know yet is delivered when it is back."""
        filed = _filed(claims)
        unfiled = [claim.record for claim in claims if claim.record]
        if filed and not is_stored:
            self._client.defer_claims(filed, PageState.COMMITTED)
            unfiled += [claim.record for claim in filed if claim.record]
        self._finish(claims)
        if unfiled:
            self._client.defer_records(unfiled)

    async def _release(self, claims: Sequence[ItemClaim]) -> None:
        for start in range(0, len(claims), CHUNK):
            chunk = claims[start : start + CHUNK]
            filed = _filed(chunk)
            if filed and not await self._call(self._client.dedup.release, filed):
                self._client.defer_claims(filed, PageState.RELEASED)
            self._stats.count("released", len(filed))
            for claim in chunk:
                self._recorder.record_state(claim)
            self._finish(chunk)

    def _finish(self, claims: Sequence[ItemClaim]) -> None:
        for claim in claims:
            self._registry.remove(claim)
            self._unfiled.discard(claim)
            claim.outcome.set()

    async def _call(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Call the store; return whether that succeeded. A store that fails must not lose an item."""
        return await self._succeeds(self._client.call(function, *args, **kwargs))

    async def _succeeds(self, call: Awaitable[object]) -> bool:
        try:
            await call
        except StoreError:
            return False
        except Exception as error:  # noqa: BLE001  # pages may wait for the outcome
            self._stats.crashed("a claim", error)
            return False
        return True


def _size(page: Page) -> int:
    fields = (page.text, page.compared or "", page.rest, page.title, page.keywords, page.description, page.anchors)
    return sum(map(len, fields))


def _filed(claims: Iterable[ItemClaim]) -> list[Claim]:
    return [claim.claim for claim in claims if claim.claim]
