"""The demo end to end: two runs of the real crawler."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from io import StringIO
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from dedupcrawl.cli import app
from dedupcrawl.errors import DedupError
from dedupcrawl.ledger.ledger import Ledger
from dedupcrawl.ledger.ledger_schema import Outcome
from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.crawl import DemoFolder, DemoReport, PageLabel, PageOutcome, print_verdicts, run_demo
from dedupcrawl.tools.demo.sites import FIRST_PORT, HOST
from dedupcrawl.tools.report.from_ledgers import report_from_ledgers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTENT = load_content()
PAGES = len(CONTENT.pages)
CLUSTERS = {page.cluster for page in CONTENT.pages}
_FIGURES = {"pages": PAGES, "distinct": len(CLUSTERS), "wrongly_dropped": 0, "missed": 0}


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").strip().split("\n")]


def hold_ports(journal: list[dict[str, Any]], stack: ExitStack) -> None:
    """Keep the ports that the system chose for the sites of a crawl, or another crawl may get them for other sites."""
    for port in {urlsplit(row["url"]).port or 0 for row in journal} - {*range(FIRST_PORT, FIRST_PORT + 5)}:
        with suppress(OSError):  # somebody else has got it
            stack.enter_context(socket.create_server((HOST, port)))


@pytest.fixture(scope="module")
def crawled(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[Path, bytes, list[dict[str, Any]], str]]:
    """Crawl twice, on different ports; the folder, items and journal after the first, and the output."""
    out = tmp_path_factory.mktemp("demo") / "demo-out"
    run_demo(out, first_port=0)
    between = [(out / name).read_bytes() for name in ("summary.json", "items.jsonl")]
    journal = rows(out / "journal.jsonl")
    for name in ("report.ledger", "report.html", "crawl.log"):
        shutil.copy(out / name, out / f"first-{name}")
    with ExitStack() as stack:
        hold_ports(journal, stack)
        request.getfixturevalue("forked_scrapy")  # the first crawl has a process of its own, as the user's
        shown = CliRunner().invoke(app, ["demo", "--out", str(out)])
        assert shown.exit_code == 0, shown.output
        first = json.loads(between[0])
        assert first == _FIGURES | {"kept": len(CLUSTERS), "dropped": PAGES - len(CLUSTERS)}
        hold_ports(rows(out / "journal.jsonl"), stack)
        yield out, between[1], journal, shown.output


Crawled = tuple["Path", bytes, list[dict[str, Any]], str]


def test_the_first_crawl_keeps_every_content_once(crawled: Crawled) -> None:
    of_path = {page.path: page.cluster for page in CONTENT.pages}
    items = [json.loads(line) for line in crawled[1].decode().strip().split("\n")]
    kept = [of_path["/" + item["url"].split("/", 3)[3]] for item in items]
    assert sorted(kept) == sorted(CLUSTERS)
    assert all(item["text"] and item["title"] for item in items)
    assert all(item["dedup"] is None for item in items)


def test_index_pages_pass_unjudged(crawled: Crawled) -> None:
    listed = {section.path for site in CONTENT.sites.values() for section in site.sections} | {"/"}
    index = [row for row in crawled[2] if "/" + row["url"].split("/", 3)[3] in listed]
    assert len(index) == len(CONTENT.sites) + sum(len(site.sections) for site in CONTENT.sites.values())
    assert all(row["kept"] for row in index)
    assert {row["verdict"].get("reason") for row in index} == {"index"}


def test_dropped_pages_name_a_kept_page_of_their_content(crawled: Crawled) -> None:
    of_path = {page.path: page.cluster for page in CONTENT.pages}
    kept = {row["url"] for row in crawled[2] if row["kept"]}
    for row in crawled[2]:
        if not row["kept"]:
            first = row["verdict"]["of"]
            assert first in kept
            assert of_path["/" + first.split("/", 3)[3]] == of_path["/" + row["url"].split("/", 3)[3]]


def test_the_ledger_names_for_every_dropped_page_what_it_repeats_and_why(crawled: Crawled) -> None:
    out, _, journal, shown = crawled
    dropped = {row["url"]: row["verdict"] for row in journal if not row["kept"]}
    with Ledger.open(out / "first-report.ledger") as ledger:
        found = {row.entry.url: row for row in ledger.rows(Outcome.DROPPED)}
        assert found.keys() == dropped.keys()
        for url, row in found.items():
            verdict = row.entry.verdict
            assert verdict.to_dict() == dropped[url]
            assert verdict.of in {kept.entry.url for kept in ledger.rows(Outcome.KEPT)}
            held = ledger.comparisons(row.id)[0]
            assert held.url == verdict.of
            (assessment,) = (each for each in held.assessments if each.detector == verdict.detector)
            assert assessment.match is not None
            assert assessment.match.relation is verdict.relation
            assert {**assessment.match.evidence, "layout": verdict.evidence["layout"]} == verdict.evidence
            for page in (row, *ledger.find(verdict.of or "")):
                assert ledger.text(page.id)
    assert f"To look at: {out / 'report.html'}" in shown
    assert (out / "first-report.html").stat().st_size > 10_000


def test_the_figures_of_the_report_are_those_of_the_summary_and_the_stats(crawled: Crawled) -> None:
    out, _, journal, _ = crawled
    log = (out / "first-crawl.log").read_text("utf-8")
    stats = {name: int(n) for name, n in re.findall(r"'dedup/([^']+)': (\d+)", log)}
    with Ledger.open(out / "first-report.ledger") as ledger:
        assert {name: n for name, n in ledger.counts.items() if name != "bytes"} == stats
    figures = report_from_ledgers([out / "first-report.ledger"]).figures
    assert (figures.dropped, figures.kept) == (PAGES - len(CLUSTERS), len(CLUSTERS) + figures.unchecked["index"])
    assert figures.pages == len(journal)
    assert figures.bytes_saved == stats["bytes_saved"]


def test_the_second_crawl_keeps_nothing_new(crawled: Crawled) -> None:
    out, items, _, shown = crawled
    summary = json.loads((out / "summary.json").read_text())
    assert summary == _FIGURES | {"kept": 0, "dropped": PAGES}
    assert (out / "items.jsonl").read_bytes() == items
    assert "nothing new" in shown


def test_the_third_crawl_finds_the_addresses_of_the_second_unchanged(crawled: Crawled) -> None:
    out = crawled[0]
    assert run_demo(out).kept == 0
    assert (out / ".scrapy" / "dedup").is_dir()


def test_a_verdict_against_the_truth_ends_with_status_1(
    crawled: Crawled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if the earlier crawls had kept nothing: now every drop is wrong.
    monkeypatch.setattr(DemoFolder, "kept_urls", lambda _: [])
    result = CliRunner().invoke(app, ["demo", "--out", str(crawled[0])])
    assert result.exit_code == 1
    assert f"{len(CLUSTERS)} wrongly dropped" not in result.output
    assert f"{PAGES} wrongly dropped" in result.output


#: A demo whose sites answer 80 requests, and no more: 30 articles or more are journalled.
_UNFINISHED = """
import itertools, sys, threading
from dedupcrawl.cli import app
from dedupcrawl.tools.demo.sites import _SiteHandler

