"""A round of a crawl with a local store: the pages of a micro-batch, and the outcomes of their items."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Config, Page, Status
from dedupcrawl.crawl.claims import LARGE_PAGE, ClaimManager
from dedupcrawl.crawl.concurrency import TurnQueue
from dedupcrawl.crawl.items import ItemClaim, PageState, ResponseState
from dedupcrawl.crawl.settings import Options
from dedupcrawl.crawl.stats import CrawlStats
from dedupcrawl.crawl.store_client import StoreClient
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import StoreError
from dedupcrawl.filing import FilingClient
from dedupcrawl.stores.lmdb_environment import LmdbEnvironment
from tests.crawl.site import text

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence
    from pathlib import Path

    from dedupcrawl.stores.lmdb_environment import Transaction

PAGES = 16


class Round:
    """The claims of a crawl, without a crawl; counts the transactions that write to the store."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        crawler: Any = SimpleNamespace(
            crawling=True,
            engine=None,
            spider=None,
            spidercls=SimpleNamespace(name="news"),
            stats=SimpleNamespace(inc_value=self.count),
        )
        self.store = f"lmdb://{folder}/store"
        options = Options(self.store, "news", Config())
        self.stats = CrawlStats(crawler)
        self.client = StoreClient(crawler, options, self.stats)
        self.client.open_now()
        self.claims = ClaimManager(crawler, self.client, options, self.stats)
        self.written = 0
        begin = LmdbEnvironment._begin

        def counted(environment: LmdbEnvironment, *, write: bool) -> Transaction:
            self.written += write
            return begin(environment, write=write)

        monkeypatch.setattr(LmdbEnvironment, "_begin", counted)

    def count(self, name: str, by: int) -> None:
        self.counts[name] += by

    async def judge(self, pages: Sequence[Page]) -> list[ItemClaim | asyncio.Task[ItemClaim]]:
        """Judge pages as a micro-batch; claims that must be waited for are tasks."""
        judged = await self.claims.judge_many([(page, ResponseState()) for page in pages])
        return [each if isinstance(each, ItemClaim) else asyncio.create_task(each) for each in judged]

    async def judge_one(self, page: Page) -> ItemClaim:
        (judged,) = await self.judge([page])
        return judged if isinstance(judged, ItemClaim) else await judged

    async def scrape(self, claims: Sequence[ItemClaim]) -> None:
        """Let an item of each page pass the pipelines."""
        for claim in claims:
            assert claim.response is not None
            claim.response.output_ended.set()
            claim.in_flight = 1
            claim.advance(PageState.SCRAPED)
            await self.claims.item_scraped(claim, is_first=True)

    def filed(self) -> tuple[int, int]:
        """Return the number of records and of open claims."""
        info = self.client.dedup.info()
        return info.pages, info.open


@pytest.fixture
def round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Round]:
    made = Round(tmp_path, monkeypatch)
    yield made
    made.client.dedup.close()


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 600))


def pages(count: int, first: int = 0, host: str = "a") -> list[Page]:
    return [Page.from_text(text(n), f"https://{host}.example/{n}") for n in range(first, first + count)]


def claimed(judged: Sequence[ItemClaim | asyncio.Task[ItemClaim]]) -> list[ItemClaim]:
    assert all(isinstance(each, ItemClaim) for each in judged)
    return [each for each in judged if isinstance(each, ItemClaim)]


def test_a_round_writes_two_transactions(round: Round) -> None:
    async def work() -> None:
        before = round.written
        claims = claimed(await round.judge(pages(PAGES)))
        assert {claim.verdict.status for claim in claims} == {Status.UNIQUE}
        assert round.filed() == (PAGES, PAGES)
        assert round.written == before + 1
        await round.scrape(claims)
        assert round.written == before + 1
        await asyncio.sleep(0.01)
        assert round.written == before + 2
        assert round.filed() == (PAGES, 0)
        assert {claim.state for claim in claims} == {PageState.COMMITTED}
        assert all(claim.outcome.is_set for claim in claims)

    run(work)


def test_outcomes_are_stored_before_the_next_pages_are_judged(round: Round) -> None:
    async def work() -> None:
        await round.scrape(claimed(await round.judge(pages(3))))
        copies = claimed(await round.judge(pages(3, host="b")))
        assert {claim.verdict.status for claim in copies} == {Status.DUPLICATE}

    run(work)


