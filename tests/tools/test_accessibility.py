"""The pages of the tools have no violation that axe knows, of any impact, in each language, theme and size."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from dedupcrawl.config import Config
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.page import ReadOptions, read_page
from dedupcrawl.tools.inspect.comparison import compare_with_page, compare_with_store
from dedupcrawl.tools.inspect.inspection import inspect_page
from dedupcrawl.tools.inspect.render import render
from dedupcrawl.tools.label.labels import LabelFile, LabelSession
from dedupcrawl.tools.label.server import LabelPage, LabelServer
from dedupcrawl.tools.report.html_report import render_report
from tests.browser import DESKTOP, PATIENCE, PHONE, Tab, browsing
from tests.page.samples import CHINESE, article
from tests.tools.inspect.attacks import USUAL
from tests.tools.label.offers import sampler_of, stories
from tests.tools.label.serving import serving
from tests.tools.report.sample_reports import demo_report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCALES = ("en-US", "zh-CN")


@pytest.fixture(
    params=[*product((DESKTOP, PHONE), (False, True), LOCALES)],
    ids=lambda each: f"{each[0][0]}-{'dark' if each[1] else 'light'}-{each[2]}",
)
def tab(request: pytest.FixtureRequest) -> Iterator[Tab]:
    """A tab of each size, theme and language."""
    size, dark, locale = request.param
    with browsing(size, dark=dark, locale=locale) as opened:
        yield opened
        assert opened.errors == []


def opened(tab: Tab, html: str, folder: Path) -> None:
    file = folder / "page.html"
    file.write_text(html, "utf-8")
    tab.open(file)
    tab.page.wait_for_selector("html[data-ready]", state="attached")


def test_the_report(tab: Tab, tmp_path: Path) -> None:
    report = demo_report()
    opened(tab, render_report(report), tmp_path)
    for summary in ("figure summary", ".cluster summary"):
        tab.page.locator(summary).first.click()
    tab.rest()
    assert tab.violations() == []
    pair = next(at for at, each in enumerate(report.pairs) if each.relation == "near-duplicate")
    row = next(row for row in report.pages if row.of)
    for place in (f"'#pair-{pair}'", f"'#pair-{report.misses[0]}'", f"panel.toPage('{row.url}')"):
        tab.page.evaluate(f"location.hash = {place}")
        tab.page.locator("dialog[open] .verdict").first.wait_for()
        tab.rest()
        assert tab.violations() == [], place


def test_the_inspector(tab: Tab, tmp_path: Path) -> None:
    page = read_page(article(f"<p>{CHINESE}</p>"), "https://b.example/2")
    with Deduplicator(config=Config()) as dedup:
        dedup.add(read_page(article(f"<p>{CHINESE}</p>"), "https://a.example/1"))
        store = compare_with_store(page, dedup.store, Config(), "memory://")
    other = compare_with_page(page, read_page(article(f"<p>{CHINESE[:60]}</p>"), "https://c.example/3"), Config())
    inspected = inspect_page(USUAL.encode(), "https://a.example/flood", ReadOptions())
    opened(tab, render(inspected, store, other), tmp_path)
    assert tab.violations() == []
    tab.page.locator(".legend-of-signs summary").click()
    tab.page.locator("#identity summary").click()
    tab.page.locator("button.sign").first.click()
    assert tab.violations() == []
    for view in tab.page.get_by_role("tab").all()[1:]:
        view.click()
        tab.rest()
        assert tab.violations() == [], view.inner_text()


def test_the_label_page(tab: Tab, tmp_path: Path) -> None:
    with LabelFile(tmp_path / "labels.jsonl") as file:
        session = LabelSession(sampler_of(stories(2)), file, 2)
        with serving(LabelServer(session, LabelPage.of("Crawl of the spider news", "labels.jsonl"))) as server:
            tab.open(server.url)
            count = tab.page.locator("#count")
            for done, view in enumerate(("#one", "#two")):
                expect(count).to_have_text(re.compile(f"^{done} "), timeout=PATIENCE)
                tab.page.locator(view).click()
                tab.page.keyboard.press("ArrowRight")
                tab.rest()
                assert tab.violations() == [], view
                tab.page.keyboard.press("s")
            expect(tab.page.locator("#over")).to_be_visible(timeout=PATIENCE)
            assert tab.violations() == []
