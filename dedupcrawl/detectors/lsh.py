"""Banding: which slots are filed together (Mining of Massive Datasets, chapter 3.4).

Bucket keys: a hash of what a copy would be filed under.

Fast Similarity Sketching: t slots, each agreeing between two sets with probability J.

Dahlgaard, Knudsen, Thorup, "Fast Similarity Sketching", FOCS 2017. In round r every element is
thrown into one random slot with a random value; a slot belongs to the smallest (round, value) that
fell into it. A slot that stays empty after the random rounds belongs to the least element under
an order of its own. One round suffices for some 1,000 elements where MinHash hashes each 128 times,
and the estimate's variance is smaller, because slots are sampled without replacement.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from dedupcrawl.text.hashing import Hashes, light_mix, mix, seeded_constants

_KEY_BYTES = 8


def bucket_keys(hashes: Hashes) -> tuple[bytes, ...]:
    """Return 64-bit hashes as distinct keys of 8 bytes, little-endian, in the order of first appearance."""
    return bucket_keys_of_many(hashes[None])[0]


def bucket_keys_of_many(hashes: Hashes) -> list[tuple[bytes, ...]]:
    """Return such keys for each row of 64-bit hashes."""
    packed = mix(hashes.copy()).astype("<u8", copy=False).tobytes()
    step = _KEY_BYTES * hashes.shape[1]
    return [
        tuple(dict.fromkeys([packed[at : at + _KEY_BYTES] for at in range(row, row + step, _KEY_BYTES)]))
        for row in range(0, len(packed), step)
    ]


#: What the optimiser gives for common thresholds. datasketch brings scipy, which takes a second to load;
#: a crawl with default settings need not wait for it. A test compares.
_PRECOMPUTED_BANDS: dict[tuple[float, int, float], tuple[int, int]] = {
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
    known = _PRECOMPUTED_BANDS.get((threshold, slots, miss_weight))
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
    hashes = (grid * seeded_constants(seed, "row", rows)).sum(axis=2, dtype=np.uint64)
    return bucket_keys_of_many(hashes + seeded_constants(seed, "band", bands))


Indices = npt.NDArray[np.int64]
Slots = npt.NDArray[np.uint8]

ROUNDS = 16  #: random rounds before the orders of their own
_VALUE_BITS = np.uint64(60)  #: of a key; above them stands the round
_ROUND_BITS = np.uint64(4)
_BATCH_KEYS = 900  #: keys thrown at once: enough to fill 128 slots most of the time
_ROUND_BATCHES = (
    1,
    2,
    4,
    8,
)  #: several sets: behind round 0 that many at once, for ever fewer sets need more
_UNOWNED = np.uint64(2**64 - 1)


def fast_similarity_sketch(elements: Hashes, slots: int, seed: int) -> Slots:
    """Sketch a set, not empty, given as well-mixed 64-bit hashes, repetitions allowed.

    ``slots`` is a power of two from 2 to 256. Returns 8 bits of the element that owns each slot, so
    that slots of different elements agree by chance once in 256. The result does not depend on how rounds
    are batched.
    """
    owners = np.full(slots, _UNOWNED)
    thrown = 0
    while owners.max() == _UNOWNED:
        if thrown and len(elements) > _BATCH_KEYS:  # so many would have filled the slots, were they distinct
            elements = np.unique(elements)
        batch = min(ROUNDS - thrown, 1 + _BATCH_KEYS // len(elements))
        if not batch:
            _fill_empty_slots(owners, elements, seed)
            break
        _assign_slots(owners, elements, range(thrown, thrown + batch), seed)
        thrown += batch
    return owners.astype(np.uint8)


def fast_similarity_sketches(elements: Hashes, sets: Indices, count: int, slots: int, seed: int) -> Slots:
    """Sketch ``count`` sets at once; ``sets`` tells of each element which one it is in.

    Returns a row of ``slots`` for each set, what :func:`fast_similarity_sketch` gives for it; that of a set
    without elements means nothing.
    """
    owners = np.full((count, slots), _UNOWNED)
    for rounds in (range(1), *(range(turn, 2 * turn) for turn in _ROUND_BATCHES)):
        thrown = _round_hashes(elements, rounds, seed)
        places = (thrown >> np.uint64(65 - slots.bit_length())).view(np.int64) + sets * slots
        _assign_empty_slots(owners.reshape(-1), places, thrown >> _ROUND_BITS, rounds)
        unfilled = owners.max(axis=1) == _UNOWNED
        stays = np.flatnonzero(unfilled[sets])
        if not len(stays):
            break
        elements, sets = elements[stays], sets[stays]
    else:
        for each in np.unique(sets).tolist():
            _fill_empty_slots(owners[each], elements[sets == each], seed)
    return owners.astype(np.uint8)


def _assign_empty_slots(owners: Hashes, places: Indices, keys: Hashes, rounds: range) -> None:
    """Let keys, a row for each of ``rounds`` (the first has no other beside it), take the empty slots."""
    if rounds.start:
        keys |= np.arange(rounds.start, rounds.stop, dtype=np.uint64)[:, None] << _VALUE_BITS
        free = owners.take(places) == _UNOWNED
        places, keys = places[free], keys[free]
    np.minimum.at(owners, places, keys)


def _fill_empty_slots(owners: Hashes, elements: Hashes, seed: int) -> None:
    """Give every empty slot to the least element under the slot's own order."""
    empty = np.flatnonzero(owners == _UNOWNED)
    orders = seeded_constants(seed, "order", len(owners))[empty]
    owners[empty] = light_mix(elements * orders[:, None]).min(axis=1)


def _assign_slots(owners: Hashes, elements: Hashes, rounds: range, seed: int) -> None:
    """Let every element take, in each of ``rounds``, its slot from any greater (round, value)."""
    thrown = _round_hashes(elements, rounds, seed)
    keys = thrown >> _ROUND_BITS
    if rounds.stop > 1:
        keys |= np.arange(rounds.start, rounds.stop, dtype=np.uint64)[:, None] << _VALUE_BITS
    # The slot's bits stand in the key as well: all keys of one slot have the same.
    slots = thrown >> np.uint64(65 - len(owners).bit_length())
    np.minimum.at(owners, slots.view(np.int64).ravel(), keys.ravel())


def _round_hashes(elements: Hashes, rounds: range, seed: int) -> Hashes:
    """Return the elements' hashes for each round as a row; round 0 takes them as they are."""
    if rounds.stop == 1:
        return elements
    factors = seeded_constants(seed, "round", ROUNDS)[rounds.start : rounds.stop, None]
    rows = light_mix(elements * factors)
    if rounds.start == 0:
        rows[0] = elements
    return rows
