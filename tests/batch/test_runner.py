"""Runs over a corpus: verdicts, output, and what a repeated run does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from dedupcrawl.batch import fingerprinting, local_engine
from dedupcrawl.batch.fingerprinting import MAX_LISTED_ROWS
from dedupcrawl.batch.formats import Fields
from dedupcrawl.batch.verdicts import read_annotations
from dedupcrawl.batch.workdir import Workdir
from dedupcrawl.config import Config
from dedupcrawl.errors import DedupError
from tests.batch.corpus import (
    Batch,
    annotated_verdicts,
    crawled,
    lines,
    listing,
    page,
    reprinted_texts,
    reprints,
    split,
    verdict_tuples,
    without_cluster,
    write_lines,
)

DETECTORS = [("exact", "minhash"), ("simhash",)]


def annotated(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(folder.glob("*.jsonl")) for row in lines(path)]


@pytest.mark.parametrize("detectors", DETECTORS)
def test_the_verdicts_are_those_of_a_crawl(batch: Batch, detectors: tuple[str, ...]) -> None:
    rows, config = reprinted_texts(), Config(detectors=detectors)
    batch.run(split(rows, batch.folder / "in"), config=config)
    verdicts = crawled(config, rows)
    work = Workdir(batch.folder / "out")
    told = [row for number in range(3) for row in read_annotations(work.verdicts(f"part-{number}.jsonl")).to_pylist()]
    assert without_cluster(annotated_verdicts(told)) == without_cluster(verdict_tuples(verdicts))
    kept = [row for row, verdict in zip(rows, verdicts, strict=True) if verdict.keep]
    assert annotated(batch.folder / "out") == kept


def test_pages_are_read_in_processes_as_a_crawl_reads_them(batch: Batch) -> None:
    rows = [dict(row) for row in reprints()[:50]]
    rows += [{"url": f"https://a.example/{n}", "html": listing(n % 2)} for n in range(4)]
    summary = batch.run(split(rows, batch.folder / "in"), annotate=True, workers=2)
    verdicts = crawled(Config(), rows)
    assert annotated_verdicts(annotated(batch.folder / "out")) == verdict_tuples(verdicts)
    assert [(verdict.reason, verdict.keep) for verdict in verdicts[-4:]] == [("index", True)] * 2 + [(None, False)] * 2
    assert summary["unchecked"]["index"] >= 2
    assert summary["pages"] == len(rows)
    assert summary["kept"] == sum(verdict.keep for verdict in verdicts)


ROWS = [page(1, "a"), page(2, "a"), page(1, "b"), page(3, "a"), {"url": "https://e.example/", "text": " "}]


def test_kept_lines_are_copied_byte_for_byte(batch: Batch) -> None:
    path = batch.folder / "in" / "feed.jsonl"
    write_lines(path, ROWS)
    path.write_bytes(path.read_bytes().replace(b'{"url"', b'{  "price": 1.50, "url"'))
    before = path.read_bytes().splitlines(keepends=True)
    summary = batch.run(batch.folder / "in")
    assert (batch.folder / "out" / "feed.jsonl").read_bytes() == b"".join([*before[:2], *before[3:]])
    assert summary["dropped"] == {"identical": 1}
    assert summary["unchecked"] == {"empty": 1}
    assert summary["parts"][0]["kept"] == summary["kept"] == 4
    on_disk = orjson.loads((batch.folder / "out" / "summary.json").read_bytes())
    assert on_disk | {"already": False} == summary
    assert summary["request"]["configuration"]["threshold"] == 0.8


def test_a_run_that_is_done_is_not_done_again(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    split(ROWS, batch.folder / "in")
    batch.run(batch.folder / "in")
    before = stamps(batch.folder / "out")
    monkeypatch.setattr(local_engine, "write_fingerprints", None)
    again = batch.run(batch.folder / "in")
    assert again["already"]
    assert stamps(batch.folder / "out") == before


def stamps(folder: Path) -> dict[str, int]:
    """When each file was written; the job is written down each time."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in ("job.json", "lock"))
    return {str(path): path.stat().st_mtime_ns for path in files}


