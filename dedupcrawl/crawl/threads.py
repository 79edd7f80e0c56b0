"""Calls that take their time, made in threads: on every reactor, and without one, others go on meanwhile.

``scrapy.utils.asyncio.run_in_thread`` would share its threads with name resolution and the uploads of feeds:
six of them on a machine of two cores, and a store that hangs would hold up all three.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

MOST = 32  #: threads, made as they are needed: 300 pages a second at two calls of 50 ms each
URGENT = 2  #: threads for what must not wait in line


class Threads:
    """At most ``MOST`` threads; what is beyond them waits in line.

    Renewals do not: where pages come faster than a slow store takes them, the line is longer than a lease.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MOST, thread_name_prefix="dedupcrawl")
        self._urgent = ThreadPoolExecutor(URGENT, thread_name_prefix="dedupcrawl-urgent")

    async def run(self, work: Callable[[], T], *, urgent: bool = False) -> T:
        """Make a call in a thread; return, or raise, what comes of it."""
        pool = self._urgent if urgent else self._pool
        if is_asyncio_available():
            return await asyncio.get_running_loop().run_in_executor(pool, work)
        return await maybe_deferred_to_future(self._deferred(pool, work))

    def close(self) -> None:
        """Let the threads end with the calls that they are making."""
        for pool in (self._pool, self._urgent):
            pool.shutdown(wait=False, cancel_futures=True)

    def _deferred(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> Deferred[T]:
        from twisted.internet import reactor  # noqa: PLC0415  # importing it installs one

        done: Deferred[T] = Deferred()

        def run() -> None:
            result: T | Failure
            try:
                result = work()
            except BaseException:  # noqa: BLE001  # whoever waits for it gets it
                result = Failure()  # type: ignore[no-untyped-call]
            reactor.callFromThread(done.callback, result)

        pool.submit(run)
        return done
