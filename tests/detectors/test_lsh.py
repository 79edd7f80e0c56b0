"""LSH bands and bucket keys."""

from __future__ import annotations

import numpy as np
import pytest
from datasketch import MinHashLSH

from dedupcrawl.detectors.lsh import band_keys, choose_bands


@pytest.mark.parametrize("slots", [2, 31, 32, 64, 128])
@pytest.mark.parametrize("miss_weight", [0.1, 0.5, 0.9])
def test_bands_are_those_that_datasketch_chooses(slots: int, miss_weight: float) -> None:
    for threshold in (0.03, 0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99):
        bands, rows = choose_bands(threshold, slots, miss_weight)
        try:
            index = MinHashLSH(threshold=threshold, num_perm=slots, weights=(1 - miss_weight, miss_weight))
        except ValueError:  # a single band would be best, which it refuses
            assert (bands, rows) == (2, slots // 2)
        else:
            assert (bands, rows) == (index.b, index.r)


def test_bands_of_the_default_settings() -> None:
    """Stores are filled with these keys."""
    assert [choose_bands(threshold, 32, 0.9) for threshold in (0.7, 0.75, 0.8, 0.85, 0.9)] == [
        (8, 4),
        (6, 5),
        (6, 5),
        (5, 6),
        (4, 8),
    ]


@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.75, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("slots", [16, 96, 256])
@pytest.mark.parametrize("miss_weight", [0.1, 0.5, 1.0])
def test_bands_fit_the_slots(threshold: float, slots: int, miss_weight: float) -> None:
    bands, rows = choose_bands(threshold, slots, miss_weight)
    assert bands >= 1
    assert rows >= 1
    assert bands * rows <= slots


def test_equal_bands_share_a_key_and_others_do_not() -> None:
    rng = np.random.default_rng(1)
    left = rng.integers(0, 256, 128).astype(np.uint8)
    right = left.copy()
    right[[3, 50]] ^= 1
    left_keys, right_keys = band_keys(left, 12, 8, 0), band_keys(right, 12, 8, 0)
    assert len(set(left_keys)) == 12
    assert [at for at in range(12) if left_keys[at] != right_keys[at]] == [0, 6]


def test_the_place_of_a_band_counts() -> None:
    keys = band_keys(np.zeros(128, np.uint8), 12, 8, 0)
    assert len(set(keys)) == 12


def test_the_probability_of_a_common_key_follows_the_s_curve() -> None:
    rng = np.random.default_rng(2)
    similarity, bands, rows, trials = 0.8, 12, 8, 2000
    met = 0
    for _ in range(trials):
        left = rng.integers(0, 256, 128).astype(np.uint8)
        right = np.where(rng.random(128) < similarity, left, rng.integers(0, 256, 128)).astype(np.uint8)
        met += not set(band_keys(left, bands, rows, 0)).isdisjoint(band_keys(right, bands, rows, 0))
    assert met / trials == pytest.approx(1 - (1 - similarity**rows) ** bands, abs=0.04)
