"""Pages are self-contained, allow nothing else, and escape all values."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.tools.report.html_bundle import (
    assemble_page,
    content_security_policy,
    deflated_json_element,
    hash_source,
    inline,
    json_element,
)
from tests.browser import DESKTOP, PHONE, browsing

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "</script><script>alert(1)</script><!-- \x00 \u2028 \u202e \ud800 <img src=x onerror=alert(2)> \"'&amp;"


def test_a_page_without_anything_of_its_own_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(assemble_page("frame.html", title=HOSTILE, data=[json_element("data", {"a": 1})]), "utf-8")
    with browsing(PHONE) as tab:
        tab.page.on("dialog", lambda dialog: tab.errors.append(dialog.message))
        tab.open(file)
        assert tab.page.title().startswith("</script><script>alert(1)</script><!-- \ufffd")
        assert (tab.errors, tab.requests, tab.grave()) == ([], [], [])


def test_the_theme_cycles(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(assemble_page("frame.html", title="x"), "utf-8")
    ground = "getComputedStyle(document.body).backgroundColor"
    with browsing(DESKTOP, dark=True) as tab:
        tab.open(file)
        seen = [tab.page.evaluate(ground)]
        for _ in range(3):
            tab.page.get_by_role("button", name="Theme").click()
            seen.append(tab.page.evaluate(ground))
        assert seen[0] == seen[2] == seen[3] != seen[1]


@pytest.mark.parametrize("lay", [json_element, deflated_json_element])
def test_data_arrive_as_they_were(tmp_path: Path, lay: object) -> None:
    assert callable(lay)
    value = {"hostile": HOSTILE, "文": ["中文", "\U0001f600", None, 1.5, True]}
    file = tmp_path / "page.html"
    file.write_text(assemble_page("frame.html", title="x", data=[lay("data", value)]), "utf-8")
    with browsing() as tab:
        tab.open(file)
        assert json.loads(tab.page.evaluate("ui.read('data').then(JSON.stringify)")) == value
        assert tab.errors == []


def test_what_is_shown_of_texts_and_urls_is_text(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(assemble_page("frame.html", title="x"), "utf-8")
    make = "urls => urls.map(url => ui.link(url)).map(one => [one.tagName, one.rel ?? '', one.textContent])"
    links = ["https://a.example/\u202egpj", "javascript:alert(1)", " java\tscript:alert(1)", "data:text/html,x", "//x"]
    with browsing() as tab:
        tab.open(file)
        made = tab.page.evaluate(make, links)
        assert made[0] == ["A", "noreferrer noopener nofollow", "https://a.example/‹202E›gpj"]
        assert [tag for tag, *_ in made[1:]] == ["BDI"] * 4
        assert tab.page.evaluate("text => ui.words(text).innerHTML", "<b>\x00") == "&lt;b&gt;‹0000›"
        languages = [tab.page.evaluate("text => ui.words(text).lang", text) for text in ("中文", "かな 字", "x")]
        assert languages == ["zh", "ja", ""]


@given(st.text())
def test_json_ends_no_element(text: str) -> None:
    element = str(json_element("data", [text]))
    inside = re.fullmatch(r'<script type="application/json" id="data">(.*)</script>', element, re.DOTALL)
    assert inside is not None
    assert "<" not in inside[1]
    assert json.loads(inside[1]) == [text]


def test_numbers_that_json_has_not_are_refused() -> None:
    with pytest.raises(ValueError):
        json_element("data", float("nan"))


def test_a_policy_names_every_style_and_script_and_nothing_else() -> None:
    said = content_security_policy(["a{}"], ["1", "2"], {"connect-src": "'self'", "style-src": hash_source("b{}")})
    assert "default-src 'none'" in said
    assert f"script-src {hash_source('1')} {hash_source('2')};" in said
    assert f"style-src {hash_source('a{}')} {hash_source('b{}')}" in said
    assert said.endswith("connect-src 'self'")
    assert "unsafe" not in said


@pytest.mark.parametrize("text", ["</style>", "a <!-- b"])
def test_a_style_that_could_end_early_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        inline(text)
