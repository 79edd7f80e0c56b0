"""The engine for one machine: fingerprints and output in worker processes, verdicts in this one."""

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
from dedupcrawl.batch.site_pass import (
    batch_count,
    count_sites,
    count_state,
    leave_out_batch,
    leave_out_state,
    site_tasks,
    write_reduced,
)
from dedupcrawl.batch.solver import solve
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.batch.fingerprinting import FingerprintedChunk
    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Corpus, Job
    from dedupcrawl.batch.solver import SolverResult
    from dedupcrawl.batch.workdir import Workdir
    from dedupcrawl.utils.iteration import Progress

CHUNKS_AHEAD = 3  #: chunks for each worker that are submitted before their results are needed

T = TypeVar("T")


class LocalEngine:
    """Runs the three steps of a batch on this machine (:class:`~dedupcrawl.batch.runner.Engine`)."""

    def __init__(self, job: Job, work: Workdir) -> None:
        self._job = job
        self._work = work

    def fingerprint(self, parts: Sequence[Part], progress: Progress) -> None:
        """Fingerprint parts, their chunks in all worker processes."""
        with open_worker_pool(self._job.workers) as workers:
            chunks = _ChunkQueue(self._job, workers, parts, progress)
            for part in parts:
                write_fingerprints(self._job, self._work, part, chunks.of(part))

    def count_sites(self, corpus: Corpus, progress: Progress) -> dict[str, bytes]:
        """Count what sites repeat, some sites in each task."""
        state = count_state(self._job, self._work, [part for part, _, _ in corpus.spans])
        found: dict[str, bytes] = {}
        with open_worker_pool(self._job.workers) as workers:
            tasks = ((count_sites, (state, rows)) for rows in site_tasks(self._job, self._work, corpus))
            for tables in _in_order(workers, tasks, "counting what sites repeat"):
                found |= tables
        progress.advance(len(corpus.table), len(corpus.table))
        return found

    def leave_out(self, parts: Sequence[Part], digest: str, progress: Progress) -> None:
        """Rewrite the fingerprints of parts, their batches in all worker processes."""
        state = leave_out_state(self._job, self._work, digest)
        with open_worker_pool(self._job.workers) as workers:
            for part in parts:
                calls = [(state, part.name, number) for number in range(batch_count(self._work, part.name))]
                found = _in_order(workers, ((leave_out_batch, call) for call in calls), str(part.path))
                write_reduced(self._job, self._work, part.name, found)
                progress.advance(1, 0)

    def solve(self, corpus: Corpus, progress: Progress) -> SolverResult:
        """Judge every row, in this process."""
        done = 0

        def on_progress(rows: int) -> None:
            nonlocal done
            progress.advance(rows - done, rows - done)
            done = rows

        order, prior = corpus.order(self._job), corpus.always_kept(self._job)
        return solve(corpus.table, self._job.rules(), order, prior=prior, on_progress=on_progress)

    def write(self, parts: Sequence[Part], progress: Progress) -> None:
        """Write the output of parts, one process for each part."""
        with open_worker_pool(1 if len(parts) == 1 else self._job.workers) as workers:
            submitted = [(part, workers.submit(write_output, self._job, self._work, part)) for part in parts]
            for part, future in submitted:
                rows = result_of(future, str(part.path))
                progress.advance(rows, rows)


