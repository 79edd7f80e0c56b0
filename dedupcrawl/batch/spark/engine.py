"""The engine for a cluster: fingerprints, sites and output in tasks, verdicts by sweeps over tables.

A worker that Spark gave up may still run while another repeats its task. So each task writes to its own
folder, and complete files are renamed to their final place.
"""

from __future__ import annotations

import logging
import shutil
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from dedupcrawl.batch.fingerprinting import fingerprint_part
from dedupcrawl.batch.output import write_output
from dedupcrawl.batch.site_pass import count_sites, count_state, leave_out_part, leave_out_state, site_tasks
from dedupcrawl.batch.spark.checkpoints import CheckpointFolder, fingerprints_of, solution_of
from dedupcrawl.batch.spark.session import retry_lost_workers, translate_errors
from dedupcrawl.batch.spark.sweeps import SweepLimits, SweepSolver, with_founders
from dedupcrawl.batch.workdir import Workdir
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Corpus, Job
    from dedupcrawl.batch.solver import SolverResult
    from dedupcrawl.utils.iteration import Progress

TASKS_FOLDER = "tasks"  #: below the work folder: a folder for each task
_POLL_SECONDS = 0.5  #: between two looks at the progress
logger = logging.getLogger(__name__)


class SparkEngine:
    """Runs the steps of a batch on Spark (:class:`~dedupcrawl.batch.runner.Engine`).

    ``work`` is on a disk that all workers share. ``bounds`` of None are read from the session.
    """

    def __init__(
        self, session: Callable[[], SparkSession], job: Job, work: Workdir, bounds: SweepLimits | None = None
    ) -> None:
        self._session = session
        self._job = job
        self._work = work
        self._bounds = bounds

    def fingerprint(self, parts: Sequence[Part], progress: Progress) -> None:
        """Fingerprint parts, one task for each part."""
        with translate_errors("fingerprint the pages"):
            self._run_tasks(PartTask(fingerprint_in_task, self._job, self._work), parts, progress)

    def count_sites(self, corpus: Corpus, progress: Progress) -> dict[str, bytes]:
        """Count what sites repeat, some sites in each task."""
        state = count_state(self._job, self._work, [part for part, _, _ in corpus.spans])
        tasks = [*site_tasks(self._job, self._work, corpus)]

        def count() -> list[dict[str, bytes]]:
            context = self._session().sparkContext
            found: list[dict[str, bytes]] = (
                context.parallelize(tasks, len(tasks)).map(partial(count_sites, state)).collect()
            )
            return found

        with translate_errors("count what sites repeat"):
            found = retry_lost_workers(count) if tasks else []
        progress.advance(len(corpus.table), len(corpus.table))
        return {site: value for tables in found for site, value in tables.items()}

    def leave_out(self, parts: Sequence[Part], digest: str, progress: Progress) -> None:
        """Rewrite the fingerprints of parts, one task for each part."""
        state = leave_out_state(self._job, self._work, digest)
        with translate_errors("leave out what sites repeat"):
            self._run_tasks(PartTask(partial(leave_out_in_task, state), self._job, self._work), parts, progress)

    def solve(self, corpus: Corpus, progress: Progress) -> SolverResult:
        """Judge every row."""
        folder = self._work.folder / "spark"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with translate_errors("compare the pages"):
            solution = retry_lost_workers(lambda: self._solve(corpus, folder.resolve()))
        shutil.rmtree(folder, ignore_errors=True)
        progress.advance(len(corpus.table), len(corpus.table))
        return solution

    def write(self, parts: Sequence[Part], progress: Progress) -> None:
        """Write the output of parts, one task for each part."""
        with translate_errors("write the output"):
            self._run_tasks(PartTask(write_output_in_task, self._job, self._work), parts, progress)

    def _solve(self, corpus: Corpus, folder: Path) -> SolverResult:
        spark, rules = self._session(), self._job.rules
        checkpoints, order = CheckpointFolder(spark, folder.as_uri()), corpus.order(self._job)
        fingerprints = fingerprints_of(spark, self._job, self._work, corpus, order, folder)
        result = SweepSolver(
            checkpoints,
            checkpoints.save(fingerprints, "prints"),
            rules,
            corpus.always_kept(self._job),
            self._bounds or SweepLimits.of(spark),
            _log_sweep,
        ).run()
        verdicts = with_founders(checkpoints, result.verdicts).toArrow()
        return solution_of(verdicts, order, rules().detectors, result.hot_buckets)

    def _run_tasks(self, task: PartTask, parts: Sequence[Part], progress: Progress) -> None:
        """Run a task for each part. Raises DedupError for the first that failed."""
        tasks = self._work.folder / TASKS_FOLDER
        shutil.rmtree(tasks, ignore_errors=True)
        try:
            results = retry_lost_workers(lambda: run_tasks(self._session(), task, parts, progress.advance))
        finally:
            shutil.rmtree(tasks, ignore_errors=True)
        for result in results:
            if result.error is not None:
                raise DedupError(result.error)


