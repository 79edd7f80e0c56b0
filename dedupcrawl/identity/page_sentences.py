"""The sentences of a page. They tell pages apart that differ in a word which is no name and no number.

Two pages with the same wording may differ in a town, a person, a colour. Then each page has a sentence that the other
lacks. A view of a page, such as one for printers, has more lines or lacks some, but its other sentences are equal.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain

from dedupcrawl.identity.values import word_sets

MAX_TOKEN_BYTES = 32  #: bytes of a word that are hashed, also of a name
MAX_LINE_BYTES = 120  #: of a line that is one sentence, whatever its punctuation: what a view adds is one line
MAX_SENTENCE_BYTES = 1024  #: of the words of a sentence that are hashed

#: Places of the words of counters, of stamps and of views in :func:`dedupcrawl.identity.values.word_sets`.
_COUNTED, _CHANGED, _PUBLISHED, _OF_VIEW = 0, 6, 7, 8

_WORD = rb"(?:[a-z]|[\xc3-\xdf][\x80-\xbf])+[0-9]*"  #: letters of two bytes: Latin, Greek, Cyrillic, Hebrew, Arabic
_CHARACTER = rb"(?:[\xe0\xe1\xe3-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})"
_MARK = rb"(?:\xe2[\x96-\x9f][\x80-\xbf] ?)"  #: U+2580 to U+27FF: forms, symbols, dingbats
_all_words = re.compile(rb"%b*(?:%b|%b)" % (_MARK, _WORD, _CHARACTER)).findall
#: A mark ends a sentence before a space or a character without spaces around it; "。" always does.
_parts = re.compile(rb"(?<=[.!?;])(?=[ \xe0-\xf4])|(?<=\xe3\x80\x82)").split


def sentences_of(lines: bytes) -> list[bytes]:
    r"""Return the words of each sentence of a normalised text, without punctuation and without numbers.

    A line of at most ``MAX_LINE_BYTES`` is one sentence. A tick, a cross or another mark is part of the word after it,
    and digits are part of the word before them. Words of stamps, counters and views ("updated", "comments", "printed")
    are left out, and sentences with the address of a page: only a view says where it was printed from.

    Args:
        lines: normalised lines in UTF-8, with NUL between them.

    >>> [each.decode() for each in sentences_of("✓ lift, 3 toilets. at b12\0updated 3 may\0站台旁。".encode())]
    ['✓ lift toilets at b12', 'may', '站 台 旁 。']
    """
    passing, views = _passing_words()
    found: list[bytes] = []
    every = (_parts(line) if len(line) > MAX_LINE_BYTES else (line,) for line in lines.split(b"\0"))
    for part in chain.from_iterable(every):
        words = [word for word in _all_words(part) if word not in passing and not word.startswith(views)]
        if words and b"www" not in words and b"://" not in part:
            found.append(b" ".join([word[:MAX_TOKEN_BYTES] for word in words])[:MAX_SENTENCE_BYTES])
    return found


@cache
def _passing_words() -> tuple[frozenset[bytes], tuple[bytes, ...]]:
    """Return the words of counters and stamps, and the beginnings of those of views."""
    sets = word_sets()
    return frozenset((*sets[_COUNTED], *sets[_CHANGED], *sets[_PUBLISHED])), sets[_OF_VIEW]
