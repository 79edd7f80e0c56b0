"""From similarity and lengths to a relation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.relations import MatchLimits, Overlap, TextSize, length_ratio, relate
from tests.oracles import jaccard

BOUNDS = MatchLimits(similarity=0.8, length_ratio=1.1, length_slack=500, containment=0.9)


@pytest.mark.parametrize(
    ("overlap", "new", "old", "expected"),
    [
        (Overlap(0.95, 0.97, 0.97), 1000, 1000, Relation.NEAR_DUPLICATE),
        (Overlap(0.80, 0.89, 0.89), 1000, 1100, Relation.NEAR_DUPLICATE),
        (Overlap(0.80, 0.99, 0.81), 1000, 1101, Relation.EXCERPT),
        (Overlap(0.80, 0.81, 0.99), 1101, 1000, Relation.EXPANSION),
        (Overlap(0.95, 0.95, 1.00), 28_293, 27_793, Relation.NEAR_DUPLICATE),
        (Overlap(0.95, 0.95, 1.00), 28_294, 27_793, Relation.EXPANSION),
        (Overlap(0.95, 1.00, 0.95), 27_793, 29_356, Relation.EXCERPT),
        (Overlap(0.90, 0.89, 0.89), 29_356, 27_793, None),
        (Overlap(0.79, 0.88, 0.88), 1000, 1000, None),
        (Overlap(0.30, 1.00, 0.30), 300, 1000, Relation.EXCERPT),
        (Overlap(0.30, 0.30, 1.00), 1000, 300, Relation.EXPANSION),
        (Overlap(0.30, 1.00, 0.30), 1000, 300, None),
        (Overlap(0.00, 0.00, 0.00), 5, 5, None),
    ],
)
def test_relations(overlap: Overlap, new: int, old: int, expected: Relation | None) -> None:
    assert relate(overlap, TextSize(new, new), TextSize(old, old), BOUNDS) == expected


@given(st.sets(st.integers(0, 40), min_size=1), st.sets(st.integers(0, 40), min_size=1))
def test_containment_follows_from_similarity_and_sizes(new: set[int], old: set[int]) -> None:
    overlap = Overlap.estimated(jaccard(new, old), len(new), len(old))
    assert overlap.new_in_old == pytest.approx(len(new & old) / len(new))
    assert overlap.old_in_new == pytest.approx(len(new & old) / len(old))


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_the_ratio_has_no_direction(new: int, old: int) -> None:
    assert length_ratio(new, old) == length_ratio(old, new) >= 1
