"""The token stream of a text, the hashes of its shingles, and 64-bit hash arithmetic in numpy arrays.

A token is one character of a script without spaces (Han, kana, Thai…), or a maximal run of letters and digits
of any other script. Punctuation, symbols and white space only separate tokens, so that a change of width or
punctuation changes no shingle. Tokens never become Python strings. Shingles follow Broder (*On the
resemblance and containment of documents*, 1997). Their length depends on the token at their start, so that
mixed text works.

All products of hashes wrap around at 2^64. All randomness of the package is derived from one seed here, which
must be the same in all workers.
"""

from __future__ import annotations

import functools
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dedupcrawl.text.normalize import ROLE_SHIFT, Role

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
_CHUNK = 1 << 16  #: code points hashed at a time
_INVERSE = pow(GOLDEN, -1, 1 << 64)  #: of the odd base P of token hashes, modulo 2^64
_SEPARATOR = np.uint8(Role.SEPARATOR)
_WORD = np.uint8(Role.WORD)
_CHARACTER = np.uint8(Role.CHARACTER)


class Tokens(NamedTuple):
    """The token stream of a text, as two arrays of the same length."""

    hashes: Hashes  #: equal for equal tokens; not mixed
    characters: Flags  #: whether a token is a character of a script without spaces


def tokens(packed: Points) -> Tokens:
    """Return the hashed tokens of packed points (see :func:`~dedupcrawl.text.normalize.pack`)."""
    return located_tokens(packed)[0]


def located_tokens(packed: Points) -> tuple[Tokens, Indices]:
    """Return the tokens, and for each token the index of its first code point."""
    roles = (packed >> ROLE_SHIFT).astype(np.uint8)
    word = roles == _WORD
    if not word.any():
        starts = np.flatnonzero(roles != _SEPARATOR)
        return Tokens(packed.take(starts).astype(np.uint64), np.ones(len(starts), bool)), starts
    starts = _starts(roles, word)
    # The role depends on the code point only, so it can stay in the hash.
    found = Tokens(_hash_tokens(packed * (roles != _SEPARATOR), starts), roles[starts] == _CHARACTER)
    return found, starts


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


def _hash_tokens(codes: Points, starts: Indices) -> Hashes:
    """Polynomial hash of every run from one start to the next: the sum of code * P^(position in the run)."""
    if len(codes) <= _CHUNK:
        return _hash_token_chunk(codes, starts)
    ends = np.append(starts[1:], len(codes))
    parts, low = [], 0
    while low < len(starts):
        high = max(low + 1, int(np.searchsorted(ends, starts[low] + _CHUNK, "right")))
        parts.append(_hash_token_chunk(codes[starts[low] : ends[high - 1]], starts[low:high] - starts[low]))
        low = high
    return np.concatenate(parts)


def _hash_token_chunk(codes: Points, starts: Indices) -> Hashes:
    # One product with P^i for all runs. Multiplied by P^-start the sums do not depend on the position.
    rising, falling = powers(GOLDEN, _CHUNK), powers(_INVERSE, _CHUNK)
    if len(codes) > _CHUNK:  # a single run
        rising = powers.__wrapped__(GOLDEN, len(codes))
    sums: Hashes = codes * rising[: len(codes)]
    np.cumsum(sums, out=sums)
    # Only separators, which are zero, precede the first run.
    until = sums.take(np.append(starts[1:], len(codes)) - 1)
    hashes = until.copy()
    hashes[1:] -= until[:-1]
    hashes *= falling.take(starts)
    return hashes


def shingles(stream: Tokens, characters: int, words: int, seed: int) -> Hashes:
    """Hash all shingles of a text.

    The token at the start of a shingle determines its length, 1 to ``MAX_SHINGLE``: ``characters`` tokens
    from a character of a script without spaces, ``words`` tokens from a word. A text that is too short for
    any shingle is one shingle. Returns well-mixed hashes with repetitions.
    """
    hashes, is_character = stream
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
    power = powers(int(seeded_constants(seed, "shingle", 1)[0]), MAX_SHINGLE)
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


class ShinglesOfMany(NamedTuple):
    """Hashes of the shingles of several texts."""

    hashes: Hashes
    texts: Indices  #: index of the text of each shingle
    counts: Indices  #: number of shingles of each text, with repetitions


def shingles_of_many(stream: Tokens, bounds: Indices, characters: int, words: int, seed: int) -> ShinglesOfMany:
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
        parts.append(ShinglesOfMany(hash_runs(whole, len(whole), seed), np.array([text]), counts))
        counts[text] = 1
    hashes = np.concatenate([np.zeros(0, np.uint64), *(part.hashes for part in parts)])
    texts = np.concatenate([np.zeros(0, np.int64), *(part.texts for part in parts)])
    return ShinglesOfMany(hashes, texts, counts)


def _shingles_starting_at(hashes: Hashes, starts: Flags, bounds: Indices, length: int, seed: int) -> ShinglesOfMany:
    """Hash every run of ``length`` tokens within one text that starts at a token selected by ``starts``."""
    fits = starts.copy()
    if length > 1:
        late = (bounds[1:, None] - np.arange(1, length)).ravel()
        # In a shorter text some of these are late tokens of the preceding text, or negative.
        fits[late[late >= 0]] = False
    indices = np.flatnonzero(fits)
    counts = np.diff(np.searchsorted(indices, bounds))
    runs = mix(run_polynomials(hashes, length, seed).take(indices)) if len(indices) else np.zeros(0, np.uint64)
    return ShinglesOfMany(runs, np.repeat(np.arange(len(counts)), counts), counts)


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
def powers(base: int, count: int) -> Hashes:
    """Return base^0 … base^(count-1) modulo 2^64, read-only."""
    factors = np.full(count, base & MASK64, np.uint64)
    factors[0] = 1
    result = np.multiply.accumulate(factors)
    result.flags.writeable = False
    return result
