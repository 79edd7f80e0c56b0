"""Rabin fingerprints, against division digit by digit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.detectors.simhash import (
    DEGREE,
    irreducible_polynomial,
    is_irreducible,
    polynomial_gcd,
    polynomial_remainder,
    rabin_fingerprints,
    symbols,
)
from dedupcrawl.text.normalize import ROLE_SHIFT, Role, pack
from dedupcrawl.text.shingles import Tokens, tokens
from tests.detectors.plain_charikar import modulo, rabin, times, word

SEEDS = (0, 1, 2**64 - 1)
polynomials = st.integers(1, 2**140)
words = st.tuples(st.integers(0, 2**64 - 1), st.just(False))
characters = st.tuples(st.one_of(st.integers(0x3040, 0x9FFF), st.integers(0x20000, 0x3FFFF)), st.just(True))


def stream(drawn: list[tuple[int, bool]]) -> Tokens:
    """Tokens as the text has them: the hashes of words, the code points of characters with their role."""
    role = int(Role.CHARACTER) << int(ROLE_SHIFT)
    hashes = [value | role if alone else value for value, alone in drawn]
    return Tokens(np.array(hashes, np.uint64), np.array([alone for _, alone in drawn], bool))


@pytest.mark.parametrize("degree", [2, 4, 8])
def test_small_polynomials_are_irreducible_when_none_divides_them(degree: int) -> None:
    for polynomial in range(1 << degree, 2 << degree):
        divisible = any(modulo(polynomial, divisor) == 0 for divisor in range(2, 2 << degree // 2))
        assert is_irreducible(polynomial) == (not divisible), bin(polynomial)


def test_how_many_of_degree_sixteen_are_irreducible() -> None:
    # (2^16 - 2^8) / 16, by Gauss's formula; the constant term of each is 1.
    assert sum(map(is_irreducible, range((1 << 16) + 1, 2 << 16, 2))) == 4080


def test_known_polynomials_of_degree_64() -> None:
    assert is_irreducible(1 << 64 | 0b11011)  # x^64 + x^4 + x^3 + x + 1, that of CMAC (NIST SP 800-38B)
    assert not is_irreducible(1 << 64 | 1)  # (x + 1)^64
    assert not is_irreducible(times(1 << 32 | 0b10001101, 1 << 32 | 0b10001101))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_drawn_is_irreducible_by_another_test(seed: int) -> None:
    # Ben-Or's: no factor in common with x^(2^i) - x for any i up to half the degree.
    for number in range(4):
        drawn = irreducible_polynomial(seed, number)
        assert drawn.bit_length() == DEGREE + 1
        power = 2
        for _ in range(DEGREE // 2):
            power = modulo(times(power, power), drawn)
            assert polynomial_gcd(power ^ 2, drawn) == 1


def test_every_seed_and_number_has_its_own_polynomial() -> None:
    assert len({irreducible_polynomial(seed, number) for seed in range(5) for number in range(4)}) == 20


@given(polynomials, polynomials)
def test_division(value: int, modulus: int) -> None:
    assert polynomial_remainder(value, modulus) == modulo(value, modulus)
    assert polynomial_remainder(times(value, modulus), modulus) == 0


@given(polynomials, polynomials)
def test_a_common_factor_divides_both(left: int, right: int) -> None:
    factor = polynomial_gcd(left, right)
    assert modulo(left, factor) == modulo(right, factor) == 0


@settings(deadline=None)
@given(
    st.lists(st.one_of(words, characters), max_size=12), st.integers(1, 6), st.sampled_from(SEEDS), st.integers(0, 1)
)
def test_every_run_has_its_remainder(drawn: list[tuple[int, bool]], length: int, seed: int, number: int) -> None:
    values = [value if alone else word(value) for value, alone in drawn]
    runs = [values[at : at + length] for at in range(len(values) - length + 1)]
    found = rabin_fingerprints(symbols(stream(drawn)), length, seed, number)
    assert found.tolist() == [rabin(run, irreducible_polynomial(seed, number)) for run in runs]


def test_a_fingerprint_is_linear() -> None:
    left, right = [0x1234, 0xFFFF, 0x20000], [0x0F0F, 0, 7]
    both = [a ^ b for a, b in zip(left, right, strict=True)]
    one, other, together = (
        int(rabin_fingerprints(symbols(stream([(value, True) for value in values])), 3, 0)[0])
        for values in (left, right, both)
    )
    assert one ^ other == together


def test_different_words_are_different_symbols() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    short = [*letters, *(a + b for a in letters for b in letters)]
    of_three = [word + letter for word in short[26:] for letter in letters]
    found = symbols(tokens(pack(" ".join(short + of_three))))
    assert found.octets is not None
    whole = found.low | found.octets[0] << 16 | found.octets[1] << 24
    assert len(np.unique(whole)) == len(whole) == 26 + 26**2 + 26**3
