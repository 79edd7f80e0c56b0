"""The engine of one machine: fingerprints and output in processes, the verdicts in this one."""

from __future__ import annotations

import pickle
from collections import deque
from typing import TYPE_CHECKING

from dedupcrawl.batch.filing import file_chunk
from dedupcrawl.batch.formats import Chunk, PartError, format_named
from dedupcrawl.batch.hands import hands, outcome
from dedupcrawl.batch.printing import write_prints
from dedupcrawl.batch.solving import solve
from dedupcrawl.batch.writing import write_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from dedupcrawl.batch.corpus import Corpus
    from dedupcrawl.batch.filing import Filed
    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.hands import Hands
    from dedupcrawl.batch.job import Job
    from dedupcrawl.batch.solving import Solution
    from dedupcrawl.batch.work import Work
    from dedupcrawl.progress import Progress

AHEAD = 3  #: chunks for each worker that are begun before what comes of them is needed


class Local:
    """Does the three steps of a run on this machine."""

    def __init__(self, job: Job, work: Work) -> None:
        self._job = job
        self._work = work

    def fingerprint(self, parts: Sequence[Part], teller: Progress) -> None:
        """Fingerprint parts, their chunks over all processes."""
        with hands(self._job.workers) as workers:
            ahead = _Ahead(self._job, workers, parts, teller)
            for part in parts:
                write_prints(self._job, self._work, part, ahead.of(part))

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
        with hands(1 if len(parts) == 1 else self._job.workers) as workers:
            begun = [(part, workers.submit(write_part, self._job, self._work, part)) for part in parts]
            for part, future in begun:
                rows = outcome(future, str(part.path))
                teller.advance(rows, rows)


class _Ahead:
    """Hands out the chunks of all parts in their order, some ahead, and gives back what came of them."""

    def __init__(self, job: Job, workers: Hands, parts: Sequence[Part], teller: Progress) -> None:
        self._job = pickle.dumps(job)
        self._fields = job.fields
        self._workers = workers
        self._teller = teller
        self._chunks = self._cut(parts)
        self._begun: deque[tuple[Part, Chunk | PartError | None, Future[Filed] | None]] = deque()
        self._left: set[Part] = set()  # of which no more is wanted

    def of(self, part: Part) -> Iterator[Filed]:
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
                filed = outcome(future, f"{part.path}, rows from {chunk.first} on")
                self._teller.advance(filed.read - read, filed.rows)
                read = filed.read
                yield filed
        finally:
            self._left.add(part)

    def _begin_some(self) -> None:
        while len(self._begun) < AHEAD * self._workers.count:
            part, chunk = next(self._chunks, (None, None))
            if part is None:
                return
            future = None
            if isinstance(chunk, Chunk):
                future = self._workers.submit(file_chunk, self._job, part.format, chunk)
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
