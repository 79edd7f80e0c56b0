"""Threads, events and tasks for coroutines, with every reactor and without one.

``scrapy.utils.asyncio.run_in_thread`` shares its threads with name resolution and feed uploads: six threads
on a machine with two cores. A store that hangs would block both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterable

T = TypeVar("T")

MAX_THREADS = 32  #: created on demand; enough for 300 pages a second at two calls of 50 ms each
URGENT_THREADS = 2  #: threads for calls that must not queue


class ThreadPool:
    """Runs up to ``threads`` calls at once; further calls queue.

    Urgent calls (probes of the store, which renew leases) have threads of their own: with a slow store the
    queue may take longer than a lease.
    """

    def __init__(self, threads: int = MAX_THREADS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="dedupcrawl")
        self._urgent = ThreadPoolExecutor(URGENT_THREADS, thread_name_prefix="dedupcrawl-urgent")

    async def run(self, work: Callable[[], T], *, urgent: bool = False) -> T:
        """Call ``work`` in a thread; return its result, or raise its error."""
        pool = self._urgent if urgent else self._pool
        if is_asyncio_available():
            return await asyncio.get_running_loop().run_in_executor(pool, work)
        return await maybe_deferred_to_future(_run_without_asyncio(pool, work))

    def close(self) -> None:
        """Cancel queued calls; the threads end after their current call."""
        for pool in (self._pool, self._urgent):
            pool.shutdown(wait=False, cancel_futures=True)


def _run_without_asyncio(pool: ThreadPoolExecutor, work: Callable[[], T]) -> Deferred[T]:
    from twisted.internet import reactor  # noqa: PLC0415  # importing it installs one

    done: Deferred[T] = Deferred()

    def run() -> None:
        result: T | Failure
        try:
            result = work()
        except BaseException:  # noqa: BLE001  # raised again in the waiting coroutine
            result = Failure()  # type: ignore[no-untyped-call]
        reactor.callFromThread(done.callback, result)

    pool.submit(run)
    return done


def reactor_caller() -> Callable[[Callable[[], None]], object]:
    """Return a function that other threads use to call functions in the present one, that of the reactor."""
    if is_asyncio_available():
        return asyncio.get_running_loop().call_soon_threadsafe
    from twisted.internet import reactor  # noqa: PLC0415  # importing it installs one

    call: Callable[[Callable[[], None]], object] = reactor.callFromThread
    return call


class OneShotEvent:
    """An event that is set once; any number of coroutines may wait for it."""

    __slots__ = ("_waiting", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        # Made when needed: most events are never waited for.
        self._waiting: list[Deferred[None] | asyncio.Future[None]] | None = None

    async def wait(self) -> None:
        """Return as soon as the event is set."""
        if self.is_set:
            return
        if self._waiting is None:
            self._waiting = []
        if is_asyncio_available():  # without the cost of a Deferred
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
        else:
            waiter: Deferred[None] = Deferred()
            self._waiting.append(waiter)
            await maybe_deferred_to_future(waiter)

    def set(self) -> None:
        """Set the event and wake the waiting coroutines."""
        self.is_set = True
        waiting, self._waiting = self._waiting, None
        for waiter in waiting or ():
            if isinstance(waiter, Deferred):
                waiter.callback(None)
            elif not waiter.done():  # the waiting task may have been cancelled
                waiter.set_result(None)


class LazyTask(Awaitable[T]):
    """Calls a coroutine function when it is awaited, and not before."""

    def __init__(self, function: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._function = function

    def __await__(self) -> Generator[Any, Any, T]:
        return self._function().__await__()


def when_awaited(function: Callable[[], Coroutine[Any, Any, T]]) -> Awaitable[T]:
    """Return the awaitable of a coroutine function. If nobody awaits it, asyncio's users get no RuntimeWarning."""
    return LazyTask(function) if is_asyncio_available() else function()  # Twisted accepts coroutines only


async def sleep(seconds: float) -> None:
    """Wait without blocking the reactor."""
    waiter: Deferred[None] = Deferred()
    call_later(seconds, waiter.callback, None)
    await maybe_deferred_to_future(waiter)


async def gather(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines concurrently; return their results, or raise the first error when all have ended."""
    if is_asyncio_available():
        ended: list[T | BaseException] = await asyncio.gather(*works, return_exceptions=True)
    else:
        deferreds = [deferred_from_coro(work) for work in works]
        pairs = await maybe_deferred_to_future(DeferredList(deferreds, consumeErrors=True))
        ended = [result if succeeded else result.value for succeeded, result in pairs]
    for each in ended:
        if isinstance(each, BaseException):
            raise each
    return [each for each in ended if not isinstance(each, BaseException)]


class BackgroundTaskGroup:
    """Runs coroutines that are not awaited."""

    def __init__(self) -> None:
        self.running = 0  #: coroutines that have not ended
        self._tasks: set[asyncio.Task[None]] = set()  # asyncio keeps no strong reference

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a coroutine and return at once."""
        self.running += 1
        counted = self._counted(work)
        if not is_asyncio_available():
            deferred_from_coro(counted)
            return
        task = asyncio.get_running_loop().create_task(counted)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _counted(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            self.running -= 1


class TurnQueue(Generic[T]):
    """Collects what changes in a turn of the reactor, and handles it together after that turn.

    Args:
        handle: is called with the entries, in their order and each once.
    """

    def __init__(self, handle: Callable[[list[T]], Coroutine[Any, Any, None]]) -> None:
        self._handle = handle
        self._entries: dict[T, None] = {}
        self._handling: set[OneShotEvent] = set()
        self._background = BackgroundTaskGroup()

    def add(self, entries: Iterable[T], delay: float = 0) -> None:
        """Add entries, which are handled together with those of the next ``delay`` seconds."""
        was_empty = not self._entries
        self._entries.update(dict.fromkeys(entries))
        if was_empty and self._entries:
            call_later(delay, lambda: self._background.start(self.flush()))

    async def flush(self) -> None:
        """Handle what has been collected so far."""
        if not self._entries:
            return
        entries, self._entries = [*self._entries], {}
        self._handling.add(handled := OneShotEvent())
        try:
            await self._handle(entries)
        finally:
            self._handling.discard(handled)
            handled.set()

    @contextmanager
    def taken(self, wanted: Callable[[T], bool], most: int) -> Generator[list[T], None, None]:
        """Take the first of the entries that are wanted, to handle them in this context."""
        taken = [*islice((entry for entry in self._entries if wanted(entry)), most)]
        for entry in taken:
            del self._entries[entry]
        self._handling.add(handled := OneShotEvent())
        try:
            yield taken
        finally:
            self._handling.discard(handled)
            handled.set()

    async def drain(self) -> None:
        """Handle what has been collected, and wait for what is being handled."""
        await self.flush()
        for handled in tuple(self._handling):
            await handled.wait()
