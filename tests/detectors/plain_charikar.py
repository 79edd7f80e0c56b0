"""Charikar's and Rabin's fingerprints in plain Python: integers, lists and loops."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.text.normalize import pack
from dedupcrawl.text.shingles import tokens as hashed
from tests import oracles

if TYPE_CHECKING:
    from collections.abc import Iterable

Weighted = tuple[tuple[str, ...], int]


def signs(weighted: Iterable[tuple[int, int]], bits: int = 64) -> int:
    """The definition: per bit the sum of the weights, with a minus where the hash has a 0."""
    sums = [0] * bits
    for number, weight in weighted:
        for bit in range(bits):
            sums[bit] += weight if number >> bit & 1 else -weight
    return sum(1 << bit for bit in range(bits) if sums[bit] > 0)


def times(left: int, right: int) -> int:
    """Multiply polynomials over GF(2), digit by digit."""
    product = 0
    for bit in range(right.bit_length()):
        if right >> bit & 1:
            product ^= left << bit
    return product


def modulo(value: int, modulus: int) -> int:
    """Divide polynomials over GF(2) on paper: strike out the highest digit as long as there is one."""
    degree = modulus.bit_length() - 1
    for bit in range(max(value.bit_length() - 1, degree), degree - 1, -1):
        if value >> bit & 1:
            value ^= modulus << (bit - degree)
    return value


def rabin(values: Iterable[int], modulus: int) -> int:
    """The remainder of the string of the symbols, 32 bits each, and 64 zeros behind it."""
    string = 0
    for value in values:
        string = string << 32 | value
    return modulo(string << 64, modulus)


def word(number: int) -> int:
    """The symbol of a word with this hash: its upper half."""
    return number >> 32


def symbols(text: str, seed: int = 0) -> dict[str, int]:
    """The symbol of each token: a character's code point, 32 bits of a word's hash."""
    found = oracles.tokens(text)
    hashes = hashed(pack(text), seed).hashes.tolist()
    return {
        token: ord(token) if oracles.is_character(token) else word(number)
        for token, number in zip(found, hashes, strict=True)
    }


def by_terms(fields: Iterable[tuple[str, int]], characters: int, words: int) -> list[Weighted]:
    """The patent's weights: the term frequencies of the tokens of a shingle, and the weight of its field."""
    fields = list(fields)
    frequencies = Counter(token for text, _ in fields for token in oracles.tokens(text))
    return [
        (shingle, sum(frequencies[token] for token in shingle) + weight)
        for text, weight in fields
        for shingle in set(oracles.shingles(text, characters, words))
    ]


def by_occurrences(fields: Iterable[tuple[str, int]], characters: int, words: int) -> list[Weighted]:
    """The weight of the field for every time."""
    return [(shingle, weight) for text, weight in fields for shingle in oracles.shingles(text, characters, words)]


def simhash(weighted: Iterable[Weighted], text: str, moduli: Iterable[int], seed: int = 0) -> bytes:
    """The fingerprint of shingles whose tokens are all in ``text``, 64 bits for every polynomial."""
    weighted, numbers = list(weighted), symbols(text, seed)
    parts = [
        signs((rabin((numbers[token] for token in shingle), modulus), weight) for shingle, weight in weighted)
        for modulus in moduli
    ]
    return b"".join(part.to_bytes(8, "little") for part in parts)
