"""The token stream of a text, the keyed hashes of its tokens and shingles, and 64-bit hash arithmetic in numpy.

A token is one character of a script without spaces (Han, kana, Thai…), or a maximal run of letters and digits
of any other script. Punctuation, symbols and white space only separate tokens, so that a change of width or
punctuation changes no shingle; but a sign of arithmetic between two numbers is a token. Tokens never become Python
strings. Shingles follow Broder (*On the resemblance and containment of documents*, 1997). Their length depends on the
token at their start, so that mixed text works.

All products of hashes wrap around at 2^64. All randomness of the package is derived from one seed here, which
must be the same in all workers.

**Hashes of tokens.** Nobody without the seed may find two tokens with equal hashes: pages of such tokens
would be equal for every detector. The seed must therefore act before letters are combined. A polynomial with
a public base fails: its collisions are the short vectors of a lattice, which LLL finds (Lenstra, Lenstra,
Lovász, 1982). A secret base P alone fails too: the difference of two words is a polynomial in P that they
determine, and (P - 1)^7 is 0 modulo 2^64 for one odd P in 512. So two secrets are combined:

* Every code point c has a random number g(c), from SHAKE128 (FIPS 202) over the seed. Sums of them are
  linear in unknown numbers, like multilinear hashing (Carter, Wegman 1979; Dietzfelbinger 1996).
* The hash of a word is the sum of g(c) * P^i over its letters, with a secret P.

Two different words collide only if for each letter c its places in both words give the same sum of P^i;
otherwise an independent random g(c) remains. Modulo 2^64 there are such words for every odd base, if they are
long: the Thue-Morse word and its complement, from 1,024 letters (Pachocki, Radoszewski: *Where to use and how
not to use polynomial string hashing*, 2013). The difference of these words with 2^m letters is the product
of P^(2^i) - 1 for i < m. P and the base of shingles are 5 modulo 8, so that a factor has exactly i + 2 twos,
and 64 letters have 27 of the 64 twos that a collision needs: it has a probability of 2^-37. Longer words are
hashed by BLAKE2b with the seed as its key. Shingles have at most 64 tokens, and the same bound.
"""

from __future__ import annotations

import functools
from hashlib import blake2b, shake_128
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dedupcrawl.text.normalize import OPERATORS, ROLE, ROLE_SHIFT, CharacterKind, roles

if TYPE_CHECKING:
    from dedupcrawl.text.normalize import Flags, Indices, Points


Hashes = npt.NDArray[np.uint64]

MASK64 = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15  #: 2^64 / golden ratio, odd; the increment of SplitMix64
_M1 = np.uint64(0xFF51AFD7ED558CCD)  #: the two multipliers of MurmurHash3
_M2 = np.uint64(0xC4CEB9FE1A85EC53)
_S33 = np.uint64(33)
_S32 = np.uint64(32)
_S29 = np.uint64(29)

MAX_SHINGLE = 64  #: highest number of tokens of a shingle
MAX_LETTERS = 64  #: highest number of letters of a word that is hashed by a polynomial
_POWERS = 1 << 15  #: tabulated powers of P
_CHUNK = _POWERS  #: code points hashed at a time, at most ``_POWERS``; they stay in the processor cache
CACHED_SEEDS = 4  #: seeds whose tables are kept, 2.5 MB each
_SEPARATOR = np.uint8(CharacterKind.SEPARATOR)
_WORD = np.uint8(CharacterKind.WORD)
_CHARACTER = np.uint8(CharacterKind.CHARACTER)


class TokenTable(NamedTuple):
    """The token stream of a text, as two arrays of the same length."""

    hashes: Hashes  #: keyed with the seed; equal for equal tokens; not mixed
    characters: Flags  #: whether a token is a character of a script without spaces
    points: Points  #: the first packed point of each token


def tokens(packed: Points, seed: int) -> TokenTable:
    """Return the hashed tokens of packed points (see :func:`~dedupcrawl.text.normalize.pack`)."""
    return located_tokens(packed, seed)[0]


