"""SimHash: the signs of weighted sums over the Rabin fingerprints of shingles.

Rabin, *Fingerprinting by random polynomials*, 1981: a bit string is a polynomial over GF(2). Its fingerprint
is the remainder of the polynomial times x^64, modulo an irreducible polynomial of degree 64 that is drawn
from the seed. A shingle is the bit string of its tokens, 32 bits each (see :func:`symbols`). The remainder is
linear: it is the XOR of the remainders of the single tokens at their positions, which are precomputed in
tables.
"""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from dedupcrawl.detectors.base import Assessment, Detector, Evidence, Fingerprint, Match, Relation, Threshold
from dedupcrawl.text.features import weigh_bits
from dedupcrawl.text.normalize import CODE
from dedupcrawl.text.shingles import GOLDEN, MASK64, seeded_constants, split_mix

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dedupcrawl.text.features import Features
    from dedupcrawl.text.normalize import Indices
    from dedupcrawl.text.shingles import Hashes, TokenTable


T = TypeVar("T", bound=np.generic)

DEGREE = 64  #: of the polynomials
SYMBOL_BITS = 32  #: bits of a symbol
_TAG = 0x48
_MAX_SHINGLE = 16  #: tokens of a shingle; the tables of Rabin fingerprints grow with it
_MAX_WEIGHT = 1000
_LOW_BITS = 16
_LOW = np.uint64((1 << _LOW_BITS) - 1)
_UPPER_HALF = np.uint64(DEGREE - SYMBOL_BITS)
_OCTET = np.uint64(255)


