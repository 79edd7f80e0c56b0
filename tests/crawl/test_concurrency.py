"""Calls in threads: their number and their order."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.crawl.concurrency import MAX_THREADS, OneShotEvent, ThreadPool, TurnQueue
from dedupcrawl.crawl.pipeline import DedupPipeline

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def test_a_renewal_waits_for_no_thread() -> None:
    free = threading.Event()

    async def work() -> None:
        threads = ThreadPool()
        busy = [asyncio.create_task(threads.run(free.wait)) for _ in range(2 * MAX_THREADS)]
        await asyncio.sleep(0)
        assert await threads.run(lambda: "renewed", urgent=True) == "renewed"
        assert not any(call.done() for call in busy)
        free.set()
        await asyncio.gather(*busy)
        threads.close()

    asyncio.run(asyncio.wait_for(work(), 600))


def test_threads_are_bounded_and_the_loop_continues() -> None:
    now, most, lock, free = 0, 0, threading.Lock(), threading.Event()

    def call() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        free.wait()
        with lock:
            now -= 1

    async def work() -> None:
        threads = ThreadPool()
        calls = asyncio.gather(*(threads.run(call) for _ in range(3 * MAX_THREADS)))
        while now < MAX_THREADS:
            await asyncio.sleep(0.001)
        for _ in range(10):
            await asyncio.sleep(0.001)
        assert not calls.done()
        free.set()
        await calls
        threads.close()

    before = set(threading.enumerate())
    asyncio.run(asyncio.wait_for(work(), 600))
    for thread in set(threading.enumerate()) - before:
        thread.join(600)
        assert not thread.is_alive()
    assert most == MAX_THREADS


def test_what_a_thread_raises_is_raised() -> None:
    async def work(run: Callable[..., Awaitable[object]]) -> None:
        with pytest.raises(ZeroDivisionError):
            await run(lambda: 1 / 0)

    asyncio.run(work(ThreadPool().run))


# -- what changes in a turn of the reactor ------------------------------------------------------


def test_what_changes_in_a_turn_is_handled_together_and_once() -> None:
    handled: list[list[str]] = []

    async def handle(entries: list[str]) -> None:
        handled.append(entries)

    async def work() -> None:
        queue = TurnQueue(handle)
        queue.add([])
        queue.add("ab")
        queue.add("bc")
        assert handled == []
        await asyncio.sleep(0.01)
        assert handled == [["a", "b", "c"]]
        queue.add("a")
        await queue.flush()  # does not wait for the next turn
        assert handled == [["a", "b", "c"], ["a"]]
        await asyncio.sleep(0.01)
        assert len(handled) == 2

    asyncio.run(asyncio.wait_for(work(), 600))


def test_draining_waits_for_what_is_being_handled() -> None:
    free, log = OneShotEvent(), list[str]()

    async def handle(entries: list[str]) -> None:
        await free.wait()
        log.extend(entries)

    async def work() -> None:
        queue = TurnQueue(handle)
        queue.add("a")
        await asyncio.sleep(0.01)
        drained = asyncio.create_task(queue.drain())
        await asyncio.sleep(0.01)
        assert not drained.done()
        free.set()
        await drained
        assert log == ["a"]

    asyncio.run(asyncio.wait_for(work(), 600))


def test_what_is_taken_is_not_handled_and_waited_for() -> None:
    free, log = OneShotEvent(), list[str]()

    async def handle(entries: list[str]) -> None:
        log.extend(entries)

    async def take(queue: TurnQueue[str]) -> None:
        with queue.taken(str.isupper, 2) as taken:
            await free.wait()
            log.append(f"took {taken}")

    async def work() -> None:
        queue = TurnQueue(handle)
        queue.add("aBcDE", 60)
        taking = asyncio.create_task(take(queue))
        await asyncio.sleep(0.01)
        drained = asyncio.create_task(queue.drain())
        await asyncio.sleep(0.01)
        assert log == ["a", "c", "E"]
        assert not drained.done()
        free.set()
        await drained
        await taking

    asyncio.run(asyncio.wait_for(work(), 600))
    assert log == ["a", "c", "E", "took ['B', 'D']"]


def test_an_error_of_one_turn_does_not_stop_the_next() -> None:
    log: list[str] = []

    async def handle(entries: list[str]) -> None:
        if "bad" in entries:
            raise ValueError("bad")
        log.extend(entries)

    async def work() -> None:
        queue = TurnQueue(handle)
        queue.add(["bad"])
        with pytest.raises(ValueError, match="bad"):
            await queue.flush()
        queue.add(["good"])
        await queue.drain()

    asyncio.run(asyncio.wait_for(work(), 600))
    assert log == ["good"]


def test_a_pipeline_that_is_called_and_never_awaited_leaves_no_warning() -> None:
    """Scrapy calls ``open_spider`` of all pipelines, and awaits none if one of them raises."""
    opened = []

    class Opening(DedupPipeline):
        def __init__(self) -> None:
            pass

        async def _open(self) -> None:
            opened.append(self)

    async def scrapy(*, awaits: bool) -> None:
        awaitable = Opening().open_spider()
        if awaits:
            await asyncio.gather(awaitable)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(scrapy(awaits=False))
        gc.collect()
        assert (opened, [str(each.message) for each in caught]) == ([], [])
    asyncio.run(scrapy(awaits=True))
    assert len(opened) == 1
