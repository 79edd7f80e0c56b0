"""Codes around sentence ends."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.config import Config
from dedupcrawl.detectors.base import Fingerprint, Relation
from dedupcrawl.detectors.feature_codes import (
    FeatureCode,
    FeatureCodes,
    code_positions,
    code_text,
    code_tokens,
    longest_common_subsequence,
)
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.errors import SettingError
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from tests import oracles
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

ONE, ALL = FeatureCode(), FeatureCodes()
LONG = " ".join((ENGLISH, OTHER_ENGLISH, ENGLISH.replace("e", "i"), OTHER_ENGLISH.replace("a", "o")))

DIALOGUE = "他昨天晚上去了北京的火车站！你今天早上看见他了没有呢？我们都没有在那里看见他出现过"


def fingerprint(text: str, detector: FeatureCode | FeatureCodes = ONE) -> Fingerprint:
    found = detector.fingerprint(Features(Page.from_text(text)))
    assert found is not None
    return found


def first_code(text: str, size: int) -> str:
    features = Features(Page.from_text(text))
    return code_text(code_tokens(features, int(code_positions(features, size)[0]), size))


@given(st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_the_longest_common_subsequence(left: str, right: str) -> None:
    assert longest_common_subsequence(left, right) == oracles.longest_common_subsequence(left, right)


@pytest.mark.parametrize(
    ("text", "size", "code"),
    [
        (CHINESE, 10, "停在码头边许多渔民自"),
        (ENGLISH, 10, "stood white at their piers fishermen who had not seen"),
        ("一。二三四五六七。八九十一二三。", 10, "三四五六七八九十一二"),
        ("共花了 12 亿 us dollars。随后 iPhone 上市了。", 6, "亿 us dollars 随 后 iphone"),
    ],
)
def test_the_code_is_around_the_first_full_stop_with_room(text: str, size: int, code: str) -> None:
    assert first_code(text, size) == code


@pytest.mark.parametrize("text", ["", "没有句号的文字没有句号的文字", "短。", "no stop at all", "。" * 50, "😀。😀"])
def test_a_page_without_such_a_full_stop_has_no_code(text: str) -> None:
    assert ONE.fingerprint(Features(Page.from_text(text))) is None
    assert ALL.fingerprint(Features(Page.from_text(text))) is None


def corrupted(text: str, middle: int, errors: int, rng: random.Random) -> str:
    """Mistype up to ``errors`` characters near ``middle``: replaced, left out or added."""
    for _ in range(errors):
        at = middle + rng.randint(-5, 5)
        if text[at] in "。，":
            continue
        new = rng.choice(("", "误", "误" + text[at]))
        text = text[:at] + new + text[at + 1 :]
    return text


@pytest.mark.parametrize("seed", range(60))
def test_two_errors_are_found_and_forgiven(seed: int) -> None:
    text = corrupted(CHINESE, CHINESE.index("。"), 2, random.Random(seed))
    old, new = fingerprint(CHINESE), fingerprint(text)
    match = ONE.compare(new.sketch, old.sketch)
    assert match is not None
    assert match.relation is Relation.NEAR_DUPLICATE
    assert not set(new.probes or ()).isdisjoint(old.keys)


def test_three_errors_are_not() -> None:
    text = CHINESE.replace("码头边。许多", "马头变。须多")
    assert ONE.compare(fingerprint(text).sketch, fingerprint(CHINESE).sketch) is None


def test_the_length_ratio_separates_an_excerpt() -> None:
    old = fingerprint(CHINESE)
    assert ONE.compare(fingerprint(CHINESE[:-10]).sketch, old.sketch)
    assert ONE.compare(fingerprint(CHINESE[:100]).sketch, old.sketch) is None
    assert FeatureCode(length_ratio=3).compare(fingerprint(CHINESE[:100]).sketch, old.sketch)


def test_the_evidence_shows_the_code() -> None:
    match = ONE.compare(fingerprint(CHINESE).sketch, fingerprint(CHINESE).sketch)
    assert match is not None
    assert match.evidence["code"] == match.evidence["older_code"] == "停在码头边许多渔民自"
    assert match.evidence["common"] == "10 of 10"


def test_one_code_has_three_keys_and_asks_at_five_offsets() -> None:
    found = fingerprint(CHINESE)
    assert len(found.keys) == 3
    assert found.probes is not None
    assert len(found.probes) == 15
    assert set(found.keys) <= set(found.probes)


def test_a_giant_word_is_kept_short() -> None:
    text = f"one two three four {'x' * 5000}. one two three four five six"
    assert len(fingerprint(text).sketch) < 100


def test_codes_of_a_copy_match_and_of_another_text_do_not() -> None:
    match = ALL.compare(fingerprint(LONG, ALL).sketch, fingerprint(LONG + " The end.", ALL).sketch)
    assert match is not None
    assert match.relation is Relation.NEAR_DUPLICATE
    assert ALL.compare(fingerprint(ENGLISH, ALL).sketch, fingerprint(OTHER_ENGLISH, ALL).sketch) is None
    assert ALL.compare(fingerprint(CHINESE, ALL).sketch, fingerprint(OTHER_CHINESE, ALL).sketch) is None


def test_codes_give_containment() -> None:
    excerpt = ALL.compare(fingerprint(ENGLISH, ALL).sketch, fingerprint(LONG, ALL).sketch)
    assert excerpt is not None
    assert excerpt.relation is Relation.EXCERPT
    expansion = ALL.compare(fingerprint(LONG, ALL).sketch, fingerprint(ENGLISH, ALL).sketch)
    assert expansion is not None
    assert expansion.relation is Relation.EXPANSION


@given(st.integers(10, 120), st.integers(0, 10), st.integers(0, 120))
def test_a_sample_of_codes_estimates_their_share(shared: int, mine: int, others: int) -> None:
    """Against sets: all codes counted, where the detector keeps 32."""

    def text(ids: list[int]) -> str:
        return " ".join(f"w{i} w{i}a w{i}b w{i}c w{i}d. v{i} v{i}a v{i}b v{i}c v{i}d v{i}e!" for i in ids)

    left = text([*range(shared), *range(500, 500 + mine)])
    right = text([*range(shared), *range(900, 900 + others)])
    sets = []
    for one in (left, right):
        features = Features(Page.from_text(one))
        sets.append({code_tokens(features, place, 10) for place in code_positions(features, 10, "sentences").tolist()})
    detector = FeatureCodes(share=0.01, length_ratio=99, length_slack=10**6, ends="sentences")
    match = detector.compare(fingerprint(left, detector).sketch, fingerprint(right, detector).sketch)
    if oracles.jaccard(*sets) > 0.3:
        assert match is not None
        assert match.similarity == pytest.approx(oracles.jaccard(*sets), abs=0.4)
        if len(sets[0] | sets[1]) <= 32:
            assert match.similarity == pytest.approx(oracles.jaccard(*sets))


@pytest.mark.parametrize(
    ("detector", "constant", "value", "accepted"),
    [
        (FeatureCode, "size", 9, "an even number"),
        (FeatureCode, "size", 4, "tolerance"),
        (FeatureCode, "tolerance", -1, "from 0"),
        (FeatureCode, "length_ratio", 0.5, "at least 1"),
        (FeatureCodes, "size", 11, "an even number"),
        (FeatureCodes, "kept", 1, "from 2"),
        (FeatureCodes, "share", 0.0, "above 0"),
        (FeatureCodes, "filed", 0, "from 1"),
    ],
)
def test_constants_that_make_no_sense_are_named(
    detector: type[FeatureCode | FeatureCodes], constant: str, value: object, accepted: str
) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        detector(**{constant: value})  # type: ignore[arg-type]
    assert caught.value.name == f"detectors['{detector.name}'].{constant}"


@pytest.mark.parametrize("detector", [FeatureCode, FeatureCodes])
def test_exclamations_and_questions_have_codes_by_choice(detector: type[FeatureCode | FeatureCodes]) -> None:
    text = f"{DIALOGUE}！大家明天下午再去车站找找他吧"
    features = Features(Page.from_text(text))
    assert detector().fingerprint(features) is None  # as in the source, only a full stop has a code
    found = detector(ends="sentences").fingerprint(features)
    assert found is not None
    assert detector(ends="sentences").scheme() != detector().scheme()


def test_the_first_full_stop_has_the_code() -> None:
    text = f"{DIALOGUE}。大家明天下午再去车站找找他吧"
    features = Features(Page.from_text(text))
    shown = [
        "".join(code_tokens(features, int(code_positions(features, 10, ends)[0]), 10))
        for ends in ("stops", "sentences")
    ]
    assert shown == ["见他出现过大家明天下", "京的火车站你今天早上"]


@pytest.mark.parametrize("detector", ["feature_code", "feature_codes"])
def test_an_unknown_kind_of_end_is_refused(detector: str) -> None:
    with pytest.raises(SettingError, match=r'"stops" or "sentences"'):
        build_detectors(Config(detectors={detector: {"ends": "commas"}}))
