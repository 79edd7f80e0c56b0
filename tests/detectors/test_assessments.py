"""The assessment of every detector agrees with its comparison."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dedupcrawl.config import Config
from dedupcrawl.detectors.base import MAX_SHOWN, Assessment, Detector, Evidence, Relation, Threshold, no_assessment
from dedupcrawl.detectors.boolean import Boolean
from dedupcrawl.detectors.combined import Combined
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.detectors.feature_codes import FeatureCode, FeatureCodes
from dedupcrawl.detectors.keywords import Keywords
from dedupcrawl.detectors.minhash import MinHash
from dedupcrawl.detectors.registry import DETECTORS, build_detectors
from dedupcrawl.detectors.segments import Segments
from dedupcrawl.detectors.simhash import SimHash
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from tests.detectors.helpers import real_pages
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

EVERY = build_detectors(Config(detectors=list(DETECTORS)))
#: Beside the defaults: other branches, and constants that let pairs through or stop them.
OTHERS = (
    MinHash(threshold=0.05, length_ratio=9),
    MinHash(threshold=0.99, containment=0.2),
    FeatureCodes(share=0.01, length_ratio=9),
    Boolean(differing=40, length_difference=0.9),
    Segments(count=8, equal=1),
    SimHash(distance=16, blocks=17),
    Keywords(variant=1),
    Keywords(variant=2),
    Keywords(variant=4, difference=1e-9),
    Keywords(variant=5),
    Combined(any_of=(SimHash(), MinHash(), Exact())),
    Combined(all_of=(FeatureCode(), MinHash(threshold=0.3))),
)
every = pytest.mark.parametrize("detector", [*EVERY, *OTHERS], ids=lambda detector: detector.name)

TEXTS = (ENGLISH, OTHER_ENGLISH, CHINESE, OTHER_CHINESE)


def pair(detector: Detector, new: Features, old: Features) -> tuple[bytes, bytes] | None:
    mine, other = detector.fingerprint(new), detector.fingerprint(old)
    return (mine.sketch, other.sketch) if mine and other else None


def check(detector: Detector, new: bytes, old: bytes) -> Assessment:
    """Assert what holds of every assessment."""
    assessment, match = detector.assess(new, old), detector.compare(new, old)
    assert assessment.match == match
    assert assessment.detector == detector.name
    assert json.loads(json.dumps(assessment.figures)) == assessment.figures
    assert assessment.similarity is None or 0 <= assessment.similarity <= 1
    if assessment.silent:
        assert match is None
        return assessment
    assert assessment.thresholds
    if match is None:
        assert not all(threshold.is_met for threshold in assessment.thresholds)
        assert not assessment.part_thresholds or not all(threshold.is_met for threshold in assessment.part_thresholds)
    else:
        assert assessment.similarity == match.similarity
        assert match.evidence.items() <= assessment.figures.items()
        in_part = match.relation in (Relation.EXCERPT, Relation.EXPANSION)
        assert all(threshold.is_met for threshold in (assessment.part_thresholds if in_part else assessment.thresholds))
    return assessment


def edited(text: str, begin: int, size: int, put: str) -> str:
    begin %= len(text)
    return text[:begin] + put + text[begin + size :]


@every
@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(TEXTS), st.integers(0, 2000), st.integers(0, 400), st.text("ab 冰港.。", max_size=30), st.booleans()
)
@example(ENGLISH, 0, 0, "", False)
@example(CHINESE, 0, 0, "", True)
@example(ENGLISH, 0, 2000, OTHER_ENGLISH, False)
@example(ENGLISH, 0, 400, "", True)
def test_it_is_what_the_verdict_rests_on(
    detector: Detector, text: str, begin: int, size: int, put: str, turned: bool
) -> None:
    new, old = Features(Page.from_text(edited(text, begin, size, put))), Features(Page.from_text(text))
    sketches = pair(detector, *((old, new) if turned else (new, old)))
    if sketches is not None:
        check(detector, *sketches)


@pytest.mark.parametrize("detector", EVERY, ids=lambda detector: detector.name)
def test_it_is_what_the_verdict_rests_on_for_real_pages(detector: Detector) -> None:
    some = real_pages()[:24]
    prints = [each for each in map(detector.fingerprint, some) if each is not None]
    pairs = itertools.combinations_with_replacement(prints, 2)
    assessments = [check(detector, new.sketch, old.sketch) for new, old in pairs]
    assert any(each.match for each in assessments)
    assert any(each.match is None for each in assessments)


@pytest.mark.parametrize("detector", EVERY, ids=lambda detector: detector.name)
def test_evidence_agree_with_figures(detector: Detector) -> None:
    text = ENGLISH.replace("Eleven centimetres", "Nine centimetres")
    sketches = pair(detector, Features(Page.from_text(text)), Features(Page.from_text(ENGLISH)))
    assert sketches is not None
    assessment = detector.assess(*sketches)
    assert detector is EVERY[0] or assessment.evidence
    for shown in assessment.evidence:
        assert bool(shown.agreeing) != bool(shown.shared or shown.only_new or shown.only_old)
        assert not set(shown.shared) & {*shown.only_new, *shown.only_old}


def test_the_slots_that_are_shown_are_those_that_were_counted() -> None:
    detector = MinHash()
    text = ENGLISH.replace("Eleven centimetres", "Nine centimetres")
    sketches = pair(detector, Features(Page.from_text(text)), Features(Page.from_text(ENGLISH)))
    assert sketches is not None
    assessment = detector.assess(*sketches)
    (slots,) = assessment.evidence
    assert len(slots.agreeing) == 128
    assert assessment.figures["slots"] == f"{slots.agreeing.count('1')} of 128"
    new, old = (sketch[-128:] for sketch in sketches)
    assert slots.agreeing == "".join("1" if a == b else "0" for a, b in zip(new, old, strict=True))


def test_the_bits_that_are_shown_give_the_hamming_distance() -> None:
    sketches = b"\x48" + bytes(8), b"\x48" + bytes((1, 0, 0, 0, 0, 0, 0, 0x80))
    assessment = SimHash().assess(*sketches)
    assert assessment.evidence == (Evidence("bits", "0" + 62 * "1" + "0"),)
    assert assessment.thresholds == (Threshold("distance", 3, 2, at_least=False, measure="bits that differ"),)


def test_codes_are_shown_in_words_if_the_sketch_has_them() -> None:
    sketches = pair(
        FeatureCode(), Features(Page.from_text(ENGLISH)), Features(Page.from_text("So it " + OTHER_ENGLISH))
    )
    assert sketches is not None
    (codes,) = FeatureCode().assess(*sketches).evidence
    assert codes.shared == ()
    assert codes.only_new == ("stood white at their piers fishermen who had not seen",)
    assert codes.only_old == ("monday in a blue folder one lamp in five is",)


@pytest.mark.parametrize(
    ("found", "at_least", "strict", "met"),
    [
        (0.8, True, False, True),
        (0.8, True, True, False),
        (0.79, True, False, False),
        (0.8, False, False, True),
        (0.8, False, True, False),
        (0.81, False, False, False),
        (0.79, False, True, True),
    ],
)
def test_thresholds(found: float, at_least: bool, strict: bool, met: bool) -> None:
    assert Threshold("threshold", 0.8, found, at_least, is_strict=strict).is_met is met


@given(st.lists(st.text(max_size=2), max_size=60), st.lists(st.text(max_size=2), max_size=60))
def test_elements_are_dealt_out(new: list[str], old: list[str]) -> None:
    shown = Evidence.of_elements("words", new, old)
    whole = set(shown.shared), set(shown.only_new), set(shown.only_old)
    wanted = {*new} & {*old}, {*new} - {*old}, {*old} - {*new}
    for found, expected in zip(whole, wanted, strict=True):
        assert found <= expected
        assert len(found) == min(len(expected), MAX_SHOWN)


def test_no_assessment_names_the_page_without_a_fingerprint() -> None:
    assert no_assessment("imatch", b"", b"").silent == "neither page has a fingerprint"
    assert no_assessment("imatch", b"", b"x").silent == "the new page has no fingerprint"
    assert no_assessment("imatch", b"x", b"").silent == "the older page has no fingerprint"
    assert replace(no_assessment("imatch", b"x", b""), silent="") == Assessment("imatch", None)
