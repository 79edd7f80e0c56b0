"""Super-shingles: their values, how often they agree, and what they match."""

from __future__ import annotations

from math import comb, sqrt
from typing import TYPE_CHECKING

import datasketch
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.detectors.base import Fingerprint, Match, Relation
from dedupcrawl.detectors.shingling import _CHUNK_SHINGLES, Shingling, minima, super_shingles
from dedupcrawl.errors import SettingError
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.text.shingles import MASK64, seeded_constants
from tests import oracles
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

if TYPE_CHECKING:
    from dedupcrawl.text.shingles import Hashes

SHINGLING = Shingling()


def features(text: str) -> Features:
    return Features(Page.from_text(text))


def fingerprint(text: str, detector: Shingling = SHINGLING) -> Fingerprint:
    found = detector.fingerprint(features(text))
    assert found is not None
    return found


def compare(new: str, old: str, detector: Shingling = SHINGLING) -> Match | None:
    return detector.compare(fingerprint(new, detector).sketch, fingerprint(old, detector).sketch)


def sketch(*supers: int) -> bytes:
    return b"\x42" + (100).to_bytes(4, "little") + b"".join(each.to_bytes(8, "little") for each in supers)


# -- by hand ------------------------------------------------------------------------------------


def test_two_equal_super_shingles_in_their_places_are_a_match() -> None:
    old = sketch(11, 12, 13, 14, 15, 16)
    assert SHINGLING.compare(sketch(11, 0, 0, 0, 0, 0), old) is None
    assert SHINGLING.compare(sketch(12, 11, 14, 13, 16, 15), old) is None
    match = SHINGLING.compare(sketch(11, 0, 13, 0, 0, 0), old)
    assert match == Match(
        (2 / 6) ** (1 / 14), Relation.NEAR_DUPLICATE, {"super_shingles": "2 of 6", "lengths": [100, 100]}
    )


def test_nine_words_are_two_shingles() -> None:
    nine = "one two three four five six seven eight nine"
    whole = fingerprint(nine, Shingling(minima=1, super_shingles=1, needed=1))
    parts = [
        fingerprint(part, Shingling(minima=1, super_shingles=1, needed=1)).sketch[5:]
        for part in (nine.removesuffix(" nine"), nine.removeprefix("one "))
    ]
    assert parts[0] != parts[1]
    assert whole.sketch[5:] in parts


# -- against plain Python -----------------------------------------------------------------------


def under_function(element: int, factor: int) -> int:
    product = element * factor & MASK64
    product ^= product >> 32
    product = product * 0xFF51AFD7ED558CCD & MASK64
    return product ^ (product >> 29)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, MASK64), min_size=1, max_size=60), st.integers(0, MASK64))
def test_minima_are_those_of_a_set(elements: list[int], seed: int) -> None:
    factors = [int(factor) for factor in seeded_constants(seed, "minimum", 12)]
    expected = [min(under_function(element, factor) for element in set(elements)) for factor in factors]
    assert minima(np.array(elements, np.uint64), 12, seed).tolist() == expected


