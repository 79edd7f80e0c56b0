"""Reference implementations of the methods in plain Python: strings, sets and loops."""

from __future__ import annotations

import unicodedata
from typing import TypeVar

from dedupcrawl.text.normalize import AROUND_NUMBERS, OPERATORS, UNSPACED, normalize_reference

T = TypeVar("T")


def tokens(text: str) -> list[str]:
    """The token stream of a text."""
    found: list[str] = []
    open_word = False
    normal = normalize_reference(text)
    for place, character in enumerate(normal):
        if is_operator(normal, place):
            found.append(character)
            open_word = False
            continue
        letter = unicodedata.category(character)[0] in "LMN"
        alone = letter and any(start <= ord(character) < stop for start, stop in UNSPACED)
        if alone or (letter and not open_word):
            found.append(character)
        elif letter:
            found[-1] += character
        open_word = letter and not alone
    return found


def is_operator(normal: str, place: int) -> bool:
    """Whether a sign of arithmetic stands between two numbers."""
    before, after = normal[:place].rstrip(AROUND_NUMBERS), normal[place + 1 :].lstrip(AROUND_NUMBERS)
    return (
        normal[place] in OPERATORS
        and f"{before[-1:]}{after[:1]}".isascii()
        and all(side.isdigit() for side in (before[-1:], after[:1]))
    )


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
    return token in OPERATORS or any(start <= ord(token[0]) < stop for start, stop in UNSPACED)


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
