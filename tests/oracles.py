"""Reference implementations of the methods in plain Python: strings, sets and loops."""

from __future__ import annotations

import unicodedata
from typing import TypeVar

from dedupcrawl.text.normalize import UNSPACED, normalize_reference

T = TypeVar("T")


def tokens(text: str) -> list[str]:
    """The token stream of a text."""
    found: list[str] = []
    open_word = False
    for character in normalize_reference(text):
        letter = unicodedata.category(character)[0] in "LMN"
        alone = letter and any(start <= ord(character) < stop for start, stop in UNSPACED)
        if alone or (letter and not open_word):
            found.append(character)
        elif letter:
            found[-1] += character
        open_word = letter and not alone
    return found


def shingles(text: str, characters: int = 5, words: int = 3) -> list[tuple[str, ...]]:
    """All shingles of a text, those that start at a character first."""
    stream = tokens(text)
    lengths = [characters if is_character(token) else words for token in stream]
    found = [
        (length, tuple(stream[at : at + length])) for at, length in enumerate(lengths) if at + length <= len(stream)
    ]
    if stream and not found:
        return [tuple(stream)]
    found.sort(key=lambda item: not is_character(item[1][0]))
    return [shingle for _, shingle in found]


def is_character(token: str) -> bool:
    """Whether a token belongs to a script without spaces."""
    return any(start <= ord(token[0]) < stop for start, stop in UNSPACED)


def jaccard(left: set[T], right: set[T]) -> float:
    """|A∩B| / |A∪B|."""
    return len(left & right) / len(left | right)


def longest_common_subsequence(left: str, right: str) -> int:
    """By trying: the definition, exponential."""
    if not left or not right:
        return 0
    if left[0] == right[0]:
        return 1 + longest_common_subsequence(left[1:], right[1:])
    return max(longest_common_subsequence(left[1:], right), longest_common_subsequence(left, right[1:]))
