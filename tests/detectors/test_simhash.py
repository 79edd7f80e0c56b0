"""Charikar's fingerprint of weighted shingles.

Rabin fingerprints, against division digit by digit.
"""

from __future__ import annotations

import random
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simhash import Simhash

from dedupcrawl.detectors.base import Match, Relation
from dedupcrawl.detectors.simhash import (
    DEGREE,
    ShingleHasher,
    SimHash,
    WeightedText,
    block_keys,
    hamming_distance,
    irreducible_polynomial,
    is_irreducible,
    match_by_bits,
    polynomial_gcd,
    polynomial_remainder,
    rabin_fingerprints,
    sign_bits,
    symbols,
)
from dedupcrawl.errors import SettingError
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.text.normalize import ROLE_SHIFT, CharacterKind, pack
from dedupcrawl.text.shingles import TokenTable, tokens
from tests import oracles
from tests.detectors import plain_charikar
from tests.detectors.plain_charikar import modulo, rabin, signs, times, word
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

SIMHASH = SimHash()
MIXED = f"{CHINESE} The 3rd issue of 《Harbour News》 cost ３.50 €. {ENGLISH}"
LONG = f"{ENGLISH} {OTHER_ENGLISH}"
ODD = ["one", "一", "two words", "一 word", "word 一", "一二三四", "a b 一 c", "buffalo " * 9, "ice. 冰。" * 3]
TEXTS = [ENGLISH, CHINESE, MIXED, *ODD]
PAGE = Page(
    url="",
    text=ENGLISH,
    title="The harbour froze over",
    keywords="ice, harbour",
    description="Ferries stood white at their piers",
    anchors="More on the ice of the harbour",
)
FIELDS = (PAGE.title, f"{PAGE.keywords}\n{PAGE.description}", PAGE.text, PAGE.anchors)
texts = st.lists(st.sampled_from([*"一二三四五的了是", "ice", "the", "a", "harbour"]), min_size=1, max_size=40)


def sketch(page: Page | str, detector: SimHash = SIMHASH) -> bytes:
    made = Page.from_text(page) if isinstance(page, str) else page
    found = detector.fingerprint(Features(made))
    assert found is not None
    return found.sketch


def compare(new: str, old: str, detector: SimHash = SIMHASH) -> Match | None:
    return detector.compare(sketch(new, detector), sketch(old, detector))


def test_a_worked_example() -> None:
    # Terms: ice 2, is 1, cold 1. Shingles of two: "ice is" 3, "is cold" 2, "cold ice" 3; and 1 for the text.
    weighted = plain_charikar.by_terms([("Ice is cold ice", 1)], 2, 2)
    assert sorted(weighted) == [(("cold", "ice"), 4), (("ice", "is"), 4), (("is", "cold"), 3)]
    # No weight outweighs the other two, so every bit is that of two of the three hashes.
    numbers, modulus = plain_charikar.symbols("ice is cold"), irreducible_polynomial(0)
    one, other, third = (plain_charikar.rabin((numbers[t] for t in shingle), modulus) for shingle, _ in weighted)
    majority = one & other | one & third | other & third
    assert sketch("Ice is cold ice", SimHash(words=2)) == b"\x48" + majority.to_bytes(8, "little")


