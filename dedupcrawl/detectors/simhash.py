"""Rabin fingerprints of runs of tokens (Rabin, *Fingerprinting by random polynomials*, 1981).

A string of bits is a polynomial over GF(2); its fingerprint is the remainder of that polynomial times
x^64 modulo an irreducible polynomial of degree 64, which is drawn from the seed. A shingle is the string of
its tokens, 32 bits each (see :func:`symbols`). The remainder is linear, so it is the sum (XOR)
of what each token is worth at its place, and that is looked up in tables.

The weighted shingles of a page's fields (patent CN101645082).

Near-duplicates by the signs of weighted sums over the hashes of their shingles.
"""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

import numpy as np

from dedupcrawl.detectors.base import (
    Bar,
    Detector,
    Fingerprint,
    Match,
    check_integer,
    check_seed,
    setting_error,
)
from dedupcrawl.detectors.bits import (
    MAX_KEYS,
    WORD_BITS,
    block_keys,
    hamming_distance,
    key_count,
    match_by_bits,
    opinion_by_bits,
    read_bits,
    sign_bits,
)
from dedupcrawl.text.hashing import GOLDEN, MASK64, seeded_constants, split_mix
from dedupcrawl.text.normalize import ROLE_SHIFT, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.detectors.bits import Counts
    from dedupcrawl.text.features import Features
    from dedupcrawl.text.hashing import Hashes
    from dedupcrawl.text.normalize import Indices
    from dedupcrawl.text.shingles import Tokens


DEGREE = 64
SYMBOL_BITS = 32  #: bits of a symbol
_LOW_BITS = 16
_LOW = np.uint64((1 << _LOW_BITS) - 1)
_ROLE = np.uint64(int(Role.CHARACTER) << int(ROLE_SHIFT))
_UPPER_HALF = np.uint64(DEGREE - SYMBOL_BITS)
_SPREAD = np.uint64(GOLDEN)
_OCTET = np.uint64(255)


class Symbols(NamedTuple):
    """Symbols, cut for the tables."""

    low: Indices  #: the lower 16 bits of each
    octets: tuple[Indices, Indices] | None  #: the upper two bytes; None: all are 0


class _SymbolTable(NamedTuple):
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


def rabin_fingerprints(of: Symbols, length: int, seed: int, number: int = 0) -> Hashes:
    """Return the fingerprint of every run of ``length`` symbols, none if there are fewer.

    ``number`` chooses one of several independent polynomials.
    """
    count = len(of.low) - length + 1
    if count < 1:
        return np.zeros(0, np.uint64)
    result = _remainders(of, _table(seed, number, length - 1))[:count]
    for place in range(1, length):
        result ^= _remainders(of, _table(seed, number, length - 1 - place))[place : place + count]
    return result


def _remainders(of: Symbols, table: _SymbolTable) -> Hashes:
    worth: Hashes = table.low.take(of.low)
    if of.octets:
        worth ^= table.octets[0].take(of.octets[0])
        worth ^= table.octets[1].take(of.octets[1])
    return worth


@functools.cache
def _table(seed: int, number: int, behind: int) -> _SymbolTable:
    """Tabulate symbol * x^(64 + 32 * behind): what a symbol is worth that has so many behind it."""
    modulus = irreducible_polynomial(seed, number)
    unit = functools.reduce(
        lambda value, _: _times_x(value, modulus), range(DEGREE + SYMBOL_BITS * behind), 1
    )
    worth = [unit]
    for _ in range(SYMBOL_BITS - 1):
        worth.append(_times_x(worth[-1], modulus))
    return _SymbolTable(_xor_table(worth[:16]), (_xor_table(worth[16:24]), _xor_table(worth[24:])))


def _xor_table(worth: Iterable[int]) -> Hashes:
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
def irreducible_polynomial(seed: int, number: int = 0) -> int:
    """Draw an irreducible polynomial of degree 64; bit j of the number is the coefficient of x^j."""
    state = int(seeded_constants(seed, f"rabin {number}", 1)[0])
    while True:
        state = (state + GOLDEN) & MASK64
        drawn = 1 << DEGREE | split_mix(state) | 1
        if drawn.bit_count() % 2 and is_irreducible(drawn):  # an even number of terms: x + 1 divides it
            return drawn


