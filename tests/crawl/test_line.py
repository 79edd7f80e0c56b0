"""The line to the store: what it lets through, and when."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.crawl.line import AwayError, Line
from dedupcrawl.crawl.threads import MOST, Threads
from dedupcrawl.errors import StoreError, StoreFullError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


@dataclass
class Told:
    """Stands for a tally, and notes what it is told."""

    notes: list[str] = field(default_factory=list)

    def store_failed(self, error: Exception, *, quiet: bool = False) -> None:
        self.notes.append("failed quietly" if quiet else "failed")

    def store_left(self, error: Exception) -> None:
        self.notes.append("left")

    def crashed(self, what: str, error: Exception) -> None:
        self.notes.append(f"{what}: {error}")

    def store_returned(self, seconds: float, pages: int) -> None:
        self.notes.append(f"back, {pages} missed")


class Far:
    """A store that can be away, and a line to it."""

    def __init__(self, *, patience: float | None = None, threads: bool = False, lease: float = 60.0) -> None:
        self.is_away = self.is_full = False
        self.log: list[str] = []
        self.told = Told()
        tally: Any = self.told
        self.line = Line(
            tally,
            lambda: self.call("probe"),
            lambda: self.file("trial"),
            self.make_up,
            lease=lease,
            patience=patience,
            give_up=lambda: self.log.append("give up"),
            is_ending=lambda: False,
        )
        if threads:
            self.line.cross_network()

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

    async def make_up(self) -> None:
        self.log.append("make up")
        await self.line.recover()
        await asyncio.sleep(0.05)
        self.log.append("made up")

    async def fail_to_file(self, name: str) -> None:
        with pytest.raises(StoreError):
            await self.line.ask(self.file, name)

    async def fail(self, name: str) -> None:
        with pytest.raises(StoreError):
            await self.line.ask(self.call, name)


@pytest.mark.parametrize("threads", [False, True])
def test_a_call_that_fails_alone_is_no_outage(threads: bool) -> None:
    async def work(far: Far) -> None:
        await far.fail("bad")
        assert far.line.outage is None
        assert await far.line.ask(far.call, "good") == "good"

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
            with pytest.raises(AwayError, match="probe: refused"):
                await far.line.ask(far.call, "b")
            far.line.miss()
        assert far.log.count("a") == asked
        assert "b" not in far.log
        far.is_away = False
        assert await far.line.wait()
        assert await far.line.ask(far.call, "c") == "c"

    far = Far(threads=threads)
    asyncio.run(work(far))
    assert far.log[-4:] == ["probe", "make up", "made up", "c"]
    assert far.told.notes.count("left") == 1
    assert far.told.notes[-1] == "back, 50 missed"
    assert "failed" not in far.told.notes


def test_who_asks_while_debts_are_paid_waits() -> None:
    async def work(far: Far) -> None:
        making_up = asyncio.create_task(far.line.make_up())
        await asyncio.sleep(0)
        await asyncio.gather(far.line.hurry(far.call, "renew"), far.line.ask(far.call, "page"))
        await making_up

    far = Far()
    asyncio.run(work(far))
    assert far.log == ["make up", "renew", "made up", "page"]


def test_what_the_store_refuses_is_told_from_its_absence() -> None:
    async def work(far: Far) -> None:
        assert await far.line.attempt(far.call, "good") == "good"
        assert await far.line.attempt(far.call, "bad") is None
        far.is_away = True
        with pytest.raises(StoreError, match="probe: refused"):
            await far.line.attempt(far.call, "good")

    asyncio.run(work(Far()))


@pytest.mark.parametrize("threads", [False, True])
def test_a_store_that_is_full_is_away_until_there_is_room(threads: bool) -> None:
    async def work(far: Far) -> None:
        far.is_full = True
        await far.fail_to_file("a")
        assert far.line.outage is not None
        await far.fail_to_file("b")
        assert "b" not in far.log
        while far.log.count("trial") < 2:
            await asyncio.sleep(0.01)
        assert far.line.outage is not None
        far.is_full = False
        assert await far.line.wait()
        assert await far.line.ask(far.file, "c") == "c"

    far = Far(threads=threads)
    asyncio.run(work(far))
    assert far.log[-5:] == ["probe", "make up", "trial", "made up", "c"]
    assert far.told.notes == ["left", "failed quietly", "back, 0 missed"]


def test_after_a_long_outage_others_have_time_to_come_back() -> None:
    """While one worker waits before it asks again, another may renew leases that have ended."""

    async def work(far: Far) -> None:
        far.is_away = True
        await far.fail("a")
        assert far.line.outage is not None
        far.line.outage.began -= 3600
        far.is_away = False
        waiting = asyncio.create_task(far.line.wait())
        while "make up" not in far.log:
            await asyncio.sleep(0.01)
        await far.line.hurry(far.call, "renewal")
        await asyncio.sleep(0.1)
        assert far.log[-1] == "renewal"
        assert not waiting.done()
        await far.line.close(lambda: far.call("close"))  # a crawl that ends does not wait for others
        assert await waiting

    far = Far(threads=True, lease=60)
    asyncio.run(asyncio.wait_for(work(far), 60))
    assert far.log[-4:] == ["made up", "make up", "made up", "close"]


def test_a_renewal_waits_for_no_thread() -> None:
    free = threading.Event()

    async def work() -> None:
        threads = Threads()
        busy = [asyncio.create_task(threads.run(free.wait)) for _ in range(2 * MOST)]
        await asyncio.sleep(0)
        assert await threads.run(lambda: "renewed", urgent=True) == "renewed"
        assert not any(call.done() for call in busy)
        free.set()
        await asyncio.gather(*busy)
        threads.close()

    asyncio.run(asyncio.wait_for(work(), 60))


def test_patience_ends() -> None:
    patience = 0.3

    async def work(far: Far) -> None:
        far.is_away = True
        await far.fail("a")
        began = time.monotonic()
        assert not await far.line.wait()
        assert time.monotonic() - began > patience / 2
        assert not await far.line.wait()  # nobody waits again
        await far.line.close(lambda: far.call("close"))

    far = Far(patience=patience)
    asyncio.run(work(far))
    assert far.log.count("give up") == 1
    assert far.log[-2:] == ["probe", "close"]


def test_the_last_try_makes_up_before_the_end() -> None:
    async def work(far: Far) -> None:
        far.is_away = True
        await far.fail("a")
        far.is_away = False
        await far.line.close(lambda: far.call("close"))

    far = Far(threads=True)
    asyncio.run(work(far))
    assert far.log[-4:] == ["probe", "make up", "made up", "close"]


def test_a_fault_of_ours_does_not_keep_the_store_open() -> None:
    async def fail() -> None:
        raise ValueError("a bug")

    far = Far(threads=True)
    far.line._make_up = fail
    asyncio.run(far.line.close(lambda: far.call("close")))
    assert far.log == ["close"]
    assert far.told.notes == ["what is owed to the store: a bug"]


def test_threads_are_bounded_and_the_loop_goes_on() -> None:
    now, most, lock = 0, 0, threading.Lock()

    def call() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.05)
        with lock:
            now -= 1

    async def work() -> int:
        threads, turns = Threads(), 0
        calls = asyncio.gather(*(threads.run(call) for _ in range(3 * MOST)))
        while not calls.done():
            turns += 1
            await asyncio.sleep(0.001)
        threads.close()
        return turns

    before = set(threading.enumerate())
    assert asyncio.run(work()) > 10
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()
    assert 1 < most <= MOST


def test_what_a_thread_raises_is_raised() -> None:
    async def work(run: Callable[..., Awaitable[object]]) -> None:
        with pytest.raises(ZeroDivisionError):
            await run(lambda: 1 / 0)

    asyncio.run(work(Threads().run))