@dataclass(frozen=True)
class SimHash(Detector):
    """The signs of weighted sums over the hashes of shingles.

    The fingerprint is by Charikar (STOC 2002), the search by Manku, Jain, Das Sarma (WWW 2007). The
    features are shingles, hashed by Rabin fingerprints. With ``weights`` = "terms" their weight follows
    patent CN101645082: the term frequencies of their tokens plus the weight of their field. With
    "occurrences" it is the weight of the field for every occurrence. Bit j of the fingerprint is 1 if the
    shingles whose hash has bit j outweigh the others. A field of weight 0 is not used.

    Two pages match if at most ``distance`` of the ``bits`` differ. The fingerprint is divided into
    ``blocks``, by default ``distance`` + 1. Every choice of ``blocks`` - ``distance`` of them is a key, so
    that every such pair shares a key: four blocks of 64 bits give four keys of 16 bits, five give ten of 25,
    six give twenty of 32.

    Sketch: tag 0x48, then the fingerprint, little-endian.
    """

    name: ClassVar[str] = "simhash"
    bits: int = 64  #: f: 64, 128 or 256
    distance: int = 3  #: d, highest number of differing bits, 0…``bits`` / 4
    blocks: int = 0  #: blocks of the fingerprint, above ``distance``; 0: distance + 1; at most 128 keys
    characters: int = 5  #: tokens of a shingle that starts at a character of a script without spaces, 1…16
    words: int = 3  #: tokens of a shingle that starts at a word, 1…16
    weights: str = "terms"  #: "terms" or "occurrences", see above
    title_weight: int = 0  #: weight of title and heading, 0…1000; the patent gives no values of weights
    keywords_weight: int = 0  #: weight of keywords and description, 0…1000
    text_weight: int = 1  #: weight of the main text, 1…1000
    anchors_weight: int = 1  #: weight of topic-anchor blocks (reader "topic"), 0…1000
    seed: int = 0  #: seed of all hashes, 0…2^64 - 1

    def __post_init__(self) -> None:
        self.check_integer("bits", 64, 256)
        if self.bits not in (64, 128, 256):
            raise self.setting_error("bits", "64, 128 or 256")
        self.check_integer("distance", 0, self.bits // 4)
        self.check_integer("blocks", 0, self.bits)
        if 0 < self.blocks <= self.distance or comb(self._blocks, self.distance) > MAX_KEYS:
            accepted = f"0, or more than distance, with at most {MAX_KEYS} choices of distance of them"
            raise self.setting_error("blocks", accepted)
        self.check_integer("characters", 1, _MAX_SHINGLE)
        self.check_integer("words", 1, _MAX_SHINGLE)
        if self.weights not in ("terms", "occurrences"):
            raise self.setting_error("weights", '"terms" or "occurrences"')
        for field in ("title_weight", "keywords_weight", "text_weight", "anchors_weight"):
            self.check_integer(field, int(field == "text_weight"), _MAX_WEIGHT)
        self.check_seed()

    def fingerprint(self, features: Features) -> Fingerprint | None:
        if not len(features.tokens(self.seed).hashes):
            return None
        weighting = ShingleHasher(self.characters, self.words, self.seed, self.bits // WORD_BITS)
        weigh = weighting.by_terms if self.weights == "terms" else weighting.by_occurrences
        shingles = weigh(self._fields(features))
        bits = b"".join(sign_bits(hashes, shingles.weights) for hashes in shingles.hashes)
        return Fingerprint(block_keys(bits, self._blocks, self.distance), bytes((_TAG,)) + bits)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        return match_by_bits(self._read(new), self._read(old), self.bits - self.distance)

    def assess(self, new: bytes, old: bytes) -> Assessment:
        first, second = self._read(new), self._read(old)
        distance = hamming_distance(first, second)
        threshold = Threshold("distance", self.distance, distance, at_least=False, measure="bits that differ")
        return assessment_by_bits(self, first, second, threshold, self.compare(new, old))

    def scheme(self) -> Mapping[str, object]:
        return {"version": 3, **asdict(self), "blocks": self._blocks}

    @property
    def _blocks(self) -> int:
        return self.blocks or self.distance + 1

    def _fields(self, features: Features) -> list[WeightedText]:
        page = features.page
        others = (
            (self.title_weight, page.title_field),
            (self.keywords_weight, f"{page.keywords}\n{page.description}"),
            (self.anchors_weight, page.anchors),
        )
        used = [(features.features_of(text).tokens(self.seed), weight) for weight, text in others if weight and text]
        main = WeightedText(features.tokens(self.seed), self.text_weight)
        return [main, *(WeightedText(tokens, weight) for tokens, weight in used if len(tokens.hashes))]

    def _read(self, sketch: bytes) -> bytes:
        return read_bits(self, sketch, _TAG, self.bits)


class WeightedText(NamedTuple):
    """A text of the page and its weight."""

    tokens: TokenTable  #: at least one token
    weight: int


class ShingleTable(NamedTuple):
    """Hashes of shingles and their weights."""

    hashes: Sequence[Hashes]  #: one array per 64 bits of a fingerprint
    weights: Counts | None  #: None: all weights are equal


@dataclass(frozen=True, slots=True)
class ShingleHasher:
    """How texts are divided into shingles, and how shingles are hashed and weighted."""

    characters: int  #: tokens of a shingle that starts at a character of a script without spaces
    words: int  #: tokens of a shingle that starts at a word
    seed: int  #: seed of the polynomials
    hashes: int  #: Rabin fingerprints of 64 bits per shingle

    def by_occurrences(self, fields: Sequence[WeightedText]) -> ShingleTable:
        """Weight every occurrence of a shingle by its field."""
        parts = [self._hashes(field.tokens) for field in fields]
        if len({field.weight for field in fields}) == 1:
            return ShingleTable(_joined_parts(parts), None)
        weights = [np.full(len(part[0]), field.weight) for field, part in zip(fields, parts, strict=True)]
        return ShingleTable(_joined_parts(parts), np.concatenate(weights))

    def by_terms(self, fields: Sequence[WeightedText]) -> ShingleTable:
        """Weight every shingle by the sum of the term frequencies of its tokens plus the weight of its field.

        The term frequency is the number of occurrences of a token in all fields together. The shingles of a
        field are a set, because term frequencies already include repetitions.
        """
        parts, weights = [], []
        for field, frequencies in zip(fields, _term_frequencies(fields), strict=True):
            hashes = self._hashes(field.tokens)
            _, first = np.unique(hashes[0], return_index=True)
            parts.append([part[first] for part in hashes])
            weights.append(self._sums(field.tokens, frequencies)[first] + field.weight)
        return ShingleTable(_joined_parts(parts), np.concatenate(weights))

    def _hashes(self, stream: TokenTable) -> list[Hashes]:
        of, runs, seed = symbols(stream), self._runs(stream), self.seed
        return [
            _concatenated([run.select(rabin_fingerprints(of, run.length, seed, number)) for run in runs])
            for number in range(self.hashes)
        ]

    def _sums(self, stream: TokenTable, frequencies: Counts) -> Counts:
        sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(frequencies)))
        runs = self._runs(stream)
        return _concatenated([run.select(sums[run.length :] - sums[: -run.length]) for run in runs])

    def _runs(self, stream: TokenTable) -> list[_ShingleGroup]:
        """Return where shingles start, with the same result as :func:`~dedupcrawl.text.shingles.shingles`."""
        at, count = stream.characters, len(stream.characters)
        found = int(np.count_nonzero(at))
        if found in (0, count):
            return [_ShingleGroup(min(count, self.characters if found else self.words), None)]
        both = ((self.characters, at), (self.words, ~at))
        runs = [_ShingleGroup(size, starts[: count - size + 1]) for size, starts in both if size <= count]
        return [run for run in runs if np.any(run.starts)] or [_ShingleGroup(count, None)]


