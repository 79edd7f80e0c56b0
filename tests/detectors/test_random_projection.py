"""The sum of the random vectors of all tokens."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.detectors.base import Fingerprint, Match, Relation
from dedupcrawl.detectors.random_projection import RandomProjection
from dedupcrawl.errors import SettingError
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from tests import oracles
from tests.detectors import plain_charikar
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

PROJECTION = RandomProjection()
TEXTS = [ENGLISH, CHINESE, f"{CHINESE} {ENGLISH}", "one", "一", "buffalo " * 30, "a b a 一"]


def fingerprint(text: str, detector: RandomProjection = PROJECTION) -> Fingerprint:
    found = detector.fingerprint(Features(Page.from_text(text)))
    assert found is not None
    return found


def bits(text: str, detector: RandomProjection = PROJECTION) -> int:
    return int.from_bytes(fingerprint(text, detector).sketch[1:], "little")


def compare(new: str, old: str, detector: RandomProjection = PROJECTION) -> Match | None:
    return detector.compare(fingerprint(new, detector).sketch, fingerprint(old, detector).sketch)


def test_the_page_of_one_token_is_its_vector() -> None:
    assert bits("ice") == bits("Ice! Ice; ICE.")


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("size", [64, 384])
def test_a_page_is_the_sign_of_the_sum_of_its_tokens(text: str, size: int) -> None:
    detector = RandomProjection(bits=size, agreement=size - 3)
    stream = oracles.tokens(text)
    vectors = {token: bits(token, detector) for token in set(stream)}
    assert bits(text, detector) == plain_charikar.signs(((vectors[token], 1) for token in stream), size)


def test_two_tokens_by_hand() -> None:
    ice, cold = bits("ice"), bits("cold")
    assert bits("ice cold") == ice & cold  # +1 and -1 are 0, and 0 is not positive
    assert bits("ice cold ice") == ice


def test_vectors_are_fair_and_independent() -> None:
    vectors = [bits(f"word{number}") for number in range(300)]
    ones = [vector.bit_count() for vector in vectors]
    assert np.mean(ones) == pytest.approx(192, abs=3)
    apart = [(left ^ right).bit_count() for left, right in pairwise(vectors)]
    assert np.mean(apart) == pytest.approx(192, abs=3)
    assert min(apart) > 130
    assert bits("ice", RandomProjection(seed=1)) != bits("ice")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_agreement_is_the_angle_between_token_counts(start: int, cut: int) -> None:
    words = oracles.tokens(ENGLISH + OTHER_ENGLISH)
    detector = RandomProjection(bits=1024, agreement=1024 - 127)
    new, old = words[start:], words[: len(words) - cut]
    counts = Counter(new), Counter(old)
    dot = sum(counts[0][token] * counts[1][token] for token in counts[0])
    norm = math.sqrt(math.prod(sum(n * n for n in count.values()) for count in counts))
    agreement = 1 - (bits(" ".join(new), detector) ^ bits(" ".join(old), detector)).bit_count() / 1024
    assert agreement == pytest.approx(1 - math.acos(min(1.0, dot / norm)) / math.pi, abs=0.065)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (ENGLISH, ENGLISH),
        (ENGLISH.replace("borrowed drill", "borrowed dril"), ENGLISH),
        (" ".join(reversed(ENGLISH.split())), ENGLISH),
        (CHINESE.replace("，", ", ").replace("。", ". "), CHINESE),
        ("记者 " + CHINESE, CHINESE),
    ],
)
def test_copies_share_a_key_and_match(new: str, old: str) -> None:
    match = compare(new, old)
    assert not set(fingerprint(new).keys).isdisjoint(fingerprint(old).keys)
    assert match is not None
    assert match.relation is Relation.NEAR_DUPLICATE
    assert match.similarity >= 372 / 384


@pytest.mark.parametrize(
    ("new", "old"),
    [(ENGLISH, OTHER_ENGLISH), (CHINESE, OTHER_CHINESE), (ENGLISH[:300] + OTHER_ENGLISH, ENGLISH), (CHINESE, ENGLISH)],
)
@pytest.mark.parametrize("detector", [PROJECTION, RandomProjection(characters=2)])
def test_others_do_not_match(new: str, old: str, detector: RandomProjection) -> None:
    assert compare(new, old, detector) is None


def test_pairs_of_characters_know_of_order() -> None:
    turned = CHINESE[::-1]
    assert compare(turned, CHINESE) is not None
    assert compare(turned, CHINESE, RandomProjection(characters=2)) is None
    assert bits(ENGLISH, RandomProjection(characters=2)).bit_count()


def test_a_text_without_letters_has_no_fingerprint() -> None:
    assert PROJECTION.fingerprint(Features(Page.from_text("😀 !!! …"))) is None


def test_thirteen_keys_and_49_bytes_a_page() -> None:
    found = fingerprint(ENGLISH)
    assert len(found.keys) == 13
    assert len(found.sketch) == 49
    assert found.probes is None


@pytest.mark.parametrize(
    ("constants", "constant", "accepted"),
    [
        ({"bits": 100}, "bits", "a multiple of 64"),
        ({"bits": 2048}, "bits", "from 64 to 1024"),
        ({"agreement": 385}, "agreement", "from 257 to 384"),
        ({"agreement": 200}, "agreement", "from 257 to 384"),
        ({"agreement": 0.97}, "agreement", "a whole number"),
        ({"bits": 128}, "agreement", "from 64 to 128"),
        ({"characters": 0}, "characters", "from 1 to 16"),
        ({"seed": -1}, "seed", "from 0"),
    ],
)
def test_constants_that_make_no_sense_are_named(constants: dict[str, object], constant: str, accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        RandomProjection(**constants)  # type: ignore[arg-type]
    assert caught.value.name == f"detectors['random_projection'].{constant}"


def test_every_constant_shapes_what_is_stored() -> None:
    others = [
        RandomProjection(bits=448),
        RandomProjection(agreement=371),
        RandomProjection(characters=2),
        RandomProjection(seed=1),
    ]
    schemes = [str(detector.scheme()) for detector in (PROJECTION, *others)]
    assert len(set(schemes)) == len(schemes)
