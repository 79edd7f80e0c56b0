"""Partitions and prefixes: what they rule out cannot match, however the numbers are rounded."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.detectors.pruning import (
    greatest_partner,
    least_in,
    least_partner,
    partition,
    partition_starts,
    prefix,
)
from tests import oracles

taus = st.one_of(st.sampled_from([0.1, 0.3, 0.44, 0.5, 0.6, 0.7, 0.9, 1.0]), st.floats(0.05, 1))


def test_the_partitions_for_the_papers_threshold() -> None:
    assert partition_starts(0.44, 8) == (1, 2, 3, 5, 10, 21, 46, 103, 232)
    assert [partition(size, 0.44) for size in (1, 2, 3, 4, 5, 45, 46, 102, 103)] == [
        0,
        1,
        2,
        2,
        3,
        5,
        6,
        6,
        7,
    ]


@pytest.mark.parametrize(
    ("size", "tau", "least", "greatest"),
    [(60, 0.44, 27, 136), (3, 0.1, 1, 30), (10, 0.5, 5, 20), (7, 1.0, 7, 7), (1, 0.44, 1, 2)],
)
def test_partners_by_hand(size: int, tau: float, least: int, greatest: int) -> None:
    assert least_partner(size, tau) == least
    assert greatest_partner(size, tau) == greatest


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 80), taus)
def test_partners_are_all_sizes_whose_ratio_is_great_enough(size: int, tau: float) -> None:
    limit = int(size / tau) + 3
    partners = [other for other in range(1, limit) if min(size, other) / max(size, other) >= tau]
    assert (least_partner(size, tau), greatest_partner(size, tau)) == (partners[0], partners[-1])


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 5000), taus)
def test_partners_are_no_further_than_the_next_partition(size: int, tau: float) -> None:
    own = partition(size, tau)
    starts = partition_starts(tau, own + 1)
    assert starts[own] <= size < starts[own + 1]
    assert partition(least_partner(size, tau), tau) >= own - 1
    assert partition(greatest_partner(size, tau), tau) <= own + 1


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), taus)
def test_a_prefix_is_as_short_as_the_least_overlap_allows(size: int, partner: int, tau: float) -> None:
    if min(size, partner) / max(size, partner) >= tau:
        overlaps = range(1, min(size, partner) + 1)
        needed = next(common for common in overlaps if common / (size + partner - common) >= tau)
        assert prefix(size, partner, tau) == size - needed + 1


def test_every_pair_of_small_sets_that_is_alike_shares_an_element_of_its_prefixes() -> None:
    universe = range(7)
    sets = [set(each) for size in range(1, 8) for each in itertools.combinations(universe, size)]
    for tau in (0.3, 0.44, 0.6, 0.75):
        for left, right in itertools.combinations(sets, 2):
            if oracles.jaccard(left, right) >= tau:
                first = sorted(left)[: prefix(len(left), least_partner(len(left), tau), tau)]
                other = sorted(right)[: prefix(len(right), least_partner(len(right), tau), tau)]
                assert set(first) & set(other), (tau, left, right)


@pytest.mark.parametrize("tau", [0.44, 0.99, 1.0])
def test_partitions_of_many_sizes_are_remembered_in_few_tables(tau: float) -> None:
    partition_starts.cache_clear()
    for size in range(1, 2000):
        number = partition(size, tau)
        assert least_in(number, tau) <= size < least_in(number + 1, tau)
    assert partition_starts.cache_info().currsize <= 9
