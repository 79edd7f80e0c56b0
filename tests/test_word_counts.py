"""Two texts of one wording are told apart by the lines that each of them has for itself."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.word_counts import COUNTS_BYTES, ROW, ROWS, count_hashes, counted_lines, hash_of_line, words_differ

REST = "\0we come on foot too.\0call us before noon.\0bring a coat and a lamp."
WORDING = "our van is on its way to {} within the hour, and neighbours in {} know how we work. ask in {}." + REST
hashes = st.integers(0, 2**32 - 1)


def counts(text: str) -> bytes:
    lines = counted_lines(text.encode())
    return count_hashes([hash_of_line([zlib.crc32(word) for word in line]) for line in lines])


def wording(town: str) -> str:
    return WORDING.format(town, town, town)


def test_the_counts_have_their_size() -> None:
    assert len(counts(wording("aldmere"))) == COUNTS_BYTES == 3 + ROWS * ROW
    assert max(counts("word\0" * 301)[3:]) < 4


@pytest.mark.parametrize("other", ["corlund", "青禾县", "los angeles", "новгород", "القاهرة"])
def test_another_word_differs(other: str) -> None:
    assert words_differ(counts(wording("aldmere")), counts(wording(other)))
    assert words_differ(counts(wording(other)), counts(wording("aldmere")))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("✓ lift ✗ ramp", "✗ lift ✓ ramp"),
        ("陈立新诉你一案", "王秀兰诉你一案"),
        ("lift, ramp and desk", "lift, ramp and shop"),
    ],
)
def test_short_texts_differ(text: str, other: str) -> None:
    assert words_differ(counts(text), counts(other))


@pytest.mark.parametrize(
    "addition",
    [
        "updated 3 may 2026, 14:05",
        "2026-05-03 14:05",
        "12 comments",
        "printed from https",
        "not",
        "阅读 301",
        "corrected twice",
    ],
)
def test_an_addition_to_one_text_does_not_differ(addition: str) -> None:
    text = wording("aldmere")
    assert not words_differ(counts(text), counts(f"{text}\0{addition}"))
    assert not words_differ(counts(f"{addition}\0{text}"), counts(text))


def test_an_added_line_does_not_hide_a_replaced_word() -> None:
    """It is one line, however many words it has."""
    line = "you are looking at an archived page that is no longer updated and may be out of date in many places"
    others = [wording(town) for town in ("corlund", "dunvale", "eskholm", "farrowby", "grelling", "hartsea")]
    view = counts(f"{line}\0{wording('aldmere')}")
    assert all(words_differ(view, counts(other)) and words_differ(counts(other), view) for other in others)


@pytest.mark.parametrize(
    "line",
    [
        "this page was printed from https://a.example/news/315",
        "本页由水源新闻打印，网址 http://a.example/news/315",
        "printed on 4 may 2026",
        "druckansicht der seite",
    ],
)
def test_lines_of_views_are_not_counted(line: str) -> None:
    """A view may lack a caption too: then each page would have a line of its own."""
    text = wording("aldmere")
    assert counts(f"{text}\0{line}") == counts(text)
    assert not words_differ(counts(f"{text}\0the old harbour at dawn"), counts(f"{text}\0{line}"))


@pytest.mark.parametrize("line", ["a fine art print of the harbour", "the print shop is open", "https://a.example/"])
def test_other_lines_are_counted(line: str) -> None:
    assert counts(f"{wording('aldmere')}\0{line}") != counts(wording("aldmere"))


def test_the_order_of_lines_does_not_matter() -> None:
    assert not words_differ(counts("lift\0ramp"), counts("ramp\0lift"))
    assert words_differ(counts("lift and ramp"), counts("ramp and lift"))


@given(st.lists(hashes, max_size=200), st.lists(hashes, max_size=3))
def test_more_lines_hardly_ever_differ(text: list[int], more: list[int]) -> None:
    assert not words_differ(count_hashes(text), count_hashes(text + more))
    assert not words_differ(count_hashes(more + text), count_hashes(text))


@given(st.lists(hashes, max_size=200), st.lists(st.tuples(hashes, hashes), min_size=1, max_size=9))
def test_as_many_other_lines_differ_if_their_sum_does(text: list[int], replaced: list[tuple[int, int]]) -> None:
    mine, others = zip(*replaced, strict=True)
    is_other_sum = (sum(each >> 16 for each in mine) - sum(each >> 16 for each in others)) % 65536 != 0
    found = words_differ(count_hashes([*text, *mine]), count_hashes([*text, *others]))
    assert found or not is_other_sum


def test_values_are_compared_by_themselves() -> None:
    words = counts(wording("aldmere"))
    assert words_differ(words + counts("eins zwei"), words + counts("eins drei"))
    assert not words_differ(words + counts("eins zwei"), words)


@pytest.mark.parametrize(("new", "old"), [(b"", b""), (b"", counts("a word")), (counts("a word"), b"")])
def test_without_counts_nothing_differs(new: bytes, old: bytes) -> None:
    assert not words_differ(new, old)
