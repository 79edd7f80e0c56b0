"""Two sketches of the sentences of a text. They compare texts that differ in a few words.

Two pages with the same wording may differ in a word that is no name and no number: a town, a person, a colour. Then
each page has a sentence that the other lacks. A view of a page, such as one for printers, has additional lines or
lacks some, but its other sentences are equal.

The first sketch is *counts*: the number of sentences, the sums of their hashes and of the squares of these, and their
numbers in a few buckets. They are *linear*: subtracted from each other, they show the sentences in which two texts
differ as if there were no others (Cormode and Muthukrishnan, *An improved data stream summary: the count-min sketch and
its applications*, 2005). If two texts have equally many sentences that are not all equal, each has one that the other
lacks. If one text has one or two more, such as a stamp, the sums give the hashes of these, provided that it lacks none
(power sums: Minsky, Trachtenberg and Zippel, *Set reconciliation with nearly optimal communication complexity*, 2003).
If it has still more, the buckets show whether it lacks any.

When an article is edited, some of its words change, and a view of it is read a little differently. So less is stored
of a text that is about the name of its page. The second sketch is the *signature* of the lines: their number, and a
hash of them. Two pages that are made from one template have equally many lines that are not all equal.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from dedupcrawl.identity.values import is_counted, is_counting, word_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

SIGNATURE_BYTES = 3  #: the number of lines modulo 8, and their hash in 16 bits
BUCKETS = 16  #: of sentences or values
SUMS_BYTES = 4  #: the number, and in 12 bits each the sums of the hashes and of their squares
COUNTS_BYTES = SUMS_BYTES + BUCKETS
PRIME = 4091  #: hashes are numbers below it; it is 3 modulo 4, which makes square roots simple
MAX_TOKEN_BYTES = 32  #: bytes of a word that are hashed, also of a name
MAX_LINE_BYTES = 120  #: of a line that is one sentence, whatever its punctuation: what a view adds is one line
MAX_STAMP_BYTES = 80  #: of a stamp or counter
MAX_SENTENCE_BYTES = 1024  #: of the words of a sentence; a longer one is cut after the word that exceeds it
MAX_VIEW_LINE_BYTES = 250  #: of a line that only a view has

#: Places of the words of counters, of stamps and of views in :func:`dedupcrawl.identity.values.word_sets`.
_COUNTED, _CHANGED, _PUBLISHED, _OF_VIEW = 0, 6, 7, 8

_WORD = rb"(?:[a-z]|[\xc3-\xdf][\x80-\xbf])+[0-9]*"  #: letters of two bytes: Latin, Greek, Cyrillic, Hebrew, Arabic
_CHARACTER = rb"(?:[\xe0\xe1\xe3-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})"
_MARK = rb"(?:\xe2[\x96-\x9f][\x80-\xbf] ?)"  #: U+2580 to U+27FF: forms, symbols, dingbats
_UNSPACED = {0xE0, 0xE1, *range(0xE3, 0xF5)}  #: first bytes of characters without spaces around them
_numbers = re.compile(rb"[0-9]+").finditer
_all_words = re.compile(rb"%b*(?:%b|%b)" % (_MARK, _WORD, _CHARACTER)).findall
#: A mark ends a sentence before a space or a character without spaces around it; "。" always does.
_parts = re.compile(rb"(?<=[.!?;])(?=[ \xe0-\xf4])|(?<=\xe3\x80\x82)").split

#: What a line of a view names beside the word for printing.
_ADDRESSES = (
    *("://", "www.", "this page", "diese seite", "dieser seite", "cette page", "esta página", "questa pagina"),
    *("страниц", "本页", "本頁", "网址", "網址", "このページ"),
)
_ADDRESS_PARTS = tuple(each.encode() for each in _ADDRESSES)
#: The beginning of a line that points to another page, behind punctuation and marks.
_POINTING = (
    rb"(?:[^\w\x80-\xff\0]|\xe2[\x80-\xbf]{2}|\xe3\x80[\x80-\xbf])*"
    + (
        r"(?:(?:(?:also )?(?:read|see|learn|find out)(?: more| also| next| on)|also on [^:]{1,60}"
        r"|more (?:on this|from us|stories)|related|recommended for you"
        r"|相关(?:阅读|新闻|链接|报道|文章|推荐)|(?:延伸|推荐)阅读) ?:)"
    ).encode()
)
#: With these its words begin.
POINTING_BEGINS = tuple(
    each.encode()
    for each in (
        *("also ", "read", "see", "learn", "find out", "more ", "related", "recommended for you"),
        *("相关", "延伸阅读", "推荐阅读"),
    )
)
_points_elsewhere = re.compile(_POINTING).match
#: Whether a line among some may point to another page.
_some_may_point_elsewhere = re.compile(rb"\0" + _POINTING).search


def sentences_of(lines: bytes) -> list[bytes]:
    r"""Return the words of each sentence of a normalised text, without punctuation and without numbers.

    A line of at most ``MAX_LINE_BYTES`` is one sentence.
    A tick, a cross or another mark is part of the word after it, and digits are part of the word before them. Words of
    stamps, counters and views ("updated", "comments", "printed") are left out.

    Args:
        lines: normalised lines in UTF-8, with NUL between them.

    >>> [each.decode() for each in sentences_of("✓ lift, 3 toilets. at b12\0updated 3 may\0站台旁。".encode())]
    ['✓ lift toilets at b12', 'may', '站 台 旁 。']
    """
    passing, view = _passing_words()
    found: list[bytes] = []
    every = (part for line in lines.split(b"\0") for part in (_parts(line) if len(line) > MAX_LINE_BYTES else [line]))
    has_view = has_view_word(lines)
    for part in every:
        words = _all_words(part)
        if not passing.isdisjoint(words) or has_view:
            words = [word for word in words if word not in passing and not word.startswith(view)]
        if not words:
            continue
        # No character has more than one space after it.
        if 2 * len(part) > MAX_SENTENCE_BYTES or max(map(len, words)) > MAX_TOKEN_BYTES:
            found += _cut(words)
        else:
            found.append(b" ".join(words))
    return found


def _cut(words: Iterable[bytes]) -> Iterator[bytes]:
    """Cut the words of a sentence, and the sentence."""
    taken: list[bytes] = []
    size = 0
    for word in words:
        taken.append(word[:MAX_TOKEN_BYTES])
        size += len(taken[-1]) + 1
        if size > MAX_SENTENCE_BYTES:
            yield b" ".join(taken)
            taken, size = [], 0
    if taken:
        yield b" ".join(taken)


def lines_of(lines: bytes) -> list[bytes]:
    r"""Return the lines of a normalised text, and the sentences of lines of more than ``MAX_LINE_BYTES``.

    Stamps and counters of at most ``MAX_STAMP_BYTES`` are left out: lines with a number and a word of a stamp or view,
    or with a number beside a word that counts readers or names an edition.

    Args:
        lines: normalised lines in UTF-8, with NUL between them.

    >>> lines_of("fund a\0code 519003.\0updated 3 may\0更新于 12:31\0manual of version 2.1".encode())
    [b'fund a', b'code 519003.']
    """
    every = (part for line in lines.split(b"\0") for part in (_parts(line) if len(line) > MAX_LINE_BYTES else [line]))
    return [part.strip(b" ") for part in every if part.strip(b" ") and not _is_stamp(part)]


def _is_stamp(part: bytes) -> bool:
    if len(part) > MAX_STAMP_BYTES:
        return False
    numbers = [found.span() for found in _numbers(part)]
    if any(is_counting(part[:start]) or is_counted(part, stop) for start, stop in numbers):
        return True
    passing, unspaced, view = _stamp_words()
    words = _all_words(part) if numbers else []
    return bool(numbers) and (_holds(part, unspaced) or any(each in passing or each.startswith(view) for each in words))


@cache
def _stamp_words() -> tuple[frozenset[bytes], tuple[bytes, ...], tuple[bytes, ...]]:
    """Return the words of stamps, those in scripts without spaces, and the beginnings of those of views."""
    sets = word_sets()
    words = (*sets[_CHANGED], *sets[_PUBLISHED])
    return frozenset(words), tuple(each for each in words if each[0] in _UNSPACED), sets[_OF_VIEW]


@cache
def _passing_words() -> tuple[frozenset[bytes], tuple[bytes, ...]]:
    """Return the words of counters and stamps, and the beginnings of those of views."""
    sets = word_sets()
    return frozenset((*sets[_COUNTED], *sets[_CHANGED], *sets[_PUBLISHED])), sets[_OF_VIEW]


def _view_parts() -> tuple[bytes, ...]:
    return _passing_words()[1]


@cache
def _names_view() -> Callable[[bytes], re.Match[bytes] | None]:
    return re.compile(rb"(?<![a-z])(?:%b)" % b"|".join(map(re.escape, _view_parts()))).search


def has_view_word(lines: bytes) -> bool:
    """Return whether a text has a word that only views of a page have, such as "print"."""
    return _holds(lines, _view_parts())


def without_view_lines(lines: bytes, has_word: Callable[[bytes], bool] = has_view_word) -> bytes:
    """Remove the lines that only some views of a page have: "Printed from https://…", "打印本页", "Read more: …".

    Args:
        lines: normalised lines in UTF-8, with NUL between them.
        has_word: :func:`has_view_word`, or compiled code with equal results.
    """
    # All lines together are examined in a tenth of the time.
    may_point = b":" in lines and _some_may_point_elsewhere(b"\0" + lines)
    may_be_named = has_word(lines) and _holds(lines, _ADDRESS_PARTS)
    if not (may_point or may_be_named):
        return lines
    return b"\0".join([line for line in lines.split(b"\0") if not _is_of_view(line)])


def _is_of_view(line: bytes) -> bool:
    if len(line) > MAX_VIEW_LINE_BYTES:
        return False
    if b":" in line and _points_elsewhere(line):
        return True
    return bool(_holds(line, _ADDRESS_PARTS) and _names_view()(line))


def _holds(line: bytes, parts: tuple[bytes, ...]) -> bool:
    return any(map(line.__contains__, parts))  # a third of the time of a generator


def count_hashes(hashes: Collection[int]) -> bytes:
    """Return the counts of some hashes of 32 bits."""
    keys = [(each >> 20) % PRIME for each in hashes]
    buckets = [0] * BUCKETS
    for key in keys:
        buckets[key >> 8] += 1
    sums = sum(keys) % PRIME << 12 | sum(key * key for key in keys) % PRIME
    return bytes((len(keys) & 0xFF, *sums.to_bytes(SUMS_BYTES - 1, "big"), *(each & 3 for each in buckets)))


def sign_hashes(hashes: Collection[int]) -> bytes:
    """Return the signature of lines with these hashes of 32 bits: their number modulo 8, and 16 bits of their sum."""
    return ((len(hashes) & 7) << 16 | (sum(hashes) >> 16 & 0xFFFF)).to_bytes(SIGNATURE_BYTES, "big")


def sentences_differ(new: bytes, old: bytes) -> bool:
    """Return whether each page has sentences, or values, that the other lacks, by their counts or signatures.

    By counts, the result is certainly False if one page has everything that the other has, and at most 128 more (for
    values: if neither has more than 128 numbers). By signatures, it is True if both pages have equally many lines
    that are not all equal.
    """
    (mine, new), (other, old) = _split(new), _split(old)
    if mine and other and mine != other and mine[0] == other[0]:
        return True
    size = COUNTS_BYTES
    return _counts_differ(new[:size], old[:size]) or _counts_differ(new[size:], old[size:])


def _split(counts: bytes) -> tuple[bytes, bytes]:
    """Return the signature, and the counts."""
    size = len(counts) % COUNTS_BYTES
    return counts[:size], counts[size:]


def _counts_differ(new: bytes, old: bytes) -> bool:
    """Return whether each text has something that the other lacks; False if one has no counts."""
    if not new or not old:
        return False
    more = (new[0] - old[0]) % 256
    if more > 128:
        return _counts_differ(old, new)
    buckets = [(mine - other) % 4 for mine, other in zip(new[SUMS_BYTES:], old[SUMS_BYTES:], strict=True)]
    if more > 2:  # what one lacks makes its bucket smaller, by 3 more modulo 4
        return sum(buckets) > more
    (mine, squares), (other, other_squares) = _sums(new), _sums(old)
    added = _keys_of(more, (mine - other) % PRIME, (squares - other_squares) % PRIME)
    return added is None or buckets != [sum(key >> 8 == at for key in added) for at in range(BUCKETS)]


def _sums(counts: bytes) -> tuple[int, int]:
    """Return the sum of the keys, and that of their squares."""
    both = int.from_bytes(counts[1:SUMS_BYTES], "big")
    return both >> 12, both & 0xFFF


def _keys_of(count: int, first: int, second: int) -> tuple[int, ...] | None:
    """Return the keys with these sums of themselves and of their squares, None if there are none; at most two."""
    if count < 2:
        return (first,) * count if second == first * first * count % PRIME and (count or not first) else None
    square = (2 * second - first * first) % PRIME  # of their difference
    root = pow(square, (PRIME + 1) // 4, PRIME)
    if root * root % PRIME != square:
        return None
    half = (PRIME + 1) // 2
    return (first + root) * half % PRIME, (first - root) * half % PRIME
