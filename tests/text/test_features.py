"""One page, computed once for all detectors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dedupcrawl.page.model import Page
from dedupcrawl.text import features as module
from dedupcrawl.text.features import Features
from dedupcrawl.text.normalize import normalize
from tests.texts import CHINESE, ENGLISH


def test_the_views_agree() -> None:
    features = Features(Page.from_text(f" {ENGLISH}\n\n{CHINESE} "))
    assert features.text == normalize(ENGLISH + " " + CHINESE)
    assert features.length == len(features.text) == len(features.points)
    assert features.letters == sum(character.isalnum() for character in features.text)
    assert features.text[: features.sentence_ends[0]].endswith("at their piers.")
    assert {"harbour", "港口"} <= set(features.words())


def test_nothing_is_computed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
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
