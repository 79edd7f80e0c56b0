from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.page import Block, ReadOptions, read_page
from dedupcrawl.page.rules import GUIDE_LINKS, LINK_RUN, MAIN_TEXT, leads_to_page, link_noise
from tests.page.samples import CHINESE, PARAGRAPH, SECOND, article, links

OPTIONS = ReadOptions()


def block_with(text: str, html: str, options: ReadOptions = OPTIONS) -> Block:
    """Return the block of a page that holds ``text``."""
    return next(block for block in read_page(html, options=options).blocks if text in block.text)


# -- the rule, as arithmetic ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link_length", "run", "noise"),
    [
        (91, 1, GUIDE_LINKS),  # R > R1
        (90, 1, None),  # R = R1: between, and a short run
        (90, 4, LINK_RUN),
        (30, 4, LINK_RUN),  # R = R2: between
        (29, 4, None),  # R < R2
        (60, 3, None),  # S
        (60, 4, LINK_RUN),  # S + 1
        (0, 0, None),
    ],
)
def test_link_noise_at_the_borders(link_length: int, run: int, noise: str | None) -> None:
    assert link_noise(100, link_length, run, OPTIONS) == noise


@given(
    length=st.integers(1, 10_000),
    share=st.floats(0, 1),
    run=st.integers(0, 20),
    low=st.floats(0, 1),
    high=st.floats(0, 1),
)
def test_more_links_never_make_a_block_content(length: int, share: float, run: int, low: float, high: float) -> None:
    options = ReadOptions(link_density_content=min(low, high), link_density_noise=max(low, high))
    link_length = int(share * length)
    if link_noise(length, link_length, run, options):
        assert link_noise(length, length, run + 1, options) or max(low, high) == 1


# -- the three kinds of links -----------------------------------------------------------------------


def test_guide_links_are_noise() -> None:
    page = read_page(article(f"<div>{' | '.join(links(6))}</div>"))
    assert "Other story" not in page.text
    assert PARAGRAPH in page.text
    assert next(block for block in page.blocks if "Other story" in block.text).reason == GUIDE_LINKS


def test_links_inside_sentences_are_content() -> None:
    sentence = (
        'It was <a href="/dam">the dam above the town</a> that held, wrote <a href="/gazette">the Gazette</a>'
        ", and the engineers who had been laughed at for building it so high were thanked in the square."
    )
    page = read_page(article(f"<p>{sentence}</p>"))
    assert "It was the dam above the town that held, wrote the Gazette, and the engineers" in page.text


@pytest.mark.parametrize("file", ["a.mp3", "a.ZIP", "a.pdf?from=list", "a.exe#now", "a.jpg", "get?file=a.tar.gz"])
def test_links_to_files_are_never_noise(file: str) -> None:
    page = read_page(
        article(f"<div>{' '.join(links(8, '/files/{}/' + file, 'Recording of the flood, part {}'))}</div>")
    )
    block = next(block for block in page.blocks if "Recording" in block.text)
    assert block.link_length == 0
    assert block.reason == MAIN_TEXT
    assert "Recording of the flood, part 8" in page.text


@pytest.mark.parametrize("target", ["/", "/a", "/a.html", "/a.php?b=c.d", "http://example.com", "#part", "/a.b/c"])
def test_other_targets_are_pages(target: str) -> None:
    assert leads_to_page(target)


def test_an_anchor_without_target_is_no_link() -> None:
    block = block_with("Part one", article('<p><a name="one">Part one</a></p>'))
    assert (block.links, block.link_length) == (0, 0)


def test_a_file_ends_a_run_of_links() -> None:
    two = links(2)
    html = article(f'<div>{two[0]} {two[1]} <a href="/a.pdf">The report</a> {two[0]} {two[1]}</div>')
    block = block_with("The report", html)
    assert (block.links, block.longest_run) == (4, 2)


# -- R1, R2 and S in a page -------------------------------------------------------------------------

STATEMENT = "What people say of the flood of that year can be read elsewhere too"


def test_a_run_of_three_is_content_between_the_bounds() -> None:
    block = block_with("Other story 1", article(f"<p>{STATEMENT}: {' '.join(links(3))}</p>"))
    assert OPTIONS.link_density_content <= block.link_density <= OPTIONS.link_density_noise
    assert (block.longest_run, block.reason) == (3, MAIN_TEXT)


