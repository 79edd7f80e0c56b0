"""Rabin fingerprints of runs of tokens (Rabin, *Fingerprinting by random polynomials*, 1981).

A string of bits is a polynomial over GF(2); its fingerprint is the remainder of that polynomial times
x^64 modulo an irreducible polynomial of degree 64, which is drawn from the seed. A shingle is the string of
its tokens, 32 bits each (see :func:`symbols`). The remainder is linear, so it is the sum (XOR)
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
    from dedupcrawl.text.shingles import Tokens

DEGREE = 64
WIDTH = 32  #: bits of a symbol
_LOW_BITS = 16
_LOW = np.uint64((1 << _LOW_BITS) - 1)
_ROLE = np.uint64(int(Role.CHARACTER) << int(ROLE_SHIFT))
_UPPER_HALF = np.uint64(DEGREE - WIDTH)
_SPREAD = np.uint64(GOLDEN)
_OCTET = np.uint64(255)


class Symbols(NamedTuple):
    """Symbols, cut for the tables."""

    low: Indices  #: the lower 16 bits of each
    octets: tuple[Indices, Indices] | None  #: the upper two bytes; None: all are 0


class _Table(NamedTuple):
    low: Hashes  #: what the lower 16 bits are worth
    octets: tuple[Hashes, Hashes]  #: what each of the upper two bytes is worth


def symbols(stream: Tokens) -> Symbols:
    """Number the tokens: a character of a script without spaces by its code point, a word by half its hash.

    So those of the basic plane, which are most of all, take one look at a table.
    """
    hashes, at = stream
    if np.count_nonzero(at) == len(at):
        values = hashes ^ _ROLE
        if not len(values) or values.max() <= _LOW:
            return Symbols(values.view(np.int64), None)
    else:
        # Multiplied, for the hash of a short word does not reach up into its upper half.
        values = np.where(at, hashes ^ _ROLE, hashes * _SPREAD >> _UPPER_HALF)
    third, fourth = (values >> np.uint64(_LOW_BITS)) & _OCTET, values >> np.uint64(_LOW_BITS + 8)
    return Symbols((values & _LOW).view(np.int64), (third.view(np.int64), fourth.view(np.int64)))


def fingerprints(of: Symbols, length: int, seed: int, number: int = 0) -> Hashes:
    """Return the fingerprint of every run of ``length`` symbols, none if there are fewer.

    ``number`` chooses one of several independent polynomials.
    """
    count = len(of.low) - length + 1
    if count < 1:
        return np.zeros(0, np.uint64)
    result = _worth(of, _table(seed, number, length - 1))[:count]
    for place in range(1, length):
        result ^= _worth(of, _table(seed, number, length - 1 - place))[place : place + count]
    return result


def _worth(of: Symbols, table: _Table) -> Hashes:
    worth: Hashes = table.low.take(of.low)
    if of.octets:
        worth ^= table.octets[0].take(of.octets[0])
        worth ^= table.octets[1].take(of.octets[1])
    return worth


@functools.cache
def _table(seed: int, number: int, behind: int) -> _Table:
    """Tabulate symbol * x^(64 + 32 * behind): what a symbol is worth that has so many behind it."""
    modulus = irreducible(seed, number)
    unit = functools.reduce(lambda value, _: _times_x(value, modulus), range(DEGREE + WIDTH * behind), 1)
    worth = [unit]
    for _ in range(WIDTH - 1):
        worth.append(_times_x(worth[-1], modulus))
    return _Table(_span(worth[:16]), (_span(worth[16:24]), _span(worth[24:])))


def _span(worth: Iterable[int]) -> Hashes:
    """By number: the sum of what its bits are worth, the lowest bit first."""
    table = np.zeros(1, np.uint64)
    for value in worth:
        table = np.concatenate((table, table ^ np.uint64(value)))
    table.flags.writeable = False
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
