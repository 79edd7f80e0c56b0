"""A page has a text for its user, by the block model, and one that is compared, by the rules alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator, Page, read_page
from dedupcrawl.decision import Verdict
from dedupcrawl.page import ReadOptions
from dedupcrawl.stores.base import Record
from dedupcrawl.text.features import compared_text
from dedupcrawl.tools.evaluation.extraction import load_pages
from tests.data import data
from tests.sites.kinds import build
from tests.sites.words import Writer

if TYPE_CHECKING:
    from collections.abc import Sequence

READERS = ("topic", "text")
SHORT_BY_RULES = "tariffs"  #: a kind of site whose tables the rules leave out


@cache
def split_pages() -> list[tuple[str, Page]]:
    """Return pages of a forum, with their HTML, whose two texts differ."""
    read = [(page.html, read_page(page.html, page.url)) for kind in ("phpbb", "songs") for page in build(kind).pages]
    found = [(html, page) for html, page in read if page.compared is not None]
    assert len(found) >= 3
    return found


def record(page: Page) -> Record:
    with Deduplicator(clock=lambda: 0.0) as dedup:
        found = dedup.fingerprint(page)
    assert not isinstance(found, Verdict)
    return found


def test_the_compared_text_is_that_of_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = split_pages()
    monkeypatch.setattr("dedupcrawl.page.block_reader.corrected_blocks", lambda *_: None)
    for html, page in pages:
        by_rules = read_page(html, page.url)
        assert by_rules.compared is None
        assert by_rules.text == page.compared != page.text
        assert replace(page.as_compared(), blocks=(), kind=by_rules.kind) == replace(by_rules, blocks=())
        assert compared_text(page) == compared_text(by_rules)


def test_blocks_are_those_of_the_text() -> None:
    for html, page in split_pages():
        assert "\n".join(block.text for block in page.blocks if block.kept) == page.text
        assert not read_page(html, page.url, options=ReadOptions(blocks=False)).blocks


def test_the_fingerprint_is_of_the_compared_text() -> None:
    for _, page in split_pages():
        assert record(page) == record(page.as_compared()) == record(replace(page, text="something else"))
        assert record(page).sketches != record(replace(page, compared=None)).sketches


def test_many_pages_have_the_same_fingerprints() -> None:
    pages = [page for _, page in split_pages()]
    with Deduplicator(clock=lambda: 0.0) as dedup:
        assert dedup.fingerprint_many(pages) == [record(page) for page in pages]


def test_a_short_text_by_the_rules_is_not_compared() -> None:
    for page in build(SHORT_BY_RULES).pages:
        assert read_page(page.html, page.url).compared is None


@pytest.mark.parametrize("reader", READERS)
def test_other_readers_have_one_text(reader: str) -> None:
    for html, page in split_pages():
        assert read_page(html, page.url, options=ReadOptions(reader=reader)).compared is None


def test_no_small_part_of_a_labelled_page_is_compared_alone() -> None:
    for labelled in load_pages(data("pages", "wcxb"), lambda rows: rows[::9]):
        page = read_page(labelled.html, labelled.url)
        assert len(page.compared or page.text) >= 0.4 * len(page.text), labelled.url


# -- parts with the class of a side part -----------------------------------------------------------

_article, _comment = (
    [writer.text(4) for _ in range(count)] for writer, count in ((Writer("article", 0), 6), (Writer("reply", 0), 3))
)


def paragraphs(texts: Sequence[str]) -> str:
    return "".join(f"<p>{text}</p>" for text in texts)


def quoting(names: str, *, is_first: bool, tag: str = "article") -> str:
    """Return a page that quotes an article, and comments on it in a part with these class names."""
    parts = [f'<div class="{names}">{paragraphs(_comment)}</div>', f"<div>{paragraphs(_article)}</div>"]
    body = "".join(parts if is_first else parts[::-1])
    return f"<html><title>On the mill</title><body><{tag}><h1>My opinion</h1>{body}</{tag}></body></html>"


BUILDER = "elementor-widget elementor-widget-text-editor"


@pytest.mark.parametrize(
    ("names", "is_first"),
    [
        (BUILDER, True),
        (BUILDER, False),
        ("editor-note", True),
        ("editor-note", False),
        ("ad-free", False),
        ("promo", True),
    ],
)
def test_a_comment_on_a_quoted_article_is_compared_whatever_its_class(names: str, *, is_first: bool) -> None:
    html = quoting(names, is_first=is_first)
    page = read_page(html)
    for text in _comment:
        assert text in page.text
        assert text in compared_text(page)
    original = (
        f"<html><title>The mill</title><body><article><h1>The mill</h1>{paragraphs(_article)}</article></body></html>"
    )
    with Deduplicator() as dedup:
        dedup.add(html=original, url="https://a.example/mill")
        assert dedup.add(html=html, url="https://b.example/opinion").keep


def wrote(article: Sequence[str]) -> str:
    """Return the page of the article that others quote."""
    return f"<html><title>The mill</title><body><article><h1>The mill</h1>{paragraphs(article)}</article></body></html>"


def keeps_both(one: str, other: str) -> bool:
    with Deduplicator() as dedup:
        dedup.add(html=one, url="https://a.example/mill")
        return dedup.add(html=other, url="https://b.example/opinion").keep


_article_zh, _comment_zh = (
    [writer.text(3, zh=True) for _ in range(count)]
    for writer, count in ((Writer("文章", 0), 6), (Writer("评论", 0), 3))
)


@pytest.mark.parametrize("zh", [False, True])
@pytest.mark.parametrize("quote", ["<blockquote>{}</blockquote>", "<div>{}</div>"])
@pytest.mark.parametrize("tag", ["article", "main", "div"])
@pytest.mark.parametrize("names", ["widget", "promo", "sponsored", "editor-note", "wp-widget text-3"])
def test_a_comment_in_a_box_is_compared(names: str, tag: str, quote: str, *, zh: bool) -> None:
    """A class that names a box does not say what is in it."""
    article, comment = (_article_zh, _comment_zh) if zh else (_article, _comment)
    body = f'{quote.format(paragraphs(article))}<div class="{names}">{paragraphs(comment)}</div>'
    html = f"<html><title>On the mill</title><body><{tag}><h1>My opinion</h1>{body}</{tag}></body></html>"
    assert all(text in compared_text(read_page(html)) for text in comment)
    assert keeps_both(wrote(article), html)
    assert keeps_both(html, wrote(article))


def boxed(inner: str, names: str = "promo") -> str:
    body = f'<blockquote>{paragraphs(_article)}</blockquote><div class="{names}">{inner}</div>'
    return f"<html><title>On the mill</title><body><article><h1>My opinion</h1>{body}</article></body></html>"


@pytest.mark.parametrize(
    ("inner", "names"),
    [
        (f'<p><a href="/other">Another mill</a></p>{paragraphs(_comment)}', "promo"),
        (f"<h2>{_comment[0]}</h2>", "promo"),
        (paragraphs(_comment), "caption"),
        (paragraphs(_comment), "widget author-bio"),
        (f'<div class="related">{paragraphs(_comment)}</div>', "widget"),
        (f"<p>{_comment[0][:30]}.</p>", "promo"),
    ],
)
def test_what_a_box_announces_is_not_compared(inner: str, names: str) -> None:
    """Another page, a subtitle, what the class names, and text that is too little to make another page."""
    page = read_page(boxed(inner, names))
    assert not any(text in compared_text(page) for text in _comment)
    assert not keeps_both(wrote(_article), boxed(inner, names))


def test_a_box_beside_the_article_is_not_compared() -> None:
    column = f'<div class="columns">{{}}<div class="widget">{paragraphs(_comment)}</div></div>'
    html = wrote(_article)
    start, end = html.index("<article>"), html.index("</body>")
    page = read_page(html[:start] + column.format(html[start:end]) + html[end:])
    assert compared_text(page) == compared_text(read_page(html))


def test_a_hidden_box_is_not_compared() -> None:
    page = read_page(boxed(paragraphs(_comment)).replace('class="promo"', 'class="promo" hidden'))
    assert _comment[0] not in compared_text(page)


def test_what_a_site_repeats_in_a_box_makes_no_other_pages() -> None:
    """From the fourth page of a site on, a reprint beside its appeal for donations is a copy again."""
    with Deduplicator() as dedup:
        for number in range(5):
            article = [Writer(f"article {number}", 0).text(4) for _ in range(6)]
            dedup.add(html=wrote(article), url=f"https://a.example/{number}")
            box = boxed(paragraphs(_comment)).replace(paragraphs(_article), paragraphs(article))
            assert dedup.add(html=box, url=f"https://b.example/{number}").keep is (number < 3)


def test_a_comment_is_read_where_only_the_main_part_is_declared() -> None:
    page = read_page(quoting("editor-note", is_first=False, tag="main"))
    assert all(text in page.text and text in compared_text(page) for text in _comment)


def test_what_a_class_names_within_a_kept_part_stays_removed() -> None:
    bio, menu = Writer("bio", 0).text(3), Writer("promo", 0).text(2)
    inner = f'<div class="author-bio"><p>{bio}</p></div></div><div class="promo"><p>{menu}</p>'
    page = read_page(quoting("editor-note", is_first=False).replace("</div></article>", f"{inner}</div></article>"))
    assert _comment[0] in page.text
    assert bio not in page.text
    assert menu not in page.text


def test_a_part_that_is_not_shown_stays_removed() -> None:
    html = quoting("editor-note", is_first=False).replace('class="editor-note"', 'class="editor-note" hidden')
    assert _comment[0] not in read_page(html).text


def test_a_part_without_sentences_stays_removed() -> None:
    """A place for an advertisement, or the names of editors."""
    html = quoting("ad", is_first=False).replace(paragraphs(_comment), "<p>Buy our flour today!</p><p>Ann Miller</p>")
    assert "flour" not in read_page(html).text


def aside(colour: str) -> str:
    facts = f"<aside><dl><dt>Colour</dt><dd>{colour}</dd></dl></aside>"
    body = f"<article><h1>Bench for two</h1>{paragraphs(_article)}</article>{facts}"
    return f"<html><title>Bench for two</title><body>{body}</body></html>"


@pytest.mark.parametrize(("colour", "is_kept"), [("Blue", True), ("Red", False)])
def test_facts_aside_tell_pages_of_one_site_apart(colour: str, *, is_kept: bool) -> None:
    with Deduplicator() as dedup:
        dedup.add(html=aside("Red"), url="https://a.example/1")
        assert dedup.add(html=aside(colour), url="https://a.example/2").keep is is_kept
