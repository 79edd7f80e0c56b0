"""Fast Similarity Sketching: t slots, each agreeing between two sets with probability J.

Dahlgaard, Knudsen, Thorup, "Fast Similarity Sketching", FOCS 2017. In round r every element is
thrown into one random slot with a random value; a slot belongs to the smallest (round, value) that
fell into it. A slot that stays empty after the random rounds belongs to the least element under
an order of its own. One round suffices for some 600 elements where MinHash hashes each 128 times,
and the estimate's variance is smaller, because slots are sampled without replacement.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dedupcrawl.text.hashing import Hashes, constants, stir

Slots = npt.NDArray[np.uint8]

ROUNDS = 16  #: random rounds before the orders of their own
_ROUND_BITS = 4
_BATCH = 900  #: keys sorted at once: enough to fill 128 slots most of the time


def fast_similarity_sketch(elements: Hashes, slots: int, seed: int) -> tuple[Slots, int]:
    """Sketch a set given as well-mixed 64-bit hashes, repetitions allowed.

    ``slots`` is a power of two from 2 to 256. Returns 8 bits of the element that owns each slot, so
    that slots of different elements agree by chance once in 256, and the number of distinct elements.
    The result does not depend on how rounds are batched.
    """
    bits = slots.bit_length() - 1
    bounds = np.arange(slots, dtype=np.uint64) << np.uint64(64 - bits)
    rounds = _batch(len(elements), 0)
    keys = np.sort(_round_keys(elements, 0, rounds, bits, seed))
    distinct = (1 + int(np.count_nonzero(keys[1:] != keys[:-1]))) // rounds
    owners, filled = _owners(keys, bounds, bits)
    while rounds < ROUNDS and not filled.all():
        more = _batch(len(elements), rounds)
        keys = np.concatenate((owners[filled], _round_keys(elements, rounds, more, bits, seed)))
        keys.sort()
        owners, filled = _owners(keys, bounds, bits)
        rounds += more
    if not filled.all():
        empty = np.flatnonzero(~filled)
        owners[empty] = _own_orders(elements, empty, slots, seed)
    return owners.astype(np.uint8), distinct


def _batch(elements: int, done: int) -> int:
    return min(ROUNDS - done, max(1, 1 + _BATCH // elements))


def _owners(keys: Hashes, bounds: Hashes, bits: int) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    """Take the least of the sorted ``keys`` in each slot; False where there is none."""
    first = np.searchsorted(keys, bounds)
    np.minimum(first, len(keys) - 1, out=first)
    owners = keys[first]
    return owners, (owners ^ bounds) < np.uint64(1 << (64 - bits))


def _round_keys(elements: Hashes, first: int, count: int, bits: int, seed: int) -> Hashes:
    """Return slot | round | value of every element in ``count`` rounds, each a 64-bit key."""
    factors = constants(seed, "round", ROUNDS)[first : first + count]
    thrown = stir(elements[None, :] * factors[:, None])
    value_bits = np.uint64(64 - bits - _ROUND_BITS)
    keys = thrown >> np.uint64(_ROUND_BITS)
    keys &= (np.uint64(1) << value_bits) - np.uint64(1)
    slot_shift = np.uint64(64 - bits)
    keys |= thrown >> slot_shift << slot_shift
    keys |= (np.arange(first, first + count, dtype=np.uint64) << value_bits)[:, None]
    return keys.ravel()


def _own_orders(elements: Hashes, empty: npt.NDArray[np.int64], slots: int, seed: int) -> Hashes:
    orders = constants(seed, "order", slots)[empty]
    least: Hashes = stir(elements[None, :] * orders[:, None]).min(axis=1)
    return least
