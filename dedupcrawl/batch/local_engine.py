"""The processes that do the work of a run, and how their end is noticed.

The engine of one machine: fingerprints and output in processes, the verdicts in this one.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dedupcrawl.batch.fingerprinting import fingerprint_chunk, write_fingerprints
from dedupcrawl.batch.formats import Chunk, PartError, format_named
from dedupcrawl.batch.output import write_output
from dedupcrawl.batch.solver import solve
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.fingerprinting import FingerprintedChunk
    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.solver import Solution
    from dedupcrawl.batch.workdir import Workdir
    from dedupcrawl.utils.progress import Progress


T = TypeVar("T")


class WorkerPool(Protocol):
    """Who does a piece of work."""

    @property
    def count(self) -> int:
        """How many pieces are done at a time."""
        ...

    def submit(self, work: Callable[..., T], /, *args: Any) -> Future[T]:
        """Begin a piece of work."""
        ...


@contextmanager
def open_worker_pool(workers: int) -> Iterator[WorkerPool]:
    """Give so many processes (0: one for each core that this one may use); 1 is this process alone.

    When the block ends with an error, pieces that were not begun are not done.
    """
    count = workers or _available_cores()
    if count == 1:
        yield _InlinePool()
        return
    # A forked copy of a process that has threads, and maps files, is not to be relied upon.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["dedupcrawl.batch.preload"])
    executor = ProcessPoolExecutor(count, context, _init_worker)
    try:
        yield _ProcessPool(executor, count)
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def result_of(future: Future[T], place: str) -> T:
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


def _available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _init_worker() -> None:
    """Begin as a worker: the terminal's interrupt is for the parent, and with the parent it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_exit_with_parent, args=(multiprocessing.parent_process(),), daemon=True).start()


def _exit_with_parent(parent: Any) -> None:
    parent.join()
    os._exit(1)


@dataclass(frozen=True, slots=True)
class _ProcessPool:
    executor: ProcessPoolExecutor
    count: int

    def submit(self, work: Callable[..., T], /, *args: Any) -> Future[T]:
        try:
            return self.executor.submit(work, *args)
        except BrokenProcessPool as error:  # it is told where the outcome is asked for
            return _failed_future(error)


def _failed_future(error: BaseException) -> Future[T]:
    done: Future[T] = Future()
    done.set_exception(error)
    return done


class _InlinePool:
    """This very process."""

    count = 1

    def submit(self, work: Callable[..., T], /, *args: Any) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(work(*args))
        except Exception as error:  # noqa: BLE001  # as a process would hand it over
            return _failed_future(error)
        return done


CHUNKS_AHEAD = 3  #: chunks for each worker that are begun before what comes of them is needed


class LocalEngine:
    """Does the three steps of a run on this machine."""

    def __init__(self, job: Job, work: Workdir) -> None:
        self._job = job
        self._work = work

    def fingerprint(self, parts: Sequence[Part], teller: Progress) -> None:
        """Fingerprint parts, their chunks over all processes."""
        with open_worker_pool(self._job.workers) as workers:
            ahead = _ChunkQueue(self._job, workers, parts, teller)
            for part in parts:
                write_fingerprints(self._job, self._work, part, ahead.of(part))

    def solve(self, corpus: Corpus, teller: Progress) -> Solution:
        """Judge every row."""
        done = 0

        def tell(rows: int) -> None:
            nonlocal done
            teller.advance(rows - done, rows - done)
            done = rows

        order = corpus.order(self._job)
        return solve(corpus.prints, self._job.rules(), order, given=corpus.kept_before(self._job), tell=tell)

    def write(self, parts: Sequence[Part], teller: Progress) -> None:
        """Write the output of parts, each in a process."""
        with open_worker_pool(1 if len(parts) == 1 else self._job.workers) as workers:
            begun = [(part, workers.submit(write_output, self._job, self._work, part)) for part in parts]
            for part, future in begun:
                rows = result_of(future, str(part.path))
                teller.advance(rows, rows)


class _ChunkQueue:
    """Hands out the chunks of all parts in their order, some ahead, and gives back what came of them."""

    def __init__(self, job: Job, workers: WorkerPool, parts: Sequence[Part], teller: Progress) -> None:
        self._job = pickle.dumps(job)
        self._fields = job.fields
        self._workers = workers
        self._teller = teller
        self._chunks = self._cut(parts)
        self._begun: deque[tuple[Part, Chunk | PartError | None, Future[FingerprintedChunk] | None]] = deque()
        self._left: set[Part] = set()  # of which no more is wanted

    def of(self, part: Part) -> Iterator[FingerprintedChunk]:
        """Give what came of the chunks of a part; parts are asked for in their order."""
        read = 0
        try:
            while True:
                self._begin_some()
                owner, chunk, future = self._begun.popleft()
                if owner is not part:
                    continue
                if isinstance(chunk, PartError):
                    raise chunk
                if chunk is None or future is None:
                    break
                filed = result_of(future, f"{part.path}, rows from {chunk.first} on")
                self._teller.advance(filed.read - read, filed.rows)
                read = filed.read
                yield filed
        finally:
            self._left.add(part)

    def _begin_some(self) -> None:
        while len(self._begun) < CHUNKS_AHEAD * self._workers.count:
            part, chunk = next(self._chunks, (None, None))
            if part is None:
                return
            future = None
            if isinstance(chunk, Chunk):
                future = self._workers.submit(fingerprint_chunk, self._job, part.format, chunk)
            self._begun.append((part, chunk, future))

    def _cut(self, parts: Sequence[Part]) -> Iterator[tuple[Part, Chunk | PartError | None]]:
        """Give the chunks of each part, and behind them None, or what is wrong with the rest."""
        for part in parts:
            rows = 0
            try:
                for chunk in format_named(part.format).chunks(part, self._fields):
                    if part in self._left:
                        break
                    rows = chunk.first + chunk.count
                    yield part, chunk
            except PartError as error:
                yield part, error
            except OSError as error:
                yield part, PartError(str(part.path), rows, error.strerror or str(error))
            else:
                yield part, None