def is_irreducible(polynomial: int) -> bool:
    """Tell by Rabin's test, for a degree n that is a power of two.

    P is irreducible when it divides x^(2^n) - x, and has no factor in common with x^(2^(n/2)) - x.
    """
    degree = polynomial.bit_length() - 1
    half = _square_repeatedly(2, degree // 2, polynomial)
    return (
        polynomial_gcd(half ^ 2, polynomial) == 1 and _square_repeatedly(half, degree // 2, polynomial) == 2
    )


def _square_repeatedly(value: int, times: int, modulus: int) -> int:
    for _ in range(times):
        # Squaring over GF(2) puts a zero behind every digit: the binary digits, read to the base of four.
        value = polynomial_remainder(int(f"{value:b}", 4), modulus)
    return value


def polynomial_gcd(left: int, right: int) -> int:
    """Return the greatest common divisor of two polynomials over GF(2)."""
    while right:
        left, right = right, polynomial_remainder(left, right)
    return left


def polynomial_remainder(value: int, modulus: int) -> int:
    """Divide polynomials over GF(2); return the remainder."""
    size = modulus.bit_length()
    while (surplus := value.bit_length() - size) >= 0:
        value ^= modulus << surplus
    return value


T = TypeVar("T", bound=np.generic)


class WeightedField(NamedTuple):
    """A text of the page, and what it weighs."""

    tokens: Tokens  #: at least one
    weight: int


class WeightedShingles(NamedTuple):
    """Features and their weights."""

    hashes: Sequence[Hashes]  #: one array for every 64 bits of a fingerprint
    weights: Counts | None  #: None: all weigh the same


class _ShingleRun(NamedTuple):
    """Shingles of one length."""

    length: int  #: tokens
    taken: npt.NDArray[np.bool_] | None  #: at which tokens one starts; None: wherever there is room


@dataclass(frozen=True, slots=True)
class ShingleWeighting:
    """How texts are cut into shingles, and how shingles are hashed: each by several Rabin fingerprints."""

    characters: int  #: length of a shingle that starts at a character of a script without spaces
    words: int  #: length of one that starts at a word
    seed: int
    hashes: int  #: how many fingerprints of 64 bits

    def by_occurrences(self, fields: Sequence[WeightedField]) -> WeightedShingles:
        """Weigh every occurrence of a shingle by its field."""
        parts = [self._hashes(field.tokens) for field in fields]
        if len({field.weight for field in fields}) == 1:
            return WeightedShingles(_joined_parts(parts), None)
        weights = [np.full(len(part[0]), field.weight) for field, part in zip(fields, parts, strict=True)]
        return WeightedShingles(_joined_parts(parts), np.concatenate(weights))

    def by_terms(self, fields: Sequence[WeightedField]) -> WeightedShingles:
        """Weigh every shingle by the sum of the term frequencies of its tokens, and by its field.

        The term frequency is how often a token stands in all fields together. The shingles of a field
        are a set: that one stands twice is said by the frequencies of its terms.
        """
        frequencies = _term_frequencies([field.tokens.hashes for field in fields])
        parts, weights = [], []
        for field, of_tokens in zip(fields, frequencies, strict=True):
            hashes = self._hashes(field.tokens)
            _, first = np.unique(hashes[0], return_index=True)
            parts.append([part[first] for part in hashes])
            weights.append(self._sums(field.tokens, of_tokens)[first] + field.weight)
        return WeightedShingles(_joined_parts(parts), np.concatenate(weights))

    def _hashes(self, stream: Tokens) -> list[Hashes]:
        cut, runs = symbols(stream), self._runs(stream)
        return [
            _concatenated(
                [_selected(rabin_fingerprints(cut, run.length, self.seed, number), run) for run in runs]
            )
            for number in range(self.hashes)
        ]

    def _sums(self, stream: Tokens, of_tokens: Counts) -> Counts:
        sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(of_tokens)))
        return _concatenated(
            [_selected(sums[run.length :] - sums[: -run.length], run) for run in self._runs(stream)]
        )

    def _runs(self, stream: Tokens) -> list[_ShingleRun]:
        """Say where shingles stand, as :func:`~dedupcrawl.text.shingles.shingles` does."""
        at, count = stream.characters, len(stream.characters)
        found = int(np.count_nonzero(at))
        if found in (0, count):
            return [_ShingleRun(min(count, self.characters if found else self.words), None)]
        both = ((self.characters, at), (self.words, ~at))
        runs = [
            _ShingleRun(length, starts[: count - length + 1]) for length, starts in both if length <= count
        ]
        return [run for run in runs if np.any(run.taken)] or [_ShingleRun(count, None)]


def _selected(values: npt.NDArray[T], run: _ShingleRun) -> npt.NDArray[T]:
    return values if run.taken is None else values[run.taken]


def _joined_parts(parts: Sequence[Sequence[Hashes]]) -> list[Hashes]:
    return [_concatenated(part) for part in zip(*parts, strict=True)]


