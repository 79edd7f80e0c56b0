"""Waiting that works on every reactor, and without one."""

from __future__ import annotations

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred


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
