"""Signs, distances, and keys that every near pair shares."""

from __future__ import annotations

import random
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.detectors.bits import block_keys, hamming_distance, match_by_bits, sign_bits
from tests.detectors.plain_charikar import signs

numbers = st.integers(0, 2**64 - 1)
#: bits, blocks, distance
CUTS = [
    (64, 4, 3),
    (64, 5, 3),
    (64, 6, 3),
    (64, 1, 0),
    (64, 2, 0),
    (64, 9, 8),
    (128, 7, 5),
    (256, 12, 10),
    (384, 13, 12),
]
by_cut = pytest.mark.parametrize(("bits", "blocks", "distance"), CUTS)


def number(found: bytes) -> int:
    return int.from_bytes(found, "little")


def test_three_hashes_by_hand() -> None:
    hashes = np.array([0b0110, 0b0011, 0b0101], np.uint64)
    assert number(sign_bits(hashes)) == 0b0111  # bits 0, 1, 2 twice each
    # +-: bit 3: -9, bit 2: 5 - 3 + 1 = 3, bit 1: 5 + 3 - 1 = 7, bit 0: -5 + 3 + 1 = -1
    assert number(sign_bits(hashes, np.array([5, 3, 1]))) == 0b0110


def test_a_tie_is_zero() -> None:
    assert number(sign_bits(np.array([0b01, 0b10], np.uint64))) == 0


@settings(max_examples=60)
@given(st.lists(st.tuples(numbers, st.integers(0, 10**6)), max_size=200))
def test_signs_are_those_of_the_definition(weighted: list[tuple[int, int]]) -> None:
    hashes = np.array([h for h, _ in weighted], np.uint64)
    weights = np.array([w for _, w in weighted], np.int64)
    assert number(sign_bits(hashes, weights)) == signs(weighted)
    assert number(sign_bits(hashes)) == signs((h, 1) for h, _ in weighted)


@pytest.mark.parametrize("count", [63, 64, 65, 255, 256, 4095, 4096, 4097, 9000])
def test_long_texts_are_summed_in_parts(count: int) -> None:
    hashes = np.random.default_rng(count).integers(0, 2**64, count, np.uint64, endpoint=False)
    hashes |= np.uint64(1)  # a bit that all have: bytes must not overflow
    sums = ((hashes[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).sum(axis=0)
    assert number(sign_bits(hashes)) == sum(1 << bit for bit in range(64) if 2 * sums[bit] > count)
    heavy = np.full(count, 2**40)
    assert sign_bits(hashes, heavy) == sign_bits(hashes)


@given(st.binary(min_size=8, max_size=48), st.data())
def test_distance(left: bytes, data: st.DataObject) -> None:
    right = data.draw(st.binary(min_size=len(left), max_size=len(left)))
    bits = sum(a != b for x, y in zip(left, right, strict=True) for a, b in zip(f"{x:08b}", f"{y:08b}", strict=True))
    assert hamming_distance(left, right) == bits
    total = 8 * len(left)
    match = match_by_bits(left, right, total - bits)
    assert match is not None
    assert match.similarity == (total - bits) / total
    assert match.evidence == {"bits": f"{total - bits} of {total}"}
    assert match_by_bits(left, right, total - bits + 1) is None


@by_cut
def test_no_pair_within_the_distance_is_lost(bits: int, blocks: int, distance: int) -> None:
    rng = random.Random(bits * blocks)
    for _ in range(150):
        left = rng.getrandbits(bits)
        right = left
        for bit in rng.sample(range(bits), distance):
            right ^= 1 << bit
        keys = [set(block_keys(value.to_bytes(bits // 8, "little"), blocks, distance)) for value in (left, right)]
        assert not keys[0].isdisjoint(keys[1])


@by_cut
def test_keys_are_as_many_as_choices_and_all_bits_count(bits: int, blocks: int, distance: int) -> None:
    value = random.Random(1).randbytes(bits // 8)
    keys = block_keys(value, blocks, distance)
    assert len(set(keys)) == len(keys) == comb(blocks, distance)
    inverse = bytes(255 - octet for octet in value)
    assert set(keys).isdisjoint(block_keys(inverse, blocks, distance))
    taken = [sum(octet.bit_count() for octet in key[1:]) for key in block_keys(b"\xff" * (bits // 8), blocks, distance)]
    share = bits * (blocks - distance) / blocks
    assert all(abs(bits_of_key - share) <= blocks - distance for bits_of_key in taken)
    assert sum(taken) == bits * comb(blocks, distance) * (blocks - distance) // blocks


def test_one_bit_more_than_the_distance_can_escape() -> None:
    spread = sum(1 << bit for bit in (3, 20, 40, 60))
    assert set(block_keys(bytes(8), 4, 3)).isdisjoint(block_keys(spread.to_bytes(8, "little"), 4, 3))
