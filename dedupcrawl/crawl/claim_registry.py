"""Makes claims: the registry of open ones, and batches of pages that are claimed in one call of the store."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from dedupcrawl.crawl.concurrency import OneShotEvent, sleep
from dedupcrawl.crawl.items import ComparedRecord, ItemClaim
from dedupcrawl.crawl.store_client import StoreAwayError
from dedupcrawl.decision import Pending, Verdict
from dedupcrawl.errors import StoreError, StoreUnreachableError
from dedupcrawl.utils.iteration import backoff

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.items import ResponseState
    from dedupcrawl.crawl.store_client import StoreClient
    from dedupcrawl.decision import Claim
    from dedupcrawl.deduplicator import Deduplicator
    from dedupcrawl.page import Page
    from dedupcrawl.stores.base import Record

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE = 0.05  #: seconds before another worker's claim is checked again; doubles each time
LONGEST_PAUSE = 1.0  #: upper limit of the pause in seconds
#: Seconds for which changes of claims may wait, to be written by the next call that claims pages. Another worker that
#: waits for such a claim does not check it again any sooner.
COLLECT = FIRST_PAUSE
#: Calls without a reply, while the store replies to others, after which a page that waits for it is kept unchecked.
MAX_UNANSWERED = 20


class ClaimRegistry:
    """Makes claims, and keeps the open ones.

    The answers of a remote store may arrive in another order than it gave them. So a claim is registered in
    the same step in which its answer arrives, and a page that repeats a claim of this process whose answer
    has not arrived yet waits for it.

    Args:
        crawler: a crawl that ends does not wait for other workers.
        client: calls the store.
        waits: whether pages wait for a store that is away.
    """

    def __init__(self, crawler: Crawler, client: StoreClient, *, waits: bool) -> None:
        self._crawler = crawler
        self._client = client
        self._waits = waits
        self._offers: set[OneShotEvent] = set()  # calls without an answer; the ids of their claims are unknown
        self.open: dict[int, ItemClaim] = {}  #: by id; without the scraped ones that wait for feeds
        self._in_feeds = 0  # claims that wait for feeds

    @property
    def uncommitted(self) -> int:
        """The number of claims that are neither committed nor released."""
        return len(self.open) + max(self._in_feeds, 0)

    def wait_for_feeds(self, claim: ItemClaim) -> None:
        """Remove a scraped claim from ``open``: no page waits for it.

        The feed tracker keeps it until its feeds are closed.
        """
        if claim.claim is not None and self.open.pop(claim.claim.id or 0, None) is not None:
            self._in_feeds += 1

    def remove(self, claim: ItemClaim) -> None:
        """Remove a committed or released claim."""
        if claim.claim is not None and claim.claim.id is not None and self.open.pop(claim.claim.id, None) is None:
            self._in_feeds -= 1

    async def claim(
        self,
        dedup: Deduplicator,
        record: Record,
        url: str,
        response: ResponseState | None,
        *,
        versions: bool,
        first: Pending | None = None,
    ) -> ItemClaim:
        """Claim the content of a page; wait while a page that it repeats is not settled.

        Raises :class:`~dedupcrawl.errors.StoreError` when the store cannot be called. ``first`` is the answer to a
        first attempt, if there was one.
        """
        offer = partial(dedup.claim_record, record, url, versions=versions)
        patience = dedup.config.wait
        gives_up = False
        pending = first
        while True:
            if pending is None:
                answer = await self.retry(self._offer, offer, response, give_up=gives_up)
                if isinstance(answer, ItemClaim):
                    return answer
                pending = answer
            own = await self._own(pending)
            # After a failure the store may report a claim as open although its outcome is known here.
            if own is not None and not own.outcome.is_set:
                await own.outcome.wait()
            else:
                patience = await self._wait_for(dedup, pending, patience)
                gives_up = patience <= 0
            pending = None

    def claim_now(self, pages: Sequence[tuple[Record, str, ResponseState]]) -> list[ItemClaim | Pending]:
        """Make a first attempt to claim pages in their order, in one transaction of a local store."""
        dedup = self._client.dedup
        lapses = dedup.lapses
        answers = dedup.claim_records([page[:2] for page in pages]) if pages else []
        return self._register_all(answers, pages, lapses)

    async def claim_together(
        self, pages: Sequence[tuple[Record, str, ResponseState]], commit: Sequence[Claim]
    ) -> list[ItemClaim | Pending]:
        """Make a first attempt to claim pages, and commit claims, in one call of a remote store."""
        dedup = self._client.dedup
        self._offers.add(answered := OneShotEvent())
        lapses = dedup.lapses
        try:
            answers = await self._client.call(dedup.claim_records, [page[:2] for page in pages], commit)
            return self._register_all(answers, pages, lapses)
        finally:
            self._offers.discard(answered)
            answered.set()

    def _register_all(
        self, answers: Sequence[Claim | Pending], pages: Sequence[tuple[Record, str, ResponseState]], lapses: int
    ) -> list[ItemClaim | Pending]:
        return [
            answer if isinstance(answer, Pending) else self._register(answer, response, lapses)
            for answer, (_, _, response) in zip(answers, pages, strict=True)
        ]

    async def retry(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call again after a failure: once if the store is there, after an outage if pages wait for it.

        If pages wait, a call that gets no reply is also made again while the store replies to others.
        """
        failures = 0
        while True:
            try:
                return await call(*args, **kwargs)
            except StoreError as error:
                if isinstance(error, StoreAwayError) or self._client.outage is not None:
                    again = self._waits and await self._client.wait_for_return()
                else:
                    failures += 1
                    gets_no_reply = isinstance(error, StoreUnreachableError)
                    again = failures == 1 or (self._waits and gets_no_reply and failures < MAX_UNANSWERED)
                if not again:
                    raise

    async def _offer(
        self, offer: Callable[..., Claim | Pending], response: ResponseState | None, *, give_up: bool
    ) -> ItemClaim | Pending:
        answered = OneShotEvent()
        self._offers.add(answered)
        lapses = self._client.dedup.lapses
        try:
            answer = await self._client.call(offer, give_up=give_up)
            return answer if isinstance(answer, Pending) else self._register(answer, response, lapses)
        finally:
            self._offers.discard(answered)
            answered.set()

    def _register(self, claim: Claim, response: ResponseState | None, lapses: int) -> ItemClaim:
        comparison = ComparedRecord(claim.record, claim.candidates) if claim.record and claim.candidates else None
        if claim.id is None:
            return ItemClaim(claim.verdict, response, comparison=comparison)
        kept = replace(claim, candidates=()) if comparison else claim
        registered = ItemClaim(claim.verdict, response, kept, comparison=comparison, lapses=lapses)
        self.open[claim.id] = registered
        return registered

    async def _own(self, pending: Pending) -> ItemClaim | None:
        """Return the claim of this process that a page waits for; its answer may arrive after this one."""
        if pending.mine and pending.id not in self.open:
            for answered in tuple(self._offers):
                await answered.wait()
        return self.open.get(pending.id) if pending.mine else None

    async def _wait_for(self, dedup: Deduplicator, pending: Pending, patience: float) -> float:
        """Wait until another worker's claim is settled; return the seconds of patience that are left.

        The time of an outage does not count: no worker can settle a claim meanwhile.
        """
        pauses = backoff(FIRST_PAUSE, LONGEST_PAUSE)
        end = time.monotonic() + patience - self._client.seconds_away

        def remaining() -> float:
            return end + self._client.seconds_away - time.monotonic()

        while (left := remaining()) > 0 and self._crawler.crawling:
            await sleep(min(next(pauses), left))
            if await self.retry(self._client.call, dedup.is_settled, pending.id):
                return remaining()
        return 0


