"""Two texts of one wording are told apart by the words that each of them has for itself."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.word_counts import COUNTS_BYTES, ROW, count_hashes, words_differ, words_of

WORDING = "our van is on its way to {} within the hour, and neighbours in {} know how we work. ask in {}."
hashes = st.integers(0, 2**32 - 1)


def counts(text: str) -> bytes:
    return count_hashes([zlib.crc32(word) for word in words_of(text.encode())])


def wording(town: str) -> str:
    return WORDING.format(town, town, town)


def test_the_counts_have_their_size() -> None:
    assert len(counts(wording("aldmere"))) == COUNTS_BYTES == 3 + 2 * ROW
    assert max(counts("word " * 300)[3:]) < 8


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
    assert not words_differ(counts(text), counts(f"{text} {addition}"))
    assert not words_differ(counts(f"{addition} {text}"), counts(text))


def test_the_order_does_not_matter() -> None:
    assert not words_differ(counts("lift and ramp"), counts("ramp and lift"))


@given(st.lists(hashes, max_size=200), st.lists(hashes, max_size=3))
def test_up_to_three_more_words_never_differ(text: list[int], more: list[int]) -> None:
    assert not words_differ(count_hashes(text), count_hashes(text + more))
    assert not words_differ(count_hashes(more + text), count_hashes(text))


@given(st.lists(hashes, max_size=200), st.lists(st.tuples(hashes, hashes), min_size=1, max_size=9))
def test_as_many_other_words_differ_if_their_sum_does(text: list[int], replaced: list[tuple[int, int]]) -> None:
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
