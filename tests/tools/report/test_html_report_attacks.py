"""A report shows any content of crawled pages as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dedupcrawl.tools.report.html_report import render_report
from tests.browser import DESKTOP, PHONE, browsing
from tests.tools.report.sample_reports import ATTACKS, hostile_report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Dialog

    from tests.browser import Tab

_LINKS = "[...document.querySelectorAll('a[href], [src], [action]')].map(one => one.href ?? one.src)"
_COUNT = "names => names.map(name => document.querySelectorAll(name).length)"
_SEEN = "document.querySelector('main').innerText"
SHOWN = (*ATTACKS[:5], *ATTACKS[8:9], "‹202E›gnp.exe‹2066› ‹2028› ‹2029› ‹FEFF›", "‹0000›‹0001›‹0008›‹007F›‹0085›")


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    file = tmp_path_factory.mktemp("hostile") / "report.html"
    file.write_bytes(render_report(hostile_report()).encode())
    with browsing() as tab:
        tab.page.on("dialog", lambda dialog: note(tab, dialog))
        tab.open(file)
        tab.page.wait_for_selector("[data-ready]", state="attached")
        yield tab


def note(tab: Tab, dialog: Dialog) -> None:
    tab.errors.append(dialog.message)
    dialog.dismiss()


def test_attacks_are_shown_as_texts(tab: Tab) -> None:
    for cluster in tab.page.locator(".cluster summary").all():
        cluster.click()
    tab.rest()
    seen = str(tab.page.evaluate(_SEEN))
    assert [attack for attack in SHOWN if attack not in seen] == []
    for size in (DESKTOP, PHONE):
        tab.page.set_viewport_size({"width": size[0], "height": size[1]})
        assert not tab.is_wider_than_screen()
    assert (tab.errors, tab.requests) == ([], [])


def test_attacks_in_pairs_are_shown_as_texts(tab: Tab) -> None:
    seen = ""
    for place in range(2 * len(ATTACKS)):
        tab.page.evaluate("place => location.hash = `#pair-${place}`", place)
        name = f"{'Pair' if place < len(ATTACKS) else 'Near miss'} {place % len(ATTACKS) + 1} of {len(ATTACKS)}"
        tab.page.get_by_role("heading", name=name, exact=True).wait_for()
        seen += tab.page.locator("dialog").inner_text()
    assert [attack for attack in SHOWN if attack not in seen] == []
    assert (tab.errors, tab.requests) == ([], [])


def test_attacks_in_pages_are_shown_as_texts(tab: Tab) -> None:
    for place in range(len(ATTACKS)):
        tab.page.evaluate("place => location.hash = panel.toPage(data.pages.url[place])", place)
        tab.page.get_by_role("heading", name="A page and its verdict").wait_for()
        assert tab.page.evaluate("place => ui.shown(data.pages.title[place])", place) in str(
            tab.page.locator("dialog h3").first.text_content()
        )
    assert (tab.errors, tab.requests) == ([], [])


def test_no_element_comes_from_what_is_shown(tab: Tab) -> None:
    """All scripts and styles belong to the page; no element has an event handler, no link a script."""
    assert tab.page.evaluate(_COUNT, ["img", "iframe", "object", "embed", "form", "base"]) == [0] * 6
    handlers = "[...document.querySelectorAll('*')].flatMap(one => [...one.attributes])"
    assert tab.page.evaluate(f"{handlers}.filter(one => one.name.startsWith('on')).length") == 0
    assert tab.page.evaluate("document.querySelectorAll('script:not([type])').length") == 9
    assert tab.page.evaluate("document.querySelectorAll('style').length") == 3
    schemes = {link.split(":")[0] for link in tab.page.evaluate(_LINKS)}
    assert schemes <= {"file", "https"}
    away = "[...document.querySelectorAll('a[target]')].map(one => one.rel)"
    assert set(tab.page.evaluate(away)) <= {"noreferrer noopener nofollow"}


def test_the_policy_stops_what_would_slip_through(tab: Tab) -> None:
    tab.page.evaluate(
        """() => {
            const box = document.createElement("div");
            document.body.append(box);
            box.innerHTML = "<img src='data:x' onerror='caught = 1'><style>body { color: red }</style>";
            const script = document.createElement("script");
            script.textContent = "window.caught = 2";
            document.body.append(script);
            fetch("http://127.0.0.1:9/").catch(() => (window.refused = true));
        }"""
    )
    tab.page.wait_for_function("() => window.refused")
    assert tab.page.evaluate("window.caught") is None
    assert tab.page.evaluate("getComputedStyle(document.body).color") != "rgb(255, 0, 0)"
    assert any("Content Security Policy" in error for error in tab.errors)
    assert tab.requests == []


def test_a_title_of_five_megabytes_is_cut() -> None:
    assert len(render_report(hostile_report()).encode()) < 1_000_000
