"""Labelled pairs are judged as in a crawl, and weighted by the pairs that they represent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl import Config, Deduplicator
from dedupcrawl.errors import DedupError
from dedupcrawl.tools.evaluation.dataset import PairScoresBuilder, judge_pairs, score_pairs, weighted_pairs
from dedupcrawl.tools.evaluation.metrics import clopper_pearson
from dedupcrawl.tools.label.labels import AnswerKind
from dedupcrawl.tools.label.pairs import OfferedPage, StratumPairs
from tests.tools.evaluation.labelled import label, labels

NEAR = StratumPairs("a run", "near-duplicate", "near", 0.8, 100)


def test_verdicts_are_those_of_a_crawl() -> None:
    pairs = weighted_pairs(labels([0, 1, 4, 8, 12, 20, 40], last_same=4))
    for config in (Config(), Config(detectors=("simhash",)), Config(threshold=0.5)):
        for judged in judge_pairs(pairs, config):
            side = judged.pair.label.pair
            with Deduplicator(config=config) as dedup:
                dedup.add(text=side.old.text, url="https://a.example/")
                assert judged.is_found == dedup.check(text=side.new.text, url="https://b.example/").is_duplicate


def test_pairs_do_not_meet_each_other() -> None:
    """The same story in two pairs: the second pair's older page is not the first one's."""
    one, other = label(1, 1), label(1, 2)
    found = judge_pairs(weighted_pairs([one, other, one]), Config())
    assert [each.is_found for each in found] == [True, True, True]


def test_a_page_that_cannot_be_judged_is_not_found() -> None:
    short = label(1, 1)
    short = replace(short, pair=replace(short.pair, new=OfferedPage.of("n", "", "too short")))
    (judged,) = judge_pairs(weighted_pairs([short]), Config())
    assert not judged.is_found
    empty = replace(short, pair=replace(short.pair, new=OfferedPage.of("n", "", "")))
    (judged,) = judge_pairs(weighted_pairs([empty]), Config())
    assert (judged.is_found, judged.assessments) == (False, ())


def test_those_of_a_stratum_stand_for_all_of_it() -> None:
    far = StratumPairs("a run", "near-duplicate", "far", 0.8, 30)
    given_ = [
        *(label(number, 1, stratum=NEAR) for number in range(4)),
        label(4, 1, AnswerKind.SKIP, NEAR),
        *(label(number, 1, stratum=far) for number in range(5, 8)),
        label(8, 1),
    ]
    assert [pair.weight for pair in weighted_pairs(given_)] == [25.0] * 4 + [10.0] * 3 + [1.0]


def test_a_run_that_grew_counts_as_it_was_last() -> None:
    grown = replace(NEAR, size=300)
    assert [pair.weight for pair in weighted_pairs([label(1, 1, stratum=NEAR), label(2, 1, stratum=grown)])] == [
        150,
        150,
    ]


def test_runs_count_by_themselves() -> None:
    other = replace(NEAR, run="another run", size=10)
    assert [pair.weight for pair in weighted_pairs([label(1, 1, stratum=NEAR), label(2, 1, stratum=other)])] == [
        100,
        10,
    ]


def test_without_labels_nothing_can_be_scored() -> None:
    with pytest.raises(DedupError, match="dedupcrawl label"):
        weighted_pairs([label(1, 1, AnswerKind.SKIP)])


def test_figures_by_hand() -> None:
    scores = score_pairs(judge_pairs(weighted_pairs(labels([1, 1, 1, 2, 3, 40], last_same=2)), Config()))
    assert (scores.pairs, scores.found, scores.wrong, scores.missed) == (6, 5, 1, 0)
    assert scores.precision.value == 0.8
    assert (scores.precision.low, scores.precision.high) == clopper_pearson(4, 5)
    assert scores.recall.value == 1.0
    assert set(scores.to_dict()) == {"pairs", "found", "wrong", "missed", "precision", "recall"}


PAIRS = st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from([1.0, 2.5, 40.0])), min_size=1, max_size=60)


@settings(deadline=None)
@given(PAIRS)
def test_weighted_figures_are_sums_over_all_pairs(given_: list[tuple[bool, bool, float]]) -> None:
    same, found, weights = (list(each) for each in zip(*given_, strict=True))
    scores = PairScoresBuilder(same, weights).scores(np.array(found, dtype=bool))
    right = sum(w for s, f, w in given_ if s and f)
    of_found, of_same = sum(w for _, f, w in given_ if f), sum(w for s, _, w in given_ if s)
    assert scores.precision.value == (pytest.approx(right / of_found) if of_found else None)
    assert scores.recall.value == (pytest.approx(right / of_same) if of_same else None)
    assert scores.found == sum(found)
    assert scores.wrong == sum(f and not s for s, f, _ in given_)
    assert scores.missed == sum(s and not f for s, f, _ in given_)
