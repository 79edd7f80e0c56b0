"""Rabin fingerprints of runs of tokens (Rabin, *Fingerprinting by random polynomials*, 1981).

A string of bits is a polynomial over GF(2); its fingerprint is the remainder of that polynomial times
x^64 modulo an irreducible polynomial of degree 64, which is drawn from the seed. A shingle is the string of
its tokens, 64 bits each (see :func:`symbols`). The remainder is linear, so it is the sum (XOR)
of what each token is worth at its place, and that is looked up in tables.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dedupcrawl.text.hashing import GOLDEN, MASK, constants, split_mix
from dedupcrawl.text.normalize import ROLE_SHIFT
from dedupcrawl.text.scripts import Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.text.hashing import Hashes
    from dedupcrawl.text.normalize import Indices

DEGREE = 64
_ROLE = np.uint64(int(Role.CHARACTER) << int(ROLE_SHIFT))
_LOW_BITS = 16
_LOW = np.uint64((1 << _LOW_BITS) - 1)
_TABLES = 256 * np.arange((DEGREE - _LOW_BITS) // 8)[:, np.newaxis]


class Symbols(NamedTuple):
    """Tokens as 64-bit symbols, cut for the tables."""

    low: Indices  #: the lower 16 bits of each
    wide: Indices  #: which symbols have more
    octets: Indices  #: where in the tables their upper six bytes are looked up, 6 x wide symbols


class _Table(NamedTuple):
    low: Hashes  #: what the lower 16 bits are worth
    octets: Hashes  #: what each of the upper six bytes is worth, six tables of 256 in a row


def symbols(tokens: Hashes) -> Symbols:
    """Cut token hashes (see :class:`~dedupcrawl.text.shingles.Tokens`) for :func:`fingerprints`.

    The role of a character is the same for all characters and is taken out: then those of the basic plane are
    symbols of 16 bits.
    """
    values = tokens ^ _ROLE
    wide = np.flatnonzero(values > _LOW)
    if not len(wide):
        return Symbols(values.view(np.int64), wide, wide)
    upper = values if len(wide) == len(values) else values[wide]
    octets = upper.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8).T[2:]
    return Symbols((values & _LOW).view(np.int64), wide, np.ascontiguousarray(octets) + _TABLES)


def fingerprints(of: Symbols, length: int, seed: int, number: int = 0) -> Hashes:
    """Return the fingerprint of every run of ``length`` symbols, none if there are fewer.

    ``number`` chooses one of several independent polynomials.
    """
    count = max(0, len(of.low) - length + 1)
    result = np.zeros(count, np.uint64)
    for place in range(length if count else 0):
        worth = _worth(of, _table(seed, number, length - place))
        result ^= worth[place : place + count]
    return result


def _worth(of: Symbols, table: _Table) -> Hashes:
    worth: Hashes = table.low.take(of.low)
    if len(of.wide):
        more = np.bitwise_xor.reduce(table.octets.take(of.octets), axis=0)
        if len(of.wide) == len(worth):
            worth ^= more
        else:
            worth[of.wide] ^= more
    return worth


@functools.cache
def _table(seed: int, number: int, behind: int) -> _Table:
    """Tabulate symbol * x^(64 * behind): the worth of a symbol so many from the end, where the last is 1."""
    modulus = irreducible(seed, number)
    unit = functools.reduce(lambda value, _: _times_x(value, modulus), range(DEGREE * behind), 1)
    worth = [unit]
    for _ in range(DEGREE - 1):
        worth.append(_times_x(worth[-1], modulus))
    octets = [_span(worth[at : at + 8]) for at in range(_LOW_BITS, DEGREE, 8)]
    table = _Table(_span(worth[:_LOW_BITS]), np.concatenate(octets))
    for array in table:
        array.flags.writeable = False
    return table


def _span(worth: Iterable[int]) -> Hashes:
    """By number: the sum of what its bits are worth, the lowest bit first."""
    table = np.zeros(1, np.uint64)
    for value in worth:
        table = np.concatenate((table, table ^ np.uint64(value)))
    return table


def _times_x(value: int, modulus: int) -> int:
    doubled = value << 1
    return doubled ^ modulus if doubled >> DEGREE else doubled


@functools.cache
def irreducible(seed: int, number: int = 0) -> int:
    """Draw an irreducible polynomial of degree 64; bit j of the number is the coefficient of x^j."""
    state = int(constants(seed, f"rabin {number}", 1)[0])
    while True:
        state = (state + GOLDEN) & MASK
        drawn = 1 << DEGREE | split_mix(state) | 1
        if drawn.bit_count() % 2 and is_irreducible(drawn):  # an even number of terms: x + 1 divides it
            return drawn


def is_irreducible(polynomial: int) -> bool:
    """Tell by Rabin's test, for a degree n that is a power of two.

    P is irreducible when it divides x^(2^n) - x, and has no factor in common with x^(2^(n/2)) - x.
    """
    degree = polynomial.bit_length() - 1
    half = _squared(2, degree // 2, polynomial)
    return common_factor(half ^ 2, polynomial) == 1 and _squared(half, degree // 2, polynomial) == 2


def _squared(value: int, times: int, modulus: int) -> int:
    for _ in range(times):
        # Squaring over GF(2) puts a zero behind every digit: the binary digits, read to the base of four.
        value = remainder(int(f"{value:b}", 4), modulus)
    return value


def common_factor(left: int, right: int) -> int:
    """Return the greatest common divisor of two polynomials over GF(2)."""
    while right:
        left, right = right, remainder(left, right)
    return left


def remainder(value: int, modulus: int) -> int:
    """Divide polynomials over GF(2); return the remainder."""
    size = modulus.bit_length()
    while (surplus := value.bit_length() - size) >= 0:
        value ^= modulus << surplus
    return value
