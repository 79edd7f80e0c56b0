"""What a page declares about its parts is stronger than the names of their classes."""

from __future__ import annotations

import pytest

from dedupcrawl.page import Kind, Page, read_page
from dedupcrawl.page.rules import MAIN_TEXT, SIDE_CLASS
from tests.page.samples import CHINESE, CHINESE_TWO, PARAGRAPH, SECOND, article, links

SHORT = "The ferry did not run today, for the wind was against it."
HINT = (
    "A part of this theme is missing. Open the folder of the site, install the package that makes its index, and "
    "build it again."
)


def reason_of(page: Page, text: str) -> str:
    return next(block.reason for block in page.blocks if text in block.text)


def themed(body: str, beside: str = "", title: str = "The ferry | Notes of a miller") -> str:
    """Return a page whose theme puts everything into a part that is named a menu."""
    column = f"<div class=mid-col><nav><h1>Notes of a miller</h1></nav><div class=menu-l>{body}</div></div>"
    menu = f"<div class=left-col><nav>{' '.join(links(3))}</nav></div>"
    return f"<html><head><title>{title}</title></head><body>{menu}{column}{beside}</body></html>"


# -- the text -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        f"<div class=entry itemprop=articleBody><p>{SHORT}</p></div>",
        f"<div class=entry itemprop='text articleBody'><p>{SHORT}</p></div>",
        f"<p itemprop=articleBody>{SHORT}</p>",
        f"<article><h2>The ferry</h2><p>{SHORT}</p></article>",
        f"<h1>Notes of a miller</h1><h1>The ferry</h1><p>{SHORT}</p>",
    ],
    ids=["body", "properties", "paragraph", "article", "heading"],
)
def test_a_part_named_a_menu_holds_the_declared_text(body: str) -> None:
    column = f"<div class=about><p>{PARAGRAPH}</p><p>{SECOND}</p></div>" if "heading" in body else ""
    page = read_page(themed(body, column))
    assert reason_of(page, SHORT) == MAIN_TEXT
    assert page.kind is Kind.ARTICLE


def test_a_part_named_a_menu_without_a_declared_text_goes() -> None:
    page = read_page(themed(f"<p>{SHORT}</p>", f"<div><h2>Flood</h2><p>{PARAGRAPH}</p><p>{SECOND}</p></div>"))
    assert reason_of(page, SHORT) == SIDE_CLASS


def test_of_several_headings_the_one_in_the_title_counts() -> None:
    body = f"<h1>Notes</h1><p>{SHORT}</p>"
    column = f"<div><h1>Flood</h1><p>{PARAGRAPH}</p><p>{SECOND}</p></div>"
    assert reason_of(read_page(themed(body, column, "Flood – a story")), SHORT) == SIDE_CLASS
    assert reason_of(read_page(themed(body, column, "Notes – a story")), SHORT) != SIDE_CLASS


def test_a_declared_text_among_short_parts_with_links_is_no_teaser() -> None:
    parts = "".join(f"<div><a href='/{at}'>Story {at}</a><p>{at} of them were told.</p></div>" for at in range(5))
    body = f"<div itemprop=articleBody><a href='/tags/ferry'>ferry</a><p>{SHORT}</p></div>"
    assert SHORT in read_page(f"<title>Ferry</title><h1>Ferry</h1><div>{parts}{body}</div>").text


ABOUT = f"<div class=b2><h3>About this mill</h3><p>{PARAGRAPH}</p><p>{SECOND}</p></div>"
RECENT = f"<div class=box><ul><li>{'<li>'.join(links(15, label='The council met the {}th time'))}</ul></div>"


