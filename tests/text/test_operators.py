"""A sign of arithmetic between two numbers is a token: exercises and formulas differ by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl import Deduplicator, Page
from dedupcrawl.text import features
from dedupcrawl.text.features import Features, FeaturesBatch
from dedupcrawl.text.normalize import (
    OPERATORS,
    ROLE,
    ROLE_SHIFT,
    CharacterKind,
    decode,
    mark_operators,
    pack,
    pack_many,
)
from tests import oracles

texts = st.text(st.sampled_from("12+−×÷=<>≤≥≠±＋＜- ()$%a中\0."), max_size=60)


def operators(text: str) -> list[str]:
    """Return the signs of a text that are tokens."""
    packed = pack(text)
    is_token = (packed & ROLE) >> ROLE_SHIFT == CharacterKind.CHARACTER
    return [sign for sign in decode(packed[is_token] & ~ROLE) if sign in OPERATORS]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 + 4 = 7", "+="),
        ("3+4=7", "+="),
        ("12 − 5 × 2 ÷ 1", "−×÷"),
        ("3 < 5 > 2", "<>"),
        ("3≤5 ≥ 2 ≠ 7 ± 1", "≤≥≠±"),
        ("３＜５", "<"),
        ("a < b, i <= 3", ""),
        ("２＋２", "+"),
        ("2 × (3 + 4) = 14", "×+="),
        ("$3 + $4 = $7", "+="),
        ("5% + 3%", "+"),
        ("C++ and C#", ""),
        ("A + B = C", ""),
        ("Tel. +49 30 123", ""),
        ("3 +", ""),
        ("+ 3", ""),
        ("3 . + 4", ""),
        ("10 - 12 May 2026-05-03", ""),
        ("在3+4处", "+"),
        ("", ""),
    ],
)
def test_signs_between_numbers_are_tokens(text: str, expected: str) -> None:
    assert operators(text) == [*expected]


@settings(max_examples=300, deadline=None)
@given(texts)
def test_tokens_are_those_of_the_definition(text: str) -> None:
    assert len(Features(Page.from_text(text)).tokens(0).hashes) == len(oracles.tokens(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "kernel", None)
        plain = Features(Page.from_text(text))
        assert len(plain.tokens(0).hashes) == len(oracles.tokens(text))
        assert plain.shingles(5, 3, 0).tolist() == Features(Page.from_text(text)).shingles(5, 3, 0).tolist()


@settings(max_examples=200, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5))
def test_texts_that_are_packed_together_keep_their_own_signs(several: list[str]) -> None:
    found = pack_many(several)
    for start, stop, text in zip(found.starts.tolist(), found.stops.tolist(), several, strict=True):
        assert found.packed[start:stop].tolist() == pack(text).tolist()
    pages = [Page.from_text(text) for text in several]
    batch = FeaturesBatch(pages)
    assert batch.letters == [Features(page).letters for page in pages]


def test_marking_changes_nothing_else() -> None:
    packed = pack("no sum + here")
    assert mark_operators(packed) is packed
    marked = pack("3 + 4")
    assert np.array_equal(mark_operators(marked), marked)


@pytest.mark.parametrize(
    ("one", "other"), [("+", "−"), ("+", "×"), ("−", "÷"), ("<", ">"), ("≤", "<"), ("=", "≠"), ("±", "+")]
)
def test_sheets_with_other_signs_are_no_copies(one: str, other: str) -> None:
    sums = [(place * 7 % 20 + 20, place % 9 + 1) for place in range(40)]
    sheet = "Work out: " + "; ".join(f"{left} {{}} {right}" for left, right in sums)
    with Deduplicator() as dedup:
        assert dedup.add(Page.from_text(sheet.replace("{}", one), "https://a.example/")).keep
        assert dedup.add(Page.from_text(sheet.replace("{}", other), "https://b.example/")).keep
        assert not dedup.add(Page.from_text(sheet.replace("{}", one), "https://c.example/")).keep
