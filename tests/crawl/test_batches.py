"""Pages are read in batches, and the reactor has its turn between them; large pages are read in a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.http import HtmlResponse

from dedupcrawl.crawl import responses
from dedupcrawl.crawl.concurrency import ThreadPool
from dedupcrawl.crawl.items import ItemClaim, ResponseTracker
from dedupcrawl.crawl.responses import LARGE_BODY, READ_SECONDS, MicroBatchQueue, ResponseReader, read_page_of
from dedupcrawl.decision import unchecked
from dedupcrawl.page import Page, ReadOptions
from tests.crawl.running import IN_TURN, on_every_reactor
from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scrapy.http import Response

    from dedupcrawl.decision import Verdict
    from tests.crawl.site import Site


@dataclass
class Reading:
    """A reader that takes some time for a page, and the store behind it; records what happens."""

    seconds: float
    log: list[str] = field(default_factory=list)

    async def read_apart(self, response: Response) -> Page | Verdict:
        time.sleep(self.seconds)
        self.log.append(f"read {response.url}")
        return Page.from_text("text", response.url)

    async def judge_many(self, pages: Sequence[tuple[Page, Any]]) -> list[ItemClaim]:
        self.log += [f"judge {page.url}" for page, _ in pages]
        return [ItemClaim(unchecked(page.url, "test"), state) for page, state in pages]


def batched(reading: Reading, count: int) -> list[str]:
    """Judge pages that arrive at once, while the reactor has something else to do."""

    async def work() -> list[str]:
        fake: Any = reading
        batcher, tracker = MicroBatchQueue(fake, fake), ResponseTracker()
        given = [HtmlResponse(str(number)) for number in range(count)]
        tasks = [asyncio.create_task(batcher.judge(tracker.of(each), each)) for each in given]
        while not all(task.done() for task in tasks):
            reading.log.append("turn")
            await asyncio.sleep(0)
        assert [task.result().verdict.url for task in tasks] == [each.url for each in given]
        return [each for n, each in enumerate(reading.log) if each != "turn" or reading.log[n - 1] != "turn"]

    return asyncio.run(asyncio.wait_for(work(), 600))


def test_the_reactor_has_its_turn_between_slow_pages() -> None:
    log = batched(Reading(READ_SECONDS * 1.5), 20)
    reads = [place for place, each in enumerate(log) if each.startswith("read")]
    assert all("turn" in log[one:other] for one, other in pairwise(reads))


def test_fast_pages_are_read_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "READ_SECONDS", 60.0)  # also on a busy machine
    log = batched(Reading(0.0), 16)
    first = log.index("read 0")
    assert log[first : first + 16] == [f"read {number}" for number in range(16)]


@pytest.mark.parametrize("seconds", [0.0, READ_SECONDS / 3, READ_SECONDS * 1.5])
def test_pages_are_judged_in_their_order(seconds: float) -> None:
    log = batched(Reading(seconds), 40)
    for step in ("read", "judge"):
        assert [each for each in log if each.startswith(step)] == [f"{step} {number}" for number in range(40)]


def test_pages_that_come_later_do_not_overtake() -> None:
    reading = Reading(READ_SECONDS * 1.5)

    async def work() -> None:
        fake: Any = reading
        batcher, tracker = MicroBatchQueue(fake, fake), ResponseTracker()
        tasks = []
        for number in range(60):
            response = HtmlResponse(str(number))
            tasks.append(asyncio.create_task(batcher.judge(tracker.of(response), response)))
            await asyncio.sleep(READ_SECONDS / 4)
        await asyncio.gather(*tasks)

    asyncio.run(asyncio.wait_for(work(), 600))
    assert [each for each in reading.log if each.startswith("judge")] == [f"judge {number}" for number in range(60)]


# -- large pages --------------------------------------------------------------------------------

LARGE = plain("Ice", " ".join(text(seed, 2000) for seed in range(30)))
assert len(LARGE) > LARGE_BODY


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    pool = ThreadPool(1)
    yield pool
    pool.close()


def large() -> HtmlResponse:
    return HtmlResponse("https://a.example/", body=LARGE.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def read_apart(reader: ResponseReader, response: Response, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, bool]:
    """Return the page, and whether it was read in another thread."""
    threads = []

    def watched(*args: Any, **how: Any) -> Page | Verdict:
        threads.append(threading.current_thread())
        return read_page_of(*args, **how)

    monkeypatch.setattr(responses, "read_page_of", watched)
    subject = asyncio.run(reader.read_apart(response))
    assert len(threads) == 1
    return subject, threads[0] is not threading.current_thread()


def test_a_large_page_is_read_in_a_thread_from_a_tree_of_its_own(
    pool: ThreadPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stats: Any = None
    response = large()
    response.selector.css("article").drop()  # what the spider does to its tree meanwhile
    reader = ResponseReader(ReadOptions(), ResponseTracker(), stats, 60.0, large_pages=pool)
    page, elsewhere = read_apart(reader, response, monkeypatch)
    assert elsewhere
    assert page == ResponseReader(ReadOptions(), ResponseTracker(), stats).read(large())
    assert reader.read(response) is page
    state = reader.responses.of(response)
    assert state.read_seconds > 0


def test_small_pages_and_those_of_a_readers_own_are_read_in_the_reactors_thread(
    pool: ThreadPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stats: Any = None
    small = HtmlResponse("https://a.example/", body=plain("Ice", text(1)).encode())
    reader = ResponseReader(ReadOptions(), ResponseTracker(), stats, large_pages=pool)
    assert not read_apart(reader, small, monkeypatch)[1]
    own = ReadOptions(reader="tests.crawl.test_batches.own_reader")
    reader = ResponseReader(own, ResponseTracker(), stats, large_pages=pool)
    page, elsewhere = read_apart(reader, large(), monkeypatch)
    assert (page.text, elsewhere) == ("read by the user", False)


def own_reader(html: str, url: str) -> str:
    return "read by the user"


def test_a_large_page_that_takes_too_long_or_fails_is_unchecked(
    pool: ThreadPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashed = list[str]()

    class Stats:
        def crashed(self, url: str, error: Exception) -> None:
            assert threading.current_thread() is threading.main_thread()
            crashed.append(f"{url} {error}")

    stats: Any = Stats()
    reader = ResponseReader(ReadOptions(), ResponseTracker(), stats, 1e-9, large_pages=pool)
    assert asyncio.run(reader.read_apart(large())) == unchecked("https://a.example/", "too-slow")

    def failing(*args: Any, **how: Any) -> Page:
        raise ValueError("ours")

    monkeypatch.setattr(responses, "read_page_of", failing)
    reader = ResponseReader(ReadOptions(), ResponseTracker(), stats, large_pages=pool)
    assert asyncio.run(reader.read_apart(large())) == unchecked("https://a.example/", "error")
    assert crashed == ["https://a.example/ ours"]


def test_all_blocks_of_a_page_are_read_within_the_time_limit() -> None:
    stats: Any = None
    assert len(ResponseReader(ReadOptions(), ResponseTracker(), stats, 60.0).read_blocks(large())) > 0
    assert ResponseReader(ReadOptions(), ResponseTracker(), stats, 1e-9).read_blocks(large()) == ()


def test_large_pages_are_read_in_crawls_and_judged_in_order(site: Site, tmp_path: Path) -> None:
    bodies = [" ".join(text(10 * n + seed, 2000) for seed in range(25 * (n % 2) or 1)) for n in range(4)]
    urls = [site.put(f"/{side}/{n}", page("Ice", body)) for side, page in (("a", plain), ("b", fancy))
            for n, body in enumerate(bodies)]  # fmt: skip
    for (crawled,) in on_every_reactor(tmp_path, ("Reader", {"urls": urls}), settings=IN_TURN).values():
        kept = [item["url"] for item in crawled.items]  # a small page may overtake a large one
        assert sorted(kept) == urls[:4]
        assert kept.index(urls[1]) < kept.index(urls[3])
        assert crawled.dedup["dropped"] == 4
