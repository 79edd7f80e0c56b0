"""Formatting of values for people."""

from __future__ import annotations

import pytest

from dedupcrawl.utils.formatting import duration, size


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (15_300_000, "15.3 MB"),
        (999_400_000, "999 MB"),
        (999_700_000, "1.0 GB"),
        (999_999_999, "1.0 GB"),
        (2**50, "1.1 PB"),
    ],
)
def test_sizes(count: int, told: str) -> None:
    assert size(count) == told


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.4, "0.4 s"), (59.4, "59 s"), (61, "1 min 1 s"), (3660, "1 h 1 min"), (86400 * 3, "3 d")]
)
def test_durations(seconds: float, told: str) -> None:
    assert duration(seconds) == told