def _concatenated(arrays: Sequence[npt.NDArray[T]]) -> npt.NDArray[T]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _term_frequencies(tokens: Sequence[Hashes]) -> Iterator[Counts]:
    """Yield for every field how often each of its tokens stands in all fields."""
    _, places, counts = np.unique(np.concatenate(tokens), return_inverse=True, return_counts=True)
    ends = np.cumsum([len(of_field) for of_field in tokens])
    yield from np.split(counts[places], ends[:-1])


_TAG = 0x48
_MAX_SHINGLE = 16  #: tokens of a shingle: the tables of a Rabin fingerprint grow with it
_MAX_WEIGHT = 1000


@dataclass(frozen=True)
class SimHash(Detector):
    """Charikar's fingerprint (STOC 2002) of weighted shingles, found as by Manku, Jain, Das Sarma (WWW 2007).

    The features are shingles, hashed by Rabin fingerprints; with ``weights`` = "terms" they weigh what patent
    CN101645082 gives them, the term frequencies of their tokens plus the weight of their field, with
    "occurrences" the weight of the field for every time they occur. Bit j of the fingerprint is 1 where
    those whose hash has bit j outweigh the others. A field of weight 0 is not read.

    Two pages match when at most ``distance`` of the ``bits`` differ. The fingerprint is cut into
    ``blocks``, by default one more than ``distance``; every choice of ``blocks`` - ``distance`` of them is
    a key, so that no such pair is lost: four blocks of 64 bits make four keys of 16 bits, five make
    ten of 25, six make twenty of 32.

    Sketch: tag 0x48, then the fingerprint, little-endian.
    """

    name: ClassVar[str] = "simhash"
    bits: int = 64  #: f
    distance: int = 3  #: d
    blocks: int = 0  #: 0: distance + 1
    characters: int = 5  #: length of a shingle that starts at a character of a script without spaces
    words: int = 3  #: length of one that starts at a word
    weights: str = "terms"
    title_weight: int = 0
    keywords_weight: int = 0  #: of keywords and description
    text_weight: int = 1
    anchors_weight: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer(self, "bits", 64, 256)
        if self.bits not in (64, 128, 256):
            raise setting_error(self, "bits", "64, 128 or 256")
        check_integer(self, "distance", 0, self.bits // 4)
        check_integer(self, "blocks", 0, self.bits)
        if 0 < self.blocks <= self.distance or key_count(self._blocks, self.distance) > MAX_KEYS:
            accepted = f"0, or more than distance, with at most {MAX_KEYS} choices of distance of them"
            raise setting_error(self, "blocks", accepted)
        check_integer(self, "characters", 1, _MAX_SHINGLE)
        check_integer(self, "words", 1, _MAX_SHINGLE)
        if self.weights not in ("terms", "occurrences"):
            raise setting_error(self, "weights", '"terms" or "occurrences"')
        check_integer(self, "title_weight", 0, _MAX_WEIGHT)
        check_integer(self, "keywords_weight", 0, _MAX_WEIGHT)
        check_integer(self, "text_weight", 1, _MAX_WEIGHT)
        check_integer(self, "anchors_weight", 0, _MAX_WEIGHT)
        check_seed(self)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under the choices of its blocks; None when its text has no letter or digit."""
        if not len(features.tokens.hashes):
            return None
        how = ShingleWeighting(self.characters, self.words, self.seed, self.bits // WORD_BITS)
        fields = self._fields(features)
        found = how.by_terms(fields) if self.weights == "terms" else how.by_occurrences(fields)
        bits = b"".join(sign_bits(hashes, found.weights) for hashes in found.hashes)
        return Fingerprint(block_keys(bits, self._blocks, self.distance), bytes((_TAG,)) + bits)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Match fingerprints within the distance."""
        return match_by_bits(self._read(new), self._read(old), self.bits - self.distance)

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Show the bits that agree, and the Hamming distance."""
        mine, other = self._read(new), self._read(old)
        apart = hamming_distance(mine, other)
        bar = Bar("distance", self.distance, apart, at_least=False, measure="bits that differ")
        return opinion_by_bits(self, mine, other, bar, self.compare(new, old))

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes fingerprints and keys."""
        return {"version": 1, **asdict(self), "blocks": self._blocks}

    @property
    def _blocks(self) -> int:
        return self.blocks or self.distance + 1

    def _fields(self, features: Features) -> list[WeightedField]:
        page = features.page
        others = (
            (self.title_weight, page.title),
            (self.keywords_weight, f"{page.keywords}\n{page.description}"),
            (self.anchors_weight, page.anchors),
        )
        read = [(features.part(text).tokens, weight) for weight, text in others if weight and text]
        main = WeightedField(features.tokens, self.text_weight)
        return [main, *(WeightedField(tokens, weight) for tokens, weight in read if len(tokens.hashes))]

    def _read(self, sketch: bytes) -> bytes:
        return read_bits(self, sketch, _TAG, self.bits)
