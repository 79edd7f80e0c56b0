"""A run on Spark writes the same files as a local run, with the verdicts of a crawl.

What a task does with a part, without Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fastwarc.warc import WarcRecordType

from dedupcrawl import Deduplicator
from dedupcrawl.batch.formats import find_parts
from dedupcrawl.batch.runner import run
from dedupcrawl.batch.spark.engine import PartTask, SparkEngine, TaskResult, fingerprint_in_task
from dedupcrawl.batch.spark.sweeps import SweepLimits
from dedupcrawl.batch.workdir import Workdir, read_part_state
from dedupcrawl.config import Config
from dedupcrawl.errors import DedupError
from dedupcrawl.tools.report.from_batch import report_from_batch
from tests.batch.corpus import (
    Batch,
    annotated_verdicts,
    crawled,
    lines,
    page,
    reprinted_texts,
    split,
    verdict_tuples,
    write_lines,
)
from tests.batch.formats.test_warc_revisits import captured, html, records
from tests.batch.formats.warcs import warc_in
from tests.batch.test_site_tables import crawled as crawled_with_memory
from tests.batch.test_site_tables import site
from tests.test_site_memory import POSTS, crawl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    Starting = Callable[[], SparkSession]


TIMES = {"seconds", "pages_per_second", "out"}


def on_spark(session: Starting, batch: Batch, *inputs: Path, out: str = "spark", **how: Any) -> dict[str, Any]:
    job = batch.job(*inputs, out=out, **how)
    return run(job, SparkEngine(session, job, Workdir(job.out), SweepLimits(tail=0)))


def written(folder: Path) -> dict[str, bytes]:
    """All files of an output but the summary, which contains durations."""
    files = (path for path in folder.glob("*") if path.is_file() and path.name != "summary.json")
    return {path.name: path.read_bytes() for path in files}


def test_the_output_is_that_of_one_machine_and_of_a_crawl(session: Starting, tmp_path: Path) -> None:
    rows = reprinted_texts()
    batch = Batch(tmp_path, Config(site_memory=False))
    split(rows, tmp_path / "in", 3)
    there = on_spark(session, batch, tmp_path / "in", annotate=True)
    here = batch.run(tmp_path / "in", out="here", annotate=True)
    assert written(tmp_path / "spark") == written(tmp_path / "here")
    assert {name: value for name, value in there.items() if name not in TIMES} == {
        name: value for name, value in here.items() if name not in TIMES
    }
    told = [row for path in sorted((tmp_path / "spark").glob("*.jsonl")) for row in lines(path)]
    assert annotated_verdicts(told) == verdict_tuples(crawled(Config(), rows))


@pytest.mark.parametrize("against", [False, True])
def test_what_sites_repeat_is_left_out_as_by_a_local_batch(session: Starting, tmp_path: Path, against: bool) -> None:
    rows = site()
    split(rows, tmp_path / "in", 3)
    how: dict[str, Any] = {"annotate": True}
    if against:
        with Deduplicator(f"lmdb://{tmp_path}/store") as dedup:
            crawl([post.on() for post in POSTS[:10]], dedup)
        how["against"] = (f"lmdb://{tmp_path}/store",)
    batch = Batch(tmp_path)
    there = on_spark(session, batch, tmp_path / "in", **how)
    here = batch.run(tmp_path / "in", out="here", **how)
    assert written(tmp_path / "spark") == written(tmp_path / "here")
    works = [Workdir(tmp_path / out) for out in ("spark", "here")]
    assert works[0].site_tables.read_bytes() == works[1].site_tables.read_bytes()
    assert {name: value for name, value in there.items() if name not in TIMES} == {
        name: value for name, value in here.items() if name not in TIMES
    }
    assert there["unchecked"] == {"template": 2}
    told = [row for path in sorted((tmp_path / "spark").glob("*.jsonl")) for row in lines(path)]
    assert against or annotated_verdicts(told) == crawled_with_memory(tmp_path, rows, out="spark")


def test_a_second_batch_is_compared_with_the_first_in_another_order(session: Starting, tmp_path: Path) -> None:
    rows = reprinted_texts(200)
    batch = Batch(tmp_path)
    cut = len(rows) * 2 // 5
    first, second = (write_lines(tmp_path / name / "a.jsonl", part) for name, part in
                     (("one", rows[:cut]), ("two", rows[cut:])))  # fmt: skip
    batch.run(first, out="first")
    how: dict[str, Any] = {"against": (str(tmp_path / "first"),), "prefer": ("longest",)}
    on_spark(session, batch, second, **how)
    batch.run(second, out="here", **how)
    assert written(tmp_path / "spark") == written(tmp_path / "here")
    told, same = (report_from_batch(tmp_path / out) for out in ("spark", "here"))
    assert (told.pages, told.pairs, told.misses) == (same.pages, same.pairs, same.misses)
    assert len(batch.kept("spark")) < len(rows) - cut


def test_what_cannot_be_read_ends_the_run_in_one_sentence(session: Starting, tmp_path: Path) -> None:
    bad = tmp_path / "a.jsonl"
    bad.write_bytes(b'{"url": "https://a.example/1", "text": "ice"}\n{"url": \n')
    batch = Batch(tmp_path)
    with pytest.raises(DedupError, match=r"a\.jsonl, row 1: .*--skip-bad"):
        on_spark(session, batch, bad)
    assert not (tmp_path / "spark" / "a.jsonl").exists()
    assert not (tmp_path / "spark" / "summary.json").exists()
    summary = on_spark(session, batch, bad, skip_bad=True)
    assert batch.kept("spark") == ["https://a.example/1"]
    assert summary["pages"] == 1
    assert not list((tmp_path / "spark").rglob(".unfinished*"))
    assert not (tmp_path / "spark" / "_dedupcrawl" / "tasks").exists()


def test_a_worker_that_does_not_see_the_folder_reports_it(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [page(1, "a")])
    job = Batch(tmp_path).job(path)
    (part,) = find_parts(job.inputs)
    done = PartTask(fingerprint_in_task, job, Workdir(job.out))(part)
    assert "a worker does not see what the driver has written there" in str(done.error)
    assert not job.out.exists()


def test_what_is_whole_is_moved_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [page(1, "a"), page(2, "a")])
    job = Batch(tmp_path).job(path)
    work = Workdir(job.out)
    work.folder.mkdir(parents=True)
    work.job.touch()
    (part,) = find_parts(job.inputs)
    assert PartTask(fingerprint_in_task, job, work)(part) == TaskResult(path.stat().st_size, 2)
    made = read_part_state(work, part.name)
    assert made is not None
    assert made.rows == 2
    path.write_bytes(b"{")
    done = PartTask(fingerprint_in_task, job, work)(part)
    assert "a.jsonl, row 0" in str(done.error)
    assert read_part_state(work, part.name) == made
    assert not any((work.folder / "tasks").iterdir())


def test_scores_clusters_and_revisits_are_those_of_one_machine(session: Starting, tmp_path: Path) -> None:
    rows = [row | {"rank": number % 7} for number, row in enumerate(reprinted_texts(200))]
    batch = Batch(tmp_path)
    split(rows, tmp_path / "in", 3)
    for name, how in (("scores", {"prefer": ("score:rank",)}), ("clusters", {"drop_clusters": True, "annotate": True})):
        there = on_spark(session, batch, tmp_path / "in", out=f"{name}-spark", **how)
        here = batch.run(tmp_path / "in", out=f"{name}-here", **how)
        assert written(tmp_path / f"{name}-spark") == written(tmp_path / f"{name}-here")
        assert there["dropped"] == here["dropped"]
    warcs = [warc_in(tmp_path, captured(id, html(1)), captured(f"{id}2", html(2)), name=f"{id}.warc") for id in "ab"]
    on_spark(session, batch, *warcs, out="revisits-spark", revisits=True)
    batch.run(*warcs, out="revisits-here", revisits=True)
    assert written(tmp_path / "revisits-spark") == written(tmp_path / "revisits-here")
    assert (
        sum(each["type"] is WarcRecordType.revisit for each in records(tmp_path / "revisits-spark" / "b.warc.gz")) == 2
    )