def test_a_run_that_was_interrupted_continues_where_it_stopped(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    split(ROWS, batch.folder / "in")
    done: list[str] = []
    through = fingerprinting.write_fingerprints

    def breaking(job: Any, work: Workdir, part: Any, pieces: Any) -> Any:
        if part.number == 1 and not done[1:]:
            done.append("broken")
            raise KeyboardInterrupt
        done.append(part.name)
        return through(job, work, part, pieces)

    monkeypatch.setattr(local_engine, "write_fingerprints", breaking)
    with pytest.raises(KeyboardInterrupt):
        batch.run(batch.folder / "in")
    assert not (batch.folder / "out" / "summary.json").exists()
    summary = batch.run(batch.folder / "in")
    assert done == ["part-0.jsonl", "broken", "part-1.jsonl", "part-2.jsonl"]
    assert summary["kept"] == 4
    assert summary["fingerprinted"] == 3


def test_a_changed_part_is_done_again_and_so_is_all_output(batch: Batch) -> None:
    split(ROWS, batch.folder / "in")
    batch.run(batch.folder / "in")
    changed = batch.folder / "in" / "part-0.jsonl"
    write_lines(changed, [page(3, "x"), *lines(changed)])
    os.utime(changed, ns=(1, 1))
    summary = batch.run(batch.folder / "in")
    assert summary["fingerprinted"] == 3
    assert batch.kept() == [f"https://{s}.example/{n}" for s, n in (("sx", 3), ("sa", 1), ("sa", 2))] + [
        "https://e.example/"
    ]


def test_new_parts_join_those_that_are_done(batch: Batch) -> None:
    split(ROWS, batch.folder / "in")
    batch.run(batch.folder / "in")
    write_lines(batch.folder / "in" / "part-9.jsonl", [page(2, "z"), page(9, "z")])
    summary = batch.run(batch.folder / "in")
    assert summary["fingerprinted"] == 2
    assert batch.kept()[-1] == "https://sz.example/9"


def test_a_missing_output_is_written_again(batch: Batch) -> None:
    split(ROWS, batch.folder / "in")
    batch.run(batch.folder / "in")
    kept = batch.kept()
    (batch.folder / "out" / "part-1.jsonl").unlink()
    assert batch.run(batch.folder / "in")["fingerprinted"] == 0
    assert batch.kept() == kept


@pytest.mark.parametrize(
    ("how", "differs"),
    [
        ({"annotate": True}, "annotate is false there, true here"),
        ({"prefer": ("longest",)}, 'prefer is ["arrival"] there, ["longest"] here'),
        ({"config": Config(threshold=0.7)}, "configuration.threshold is 0.8 there, 0.7 here"),
        ({"config": Config(detectors=("simhash",))}, "detectors.simhash is nothing there"),
        (  # what only comparing uses is in no fingerprint
            {"config": Config(detectors={"exact": {}, "minhash": {"containment": 0.5}})},
            "constants.minhash is nothing there",
        ),
    ],
)
def test_another_job_in_the_same_folder_is_refused(batch: Batch, how: dict[str, Any], differs: str) -> None:
    split(ROWS, batch.folder / "in")
    batch.run(batch.folder / "in")
    with pytest.raises(DedupError, match="holds another batch") as caught:
        batch.run(batch.folder / "in", **how)
    assert differs in str(caught.value)


def test_a_detector_named_without_constants_is_the_same_job(batch: Batch) -> None:
    split(ROWS, batch.folder / "in")
    batch.run(batch.folder / "in", config=Config(detectors=("exact", "minhash")))
    same = Config(detectors={"minhash": {}, "exact": {}})
    assert batch.run(batch.folder / "in", config=same)["already"]


def test_a_run_that_came_to_nothing_does_not_bind_its_folder(batch: Batch) -> None:
    split(ROWS, batch.folder / "in")
    with pytest.raises(DedupError, match="body"):
        batch.run(batch.folder / "in", fields=Fields(text="body"))
    assert batch.run(batch.folder / "in")["kept"] == 4


def test_other_inputs_in_the_same_folder_are_refused(batch: Batch) -> None:
    split(ROWS, batch.folder / "in")
    batch.run(batch.folder / "in")
    (batch.folder / "in" / "part-0.jsonl").unlink()
    with pytest.raises(DedupError, match=r"part-0\.jsonl is among the inputs there, and is not here"):
        batch.run(batch.folder / "in")


def test_a_folder_with_other_files_is_left_alone(batch: Batch) -> None:
    write_lines(batch.folder / "out" / "precious.jsonl", ROWS)
    with pytest.raises(DedupError, match=r"has other files in it \(precious\.jsonl\)"):
        batch.run(split(ROWS, batch.folder / "in"))
    assert lines(batch.folder / "out" / "precious.jsonl") == ROWS


def test_two_runs_do_not_write_at_a_time(batch: Batch) -> None:
    split(ROWS, batch.folder / "in")
    with Workdir(batch.folder / "out").locked(), pytest.raises(DedupError, match="another run is writing there"):
        batch.run(batch.folder / "in")


def test_every_row_that_cannot_be_read_is_named_or_listed(batch: Batch) -> None:
    path = batch.folder / "in" / "feed.jsonl"
    write_lines(path, ROWS)
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([rows[0], b"{broken\n", *rows[1:]]))
    with pytest.raises(DedupError, match=r"feed.jsonl, row 1: .*no JSON.*--skip-bad") as caught:
        batch.run(batch.folder / "in")
    assert "row 1:" in str(caught.value)
    assert not (batch.folder / "out" / "feed.jsonl").exists()
    summary = batch.run(batch.folder / "in", skip_bad=True)
    assert summary["bad"] == {"rows": 1, "broken": 0}
    assert [bad["row"] for bad in summary["parts"][0]["bad_rows"]] == [1]
    assert len(batch.kept()) == 4
    with pytest.raises(DedupError, match="row 1"):
        batch.run(batch.folder / "in")


