"""Fingerprints of bits: the signs of weighted sums, the distance of two, and keys that near ones share.

A fingerprint is bytes, little-endian: bit j is bit j of the number.
"""

from __future__ import annotations

import functools
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dedupcrawl.detectors.base import Exhibit, Match, Opinion, Relation, sketch_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.detectors.base import Bar, Detector
    from dedupcrawl.text.hashing import Hashes

Counts = npt.NDArray[np.int64]

WORD_BITS = 64  #: bits of a hash
MAX_KEYS = 128  #: of a page: each costs room in the store
_CHUNK_ROWS = 4096  #: hashes unpacked at a time
_FOLDED_ROWS = 32  #: rows added in bytes; at most 255 fit


def sign_bits(hashes: Hashes, weights: Counts | None = None) -> bytes:
    """Return 64 bits: bit j is set where the hashes that have it outweigh those that have not.

    ``weights`` are whole numbers, one a hash; None: each weighs 1. A tie is 0. Sums are exact.
    (Charikar, *Similarity estimation techniques from rounding algorithms*, STOC 2002.)
    """
    total = len(hashes) if weights is None else int(weights.sum())
    return np.packbits(bit_sums(hashes, weights) > total // 2).tobytes()


def bit_sums(hashes: Hashes, weights: Counts | None = None) -> Counts:
    """Return for each of the 64 bits the sum of the weights of the hashes that have it.

    The order is that of ``numpy.unpackbits``: the lowest byte first, in a byte the highest bit.
    """
    sums = np.zeros(WORD_BITS, np.int64)
    for start in range(0, len(hashes), _CHUNK_ROWS):
        octets = hashes[start : start + _CHUNK_ROWS].astype("<u8", copy=False).view(np.uint8)
        rows = np.unpackbits(octets).reshape(-1, WORD_BITS)
        sums += (
            _unweighted_sums(rows)
            if weights is None
            else _weighted_sums(rows, weights[start : start + _CHUNK_ROWS])
        )
    return sums


def _unweighted_sums(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
    # Long rows of bytes are added faster than short ones of wider numbers.
    whole = len(rows) // _FOLDED_ROWS * _FOLDED_ROWS
    folded = np.add.reduce(rows[:whole].reshape(_FOLDED_ROWS, -1), dtype=np.uint8).reshape(-1, WORD_BITS)
    sums: npt.NDArray[np.uint16] = np.add.reduce(np.concatenate((folded, rows[whole:])), dtype=np.uint16)
    return sums


def _weighted_sums(rows: npt.NDArray[np.uint8], weights: Counts) -> Counts:
    # No matrix product: for floats it would start threads, for integers it is slower.
    width = np.int32 if int(weights.sum()) < 2**31 else np.int64
    sums: Counts = np.einsum("i,ij->j", weights.astype(width), rows.astype(width)).astype(np.int64)
    return sums


def read_bits(detector: Detector, sketch: bytes, tag: int, bits: int) -> bytes:
    """Take a fingerprint out of a sketch, which is a tag and the fingerprint.

    Raises :class:`~dedupcrawl.errors.StoreError` for a sketch of another tag or size.
    """
    if 8 * (len(sketch) - 1) != bits or sketch[0] != tag:
        raise sketch_error(detector, sketch)
    return sketch[1:]


def match_by_bits(new: bytes, old: bytes, least: int) -> Match | None:
    """Match two fingerprints of which at least so many bits agree; the similarity is their share."""
    bits = 8 * len(new)
    found = bits - hamming_distance(new, old)
    if found < least:
        return None
    return Match(found / bits, Relation.NEAR_DUPLICATE, {"bits": f"{found} of {bits}"})


def opinion_by_bits(detector: Detector, new: bytes, old: bytes, bar: Bar, match: Match | None) -> Opinion:
    """Say of two fingerprints, and of the ``match`` that they are or not, which bits agree."""
    bits = 8 * len(new)
    unlike = int.from_bytes(new, "little") ^ int.from_bytes(old, "little")
    found = bits - unlike.bit_count()
    shown = Exhibit.of_bits("bits", unlike, bits)
    return Opinion(
        detector.name, match, found / bits, {"bits": f"{found} of {bits}"}, bars=(bar,), exhibits=(shown,)
    )


def hamming_distance(new: bytes, old: bytes) -> int:
    """Return the Hamming distance of two fingerprints of one size."""
    return (int.from_bytes(new, "little") ^ int.from_bytes(old, "little")).bit_count()


def key_count(blocks: int, distance: int) -> int:
    """Return how many keys :func:`block_keys` makes."""
    return comb(blocks, distance)


def block_keys(fingerprint: bytes, blocks: int, distance: int) -> tuple[bytes, ...]:
    """Return keys of which two fingerprints share one if they differ in at most ``distance`` bits.

    Cut into B blocks, such fingerprints differ in at most d of them: some B - d blocks are equal, and
    every choice of B - d blocks is a key (Manku, Jain, Das Sarma, *Detecting near-duplicates for web
    crawling*, WWW 2007). B = d + 1 are d + 1 keys of one block each; more blocks are more keys of more bits.
    """
    value = int.from_bytes(fingerprint, "little")
    masks = _masks(8 * len(fingerprint), blocks, distance)
    return tuple(
        bytes((number,)) + (value & mask).to_bytes(len(fingerprint), "little")
        for number, mask in enumerate(masks)
    )


@functools.cache
def _masks(bits: int, blocks: int, distance: int) -> tuple[int, ...]:
    cuts = [bits * block // blocks for block in range(blocks + 1)]
    of_blocks = [(1 << stop) - (1 << start) for start, stop in pairwise(cuts)]
    return tuple(_unions(of_blocks, blocks - distance))


def _unions(masks: list[int], taken: int) -> Iterator[int]:
    return (functools.reduce(int.__or__, chosen) for chosen in combinations(masks, taken))
