"""Fast Similarity Sketching: t slots, each agreeing between two sets with probability J.

Dahlgaard, Knudsen, Thorup, "Fast Similarity Sketching", FOCS 2017. In round r every element is
thrown into one random slot with a random value; a slot belongs to the smallest (round, value) that
fell into it. A slot that stays empty after the random rounds belongs to the least element under
an order of its own. One round suffices for some 1,000 elements where MinHash hashes each 128 times,
and the estimate's variance is smaller, because slots are sampled without replacement.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dedupcrawl.text.hashing import Hashes, constants, stir

Indices = npt.NDArray[np.int64]
Slots = npt.NDArray[np.uint8]

ROUNDS = 16  #: random rounds before the orders of their own
_VALUE_BITS = np.uint64(60)  #: of a key; above them stands the round
_ROUND_BITS = np.uint64(4)
_BATCH = 900  #: keys thrown at once: enough to fill 128 slots most of the time
_TURNS = (1, 2, 4, 8)  #: several sets: behind round 0 that many at once, for ever fewer sets need more
_EMPTY = np.uint64(2**64 - 1)


def fast_similarity_sketch(elements: Hashes, slots: int, seed: int) -> Slots:
    """Sketch a set, not empty, given as well-mixed 64-bit hashes, repetitions allowed.

    ``slots`` is a power of two from 2 to 256. Returns 8 bits of the element that owns each slot, so
    that slots of different elements agree by chance once in 256. The result does not depend on how rounds
    are batched.
    """
    owners = np.full(slots, _EMPTY)
    thrown = 0
    while owners.max() == _EMPTY:
        if thrown and len(elements) > _BATCH:  # so many would have filled the slots, were they distinct
            elements = np.unique(elements)
        batch = min(ROUNDS - thrown, 1 + _BATCH // len(elements))
        if not batch:
            _settle(owners, elements, seed)
            break
        _throw(owners, elements, range(thrown, thrown + batch), seed)
        thrown += batch
    return owners.astype(np.uint8)


def sketch_many(elements: Hashes, sets: Indices, count: int, slots: int, seed: int) -> Slots:
    """Sketch ``count`` sets at once; ``sets`` tells of each element which one it is in.

    Returns a row of ``slots`` for each set, what :func:`fast_similarity_sketch` gives for it; that of a set
    without elements means nothing.
    """
    owners = np.full((count, slots), _EMPTY)
    for rounds in (range(1), *(range(turn, 2 * turn) for turn in _TURNS)):
        thrown = _rehash(elements, rounds, seed)
        places = (thrown >> np.uint64(65 - slots.bit_length())).view(np.int64) + sets * slots
        _take_free(owners.reshape(-1), places, thrown >> _ROUND_BITS, rounds)
        unfilled = owners.max(axis=1) == _EMPTY
        stays = np.flatnonzero(unfilled[sets])
        if not len(stays):
            break
        elements, sets = elements[stays], sets[stays]
    else:
        for each in np.unique(sets).tolist():
            _settle(owners[each], elements[sets == each], seed)
    return owners.astype(np.uint8)


def _take_free(owners: Hashes, places: Indices, keys: Hashes, rounds: range) -> None:
    """Let keys, a row for each of ``rounds`` (the first has no other beside it), take the empty slots."""
    if rounds.start:
        keys |= np.arange(rounds.start, rounds.stop, dtype=np.uint64)[:, None] << _VALUE_BITS
        free = owners.take(places) == _EMPTY
        places, keys = places[free], keys[free]
    np.minimum.at(owners, places, keys)


def _settle(owners: Hashes, elements: Hashes, seed: int) -> None:
    """Give every empty slot to the least element under the slot's own order."""
    empty = np.flatnonzero(owners == _EMPTY)
    orders = constants(seed, "order", len(owners))[empty]
    owners[empty] = stir(elements * orders[:, None]).min(axis=1)


def _throw(owners: Hashes, elements: Hashes, rounds: range, seed: int) -> None:
    """Let every element take, in each of ``rounds``, its slot from any greater (round, value)."""
    thrown = _rehash(elements, rounds, seed)
    keys = thrown >> _ROUND_BITS
    if rounds.stop > 1:
        keys |= np.arange(rounds.start, rounds.stop, dtype=np.uint64)[:, None] << _VALUE_BITS
    # The slot's bits stand in the key as well: all keys of one slot have the same.
    slots = thrown >> np.uint64(65 - len(owners).bit_length())
    np.minimum.at(owners, slots.view(np.int64).ravel(), keys.ravel())


def _rehash(elements: Hashes, rounds: range, seed: int) -> Hashes:
    """Return the elements' hashes for each round as a row; round 0 takes them as they are."""
    if rounds.stop == 1:
        return elements
    factors = constants(seed, "round", ROUNDS)[rounds.start : rounds.stop, None]
    rows = stir(elements * factors)
    if rounds.start == 0:
        rows[0] = elements
    return rows
