"""The HTML file in a real browser."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl.config import Config
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.page import ReadOptions, read_page
from dedupcrawl.tools.inspect.comparison import compare_with_page, compare_with_store
from dedupcrawl.tools.inspect.inspection import InspectedPage, inspect_page
from dedupcrawl.tools.inspect.positions import visible
from dedupcrawl.tools.inspect.render import render
from dedupcrawl.tools.inspect.rules import rule_of
from tests.browser import DESKTOP, PHONE, browsing
from tests.page.samples import CHINESE, PARAGRAPH, SECOND, article
from tests.tools.inspect.attacks import HOSTILE, USUAL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.browser import Tab

READERS = ("blocks", "topic", "text")
_PIECES = """() => {
  const said = {};
  for (const each of document.getElementById("canvas").shadowRoot.querySelectorAll(".piece")) {
    said[each.dataset.block] = (said[each.dataset.block] ?? "") + each.textContent;
  }
  return said;
}"""
_MADE_OF = """() => {
  const all = [...document.getElementById("canvas").shadowRoot.querySelectorAll("*")];
  return [all.map((each) => each.localName), all.flatMap((each) => each.getAttributeNames())];
}"""
_MARKED = """() => [...document.getElementById("canvas").shadowRoot.querySelectorAll(".sign:not(.off)")]
    .map((each) => Number(each.dataset.block))"""


def seen(html: str, reader: str = "blocks", url: str = "https://a.example/flood") -> InspectedPage:
    return inspect_page(html.encode(), url, ReadOptions(reader=reader))


@contextmanager
def opened(html: str, folder: Path, size: tuple[int, int] = DESKTOP, *, dark: bool = False) -> Iterator[Tab]:
    file = folder / "page.html"
    file.write_text(html, "utf-8")
    with browsing(size, dark=dark) as tab:
        tab.page.on("dialog", lambda dialog: tab.errors.append(f"dialog: {dialog.message}"))
        tab.open(file)
        tab.page.wait_for_selector("html[data-ready]", state="attached")
        yield tab


def sign(tab: Tab, block: int) -> Any:
    return tab.page.locator(f"button.sign[data-block='{block}']")


def classes(element: Any) -> set[str]:
    return {*str(element.get_attribute("class")).split()}


def said(tab: Tab) -> str:
    return str(tab.page.locator("#said").inner_text())


@pytest.mark.parametrize("reader", ["blocks", "text", "tests.page.user_readers:headline"])
def test_attacks_are_inert_and_their_text_is_shown_as_text(reader: str, tmp_path: Path) -> None:
    found = seen(HOSTILE, reader)
    with opened(render(found), tmp_path) as tab:
        for button in tab.page.locator("button.sign").all()[::5]:
            button.hover()
            button.click()
        assert tab.page.evaluate("window.hit") is None
        assert tab.page.title() != "hit"
        names, attributes = tab.page.evaluate(_MADE_OF)
        assert {*names} <= {
            *("div", "span", "br", "button", "bdi"),
            *("table", "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "td", "th"),
        }
        assert {*attributes} <= {
            *("class", "data-is", "data-block", "tabindex", "type", "aria-label", "role", "style", "title"),
            *("dir", "lang", "colspan", "rowspan"),
        }
        assert (tab.errors, tab.requests) == ([], [])
        assert tab.grave() == []
        if reader == "text":
            assert "<script>window.hit = 1" in tab.page.locator("#text").inner_text()


def test_what_is_marked_is_what_the_blocks_say(tmp_path: Path) -> None:
    looks = [seen(html, reader) for html in (HOSTILE, USUAL) for reader in READERS]
    with opened(render(looks[0]), tmp_path) as tab:
        for number, found in enumerate(looks):
            file = tmp_path / f"{number}.html"
            file.write_text(render(found), "utf-8")
            tab.open(file)
            tab.page.wait_for_selector("html[data-ready]", state="attached")
            pieces = tab.page.evaluate(_PIECES)
            assert {int(block): visible(text) for block, text in pieces.items()} == {
                place: visible(block.text) for place, block in enumerate(found.blocks)
            }
        file.write_text(render(seen(article("<p>One \ufdd4 wheel turned.</p>"))), "utf-8")
        tab.page.reload()
        tab.page.wait_for_selector("html[data-ready]", state="attached")
        tab.page.locator(".passage").first.click()
        assert "kept: main text" in said(tab)
        assert (tab.errors, tab.requests) == ([], [])


def test_r_and_length_are_shown_on_hover_and_on_focus(tmp_path: Path) -> None:
    found = seen(USUAL)
    guide = next(number for number, block in enumerate(found.blocks) if block.reason == "guide links")
    block = found.blocks[guide]
    with opened(render(found), tmp_path) as tab:
        tab.page.locator(f".piece[data-block='{guide}']").first.hover()
        told = said(tab)
        assert f"R {block.link_density:.2f}" in told
        assert f"bytes {block.length}" in told
        assert f"links {block.links}" in told
        assert f"longest run {block.longest_run}" in told
        assert "above R1 = 0.9" in told
        tab.page.mouse.move(2, 2)
        tab.page.wait_for_function("() => !document.getElementById('said').innerText.includes('R1')")
        sign(tab, guide).focus()
        assert "above R1 = 0.9" in said(tab)
        assert sign(tab, guide).get_attribute("aria-label").startswith(f"Block {guide + 1}, cut, guide links. R ")


def test_a_block_and_its_passage_point_at_each_other(tmp_path: Path) -> None:
    found = seen(USUAL)
    kept = [number for number, block in enumerate(found.blocks) if block.kept]
    with opened(render(found), tmp_path) as tab:
        passage = tab.page.locator(f".passage[data-block='{kept[-1]}']")
        tab.page.locator(f".piece[data-block='{kept[-1]}']").first.click()
        assert classes(passage) >= {"picked"}
        first = tab.page.locator(f".passage[data-block='{kept[0]}']")
        assert PARAGRAPH in first.inner_text()
        first.click()
        assert classes(tab.page.locator(f".piece[data-block='{kept[0]}']").first) >= {"picked"}
        assert "picked" not in classes(passage)
        tab.page.keyboard.press("Escape")
        assert tab.page.locator(".picked").count() == 0


def test_one_rule_is_looked_at_and_stepped_through_with_the_keyboard(tmp_path: Path) -> None:
    found = seen(USUAL)
    cut = [number for number, block in enumerate(found.blocks) if block.reason == "guide links"]
    with opened(render(found), tmp_path) as tab:
        tab.page.locator(".rules button", has_text="guide links").click()
        assert tab.page.evaluate(_MARKED) == cut
        assert len(cut) > 1
        sign(tab, cut[0]).focus()
        for block in cut[1:]:
            tab.page.keyboard.press("ArrowDown")
            assert f"block {block + 1} of" in said(tab)
        tab.page.keyboard.press("ArrowUp")
        assert f"block {cut[-2] + 1} of" in said(tab)
        tab.page.locator(".rules button", has_text="guide links").click()
        assert tab.page.locator(".sign.off").count() == 0


def test_on_a_phone_page_and_main_text_are_two_views(tmp_path: Path) -> None:
    found = seen(USUAL)
    with opened(render(found), tmp_path, PHONE, dark=True) as tab:
        assert not tab.page.locator("#text").is_visible()
        assert not tab.is_wider_than_screen()
        tab.page.locator(".piece[data-block='0']").first.click()
        assert tab.grave() == []
        tab.page.get_by_role("button", name="Show in the main text").click()
        assert tab.page.locator("#text").is_visible()
        assert not tab.page.locator("#page").is_visible()
        assert tab.page.locator(".passage.picked").is_visible()
        tab.page.get_by_role("button", name="Show on the page").click()
        assert tab.page.locator("#page").is_visible()
        tab.page.get_by_role("tab", name="Page").press("ArrowRight")
        assert tab.page.locator("#text").is_visible()
        assert (tab.errors, tab.requests, tab.grave()) == ([], [], [])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_family_can_be_read_in_both_themes(dark: bool, tmp_path: Path) -> None:
    from dedupcrawl.tools.inspect.rules import RULES

    found = seen(USUAL)
    block, why = found.blocks[0], found.reasons[0]
    rules = list(RULES.values())
    blocks = tuple(block._replace(reason=rule.reason, kept=rule.sign.startswith("✓")) for rule in rules)
    steps: list[Any] = [
        step for number, rule in enumerate(rules) for step in ({"is": "p"}, [number, "A text. 水位"], 0)
    ]
    canvas = replace(found.canvas, steps=steps)
    whole = replace(found, blocks=blocks, reasons=(why,) * len(blocks), canvas=canvas)
    with opened(render(whole), tmp_path, dark=dark) as tab:
        assert tab.page.locator("button.sign").count() == len(rules)
        tab.page.locator(".piece[data-block='11']").click()
        assert tab.grave() == []
        tab.page.locator(".rules button", has_text="guide links").click()
        assert tab.grave() == []


def test_the_signs_say_what_they_mean(tmp_path: Path) -> None:
    """On hover, and in a legend of the rules that were applied."""
    found = seen(USUAL)
    with opened(render(found), tmp_path) as tab:
        legend = tab.page.locator(".legend-of-signs")
        legend.locator("summary").click()
        entries = [entry.split() for entry in legend.locator("dt").all_inner_texts()]
        meanings = legend.locator("dd").all_inner_texts()
        assert ["R"] in entries  # the measure
        for place, block in enumerate(found.blocks):
            rule = rule_of(block.reason, kept=block.kept)
            assert sign(tab, place).get_attribute("title") == f"{rule.reason}: {rule.meaning}"
            at = entries.index([rule.sign, *rule.reason.split()])
            assert meanings[at] == f"{'kept' if block.kept else 'cut'}: {rule.meaning}"


def test_a_store_and_another_page_have_views_of_their_own(tmp_path: Path) -> None:
    config = Config()
    page = read_page(article(f"<p>{CHINESE}</p>"), "https://b.example/2")
    with Deduplicator(config=config) as dedup:
        dedup.add(read_page(article(f"<p>{CHINESE}</p>"), "https://a.example/<script>alert(1)</script>"))
        store = compare_with_store(page, dedup.store, config, "memory://")
    other = compare_with_page(page, read_page(article(f"<p>{CHINESE[::-1]}</p>"), "javascript:alert(1)"), config)
    html = render(seen(article(f"<p>{CHINESE}</p>")), store, other)
    with opened(html, tmp_path) as tab:
        tab.page.get_by_role("tab", name="Against the store").click()
        told = tab.page.locator("#store").inner_text()
        assert "Dropped: the same text as https://a.example/<script>alert(1)</script>" in told
        assert "minhash" in told
        assert not tab.page.locator("#page").is_visible()
        tab.page.get_by_role("tab", name="Against the other page").click()
        assert tab.page.locator("#other ins").count() > 0
        assert tab.page.locator("#other a[href^='javascript']").count() == 0
        assert (tab.errors, tab.requests, tab.grave()) == ([], [], [])


def test_without_scripts_the_main_text_is_there_all_the_same() -> None:
    html = render(seen(USUAL))
    assert f">{PARAGRAPH}</p>" in html
    assert f">{SECOND}</p>" in html
    assert "<noscript>" in html
