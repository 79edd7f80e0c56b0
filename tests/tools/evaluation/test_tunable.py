"""The pairs predicted for other constants are those that a run with them finds."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl import Config, Deduplicator, Page
from dedupcrawl.config import with_constant
from dedupcrawl.detectors.base import DUPLICATE_RELATIONS, Assessment, Match, Relation, Threshold
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.stores.base import Record
from dedupcrawl.tools.evaluation.suggest import candidate_values, constant_name, measurements_of
from tests.batch.corpus import story
from tests.texts import CHINESE, ENGLISH
from tests.tools.report.judged_ledgers import changed


@cache
def _texts() -> list[tuple[str, str]]:
    pairs = []
    for text in (ENGLISH, CHINESE, story(1, words=200)):
        pairs += [(text, text), (text, text[: len(text) * 9 // 10]), (text, text[: len(text) // 2])]
        pairs += [(text, text + text[:40]), (text, text.replace("the", "a").replace("的", "之"))]
    pairs += [(story(2, words=200), changed(story(2, words=200), words)) for words in range(1, 30, 3)]
    return [*pairs, (ENGLISH, CHINESE)]


def judged(config: Config) -> tuple[list[tuple[Assessment, ...]], list[bool]]:
    """The assessments on the pairs, and whether any detector matches them."""
    assessments: list[tuple[Assessment, ...]] = []
    with Deduplicator(config=config) as dedup:
        for old, new in _texts():
            records = [dedup.fingerprint(Page.from_text(text)) for text in (new, old)]
            mine, other = records
            is_fine = isinstance(mine, Record) and isinstance(other, Record)
            assessments.append(dedup.assessments(mine, other) if is_fine else ())  # type: ignore[arg-type]
    found = [any(each.match and each.match.relation in DUPLICATE_RELATIONS for each in said) for said in assessments]
    return assessments, found


@pytest.mark.parametrize("name", [name for name in DETECTORS if name != "combined"])
def test_the_constants_in_force_find_what_is_found(name: str) -> None:
    config = Config(detectors=("exact", name) if name != "exact" else ("exact",))
    assessments, found = judged(config)
    assert measurements_of(assessments, config).found({}).tolist() == found


@pytest.mark.parametrize(
    ("detector", "constant", "values"),
    [
        ("minhash", "threshold", (0.5, 0.7, 0.9, 0.97)),
        ("minhash", "length_ratio", (1.0, 1.05, 1.5, 3.0)),
        ("datasketch", "threshold", (0.5, 0.7, 0.9)),
        ("feature_code", "length_ratio", (1.0, 1.3, 3.0)),
        ("feature_codes", "feature_codes.share", (0.4, 0.6, 0.9)),
        ("simhash", "simhash.distance", (0, 2, 6, 8)),
        ("random_projection", "random_projection.agreement", (330, 372, 380)),
        ("spotsigs", "spotsigs.tau", (0.3, 0.6, 0.9)),
    ],
)
def test_other_constants_would_find_what_they_do_find(detector: str, constant: str, values: Any) -> None:
    config = Config(detectors=(detector,))
    scene = measurements_of(judged(config)[0], config)
    assert constant in scene.constants
    for value in values:
        assert scene.found({constant: value}).tolist() == judged(with_constant(config, constant, value))[1]


def test_a_combined_detector_has_nothing_to_tune_and_is_right_as_it_is() -> None:
    config = Config(detectors=("combined",))
    assessments, found = judged(config)
    scene = measurements_of(assessments, config)
    assert (scene.constants, scene.found({}).tolist()) == ((), found)


def test_a_constant_that_is_given_for_a_detector_has_its_name() -> None:
    assert constant_name("minhash", "threshold", Config()) == "threshold"
    own = Config(detectors={"exact": {}, "minhash": {"threshold": 0.7}})
    assert constant_name("minhash", "threshold", own) == "minhash.threshold"
    assert constant_name("simhash", "distance", Config(detectors=("simhash",))) == "simhash.distance"


FOUND = st.lists(st.floats(0.5, 1), min_size=1, max_size=30)


def assessments_of(similarities: list[float], threshold: float) -> list[tuple[Assessment, ...]]:
    def one(similarity: float) -> Assessment:
        match = Match(similarity, Relation.NEAR_DUPLICATE) if similarity >= threshold else None
        return Assessment(
            "minhash", match, similarity, thresholds=(Threshold("threshold", threshold, similarity, at_least=True),)
        )

    return [(one(similarity),) for similarity in similarities]


@settings(deadline=None)
@given(FOUND)
def test_values_part_the_pairs_in_every_way_that_round_ones_can(similarities: list[float]) -> None:
    config = Config()
    scene = measurements_of(assessments_of(similarities, config.threshold), config)
    values = candidate_values(scene, "threshold", config)
    found = np.array(similarities)
    made = {tuple((found >= value).tolist()) for value in values}
    low = int(min(similarities) * 100)
    wanted = {tuple((found >= round(place / 100, 2)).tolist()) for place in range(low + 1, 101)}
    assert wanted - {tuple([False] * len(found))} <= made | {tuple((found >= 0.8).tolist())}
    assert len(made) == len(values)  # each makes something else
    assert all(round(value, 2) == value for value in values)
    assert any((found >= value).tolist() == (found >= 0.8).tolist() for value in values)


def test_in_a_gap_what_is_in_force_stays_and_else_its_middle_is_taken() -> None:
    config = Config()
    wide = measurements_of(assessments_of([0.6, 0.7, 0.95], config.threshold), config)
    assert 0.8 in candidate_values(wide, "threshold", config)
    assert 0.65 in candidate_values(wide, "threshold", config) or 0.66 in candidate_values(wide, "threshold", config)


def test_what_cannot_be_judged_is_not_found() -> None:
    config = Config()
    scene = measurements_of([(), *assessments_of([0.9], 0.8)], config)
    assert scene.found({}).tolist() == [False, True]
    assert measurements_of([()], config).found({}).tolist() == [False]
    assert measurements_of([], config).constants == ()
