"""Nobody without the seed finds words with equal hashes.

``LATTICE_WORDS`` are words of five Hangul syllables with the token hashes of English words, as they were when
token hashes were polynomials over the public base 2^64 / golden ratio. They were found so: the vectors d with
sum d[i] * P^i = 0 modulo 2^64 form a lattice. Its basis was reduced by LLL (delta 0.99), the vector of a target
hash was rounded by Babai's method, and combinations of the basis with coefficients from -3 to 3 were added until
all five syllables were in U+AC00 to U+D7A3. That takes a few milliseconds a word.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl import Deduplicator
from dedupcrawl.text.normalize import ROLE_SHIFT, CharacterKind, pack
from dedupcrawl.text.shingles import GOLDEN, MAX_LETTERS, _letter_keys, located_tokens, seeded_hash, tokens
from tests.texts import ENGLISH

SYLLABLES, LETTERS = 11172, 5
MODULUS = 1 << 64
Matrix = list[list[Fraction]]


def public_hash(word: str, base: int = GOLDEN) -> int:
    """The polynomial that token hashes once were."""
    role = int(CharacterKind.WORD) << int(ROLE_SHIFT)
    return sum((ord(letter) | role) * pow(base, place, MODULUS) for place, letter in enumerate(word)) % MODULUS


def dot(left: list[Fraction], right: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def orthogonal(basis: Matrix) -> tuple[Matrix, Matrix]:
    """Gram-Schmidt: the orthogonal vectors, and their coefficients."""
    vectors: Matrix = []
    factors = [[Fraction(0)] * len(basis) for _ in basis]
    for row, given_row in enumerate(basis):
        vector = list(given_row)
        for at, other in enumerate(vectors):
            factors[row][at] = dot(given_row, other) / dot(other, other)
            vector = [a - factors[row][at] * b for a, b in zip(vector, other, strict=True)]
        vectors.append(vector)
    return vectors, factors


def reduced(basis: Matrix) -> Matrix:
    """The basis, reduced by LLL with delta = 0.99."""
    at = 1
    vectors, factors = orthogonal(basis)
    while at < len(basis):
        for other in range(at - 1, -1, -1):
            times = round(factors[at][other])
            if times:
                basis[at] = [a - times * b for a, b in zip(basis[at], basis[other], strict=True)]
                vectors, factors = orthogonal(basis)
        bound = (Fraction(99, 100) - factors[at][at - 1] ** 2) * dot(vectors[at - 1], vectors[at - 1])
        if dot(vectors[at], vectors[at]) >= bound:
            at += 1
        else:
            basis[at], basis[at - 1] = basis[at - 1], basis[at]
            vectors, factors = orthogonal(basis)
            at = max(at - 1, 1)
    return basis


class LatticeAttack:
    """Finds words with given hashes under a public base."""

    def __init__(self, base: int = GOLDEN) -> None:
        self._base = base
        first = [Fraction(MODULUS)] + [Fraction(0)] * (LETTERS - 1)
        rest = [
            [Fraction(-pow(base, place, MODULUS) % MODULUS)]
            + [Fraction(int(place == other)) for other in range(1, LETTERS)]
            for place in range(1, LETTERS)
        ]
        self._basis = reduced([first, *rest])
        self._vectors, _ = orthogonal(self._basis)
        steps = np.array(list(product(range(-3, 4), repeat=LETTERS)), object)
        self._shifts = (steps @ np.array([[int(value) for value in row] for row in self._basis], object)).astype(int)

    def twin(self, target: int) -> str:
        """A word with this hash; "" if none was found."""
        offset = (target - public_hash("\uac00" * LETTERS, self._base)) % MODULUS
        near = [Fraction(offset), *[Fraction(0)] * (LETTERS - 1)]
        wanted = [value - SYLLABLES // 2 for value in near]
        point = near
        for row, vector in zip(reversed(self._basis), reversed(self._vectors), strict=True):
            times = round(dot(wanted, vector) / dot(vector, vector))
            wanted = [a - times * b for a, b in zip(wanted, row, strict=True)]
            point = [a - times * b for a, b in zip(point, row, strict=True)]
        found = np.array([int(value) for value in point]) + self._shifts
        words = found[((found >= 0) & (found < SYLLABLES)).all(axis=1)]
        return "".join(chr(0xAC00 + int(value)) for value in words[0]) if len(words) else ""


@pytest.fixture(scope="module")
def nonsense() -> dict[str, str]:
    """For each word of the text a nonsense word that had its hash."""
    attack = LatticeAttack()
    words = [word.strip(".,").lower() for word in ENGLISH.split()]
    return {word: attack.twin(public_hash(word)) for word in dict.fromkeys(words)}


def test_the_lattice_finds_words_for_a_public_polynomial(nonsense: dict[str, str]) -> None:
    found = {word: twin for word, twin in nonsense.items() if twin}
    assert len(found) > 0.9 * len(nonsense)
    assert all(public_hash(twin) == public_hash(word) for word, twin in found.items())


DETECTORS: dict[str, Any] = {
    "minhash": ("minhash",),
    "simhash": ("simhash",),
    "shingling": ("shingling",),
    "random_projection": ("random_projection",),
    "combined": {"combined": {"all_of": ["shingling", "random_projection"]}},
}


@pytest.mark.parametrize("name", DETECTORS)
def test_nonsense_with_the_public_hashes_of_an_article_poisons_no_store(name: str, nonsense: dict[str, str]) -> None:
    words = [nonsense[word.strip(".,").lower()] or "xyz" for word in ENGLISH.split()]
    random = Random(name)
    for seed in [random.getrandbits(64) for _ in range(5)]:
        with Deduplicator(detectors=DETECTORS[name], seed=seed) as dedup:
            dedup.add(text=" ".join(words), url="http://evil.example/1")
            verdict = dedup.add(text=ENGLISH, url="http://honest.example/1")
        assert verdict.keep
        assert verdict.relation is None


def test_words_that_collide_under_one_seed_do_not_collide_under_others(nonsense: dict[str, str]) -> None:
    pairs = [(word, twin) for word, twin in nonsense.items() if twin]
    text = " ".join(f"{word} {twin}" for word, twin in pairs)
    for seed in range(20):
        hashes = tokens(pack(text), seed).hashes.reshape(-1, 2)
        assert not (hashes[:, 0] == hashes[:, 1]).any()


def thue_morse(length: int, zero: str = "a", one: str = "b") -> str:
    return "".join(one if place.bit_count() % 2 else zero for place in range(length))


def test_thue_morse_words_collide_for_every_odd_base() -> None:
    for base in (GOLDEN, 3, 12345678901234567):
        assert public_hash(thue_morse(1024), base) == public_hash(thue_morse(1024, "b", "a"), base)


@pytest.mark.parametrize("length", [2**size for size in range(1, 13)])
def test_thue_morse_words_do_not_collide_under_seeds(length: int) -> None:
    pair = f"{thue_morse(length)} {thue_morse(length, 'b', 'a')}"
    found = [tokens(pack(pair), seed).hashes.tolist() for seed in range(50)]
    assert all(one != other for one, other in found)


def test_thue_morse_words_of_the_longest_polynomial_keep_37_of_64_bits() -> None:
    for seed in range(50):
        base = int(_letter_keys(seed).rising[1])
        assert base % 8 == 5
        factors = [pow(base, 2**step, MODULUS) - 1 for step in range(6)]
        assert sum((factor & -factor).bit_length() - 1 for factor in factors) == 27
    assert MAX_LETTERS == 2**6


def test_thue_morse_orders_of_words_are_other_shingles() -> None:
    one, other = (thue_morse(64, *pair).replace("a", "ice ").replace("b", "sea ") for pair in (("a", "b"), ("b", "a")))
    for seed in range(20):
        with Deduplicator(detectors={"minhash": {"words": 64}}, seed=seed) as dedup:
            dedup.add(text=one, url="http://a.example/1")
            assert dedup.add(text=other, url="http://b.example/1").keep


@given(st.integers(0, 2**64 - 1), st.text("abé中ก𝔸0", min_size=1, max_size=80))
def test_hashes_are_the_definition(seed: int, text: str) -> None:
    packed, keys = pack(text), _letter_keys(seed)
    found, starts = located_tokens(packed, seed)
    base = int(keys.rising[1])
    for token, start in enumerate(starts.tolist()):
        stop = start + 1
        while not found.characters[token] and stop < len(packed) and packed[stop] >> ROLE_SHIFT == CharacterKind.WORD:
            stop += 1
        letters = packed[start:stop]
        expected = sum(int(keys.letters[letter]) * base**place for place, letter in enumerate(letters)) % MODULUS
        if len(letters) > MAX_LETTERS:
            expected = int.from_bytes(seeded_hash(letters.astype("<u4").tobytes(), 8, seed), "little")
        assert int(found.hashes[token]) == expected


def test_every_letter_has_its_own_number() -> None:
    letters = _letter_keys(0).letters
    used = letters[np.flatnonzero(letters)]
    assert len(np.unique(used)) == len(used) > 130_000
    assert abs(np.unpackbits(used.view(np.uint8)).mean() - 0.5) < 0.001
    assert not (used == _letter_keys(1).letters[np.flatnonzero(letters)]).any()
