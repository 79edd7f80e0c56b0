"""Hashed shingles are the shingles of the definition, one hash each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.text import shingles as module
from dedupcrawl.text.normalize import decode, pack
from dedupcrawl.text.shingles import hash_runs, shingles, token_spans, tokens
from tests import oracles
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE

MIXED = "港口 harbour 结冰 11 cm，iPhone15发布了。The 第3届 SIGIR会议! ไทยแลนด์ 한국어 문장"
texts = st.text(st.sampled_from("ab c,。中文日1 😀ก\n-éß…"), max_size=60)


def hashes(text: str, characters: int = 5, words: int = 3, seed: int = 0) -> list[int]:
    found: list[int] = shingles(tokens(pack(text), seed), characters, words, seed).tolist()
    return found


@settings(max_examples=300, deadline=None)
@given(texts, texts, st.integers(1, 9), st.integers(1, 9))
def test_hashes_are_equal_when_shingles_are(left: str, right: str, characters: int, words: int) -> None:
    plain = oracles.shingles(left, characters, words) + oracles.shingles(right, characters, words)
    hashed = hashes(left, characters, words) + hashes(right, characters, words)
    assert len(hashed) == len(plain)
    assert len(set(zip(plain, hashed, strict=True))) == len(set(plain)) == len(set(hashed))


@given(texts)
def test_spans_cut_the_tokens_out_of_the_text(text: str) -> None:
    packed = pack(text)
    normal = decode(packed & np.uint32(0x1FFFFF))
    starts, stops = token_spans(packed)
    found = [normal[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
    assert found == oracles.tokens(text)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE, MIXED, ENGLISH + CHINESE])
def test_real_texts_have_the_shingles_of_the_definition(text: str) -> None:
    plain, hashed = oracles.shingles(text), hashes(text)
    assert len(hashed) == len(plain) > 10
    assert len(set(zip(plain, hashed, strict=True))) == len(set(plain)) == len(set(hashed))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("港口，在夜里结了冰。", "港口 在夜里“结了冰”！"),
        ("Don't stop - now", "don’t STOP. now"),
        ("ＦＵＬＬ　ｗｉｄｔｈ １２", "full width 12"),
        ("a\u200bb c", "ab c"),
    ],
)
def test_width_case_and_punctuation_change_no_shingle(left: str, right: str) -> None:
    assert hashes(left) == hashes(right)


@pytest.mark.parametrize(
    ("left", "right"), [("中文", "文中"), ("a b", "b a"), ("ab", "a b"), ("aa", "a"), ("1.5", "15")]
)
def test_other_tokens_are_other_shingles(left: str, right: str) -> None:
    assert set(hashes(left)).isdisjoint(hashes(right))


def test_a_text_shorter_than_a_shingle_is_one_shingle() -> None:
    assert len(hashes("two words")) == len(hashes("三个字")) == len(hashes("word 二")) == 1


@pytest.mark.parametrize("text", ["", "...", "😀😀", "\ud800"])
def test_a_text_without_letters_has_none(text: str) -> None:
    assert hashes(text) == []


def test_the_seed_changes_every_hash() -> None:
    assert set(hashes(ENGLISH, seed=0)).isdisjoint(hashes(ENGLISH, seed=1))


@pytest.mark.parametrize("text", [MIXED, ENGLISH, "无词" * 40 + " " + "x" * 50])
def test_long_texts_are_hashed_in_parts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tokens(pack(text), 7)
    monkeypatch.setattr(module, "_CHUNK", 64)
    assert tokens(pack(text), 7).hashes.tolist() == whole.hashes.tolist()


def test_a_word_longer_than_a_part_counts_to_its_end() -> None:
    word = "x" * 200_000
    stream = tokens(pack(f"before {word} after"), 0)
    other = tokens(pack(f"before {word[:-1]}y after"), 0)
    assert len(stream.hashes) == 3
    assert (stream.hashes == other.hashes).tolist() == [True, False, True]


@given(st.lists(st.integers(0, 2**64 - 1), max_size=30), st.integers(1, 12))
def test_runs_are_polynomials(numbers: list[int], length: int) -> None:
    from dedupcrawl.text.shingles import mix, seeded_constants

    factor = int(seeded_constants(3, "shingle", 1)[0]) & ~7 | 5
    expected = [
        sum(number * factor ** (length - 1 - place) for place, number in enumerate(numbers[at : at + length])) % 2**64
        for at in range(len(numbers) - length + 1)
    ]
    found = hash_runs(np.array(numbers, np.uint64), length, 3)
    assert found.tolist() == mix(np.array(expected, np.uint64)).tolist()


def test_hashes_spread_evenly() -> None:
    top = np.array(hashes(CHINESE + OTHER_CHINESE, words=1), np.uint64) >> np.uint64(60)
    low = np.array(hashes(CHINESE + OTHER_CHINESE, words=1), np.uint64) & np.uint64(15)
    for bits in (top, low):
        counts = np.bincount(bits.astype(int), minlength=16)
        expected = counts.sum() / 16
        assert ((counts - expected) ** 2 / expected).sum() < 40  # chi-square, 15 degrees: p < 0.001
