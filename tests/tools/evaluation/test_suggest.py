"""Suggested values reach the wanted precision in a run; otherwise the shortfall is explained."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl import Config
from dedupcrawl.detectors.base import Assessment, Match, Relation, Threshold
from dedupcrawl.tools.evaluation.dataset import JudgedPair, LabelledPair, judge_pairs, score_pairs, weighted_pairs
from dedupcrawl.tools.evaluation.metrics import StratumCount, proportion_of
from dedupcrawl.tools.evaluation.runs import with_constants
from dedupcrawl.tools.evaluation.suggest import PairSearchResult, explain_shortfall, labels_needed, suggest_for_pairs
from dedupcrawl.tools.label.labels import AnswerKind, Label
from tests.tools.evaluation.labelled import label, labels
from tests.tools.label.offers import pair as offered

COPIES = [1 + number % 3 for number in range(60)]  #: changed words: similarities from 0.94 up
OTHERS = [9 + number % 4 for number in range(24)]  #: from 0.79 to 0.84: at 0.8 some of them are found


def suggestion(given_: list[Label], wanted: float, config: Config | None = None) -> PairSearchResult:
    config = config or Config()
    return suggest_for_pairs(judge_pairs(weighted_pairs(given_), config), config, wanted)


def test_a_threshold_is_suggested_that_keeps_copies_and_drops_the_others() -> None:
    given_ = labels(COPIES + OTHERS, last_same=6)
    found = suggestion(given_, 0.93)
    assert found.in_force.wrong > 4
    assert found.in_force.precision.low < 0.92
    assert found.best is not None
    assert list(found.best.values) == ["threshold"]
    assert 0.8 < found.best.values["threshold"] < 0.95
    assert found.config == Config(threshold=found.best.values["threshold"])
    really = score_pairs(judge_pairs(weighted_pairs(given_), found.config))
    assert really == found.best.scores
    assert really.precision.low >= 0.92
    assert really.recall.value is not None
    assert really.recall.value > 0.9


def test_it_keeps_precision_on_pairs_without_labels() -> None:
    found = suggestion(labels(COPIES + OTHERS, last_same=6), 0.92)
    assert found.config is not None
    fresh = [
        label(1000 + number, words, AnswerKind.SAME if words <= 6 else AnswerKind.DIFFERENT)
        for number, words in enumerate((COPIES + OTHERS) * 2)
    ]
    really = score_pairs(judge_pairs(weighted_pairs(fresh), found.config))
    assert really.precision.value is not None
    assert really.precision.value >= 0.92


def test_what_is_in_force_stays_where_nothing_finds_more() -> None:
    found = suggestion(labels([1, 2, 3] * 30 + [30] * 10, last_same=6), 0.92)
    assert found.best is not None
    assert (found.best.values, found.config) == ({}, Config())


def test_a_lower_threshold_is_suggested_where_copies_lie_below_it() -> None:
    found = suggestion(labels([9, 10, 11, 12, 13] * 16 + [25] * 20, last_same=13), 0.93)
    assert found.best is not None
    assert found.best.values["threshold"] < 0.8
    assert found.best.scores.recall.value is not None
    assert found.in_force.recall.value is not None
    assert found.best.scores.recall.value > found.in_force.recall.value + 0.2


def test_both_constants_may_change() -> None:
    """Copies with a paragraph put in are found under another length ratio."""
    more = " ".join(f"somewhat{number}" for number in range(45))
    longer = [label(number, 0, AnswerKind.SAME, more=f" {more}") for number in range(60)]
    others = [label(100 + number, 20, AnswerKind.DIFFERENT) for number in range(30)]
    found = suggestion([*longer, *others], 0.9)
    assert found.in_force.recall.value == 0
    assert found.best is not None
    assert "length_ratio" in found.best.values
    assert found.best.values["length_ratio"] > 1.1
    assert found.best.scores.precision.low >= 0.9


def test_a_constant_of_a_detector_is_suggested_by_its_name() -> None:
    config = Config(detectors=("simhash",))
    found = suggestion(labels(COPIES + [60] * 30, last_same=6), 0.9, config)
    assert found.best is not None
    assert found.config == with_constants(config, found.best.values)
    assert set(found.best.values) <= {"simhash.distance"}


def test_too_few_labels_are_reported() -> None:
    found = suggestion(labels([1] * 12, last_same=6), 0.99)
    assert found.best is None
    said = explain_shortfall(found)
    assert "too few labels to show a precision of 0.99" in said
    assert "12 of the labelled pairs are found, 12 rightly, which shows 0.73 at least" in said
    assert "some 360 more labels" in said
    assert proportion_of([StratumCount(12 + 360, 12 + 360)]).low >= 0.99


def test_labels_that_contradict_what_is_wanted_are_reported() -> None:
    mixed = [label(number, 2, AnswerKind.SAME if number % 3 else AnswerKind.DIFFERENT) for number in range(60)]
    found = suggestion(mixed, 0.95)
    assert found.best is None
    assert "No value reaches a precision of 0.95" in explain_shortfall(found)
    assert "More labels will not change that" in explain_shortfall(found)


def test_where_nothing_is_found_that_is_reported() -> None:
    found = suggestion([label(1, 1)], 0.9, Config(detectors=("exact",)))
    assert found.best is None
    assert explain_shortfall(found).startswith("None of the labelled pairs is found")


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 30), st.sampled_from([1.0, 4.0, 30.0])), min_size=1, max_size=3
    ),
    st.sampled_from([0.5, 0.8, 0.9, 0.95]),
)
def test_the_labels_that_are_reported_as_needed_are_enough(given_: list[tuple[int, int, float]], wanted: float) -> None:
    counts = [StratumCount(max(0, cases - wrong), cases, weight) for wrong, cases, weight in given_]
    more = labels_needed(counts, wanted)
    if more is None:
        return
    whole = sum(each.trials for each in counts)
    grown = [
        StratumCount(each.successes + added, each.trials + added, each.weight)
        for each in counts
        for added in [round(more * each.trials / whole)]
    ]
    assert proportion_of(grown).low >= wanted


def judged(similarities: list[float], same: list[bool], threshold: float = 0.8) -> list[JudgedPair]:
    """Pairs with these measurements of a detector, without texts."""
    made = []
    for number, (similarity, is_same) in enumerate(zip(similarities, same, strict=True)):
        match = Match(similarity, Relation.NEAR_DUPLICATE) if similarity >= threshold else None
        condition = Threshold("threshold", threshold, similarity, at_least=True)
        said = Label(offered(number), AnswerKind.SAME if is_same else AnswerKind.DIFFERENT, None)
        made.append(
            JudgedPair(
                LabelledPair(said, 1.0),
                match is not None,
                (Assessment("minhash", match, similarity, thresholds=(condition,)),),
            )
        )
    return made


def run(similarities: list[float], same: list[bool], config: Config) -> list[JudgedPair]:
    return judged(similarities, same, config.threshold)


SIMILARITIES = st.lists(st.tuples(st.integers(50, 100), st.booleans()), min_size=1, max_size=120)


@settings(deadline=None, max_examples=40)
@given(SIMILARITIES, st.sampled_from([0.6, 0.8, 0.9]))
def test_nothing_round_that_is_as_precise_finds_more(given_: list[tuple[int, bool]], wanted: float) -> None:
    similarities, same = [place / 100 for place, _ in given_], [each for _, each in given_]
    config = Config()
    found = suggest_for_pairs(judged(similarities, same), config, wanted, partial(run, similarities, same))
    best = 0.0
    for place in range(50, 101):
        scores = score_pairs(judged(similarities, same, place / 100))
        if scores.found and scores.precision.low >= wanted:
            best = max(best, scores.recall.value or 0.0)
    if found.best is None:
        assert best == 0
    else:
        assert found.best.scores.precision.low >= wanted
        assert found.best.recall == pytest.approx(best, abs=0.0051)


def test_how_often_a_suggestion_misses_what_is_wanted() -> None:
    """A threshold is chosen on the labels that then speak for it; the promise must hold all the same."""
    random, missed, made, runs = Random(3), 0, 0, 60
    for _ in range(runs):
        similarities = [round(random.uniform(0.7, 1.0), 2) for _ in range(120)]
        same = [random.random() < chance_of(each) for each in similarities]
        found = suggest_for_pairs(judged(similarities, same), Config(), 0.9, partial(run, similarities, same))
        if found.config is None:
            continue
        made += 1
        missed += true_precision(found.config.threshold) < 0.9
    assert made > runs / 2
    assert missed / runs < 0.06


def chance_of(similarity: float) -> float:
    """How likely pairs of a similarity are the same: half of those at 0.8, next to all above 0.9."""
    return min(1.0, max(0.0, 0.5 + 5 * (similarity - 0.8)))


def true_precision(threshold: float) -> float:
    above = [place / 1000 for place in range(round(1000 * threshold), 1001)]
    return sum(map(chance_of, above)) / len(above)