@pytest.mark.parametrize("bits", [64, 128, 256])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_it_is_the_definition_for_term_weights(text: str, bits: int) -> None:
    moduli = [irreducible_polynomial(7, number) for number in range(bits // 64)]
    expected = plain_charikar.simhash(plain_charikar.by_terms([(text, 1)], 5, 3), text, moduli, 7)
    assert sketch(text, SimHash(bits=bits, seed=7))[1:] == expected


@settings(max_examples=40, deadline=None)
@given(texts, st.integers(1, 6), st.integers(1, 4), st.sampled_from([1, 5]))
def test_it_is_the_definition_for_any_text(tokens: list[str], characters: int, words: int, weight: int) -> None:
    text, moduli = " ".join(tokens), [irreducible_polynomial(0)]
    for name, weigh in (("terms", plain_charikar.by_terms), ("occurrences", plain_charikar.by_occurrences)):
        detector = SimHash(characters=characters, words=words, weights=name, text_weight=weight)
        expected = plain_charikar.simhash(weigh([(text, weight)], characters, words), text, moduli)
        assert sketch(text, detector)[1:] == expected, name


@pytest.mark.parametrize("name", ["terms", "occurrences"])
def test_fields_have_their_weights(name: str) -> None:
    chosen = (7, 3, 1, 2)
    detector = SimHash(
        weights=name, title_weight=7, keywords_weight=3, text_weight=1, anchors_weight=2, distance=0, blocks=1
    )
    weigh = plain_charikar.by_terms if name == "terms" else plain_charikar.by_occurrences
    weighted = weigh(zip(FIELDS, chosen, strict=True), 5, 3)
    expected = plain_charikar.simhash(weighted, " ".join(FIELDS), [irreducible_polynomial(0)])
    assert sketch(PAGE, detector)[1:] == expected
    assert sketch(PAGE, detector) != sketch(PAGE)


def test_a_field_of_weight_zero_is_not_read() -> None:
    no_anchors = SimHash(anchors_weight=0)
    assert sketch(PAGE, no_anchors) == sketch(ENGLISH)
    assert sketch(PAGE) == sketch(replace(PAGE, title="Another", keywords="other", description=""))
    heavy = SimHash(title_weight=1000)
    assert sketch(PAGE, heavy) != sketch(replace(PAGE, title="Another title of it"), heavy)


def test_fields_without_a_token_are_passed_over() -> None:
    every = SimHash(title_weight=3, keywords_weight=3)
    assert sketch(Page(url="", text=ENGLISH, title="…", keywords="  ", anchors="»"), every) == sketch(ENGLISH, every)
    assert every.fingerprint(Features(Page(url="", text="😀 !!! …", title="A title of words"))) is None


def features(text: str) -> Features:
    return Features(Page.from_text(text))


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_the_package_simhash_agrees_when_it_hashes_alike(text: str) -> None:
    weighing = ShingleHasher(5, 3, 0, 1)
    fields = [WeightedText(features(text).tokens(0), 1)]
    counted, by_terms = weighing.by_occurrences(fields), weighing.by_terms(fields)
    assert by_terms.weights is not None
    named = {str(number).encode(): number for number in counted.hashes[0].tolist()}

    def hashed(name: bytes) -> int:
        return int(named.get(name, 0))

    occurrences = Simhash([str(number) for number in counted.hashes[0].tolist()], hashfunc=hashed)
    pairs = zip(by_terms.hashes[0].tolist(), by_terms.weights.tolist(), strict=True)
    terms = Simhash({str(number): weight for number, weight in pairs}, hashfunc=hashed)
    for theirs, name in ((occurrences, "occurrences"), (terms, "terms")):
        assert sketch(text, SimHash(weights=name))[1:] == theirs.value.to_bytes(8, "little"), name


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_shingles_start_where_those_of_the_other_detectors_start(text: str) -> None:
    found = ShingleHasher(5, 3, 0, 1).by_occurrences([WeightedText(features(text).tokens(0), 1)])
    numbers, modulus = plain_charikar.symbols(text), irreducible_polynomial(0)
    expected = [plain_charikar.rabin((numbers[t] for t in shingle), modulus) for shingle in oracles.shingles(text)]
    assert found.hashes[0].tolist() == expected
    assert len(expected) == len(features(text).shingles(5, 3, 0))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (ENGLISH, ENGLISH),
        (ENGLISH.upper().replace(",", " –"), ENGLISH),
        (LONG.replace("borrowed drill", "borrowed dril"), LONG),
        (CHINESE, CHINESE),
        (CHINESE.replace("，", ", ").replace("。", ". "), CHINESE),
    ],
)
def test_copies_share_a_key_and_match(new: str, old: str) -> None:
    prints = [SIMHASH.fingerprint(features(text)) for text in (new, old)]
    assert prints[0] is not None
    assert prints[1] is not None
    assert not set(prints[0].keys).isdisjoint(prints[1].keys)
    match = compare(new, old)
    assert match is not None
    assert match.relation is Relation.NEAR_DUPLICATE
    assert match.similarity >= 61 / 64


@pytest.mark.parametrize(("new", "old"), [(ENGLISH, OTHER_ENGLISH), (CHINESE, OTHER_CHINESE), (CHINESE, ENGLISH)])
@pytest.mark.parametrize(
    "detector", [SIMHASH, SimHash(bits=128, distance=3, characters=1, words=1, weights="occurrences")]
)
def test_others_do_not_match(new: str, old: str, detector: SimHash) -> None:
    assert compare(new, old, detector) is None


def test_typos_in_a_short_text_cost_shingles_more_than_tokens() -> None:
    edited = ENGLISH
    for right, wrong in (("drill", "dril"), ("sledge", "slegde"), ("basin", "bassin")):
        edited = edited.replace(right, wrong)
    missed = [
        sum(compare(edited, ENGLISH, SimHash(seed=seed, characters=size, words=size)) is None for seed in range(60))
        for size in (1, 3)
    ]
    assert missed[0] <= 24
    assert missed[1] >= 36


def test_tokens_as_features_know_no_order() -> None:
    tokens = SimHash(characters=1, words=1)
    turned = " ".join(reversed(ENGLISH.split()))
    match = compare(turned, ENGLISH, tokens)
    assert match is not None
    assert match.similarity == 1
    assert compare(turned, ENGLISH) is None


def test_four_keys_and_nine_bytes_a_page() -> None:
    found = SIMHASH.fingerprint(features(ENGLISH))
    assert found is not None
    assert len(found.keys) == 4
    assert len(found.sketch) == 9
    assert found.probes is None


