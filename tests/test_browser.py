"""The browser fixture detects errors, requests, overflow and accessibility violations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser import MILD, PHONE, browsing

if TYPE_CHECKING:
    from pathlib import Path

_BAD = """<!doctype html><html lang="en"><title>x</title><body style="width:2000px">
<img src="http://127.0.0.1:9/none.png"><script>throw new Error("scripted")</script></body></html>"""


def test_a_bad_page_is_seen_to_be_bad(tmp_path: Path) -> None:
    file = tmp_path / "bad.html"
    file.write_text(_BAD)
    with browsing(PHONE) as tab:
        tab.open(file)
        assert any("scripted" in error for error in tab.errors)
        assert tab.requests == ["http://127.0.0.1:9/none.png"]
        assert [each.split(":")[0] for each in tab.grave()] == ["image-alt"]
        assert tab.is_wider_than_screen()


def page_of(style: str, body: str) -> str:
    head = f'<!doctype html><html lang="en"><title>x</title><style>{style}</style>'
    return f"{head}<body><main><h1>x</h1>{body}</main></body>"


def contrasts(*pages: str) -> list[list[str]]:
    """The texts that are hard to read, of each of these pages."""
    with browsing() as tab:
        found = []
        for page in pages:
            tab.page.set_content(page)
            found.append([each.split(": ", 2)[2] for each in tab.grave()])
            assert all("color-contrast" in each for each in tab.grave()), "what is bad is so again"
    return found


PALE = "main { background: #fff } .a { color: #eee }"
DARK = "main { background: #fff } .a { color: #111 }"


@pytest.mark.parametrize(
    "other",
    [
        page_of(PALE, '<p class="a">one</p>'),
        page_of(DARK.replace("#fff", "#222"), '<p class="a">one</p>'),
        page_of(DARK, '<p class="a" style="color: #eee">one</p>'),
        page_of(DARK, '<div style="opacity: .2"><p class="a">one</p></div>'),
        page_of(DARK, '<p class="a" style="background: #181818">one</p>'),
        page_of(DARK, '<p class="a">two</p><p class="b" style="color: #ddd">one</p>'),
    ],
)
def test_a_text_that_is_painted_in_another_way_is_checked_again(other: str) -> None:
    good, bad = contrasts(page_of(DARK, '<p class="a">one</p>'), other)
    assert good == []
    assert len(bad) == 1
    assert "one" in bad[0]


def test_a_text_that_cannot_be_judged_does_not_hide_one_like_it() -> None:
    place = '<div style="position: relative; height: 2em"><p class="a">{}</p>{}</div>'
    cover = '<div style="position: absolute; inset: 0; background: #000"></div>'
    assert contrasts(page_of(PALE, place.format("one", cover) + place.format("two", ""))) == [['<p class="a">two</p>']]


def test_contrast_is_checked_in_shadow_trees_and_fields() -> None:
    script = "document.querySelector('span').attachShadow({mode: 'open'}).innerHTML = '<i style=\"color:#eee\">one</i>'"
    field = '<input aria-label="f" value="one" style="color: #eee; background: #fff">'
    shadow, fields = contrasts(page_of(DARK, f"<span></span><script>{script}</script>"), page_of(DARK, field))
    assert ["one" in each for each in shadow] == [True]
    assert ["input" in each for each in fields] == [True]


def test_rules_that_are_left_out_find_nothing_grave() -> None:
    bad = '<!doctype html><html lang="en"><title>x</title><p>y</p><h2 role="textbox" aria-label="y">x</h2>'
    with browsing() as tab:
        tab.page.set_content(bad)
        tab.load_axe()
        found = tab.page.evaluate("rules => axe.run({runOnly: rules})", [*MILD])["violations"]
    assert {each["id"]: each["impact"] for each in found} == {"region": "moderate", "aria-allowed-role": "minor"}
