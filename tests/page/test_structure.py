"""What looks like a side part, but is a part of the text around it. Most of it is found in manuals."""

from __future__ import annotations

import pytest

from dedupcrawl.page import Page, read_page
from dedupcrawl.page.notices import notice_blocks
from dedupcrawl.page.rules import MAIN_TEXT, SideKind, side_kind
from tests.page.samples import PARAGRAPH, SECOND, article, links

SHORT = "A header holds at most four of them, and the server sends each back as it came."
#: Text enough that a small side part is removed.
MORE = "".join(f"<p>{PARAGRAPH.replace('river', word)} {SECOND}</p>" for word in ("brook", "stream", "canal"))


def reason_of(page: Page, text: str) -> str:
    return next(block.reason for block in page.blocks if text in block.text)


@pytest.mark.parametrize("mark", ["¶", "#", "\uf0c1"])
@pytest.mark.parametrize("name", ["cookies", "s-widgets", "respond-to-review-comments"])
def test_the_id_of_a_section_says_what_it_is_about(name: str, mark: str) -> None:
    heading = f'<h2>{name}<a class="headerlink" href="#{name}">{mark}</a></h2>'
    page = read_page(article(f"{MORE}<section id={name}>{heading}<p>{SHORT}</p></section><p>{SECOND[::-1]}</p>"))
    assert reason_of(page, SHORT) == MAIN_TEXT
    unmarked = read_page(article(f"{MORE}<section id={name}><h2>{name}</h2><p>{SHORT}</p></section>"))
    assert reason_of(unmarked, SHORT) != MAIN_TEXT


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("sect2 SQL-FOR-UPDATE-SHARE", SideKind.NONE),
        ("refsect1 cookies", SideKind.NONE),
        ("section cookies", SideKind.NOTICE),
        ("footer-sect", SideKind.NOTICE),
        ("table_root__adKqa", SideKind.NONE),
        ("table_root__X-ad9", SideKind.NONE),
        ("card_wide__promo", SideKind.LIKELY),
        ("box__ad9kX", SideKind.LIKELY),
        ("sidebar_root__adKqa", SideKind.LIKELY),
    ],
)
def test_which_names_say_what_a_part_is_for(names: str, kind: SideKind) -> None:
    assert side_kind(names) is kind


@pytest.mark.parametrize("section", ["<section>{}</section>", '<div class="sect1"><div class="body">{}</div></div>'])
def test_the_longest_section_of_a_manual_is_not_the_text(section: str) -> None:
    long = "".join(f"<p>{number} {PARAGRAPH}</p>" for number in range(12))
    sections = (f"<h2>Part {n}¶</h2><p>{part}</p>" for n, part in enumerate((SHORT, long, SECOND[::-1])))
    page = read_page(f"<body><div id=top>{' '.join(links(4))}</div><div>{''.join(map(section.format, sections))}</div>")
    assert SHORT in page.text
    assert SECOND[::-1] in page.text


@pytest.mark.parametrize("widget", ["{}", '<div class="live-editor">{}</div>'])
def test_each_line_of_a_listing_is_an_element(widget: str) -> None:
    """Otherwise the lines are labels, and a long listing cuts the text in two."""
    lines = [f"call({number});" for number in range(60)]
    listing = f"<div><pre>{''.join(f'<div class=line>{line}</div>' for line in lines)}</pre></div>"
    page = read_page(article(widget.format(listing) + MORE))
    assert {reason_of(page, line) for line in lines} == {MAIN_TEXT}
    assert PARAGRAPH in page.text


def test_items_of_a_list_are_text_where_they_are_more_than_a_link() -> None:
    items = "".join(f'<li><a href="/{name}.html">{name}</a> list of strings</li>' for name in ("depends", "ignores"))
    page = read_page(article(f"<ul>{items}<li><a href=/x.html>provider of it</a></li></ul><p>{SECOND[::-1]}</p>"))
    assert reason_of(page, "depends list of strings") == MAIN_TEXT
    assert reason_of(page, "provider of it") != MAIN_TEXT


@pytest.mark.parametrize(
    ("line", "is_text"), [("The store has these types:", True), ("Read more:", False), ("The store has types.", False)]
)
def test_a_list_of_links_is_text_after_a_colon(line: str, is_text: bool) -> None:
    listed = "".join(f"<li>{link}</li>" for link in links(3))
    page = read_page(article(f"<p>{line}</p><ul>{listed}</ul>{MORE}"))
    assert {reason_of(page, f"Other story {number}") == MAIN_TEXT for number in range(1, 4)} == {is_text}


def test_a_list_at_the_end_of_the_text_leads_to_other_pages() -> None:
    listed = "".join(f"<li>{link}</li>" for link in links(3))
    page = read_page(article(f"{MORE}<p>These are other pages:</p><ul>{listed}</ul>"))
    assert "Other story" not in page.text


@pytest.mark.parametrize("parts", [1, 4])
def test_terms_that_are_links_are_text_where_their_definitions_are(parts: int) -> None:
    """Several short lists of terms are no teasers."""
    terms = '<dt><a href="/close.html">close()</a></dt><dd><p>Ends the connection to the server.</p></dd>'
    page = read_page(article(f"<section><h2>Methods</h2><dl>{terms}</dl></section>" * parts + MORE))
    assert reason_of(page, "Ends the connection") == MAIN_TEXT
    assert reason_of(page, "close()") == MAIN_TEXT


def test_a_link_in_a_cell_is_text_before_a_cell_of_the_text() -> None:
    rows = (
        f"<tr><td><a href=/{name}.html>Flag {name}</a></td><td>{SHORT} {name} {SHORT[::-1]}</td></tr>"
        for name in "abcd"
    )
    page = read_page(article(f"<table>{''.join(rows)}<tr><td><a href=/e.html>Flag e</a></td></tr></table>{MORE}"))
    assert reason_of(page, "Flag c") == MAIN_TEXT
    assert reason_of(page, "Flag e") != MAIN_TEXT


@pytest.mark.parametrize(
    ("text", "is_notice"),
    [
        ("You need to enable JavaScript to run this app.", True),
        ("Your browser does not support JavaScript, or it is turned off.", True),
        ("This page does not work properly without JavaScript.", True),
        ("Bitte aktivieren Sie JavaScript in Ihrem Browser.", True),
        ("Offenbar ist JavaScript in Ihrem Browser deaktiviert.", True),
        ("JavaScript est désactivé dans votre navigateur.", True),
        ("Components are JavaScript functions that return markup.", False),
        ("Pages also need static files. That is where CSS and JavaScript are.", False),
        ("It has bindings to JavaScript and Ruby. See the list of supported languages.", False),
        ("Forms work without calls of an API or additional JavaScript.", False),
    ],
)
def test_a_text_about_javascript_is_no_notice(text: str, is_notice: bool) -> None:
    block = (text, len(text), 0, 0, 0, "p", 0)
    assert bool(notice_blocks([block], [-1], ["body"])) is is_notice
