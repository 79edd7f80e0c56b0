"""Bit fingerprints: signs of weighted sums, Hamming distance, and block keys.

A fingerprint is bytes in little-endian order: bit j is bit j of the number.
"""

from __future__ import annotations

import functools
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dedupcrawl.detectors.base import Exhibit, Match, Opinion, Relation
from dedupcrawl.text.kernel import weigh_bits

if TYPE_CHECKING:
    from dedupcrawl.detectors.base import Bar, Detector
    from dedupcrawl.text.shingles import Hashes

Counts = npt.NDArray[np.int64]

WORD_BITS = 64  #: bits of a hash
MAX_KEYS = 128  #: highest number of keys of a page; every key uses space in the store
_CHUNK_ROWS = 4096  #: hashes unpacked at a time, to bound the memory
_FOLDED_ROWS = 32  #: rows added as bytes; at most 255, the range of a byte


def sign_bits(hashes: Hashes, weights: Counts | None = None) -> bytes:
    """Return 64 bits: bit j is 1 if the hashes with bit j have more than half of the total weight.

    Source: Charikar, *Similarity estimation techniques from rounding algorithms*, STOC 2002. ``weights`` are
    integers; ``None``: all weights are 1. Sums are exact.
    """
    total = len(hashes) if weights is None else int(weights.sum())
    compiled = weigh_bits(hashes, weights)
    if compiled is not None:
        return np.packbits(compiled > total // 2, bitorder="little").tobytes()
    return np.packbits(bit_sums(hashes, weights) > total // 2).tobytes()


def bit_sums(hashes: Hashes, weights: Counts | None = None) -> Counts:
    """Return for each of the 64 bits the total weight of the hashes that have it.

    The order is that of ``numpy.unpackbits``: lowest byte first, and the highest bit of a byte first.
    """
    sums = np.zeros(WORD_BITS, np.int64)
    for start in range(0, len(hashes), _CHUNK_ROWS):
        chunk = slice(start, start + _CHUNK_ROWS)
        octets = hashes[chunk].astype("<u8", copy=False).view(np.uint8)
        rows = np.unpackbits(octets).reshape(-1, WORD_BITS)
        sums += _unweighted_sums(rows) if weights is None else _weighted_sums(rows, weights[chunk])
    return sums


def _unweighted_sums(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
    # Adding long rows of bytes is faster than adding short rows of wider integers.
    whole = len(rows) // _FOLDED_ROWS * _FOLDED_ROWS
    folded = np.add.reduce(rows[:whole].reshape(_FOLDED_ROWS, -1), dtype=np.uint8).reshape(-1, WORD_BITS)
    sums: npt.NDArray[np.uint16] = np.add.reduce(np.concatenate((folded, rows[whole:])), dtype=np.uint16)
    return sums


def _weighted_sums(rows: npt.NDArray[np.uint8], weights: Counts) -> Counts:
    # No matrix product: with floats it would start threads, with integers it is slower.
    width = np.int32 if int(weights.sum()) < 2**31 else np.int64
    sums: Counts = np.einsum("i,ij->j", weights.astype(width), rows.astype(width)).astype(np.int64)
    return sums


def read_bits(detector: Detector, sketch: bytes, tag: int, bits: int) -> bytes:
    """Return the fingerprint in a sketch, which is the byte ``tag`` and the fingerprint."""
    if 8 * (len(sketch) - 1) != bits or sketch[0] != tag:
        raise detector.sketch_error(sketch)
    return sketch[1:]


def match_by_bits(new: bytes, old: bytes, least: int) -> Match | None:
    """Match two fingerprints if at least ``least`` bits agree; the similarity is the share of agreeing bits."""
    bits = 8 * len(new)
    found = bits - hamming_distance(new, old)
    if found < least:
        return None
    return Match(found / bits, Relation.NEAR_DUPLICATE, {"bits": f"{found} of {bits}"})


def opinion_by_bits(detector: Detector, new: bytes, old: bytes, bar: Bar, match: Match | None) -> Opinion:
    """Return the opinion on two fingerprints, given their ``match`` and the condition ``bar``."""
    bits = 8 * len(new)
    differing = int.from_bytes(new, "little") ^ int.from_bytes(old, "little")
    found = bits - differing.bit_count()
    exhibit = Exhibit.of_bits("bits", differing, bits)
    return Opinion(detector.name, match, found / bits, {"bits": f"{found} of {bits}"}, bars=(bar,), exhibits=(exhibit,))


def hamming_distance(new: bytes, old: bytes) -> int:
    """Return the number of bits in which two fingerprints of the same size differ."""
    return (int.from_bytes(new, "little") ^ int.from_bytes(old, "little")).bit_count()


def block_keys(fingerprint: bytes, blocks: int, distance: int) -> tuple[bytes, ...]:
    """Return keys such that two fingerprints with at most ``distance`` different bits share at least one.

    The fingerprint is divided into ``blocks`` blocks. At most ``distance`` blocks of such a pair differ, so
    ``blocks - distance`` blocks are equal. Every choice of that number of blocks is a key (Manku, Jain, Das Sarma,
    *Detecting near-duplicates for web crawling*, WWW 2007). ``distance + 1`` blocks give as many keys of one
    block; more blocks give more and longer keys.
    """
    value = int.from_bytes(fingerprint, "little")
    masks = _masks(8 * len(fingerprint), blocks, distance)
    return tuple(
        bytes((number,)) + (value & mask).to_bytes(len(fingerprint), "little") for number, mask in enumerate(masks)
    )


@functools.cache
def _masks(bits: int, blocks: int, distance: int) -> tuple[int, ...]:
    bounds = pairwise(bits * block // blocks for block in range(blocks + 1))
    masks = [(1 << stop) - (1 << start) for start, stop in bounds]
    # The bits of a union of blocks are the sum of their masks, because blocks are disjoint.
    return tuple(map(sum, combinations(masks, blocks - distance)))