def located_tokens(packed: Points, seed: int) -> tuple[TokenTable, Indices]:
    """Return the tokens, and for each token the index of its first code point."""
    found = (packed >> ROLE_SHIFT).astype(np.uint8)
    word = found == _WORD
    keys = _letter_keys(seed)
    if not word.any():
        starts = np.flatnonzero(found != _SEPARATOR)
        points = packed.take(starts)
        return TokenTable(keys.letters.take(points), np.ones(len(starts), bool), points), starts
    starts = _starts(found, word)
    ends = np.append(starts[1:], len(packed))
    hashes = _hash_tokens(packed, starts, ends, keys)
    if (ends - starts).max() > MAX_LETTERS:
        _hash_long_words(hashes, packed, starts, seed)
    return TokenTable(hashes, found[starts] == _CHARACTER, packed.take(starts)), starts


def token_spans(packed: Points) -> tuple[Indices, Indices]:
    """Return for each token the index of its first code point, and the index after its last one."""
    roles = (packed >> ROLE_SHIFT).astype(np.uint8)
    starts = _starts(roles, roles == _WORD)
    bounds = roles == _SEPARATOR
    bounds[starts] = True
    stops = np.append(np.flatnonzero(bounds), len(packed))
    return starts, stops[np.searchsorted(stops, starts, "right")]


def _starts(roles: npt.NDArray[np.uint8], word: Flags) -> Indices:
    begins = word.copy()
    begins[1:] &= ~word[:-1]
    begins |= roles == _CHARACTER
    return np.flatnonzero(begins)


class _LetterKeys(NamedTuple):
    """The secrets of token hashes."""

    letters: Hashes  #: the random number of each packed point, 0 for separators
    rising: Hashes  #: powers of the base P
    falling: Hashes  #: powers of its inverse


@functools.lru_cache(CACHED_SEEDS)
def _letter_keys(seed: int) -> _LetterKeys:
    points = np.flatnonzero(roles())
    points |= roles()[points].astype(np.int64) << int(ROLE_SHIFT)
    # At the end, so that the numbers of the letters do not depend on them.
    points = np.append(points, [ord(sign) | CharacterKind.CHARACTER << int(ROLE_SHIFT) for sign in OPERATORS])
    drawn = shake_128(b"dedupcrawl letters" + seed.to_bytes(8, "little")).digest(8 * len(points))
    # The system provides memory only for the parts that are written: 2 of 50 MB.
    letters = np.zeros(int(ROLE), np.uint64)
    letters[points] = np.frombuffer(drawn, "<u8")
    letters.flags.writeable = False
    base = _secret_base(seed, "letter")
    return _LetterKeys(letters, _powers(base, _POWERS), _powers(pow(base, -1, 1 << 64), _POWERS))


def _secret_base(seed: int, purpose: str) -> int:
    """Return a random base of polynomials, 5 modulo 8."""
    return int(seeded_constants(seed, purpose, 1)[0]) & ~7 | 5


def _hash_tokens(packed: Points, starts: Indices, ends: Indices, keys: _LetterKeys) -> Hashes:
    """Polynomial hash of every run from one start to the next: the sum of g(code) * P^(position in the run).

    The hash of a run of more than ``_POWERS`` points is that of its beginning; :func:`_hash_long_words` replaces it.
    """
    hashes = np.empty(len(starts), np.uint64)
    low = 0
    while low < len(starts):
        first = int(starts[low])
        high = max(low + 1, int(ends.searchsorted(first + _CHUNK, "right")))
        indices = starts[low:high] - first
        terms = keys.letters.take(packed[first : min(int(ends[high - 1]), first + _POWERS)])
        terms *= keys.rising[: len(terms)]
        np.add.reduceat(terms, indices, out=hashes[low:high])
        # One product with P^i for all runs. Multiplied by P^-start the sums do not depend on the position.
        hashes[low:high] *= keys.falling.take(indices)
        low = high
    return hashes


