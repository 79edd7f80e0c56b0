"""The engine of a cluster: parts in tasks, the verdicts by sweeps over tables.

Steps 1 and 3 for a part of a corpus, as a task does them.

A worker that Spark gave up may still be at work while another does its part again. So each task writes into a
folder of its own, and what is whole is moved to its place in one step.

Parts over the tasks of a session, and how far they have come.
"""

from __future__ import annotations

import logging
import shutil
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from dedupcrawl.batch.fingerprinting import fingerprint_part
from dedupcrawl.batch.output import write_output
from dedupcrawl.batch.spark.checkpoints import Checkpoints, fingerprints_of, solution_of
from dedupcrawl.batch.spark.session import retry_lost_workers, translate_errors
from dedupcrawl.batch.spark.sweeps import Bounds, SweepSolver, with_founders
from dedupcrawl.batch.workdir import Workdir
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.solver import Solution
    from dedupcrawl.utils.progress import Progress


TASKS_FOLDER = "tasks"  #: below the work folder: a folder for each task


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What came of a part. A failure that another attempt would only repeat is told, not raised."""

    amount: int = 0  #: of what the progress is counted in
    rows: int = 0
    error: str | None = None


@dataclass(frozen=True)
class _FingerprintTaskDir(Workdir):
    """The places of a run, but fingerprints are written elsewhere."""

    own: Path

    def prints(self, name: str) -> Path:
        """Where this task writes the fingerprints of a part."""
        return self.own / f"{name}.arrow"

    def made(self, name: str) -> Path:
        """Where it writes what they were made of."""
        return self.own / f"{name}.json"


@dataclass(frozen=True)
class _OutputTaskDir(Workdir):
    """The places of a run, but the output is written elsewhere."""

    own: Path

    def output(self, name: str) -> Path:
        """Where this task writes the output of a part."""
        return self.own / "output" / name

    def written(self, name: str) -> Path:
        """Where it writes what it was written by."""
        return self.own / f"{name}.json"


def fingerprint_in_task(job: Job, work: Workdir, part: Part, own: Path) -> TaskResult:
    """Fingerprint a part; its amount is in bytes."""
    apart = _FingerprintTaskDir(work.out, own)
    made = fingerprint_part(job, apart, part)
    _move(apart.prints(part.name), work.prints(part.name))
    _move(apart.made(part.name), work.made(part.name))
    return TaskResult(made.size, made.rows)


def write_output_in_task(job: Job, work: Workdir, part: Part, own: Path) -> TaskResult:
    """Write the output of a part; its amount is in rows."""
    apart = _OutputTaskDir(work.out, own)
    rows = write_output(job, apart, part)
    if apart.output(part.name).exists():
        _move(apart.output(part.name), work.output(part.name))
    else:  # nothing of the part could be read, which the user has allowed
        work.output(part.name).unlink(missing_ok=True)
    _move(apart.written(part.name), work.written(part.name))
    return TaskResult(rows, rows)


def _move(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    path.replace(target)


@dataclass(frozen=True, slots=True)
class PartTask:
    """Does one thing to a part; it travels to the workers."""

    do: Callable[[Job, Workdir, Part, Path], TaskResult]
    job: Job
    work: Workdir

    def __call__(self, part: Part) -> TaskResult:
        """Do it, in a folder of its own."""
        if not self.work.job.exists():
            return TaskResult(error=_not_shared_error(self.work.out))
        own = self.work.folder / TASKS_FOLDER / uuid4().hex
        try:
            return self.do(self.job, self.work, part, own)
        except DedupError as error:
            return TaskResult(error=str(error))
        finally:
            shutil.rmtree(own, ignore_errors=True)


def _not_shared_error(out: Path) -> str:
    return (
        f"{out}: a worker does not see what the driver has written there; "
        "on Spark --out, and the inputs, have to be on a disk that the driver and all workers share"
    )


_POLL_SECONDS = 0.5  #: seconds from one look at the progress to the next


def run_tasks(
    spark: SparkSession, task: PartTask, parts: Sequence[Part], tell: Callable[[int, int], object]
) -> list[TaskResult]:
    """Do a task for each part; return what came of them, in order.

    ``tell`` is called now and then with the amount and the rows that were done since. When the wait ends with
    an error (the user has had enough), the tasks end too.
    """
    context = spark.sparkContext
    amount, rows = context.accumulator(0), context.accumulator(0)

    def do(part: Part) -> TaskResult:
        done = task(part)
        amount.add(done.amount)
        rows.add(done.rows)
        return done

    def collect() -> list[TaskResult]:
        context.setJobGroup(group, "dedupcrawl", interruptOnCancel=True)
        found: list[TaskResult] = context.parallelize(parts, len(parts)).map(do).collect()
        return found

    group, told = uuid4().hex, (0, 0)
    with ThreadPoolExecutor(1, "dedupcrawl-spark") as executor:
        future = executor.submit(collect)
        try:
            while not future.done():
                wait([future], _POLL_SECONDS)
                now = amount.value, rows.value
                tell(now[0] - told[0], now[1] - told[1])
                told = now
        except BaseException:
            context.cancelJobGroup(group)
            raise
        return future.result()


logger = logging.getLogger(__name__)


class SparkEngine:
    """Does the three steps of a run in a session; ``Work`` lies on a disk that all workers share.

    Args:
        session: returns the session; it is asked when there is something to do.
        job: what to do.
        work: where.
        bounds: where sweeps end; None: where the session says.
    """

    def __init__(
        self, session: Callable[[], SparkSession], job: Job, work: Workdir, bounds: Bounds | None = None
    ) -> None:
        self._session = session
        self._job = job
        self._work = work
        self._bounds = bounds

    def fingerprint(self, parts: Sequence[Part], teller: Progress) -> None:
        """Fingerprint parts, each in a task."""
        with translate_errors("fingerprint the pages"):
            self._each(PartTask(fingerprint_in_task, self._job, self._work), parts, teller)

    def solve(self, corpus: Corpus, teller: Progress) -> Solution:
        """Judge every row."""
        folder = self._work.folder / "spark"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with translate_errors("compare the pages"):
            found = retry_lost_workers(lambda: self._solved(corpus, folder.resolve()))
        shutil.rmtree(folder, ignore_errors=True)
        teller.advance(len(corpus.prints), len(corpus.prints))
        return found

    def write(self, parts: Sequence[Part], teller: Progress) -> None:
        """Write the output of parts, each in a task."""
        with translate_errors("write the output"):
            self._each(PartTask(write_output_in_task, self._job, self._work), parts, teller)

    def _solved(self, corpus: Corpus, folder: Path) -> Solution:
        tables = Checkpoints(self._session(), folder.as_uri())
        order = corpus.order(self._job)
        prints = tables.save(
            fingerprints_of(self._session(), self._job, self._work, corpus, order, folder), "prints"
        )
        given = corpus.kept_before(self._job)
        bounds = self._bounds or Bounds.of(self._session())
        settled = SweepSolver(tables, prints, self._job.rules, given, bounds, _log_sweep).run()
        said = with_founders(tables, settled.verdicts).toArrow()
        return solution_of(said, order, self._job.rules().detectors, settled.crowding)

    def _each(self, task: PartTask, parts: Sequence[Part], teller: Progress) -> None:
        """Do a task for each part. Raises DedupError for the first that failed."""
        tasks = self._work.folder / TASKS_FOLDER
        shutil.rmtree(tasks, ignore_errors=True)
        try:
            done = retry_lost_workers(lambda: run_tasks(self._session(), task, parts, teller.advance))
        finally:
            shutil.rmtree(tasks, ignore_errors=True)
        for each in done:
            if each.error is not None:
                raise DedupError(each.error)


def _log_sweep(sweep: int, changed: int) -> None:
    logger.info("sweep %(sweep)d: %(changed)d verdicts are others", {"sweep": sweep, "changed": changed})
