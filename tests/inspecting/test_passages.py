from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.inspecting.passages import Passage, passages, shares
from dedupcrawl.page import ReadOptions, read_page
from tests.page.samples import CHINESE, PARAGRAPH, SECOND, article

TEXTS = st.text(alphabet="ab \n水", max_size=20)


@settings(deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=6))
def test_passages_are_the_text_and_stand_in_their_blocks(text: str, blocks: list[str]) -> None:
    found = passages(text, list(enumerate(blocks)))
    assert "\n".join([each.text for each in found]) == text
    for each in found:
        if each.block is not None:
            for line in each.text.split("\n"):
                assert "".join(line.split()) in "".join(blocks[each.block].split())


@settings(deadline=None)
@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=8))
def test_the_lines_of_blocks_are_found_in_order(blocks: list[str]) -> None:
    found = passages("\n".join(blocks), list(enumerate(blocks)))
    assert all(each.block is not None for each in found if each.text.strip())


@pytest.mark.parametrize("reader", ["blocks", "topic", "text"])
def test_every_passage_of_a_page_has_its_block(reader: str) -> None:
    page = read_page(article(f"<p>{CHINESE}<br>Two lines</p>"), options=ReadOptions(reader=reader))
    kept = [(place, block.text) for place, block in enumerate(page.blocks) if block.kept]
    found = passages(page.text, kept)
    assert "\n".join([each.text for each in found]) == page.text
    assert None not in {each.block for each in found}


def test_a_line_that_stands_twice_is_found_twice() -> None:
    assert passages("a\nb\na", [(3, "a"), (4, "b"), (5, "a")]) == [
        Passage("a", 3),
        Passage("b", 4),
        Passage("a", 5),
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