def _log_sweep(sweep: int, changed: int) -> None:
    logger.info("sweep %(sweep)d: %(changed)d verdicts changed", {"sweep": sweep, "changed": changed})


def run_tasks(
    spark: SparkSession, task: PartTask, parts: Sequence[Part], advance: Callable[[int, int], object]
) -> list[TaskResult]:
    """Run a task for each part; return the results in order.

    ``advance`` is called now and then with the amount and the rows done since the last call. If ``advance`` or
    the wait is interrupted, the tasks are cancelled.
    """
    context = spark.sparkContext
    amount, rows = context.accumulator(0), context.accumulator(0)

    def do(part: Part) -> TaskResult:
        result = task(part)
        amount.add(result.amount)
        rows.add(result.rows)
        return result

    def collect() -> list[TaskResult]:
        context.setJobGroup(group, "dedupcrawl", interruptOnCancel=True)
        results: list[TaskResult] = context.parallelize(parts, len(parts)).map(do).collect()
        return results

    group, reported = uuid4().hex, (0, 0)
    with ThreadPoolExecutor(1, "dedupcrawl-spark") as executor:
        future = executor.submit(collect)
        try:
            while not future.done():
                wait([future], _POLL_SECONDS)
                now = amount.value, rows.value
                advance(now[0] - reported[0], now[1] - reported[1])
                reported = now
        except BaseException:
            context.cancelJobGroup(group)
            raise
        return future.result()


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of a task. An error is returned, not raised, so that Spark does not retry the task."""

    amount: int = 0  #: bytes that were fingerprinted, or rows that were written
    rows: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class PartTask:
    """Runs a function on a part, with a folder of its own; it is pickled to the workers."""

    do: Callable[[Job, Workdir, Part, Path], TaskResult]
    job: Job
    work: Workdir

    def __call__(self, part: Part) -> TaskResult:
        """Run the function."""
        if not self.work.job.exists():
            return TaskResult(
                error=f"{self.work.out}: a worker does not see what the driver has written there; "
                "on Spark --out, and the inputs, have to be on a disk that the driver and all workers share"
            )
        own = self.work.folder / TASKS_FOLDER / uuid4().hex
        try:
            return self.do(self.job, self.work, part, own)
        except DedupError as error:
            return TaskResult(error=str(error))
        finally:
            shutil.rmtree(own, ignore_errors=True)


@dataclass(frozen=True)
class _TaskWorkdir(Workdir):
    """The paths of a run, but a task writes to its own folder."""

    own: Path


class _FingerprintWorkdir(_TaskWorkdir):
    def fingerprints(self, name: str) -> Path:
        return self.own / f"{name}.arrow"

    def texts(self, name: str) -> Path:
        return self.own / f"{name}.texts"

    def part_state(self, name: str) -> Path:
        return self.own / f"{name}.json"


class _ReducedWorkdir(_TaskWorkdir):
    def reduced(self, name: str) -> Path:
        return self.own / f"{name}.arrow"


class _OutputWorkdir(_TaskWorkdir):
    def output(self, name: str) -> Path:
        return self.own / "output" / name

    def output_state(self, name: str) -> Path:
        return self.own / f"{name}.json"


def fingerprint_in_task(job: Job, work: Workdir, part: Part, own: Path) -> TaskResult:
    """Fingerprint a part in the folder ``own``, and move the result."""
    task_work = _FingerprintWorkdir(work.out, own)
    state = fingerprint_part(job, task_work, part)
    _move(task_work.fingerprints(part.name), work.fingerprints(part.name))
    _move(task_work.texts(part.name), work.texts(part.name))
    _move(task_work.part_state(part.name), work.part_state(part.name))
    return TaskResult(state.size, state.rows)


def leave_out_in_task(state: bytes, job: Job, work: Workdir, part: Part, own: Path) -> TaskResult:
    """Rewrite the fingerprints of a part in the folder ``own``, and move the result; see :func:`leave_out_part`."""
    task_work = _ReducedWorkdir(work.out, own)
    leave_out_part(job, task_work, part.name, state)
    if task_work.reduced(part.name).exists():
        _move(task_work.reduced(part.name), work.reduced(part.name))
    else:  # they are those of the whole texts
        work.reduced(part.name).unlink(missing_ok=True)
    return TaskResult(1)


def write_output_in_task(job: Job, work: Workdir, part: Part, own: Path) -> TaskResult:
    """Write the output of a part in the folder ``own``, and move the result."""
    task_work = _OutputWorkdir(work.out, own)
    rows = write_output(job, task_work, part)
    if task_work.output(part.name).exists():
        _move(task_work.output(part.name), work.output(part.name))
    else:  # nothing of the part could be read, and the job skips that
        work.output(part.name).unlink(missing_ok=True)
    _move(task_work.output_state(part.name), work.output_state(part.name))
    return TaskResult(rows, rows)


def _move(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    path.replace(target)
