"""Keyed hashes of the tokens, values and sentences of a page."""

from __future__ import annotations

from functools import cache
from zlib import crc32

from dedupcrawl.text.shingles import split_mix

_HASHED = 0xFFFFFFFF
_MULTIPLIER = 0x9E3779B1  #: 2^32 / golden ratio: spreads the low bits of a CRC to the high ones


@cache
def keyed_bytes(seed: int) -> bytes:
    """Return a permutation of all bytes that depends on the seed."""
    order = list(range(256))
    state = seed
    for place in range(255, 0, -1):
        state = split_mix(state)
        other = state % (place + 1)
        order[place], order[other] = order[other], order[place]
    return bytes(order)


def hash_of(text: bytes, table: bytes) -> int:
    """Return a keyed hash of 32 bits: a secret substitution of the bytes, which is not linear, then a CRC."""
    return crc32(text.translate(table)) * _MULTIPLIER & _HASHED
