"""Every block is located in the tree to the last letter."""

from __future__ import annotations

import gzip
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.page import PageError, ReadOptions, read_page, read_tree
from dedupcrawl.page.blocks import MARK
from dedupcrawl.page.document import parse, to_text
from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.sites import SiteLayout
from dedupcrawl.tools.inspect.positions import (
    BlockSpan,
    numbered_texts,
    place_blocks,
    replace_invalid,
    shares,
    split_passages,
    visible,
)
from tests.data import data
from tests.page.samples import CHINESE, PARAGRAPH, SECOND, article, links

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

    from dedupcrawl.tools.inspect.positions import TextSpan


TEXTS = st.text(alphabet="ab \n水", max_size=20)


@settings(deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=6))
def test_passages_are_the_text_and_stand_in_their_blocks(text: str, blocks: list[str]) -> None:
    found = split_passages(text, list(enumerate(blocks)))
    assert "\n".join([each.text for each in found]) == text
    for each in found:
        if each.block is not None:
            for line in each.text.split("\n"):
                assert "".join(line.split()) in "".join(blocks[each.block].split())


@settings(deadline=None)
@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=8))
def test_the_lines_of_blocks_are_found_in_order(blocks: list[str]) -> None:
    found = split_passages("\n".join(blocks), list(enumerate(blocks)))
    assert all(each.block is not None for each in found if each.text.strip())


@pytest.mark.parametrize("reader", ["blocks", "topic", "text"])
def test_every_passage_of_a_page_has_its_block(reader: str) -> None:
    page = read_page(article(f"<p>{CHINESE}<br>Two lines</p>"), options=ReadOptions(reader=reader))
    kept = [(place, block.text) for place, block in enumerate(page.blocks) if block.kept]
    found = split_passages(page.text, kept)
    assert "\n".join([each.text for each in found]) == page.text
    assert None not in {each.block for each in found}


def test_a_line_that_occurs_twice_is_found_twice() -> None:
    assert split_passages("a\nb\na", [(3, "a"), (4, "b"), (5, "a")]) == [
        BlockSpan("a", 3),
        BlockSpan("b", 4),
        BlockSpan("a", 5),
    ]


