"""Features of one page, computed once for all detectors.

Texts that consist of one repeated word.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedupcrawl.page.model import Page
from dedupcrawl.text import features as module
from dedupcrawl.text.features import LONGEST_REPEATED, Features, is_one_word_repeated
from dedupcrawl.text.normalize import encode, normalize
from tests.texts import CHINESE, ENGLISH


def test_the_views_agree() -> None:
    features = Features(Page.from_text(f" {ENGLISH}\n\n{CHINESE} "))
    assert features.text == normalize(ENGLISH + " " + CHINESE)
    assert features.length == len(features.text) == len(features.points)
    assert features.letters == sum(character.isalnum() for character in features.text)
    assert features.text[: features.sentence_ends[0]].endswith("at their piers.")
    assert {"harbour", "港口"} <= set(features.words())


def test_nothing_is_computed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedupcrawl.text.features.kernel", None)
    calls: list[str] = []

    def counted(name: str) -> Callable[..., object]:
        original: Callable[..., object] = getattr(module, name)

        def call(*arguments: object) -> object:
            calls.append(name)
            return original(*arguments)

        return call

    for name in ("pack", "tokens", "shingles", "token_spans"):
        monkeypatch.setattr(module, name, counted(name))
    features = Features(Page.from_text(ENGLISH))
    assert calls == []
    assert features.length
    assert calls == ["pack"]
    assert features.shingles(5, 3, 0) is features.shingles(5, 3, 0)
    assert features.shingles(5, 2, 0) is not features.shingles(5, 3, 0)
    assert features.token_spans is features.token_spans
    assert calls == ["pack", "tokens", "shingles", "shingles", "token_spans"]


def test_two_views_of_one_page_are_equal() -> None:
    page = Page.from_text(ENGLISH)
    assert Features(page) == Features(page)
    assert Features(page) != Features(Page.from_text(CHINESE))


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
@example("x" * (LONGEST_REPEATED + 1) + "y")
def test_it_agrees_with_the_definition(letters: str) -> None:
    periods = range(1, min(LONGEST_REPEATED, len(letters) // 2) + 1)
    plainly = any(all(a == b for a, b in zip(letters, letters[period:], strict=False)) for period in periods)
    assert is_one_word_repeated(encode(letters)) == plainly
    assert is_one_word_repeated(encode(letters * 2)) == (0 < len(letters) <= LONGEST_REPEATED or plainly)
