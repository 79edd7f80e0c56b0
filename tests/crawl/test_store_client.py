"""The store client: which calls it makes, and when."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from dedupcrawl.crawl.settings import Options
from dedupcrawl.crawl.store_client import StoreAwayError, StoreClient
from dedupcrawl.errors import StoreError, StoreFullError, StoreUnreachableError


@dataclass
class Told:
    """Fake for the stats of a crawl; records the calls."""

    log: list[str]
    notes: list[str] = field(default_factory=list)

    def gave_up(self) -> None:
        self.log.append("give up")

    def store_failed(self, error: Exception, *, quiet: bool = False) -> None:
        self.notes.append("failed quietly" if quiet else "failed")

    def outage_began(self, error: Exception) -> None:
        self.notes.append("left")

    def crashed(self, what: str, error: Exception) -> None:
        self.notes.append(f"{what}: {error}")

    def outage_ended(self, seconds: float, pages: int) -> None:
        self.notes.append(f"back, {pages} missed")


class Double:
    """Fake for a deduplicator whose store can be unreachable; records the calls."""

    scheme = ""

    def __init__(self, far: Far, *, threads: bool) -> None:
        self.far = far
        self.store = SimpleNamespace(remote=threads)

    def renew(self) -> None:
        self.far.call("probe")

    def try_filing(self) -> None:
        self.far.file("trial")

    def close(self) -> None:
        self.far.call("close")


class Far:
    """A store that can be away, and a client of it."""

    def __init__(self, *, patience: float | None = None, threads: bool = False, lease: float = 60.0) -> None:
        self.is_away = self.is_full = self.is_faltering = False
        self.log: list[str] = []
        self.told = Told(self.log)
        stats: Any = self.told
        config: Any = SimpleNamespace(lease=lease)
        crawler: Any = SimpleNamespace(crawling=True)
        options = Options("memory://", "news", config, on_store_error="keep" if patience is None else "wait")
        self.client = StoreClient(crawler, replace(options, store_patience=patience or 0.0), stats)
        dedup: Any = Double(self, threads=threads)
        self.client.connect(dedup)
        self.client._deliver_all = self.deliver  # type: ignore[method-assign]

    def call(self, name: str) -> str:
        self.log.append(name)
        if self.is_away or name == "bad":
            raise StoreError(f"{name}: refused")
        return name

    def file(self, name: str) -> str:
        self.log.append(name)
        if self.is_full:
            raise StoreFullError(f"{name}: full")
        return name

    async def deliver(self) -> None:
        self.log.append("make up")
        await self.client._recover()
        await asyncio.sleep(0.05)
        if self.is_faltering:
            raise StoreUnreachableError("make up: no reply")
        self.log.append("made up")

    async def fail_to_file(self, name: str) -> None:
        with pytest.raises(StoreError):
            await self.client.call(self.file, name)

    async def fail(self, name: str) -> None:
        with pytest.raises(StoreError):
            await self.client.call(self.call, name)


@pytest.mark.parametrize("threads", [False, True])
def test_a_call_that_fails_alone_is_no_outage(threads: bool) -> None:
    async def work(far: Far) -> None:
        await far.fail("bad")
        assert far.client.outage is None
        assert await far.client.call(far.call, "good") == "good"

    far = Far(threads=threads)
    asyncio.run(work(far))
    assert far.log == ["bad", "probe", "good"]
    assert far.told.notes == ["failed"]


@pytest.mark.parametrize("threads", [False, True])
def test_a_store_that_is_away_is_left_alone_until_it_is_back(threads: bool) -> None:
    async def work(far: Far) -> None:
        far.is_away = True
        await asyncio.gather(*(far.fail("a") for _ in range(5)))
        asked = far.log.count("a")
        for _ in range(50):
            with pytest.raises(StoreAwayError, match="probe: refused"):
                await far.client.call(far.call, "b")
            far.client.count_unchecked()
        assert far.log.count("a") == asked
        assert "b" not in far.log
        far.is_away = False
        assert await far.client.wait_for_return()
        assert await far.client.call(far.call, "c") == "c"

    far = Far(threads=threads)
    asyncio.run(work(far))
    assert far.log[-4:] == ["probe", "make up", "made up", "c"]
    assert far.told.notes.count("left") == 1
    assert far.told.notes[-1] == "back, 50 missed"
    assert "failed" not in far.told.notes


def test_who_asks_while_debts_are_paid_waits() -> None:
    async def work(far: Far) -> None:
        making_up = asyncio.create_task(far.client.deliver_backlog())
        await asyncio.sleep(0)
        await asyncio.gather(far.client.call_urgently(far.call, "renew"), far.client.call(far.call, "page"))
        await making_up

    far = Far()
    asyncio.run(work(far))
    assert far.log == ["make up", "renew", "made up", "page"]


def test_an_outage_that_two_calls_find_out_about_is_one() -> None:
    """A delivery fails after another call has failed: pages that wait for the end of the outage are not forgotten."""

    async def work(far: Far) -> None:
        far.is_faltering = True
        delivering = asyncio.create_task(far.client.deliver_backlog())
        await asyncio.sleep(0)
        far.is_away = True
        with pytest.raises(StoreError):
            await far.client.call_urgently(far.call, "renewal")
        waiting = asyncio.create_task(far.client.wait_for_return())
        await delivering
        far.is_away = far.is_faltering = False
        assert await waiting
        assert far.client.outage is None

    far = Far()
    asyncio.run(asyncio.wait_for(work(far), 60))
    assert far.told.notes.count("left") == 1


def test_a_store_is_away_until_the_backlog_is_delivered() -> None:
    async def work(far: Far) -> None:
        far.is_faltering = True
        await far.client.deliver_backlog()
        with pytest.raises(StoreAwayError, match="make up: no reply"):
            await far.client.call(far.call, "page")
        far.is_faltering = False
        assert await far.client.wait_for_return()
        assert await far.client.call(far.call, "page") == "page"

    far = Far()
    asyncio.run(asyncio.wait_for(work(far), 60))
    assert far.log[:5] == [*["make up", "probe"] * 2, "make up"]
    assert far.log[-4:] == ["probe", "make up", "made up", "page"]
    assert far.told.notes == [*["failed quietly"] * 3, "left", "back, 0 missed"]


def test_one_reply_that_is_lost_in_a_delivery_is_no_outage() -> None:
    async def work(far: Far) -> None:
        far.is_faltering = True
        delivering = asyncio.create_task(far.client.deliver_backlog())
        while far.log.count("make up") < 2:
            await asyncio.sleep(0)
        far.is_faltering = False
        assert await far.client.call(far.call, "page") == "page"
        await delivering

    far = Far(patience=0.0)
    asyncio.run(asyncio.wait_for(work(far), 60))
    assert far.log == ["make up", "probe", "make up", "made up", "page"]


@pytest.mark.parametrize("threads", [False, True])
def test_a_store_that_is_full_is_away_until_there_is_room(threads: bool) -> None:
    async def work(far: Far) -> None:
        far.is_full = True
        await far.fail_to_file("a")
        assert far.client.outage is not None
        await far.fail_to_file("b")
        assert "b" not in far.log
        while far.log.count("trial") < 2:
            await asyncio.sleep(0.01)
        assert far.client.outage is not None
        far.is_full = False
        assert await far.client.wait_for_return()
        assert await far.client.call(far.file, "c") == "c"

    far = Far(threads=threads)
    asyncio.run(work(far))
    assert far.log[-5:] == ["probe", "make up", "trial", "made up", "c"]
    assert far.told.notes == ["left", "failed quietly", "back, 0 missed"]


def test_after_a_long_outage_others_have_time_to_come_back() -> None:
    """While one worker waits before it asks again, another may renew leases that have ended."""

    async def work(far: Far) -> None:
        far.is_away = True
        await far.fail("a")
        assert far.client.outage is not None
        far.client.outage.began -= 3600
        far.is_away = False
        waiting = asyncio.create_task(far.client.wait_for_return())
        while "make up" not in far.log:
            await asyncio.sleep(0.01)
        await far.client.call_urgently(far.call, "renewal")
        await asyncio.sleep(0.1)
        assert far.log[-1] == "renewal"
        assert not waiting.done()
        await far.client.close()  # a crawl that ends does not wait for others
        assert await waiting

    far = Far(threads=True, lease=60)
    asyncio.run(asyncio.wait_for(work(far), 600))
    assert far.log[-4:] == ["made up", "make up", "made up", "close"]


def test_patience_ends() -> None:
    patience = 0.3

    async def work(far: Far) -> None:
        far.is_away = True
        began = time.monotonic()
        await far.fail("a")
        assert not await far.client.wait_for_return()
        assert time.monotonic() - began > patience / 2
        assert not await far.client.wait_for_return()  # no second wait
        assert await far.client.wait_until_given_up()
        await far.client.close()

    far = Far(patience=patience)
    asyncio.run(work(far))
    assert far.log.count("give up") == 1
    assert far.log[-2:] == ["probe", "close"]


def test_the_last_try_makes_up_before_the_end() -> None:
    async def work(far: Far) -> None:
        given_up = asyncio.create_task(far.client.wait_until_given_up())
        far.is_away = True
        await far.fail("a")
        far.is_away = False
        await far.client.close()
        assert not await given_up

    far = Far(threads=True)
    asyncio.run(work(far))
    assert far.log[-4:] == ["probe", "make up", "made up", "close"]


def test_a_fault_of_ours_does_not_keep_the_store_open() -> None:
    async def fail() -> None:
        raise ValueError("a bug")

    far = Far(threads=True)
    far.client._deliver_all = fail  # type: ignore[method-assign]
    asyncio.run(far.client.close())
    assert far.log == ["close"]
    assert far.told.notes == ["the backlog of the store: a bug"]