asked, answer = itertools.count(), _SiteHandler.do_GET
_SiteHandler.do_GET = lambda handler: answer(handler) if next(asked) < 80 else threading.Event().wait()
app(["demo", "--out", sys.argv[1]])
"""


@pytest.mark.usefixtures("forked_scrapy")
def test_a_demo_that_was_killed_is_made_up_for(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _UNFINISHED, str(tmp_path)]
    killed = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    journal = tmp_path / "journal.jsonl"
    while killed.poll() is None and not (journal.exists() and journal.read_text().count("\n") > 15):
        time.sleep(0.01)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait(600)
    assert not (tmp_path / "summary.json").exists()
    assert run_demo(tmp_path) == DemoReport(**_FIGURES, kept=len(CLUSTERS), dropped=PAGES - len(CLUSTERS))


def test_a_crawler_that_fails_is_reported_with_its_last_words(tmp_path: Path) -> None:
    # The folder of the store is a file: nothing can be remembered.
    folder = DemoFolder(tmp_path)
    folder.prepare(fresh=False)
    (tmp_path / ".scrapy").write_text("")
    with pytest.raises(DedupError, match=r"crawl\.log"):
        run_demo(tmp_path, first_port=0)


@pytest.mark.parametrize(("columns", "left_out"), [(60, "detector, of"), (80, "detector"), (120, ""), (200, "")])
def test_the_table_fits_the_terminal(columns: int, left_out: str, tmp_path: Path) -> None:
    """Addresses are cut; relations and similarities are whole."""
    verdict = {"status": "duplicate", "relation": "near-duplicate", "similarity": 0.929, "detector": "minhash"}
    label = PageLabel("jiangchao", "/html/2024-04/01/a-long-name-of-an-article.htm", "other-ending", "tides")
    outcome = PageOutcome(label, kept=False, verdict=verdict | {"of": "http://127.0.0.1:1/news/another-name.htm"})
    console = Console(width=columns, file=StringIO())
    print_verdicts(console, tmp_path, {"127.0.0.1:1": "harbour"}, [(outcome, None)] * 2, DemoReport(2, 1, 0, 2, 0, 0))
    lines = cast("StringIO", console.file).getvalue().split("\n")
    (heads, *_), rows = [line for line in lines if "similarity" in line], [line for line in lines if "dropped " in line]
    assert max(map(cell_len, lines[: lines.index(rows[-1])])) <= columns
    assert all("near-duplicate" in row and "0.929" in row for row in rows[:2])
    assert [name in heads.split() for name in ("page", "of", "detector")] == [
        True,
        "of" not in left_out,
        "detector" not in left_out,
    ]
