"""Sketches by Fast Similarity Sketching, their LSH bands, and bucket keys.

Bands: Leskovec, Rajaraman, Ullman, *Mining of Massive Datasets*, chapter 3.4. Sketches: Dahlgaard, Knudsen,
Thorup, *Fast Similarity Sketching*, FOCS 2017. In each round every element selects a random slot and a random
value. A slot belongs to the element with the smallest (round, value). A slot that is empty after all random
rounds belongs to the smallest element in an order of its own. Each slot agrees between two sets with
probability J. One round suffices for about 1,000 elements, where MinHash hashes each element 128 times. The
variance is lower too, because slots are sampled without replacement.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dedupcrawl.text.shingles import Hashes, light_mix, mix, seeded_constants

if TYPE_CHECKING:
    from dedupcrawl.text.normalize import Indices

Slots = npt.NDArray[np.uint8]
Elements = npt.NDArray[np.uint32]
_Floats = npt.NDArray[np.float64]

ROUNDS = 16  #: random rounds; the remaining empty slots are assigned by order
_KEY_BYTES = 8
_VALUE_BITS = np.uint64(60)  #: bits of the value in a (round, value) key; the round is above them
_ROUND_BITS = np.uint64(4)
_BATCH_KEYS = 900  #: keys processed at once; enough to fill 128 slots in most cases
_ROUND_BATCHES = (1, 2, 4, 8)  #: rounds processed at once after round 0, when several sets are sketched
_UNOWNED = np.uint64(2**64 - 1)  #: an empty slot


def bucket_keys(hashes: Hashes) -> tuple[bytes, ...]:
    """Return 64-bit hashes as distinct keys of 8 bytes, little-endian, in the order of first occurrence."""
    return bucket_keys_of_many(hashes[None])[0]


def bucket_keys_of_many(hashes: Hashes) -> list[tuple[bytes, ...]]:
    """Return the keys of :func:`bucket_keys` for each row of a matrix of 64-bit hashes."""
    packed = mix(hashes.copy()).astype("<u8", copy=False).tobytes()
    step = _KEY_BYTES * hashes.shape[1]
    return [
        tuple(dict.fromkeys([packed[i : i + _KEY_BYTES] for i in range(row, row + step, _KEY_BYTES)]))
        for row in range(0, len(packed), step)
    ]


def is_rising(elements: Elements) -> bool:
    """Return whether the elements of a stored sample are distinct and in ascending order."""
    return bool((elements[1:] > elements[:-1]).all())


@functools.cache
def choose_bands(threshold: float, slots: int, miss_weight: float) -> tuple[int, int]:
    """Choose the number of bands and rows as ``datasketch.MinHashLSH`` does.

    They minimise (1 - w) * false candidates + w * misses. With the s-curve P(s) = 1 - (1 - s^rows)^bands, false
    candidates are the integral of P from 0 to ``threshold``, and misses that of 1 - P from there to 1.

    ``w`` is ``miss_weight``, 0…1. Returns (bands, rows) with bands * rows <= slots and at least two bands.
    """
    below, above = _integration_points(0.0, threshold, slots), _integration_points(threshold, 1.0, slots)
    best = (math.inf, 0, 0)
    for bands in range(1, slots + 1):
        rows = np.arange(1, slots // bands + 1)
        false = threshold - _integral_of_misses(*below, bands, rows)
        costs = (1 - miss_weight) * false + miss_weight * _integral_of_misses(*above, bands, rows)
        cheapest = int(costs.argmin())
        best = min(best, (float(costs[cheapest]), bands, cheapest + 1))
    _, bands, rows_of_best = best
    return (bands, rows_of_best) if bands > 1 else (2, slots // 2)  # datasketch refuses a single band


def _integration_points(start: float, stop: float, degree: int) -> tuple[_Floats, _Floats]:
    """Return the points and weights of Gauss-Legendre quadrature; exact for a polynomial of ``degree`` up to 400."""
    points, weights = np.polynomial.legendre.leggauss(min(degree // 2 + 1, 200))
    half = (stop - start) / 2
    return start + half * (points + 1), half * weights


def _integral_of_misses(points: _Floats, weights: _Floats, bands: int, rows: Indices) -> _Floats:
    """Integrate (1 - s^rows)^bands over s, for each number of rows."""
    integrals: _Floats = (1 - points ** rows[:, None]) ** bands @ weights
    return integrals


def band_keys(slots: Slots, bands: int, rows: int, seed: int) -> tuple[bytes, ...]:
    """Return the keys of a sketch, one per band."""
    return band_keys_of_many(slots[None], bands, rows, seed)[0]


def band_keys_of_many(sketches: Slots, bands: int, rows: int, seed: int) -> list[tuple[bytes, ...]]:
    """Return the keys of each row of ``sketches``."""
    grid = sketches[:, : bands * rows].reshape(len(sketches), bands, rows).astype(np.uint64)
    hashes = (grid * seeded_constants(seed, "row", rows)).sum(axis=2, dtype=np.uint64)
    return bucket_keys_of_many(hashes + seeded_constants(seed, "band", bands))


def fast_similarity_sketch(elements: Hashes, slots: int, seed: int) -> Slots:
    """Sketch a set. The result does not depend on the division of rounds into batches.

    Args:
        elements: The set as well-mixed 64-bit hashes; not empty, repetitions are allowed.
        slots: Size of the sketch, a power of two from 2 to 256.
        seed: The seed, 0…2^64 - 1.

    Returns:
        8 bits of the element of each slot. Slots of different elements agree by chance once in 256.
    """
    owners = np.full(slots, _UNOWNED)
    done = 0
    while owners.max() == _UNOWNED:
        if done and len(elements) > _BATCH_KEYS:  # so many distinct elements would have filled all slots
            elements = np.unique(elements)
        batch = min(ROUNDS - done, 1 + _BATCH_KEYS // len(elements))
        if not batch:
            _fill_empty_slots(owners, elements, seed)
            break
        _assign_slots(owners, elements, range(done, done + batch), seed)
        done += batch
    return owners.astype(np.uint8)


def fast_similarity_sketches(elements: Hashes, sets: Indices, count: int, slots: int, seed: int) -> Slots:
    """Sketch ``count`` sets at once, with one row per set; ``sets`` has the index of the set of each element.

    The rows equal :func:`fast_similarity_sketch` of each set. Rows of sets without elements are undefined.
    """
    owners = np.full((count, slots), _UNOWNED)
    for rounds in (range(1), *(range(first, 2 * first) for first in _ROUND_BATCHES)):
        hashes = round_hashes(elements, rounds, seed)
        indices = (hashes >> np.uint64(65 - slots.bit_length())).view(np.int64) + sets * slots
        _assign_empty_slots(owners.reshape(-1), indices, hashes >> _ROUND_BITS, rounds)
        unfilled = owners.max(axis=1) == _UNOWNED
        remaining = np.flatnonzero(unfilled[sets])
        if not len(remaining):
            break
        elements, sets = elements[remaining], sets[remaining]
    else:
        for number in np.unique(sets).tolist():
            _fill_empty_slots(owners[number], elements[sets == number], seed)
    return owners.astype(np.uint8)


def _assign_empty_slots(owners: Hashes, indices: Indices, keys: Hashes, rounds: range) -> None:
    """Assign the empty slots; ``keys`` has one row per round, and round 0 is always alone."""
    if rounds.start:
        keys |= np.arange(rounds.start, rounds.stop, dtype=np.uint64)[:, None] << _VALUE_BITS
        is_empty = owners.take(indices) == _UNOWNED
        indices, keys = indices[is_empty], keys[is_empty]
    np.minimum.at(owners, indices, keys)


def _fill_empty_slots(owners: Hashes, elements: Hashes, seed: int) -> None:
    """Assign every empty slot to the smallest element in the order of the slot."""
    empty = np.flatnonzero(owners == _UNOWNED)
    orders = seeded_constants(seed, "order", len(owners))[empty]
    owners[empty] = light_mix(elements * orders[:, None]).min(axis=1)


def _assign_slots(owners: Hashes, elements: Hashes, rounds: range, seed: int) -> None:
    """Assign to every element, for each round, its slot if the slot's current (round, value) is greater."""
    hashes = round_hashes(elements, rounds, seed)
    keys = hashes >> _ROUND_BITS
    if rounds.stop > 1:
        keys |= np.arange(rounds.start, rounds.stop, dtype=np.uint64)[:, None] << _VALUE_BITS
    # The bits of the slot are also in the key, but they are the same in all keys of one slot.
    slots = hashes >> np.uint64(65 - len(owners).bit_length())
    np.minimum.at(owners, slots.view(np.int64).ravel(), keys.ravel())


def round_hashes(elements: Hashes, rounds: range, seed: int) -> Hashes:
    """Return the hashes of the elements, one row per round. Round 0 uses the elements unchanged."""
    if rounds.stop == 1:
        return elements
    factors = seeded_constants(seed, "round", ROUNDS)[rounds.start : rounds.stop, None]
    rows = light_mix(elements * factors)
    if rounds.start == 0:
        rows[0] = elements
    return rows
