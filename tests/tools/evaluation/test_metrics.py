"""Confidence intervals: against scipy, against simulated samples, and their arithmetic."""

from __future__ import annotations

from math import sqrt
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from dedupcrawl.tools.evaluation.metrics import Proportion, StratumCount, clopper_pearson, estimate, proportion_of

CASES = st.integers(1, 400).flatmap(lambda cases: st.tuples(st.integers(0, cases), st.just(cases)))
STRATA = st.lists(
    st.tuples(CASES, st.floats(0.1, 1000)).map(lambda each: StratumCount(*each[0], each[1])), min_size=1, max_size=5
)


@settings(deadline=None)
@given(CASES)
def test_limits_are_those_of_the_beta_distribution(counts: tuple[int, int]) -> None:
    right, cases = counts
    low, high = clopper_pearson(right, cases)
    assert low == pytest.approx(beta.ppf(0.025, right, cases - right + 1) if right else 0, abs=1e-9)
    assert high == pytest.approx(beta.ppf(0.975, right + 1, cases - right) if right < cases else 1, abs=1e-9)


def test_limits_of_large_samples() -> None:
    for right, cases in ((99_000, 100_000), (50_000, 100_000), (1, 1_000_000), (999_999, 1_000_000)):
        low, high = clopper_pearson(right, cases)
        assert low == pytest.approx(beta.ppf(0.025, right, cases - right + 1), abs=1e-9)
        assert high == pytest.approx(beta.ppf(0.975, right + 1, cases - right), abs=1e-9)


@settings(deadline=None)
@given(CASES)
def test_what_is_right_and_what_is_wrong_mirror_each_other(counts: tuple[int, int]) -> None:
    right, cases = counts
    low, high = clopper_pearson(right, cases)
    other_low, other_high = clopper_pearson(cases - right, cases)
    assert (low, high) == pytest.approx((1 - other_high, 1 - other_low), abs=1e-9)


@settings(deadline=None)
@given(CASES)
def test_more_of_the_same_show_more(counts: tuple[int, int]) -> None:
    right, cases = counts
    low, high = clopper_pearson(right, cases)
    assert 0 <= low <= right / cases <= high <= 1
    more_low, more_high = clopper_pearson(3 * right, 3 * cases)
    assert low <= more_low + 1e-9
    assert more_high <= high + 1e-9


def test_without_cases_nothing_is_known() -> None:
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    assert proportion_of([]) == proportion_of([StratumCount(0, 0, 5.0)]) == Proportion(None, 0.0, 1.0)
    assert estimate([]) is None


@settings(deadline=None)
@given(STRATA)
def test_a_share_lies_within_its_limits(counts: list[StratumCount]) -> None:
    share = proportion_of(counts)
    assert share.value is not None
    assert 0 <= share.low <= share.value + 1e-12
    assert share.value - 1e-12 <= share.high <= 1
    assert share.value == pytest.approx(estimate(counts))


@settings(deadline=None)
@given(CASES, st.integers(1, 4), st.floats(0.1, 100))
def test_strata_in_which_a_case_weighs_the_same_are_one_sample(
    counts: tuple[int, int], parts: int, weight: float
) -> None:
    right, cases = counts
    together = proportion_of([StratumCount(parts * right, parts * cases, weight)])
    assert proportion_of([StratumCount(right, cases, weight)] * parts) == together
    assert (together.low, together.high) == pytest.approx(clopper_pearson(parts * right, parts * cases), abs=1e-9)


@settings(deadline=None)
@given(STRATA, st.floats(0.01, 100))
def test_the_unit_of_weights_does_not_matter(counts: list[StratumCount], factor: float) -> None:
    scaled = proportion_of([StratumCount(each.successes, each.trials, each.weight * factor) for each in counts])
    share = proportion_of(counts)
    assert (scaled.value, scaled.low, scaled.high) == pytest.approx((share.value, share.low, share.high), abs=1e-6)


def test_zou_and_donners_sum() -> None:
    """By hand: parts of 0.75 and 0.25, limits of each from the beta distribution."""
    share = proportion_of([StratumCount(27, 30, 10.0), StratumCount(8, 20, 5.0)])
    first, second = clopper_pearson(27, 30), clopper_pearson(8, 20)
    value = 0.75 * 0.9 + 0.25 * 0.4
    assert share.value == pytest.approx(value)
    assert share.low == pytest.approx(value - sqrt((0.75 * (0.9 - first[0])) ** 2 + (0.25 * (0.4 - second[0])) ** 2))
    assert share.high == pytest.approx(value + sqrt((0.75 * (first[1] - 0.9)) ** 2 + (0.25 * (second[1] - 0.4)) ** 2))


@pytest.mark.parametrize(
    "strata",
    [
        [(0.99, 60, 10.0)],
        [(0.97, 30, 20.0), (0.90, 40, 2.0)],
        [(0.99, 25, 40.0), (0.80, 40, 3.0), (0.60, 25, 1.0)],
        [(0.90, 15, 30.0), (1.00, 80, 1.0)],  # all that is wrong lies where little was asked
    ],
)
def test_the_true_share_is_below_the_lower_limit_in_one_of_forty_samples_at_most(
    strata: list[tuple[float, int, float]],
) -> None:
    random, below, samples = Random(7), 0, 2_000
    whole = sum(cases * weight for _, cases, weight in strata)
    truth = sum(share * cases * weight for share, cases, weight in strata) / whole
    for _ in range(samples):
        counts = [
            StratumCount(sum(random.random() < share for _ in range(cases)), cases, weight)
            for share, cases, weight in strata
        ]
        below += proportion_of(counts).low > truth
    assert below / samples <= 0.035  # 0.025 and three standard deviations of the simulation