class _ChunkQueue:
    """Submits the chunks of all parts in order, some ahead, and returns their fingerprints in order."""

    def __init__(self, job: Job, workers: WorkerPool, parts: Sequence[Part], progress: Progress) -> None:
        self._job = pickle.dumps(job)
        self._fields = job.columns
        self._workers = workers
        self._progress = progress
        self._chunks = self._cut(parts)
        self._submitted: deque[tuple[Part, Chunk | PartError | None, Future[FingerprintedChunk] | None]]
        self._submitted = deque()
        self._finished: set[Part] = set()  # their remaining chunks are not needed

    def of(self, part: Part) -> Iterator[FingerprintedChunk]:
        """Yield the fingerprints of a part; parts have to be asked for in order."""
        read = 0
        try:
            while True:
                self._submit_ahead()
                owner, chunk, future = self._submitted.popleft()
                if owner is not part:
                    continue
                if isinstance(chunk, PartError):
                    raise chunk
                if chunk is None or future is None:
                    break
                result = result_of(future, f"{part.path}, rows from {chunk.first} on")
                self._progress.advance(result.read - read, result.rows)
                read = result.read
                yield result
        finally:
            self._finished.add(part)

    def _submit_ahead(self) -> None:
        while len(self._submitted) < CHUNKS_AHEAD * self._workers.count:
            part, chunk = next(self._chunks, (None, None))
            if part is None:
                return
            future = None
            if isinstance(chunk, Chunk):
                future = self._workers.submit(fingerprint_chunk, self._job, part.format, chunk)
            self._submitted.append((part, chunk, future))

    def _cut(self, parts: Sequence[Part]) -> Iterator[tuple[Part, Chunk | PartError | None]]:
        """Yield the chunks of each part, and at its end None, or the error that ended it."""
        for part in parts:
            rows = 0
            try:
                for chunk in format_named(part.format).chunks(part, self._fields):
                    if part in self._finished:
                        break
                    rows = chunk.first + chunk.count
                    yield part, chunk
            except PartError as error:
                yield part, error
            except OSError as error:
                yield part, PartError(str(part.path), rows, error.strerror or str(error))
            else:
                yield part, None


def _in_order(
    workers: WorkerPool, calls: Iterable[tuple[Callable[..., T], tuple[Any, ...]]], place: str
) -> Iterator[T]:
    """Run tasks, some ahead, and yield their results in order; ``place`` as for :func:`result_of`."""
    submitted: deque[Future[T]] = deque()
    for task, given in calls:
        submitted.append(workers.submit(task, *given))
        if len(submitted) >= CHUNKS_AHEAD * workers.count:
            yield result_of(submitted.popleft(), place)
    while submitted:
        yield result_of(submitted.popleft(), place)


class WorkerPool(Protocol):
    """Runs tasks."""

    @property
    def count(self) -> int:
        """Number of tasks that run at a time."""

    def submit(self, task: Callable[..., T], /, *args: Any) -> Future[T]:
        """Schedule a task; pass the future to :func:`result_of`."""


@contextmanager
def open_worker_pool(workers: int) -> Iterator[WorkerPool]:
    """Start worker processes, and stop them at the end of the block; an error cancels tasks not started yet.

    ``workers`` of 0: one for each CPU core that this process may use; 1: tasks run in this process.
    """
    count = workers or _available_cores()
    if count == 1:
        yield _InlinePool()
        return
    # Forking a process that has threads and memory-mapped files is not safe.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["dedupcrawl.batch.preload"])
    executor = ProcessPoolExecutor(count, context, _init_worker)
    try:
        yield _ProcessPool(executor, count)
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def result_of(future: Future[T], place: str) -> T:
    """Wait for a task and return its result.

    ``place`` names, in the error message, what the task works on.

    Raises DedupError if its process died; errors of the task itself are raised as they are.
    """
    try:
        return future.result()
    except BrokenProcessPool:
        raise DedupError(
            f"{place}: a process that worked on it, or on a later part, was killed (maybe for lack of memory); "
            "run the same command again to continue, with fewer --workers if need be"
        ) from None


def _available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _init_worker() -> None:
    """Leave the terminal's interrupt to the parent process, and exit when the parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_exit_with_parent, args=(multiprocessing.parent_process(),), daemon=True).start()


def _exit_with_parent(parent: Any) -> None:
    parent.join()
    os._exit(1)


@dataclass(frozen=True, slots=True)
class _ProcessPool:
    executor: ProcessPoolExecutor
    count: int

    def submit(self, task: Callable[..., T], /, *args: Any) -> Future[T]:
        try:
            return self.executor.submit(task, *args)
        except BrokenProcessPool as error:  # raised by result_of(), which names the place
            return _failed_future(error)


def _failed_future(error: BaseException) -> Future[T]:
    future: Future[T] = Future()
    future.set_exception(error)
    return future


class _InlinePool:
    """Runs each task in this process when it is submitted."""

    count = 1

    def submit(self, task: Callable[..., T], /, *args: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(task(*args))
        except Exception as error:  # noqa: BLE001  # raised by result_of(), as with processes
            return _failed_future(error)
        return future
