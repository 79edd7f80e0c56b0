"""Values of a constant that turn a threshold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.detectors.base import Threshold
from dedupcrawl.tools.explain.counterfactuals import turning_value


@pytest.mark.parametrize(
    ("value", "found", "at_least", "expected"),
    [
        (0.8, 0.7312, True, 0.73),
        (0.8, 0.7999, True, 0.79),
        (0.8, 0.8512, True, 0.86),
        (0.8, 0.8, True, 0.81),
        (1.10, 1.137, False, 1.14),
        (1.10, 1.05, False, 1.04),
        (3, 5, False, 5),
        (3, 2, False, 1),
        (6, 4, True, 4),
        (6, 7, True, 8),
        (0.01, 0.004, False, 0.0),
    ],
)
def test_as_a_person_would_type_it(value: float, found: float, at_least: bool, expected: float) -> None:
    threshold = Threshold("constant", value, found, at_least)
    assert turning_value(threshold) == expected
    assert isinstance(turning_value(threshold), type(value))


def test_a_strict_threshold_is_turned_by_the_next_number() -> None:
    assert turning_value(Threshold("difference", 0.01, 0.02, at_least=False, is_strict=True)) == 0.03
    assert turning_value(Threshold("difference", 0.03, 0.02, at_least=False, is_strict=True)) == 0.02


def test_what_is_beyond_all_numbers_is_not_turned() -> None:
    assert turning_value(Threshold("length_ratio", 1.1, float("inf"), at_least=False)) is None


@given(st.floats(0, 2) | st.integers(0, 100), st.floats(0, 100, allow_nan=False), st.booleans(), st.booleans())
def test_the_other_side_is_reached_and_not_by_far(value: float, found: float, at_least: bool, strict: bool) -> None:
    threshold = Threshold("constant", value, found, at_least, is_strict=strict)
    turned = turning_value(threshold)
    assert turned is not None
    assert replace(threshold, value=turned).is_met is not threshold.is_met
    assert abs(turned - found) <= (2 if isinstance(value, int) else 0.02)
