"""Banding: which slots are filed together (Mining of Massive Datasets, chapter 3.4)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.detectors.keys import bucket_keys_of_many
from dedupcrawl.text.hashing import constants

if TYPE_CHECKING:
    from dedupcrawl.detectors.sketching import Slots

#: What the optimiser gives for common thresholds. datasketch brings scipy, which takes a second to load;
#: a crawl with default settings need not wait for it. A test compares.
_KNOWN: dict[tuple[float, int, float], tuple[int, int]] = {
    (0.70, 32, 0.9): (8, 4),
    (0.75, 32, 0.9): (6, 5),
    (0.80, 32, 0.9): (6, 5),
    (0.85, 32, 0.9): (5, 6),
    (0.90, 32, 0.9): (4, 8),
}


@functools.cache
def choose_bands(threshold: float, slots: int, miss_weight: float) -> tuple[int, int]:
    """Choose (bands, rows) for a similarity threshold by datasketch's optimiser, bands * rows <= slots.

    It minimises (1 - w) * false candidates + w * misses over the s-curve 1 - (1 - s^rows)^bands, where
    w is ``miss_weight``, 0…1.
    """
    known = _KNOWN.get((threshold, slots, miss_weight))
    if known:
        return known
    from datasketch import MinHashLSH  # noqa: PLC0415 - see above

    try:
        index = MinHashLSH(threshold=threshold, num_perm=slots, weights=(1 - miss_weight, miss_weight))
    except ValueError:  # it refuses a single band, the best for a threshold next to 1
        return 2, slots // 2
    return index.b, index.r


def band_keys(slots: Slots, bands: int, rows: int, seed: int) -> tuple[bytes, ...]:
    """File a sketch under each of its bands."""
    return band_keys_of_many(slots[None], bands, rows, seed)[0]


def band_keys_of_many(sketches: Slots, bands: int, rows: int, seed: int) -> list[tuple[bytes, ...]]:
    """File each row of ``sketches`` under its bands."""
    grid = sketches[:, : bands * rows].reshape(len(sketches), bands, rows).astype(np.uint64)
    hashes = (grid * constants(seed, "row", rows)).sum(axis=2, dtype=np.uint64)
    return bucket_keys_of_many(hashes + constants(seed, "band", bands))
