"""Steps 1 and 3 for a part of a corpus, as a task does them.

A worker that Spark gave up may still be at work while another does its part again. So each task writes into a
folder of its own, and what is whole is moved to its place in one step.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from dedupcrawl.batch.printing import print_part
from dedupcrawl.batch.work import Work
from dedupcrawl.batch.writing import write_part
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job

TASKS = "tasks"  #: below the work folder: a folder for each task


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a part. A failure that another attempt would only repeat is told, not raised."""

    amount: int = 0  #: of what the progress is counted in
    rows: int = 0
    error: str | None = None


@dataclass(frozen=True)
class _Printing(Work):
    """The places of a run, but fingerprints are written elsewhere."""

    own: Path

    def prints(self, name: str) -> Path:
        """Where this task writes the fingerprints of a part."""
        return self.own / f"{name}.arrow"

    def made(self, name: str) -> Path:
        """Where it writes what they were made of."""
        return self.own / f"{name}.json"


@dataclass(frozen=True)
class _Writing(Work):
    """The places of a run, but the output is written elsewhere."""

    own: Path

    def output(self, name: str) -> Path:
        """Where this task writes the output of a part."""
        return self.own / "output" / name

    def written(self, name: str) -> Path:
        """Where it writes what it was written by."""
        return self.own / f"{name}.json"


def print_apart(job: Job, work: Work, part: Part, own: Path) -> Done:
    """Fingerprint a part; its amount is in bytes."""
    apart = _Printing(work.out, own)
    made = print_part(job, apart, part)
    _move(apart.prints(part.name), work.prints(part.name))
    _move(apart.made(part.name), work.made(part.name))
    return Done(made.size, made.rows)


def write_apart(job: Job, work: Work, part: Part, own: Path) -> Done:
    """Write the output of a part; its amount is in rows."""
    apart = _Writing(work.out, own)
    rows = write_part(job, apart, part)
    if apart.output(part.name).exists():
        _move(apart.output(part.name), work.output(part.name))
    else:  # nothing of the part could be read, which the user has allowed
        work.output(part.name).unlink(missing_ok=True)
    _move(apart.written(part.name), work.written(part.name))
    return Done(rows, rows)


def _move(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    path.replace(target)


@dataclass(frozen=True, slots=True)
class Task:
    """Does one thing to a part; it travels to the workers."""

    do: Callable[[Job, Work, Part, Path], Done]
    job: Job
    work: Work

    def __call__(self, part: Part) -> Done:
        """Do it, in a folder of its own."""
        if not self.work.job.exists():
            return Done(error=_unshared(self.work.out))
        own = self.work.folder / TASKS / uuid4().hex
        try:
            return self.do(self.job, self.work, part, own)
        except DedupError as error:
            return Done(error=str(error))
        finally:
            shutil.rmtree(own, ignore_errors=True)


def _unshared(out: Path) -> str:
    return (
        f"{out}: a worker does not see what the driver has written there; "
        "on Spark --out, and the inputs, have to be on a disk that the driver and all workers share"
    )
