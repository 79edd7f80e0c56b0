"""Two texts of one wording are told apart by the sentences that each of them has for itself."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.identity.identity_codec import MAX_SENTENCES, HashSample, sample
from dedupcrawl.identity.values import MAX_SENTENCE_BYTES, sentences_of

LINES = "our van is on its way to {} within the hour.\0neighbours in {} know how we work.\0ask in {}."
hashes = st.integers(0, 2**16 - 1)
some_hashes = st.sets(hashes, max_size=60)


def sketch(lines: str, most: int = MAX_SENTENCES) -> HashSample:
    return sample({zlib.crc32(each) >> 16: 0 for each in sentences_of(lines.encode())}, most)


def sampled(some: set[int], most: int = MAX_SENTENCES) -> HashSample:
    return sample(dict.fromkeys(some, 0), most)


def differ(text: str, other: str) -> bool:
    found = sketch(text).differs(sketch(other))
    assert sketch(other).differs(sketch(text)) == found
    return found


def wording(town: str) -> str:
    return LINES.format(town, town, town)


@pytest.mark.parametrize("other", ["corlund", "青禾县", "los angeles", "новгород", "القاهرة"])
def test_another_word_differs(other: str) -> None:
    assert differ(wording("aldmere"), wording(other))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("✓ lift ✗ ramp", "✗ lift ✓ ramp"),
        ("陈立新诉你一案", "王秀兰诉你一案"),
        ("lift, ramp and desk", "lift, ramp and shop"),
        ("bolts of class a2", "bolts of class a4"),
        ("lift and ramp", "ramp and lift"),
    ],
)
def test_short_texts_differ(text: str, other: str) -> None:
    assert differ(text, other)


@pytest.mark.parametrize(
    "addition",
    [
        "share this page with your friends",
        "one\0two\0three\0four\0five\0six",
        "printed from https://a.example/ on 4 may",
        "updated 4 may 2026, 12:31",
        "12 comments",
    ],
)
def test_an_addition_to_one_text_does_not_differ(addition: str) -> None:
    assert not differ(wording("aldmere"), wording("aldmere") + "\0" + addition)


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("updated 3 may", "published 4 may"),
        ("printed from https://a.example/1", "more: www.a.example"),
        ("7 comments, 12 likes", "9 views"),
    ],
)
def test_stamps_counters_and_addresses_do_not_differ(line: str, other: str) -> None:
    assert not differ(wording("aldmere") + "\0" + line, wording("aldmere") + "\0" + other)


def test_another_word_differs_beside_lines_of_one_page() -> None:
    assert differ(wording("aldmere") + "\0share\0this\0page", wording("corlund"))


def test_the_order_of_sentences_does_not_matter() -> None:
    assert not differ("one town\0two roads", "two roads\0one town")


@given(some_hashes, some_hashes)
def test_more_sentences_never_differ(text: set[int], more: set[int]) -> None:
    assert not sampled(text).differs(sampled(text | more))
    assert not sampled(text | more).differs(sampled(text))


@given(st.sets(hashes, max_size=60), hashes, hashes, st.sampled_from([0, 8, MAX_SENTENCES]))
def test_one_replaced_sentence_differs(text: set[int], one: int, other: int, most: int) -> None:
    """However few of them are stored."""
    mine, others = {*text, one} - {other}, {*text, other} - {one}
    if one != other:
        assert sampled(mine, most).differs(sampled(others, MAX_SENTENCES))


@given(some_hashes, some_hashes)
def test_few_sentences_differ_exactly_if_each_text_has_one_of_its_own(text: set[int], other: set[int]) -> None:
    mine, others = (set(sorted(each)[:MAX_SENTENCES]) for each in (text, other))
    assert sampled(mine).differs(sampled(others)) == bool(mine - others and others - mine)


def test_a_long_sentence_is_cut() -> None:
    text = "word " * 1000
    assert [len(each) for each in sentences_of(text.encode())] == [MAX_SENTENCE_BYTES]
    assert [len(each) for each in sentences_of(("x" * 100 + " y").encode())] == [34]
