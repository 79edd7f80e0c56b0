"""Arithmetic of 64-bit hashes in numpy arrays. All products wrap around at 2^64.

All randomness of the package is derived from one seed here, and must be the same in all workers.
"""

from __future__ import annotations

import functools
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]

MASK64 = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15  #: 2^64 / golden ratio, odd; the increment of SplitMix64
_M1 = np.uint64(0xFF51AFD7ED558CCD)  #: the two multipliers of MurmurHash3
_M2 = np.uint64(0xC4CEB9FE1A85EC53)
_S33 = np.uint64(33)
_S32 = np.uint64(32)
_S29 = np.uint64(29)


def mix(hashes: Hashes) -> Hashes:
    """Mix hashes in place with the finaliser of MurmurHash3 (a bijection), and return the array."""
    shifted = hashes >> _S33
    hashes ^= shifted
    hashes *= _M1
    hashes ^= np.right_shift(hashes, _S33, out=shifted)
    hashes *= _M2
    hashes ^= np.right_shift(hashes, _S33, out=shifted)
    return hashes


def light_mix(hashes: Hashes) -> Hashes:
    """Mix hashes in place with one multiplication; sufficient for hashes that were well mixed before."""
    shifted = hashes >> _S32
    hashes ^= shifted
    hashes *= _M1
    hashes ^= np.right_shift(hashes, _S29, out=shifted)
    return hashes


def seeded_hash(data: bytes, size: int, seed: int) -> bytes:
    """Return a BLAKE2b hash of ``size`` bytes, 1…64, with ``seed``, 0…2^64 - 1, as the key."""
    state = _keyed_hash(size, seed).copy()
    state.update(data)
    return state.digest()


@functools.cache
def _keyed_hash(size: int, seed: int) -> blake2b:
    """Return a hash object that has processed the key; callers update copies of it only."""
    return blake2b(digest_size=size, key=seed.to_bytes(8, "little"))


@functools.cache
def seeded_constants(seed: int, purpose: str, count: int) -> Hashes:
    """Return ``count`` random odd numbers by SplitMix64, read-only; each ``purpose`` has its own sequence."""
    state = functools.reduce(lambda s, c: split_mix(s ^ c), purpose.encode(), seed & MASK64)
    numbers = np.array([split_mix(state + i * GOLDEN) | 1 for i in range(1, count + 1)], np.uint64)
    numbers.flags.writeable = False
    return numbers


def split_mix(state: int) -> int:
    """One output of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014)."""
    z = (state + GOLDEN) & MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


@functools.cache
def powers(base: int, count: int) -> Hashes:
    """Return base^0 … base^(count-1) modulo 2^64, read-only."""
    factors = np.full(count, base & MASK64, np.uint64)
    factors[0] = 1
    result = np.multiply.accumulate(factors)
    result.flags.writeable = False
    return result
