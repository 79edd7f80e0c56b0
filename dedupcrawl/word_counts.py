"""Counts of the words of a text, by which two texts that differ in a few words are compared.

Two pages of one wording may differ in a word that is no name and no number: a town, a person, a colour. The number of
words, the sum of their hashes, and their numbers in a few buckets are *linear*: subtracted from each other, they show
the words in which two texts differ as if there were no others (Cormode and Muthukrishnan, *An improved data stream
summary: the count-min sketch and its applications*, 2005). Texts with equally many words that are not the same each
have one that the other lacks. If one text has more words, such as a stamp, its buckets tell whether it lacks any.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from dedupcrawl.values import word_sets

if TYPE_CHECKING:
    from collections.abc import Collection

ROW = 8  #: buckets of words or values in each of two rows
COUNTS_BYTES = 3 + 2 * ROW  #: number, sum of the hashes, numbers in buckets
MIN_WORD_BYTES = 3  #: of words that are counted

#: Places of the words of counters, of stamps and of views in :func:`dedupcrawl.values.word_sets`.
_COUNTED, _CHANGED, _PUBLISHED, _OF_VIEW = 0, 6, 7, 8

_WORD = rb"(?:[a-z]|[\xc3-\xdf][\x80-\xbf])+"  #: letters of two bytes: Latin, Greek, Cyrillic, Hebrew, Arabic
_CHARACTER = rb"(?:[\xe0\xe1\xe3-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})"
_MARK = rb"(?:\xe2[\x96-\x9f][\x80-\xbf] ?)"  #: U+2580 to U+27FF: forms, symbols, dingbats
_all_words = re.compile(rb"%b*(?:%b|%b(?=(%b))?)" % (_MARK, _WORD, _CHARACTER, _CHARACTER)).finditer


def words_of(text: bytes) -> list[bytes]:
    """Return the words of a normalised text, without numbers; text without spaces gives pairs of characters.

    A tick, a cross or another mark is part of the word after it. Left out are words of less than ``MIN_WORD_BYTES``,
    and those of stamps, counters and views: "updated", "comments", "printed".

    >>> [each.decode() for each in words_of("✓ lift, 3 toilets at 站台旁".encode())]
    ['✓ lift', 'toilets', '站台', '台旁', '旁']
    """
    passing, view = _passing_words()
    tokens = (each[0] + (each[1] or b"") for each in _all_words(text))
    known = (each for each in tokens if len(each) >= MIN_WORD_BYTES)
    return [each for each in known if each not in passing and not each.startswith(view)]


@cache
def _passing_words() -> tuple[frozenset[bytes], tuple[bytes, ...]]:
    """Return the words of counters and stamps, and the beginnings of those of views."""
    sets = word_sets()
    return frozenset((*sets[_COUNTED], *sets[_CHANGED], *sets[_PUBLISHED])), sets[_OF_VIEW]


def count_hashes(hashes: Collection[int]) -> bytes:
    """Return the counts of some hashes of 32 bits."""
    keys = [each >> 16 for each in hashes]
    counts = [0] * (2 * ROW)
    for key in keys:
        for bucket in _buckets_of(key):
            counts[bucket] += 1
    return bytes((len(keys) & 0xFF, *(sum(keys) & 0xFFFF).to_bytes(2, "big"), *(each & 7 for each in counts)))


def words_differ(new: bytes, old: bytes) -> bool:
    """Return whether each page has words, or values, that the other lacks, from their counts."""
    size = COUNTS_BYTES
    return _counts_differ(new[:size], old[:size]) or _counts_differ(new[size:], old[size:])


def _counts_differ(new: bytes, old: bytes) -> bool:
    """Return whether each text has something that the other lacks; False if one has no counts."""
    if not new or not old:
        return False
    if new[0] == old[0]:
        return new != old  # as many, and not the same ones
    rows = [(mine - other) % 8 for mine, other in zip(new[-2 * ROW :], old[-2 * ROW :], strict=True)]
    more = (new[0] - old[0]) % 256
    if more in {1, 255}:  # one may have all of the other, and one more: its hash is the difference of the sums
        mine, other = (int.from_bytes(each[1:3], "big") for each in (new, old))
        added = _buckets_of((mine - other if more == 1 else other - mine) & 0xFFFF)
        return any((bucket in added) * more % 8 != each for bucket, each in enumerate(rows))
    return any(any(0 < each < 4 for each in row) and any(each > 4 for each in row) for row in (rows[:ROW], rows[ROW:]))


def _buckets_of(hashed: int) -> tuple[int, int]:
    """Return the bucket of a word in each row, by its hash of 16 bits."""
    return hashed >> 13, ROW + (hashed >> 10 & 7)