def _hash_long_words(hashes: Hashes, packed: Points, starts: Indices, seed: int) -> None:
    """Replace the hashes of the words with more than ``MAX_LETTERS`` letters."""
    letters = np.add.reduceat(packed & ROLE != 0, starts, dtype=np.int64)
    for token in np.flatnonzero(letters > MAX_LETTERS).tolist():
        word = packed[starts[token] : starts[token] + letters[token]].astype("<u4").tobytes()
        hashes[token] = hash_long_word(word, seed)


def hash_long_word(word: bytes, seed: int) -> int:
    """Hash a word of more than ``MAX_LETTERS`` letters: its packed points, 4 bytes each, little-endian."""
    return int.from_bytes(seeded_hash(word, 8, seed), "little")


class KernelKeys(NamedTuple):
    """The secrets of token and shingle hashes, for the compiled kernel."""

    letters: Hashes  #: the random number of each packed point, 0 for separators
    rising: Hashes  #: the first ``MAX_LETTERS`` powers of the base of words
    shingle_base: int


def kernel_keys(seed: int) -> KernelKeys:
    """Return the keys that belong to a seed."""
    keys = _letter_keys(seed)
    return KernelKeys(keys.letters, keys.rising[:MAX_LETTERS], _secret_base(seed, "shingle"))


def shingles(stream: TokenTable, characters: int, words: int, seed: int) -> Hashes:
    """Hash all shingles of a text.

    The token at the start of a shingle determines its length, 1 to ``MAX_SHINGLE``: ``characters`` tokens
    from a character of a script without spaces, ``words`` tokens from a word. A text that is too short for
    any shingle is one shingle. Returns well-mixed hashes with repetitions.
    """
    hashes, is_character, _ = stream
    if not len(hashes):
        return hashes
    found = int(np.count_nonzero(is_character))
    if found in (0, len(hashes)):
        result = hash_runs(hashes, characters if found else words, seed)
    else:
        by_character, by_word = (hash_runs(hashes, length, seed) for length in (characters, words))
        from_characters = by_character[is_character[: len(by_character)]]
        result = np.concatenate((from_characters, by_word[~is_character[: len(by_word)]]))
    return result if len(result) else hash_runs(hashes, len(hashes), seed)


def hash_runs(hashes: Hashes, length: int, seed: int) -> Hashes:
    """Hash every run of ``length`` tokens: the mixed polynomial h[0]*p^(length-1) + … + h[length-1]."""
    run = run_polynomials(hashes, length, seed)
    return mix(run.copy() if length == 1 else run)


def run_polynomials(hashes: Hashes, length: int, seed: int) -> Hashes:
    """Return these polynomials without mixing, computed by doubling; for ``length`` 1 ``hashes`` itself."""
    if len(hashes) < length:
        return np.zeros(0, np.uint64)
    power = _shingle_powers(seed)
    run, done = hashes, 1
    for bit in bin(length)[3:]:
        run, done = _join_runs(run, run[done:], power[done]), 2 * done
        if bit == "1":
            run, done = _join_runs(run, hashes[done:], power[1]), done + 1
    return run


def _join_runs(left: Hashes, right: Hashes, power: np.uint64) -> Hashes:
    joined = left[: len(right)] * power
    joined += right
    return joined


class ShingleBatch(NamedTuple):
    """Hashes of the shingles of several texts."""

    hashes: Hashes
    texts: Indices  #: index of the text of each shingle
    counts: Indices  #: number of shingles of each text, with repetitions