@pytest.mark.parametrize(("blocks", "keys"), [(4, 4), (5, 10), (6, 20), (7, 35)])
def test_more_blocks_are_more_keys(blocks: int, keys: int) -> None:
    found = SimHash(blocks=blocks).fingerprint(features(ENGLISH))
    assert found is not None
    assert len(found.keys) == keys


@pytest.mark.parametrize(
    ("constants", "constant", "accepted"),
    [
        ({"bits": 96}, "bits", "64, 128 or 256"),
        ({"bits": 64.0}, "bits", "a whole number"),
        ({"distance": -1}, "distance", "from 0 to 16"),
        ({"blocks": 65}, "blocks", "from 0 to 64"),
        ({"blocks": 3}, "blocks", "0, or more than distance"),
        ({"blocks": 12}, "blocks", "at most 128 choices of distance of them"),
        ({"characters": 0}, "characters", "from 1 to 16"),
        ({"words": 17}, "words", "from 1 to 16"),
        ({"weights": "idf"}, "weights", '"terms" or "occurrences"'),
        ({"title_weight": -1}, "title_weight", "from 0 to 1000"),
        ({"keywords_weight": 2.5}, "keywords_weight", "a whole number"),
        ({"text_weight": 0}, "text_weight", "from 1 to 1000"),
        ({"anchors_weight": 1001}, "anchors_weight", "from 0 to 1000"),
        ({"seed": -1}, "seed", "from 0"),
    ],
)
def test_constants_that_make_no_sense_are_named(constants: dict[str, object], constant: str, accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        SimHash(**constants)  # type: ignore[arg-type]
    assert caught.value.name == f"detectors['simhash'].{constant}"


def test_another_distance_brings_its_blocks_along() -> None:
    found = SimHash(distance=6).fingerprint(features(ENGLISH))
    assert found is not None
    assert len(found.keys) == 7
    assert SimHash(blocks=4).scheme() == SIMHASH.scheme()
    assert SimHash(distance=6).scheme()["blocks"] == 7


def test_every_constant_shapes_what_is_stored() -> None:
    others = [
        SimHash(bits=128),
        SimHash(distance=2),
        SimHash(blocks=5),
        SimHash(characters=4),
        SimHash(words=2),
        SimHash(weights="occurrences"),
        SimHash(title_weight=1),
        SimHash(keywords_weight=1),
        SimHash(text_weight=2),
        SimHash(anchors_weight=2),
        SimHash(seed=1),
    ]
    schemes = [str(detector.scheme()) for detector in (SIMHASH, *others)]
    assert len(set(schemes)) == len(schemes)


SEEDS = (0, 1, 2**64 - 1)
polynomials = st.integers(1, 2**140)
words = st.tuples(st.integers(0, 2**64 - 1), st.just(False))
characters = st.tuples(st.one_of(st.integers(0x3040, 0x9FFF), st.integers(0x20000, 0x3FFFF)), st.just(True))


def stream(drawn: list[tuple[int, bool]]) -> TokenTable:
    """Tokens as the text has them: the hashes of words, and the packed points of characters."""
    role = int(CharacterKind.CHARACTER) << int(ROLE_SHIFT)
    points = [value | role if alone else 0 for value, alone in drawn]
    hashes = [0 if alone else value for value, alone in drawn]
    alone = np.array([alone for _, alone in drawn], bool)
    return TokenTable(np.array(hashes, np.uint64), alone, np.array(points, np.uint32))


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
    found = symbols(tokens(pack(" ".join(short + of_three)), 0))
    assert found.octets is not None
    whole = found.low | found.octets[0] << 16 | found.octets[1] << 24
    assert len(np.unique(whole)) == len(whole) == 26 + 26**2 + 26**3


def test_the_title_field_is_title_and_first_heading_once() -> None:
    title, heading = "Ice in the bay", "Ships wait for the thaw"
    assert Page("", "", title=title, heading=heading).title_field == f"{title}\n{heading}"
    assert Page("", "", title=f"{heading} | The Gazette", heading="Ships  wait for the THAW").title_field == (
        f"{heading} | The Gazette"
    )
    assert Page("", "", title=title).title_field == title
    assert Page("", "", heading=heading).title_field == heading


def test_the_heading_has_the_weight_of_the_title() -> None:
    plain = Page.from_text(ENGLISH, title="Ice in the bay")
    headed = replace(plain, heading="Ships wait for the thaw in spring")
    repeated = replace(plain, heading="Ice in the bay")
    weighted, unweighted = SimHash(title_weight=50), SimHash()
    sketches = {name: weighted.fingerprint(Features(page)) for name, page in (("plain", plain), ("headed", headed))}
    assert sketches["plain"] != sketches["headed"]
    assert weighted.fingerprint(Features(repeated)) == sketches["plain"]
    assert unweighted.fingerprint(Features(headed)) == unweighted.fingerprint(Features(plain))


# -- bit fingerprints ---------------------------------------------------------------------------

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
