"""The answered pairs are representative of all pairs, whenever the session stops."""

from __future__ import annotations

from statistics import mean

import numpy as np
import pytest

from dedupcrawl.tools.evaluation.dataset import PairScoresBuilder, weighted_pairs
from dedupcrawl.tools.label.labels import AnswerKind, Label
from tests.tools.label.offers import pair, sampler_of

PAIRS = [
    pair(number, 0.6 + number / 1000, "" if number < 200 else "near-duplicate", f"c{number // 3}")
    for number in range(400)
]


def is_same(number: int) -> bool:
    """Wrong pairs are mostly near the threshold."""
    return number % 10 != 0 if number >= 300 else number % 3 != 0 if number >= 200 else number % 5 == 0


TRUTH = {each.id: is_same(number) for number, each in enumerate(PAIRS)}
PRECISION = mean(is_same(number) for number in range(200, 400))
RECALL = sum(map(is_same, range(200, 400))) / sum(map(is_same, range(400)))


@pytest.mark.parametrize("asked", [40, 90])
def test_estimates_are_right_on_average_and_intervals_hold_the_truth(asked: int) -> None:
    precisions, recalls, above, runs = [], [], 0, 80
    for run in range(runs):
        sampler, labels, last = sampler_of(PAIRS, f"run {run}"), dict[str, Label](), None
        while len(labels) < asked and (last := sampler.next_pair(labels, last)):
            answer = AnswerKind.SAME if TRUTH[last.id] else AnswerKind.DIFFERENT
            labels[last.id] = Label(last, answer, sampler.stratum(last))
        pairs = weighted_pairs(list(labels.values()))
        found = np.array([each.label.pair.relation == "near-duplicate" for each in pairs])
        scores = PairScoresBuilder([each.is_same for each in pairs], [each.weight for each in pairs]).scores(found)
        precisions.append(scores.precision.value or 0.0)
        recalls.append(scores.recall.value or 0.0)
        above += scores.precision.low > PRECISION
    assert mean(precisions) == pytest.approx(PRECISION, abs=0.015)
    assert mean(recalls) == pytest.approx(RECALL, abs=0.025)
    assert above / runs <= 0.05
