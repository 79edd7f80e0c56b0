"""The store client: which calls it makes, and when."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from dedupcrawl.crawl.items import PageState
from dedupcrawl.crawl.settings import Options
from dedupcrawl.crawl.store_client import StoreAwayError, StoreClient
from dedupcrawl.errors import StoreError, StoreFullError


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


class Pile:
    """Fake for a backlog: a delivery makes a commit, which records the beginning, and then the end is recorded."""

    is_pending = False

    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.commits: Sequence[Callable[[], object]] = [self.begin]

    def begin(self) -> None:
        self.log.append("make up")

    def claims(self, most: int) -> dict[int, tuple[Any, PageState]]:
        return {n: (SimpleNamespace(commit=commit), PageState.COMMITTED) for n, commit in enumerate(self.commits)}

    def remove_claims(self, delivered: Collection[int]) -> None:
        assert len(delivered) == len(self.commits)
        self.commits = []

    def spool_files(self) -> Generator[Any, None, None]:
        self.log.append("made up")
        self.commits = [self.begin]
        yield from ()

    def close(self) -> None:
        """It has no files."""


class Far:
    """A store that can be away, and a client of it."""

    def __init__(self, *, patience: float | None = None, threads: bool = False, lease: float = 60.0) -> None:
        self.is_away = self.is_full = False
        self.log: list[str] = []
        self.told = Told(self.log)
        stats: Any = self.told
        config: Any = SimpleNamespace(lease=lease)
        crawler: Any = SimpleNamespace(crawling=True)
        options = Options("memory://", "news", config, on_store_error="keep" if patience is None else "wait")
        self.client = StoreClient(crawler, replace(options, store_patience=patience or 0.0), stats)
        dedup: Any = Double(self, threads=threads)
        self.client.connect(dedup)
        self.backlog = Pile(self.log)
        backlog: Any = self.backlog
        self.client.backlog = backlog

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


def test_what_the_store_refuses_is_distinguished_from_its_absence() -> None:
    async def work(far: Far) -> None:
        far.backlog.commits = [partial(far.call, name) for name in ("good", "bad")]
        await far.client.deliver_backlog()
        assert far.log == ["good", "bad", "probe", "made up"]
        assert (far.client.outage, far.told.notes) == (None, ["failed"])
        far.backlog.commits = kept = [partial(far.call, "good")]
        far.is_away = True
        await far.client.deliver_backlog()
        assert far.client.outage is not None
        assert str(far.client.outage.error) == "probe: refused"
        assert far.backlog.commits is kept

    asyncio.run(work(Far()))


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
    assert far.log[far.log.index("make up") - 1 :][:3] == ["probe", "make up", "trial"]
    assert far.log[-4:] == ["probe", "trial", "made up", "c"]  # what had been made up is not made up again
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
    def fail() -> None:
        raise ValueError("a bug")

    far = Far(threads=True)
    far.backlog.commits = [fail]
    asyncio.run(far.client.close())
    assert far.log == ["close"]
    assert far.told.notes == ["the backlog of the store: a bug"]