def test_shares_count_letters_not_spaces() -> None:
    assert shares(f"{PARAGRAPH}\n{CHINESE}", [PARAGRAPH.replace(" ", "\n"), CHINESE, "水下", "", "no"]) == [
        1.0,
        1.0,
        0.0,
        0.0,
        1.0,
    ]
    assert 0 < shares(PARAGRAPH + SECOND[: len(SECOND) // 2], [SECOND])[0] < 1


READERS = ("blocks", "topic", "text")
PIECES = (
    *("<p>", "</p>", "<div class='related'>", "</div>", "<nav>", "</nav>", "<li>", "<td>", "<table><tr>"),
    *("</table>", "<a href='/x.html'>", "<a>", "</a>", "<br>", "<hr>", "<b>", "</b>", "<!-- no -->", "<script>"),
    *("</script>", "<select><option>", "</select>", "<html>", "</html>", "</body>", "&#1;", "&nbsp;", " \n\t "),
    *("One wheel turned. ", "水位上涨。", "|", "\u3000", "\ufdd4", "\ufddf", "\ufdd2", "\x0c", "\x1c", "é\u0301"),
)


def placed_text(spans: Iterable[TextSpan], held: dict[int, str]) -> str:
    """Return the visible characters of these spans."""
    return visible("".join([held[span.text][span.start : span.stop] for span in spans]))


def parsed(html: bytes | str) -> _Element:
    return parse(to_text(html, encoding=None, content_type="", max_bytes=10**8))


def assert_placed(html: bytes | str, reader: str) -> None:
    """The spans of each block hold its text, and no character of the page is in two of them."""
    root, options = parsed(html), ReadOptions(reader=reader)
    page = read_tree(root, options=options)
    placed = place_blocks(page, root, parsed(html), options)
    assert placed is not None
    held = dict(numbered_texts(root))
    for block, spans in zip(page.blocks, placed, strict=True):
        assert placed_text(spans, held) == visible(block.text)
    every = sorted((span.text, span.start, span.stop) for spans in placed for span in spans)
    for (text, _, stop), (next_text, start, _) in pairwise(every):
        assert text != next_text or stop <= start


@cache
def demo_pages() -> tuple[bytes, ...]:
    content = load_content()
    origins = {key: f"http://{key}.example" for key in content.sites}
    return tuple(
        html for site in content.sites.values() for html in SiteLayout(content, site, origins).documents().values()
    )


@pytest.mark.parametrize("reader", READERS)
def test_every_block_of_the_demo_is_where_it_is(reader: str) -> None:
    assert len(demo_pages()) > 50
    for html in demo_pages():
        assert_placed(html, reader)


@pytest.mark.parametrize("reader", READERS)
def test_every_block_of_real_pages_is_where_it_is(reader: str) -> None:
    files = sorted(data("pages").glob("*/html/*.gz"))
    assert len(files) >= 250
    for file in files[::25]:
        assert_placed(gzip.decompress(file.read_bytes()), reader)


@pytest.mark.parametrize("reader", READERS)
@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_every_block_of_broken_pages_is_where_it_is(reader: str, html: str) -> None:
    root, options = parsed(html), ReadOptions(reader=reader)
    page = read_tree(root, options=options)
    placed = place_blocks(page, root, parsed(html), options)
    if placed is None:
        assert {"\ufdd2", "\ufdd4"} & {*html}  # the page plays with the marks of the walk
        return
    held = {number: replace_invalid(text) for number, text in numbered_texts(root)}
    assert [placed_text(spans, held) for spans in placed] == [visible(block.text) for block in page.blocks]


def test_a_run_of_links_is_parted_from_the_sentence_around_it() -> None:
    html = article(f"<div>Water. {PARAGRAPH[:60]} {' | '.join(links(4, label='Story number {}'))} tail</div>")
    root, options = parsed(html), ReadOptions()
    page = read_tree(root, options=options)
    placed = place_blocks(page, root, parsed(html), options)
    assert placed is not None
    run = next(number for number, block in enumerate(page.blocks) if block.links == 4)
    held = dict(numbered_texts(root))
    assert placed_text(placed[run], held) == "Storynumber1|Storynumber2|Storynumber3|Storynumber4"
    assert placed_text(placed[run - 1], held) == visible(f"Water. {PARAGRAPH[:60]} tail")


def test_a_landmark_that_holds_the_article_is_opened() -> None:
    assert_placed(f"<nav><p>{PARAGRAPH}</p><p>{SECOND}</p><p>{CHINESE}</p></nav>", "blocks")


def test_what_a_script_says_inside_a_landmark_has_its_place_too() -> None:
    assert_placed(article("<nav>Home <script>var x = '<b>';</script><style>p {}</style> News</nav>"), "blocks")


def test_marks_of_its_own_end_in_no_answer_or_a_right_one() -> None:
    assert_placed(article(f"<p>One {MARK} two</p>"), "text")


def test_blocks_of_another_page_are_not_placed() -> None:
    options = ReadOptions()
    page = read_tree(parsed(article("")), options=options)
    other = article(f"<p>{CHINESE}</p>")
    assert place_blocks(page, parsed(other), parsed(other), options) is None


def test_a_page_of_a_foreign_reader_is_placed_by_the_blocks_that_it_has() -> None:
    html = article(f"<nav>{' '.join(links(5))}</nav>")
    root = parsed(html)
    page = read_tree(root, options=ReadOptions(reader="topic"))
    assert place_blocks(page, root, parsed(html), ReadOptions(reader="tests.page.user_readers:whole")) is not None


def test_the_tree_is_left_unchanged() -> None:
    html = article(f"<p>{CHINESE}</p>")
    root = parsed(html)
    before = dict(numbered_texts(root))
    place_blocks(read_tree(root), root, parsed(html), ReadOptions())
    assert dict(numbered_texts(root)) == before


def test_a_page_that_is_nested_too_deep_is_refused_before() -> None:
    with pytest.raises(PageError):
        read_tree(parsed("<div>" * 5000 + "x"))