def test_a_copy_in_the_same_round_waits_for_the_outcome_of_the_first(round: Round) -> None:
    async def work() -> None:
        first, copy, other = await round.judge([*pages(1), *pages(1, host="b"), *pages(1, first=1)])
        assert isinstance(copy, asyncio.Task)
        await round.scrape(claimed([first, other]))
        assert not copy.done()
        assert (await copy).verdict.of == "https://a.example/0"

    run(work)


def test_a_copy_in_the_same_round_takes_over_when_the_first_is_refused(round: Round) -> None:
    async def work() -> None:
        first, copy = await round.judge([*pages(1), *pages(1, host="b")])
        assert isinstance(copy, asyncio.Task)
        (refused,) = claimed([first])
        refused.in_flight = 1
        await round.claims.item_refused(refused)
        assert refused.state is PageState.RELEASED
        assert (await copy).verdict.status is Status.UNIQUE
        assert round.filed() == (1, 1)

    run(work)


def test_a_page_that_fails_does_not_take_others_with_it(round: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = FilingClient.claim

    def failing(filer: FilingClient, record: Any, url: str, **how: Any) -> Any:
        if url.endswith("/1"):
            raise ValueError("an error of ours")
        return claim(filer, record, url, **how)

    monkeypatch.setattr(FilingClient, "claim", failing)

    async def work() -> None:
        judged = await round.judge(pages(3))
        claims = [each if isinstance(each, ItemClaim) else await each for each in judged]
        assert [claim.verdict.status for claim in claims] == [Status.UNIQUE, Status.UNCHECKED, Status.UNIQUE]
        assert claims[1].verdict.reason == "error"
        assert round.filed() == (2, 2)

    run(work)


def test_items_are_stored_although_their_commit_fails(round: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claims go to the backlog, and are committed when the store is there again."""
    commit, failures = Deduplicator.commit, list[int]()

    def failing(dedup: Deduplicator, claims: Any) -> None:
        if not failures:
            failures.append(1)
            raise StoreError("The disk is full.")
        commit(dedup, claims)

    monkeypatch.setattr(Deduplicator, "commit", failing)

    async def work() -> None:
        claims = claimed(await round.judge(pages(3)))
        await round.scrape(claims)
        for _ in range(500):
            await asyncio.sleep(0.01)
            if round.filed() == (3, 0):
                break
        assert round.filed() == (3, 0)
        assert {claim.state for claim in claims} == {PageState.COMMITTED}

    run(work)


@pytest.mark.parametrize("method", ["judge_many", "judge", "check"])
def test_pages_are_judged_although_an_error_of_ours_stops_the_outcomes_of_others(
    round: Round, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    flush, failures = TurnQueue.flush, list[int]()

    async def failing(queue: TurnQueue[Any]) -> None:
        if not failures:
            failures.append(1)
            raise ValueError("an error of ours")
        await flush(queue)

    monkeypatch.setattr(TurnQueue, "flush", failing)
    judges: dict[str, Callable[[Page], Coroutine[Any, Any, ItemClaim]]] = {
        "judge": lambda page: round.claims.judge(page, None),
        "check": round.claims.check,
        "judge_many": round.judge_one,
    }

    async def work() -> None:
        (page,) = pages(1)
        verdict = (await judges[method](page)).verdict
        assert failures
        assert verdict.keep
        assert verdict.reason == (None if method == "judge_many" else "error")

    run(work)


def test_large_pages_are_fingerprinted_in_a_thread(round: Round) -> None:
    async def work() -> None:
        large = Page.from_text(text(1, LARGE_PAGE // 2), "https://a.example/l")
        assert len(large.text) >= LARGE_PAGE
        short, waiting = await round.judge([*pages(1, first=9999), large])
        assert claimed([short])
        assert isinstance(waiting, asyncio.Task)
        assert (await waiting).verdict.status is Status.UNIQUE
        round.claims.large_pages.close()

    run(work)


def test_what_is_not_stored_yet_is_stored_when_the_crawl_ends(round: Round) -> None:
    async def work() -> None:
        await round.claims.open()
        await round.scrape(claimed(await round.judge(pages(PAGES))))
        await round.claims.close()

    run(work)
    with Deduplicator(round.store, "news", clock=time.time) as later:
        assert (later.info().pages, later.info().open) == (PAGES, 0)
