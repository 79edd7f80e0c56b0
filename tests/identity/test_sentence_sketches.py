"""Two texts of one wording are told apart by the sentences that each of them has for itself."""

from __future__ import annotations

import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.identity.sentence_sketches import (
    _POINTING,
    COUNTS_BYTES,
    POINTING_BEGINS,
    PRIME,
    SUMS_BYTES,
    count_hashes,
    sentences_differ,
    sentences_of,
    without_view_lines,
)

LINES = "our van is on its way to {} within the hour.\0neighbours in {} know how we work.\0ask in {}."
hashes = st.integers(0, 2**32 - 1)


def counts(lines: str) -> bytes:
    return count_hashes([zlib.crc32(sentence) for sentence in sentences_of(lines.encode())])


def wording(town: str) -> str:
    return LINES.format(town, town, town)


def test_the_counts_have_their_size() -> None:
    assert len(counts(wording("aldmere"))) == COUNTS_BYTES
    assert max(counts("a word\0" * 300)[SUMS_BYTES:]) < 4


@pytest.mark.parametrize("other", ["corlund", "青禾县", "los angeles", "новгород", "القاهرة"])
def test_another_word_differs(other: str) -> None:
    assert sentences_differ(counts(wording("aldmere")), counts(wording(other)))
    assert sentences_differ(counts(wording(other)), counts(wording("aldmere")))


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
    assert sentences_differ(counts(text), counts(other))


@pytest.mark.parametrize("lines", ["get our app.", "archive: this page. it was moved.", "one\0two", "one\0two\0three"])
def test_another_word_differs_beside_lines_of_one_page(lines: str) -> None:
    """Always with one more, nearly always with two; three can hide in the bucket of the one that the page lacks."""
    towns = [f"town{chr(at)}{chr(at + 1)}" for at in range(97, 121)]
    found = [sentences_differ(counts(f"{lines}\0{wording(town)}"), counts(wording("aldmere"))) for town in towns]
    assert sum(found) >= len(towns) - (0, 1, 6)[lines.count("\0")]


@pytest.mark.parametrize(
    "addition",
    [
        "updated 3 may 2026, 14:05",
        "2026-05-03 14:05",
        "12 comments",
        "a note: it was corrected",
        "not",
        "阅读 301",
        "corrected twice",
        "one. two. three\0four\0five",
    ],
)
def test_an_addition_to_one_text_does_not_differ(addition: str) -> None:
    text = wording("aldmere")
    assert not sentences_differ(counts(text), counts(f"{text}\0{addition}"))
    assert not sentences_differ(counts(f"{addition}\0{text}"), counts(text))


def test_the_order_of_sentences_does_not_matter() -> None:
    assert not sentences_differ(counts("a lift\0a ramp"), counts("a ramp\0a lift"))


@given(st.lists(hashes, max_size=100), st.lists(hashes, max_size=100))
def test_more_sentences_never_differ(text: list[int], more: list[int]) -> None:
    assert not sentences_differ(count_hashes(text), count_hashes(text + more))
    assert not sentences_differ(count_hashes(more + text), count_hashes(text))


def key(hashed: int) -> int:
    return (hashed >> 20) % PRIME


@given(st.lists(hashes, max_size=100), hashes, hashes, st.lists(hashes, max_size=1))
def test_another_sentence_differs(text: list[int], one: int, other: int, more: list[int]) -> None:
    """With one sentence more it is found too, unless the sums are by chance those of one: once in some 4,091 texts."""
    mine, others = [key(one), *map(key, more)], key(other)
    is_hidden = others in mine or (bool(more) and (sum(mine) - others) ** 2 % PRIME == _squares(mine, others))
    found = sentences_differ(count_hashes([*text, one, *more]), count_hashes([*text, other]))
    assert found or is_hidden


def _squares(mine: list[int], other: int) -> int:
    return (sum(each * each for each in mine) - other * other) % PRIME


def test_values_are_compared_by_themselves() -> None:
    said = counts(wording("aldmere"))
    assert sentences_differ(said + counts("eins\0zwei"), said + counts("eins\0drei"))
    assert not sentences_differ(said + counts("eins zwei"), said)


@pytest.mark.parametrize(("new", "old"), [(b"", b""), (b"", counts("a word")), (counts("a word"), b"")])
def test_without_counts_nothing_differs(new: bytes, old: bytes) -> None:
    assert not sentences_differ(new, old)


@pytest.mark.parametrize(
    "line",
    [
        "this page was printed from https://a.example/7",
        "本页由青禾报打印,网址 a.example/7",
        "diese seite drucken",
        "gedruckt von https://a.example/7",
        "распечатано с www.a.example/7",
        "impreso de https://a.example/7",
        "afgedrukt van https://a.example/7",
        "wydrukowano z https://a.example/7",
        "vytištěno z https://a.example/7",
        "nyomtatva innen: https://a.example/7",
        "εκτυπώθηκε από https://a.example/7",
        "utskrivet från https://a.example/7",
        "read more: a bridge in aldmere",
        "also on the gazette: rain",
        "相关阅读:沪指上涨",
    ],
)
def test_lines_of_views_are_left_out(line: str) -> None:
    lines = f"first line\0{line}\0last line".encode()
    assert without_view_lines(lines) == b"first line\0last line"


@pytest.mark.parametrize(
    "line",
    [
        "printing: offset",
        "printed in red",
        "read it aloud",
        "推荐人:陈立新",
        "more rain: 7 mm",
        "医生推荐:王医生",
        "related work: graph",
        "blueprint: see www.a.example",
    ],
)
def test_lines_of_a_text_stay(line: str) -> None:
    lines = f"first line\0{line}\0last line".encode()
    assert without_view_lines(lines) == lines


PIECES = (
    "read more",
    "also on ",
    "相关阅读",
    " :",
    ":",
    "* ",
    "→",
    "x",
    "print",
    "blue",
    "https://a.example",
    "字" * 90,
)


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), max_size=6))
def test_a_line_is_left_out_whatever_the_others_are(lines: list[str]) -> None:
    kept = [line.encode() for line in lines if not line or without_view_lines(line.encode())]
    assert without_view_lines("\0".join(lines).encode()) == b"\0".join(kept)


@given(st.from_regex(re.compile(_POINTING), fullmatch=True))
def test_a_line_that_points_elsewhere_has_a_beginning_that_compiled_code_looks_for(line: bytes) -> None:
    assert any(begin in line for begin in POINTING_BEGINS)


def test_a_long_sentence_is_cut() -> None:
    words = "字" * 700
    parts = sentences_of(words.encode())
    assert len(parts) == 3
    assert b"".join(parts).replace(b" ", b"") == words.encode()