def test_minima_do_not_depend_on_how_the_text_is_cut() -> None:
    elements = np.arange(3 * _CHUNK_SHINGLES + 5, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    expected = np.minimum(minima(elements[:1500], 84, 7), minima(elements[1500:], 84, 7))
    assert minima(elements, 84, 7).tolist() == expected.tolist()


def test_each_group_of_minima_has_a_super_shingle_of_its_own() -> None:
    least = np.arange(84, dtype=np.uint64)
    before = super_shingles(least, 6, 0)
    for place in range(84):
        changed = least.copy()
        changed[place] += np.uint64(1)
        differing = np.flatnonzero(super_shingles(changed, 6, 0) != before)
        assert differing.tolist() == [place // 14]
    assert len(set(super_shingles(np.zeros(84, np.uint64), 6, 0).tolist())) == 6


# -- how often they agree -----------------------------------------------------------------------


def pair(random: np.random.Generator, common: int, own: int) -> tuple[Hashes, Hashes]:
    """Two random sets that share ``common`` elements and have ``own`` each."""
    elements = random.integers(0, 2**64, common + 2 * own, dtype=np.uint64)
    return elements[: common + own], np.concatenate((elements[:common], elements[common + own :]))


@pytest.mark.parametrize(("common", "own"), [(380, 10), (360, 20), (320, 40)])
def test_pages_match_as_often_as_the_binomial_distribution_predicts(common: int, own: int) -> None:
    random = np.random.default_rng(2006)
    trials = 800
    matched = 0
    for _ in range(trials):
        new, old = (super_shingles(minima(each, 84, 5), 6, 5) for each in pair(random, common, own))
        matched += int(np.count_nonzero(new == old) >= 2)
    equal = (common / (common + 2 * own)) ** 14
    expected = sum(comb(6, k) * equal**k * (1 - equal) ** (6 - k) for k in range(2, 7))
    assert matched / trials == pytest.approx(expected, abs=4 * sqrt(expected * (1 - expected) / trials))


def test_minima_agree_as_often_as_those_of_datasketch() -> None:
    words = ENGLISH.split()
    new, old = " ".join(words[10:]), " ".join(words[:-10])
    true = oracles.jaccard(set(oracles.shingles(new, 8, 8)), set(oracles.shingles(old, 8, 8)))
    ours = [minima(features(text).shingles(8, 8, 0), 1024, 0) for text in (new, old)]
    theirs = [datasketch.MinHash(1024) for _ in range(2)]
    for text, minhash in zip((new, old), theirs, strict=True):
        minhash.update_batch([" ".join(shingle).encode() for shingle in oracles.shingles(text, 8, 8)])
    error = 4 * sqrt(true * (1 - true) / 1024)
    assert np.mean(ours[0] == ours[1]) == pytest.approx(true, abs=error)
    assert theirs[0].jaccard(theirs[1]) == pytest.approx(true, abs=error)


# -- pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (ENGLISH, ENGLISH),
        (ENGLISH + " Correspondent.", ENGLISH),
        (CHINESE.replace("，", ", ").replace("。", ". "), CHINESE),
        ("本报讯 " + CHINESE, CHINESE),
    ],
)
def test_copies_share_a_key_and_match(new: str, old: str) -> None:
    match = compare(new, old)
    assert match is not None
    assert match.relation is Relation.NEAR_DUPLICATE
    assert match.similarity > 0.9
    assert not set(fingerprint(new).keys).isdisjoint(fingerprint(old).keys)


@pytest.mark.parametrize(
    ("new", "old"),
    [(ENGLISH, OTHER_ENGLISH), (CHINESE, OTHER_CHINESE), (ENGLISH[:350], ENGLISH), (CHINESE[:120], CHINESE)],
)
def test_others_and_parts_do_not_match(new: str, old: str) -> None:
    assert compare(new, old) is None


def test_a_match_shares_as_many_keys_as_super_shingles() -> None:
    match = compare(ENGLISH + " Correspondent.", ENGLISH)
    assert match is not None
    common = set(fingerprint(ENGLISH + " Correspondent.").keys) & set(fingerprint(ENGLISH).keys)
    assert match.evidence["super_shingles"] == f"{len(common)} of 6"


def test_six_keys_and_53_bytes_a_page() -> None:
    found = fingerprint(ENGLISH)
    assert len(found.keys) == 6
    assert len(found.sketch) == 53
    assert found.probes is None


@pytest.mark.parametrize(
    ("constants_", "constant", "accepted"),
    [
        ({"characters": 0}, "characters", "from 1 to 64"),
        ({"words": 65}, "words", "from 1 to 64"),
        ({"minima": 0}, "minima", "from 1 to 1024"),
        ({"minima": 84.0}, "minima", "a whole number"),
        ({"super_shingles": 5}, "super_shingles", "a divisor of minima = 84"),
        ({"super_shingles": 85}, "super_shingles", "from 1 to 84"),
        ({"needed": 7}, "needed", "from 1 to 6"),
        ({"needed": 0}, "needed", "from 1 to 6"),
        ({"seed": -1}, "seed", "from 0"),
    ],
)
def test_constants_that_make_no_sense_are_named(constants_: dict[str, object], constant: str, accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        Shingling(**constants_)  # type: ignore[arg-type]
    assert caught.value.name == f"detectors['shingling'].{constant}"


def test_what_only_compare_uses_is_no_part_of_the_scheme() -> None:
    assert Shingling(needed=1).scheme() == SHINGLING.scheme()
    assert Shingling(words=7).scheme() != SHINGLING.scheme()
