"""Which pairs are asked about, and in which order."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.tools.label.sampling import COPY, FAR, MISS, NEAR, PART, kind_of, sampling_order, zone_of
from tests.tools.label.offers import pair, sampler_of

if TYPE_CHECKING:
    from dedupcrawl.tools.label.sampling import OfferedPair, StratifiedSampler

RELATIONS = ("near-duplicate", "", "excerpt", "expansion")
SOME = st.lists(st.tuples(st.floats(0, 1), st.sampled_from(RELATIONS), st.sampled_from("abc")), min_size=1, max_size=40)


def drawn(sampler: StratifiedSampler, most: int = 10_000) -> list[OfferedPair]:
    asked: set[str] = set()
    found: list[OfferedPair] = []
    while len(found) < most and (one := sampler.next_pair(asked, found[-1] if found else None)):
        asked.add(one.id)
        found.append(one)
    return found


@settings(deadline=None)
@given(SOME)
def test_each_pair_comes_once(given_: list[tuple[float, str, str]]) -> None:
    pairs = [pair(number, *each) for number, each in enumerate(given_)]
    sampler = sampler_of([*pairs, *pairs])
    found = drawn(sampler)
    assert Counter(each.id for each in found) == Counter(each.id for each in pairs)
    sizes = Counter((sampler.stratum(each).kind, sampler.stratum(each).zone) for each in pairs)
    assert all(
        sampler.stratum(each).size == sizes[sampler.stratum(each).kind, sampler.stratum(each).zone] for each in pairs
    )


@settings(deadline=None)
@given(SOME)
def test_a_cluster_comes_again_at_once_only_when_all_that_lie_uppermost_are_of_it(
    given_: list[tuple[float, str, str]],
) -> None:
    pairs = [pair(number, *each) for number, each in enumerate(given_)]
    sampler, asked = sampler_of(pairs), set[str]()
    for before, after in pairwise(drawn(sampler)):
        asked.add(before.id)
        if before.cluster == after.cluster:
            others = [each for each in pairs if each.id not in asked and each.cluster != after.cluster]
            strata = {sampler.stratum(each) for each in others}
            # all other pairs come after one of the same cluster in their stratum
            uppermost = [sampler_of(of, held=100).next_pair(asked) for of in _by_stratum(sampler, pairs).values()]
            heads = [each for each in uppermost if each]
            assert all(each.cluster == before.cluster for each in heads), strata


def _by_stratum(sampler: StratifiedSampler, pairs: list[OfferedPair]) -> dict[object, list[OfferedPair]]:
    found: dict[object, list[OfferedPair]] = {}
    for each in pairs:
        found.setdefault(sampler.stratum(each), []).append(each)
    return found


def test_both_sides_of_the_threshold_take_turns_and_the_near_ones_more_often() -> None:
    near = [pair(number, 0.72 + number % 16 / 100, ("near-duplicate", "")[number % 2]) for number in range(200)]
    far = [pair(number, 0.95, "near-duplicate") for number in range(200, 1100)]
    sampler = sampler_of([*near, *far])
    first = Counter((sampler.stratum(each).kind, sampler.stratum(each).zone) for each in drawn(sampler, 80))
    assert first == {(COPY, NEAR): 20, (MISS, NEAR): 20, (COPY, FAR): 40}  # of 100, 100 and 900


def test_answers_change_nothing_about_who_comes() -> None:
    """The order depends only on which pairs were asked about, so these are a sample at any time."""
    pairs = [pair(number, number / 100, RELATIONS[number % 4]) for number in range(100)]
    whole = drawn(sampler_of(pairs))
    assert [each.id for each in drawn(sampler_of(reversed(pairs)), 30)] == [each.id for each in whole[:30]]


def test_every_pair_of_a_stratum_is_as_likely_to_be_among_the_first() -> None:
    pairs = [pair(number, 0.75 + number % 7 / 60) for number in range(20)]
    runs, first = 1_500, 5
    counts = Counter(each.id for run in range(runs) for each in sampling_order(f"run {run}", pairs)[:first])
    expected = runs * first / len(pairs)
    chi_square = sum((counts[each.id] - expected) ** 2 / expected for each in pairs)
    assert chi_square < 43.8  # 19 degrees of freedom, one in a thousand; the hashes are always the same


def test_the_first_ones_are_spread_over_the_similarity() -> None:
    pairs = [pair(number, 0.7 + number / 1000) for number in range(200)]
    for run in range(20):
        bins = Counter(int(each.similarity * 20 + 1e-9) for each in sampling_order(f"run {run}", pairs)[:40])
        assert set(bins) == {14, 15, 16, 17}
        assert max(bins.values()) - min(bins.values()) <= 2


def test_more_than_can_be_held_are_counted() -> None:
    sampler = sampler_of((pair(number) for number in range(1000)), held=50)
    sampler.count("near-duplicate", 0.85)
    found = drawn(sampler)
    assert len(found) == 50
    assert sampler.stratum(found[0]).size == 1001
    assert sampler.remaining(set()) == 50


def test_a_pair_of_a_sample_represents_several() -> None:
    sampler = sampler_of([])
    sampler.add(pair(1), stands_for=8)
    sampler.add(pair(2), stands_for=8)
    assert sampler.stratum(pair(1)).size == 16


@pytest.mark.parametrize(
    ("relation", "kind"), [("", MISS), ("near-duplicate", COPY), ("excerpt", PART), ("expansion", PART)]
)
def test_kinds(relation: str, kind: str) -> None:
    assert kind_of(relation) == kind


@pytest.mark.parametrize(
    ("similarity", "around", "zone"),
    [(0.71, 0.8, NEAR), (0.89, 0.8, NEAR), (0.69, 0.8, FAR), (0.91, 0.8, FAR), (0.95, 0.97, FAR), (0.96, 0.97, NEAR)],
)
def test_what_is_near_depends_on_how_much_lies_above_the_threshold(similarity: float, around: float, zone: str) -> None:
    assert zone_of(similarity, around) == zone


def test_the_same_texts_are_the_same_pair_wherever_they_stand() -> None:
    one, other = pair(1), pair(1)
    turned = type(one)(one.old, one.new, "", 0.5, "exact", "elsewhere")
    assert one.id == other.id == turned.id != pair(2).id
