"""The processes that do the work of a run, and how their end is noticed."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


class Hands(Protocol):
    """Who does a piece of work."""

    @property
    def count(self) -> int:
        """How many pieces are done at a time."""
        ...

    def submit(self, work: Callable[..., T], /, *args: Any) -> Future[T]:
        """Begin a piece of work."""
        ...


@contextmanager
def hands(workers: int) -> Iterator[Hands]:
    """Give so many processes (0: one for each core that this one may use); 1 is this process alone.

    When the block ends with an error, pieces that were not begun are not done.
    """
    count = workers or _cores()
    if count == 1:
        yield _Own()
        return
    # A forked copy of a process that has threads, and maps files, is not to be relied upon.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["dedupcrawl.batch.ready"])
    executor = ProcessPoolExecutor(count, context, _begin)
    try:
        yield _Processes(executor, count)
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def outcome(future: Future[T], place: str) -> T:
    """Wait for a piece of work.

    Raises :class:`~dedupcrawl.errors.DedupError`, naming the place, if its process is dead.
    """
    try:
        return future.result()
    except BrokenProcessPool:
        raise DedupError(
            f"{place}: a process that worked on it, or on what follows, was ended from outside (killed, or "
            "out of memory); the same command, with fewer --workers if need be, goes on where it stopped"
        ) from None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin() -> None:
    """Begin as a worker: the terminal's interrupt is for the parent, and with the parent it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


@dataclass(frozen=True, slots=True)
class _Processes:
    executor: ProcessPoolExecutor
    count: int

    def submit(self, work: Callable[..., T], /, *args: Any) -> Future[T]:
        try:
            return self.executor.submit(work, *args)
        except BrokenProcessPool as error:  # it is told where the outcome is asked for
            return _failed(error)


def _failed(error: BaseException) -> Future[T]:
    done: Future[T] = Future()
    done.set_exception(error)
    return done


class _Own:
    """This very process."""

    count = 1

    def submit(self, work: Callable[..., T], /, *args: Any) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(work(*args))
        except Exception as error:  # noqa: BLE001  # as a process would hand it over
            return _failed(error)
        return done