def test_rows_without_text_are_kept_listed_and_all_counted(batch: Batch) -> None:
    """The list of each file is bounded."""
    blank = [{"url": f"https://a.example/{n}", "text": " "} for n in range(MAX_LISTED_ROWS + 5)]
    rows = [*ROWS[:1], *blank, *ROWS[1:4]]
    write_lines(batch.folder / "in" / "a.jsonl", rows)
    write_lines(batch.folder / "in" / "b.jsonl", [{"url": "https://b.example/1", "title": "Frost"}, *ROWS[:1]])
    first = batch.run(batch.folder / "in")
    assert first["textless"] == MAX_LISTED_ROWS + 6
    assert first["unchecked"]["empty"] == MAX_LISTED_ROWS + 6
    assert lines(batch.folder / "out" / "b.jsonl") == [{"url": "https://b.example/1", "title": "Frost"}]
    parts = first["parts"]
    assert [part["textless"] for part in parts] == [MAX_LISTED_ROWS + 5, 1]
    assert [len(part["textless_rows"]) for part in parts] == [MAX_LISTED_ROWS, 1]
    why = "no text: all columns of the usual names of HTML and text are missing or empty"
    assert parts[1]["textless_rows"] == [{"row": 0, "why": why}]
    assert parts[0]["textless_rows"][-1]["row"] == MAX_LISTED_ROWS
    assert batch.run(batch.folder / "in") | {"already": False} == first  # what is finished is not forgotten


def test_bad_rows_are_left_out_of_an_annotated_output(batch: Batch) -> None:
    path = batch.folder / "in" / "feed.jsonl"
    write_lines(path, ROWS)
    path.write_bytes(b"[]\n" + path.read_bytes())
    batch.run(batch.folder / "in", annotate=True, skip_bad=True)
    assert annotated_verdicts(lines(batch.folder / "out" / "feed.jsonl")) == verdict_tuples(crawled(Config(), ROWS))


def test_a_part_that_is_cut_off_ends_the_run_or_is_kept_as_far_as_it_goes(batch: Batch) -> None:
    whole = [page(number, "a") for number in range(400)]
    path = write_lines(batch.folder / "in" / "a.jsonl.gz", whole)
    write_lines(batch.folder / "in" / "b.jsonl", [page(3, "b"), page(999, "b")])
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(DedupError, match=r"a.jsonl.gz: cannot be read from row \d+ on"):
        batch.run(batch.folder / "in")
    assert not (batch.folder / "out" / "summary.json").exists()
    summary = batch.run(batch.folder / "in", skip_bad=True)
    broken = summary["parts"][0]["broken"]
    assert 0 < broken["row"] < 400
    assert lines(batch.folder / "out" / "a.jsonl.gz") == whole[: broken["row"]]
    assert batch.kept()[-1] == "https://sb.example/999"
    assert summary["bad"] == {"rows": 0, "broken": 1}


def test_a_file_that_is_no_archive_at_all_is_left_out(batch: Batch) -> None:
    (batch.folder / "in").mkdir()
    (batch.folder / "in" / "a.jsonl.gz").write_bytes(b"no gzip")
    write_lines(batch.folder / "in" / "b.jsonl", ROWS)
    with pytest.raises(DedupError, match=r"a\.jsonl\.gz"):
        batch.run(batch.folder / "in")
    summary = batch.run(batch.folder / "in", skip_bad=True)
    assert summary["parts"][0]["broken"]["row"] == 0
    assert not (batch.folder / "out" / "a.jsonl.gz").exists()
    assert len(batch.kept()) == 4


def test_an_empty_corpus_is_one_too(batch: Batch) -> None:
    (batch.folder / "in").mkdir()
    (batch.folder / "in" / "a.jsonl").write_bytes(b"")
    summary = batch.run(batch.folder / "in")
    assert (summary["pages"], summary["kept"]) == (0, 0)
    assert (batch.folder / "out" / "a.jsonl").read_bytes() == b""


def test_full_buckets_are_reported(batch: Batch) -> None:
    """Forty texts at one address: the first of them are out of sight of the last."""
    rows = [page(number, 0, url="https://a.example/") for number in range(40)]
    summary = batch.run(write_lines(batch.folder / "in" / "a.jsonl", rows))
    assert summary["crowded"] == {"buckets": 1, "pages": 7, "fullest": 40}
    assert summary["related"] == {"updated": 39}