class _ShingleGroup(NamedTuple):
    """Shingles of one length."""

    length: int  #: tokens
    starts: npt.NDArray[np.bool_] | None  #: whether a shingle starts at each token; None: at all

    def select(self, values: npt.NDArray[T]) -> npt.NDArray[T]:
        return values if self.starts is None else values[self.starts]


def _joined_parts(parts: Sequence[Sequence[Hashes]]) -> list[Hashes]:
    return [_concatenated(part) for part in zip(*parts, strict=True)]


def _concatenated(arrays: Sequence[npt.NDArray[T]]) -> npt.NDArray[T]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _term_frequencies(fields: Sequence[WeightedText]) -> list[Counts]:
    """Return for every field the number of occurrences of each of its tokens in all fields."""
    hashes = [field.tokens.hashes for field in fields]
    _, inverse, counts = np.unique(np.concatenate(hashes), return_inverse=True, return_counts=True)
    return np.split(counts[inverse], np.cumsum([len(part) for part in hashes])[:-1])


class SymbolKeys(NamedTuple):
    """Symbols, split for the table lookup."""

    low: Indices  #: the lower 16 bits of each symbol
    octets: tuple[Indices, Indices] | None  #: the upper two bytes of each symbol; None: all are 0


class _SymbolTable(NamedTuple):
    low: Hashes  #: remainder for each value of the lower 16 bits
    octets: tuple[Hashes, Hashes]  #: remainder for each value of the upper two bytes


def symbols(stream: TokenTable) -> SymbolKeys:
    """Return the symbol of each token.

    It is the code point of a character of a script without spaces, and half the keyed hash of a word. Symbols of
    the basic plane, which are the most frequent, need one table lookup only.
    """
    hashes, at, points = stream
    codes = points & CODE
    if np.count_nonzero(at) == len(at):
        if not len(codes) or codes.max() <= _LOW:
            return SymbolKeys(codes.astype(np.int64), None)
        values = codes.astype(np.uint64)
    else:
        values = np.where(at, codes, hashes >> _UPPER_HALF)
    third, fourth = (values >> np.uint64(_LOW_BITS)) & _OCTET, values >> np.uint64(_LOW_BITS + 8)
    return SymbolKeys((values & _LOW).view(np.int64), (third.view(np.int64), fourth.view(np.int64)))