def test_a_run_of_four_is_noise_between_the_bounds_and_its_sentence_stays() -> None:
    page = read_page(article(f"<p>{STATEMENT}: {' '.join(links(4))}</p><p>{SECOND[::-1]}</p>"))
    assert "Other story" not in page.text
    assert STATEMENT in page.text
    reasons = {block.reason for block in page.blocks if "Other story" in block.text}
    assert reasons == {GUIDE_LINKS}


def test_four_links_with_words_between_are_no_run() -> None:
    html = article(f"<p>{STATEMENT}: {' and also '.join(links(4))}</p>")
    block = block_with("Other story 1", html)
    assert (block.links, block.longest_run, block.reason) == (4, 1, MAIN_TEXT)


@pytest.mark.parametrize("separator", [" ", " | ", " · ", "、", " / ", "<br>", "&nbsp;&gt;&nbsp;"])
def test_separators_do_not_part_a_run(separator: str) -> None:
    block = block_with("Other story 1", article(f"<div>{separator.join(links(5))}</div>"))
    assert block.longest_run == 5


def test_a_longer_run_can_be_allowed() -> None:
    html = article(f"<p>{STATEMENT}: {' '.join(links(4))}</p>")
    block = block_with("Other story 4", html, ReadOptions(link_run=4))
    assert (block.longest_run, block.reason) == (4, MAIN_TEXT)


def test_r1_can_be_moved() -> None:
    html = article(f"<p>{STATEMENT}: {' '.join(links(3))}</p>")
    assert block_with("Other story 1", html, ReadOptions(link_density_noise=0.3)).reason == GUIDE_LINKS


def test_lengths_are_bytes() -> None:
    block = block_with("河水", article(f'<p>{CHINESE}<a href="/x">洪水</a></p>'))
    assert block.length == 3 * len(CHINESE) + 6
    assert block.link_length == 6


def test_a_link_around_blocks_continues_in_all_of_them() -> None:
    html = article('<a href="/x"><div>First line of a card</div><div>Second line of a card</div></a><div>Plain</div>')
    assert block_with("First line", html).link_density == 1
    assert block_with("Second line", html).link_density == 1
    assert block_with("Plain", html).link_density == 0


def test_an_anchor_around_blocks_leaves_no_mark_in_any_of_them() -> None:
    page = read_page(article("<a name='x'><div>One wheel turned.</div> All saw it.</a> <p>So it ended.</p>"))
    texts = [block.text for block in page.blocks]
    assert texts[-3:] == ["One wheel turned.", "All saw it.", "So it ended."]
    bare = read_page("<a name='here'><div>One wheel turned.</div></a>", options=ReadOptions(reader="text"))
    assert [block.text for block in bare.blocks] == ["One wheel turned."]


@pytest.mark.parametrize("tag", ["h2", "dt"])
def test_a_heading_that_links_to_its_own_place_is_no_guide_link(tag: str) -> None:
    sections = "".join(
        f'<section><{tag}><a href="#part-{n}">How part {n} is used</a></{tag}><p>Part {n}. {PARAGRAPH}</p></section>'
        for n in range(6)
    )
    page = read_page(f"<body><h1>Manual</h1>{sections}</body>")
    headings = [block for block in page.blocks if block.text.startswith("How part")]
    assert [(block.links, block.link_length) for block in headings] == [(0, 0)] * 6
    assert [block.kept for block in headings] == [False] + [True] * 5  # a heading at the edge is not part of the text
    assert page.text.count(PARAGRAPH) == 6


def test_a_table_of_contents_is_made_of_guide_links() -> None:
    assert block_with("Part 1", f'<ul><li><a href="#p1">Part 1</a></li></ul><p>{PARAGRAPH}</p>').reason == GUIDE_LINKS


def test_a_heading_that_links_to_another_page_is_a_guide_link() -> None:
    assert block_with("Part 1", f'<h2><a href="/p1#top">Part 1</a></h2><p>{PARAGRAPH}</p>').reason == GUIDE_LINKS


@pytest.mark.parametrize("label", ["", " ", "¶"])
def test_an_empty_anchor_in_a_heading_leaves_the_heading(label: str) -> None:
    page = read_page(f'<a href="/x"><h2><a href="#p1">{label}</a>Part 1</h2></a><h2><a href="#p2">{label}</a></h2>')
    assert any("Part 1" in block.text for block in page.blocks)
