"""``dedupcrawl report`` and ``dedupcrawl batch --report`` on the command line."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from dedupcrawl import Deduplicator, Page
from dedupcrawl.cli import app
from dedupcrawl.ledger.ledger import Ledger
from tests.batch.corpus import page, story, write_lines
from tests.browser import browsing
from tests.cli import errors
from tests.tools.report.judged_ledgers import ABOUT, web, write

ROWS = [page(1, "a"), page(2, "a"), page(1, "b"), {"url": "https://c.example/", "text": "short"}]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, args, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout


def complaint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: str) -> str:
    return errors.complaint(monkeypatch, capsys, *args)


def test_a_ledger_becomes_a_page(folder: Path) -> None:
    write(folder / "run.ledger", web())
    said = run("report", "run.ledger")
    page = (folder / "report.html").read_text("utf-8")
    assert said.startswith("report.html: ")
    assert said.endswith("kB, 12 pages, 4 dropped\n")
    assert page.startswith("<!doctype html>")
    assert "Crawl of the spider news" in page


def test_conspicuous_sites_are_printed_first(folder: Path) -> None:
    text = story(1)
    write(folder / "run.ledger", [Page(text=text, url=f"https://a.example/{number}") for number in range(20)])
    said = " ".join(run("report", "run.ledger").split())
    assert said.startswith("Of 20 compared pages of a.example, 19 repeat earlier pages of this site; ")
    assert said.endswith("kB, 20 pages, 19 dropped")
    [site] = json.loads(run("report", "run.ledger", "--json"))["sites"]
    assert (site["kind"], site["site"], site["repeats"]) == ("alike", "a.example", 19)


def test_ledgers_of_workers_become_one_page(folder: Path) -> None:
    store = f"lmdb://{folder}/store"
    write(folder / "one.ledger", web()[:6], store=store)
    write(folder / "two.ledger", web()[6:], store=store)
    assert "12 pages, 4 dropped" in run("report", "one.ledger", "two.ledger", "-o", "both.html")
    assert (folder / "both.html").exists()
    assert not (folder / "report.html").exists()


def test_a_ledger_that_is_being_written_can_be_shown(folder: Path) -> None:
    with Ledger.create(folder / "run.ledger", ABOUT) as ledger:
        ledger.count("checked", 3)
        ledger.flush()
        assert "3 pages, 0 dropped" in run("report", "run.ledger")
    assert "has not ended, or was killed" in (folder / "report.html").read_text("utf-8")


def test_a_batch_becomes_a_page(folder: Path) -> None:
    write_lines(folder / "in" / "feed.jsonl", ROWS)
    run("batch", "in", "--out", "out", "--workers", "1")
    assert "4 pages, 1 dropped" in run("report", "out", "-o", "pages/batch.html")
    assert "Batch out" in (folder / "pages" / "batch.html").read_text("utf-8")


def test_a_batch_leaves_its_page_at_its_end_and_again_when_there_is_nothing_to_do(folder: Path) -> None:
    write_lines(folder / "in" / "feed.jsonl", ROWS)
    how = ("batch", "in", "--out", "out", "--report", "out/report.html", "--workers", "1")
    assert "out/report.html: " in run(*how)
    (folder / "out" / "report.html").unlink()
    assert "out/report.html: " in run(*how)
    assert (folder / "out" / "report.html").stat().st_size > 1000


def test_a_batch_that_writes_json_writes_nothing_else(folder: Path) -> None:
    write_lines(folder / "in" / "feed.jsonl", ROWS)
    said = run("batch", "in", "--out", "out", "--report", "report.html", "--json", "--workers", "1")
    assert orjson.loads(said)["pages"] == 4
    assert (folder / "report.html").exists()


def test_a_store_becomes_a_page(folder: Path) -> None:
    for namespace in ("news", "other"):
        with Deduplicator("lmdb://store", namespace) as dedup:
            dedup.add(text=ROWS[0]["text"], url="https://a.example/1")
    assert "1 page, 0 dropped" in run("report", "lmdb://store", "--namespace", "news")
    page = (folder / "report.html").read_text("utf-8")
    assert "<dt>Pages</dt>" in page
    assert "<dt>Dropped</dt>" not in page  # a store does not know dropped pages


def test_all_that_is_shown_as_json(folder: Path) -> None:
    write(folder / "run.ledger", web())
    told = orjson.loads(run("report", "run.ledger", "--json"))
    assert (told["figures"]["dropped"], len(told["pages"]), told["pages"][0]["outcome"]) == (4, 12, "dropped")
    assert told["pairs"][told["pages"][0]["pair"]]["old"] == told["pages"][0]["of"]
    assert not (folder / "report.html").exists()


def test_lone_surrogates(folder: Path) -> None:
    """URLs and texts of a batch may contain lone surrogates, which UTF-8 cannot encode."""
    text = ROWS[0]["text"]
    lines = [f'{{"url": "https://{host}.example/\\ud800", "text": "{text} \\udfff"}}\n' for host in "ab"]
    (folder / "feed.jsonl").write_text("".join(lines))
    run("batch", "feed.jsonl", "--out", "out", "--workers", "1")
    assert "2 pages, 1 dropped" in run("report", "out")
    (folder / "report.html").read_text("utf-8")
    assert json.loads(run("report", "out", "--json"))["figures"]["dropped"] == 1


def test_the_page_is_opened_on_request(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    write(folder / "run.ledger", web()[:2])
    run("report", "run.ledger")
    assert opened == []
    result = CliRunner().invoke(app, ["report", "run.ledger", "--open"], catch_exceptions=False)
    assert "no browser can be opened here; the page is report.html" in result.stderr
    assert opened == [(folder / "report.html").as_uri()]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (
            ["gone.ledger"],
            "gone.ledger: no such file or folder; accepted are ledgers of crawls, or one folder of a batch",
        ),
        (["feed.jsonl"], "feed.jsonl is no ledger"),
        (["empty"], "empty: no folder of a batch"),
        (["store"], "store: no folder of a batch; as a store it is named lmdb://store"),
        (["."], ".: no folder of a batch; ledgers in it: run.ledger"),
        (["run.ledger", "run.ledger"], "each once"),
        (["run.ledger", "empty"], "RUN = 'run.ledger, empty' is not accepted"),
        (["run.html"], "run.html: this is the HTML page; its ledger is run.ledger"),
        (["run.ledger", "--namespace", "news"], "stores have namespaces"),
        (["lmdb://gone"], "gone"),
        (["run.ledger", "-o", "feed.jsonl"], "feed.jsonl: is no report of dedupcrawl, so it is not overwritten"),
        (["run.ledger", "-o", "empty"], "empty: the report is one file, and this is a folder"),
        (["run.ledger", "-o", "feed.jsonl/report.html"], "feed.jsonl/report.html: cannot be written"),
    ],
)
def test_an_error_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], args: list[str], says: str
) -> None:
    write(folder / "run.ledger", web()[:2])
    write_lines(folder / "feed.jsonl", ROWS)
    (folder / "empty").mkdir()
    Deduplicator("lmdb://store").close()
    (folder / "run.html").touch()
    before = (folder / "feed.jsonl").read_bytes()
    assert says in complaint(monkeypatch, capsys, "report", *args)
    assert (folder / "feed.jsonl").read_bytes() == before


def test_a_batch_checks_the_report_file_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(folder / "feed.jsonl", ROWS)
    said = complaint(monkeypatch, capsys, "batch", "feed.jsonl", "--out", "out", "--report", "feed.jsonl")
    assert "feed.jsonl: is no report of dedupcrawl" in said
    assert not (folder / "out").exists()


def test_an_unfinished_batch_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(folder / "feed.jsonl", ROWS)
    run("batch", "feed.jsonl", "--out", "out", "--workers", "1")
    (folder / "out" / "summary.json").unlink()
    assert "has not come to its end; run it again first" in complaint(monkeypatch, capsys, "report", "out")


def test_a_ledger_needs_no_arrow_and_a_batch_reports_that_it_does(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "run.ledger", web())
    (folder / "out").mkdir()
    program = "import sys; sys.modules['pyarrow'] = None; from dedupcrawl.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "report", "run.ledger"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'dedupcrawl[batch]'" in complaint(monkeypatch, capsys, "report", "out")


def test_a_bar_is_drawn_on_a_terminal(folder: Path) -> None:
    write(folder / "run.ledger", web())
    program = "from dedupcrawl.cli import main; main()"
    master, slave = pty.openpty()
    command = [sys.executable, "-c", program, "report", "run.ledger"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, text=True) as running:
        os.close(slave)
        shown = b""
        with suppress(OSError):  # Linux reports a closed terminal as an error
            while piece := os.read(master, 1 << 16):
                shown += piece
        os.close(master)
        said = running.communicate()[0]
    assert running.returncode == 0
    assert b"pairs" in shown
    assert said.startswith("report.html: ")


def test_the_page_of_a_batch_works_in_a_browser(folder: Path) -> None:
    evil = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
    rows = [row | {"text": f"{row['text']} {evil}"} for row in (page(1, "a"), page(1, "b"), page(2, "a"))]
    write_lines(folder / "in" / "feed.jsonl", rows)
    run("batch", "in", "--out", "out", "--workers", "1", "--report", "report.html")
    with browsing() as tab:
        tab.open(folder / "report.html")
        tab.page.wait_for_load_state("networkidle")
        assert "Batch out" in tab.page.title()
        assert "https://sb.example/1" in tab.page.inner_text("body")
        assert (tab.errors, tab.requests) == ([], [])
