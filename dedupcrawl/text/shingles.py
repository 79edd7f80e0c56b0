"""One stream of tokens, and the hashes of its shingles; no token ever becomes a Python string here.

A token is one character of a script without spaces (Han, kana, Thai…), or a maximal run of letters
and digits of any other. Punctuation, symbols and white space only separate, so that an edit of
width or punctuation changes no shingle. Shingles are Broder's (On the resemblance and containment
of documents, 1997), with a length that depends on where they start, so that mixed text works.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dedupcrawl.text.hashing import GOLDEN, Hashes, constants, mix, powers, stir
from dedupcrawl.text.normalize import CODE, ROLE_SHIFT
from dedupcrawl.text.scripts import Role

if TYPE_CHECKING:
    from dedupcrawl.text.normalize import Points

_CHUNK = 1 << 16  #: code points hashed at a time; a word that is longer is cut
_WORD = np.uint8(Role.WORD)
_CHARACTER = np.uint8(Role.CHARACTER)


class Tokens(NamedTuple):
    """The token stream of a text, three arrays of one length."""

    hashes: Hashes  #: the same for equal tokens wherever they stand
    starts: npt.NDArray[np.int64]  #: index of the first code point
    characters: npt.NDArray[np.bool_]  #: whether the token is one character of a script without spaces


def tokens(packed: Points, seed: int) -> Tokens:
    """Cut packed points (see :func:`~dedupcrawl.text.normalize.pack`) into hashed tokens."""
    roles = (packed >> ROLE_SHIFT).astype(np.uint8)
    word = roles == _WORD
    begins = word.copy()
    begins[1:] &= ~word[:-1]
    characters = roles == _CHARACTER
    begins |= characters
    starts = np.flatnonzero(begins)
    codes = (packed & CODE) * (roles > 0)
    hashes = _hash_runs(codes, starts)
    hashes ^= constants(seed, "token", 1)
    return Tokens(stir(hashes), starts, characters[starts])


def token_ends(packed: Points, starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the index behind the last code point of every token."""
    bounds = (packed >> ROLE_SHIFT) == Role.SEPARATOR
    bounds[starts] = True
    stops = np.append(np.flatnonzero(bounds), len(packed))
    return stops[np.searchsorted(stops, starts, "right")]


def _hash_runs(codes: Points, starts: npt.NDArray[np.int64]) -> Hashes:
    """Polynomial hash of every run from one start to the next: the sum of code * P^(place in the run)."""
    if len(codes) <= _CHUNK:
        return _hash_chunk(codes, starts) if len(starts) else np.zeros(0, np.uint64)
    parts = []
    for first in range(0, len(codes), _CHUNK):
        low, high = np.searchsorted(starts, (first, first + _CHUNK))
        if low < high:
            parts.append(_hash_chunk(codes[first : first + _CHUNK], starts[low:high] - first))
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)


def _hash_chunk(codes: Points, starts: npt.NDArray[np.int64]) -> Hashes:
    # One product with P^i for the whole text; P is odd, so P^-start exists and makes the sums
    # independent of the place.
    weighted = codes * powers(GOLDEN, _CHUNK)[: len(codes)]
    hashes: Hashes = np.add.reduceat(weighted, starts)
    hashes *= powers(pow(GOLDEN, -1, 1 << 64), _CHUNK)[starts]
    return hashes


def shingles(stream: Tokens, characters: int, words: int, seed: int) -> Hashes:
    """Hash every run of ``characters`` tokens from a character on, or of ``words`` tokens from a word on.

    A text that is too short for any is one shingle as a whole; a text without tokens has none.
    Equal shingles are repeated.
    """
    hashes, at = stream.hashes, stream.characters
    if not len(hashes):
        return hashes
    found = int(np.count_nonzero(at))
    if found == len(at):
        result = _runs(hashes, characters, seed)
    elif found == 0:
        result = _runs(hashes, words, seed)
    else:
        result = _mixed(hashes, at, (characters, words), seed)
    return result if len(result) else _runs(hashes, len(hashes), seed)


def _mixed(hashes: Hashes, at: npt.NDArray[np.bool_], lengths: tuple[int, int], seed: int) -> Hashes:
    by_characters, by_words = (_runs(hashes, length, seed) for length in lengths)
    from_characters, from_words = by_characters[at[: len(by_characters)]], by_words[~at[: len(by_words)]]
    return np.concatenate((from_characters, from_words))


def _runs(hashes: Hashes, length: int, seed: int) -> Hashes:
    """Hash every run of ``length`` tokens; the order within the run counts."""
    count = len(hashes) - length + 1
    if count < 1:
        return np.zeros(0, np.uint64)
    factors = constants(seed, "shingle", length)
    result = hashes[:count] * factors[0]
    for place in range(1, length):
        result += hashes[place : place + count] * factors[place]
    return mix(result)
