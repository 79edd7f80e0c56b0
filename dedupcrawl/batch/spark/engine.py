"""The engine of a cluster: parts in tasks, the verdicts by sweeps over tables."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING

from dedupcrawl.batch.spark.clusters import with_founders
from dedupcrawl.batch.spark.corpus import prints_of, solution_of
from dedupcrawl.batch.spark.failing import in_one_sentence, persistently
from dedupcrawl.batch.spark.parts import TASKS, Task, print_apart, write_apart
from dedupcrawl.batch.spark.spreading import spread
from dedupcrawl.batch.spark.sweeps import Bounds, Sweeping
from dedupcrawl.batch.spark.tables import Tables
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.solving import Solution
    from dedupcrawl.batch.work import Work
    from dedupcrawl.progress import Progress

logger = logging.getLogger(__name__)


class OnSpark:
    """Does the three steps of a run in a session; ``Work`` lies on a disk that all workers share.

    Args:
        session: returns the session; it is asked when there is something to do.
        job: what to do.
        work: where.
        bounds: where sweeps end; None: where the session says.
    """

    def __init__(
        self, session: Callable[[], SparkSession], job: Job, work: Work, bounds: Bounds | None = None
    ) -> None:
        self._session = session
        self._job = job
        self._work = work
        self._bounds = bounds

    def fingerprint(self, parts: Sequence[Part], teller: Progress) -> None:
        """Fingerprint parts, each in a task."""
        with in_one_sentence("fingerprint the pages"):
            self._each(Task(print_apart, self._job, self._work), parts, teller)

    def solve(self, corpus: Corpus, teller: Progress) -> Solution:
        """Judge every row."""
        folder = self._work.folder / "spark"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with in_one_sentence("compare the pages"):
            found = persistently(lambda: self._solved(corpus, folder.resolve()))
        shutil.rmtree(folder, ignore_errors=True)
        teller.advance(len(corpus.prints), len(corpus.prints))
        return found

    def write(self, parts: Sequence[Part], teller: Progress) -> None:
        """Write the output of parts, each in a task."""
        with in_one_sentence("write the output"):
            self._each(Task(write_apart, self._job, self._work), parts, teller)

    def _solved(self, corpus: Corpus, folder: Path) -> Solution:
        tables = Tables(self._session(), folder.as_uri())
        order = corpus.order(self._job)
        prints = tables.save(
            prints_of(self._session(), self._job, self._work, corpus, order, folder), "prints"
        )
        given = corpus.kept_before(self._job)
        bounds = self._bounds or Bounds.of(self._session())
        settled = Sweeping(tables, prints, self._job.rules, given, bounds, _tell).run()
        said = with_founders(tables, settled.verdicts).toArrow()
        return solution_of(said, order, self._job.rules().detectors, settled.crowding)

    def _each(self, task: Task, parts: Sequence[Part], teller: Progress) -> None:
        """Do a task for each part. Raises DedupError for the first that failed."""
        tasks = self._work.folder / TASKS
        shutil.rmtree(tasks, ignore_errors=True)
        try:
            done = persistently(lambda: spread(self._session(), task, parts, teller.advance))
        finally:
            shutil.rmtree(tasks, ignore_errors=True)
        for each in done:
            if each.error is not None:
                raise DedupError(each.error)


def _tell(sweep: int, changed: int) -> None:
    logger.info("sweep %(sweep)d: %(changed)d verdicts are others", {"sweep": sweep, "changed": changed})
