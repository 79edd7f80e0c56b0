"""Streams of bits: numbers of some bits, and sorted numbers as differences."""

from __future__ import annotations

from contextlib import suppress
from math import comb, log2
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedupcrawl.utils.bits import NUMBER_BITS, BitReader, BitWriter

LIMIT = 1 << NUMBER_BITS
ascending = st.sets(st.integers(0, LIMIT - 1), max_size=60).map(sorted)


def sorted_stream(numbers: list[int]) -> bytes:
    writer = BitWriter()
    writer.write_sorted(numbers)
    return writer.to_bytes()


def test_the_bytes_are_pinned() -> None:
    writer = BitWriter()
    writer.write(0, 3)
    writer.write(5, 3)
    writer.write_sorted([1, 4, 5, 700, 65535])
    writer.write_all([1, 1, 0], 1)
    assert writer.to_bytes().hex() == "17400100080000adbfba8580"
    assert BitWriter().to_bytes() == sorted_stream([]) == b""


@given(st.lists(st.one_of(st.tuples(st.integers(0, 40), st.integers(0, 2**40 - 1)), ascending)))
def test_what_is_written_is_read(parts: list[tuple[int, int] | list[int]]) -> None:
    writer = BitWriter()
    for part in parts:
        if isinstance(part, list):
            writer.write_sorted(part)
        else:
            writer.write(part[1] & (1 << part[0]) - 1, part[0])
    reader = BitReader(writer.to_bytes())
    for part in parts:
        if isinstance(part, list):
            assert reader.read_sorted(len(part)) == part
        else:
            assert reader.read(part[0]) == part[1] & (1 << part[0]) - 1
    reader.end()


@given(ascending)
@example([*range(60)])
@example([0])
@example([LIMIT - 1])
@example([*range(LIMIT - 60, LIMIT)])
@example([*range(59), LIMIT - 1])
def test_sorted_numbers_are_short(numbers: list[int]) -> None:
    """Never more than two bits above 16 for a number, whatever the numbers are."""
    assert len(sorted_stream(numbers)) <= (4 + (NUMBER_BITS + 2) * len(numbers) + 7) // 8


@pytest.mark.parametrize("count", [4, 16, 60])
def test_random_numbers_are_near_the_least_size(count: int) -> None:
    random, rounds = Random(count), 200
    bits = 8 * sum(len(sorted_stream(sorted(random.sample(range(LIMIT), count)))) for _ in range(rounds)) / rounds
    assert bits <= log2(comb(LIMIT, count)) + 4 + 4 + 0.6 * count  # the parameter, half a byte, and the code


@given(st.binary(max_size=40), st.integers(0, 30))
def test_any_stream_gives_ascending_numbers_or_an_error(stream: bytes, count: int) -> None:
    with suppress(ValueError):
        found = BitReader(stream).read_sorted(count)
        assert found == sorted({*found})
        assert found[-1:] < [LIMIT]


@pytest.mark.parametrize("stream", [b"\x40", b"\x01", b"\x00\x00"], ids=bytes.hex)
def test_nothing_but_zeros_fills_the_last_byte(stream: bytes) -> None:
    reader = BitReader(stream)
    assert reader.read(1) == 0
    with pytest.raises(ValueError, match=r"^$"):
        reader.end()


def test_a_stream_that_ends_too_early_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^$"):
        BitReader(b"\xff").read(9)
