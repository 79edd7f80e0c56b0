"""Counts of the lines of a text, by which two texts that differ in a few words are compared.

Two pages of one wording may differ in a word that is no name and no number: a town, a person, a colour. Views of one
page differ in lines: a print view tells where it was printed, and lacks captions. So what is counted is whole lines,
and the sentences of paragraphs, to which an editor may add one. A word that is replaced changes one line of each page;
a line that one page adds is one more, however many words it has.

The number of lines, the sum of their hashes, and their numbers in a few buckets are *linear*: subtracted from each
other, they show the lines in which two texts differ as if there were no others (Cormode and Muthukrishnan, *An improved
data stream summary: the count-min sketch and its applications*, 2005). Texts with equally many lines that are not the
same each have one that the other lacks. If one text has more lines, its buckets tell whether it lacks any.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from dedupcrawl.values import word_sets

if TYPE_CHECKING:
    from collections.abc import Collection

ROWS, ROW = 3, 8  #: rows of buckets, and buckets of lines or values in each
BUCKET_BITS = 2  #: of the number in a bucket
HEAD_BYTES = 3  #: number, and sum of the hashes
COUNTS_BYTES = HEAD_BYTES + ROWS * ROW
MAX_LINE_BYTES = 120  #: of a line that is counted as a whole; a longer one is a paragraph
MAX_VIEW_BYTES = 250  #: of a line that may be that of a view
WORD_FACTOR = 0x9E3779B1  #: by which the hash of a line is multiplied before a word is added
_HASHED = 0xFFFFFFFF

#: Places of the words of counters, of stamps and of views in :func:`dedupcrawl.values.word_sets`.
_COUNTED, _CHANGED, _PUBLISHED, _OF_VIEW = 0, 6, 7, 8

_WORD = rb"(?:[a-z]|[\xc3-\xdf][\x80-\xbf])+[0-9]*"  #: letters of two bytes: Latin, Greek, Cyrillic, Hebrew, Arabic
_CHARACTER = rb"(?:[\xe0\xe1\xe3-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})"
_MARK = rb"(?:\xe2[\x96-\x9f][\x80-\xbf] ?)"  #: U+2580 to U+27FF: forms, symbols, dingbats
#: With a word of a view: the line is about the page, not about what the page is about.
_OF_PAGE = tuple(
    each.encode()
    for each in (
        *("://", "www.", "this page", "diese seite", "dieser seite", "cette page", "esta página", "questa pagina"),
        *("страниц", "本页", "本頁", "网址", "網址", "このページ"),
    )
)
_sentences = re.compile(rb"(?<=\xe3\x80\x82)|(?<=[.!?])(?=[ \x80-\xff])").split
_all_words = re.compile(rb"%b*(?:%b|%b)" % (_MARK, _WORD, _CHARACTER)).findall


def counted_lines(text: bytes) -> list[list[bytes]]:
    r"""Return the words of each line, and each sentence of a long line, that has any; NUL separates the lines.

    A tick, a cross or another mark is part of the word after it. Words of stamps, counters and views ("updated",
    "comments", "printed") are left out, and lines of views: those that begin with such a word, or have one and a URL or
    "this page". Numbers are values, except those at the end of a word ("gate b7").

    >>> [b" ".join(line).decode() for line in counted_lines("✓ lift, 3 seats\0站台 b7\0printed today".encode())]
    ['✓ lift seats', '站 台 b7']
    """
    passing, view = _passing_words()
    lines = (part for line in text.split(b"\0") if not _is_of_view(line) for part in _parts(line))
    words = map(_all_words, lines)
    known = ([each for each in line if each not in passing and not each.startswith(view)] for line in words)
    return [line for line in known if line]


@cache
def _passing_words() -> tuple[frozenset[bytes], tuple[bytes, ...]]:
    """Return the words of counters and stamps, and the beginnings of those of views."""
    sets = word_sets()
    return frozenset((*sets[_COUNTED], *sets[_CHANGED], *sets[_PUBLISHED])), sets[_OF_VIEW]


def _parts(line: bytes) -> list[bytes]:
    return [line] if len(line) <= MAX_LINE_BYTES else _sentences(line)


def _is_of_view(line: bytes) -> bool:
    view = _passing_words()[1]
    if len(line) > MAX_VIEW_BYTES:
        return False
    return line.startswith(view) or (any(each in line for each in _OF_PAGE) and any(each in line for each in view))


def hash_of_line(words: Collection[int]) -> int:
    """Return the hash of a line from those of its words in order."""
    hashed = 0
    for each in words:
        hashed = (hashed * WORD_FACTOR + each) & _HASHED
    return hashed


def count_hashes(hashes: Collection[int]) -> bytes:
    """Return the counts of some hashes of 32 bits."""
    keys = [each >> 16 for each in hashes]
    counts = [0] * (ROWS * ROW)
    for key in keys:
        for bucket in _buckets_of(key):
            counts[bucket] += 1
    most = (1 << BUCKET_BITS) - 1
    return bytes((len(keys) & 0xFF, *(sum(keys) & 0xFFFF).to_bytes(2, "big"), *(each & most for each in counts)))


def words_differ(new: bytes, old: bytes) -> bool:
    """Return whether each page has lines, or values, that the other lacks, from their counts."""
    size = COUNTS_BYTES
    return _counts_differ(new[:size], old[:size]) or _counts_differ(new[size:], old[size:])


def _counts_differ(new: bytes, old: bytes) -> bool:
    """Return whether each text has something that the other lacks; False if one has no counts."""
    if not new or not old:
        return False
    if new[0] == old[0]:
        return new != old  # as many, and not the same ones
    if (new[0] - old[0]) % 256 >= 128:  # of 256: the older text has more
        new, old = old, new
    more = (new[0] - old[0]) % 256
    buckets = [(mine - other) % 4 for mine, other in zip(new[HEAD_BYTES:], old[HEAD_BYTES:], strict=True)]
    if more == 1:  # one may have all of the other, and one more: its hash is the difference of the sums
        mine, other = (int.from_bytes(each[1:HEAD_BYTES], "big") for each in (new, old))
        added = _buckets_of((mine - other) & 0xFFFF)
        return any((place in added) != each for place, each in enumerate(buckets))
    rows = (buckets[start : start + ROW] for start in range(0, ROWS * ROW, ROW))
    return any(_lacks_some(row, more) for row in rows)


def _lacks_some(row: list[int], more: int) -> bool:
    """Return whether a row shows that the text with more lines lacks one. 3 is -1, unless a bucket had more than 2."""
    lacking = row.count(3)
    return lacking > 0 and sum(row) - 4 * lacking == more


def _buckets_of(hashed: int) -> tuple[int, ...]:
    """Return the bucket of a line in each row, by its hash of 16 bits."""
    return tuple(ROW * row + (hashed >> 13 - 3 * row & 7) for row in range(ROWS))
