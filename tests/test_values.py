"""The values of a page: which numbers of a text are values, and which count readers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl import values as module
from dedupcrawl.values import MAX_NUMBERS, values_of


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("bolt 3.5 x 20, 4 packs", "3.5 20 4"),
        ("on 2024-05-03 at 12:31", "2024-05-03 12:31"),
        ("10x20 and 10 x 20", "10x20 10 20"),
        ("1,200 pieces, 3.", "1,200 3"),
        ("m3", "3"),
        ("12,,3 and 3--", "12 3"),
        ("", ""),
        ("none", ""),
        ("7", "7"),
        ("2024年5月3日，气温12.5度", "2024 5 3 12.5"),
        ("1.2万元，3亿元", "1.2 3"),
        ("第5次会议，第 6 次会议", "5 6"),
        ("评分 4.5", "4.5"),
        ("won 3 times in 40 races", "3 40"),
        ("20 ready, 12 reading rooms, 5 doors", "20 12 5"),
        ("5 of 40 bolts for 12 people", "5 40 12"),
        ("30 days, 3 hours", "30 3"),
    ],
)
def test_values_are_numbers_with_the_marks_inside_them(text: str, values: str) -> None:
    assert values_of(text.encode()) == set(values.encode().split())


@pytest.mark.parametrize(
    "text",
    [
        "comments (12)",
        "comments: 12",
        "12 comments",
        "1.2k views",
        "1,204 views",
        "3 replies",
        "1 reply",
        "1 comment",
        "5 likes",
        "12 followers",
        "40 users",
        "300+ downloads",
        "read 1,204 times",
        "viewed 12 times",
        "12 of 40 found this helpful",
        "12 of 40 people found this helpful",
        "12 people found this helpful",
        "7 minutes ago",
        "1 min ago",
        "3 hours ago",
        "2 days ago",
        "3051.23 ▲ 1.2",
        "▼ 12",
        "阅读 3051",
        "阅读3051",
        "阅读:3051",
        "阅读(3051)",
        "閱讀：3051",
        "浏览（12）",
        "3051次阅读",
        "1.2万次阅读",
        "1.2万 阅读",
        "12条评论",
        "12 评论",
        "3051人看过",
        "40人点赞",
        "5分钟前",
        "2小时前",
        "点击 12",
        "人气:12",
    ],
)
def test_numbers_that_count_readers_are_no_values(text: str) -> None:
    assert values_of(f"a {text} b".encode()) == set()
    assert values_of(f"3.5 kg, {text}".encode()) == {b"3.5"}
    assert values_of(text.encode()) == set()


def test_values_are_examined_up_to_a_number() -> None:
    text = " ".join(map(str, range(1000, 1000 + 2 * MAX_NUMBERS))).encode()
    assert values_of(text) == {str(number).encode() for number in range(1000, 1000 + MAX_NUMBERS)}


number_texts = st.lists(
    st.sampled_from(["1", "20", "3.5", "1,2", "x", "-", ".", " ", "  ", "a", "数", "/", ":", "'", "9"]), max_size=30
).map("".join)


@given(number_texts)
def test_numbers_are_found_as_a_regular_expression_finds_them(text: str) -> None:
    raw = text.encode()
    # Marks at the end of a number belong to none; two marks in a row end it.
    wanted = [match.span() for match in re.finditer(rb"[0-9]+(?:[.,:/x'-][0-9]+)*", raw)]
    for find in (module._number_places, module._number_places_by_numpy):  # the first may be compiled
        starts, stops = find(raw)
        assert [*zip(starts, stops, strict=True)] == wanted
