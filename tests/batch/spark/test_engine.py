"""A run on Spark writes what a run here writes, and what a crawl would have said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.batch.running import run
from dedupcrawl.batch.spark.engine import OnSpark
from dedupcrawl.batch.spark.sweeps import Bounds
from dedupcrawl.batch.work import Work
from dedupcrawl.config import Config
from dedupcrawl.errors import DedupError
from dedupcrawl.report.from_batch import report_of_batch
from tests.batch.corpus import Batch, as_said, crawled, lines, reprinted_texts, said, split, write_lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    Starting = Callable[[], SparkSession]

TIMES = {"seconds", "pages_per_second", "out"}


def on_spark(
    session: Starting, batch: Batch, *inputs: Path, out: str = "spark", **how: Any
) -> dict[str, Any]:
    job = batch.job(*inputs, out=out, **how)
    return run(job, OnSpark(session, job, Work(job.out), Bounds(tail=0)))


def written(folder: Path) -> dict[str, bytes]:
    """All files of an output but the summary, which tells of time."""
    files = (path for path in folder.glob("*") if path.is_file() and path.name != "summary.json")
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.parametrize("detectors", [("exact", "minhash"), ("simhash",)])
def test_the_output_is_that_of_one_machine_and_of_a_crawl(
    session: Starting, tmp_path: Path, detectors: tuple[str, ...]
) -> None:
    rows = reprinted_texts()
    config = Config(detectors=detectors)
    batch = Batch(tmp_path, config)
    split(rows, tmp_path / "in", 3)
    there = on_spark(session, batch, tmp_path / "in", annotate=True)
    here = batch.run(tmp_path / "in", out="here", annotate=True)
    assert written(tmp_path / "spark") == written(tmp_path / "here")
    assert {name: value for name, value in there.items() if name not in TIMES} == {
        name: value for name, value in here.items() if name not in TIMES
    }
    told = [row for path in sorted((tmp_path / "spark").glob("*.jsonl")) for row in lines(path)]
    assert said(told) == as_said(crawled(config, rows))


def test_a_second_batch_stands_against_the_first_in_another_order(session: Starting, tmp_path: Path) -> None:
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
    told, same = (report_of_batch(tmp_path / out) for out in ("spark", "here"))
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
