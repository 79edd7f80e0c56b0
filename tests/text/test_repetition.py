"""Texts that are one word over and over."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.text.normalize import encode
from dedupcrawl.text.repetition import LONGEST, is_one_word_repeated
from tests.texts import CHINESE, ENGLISH


def is_repeated(text: str) -> bool:
    return Features(Page.from_text(text)).is_one_word_repeated


@pytest.mark.parametrize(
    "text",
    [
        "buffalo " * 2,
        "Buffalo, buffalo; BUFFALO! buffalo",
        "哈" * 300,
        "港口" * 40,
        "ท่าเรือ" * 30,
        "ميناء " * 30,
        "7 " * 9,
        "buy now! " * 50,
        "badger badger bad",
        "\ue000" * 5 + "no" * 5,
        "buffalo" + "." * 600 + "buffalo",
        "buffalo badger " * 500,
    ],
)
def test_one_word_however_it_is_set(text: str) -> None:
    assert is_repeated(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "😀😀😀",
        "a",
        "buffalo",
        "buffalo badger",
        "buffalo " * 9 + "badger",
        "buffalo " * 500 + "badger",
        ENGLISH,
        CHINESE,
        ENGLISH * 2,
    ],
)
def test_other_texts(text: str) -> None:
    assert not is_repeated(text)


@given(st.text("ab", max_size=40))
@example("x" * (LONGEST + 1) + "y")
def test_it_is_what_the_definition_says(letters: str) -> None:
    periods = range(1, min(LONGEST, len(letters) // 2) + 1)
    plainly = any(all(a == b for a, b in zip(letters, letters[period:], strict=False)) for period in periods)
    assert is_one_word_repeated(encode(letters)) == plainly
    assert is_one_word_repeated(encode(letters * 2)) == (0 < len(letters) <= LONGEST or plainly)
