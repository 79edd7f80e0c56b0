"""Waiting that works on every reactor, and without one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred, DeferredList

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

T = TypeVar("T")


class Outcome:
    """Something that will be known once; any number of coroutines may wait for it."""

    __slots__ = ("_waiting", "known")

    def __init__(self) -> None:
        self.known = False
        self._waiting: list[Deferred[None]] = []

    async def wait(self) -> None:
        """Return once it is known."""
        if self.known:
            return
        waiter: Deferred[None] = Deferred()
        self._waiting.append(waiter)
        await maybe_deferred_to_future(waiter)

    def settle(self) -> None:
        """Let everybody who waits go on."""
        self.known = True
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.callback(None)


async def pause(seconds: float) -> None:
    """Let others work for some time."""
    waiter: Deferred[None] = Deferred()
    call_later(seconds, waiter.callback, None)
    await maybe_deferred_to_future(waiter)


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines side by side; return what they return, or raise the first error when all have ended."""
    if is_asyncio_available():
        ended: list[T | BaseException] = await asyncio.gather(*works, return_exceptions=True)
    else:
        deferreds = [deferred_from_coro(work) for work in works]
        pairs = await maybe_deferred_to_future(DeferredList(deferreds, consumeErrors=True))
        ended = [result if well else result.value for well, result in pairs]
    for each in ended:
        if isinstance(each, BaseException):
            raise each
    return [each for each in ended if not isinstance(each, BaseException)]


class Background:
    """Runs coroutines beside the others."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()  # asyncio itself keeps none of them alive

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let a coroutine run to its end while others go on."""
        if not is_asyncio_available():
            deferred_from_coro(work)
            return
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
