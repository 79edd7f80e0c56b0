"""What a task does with a part, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.batch.formats import find_parts
from dedupcrawl.batch.spark.parts import Done, Task, print_apart
from dedupcrawl.batch.work import Work, read_made
from tests.batch.corpus import Batch, page, write_lines

if TYPE_CHECKING:
    from pathlib import Path


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [page(1, "a")])
    job = Batch(tmp_path).job(path)
    (part,) = find_parts(job.inputs)
    done = Task(print_apart, job, Work(job.out))(part)
    assert "a worker does not see what the driver has written there" in str(done.error)
    assert not job.out.exists()


def test_what_is_whole_is_moved_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [page(1, "a"), page(2, "a")])
    job = Batch(tmp_path).job(path)
    work = Work(job.out)
    work.folder.mkdir(parents=True)
    work.job.touch()
    (part,) = find_parts(job.inputs)
    assert Task(print_apart, job, work)(part) == Done(path.stat().st_size, 2)
    made = read_made(work, part.name)
    assert made is not None
    assert made.rows == 2
    path.write_bytes(b"{")
    done = Task(print_apart, job, work)(part)
    assert "a.jsonl, row 0" in str(done.error)
    assert read_made(work, part.name) == made
    assert not any((work.folder / "tasks").iterdir())