def shingles_of_many(stream: TokenTable, bounds: Indices, characters: int, words: int, seed: int) -> ShingleBatch:
    """Hash the shingles of several texts, like :func:`shingles`.

    ``bounds`` has the index of the first token of each text, and at the end the number of tokens.
    """
    parts = [
        _shingles_starting_at(stream.hashes, starts, bounds, length, seed)
        for starts, length in ((stream.characters, characters), (~stream.characters, words))
        if starts.any()
    ]
    counts = sum((part.counts for part in parts), np.zeros(len(bounds) - 1, np.int64))
    for text in np.flatnonzero((counts == 0) & (np.diff(bounds) > 0)).tolist():
        whole = stream.hashes[bounds[text] : bounds[text + 1]]
        parts.append(ShingleBatch(hash_runs(whole, len(whole), seed), np.array([text]), counts))
        counts[text] = 1
    hashes = np.concatenate([np.zeros(0, np.uint64), *(part.hashes for part in parts)])
    texts = np.concatenate([np.zeros(0, np.int64), *(part.texts for part in parts)])
    return ShingleBatch(hashes, texts, counts)


def _shingles_starting_at(hashes: Hashes, starts: Flags, bounds: Indices, length: int, seed: int) -> ShingleBatch:
    """Hash every run of ``length`` tokens within one text that starts at a token selected by ``starts``."""
    fits = starts.copy()
    if length > 1:
        late = (bounds[1:, None] - np.arange(1, length)).ravel()
        # In a shorter text some of these are late tokens of the preceding text, or negative.
        fits[late[late >= 0]] = False
    indices = np.flatnonzero(fits)
    counts = np.diff(np.searchsorted(indices, bounds))
    runs = mix(run_polynomials(hashes, length, seed).take(indices)) if len(indices) else np.zeros(0, np.uint64)
    return ShingleBatch(runs, np.repeat(np.arange(len(counts)), counts), counts)


# -- hash arithmetic ---------------------------------------------------------------------------


def mix(hashes: Hashes) -> Hashes:
    """Mix hashes in place with the finaliser of MurmurHash3 (a bijection), and return the array."""
    shifted = hashes >> _S33
    hashes ^= shifted
    hashes *= _M1
    hashes ^= np.right_shift(hashes, _S33, out=shifted)
    hashes *= _M2
    hashes ^= np.right_shift(hashes, _S33, out=shifted)
    return hashes


def light_mix(hashes: Hashes) -> Hashes:
    """Mix hashes in place with one multiplication; sufficient for hashes that were well mixed before."""
    shifted = hashes >> _S32
    hashes ^= shifted
    hashes *= _M1
    hashes ^= np.right_shift(hashes, _S29, out=shifted)
    return hashes


def seeded_hash(data: bytes, size: int, seed: int) -> bytes:
    """Return a BLAKE2b hash of ``size`` bytes, 1…64, with ``seed``, 0…2^64 - 1, as the key."""
    state = _keyed_hash(size, seed).copy()
    state.update(data)
    return state.digest()


@functools.cache
def _keyed_hash(size: int, seed: int) -> blake2b:
    """Return a hash object that has processed the key; callers update copies of it only."""
    return blake2b(digest_size=size, key=seed.to_bytes(8, "little"))


@functools.cache
def seeded_constants(seed: int, purpose: str, count: int) -> Hashes:
    """Return ``count`` random odd numbers by SplitMix64, read-only; each ``purpose`` has its own sequence."""
    state = functools.reduce(lambda s, c: split_mix(s ^ c), purpose.encode(), seed & MASK64)
    numbers = np.array([split_mix(state + i * GOLDEN) | 1 for i in range(1, count + 1)], np.uint64)
    numbers.flags.writeable = False
    return numbers


def split_mix(state: int) -> int:
    """One output of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014)."""
    z = (state + GOLDEN) & MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


@functools.cache
def _shingle_powers(seed: int) -> Hashes:
    return _powers(_secret_base(seed, "shingle"), MAX_SHINGLE)


def _powers(base: int, count: int) -> Hashes:
    """Return base^0 … base^(count-1) modulo 2^64, read-only."""
    factors = np.full(count, base & MASK64, np.uint64)
    factors[0] = 1
    result = np.multiply.accumulate(factors)
    result.flags.writeable = False
    return result