class ClaimBatch:
    """Claims pages in one call of the store. A page without an answer is judged by itself.

    Args:
        judge: judges a page that has no answer, or has to wait.
        claim: makes a first attempt to claim pages.
        pages: with their records.
    """

    def __init__(
        self,
        judge: Callable[..., Coroutine[Any, Any, ItemClaim]],
        claim: Callable[[Sequence[tuple[Record, str, ResponseState]]], Awaitable[Sequence[ItemClaim | Pending]]],
        pages: Sequence[tuple[Page, ResponseState, Record]],
    ) -> None:
        self._judge = judge
        self._claim_all = claim
        self._pages = pages
        self._answers: Sequence[ItemClaim | Pending] = ()
        self._answered = OneShotEvent()

    async def run(self) -> None:
        """Claim the pages."""
        pages = [(record, page.url, response) for page, response, record in self._pages]
        try:
            self._answers = await self._claim_all(pages) if pages else ()
        except Exception:  # noqa: BLE001  # each page is judged, and fails, by itself
            self._answers = ()
        finally:
            self._answered.set()

    def claims(self) -> list[Coroutine[Any, Any, ItemClaim]]:
        """Return a coroutine for each page, which waits for its claim."""
        return [self._claim(n) for n in range(len(self._pages))]

    async def _claim(self, n: int) -> ItemClaim:
        await self._answered.wait()
        page, response, record = self._pages[n]
        if not self._answers:
            return await self._judge(page, response)
        answer = self._answers[n]
        if isinstance(answer, Pending):
            return await self._judge(page, response, answered=(record, answer))
        return answer


def split(
    pages: Sequence[tuple[Page, ResponseState]], records: Sequence[Record | Verdict]
) -> list[tuple[Page, ResponseState, Record]]:
    """Return the pages that have a record."""
    pairs = zip(pages, records, strict=True)
    return [(*page, record) for page, record in pairs if not isinstance(record, Verdict)]
