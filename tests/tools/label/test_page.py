"""The page in a real browser: keyboard, undo, attacks, accessibility."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, expect

from dedupcrawl.tools.label.labels import AnswerKind, LabelFile, LabelSession, read_labels
from dedupcrawl.tools.label.pairs import OfferedPage, OfferedPair
from dedupcrawl.tools.label.server import LabelPage, LabelServer
from tests.batch.corpus import story
from tests.browser import DESKTOP, PATIENCE, PHONE, Tab, browsing
from tests.tools.label.offers import sampler_of, stories
from tests.tools.label.serving import serving

HOSTILE = (
    '</script><script>alert(1)</script><img src=x onerror="alert(2)"><!-- \x00 \u2028 \u202e \ud800 '
    "javascript:alert(3) <svg onload=alert(4)> <style>*{display:none}</style> {{7*7}} "
)
OpenTab = Callable[..., Tab]


@contextmanager
def session(folder: Path, pairs: Sequence[OfferedPair], goal: int = 100) -> Iterator[LabelServer]:
    with LabelFile(folder / "labels.jsonl") as file:
        labelling = LabelSession(sampler_of(pairs), file, goal)
        page = LabelPage.of("Crawl of the spider news", "labels.jsonl")
        with serving(LabelServer(labelling, page)) as server:
            yield server


@pytest.fixture
def open_tab() -> Iterator[OpenTab]:
    """Return a function that opens the page of a server; it is closed after the test."""
    expect.set_options(timeout=PATIENCE)
    with ExitStack() as stack:

        def opening(server: LabelServer, size: tuple[int, int] = DESKTOP, *, dark: bool = False) -> Tab:
            return opened(stack.enter_context(browsing(size, dark=dark)), server)

        yield opening
    expect.set_options(timeout=5_000)


def opened(tab: Tab, server: LabelServer) -> Tab:
    tab.page.on("dialog", lambda dialog: _told(tab, dialog))
    tab.open(server.url)
    expect(tab.page.locator("#count")).not_to_be_empty()
    return tab


def _told(tab: Tab, dialog: Dialog) -> None:
    tab.errors.append(dialog.message)
    dialog.dismiss()


def count(tab: Tab, done: int, goal: int) -> None:
    expect(tab.page.locator("#count")).to_have_text(f"{done} of {goal}")


def given(folder: Path) -> list[AnswerKind]:
    return [label.answer for label in read_labels(folder / "labels.jsonl")]


def test_the_keyboard_is_enough(tmp_path: Path, open_tab: OpenTab) -> None:
    with session(tmp_path, stories(5)) as server:
        tab = open_tab(server)
        for done, key in enumerate(("s", "d", "Space", "S"), 1):
            tab.page.keyboard.press(key)
            count(tab, done, 5)
        assert given(tmp_path) == [AnswerKind.SAME, AnswerKind.DIFFERENT, AnswerKind.SKIP, AnswerKind.SAME]
        title = tab.page.locator(".source h2").first.text_content()
        tab.page.keyboard.press("u")
        count(tab, 3, 5)
        assert tab.page.locator(".source h2").first.text_content() != title
        assert given(tmp_path) == [AnswerKind.SAME, AnswerKind.DIFFERENT, AnswerKind.SKIP]
        for done in (4, 5):
            tab.page.keyboard.press("d")
            count(tab, done, 5)
        expect(tab.page.locator("#over-head")).to_have_text("Done")
        expect(tab.page.locator("#over-text")).to_contain_text("1 same, 3 different, 1 skipped")
        expect(tab.page.locator("#over-command")).to_have_text("dedupcrawl eval pairs labels.jsonl --suggest")
        assert (tab.errors, {re.sub(r".*/", "", each) for each in tab.requests}) == ([], {"state", "answer", "undo"})


def test_what_the_run_made_of_it_is_hidden_until_one_has_answered(tmp_path: Path, open_tab: OpenTab) -> None:
    with session(tmp_path, stories(2)) as server:
        tab = open_tab(server)
        before = tab.page.locator("body").inner_text()
        assert "0.85" not in before
        assert "minhash" not in before
        tab.page.keyboard.press("d")
        last = tab.page.locator("#last")
        expect(last).to_contain_text("you answered different")
        expect(last).to_contain_text("near-duplicate 0.85 by minhash, dropped")
        tab.page.keyboard.press("u")
        expect(last).to_contain_text("shown after your answer")


def test_arrows_go_from_difference_to_difference(tmp_path: Path, open_tab: OpenTab) -> None:
    with session(tmp_path, stories(1)) as server:
        tab = open_tab(server)
        where = tab.page.locator("#where")
        expect(where).to_have_text("2 differences")
        tab.page.keyboard.press("ArrowRight")
        expect(where).to_have_text("1 of 2 differences")
        assert tab.page.locator("del.here, ins.here").count() == 2
        tab.page.keyboard.press("ArrowLeft")
        expect(where).to_have_text("2 of 2 differences")
        tab.page.get_by_role("button", name="Next difference").click()
        expect(where).to_have_text("1 of 2 differences")


def test_differences_come_in_the_order_of_the_text_whichever_side_has_them(tmp_path: Path, open_tab: OpenTab) -> None:
    text = story(1, words=120)
    changes = OfferedPage.of("n", "", f"put in front. {text.replace(text.split()[60], 'another')}")
    one = OfferedPair(changes, OfferedPage.of("o", "", text), "", 0.8, "m", "c")
    with session(tmp_path, [one]) as server:
        tab = open_tab(server)
        expect(tab.page.locator("#where")).to_have_text("2 differences")
        tab.page.keyboard.press("ArrowRight")
        expect(tab.page.locator(".here")).to_contain_text("put in front")


def test_space_skips_also_after_a_press_of_a_button(tmp_path: Path, open_tab: OpenTab) -> None:
    """A clicked button would keep the focus, and the space key would press it again."""
    with session(tmp_path, stories(4)) as server:
        tab = open_tab(server)
        tab.page.get_by_role("button", name="Same").click()
        count(tab, 1, 4)
        tab.page.get_by_role("button", name="One text").click()
        tab.page.keyboard.press("Space")
        count(tab, 2, 4)
        tab.page.get_by_role("button", name="Different").focus()
        tab.page.keyboard.press("Space")  # moving there by keyboard is intended
        count(tab, 3, 4)
    assert given(tmp_path) == [AnswerKind.SAME, AnswerKind.SKIP, AnswerKind.DIFFERENT]


def test_keys_with_others_held_are_the_browsers(tmp_path: Path, open_tab: OpenTab) -> None:
    with session(tmp_path, stories(2)) as server:
        tab = open_tab(server)
        for key in ("Control+s", "Alt+d", "Meta+u"):
            tab.page.keyboard.press(key)
        tab.page.keyboard.press("s")
        count(tab, 1, 2)
    assert given(tmp_path) == [AnswerKind.SAME]


def test_two_texts_or_one(tmp_path: Path, open_tab: OpenTab) -> None:
    with session(tmp_path, stories(1)) as server:
        tab = open_tab(server)
        assert tab.page.locator("article").count() == 2
        assert tab.page.locator("article").first.locator("ins").count() == 0
        tab.page.get_by_role("button", name="One text").click()
        both = tab.page.locator("article")
        expect(both).to_have_count(1)
        assert (both.locator("del").count(), both.locator("ins").count()) == (2, 2)


def test_long_equal_stretches_are_folded_and_can_be_opened(tmp_path: Path, open_tab: OpenTab) -> None:
    text = "\n".join(story(number, words=60) for number in range(8))
    one = OfferedPair(
        OfferedPage.of("n", "", text + " more"), OfferedPage.of("o", "", text + " less"), "", 0.8, "m", "c"
    )
    with session(tmp_path, [one]) as server:
        tab = open_tab(server)
        older = tab.page.get_by_label("Older page").locator(".text")
        assert len(older.inner_text()) < len(text) / 2
        tab.page.get_by_label("Older page").get_by_role("button").first.click()
        expect(older).to_have_text(re.compile(re.escape(text.splitlines()[0])))
        assert older.locator(".fold").count() == 0


def test_a_session_continues_where_it_stopped(tmp_path: Path, open_tab: OpenTab) -> None:
    pairs = stories(3)
    with session(tmp_path, pairs) as server:
        tab = open_tab(server)
        tab.page.keyboard.press("s")
        count(tab, 1, 3)
        tab.page.reload()  # a reload is no session of its own
        count(tab, 1, 3)
    with session(tmp_path, pairs) as server:
        tab = open_tab(server)
        count(tab, 0, 2)
        for done in (1, 2):
            tab.page.keyboard.press("d")
            count(tab, done, 2)
    assert given(tmp_path) == [AnswerKind.SAME, AnswerKind.DIFFERENT, AnswerKind.DIFFERENT]


def test_two_windows_do_not_answer_twice(tmp_path: Path, open_tab: OpenTab) -> None:
    with session(tmp_path, stories(3)) as server:
        one = open_tab(server)
        other = Tab(one.page.context.new_page())
        other.listen()
        opened(other, server)
        one.page.keyboard.press("s")
        count(one, 1, 3)
        other.page.keyboard.press("d")
        expect(other.page.locator("#trouble")).to_contain_text("another window")
        count(other, 1, 3)
        other.page.keyboard.press("d")
        count(other, 2, 3)
    assert given(tmp_path) == [AnswerKind.SAME, AnswerKind.DIFFERENT]


def test_more_and_end_are_a_press_away(tmp_path: Path, open_tab: OpenTab) -> None:
    with session(tmp_path, stories(3), goal=1) as server:
        tab = open_tab(server)
        tab.page.keyboard.press("s")
        tab.page.get_by_role("button", name="Label 50 more").click()
        count(tab, 1, 3)
        for done in (2, 3):
            tab.page.keyboard.press("s")
            count(tab, done, 3)
        expect(tab.page.locator("#more")).to_be_hidden()
        tab.page.get_by_role("button", name="End the session").click()
        expect(tab.page.locator("#over-text")).to_have_text("You can close this window.")


def test_a_server_that_is_gone_is_reported(tmp_path: Path, open_tab: OpenTab) -> None:
    with session(tmp_path, stories(2)) as server:
        tab = open_tab(server)
        tab.page.context.set_offline(True)
        tab.page.keyboard.press("s")
        expect(tab.page.locator("#trouble")).to_contain_text("all your answers are saved")


@pytest.mark.parametrize("view", ["One text", "Two texts"])
def test_attacks_are_shown_as_text(tmp_path: Path, open_tab: OpenTab, view: str) -> None:
    text = story(1, words=80)
    new = OfferedPage.of("javascript:alert(5)", HOSTILE + "title", HOSTILE + text + HOSTILE)
    old = OfferedPage.of("https://a.example/<script>alert(6)</script>", "<b>bold</b>", text)
    bad = OfferedPair(new, old, "<i>near</i>", 0.8, "<script>alert(7)</script>", "c")
    with session(tmp_path, [bad]) as server:
        tab = open_tab(server)
        tab.page.get_by_role("button", name=view).click()
        body = tab.page.locator("#pair")
        shown = body.inner_text()
        assert "</script><script>alert(1)</script><img src=x" in shown
        assert "<b>bold</b>" in shown
        assert "{{7*7}}" in shown
        assert body.locator("script, img, svg, style, b").count() == 0
        assert body.locator("a[href^='javascript']").count() == 0
        tab.page.keyboard.press("s")
        count(tab, 1, 1)
        expect(tab.page.locator("#last")).to_contain_text("<script>alert(7)</script>")
        assert tab.errors == []
        assert all(each.startswith(server.url) for each in tab.requests)
        assert not tab.is_wider_than_screen()
    assert given(tmp_path) == [AnswerKind.SAME]


@pytest.mark.parametrize(("size", "dark"), [(DESKTOP, False), (PHONE, True)])
def test_everybody_can_use_it(tmp_path: Path, open_tab: OpenTab, size: tuple[int, int], dark: bool) -> None:
    with session(tmp_path, stories(3), goal=2) as server:
        tab = open_tab(server, size, dark=dark)
        expect(tab.page.get_by_role("heading", level=1)).to_have_text("Same article?")
        assert (tab.grave(), tab.is_wider_than_screen()) == ([], False)
        tab.page.get_by_role("button", name="Same").click()
        count(tab, 1, 2)
        other = "One text" if size == DESKTOP else "Two texts"
        tab.page.get_by_role("button", name=other).click()
        assert not tab.is_wider_than_screen()
        tab.page.get_by_role("button", name="Different").click()
        count(tab, 2, 2)
        assert (tab.grave(), tab.is_wider_than_screen(), tab.errors) == ([], False, [])


def test_it_is_used_in_chinese(tmp_path: Path, open_tab: OpenTab) -> None:
    with session(tmp_path, stories(2)) as server:
        tab = open_tab(server, PHONE)
        tab.page.get_by_role("button", name="中文").click()
        expect(tab.page.get_by_role("heading", level=1)).to_have_text("是同一篇文章吗？")
        assert (tab.grave(), tab.is_wider_than_screen()) == ([], False)
        tab.page.locator("[data-answer=same]").click()
        expect(tab.page.locator("#count")).to_have_text("1 / 2")
        told = re.compile(r"上一对：你的回答是相同 · 程序判定：近似重复 [\d.]+（minhash），剔除")
        expect(tab.page.locator("#last")).to_have_text(told)
        tab.page.locator("[data-answer=different]").click()
        expect(tab.page.locator("#over-text")).to_contain_text(
            "本次回答 2 对：相同 1，不同 1，跳过 0。文件中有 2 条标注；"
        )
        assert tab.errors == []
    assert given(tmp_path) == [AnswerKind.SAME, AnswerKind.DIFFERENT]


def test_an_empty_run_has_a_page_that_reports_it(tmp_path: Path, open_tab: OpenTab) -> None:
    with session(tmp_path, []) as server:
        tab = open_tab(server)
        expect(tab.page.locator("#over-head")).to_have_text("All pairs of this run are answered")
