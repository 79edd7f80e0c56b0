"""``dedupcrawl batch`` on the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from dedupcrawl import Deduplicator
from dedupcrawl.cli import app
from tests.batch.corpus import lines, page, story, write_lines
from tests.cli import errors

ROWS = [page(1, "a"), page(2, "a"), page(1, "b"), {"url": "https://c.example/", "text": "short"}]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "in" / "feed.jsonl", ROWS)
    return tmp_path


def run(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["batch", *args, "--workers", "1"], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout


def complaint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: str) -> str:
    return errors.complaint(monkeypatch, capsys, "batch", *args, "--workers", "1")


def figures(shown: str) -> dict[str, str]:
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in shown.splitlines() if "│" in line]
    return {name: value for name, value, *_ in cells}


def test_the_table_shows_the_summary(folder: Path) -> None:
    found = figures(run("in", "--out", "out", "--set", "min_chars=10"))
    assert found["pages"] == "4"
    assert found["kept"] == "3 (75.0%)"
    assert found["dropped"] == "identical 1"
    assert found["time"].endswith("pages/s")
    assert [row["url"] for row in lines(folder / "out" / "feed.jsonl")] == [
        ROWS[0]["url"],
        ROWS[1]["url"],
        ROWS[3]["url"],
    ]


def test_conspicuous_sites_are_named(folder: Path) -> None:
    text = story(1)
    write_lines(folder / "in" / "feed.jsonl", [{"url": f"https://a.example/{n}", "text": text} for n in range(20)])
    shown = " ".join(run("in", "--out", "out", "--report", "page.html").split())
    said = "Of 20 compared pages of a.example, 19 repeat earlier pages of this site; all of these are like only 1 "
    assert shown.count(said) == 2  # after the table, and with the report
    assert "earlier page; for example https://a.example/19 and https://a.example/0. If these are no copies" in shown
    [site] = orjson.loads((folder / "out" / "summary.json").read_bytes())["sites"]
    assert (site["site"], site["pages"], site["repeats"], site["siblings"]) == ("a.example", 20, 19, 0)
    [again] = orjson.loads(run("in", "--out", "out", "--json"))["sites"]
    assert again == site


def test_the_second_time_there_is_nothing_to_do() -> None:
    run("in", "--out", "out")
    assert "nothing to do: out holds all of this already" in run("in", "--out", "out")


def test_the_summary_as_json(folder: Path) -> None:
    summary = orjson.loads(run("in/feed.jsonl", "--out", "out", "--json", "--detector", "simhash", "--annotate"))
    assert list(summary["request"]["detectors"]) == ["simhash"]
    assert summary["kept"] == 3
    rows = lines(folder / "out" / "feed.jsonl")
    assert [row["dedup_status"] for row in rows] == ["unique", "unique", "duplicate", "unchecked"]
    assert rows[2]["dedup_of"] == ROWS[0]["url"]


def test_what_cannot_be_read_is_listed_on_the_screen(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with (folder / "in" / "feed.jsonl").open("ab") as file:
        file.write(b"no json\n" * 20)
    assert "feed.jsonl, row 4: " in complaint(monkeypatch, capsys, "in", "--out", "out")
    shown = run("in", "--out", "out", "--skip-bad")
    assert figures(shown)["unreadable"].startswith("20 rows")
    assert shown.count("left out: ") == 10
    assert "and 10 more, in out/summary.json" in shown


def test_rows_without_text_are_listed_beside_what_cannot_be_read(folder: Path) -> None:
    rows = [b'{"url": "https://a.example/1"}', b"no json", b'{"url": "https://a.example/2", "text": null, "html": ""}']
    path = folder / "own" / "feed.jsonl"
    write_lines(path, ROWS[:1])
    path.write_bytes(path.read_bytes() + b"\n".join(rows) + b"\n")
    shown = run("own", "--out", "out", "--skip-bad")
    assert figures(shown)["without text"] == "2 rows, kept unchecked"
    assert figures(shown)["kept"].startswith("3 ")
    found = [line for line in shown.splitlines() if line.startswith(("left out: ", "kept unchecked: "))]
    assert [line.partition(" own/feed.jsonl, ")[2][:15] for line in found] == [
        "row 2: the line",
        "row 1: no text:",
        "row 3: no text:",
    ]
    shown = run("own", "--out", "named", "--skip-bad", "--text-field", "text")
    assert "row 1: no text: 'text' is missing or empty" in shown


def test_fields_and_preference_by_name(folder: Path) -> None:
    rows = [{"u": row["url"], "t": row["text"], "when": n, "text": "not this"} for n, row in enumerate(ROWS)]
    write_lines(folder / "own" / "feed.jsonl", rows)
    named = ("--url-field", "u", "--text-field", "t", "--time-field", "when")
    run("own", "--out", "out", "--prefer", "newest", *named)
    assert [row["u"] for row in lines(folder / "out" / "feed.jsonl")] == [row["u"] for row in rows[1:]]
    run("own", "--out", "hosts", "--prefer", "sb.example, sa.example", *named)
    assert [row["u"] for row in lines(folder / "hosts" / "feed.jsonl")] == [row["u"] for row in rows[1:]]


def test_the_latest_page_is_kept_and_added_to_the_store(folder: Path) -> None:
    with Deduplicator("lmdb://store", "news", detectors=("simhash",)) as dedup:
        dedup.add(**page(1, "old"))
    shown = run(
        *("in", "--out", "out", "--detector", "simhash", "--keep", "latest"),
        *("--against", "lmdb://store", "--update", "lmdb://store", "--namespace", "news"),
    )
    found = figures(shown)
    assert found["superseding"].startswith("1; ")
    assert found["exported"] == "2 to lmdb://store (news), 0 were there, 1 removed"
    assert lines(folder / "out" / "superseded.jsonl") == [
        {"url": ROWS[2]["url"], "old": [page(1, "old")["url"], ROWS[0]["url"]]}
    ]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("nowhere", "--out", "out"), "nowhere: no such file or folder"),
        (("in", "--out", "out", "--prefer", "best"), "--prefer = 'best' is not accepted: arrival, longest"),
        (("in", "--out", "out", "--keep", "last"), "keep = 'last' is not accepted"),
        (("in", "--out", "out", "--keep", "latest", "--set", "keep=first"), "--keep = 'latest'"),
        (("in", "--out", "out", "--detector", "magic"), "magic"),
        (("in", "--out", "out", "--set", "treshold=0.7"), "treshold"),
        (("in", "--out", "in"), "in: has other files in it (feed.jsonl)"),
        (("in", "--out", "in/feed.jsonl"), "the output needs a folder, and this is a file"),
        (("in", "--out", "out", "--text-field", "body"), "body"),
        (("in", "--out", "out", "--project"), "--project = True is not accepted: a working directory with"),
        (("in", "--out", "out", "--against", "elsewhere"), "elsewhere: no folder of a batch"),
    ],
)
def test_an_error_is_one_sentence(
    args: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in complaint(monkeypatch, capsys, *args)


def test_without_pyarrow_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'dedupcrawl[batch]'" in complaint(monkeypatch, capsys, "in", "--out", "out")


def make_project(folder: Path, monkeypatch: pytest.MonkeyPatch, settings: str) -> None:
    """Make a Scrapy project of the folder, in a module of its own."""
    name = f"project_of_{folder.parent.name}_{folder.name}".replace("-", "_")
    (folder / "scrapy.cfg").write_text(f"[settings]\ndefault = {name}\n")
    (folder / f"{name}.py").write_text(settings)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(os, "environ", os.environ.copy())  # Scrapy sets variables of the project there
    os.environ.pop("SCRAPY_SETTINGS_MODULE", None)


def test_a_project_that_judges_fields_of_items_needs_a_detector_for_pages(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_project(folder, monkeypatch, 'DEDUP_ITEM_FIELDS = {"title": "exact", "body": "minhash"}\n')
    said = complaint(monkeypatch, capsys, "in", "--out", "out", "--project")
    assert "--project = True is not accepted: a project whose DEDUP_ITEM_FIELDS is no dict" in said
    found = orjson.loads(run("in", "--out", "out", "--project", "--detector", "minhash", "--json"))
    assert [*found["request"]["detectors"]] == ["minhash"]


def test_the_configuration_of_a_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the configuration of the crawl, the batch can use the store of the crawl."""
    detectors = 'DEDUP_DETECTORS = {"simhash": {"distance": 5}}'
    make_project(folder, monkeypatch, f'{detectors}\nDEDUP_NAMESPACE = "news"\nDEDUP_STORE = "lmdb://store"\n')
    summary: dict[str, Any] = orjson.loads(run("in", "--out", "out", "--project", "--update", "lmdb://store", "--json"))
    assert summary["request"]["detectors"]["simhash"]["distance"] == 5
    with Deduplicator("lmdb://store", "news", detectors={"simhash": {"distance": 5}}) as dedup:
        assert dedup.check(text=story(1), url="https://d.example/").of == ROWS[0]["url"]