def rabin_fingerprints(of: SymbolKeys, length: int, seed: int, number: int = 0) -> Hashes:
    """Return the fingerprint of every run of ``length`` symbols; ``number`` selects the polynomial."""
    count = len(of.low) - length + 1
    if count < 1:
        return np.zeros(0, np.uint64)
    result = _remainders(of, _table(seed, number, length - 1))[:count]
    for i in range(1, length):
        result ^= _remainders(of, _table(seed, number, length - 1 - i))[i : i + count]
    return result


def _remainders(of: SymbolKeys, table: _SymbolTable) -> Hashes:
    result: Hashes = table.low.take(of.low)
    if of.octets:
        result ^= table.octets[0].take(of.octets[0])
        result ^= table.octets[1].take(of.octets[1])
    return result


@functools.cache
def _table(seed: int, number: int, behind: int) -> _SymbolTable:
    """Tabulate symbol * x^(64 + 32 * behind), for a symbol with ``behind`` symbols after it."""
    modulus = irreducible_polynomial(seed, number)
    power = 1
    for _ in range(DEGREE + SYMBOL_BITS * behind):
        power = _times_x(power, modulus)
    powers = [power]
    for _ in range(SYMBOL_BITS - 1):
        powers.append(_times_x(powers[-1], modulus))
    return _SymbolTable(_xor_table(powers[:16]), (_xor_table(powers[16:24]), _xor_table(powers[24:])))


def _xor_table(values: Iterable[int]) -> Hashes:
    """Return for every number the XOR of the values at its one bits, the lowest bit first."""
    table = np.zeros(1, np.uint64)
    for value in values:
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
        if drawn.bit_count() % 2 and is_irreducible(drawn):  # with an even number of terms x + 1 divides it
            return drawn


def is_irreducible(polynomial: int) -> bool:
    """Return whether a polynomial is irreducible, by Rabin's test; its degree n is a power of two.

    P is irreducible if it divides x^(2^n) - x and has no common factor with x^(2^(n/2)) - x.
    """
    times = (polynomial.bit_length() - 1) // 2
    half = _square_repeatedly(2, times, polynomial)
    return polynomial_gcd(half ^ 2, polynomial) == 1 and _square_repeatedly(half, times, polynomial) == 2


def _square_repeatedly(value: int, times: int, modulus: int) -> int:
    for _ in range(times):
        # Squaring over GF(2) inserts a zero after every binary digit: the digits, read in base four.
        value = polynomial_remainder(int(f"{value:b}", 4), modulus)
    return value


def polynomial_gcd(left: int, right: int) -> int:
    """Return the greatest common divisor of two polynomials over GF(2)."""
    while right:
        left, right = right, polynomial_remainder(left, right)
    return left


def polynomial_remainder(value: int, modulus: int) -> int:
    """Return the remainder of a division of polynomials over GF(2)."""
    size = modulus.bit_length()
    while (surplus := value.bit_length() - size) >= 0:
        value ^= modulus << surplus
    return value


# -- bit fingerprints ---------------------------------------------------------------------------

# A fingerprint is bytes in little-endian order: bit j is bit j of the number. Random projection uses this order too.

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


def assessment_by_bits(
    detector: Detector, new: bytes, old: bytes, threshold: Threshold, match: Match | None
) -> Assessment:
    """Return the assessment on two fingerprints, given their ``match`` and the condition ``threshold``."""
    bits = 8 * len(new)
    differing = int.from_bytes(new, "little") ^ int.from_bytes(old, "little")
    found = bits - differing.bit_count()
    piece = Evidence.of_bits("bits", differing, bits)
    return Assessment(
        detector.name, match, found / bits, {"bits": f"{found} of {bits}"}, thresholds=(threshold,), evidence=(piece,)
    )


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