@pytest.mark.parametrize(
    "body",
    [
        f"<div class=c><h2>Ferry</h2><div itemprop=articleBody><p>{SHORT}</p></div></div>",
        "<div class=menu><h2>Ferry</h2><div itemprop=articleBody>No ferry today</div></div>",
        f"<article><h1>Ferry</h1><p>{SHORT}</p></article>",
        f"<article><h2>Ferry</h2><p>{SHORT}</p></article>",
    ],
)
@pytest.mark.parametrize("beside", [ABOUT, f"<aside>{ABOUT}</aside>", ABOUT + ABOUT.replace("river", "brook")])
def test_a_tiny_declared_text_is_the_page(body: str, beside: str) -> None:
    page = read_page(f"<title>Ferry – Mill</title>{body}{beside}{RECENT}")
    assert page.text.removeprefix("Ferry\n") in {SHORT, "No ferry today"}
    assert page.kind is Kind.ARTICLE
    assert PARAGRAPH not in page.rest


def test_a_declared_introduction_is_not_the_whole_text() -> None:
    page = read_page(f"<h1>Ferry</h1><p itemprop=articleBody>{SHORT}</p><p>{PARAGRAPH}</p><p>{SECOND}</p>{RECENT}")
    assert page.text == f"{SHORT}\n{PARAGRAPH}\n{SECOND}"


def test_a_declared_introduction_beside_a_long_text_is_not_the_page() -> None:
    text = "".join(f"<p>{at} {PARAGRAPH}</p>" for at in range(20))
    page = read_page(f"<article itemprop=articleBody><h1>Ferry</h1><p>{SHORT}</p></article><div>{text}</div>{RECENT}")
    assert f"7 {PARAGRAPH}" in page.text


def test_an_article_without_the_heading_is_another_story() -> None:
    other = "<div class=rel><article><a href=/x>Other story of the flood</a><p>It fell.</p></article></div>"
    page = read_page(f"<title>Ferry</title><h1>Ferry</h1><div><p>{PARAGRAPH}</p><p>{SECOND}</p></div>{other}{RECENT}")
    assert page.text == f"{PARAGRAPH}\n{SECOND}"


# -- what only scripts show -----------------------------------------------------------------------

HIDING = [
    *("hidden", "hidden=hidden", "style='display:none'", "style='color: red; DISPLAY : none !important'"),
    *("q-show=isMissing", "ng-show='isMissing'"),
]
SHOWING = ["hidden='until-found'", "hidden role=tabpanel", "style='display:none' role=region", "style='display:block'"]


@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize("element", ["<div {}>{}</div>", "<p {}>{}</p>", "<ul><li {}>{}</li></ul>"])
def test_a_hidden_part_of_an_article_is_left_out(hiding: str, element: str) -> None:
    page = read_page(article(element.format(hiding, HINT)))
    assert page.text == f"{PARAGRAPH}\n{SECOND}"


@pytest.mark.parametrize("showing", SHOWING)
def test_what_readers_open_is_read(showing: str) -> None:
    assert HINT in read_page(article(f"<div {showing}><p>{HINT}</p></div>")).text


@pytest.mark.parametrize("names", ["class=faq-answer", "class='tab__content'", "id='S:0'", "class='card collapse'"])
def test_what_readers_open_is_known_by_its_name(names: str) -> None:
    assert HINT in read_page(article(f"<div hidden {names}><p>{HINT}</p></div>")).text


def test_a_text_that_is_all_hidden_is_read() -> None:
    """A script shows the page when it is complete."""
    page = read_page(f"<div>Loading</div><div style='display:none'><p>{PARAGRAPH}</p><p>{SECOND}</p></div>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}"


def test_a_long_hint_beside_a_short_declared_text_is_not_compared() -> None:
    body = f"<article><h1>渡船</h1><div itemprop=articleBody><p>{CHINESE_TWO}</p></div></article>"
    hint = f"<div class=tools q-show=isMissing><p>{CHINESE}</p><pre>{HINT}</pre></div>"
    page = read_page(themed(body, hint, "渡船 | 磨坊笔记"))
    assert page.text == CHINESE_TWO
    assert CHINESE not in page.rest
    assert HINT not in page.rest


def test_templates_are_not_read() -> None:
    assert HINT not in read_page(article(f"<template><p>{HINT}</p></template>")).text
