"""The identity of a page on its own site: a small sketch of its names and values.

Pages of one site may share a template, terms of sale, a consent text or an author's biography, and with them
nearly all text that is read as main text. A few words tell such pages apart: the *names* (heading and title)
and the *values* (tokens with digits: sizes, dates, prices). :mod:`dedupcrawl.siblings` compares two sketches.

A sketch is one big-endian number of whole bytes. Its bits, the highest first:

* 3 bits: which of the three samples are whole; 4 bits: number of names; 3 bits each: numbers of values in the main
  text and beside it; 19 bits: hash of all values in the main text;
* 20 bits a name: class (2 bits), hash (14 bits), flags (4 bits), see :class:`Name`;
* 12 bits a value: its hash.

The names and values are bottom-k samples: the k lowest hashes in an order that all pages share (Broder, *On the
resemblance and containment of documents*, 1997), so that the samples of two pages can be compared.
"""

from __future__ import annotations

import re
import unicodedata
from enum import IntFlag
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from dedupcrawl.page.flatten import word_set
from dedupcrawl.text.shingles import split_mix

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from dedupcrawl.page.model import Page

MAX_NAMES = 15  #: tokens of the names in a sketch
MAX_NUMBERS = 128  #: numbers of a text that are examined
MAX_VALUES = 6  #: values of the main text in a sketch, and of the text beside it
MIN_TELLING_LENGTH = 4  #: shorter words ("the", "of") do not show what a text is about
MAX_TOKEN_BYTES = 32  #: bytes of a token that are hashed
#: Words of titles that name a view of a page, not its topic.
VIEW_WORDS = word_set("print printer printable friendly version amp mobile page view untitled 打印 印本 本页")

_HASH_BITS = 14
_FLAG_BITS = 4
_NAME_BITS = 2 + _HASH_BITS + _FLAG_BITS
_VALUE_BITS = 12
_FACTS_BITS = 19
_HEAD_BITS = 32
DIGIT, TELLING, FILLER = 0, 1 << _HASH_BITS, 2 << _HASH_BITS  #: classes of names, in the order of sampling
_MULTIPLIER = 0x9E3779B1  #: 2^32 / golden ratio: spreads the low bits of a CRC to the high ones

_words = re.compile(r"[^\W_]+").findall
_UNSPACED_RUN = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
_unspaced_parts = re.compile(f"({_UNSPACED_RUN})").split
_is_unspaced = re.compile(_UNSPACED_RUN).match
_has_digit = re.compile(r"\d").search

#: Numbers of a folded text, with the marks inside them.
_numbers = re.compile(rb"[0-9](?:[0-9.,:/x'-]*[0-9])?").finditer
#: Words after or before a number that counts readers or tells a time that passes.
_COUNTED = tuple(
    word.encode()
    for word in (
        *(
            "comment",
            "repl",
            "view",
            "read",
            "like",
            "share",
            "vote",
            "visit",
            "download",
            "times",
            "ago",
            "people found",
        ),
        *("minutes ago", "minute ago", "hours ago", "hour ago", "days ago", "day ago", "users", "followers", "▲", "▼"),
        *(
            "次",
            "人看",
            "人浏览",
            "人阅读",
            "人评论",
            "条评论",
            "条回复",
            "评论",
            "评",
            "阅读",
            "浏览",
            "点赞",
            "分钟前",
            "小时前",
        ),
    )
)
_COUNTING = tuple(
    word.encode()
    for word in (
        *("comments", "replies", "views", "reads", "readers", "likes", "shares", "votes", "visits", "visitors"),
        *("downloads", "▲", "▼"),
        *(
            "阅读",
            "閱讀",
            "阅读数",
            "浏览",
            "瀏覽",
            "点击",
            "點擊",
            "评论",
            "評論",
            "回复",
            "点赞",
            "转发",
            "收藏",
            "人气",
        ),
    )
)
_BEFORE = b" :("  #: bytes between such a word and the number after it
_AFTER = b" k+)" + "万".encode() + b"of0123456789"  #: bytes between a number and such a word
_REACH = 24  #: bytes on each side of a number in which these words are looked for


class Name(IntFlag):
    """Where a token of a page's names stands."""

    HEADING = 1
    TITLE = 2
    SAID = 4  #: in the text of the page, other than the heading; not examined for fillers
    MAIN = 8  #: in its main text; not examined for fillers


class Sample(NamedTuple):
    """The lowest hashes of a page in an order that all pages share."""

    items: dict[int, int]  #: hash → flags
    is_whole: bool  #: whether nothing was left out

    def lacking(self, other: Sample) -> tuple[list[int], int]:
        """Return the items that ``other`` certainly lacks, and how many items could be compared.

        >>> Sample({1: 0, 5: 0, 9: 0}, True).lacking(Sample({1: 0, 2: 0, 6: 0}, False))
        ([5], 2)
        """
        if other.is_whole:
            seen = [*self.items]
        else:
            end = max(other.items, default=-1)
            seen = [each for each in self.items if each <= end]
        return [each for each in seen if each not in other.items], len(seen)


class Identity(NamedTuple):
    """A sketch in its parts."""

    names: Sample
    inner: Sample  #: values of the main text
    outer: Sample  #: values beside it
    facts: int  #: hash of all values in the main text


def name_tokens(text: str) -> list[str]:
    """Return the words of a folded name; text without spaces gives pairs of characters.

    A single Han character would occur in most texts by accident; a pair rarely does.

    >>> name_tokens("bolt m3, 沪指涨")
    ['bolt', 'm3', '沪指', '指涨']
    """
    found = _words(text)
    if text.isascii():
        return found
    tokens: list[str] = []
    for word in found:
        for part in filter(None, _unspaced_parts(word)):
            if _is_unspaced(part):
                tokens += [part[at : at + 2] for at in range(max(1, len(part) - 1))]
            else:
                tokens.append(part)
    return tokens


def values_of(text: bytes) -> set[bytes]:
    """Return the numbers in a folded text, the first ``MAX_NUMBERS`` of them, without those that count readers.

    >>> sorted(values_of(b"bolt 3.5 x 20, 4 packs. comments (12)"))
    [b'20', b'3.5', b'4']
    """
    return {match[0] for match in islice(_numbers(text), MAX_NUMBERS) if not _is_counter(text, *match.span())}


def _is_counter(text: bytes, start: int, stop: int) -> bool:
    """Return whether a number counts readers or tells a time that passes; "12 of 40 people" are two such."""
    if text[stop : stop + _REACH].lstrip(_AFTER).startswith(_COUNTED):
        return True
    return text[max(0, start - _REACH) : start].rstrip(_BEFORE).endswith(_COUNTING)


def sketch_identity(page: Page, text: bytes, seed: int, normalize: Callable[[str], str] | None = None) -> bytes:
    """Return the sketch of a page's names and values, 4 to 60 bytes.

    Args:
        page: the page.
        text: its normalised text in UTF-8, see :attr:`dedupcrawl.text.features.Features.encoded`.
        seed: key of the hashes, 0…2⁶⁴ - 1.
        normalize: how the text was normalised; None: by NFKC and case folding, as for most pages.
    """
    table = _keyed_bytes(seed)
    fold = normalize or _fold
    heading, title = (_own_name(fold(name)) for name in (page.heading, page.title))
    keys = sorted((_name_key(token, table), token) for token in heading | title)
    names: dict[int, int] = {}
    beside = b""
    for key, token in keys[:MAX_NAMES]:
        tells = key < FILLER
        inside = tells and _stands(token, text)
        if tells and not inside and not beside:
            # Letters outside ASCII keep their case here: folding all text of a page takes longer than the rest.
            beside = b" " + page.beside.encode("utf-8", "surrogatepass").lower()
        said = (
            inside
            or (tells and _stands(token, beside))
            or (tells and not token.isascii() and _stands(token.capitalize(), beside))
        )
        names[key] = (
            (token in heading) * Name.HEADING | (token in title) * Name.TITLE | said * Name.SAID | inside * Name.MAIN
        )
    inner = values_of(text)
    outer = values_of(page.stated.encode("utf-8", "surrogatepass").lower()) - inner
    samples = [_bottom(each, table) for each in (inner, outer)]
    is_whole = (len(keys) <= MAX_NAMES, len(inner) <= MAX_VALUES, len(outer) <= MAX_VALUES)
    facts = _hash(b"\n".join(sorted(inner)), table, _FACTS_BITS)
    return _pack([key << _FLAG_BITS | where for key, where in names.items()], samples, is_whole, facts)


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _pack(names: list[int], values: Sequence[list[int]], is_whole: Iterable[bool], facts: int) -> bytes:
    bits = 0
    for flag in is_whole:
        bits = bits << 1 | flag
    bits = ((bits << 4 | len(names)) << 3 | len(values[0])) << 3 | len(values[1])
    bits = bits << _FACTS_BITS | facts
    for name in names:
        bits = bits << _NAME_BITS | name
    for value in (*values[0], *values[1]):
        bits = bits << _VALUE_BITS | value
    size = _size(len(names), len(values[0]) + len(values[1]))
    return (bits << -size % 8).to_bytes(-(-size // 8), "big")


def _size(names: int, values: int) -> int:
    """Return the number of bits of a sketch."""
    return _HEAD_BITS + names * _NAME_BITS + values * _VALUE_BITS


def unpack_identity(sketch: bytes) -> Identity | None:
    """Return the parts of a sketch; None for one that is empty or damaged."""
    if 8 * len(sketch) < _HEAD_BITS:
        return None
    head = int.from_bytes(sketch[: _HEAD_BITS // 8], "big")
    facts = head & (1 << _FACTS_BITS) - 1
    head >>= _FACTS_BITS
    outer, inner, count, flags = head & 7, head >> 3 & 7, head >> 6 & 15, head >> 10
    size = _size(count, inner + outer)
    if -(-size // 8) != len(sketch):
        return None
    bits = int.from_bytes(sketch, "big") >> -size % 8
    values = []
    for _ in range(inner + outer):
        values.append(bits & (1 << _VALUE_BITS) - 1)
        bits >>= _VALUE_BITS
    names: dict[int, int] = {}
    for _ in range(count):
        names[bits >> _FLAG_BITS & (1 << 2 + _HASH_BITS) - 1] = bits & (1 << _FLAG_BITS) - 1
        bits >>= _NAME_BITS
    return Identity(
        Sample(names, bool(flags & 4)),
        Sample(dict.fromkeys(values[outer:], 0), bool(flags & 2)),
        Sample(dict.fromkeys(values[:outer], 0), bool(flags & 1)),
        facts,
    )


def _own_name(name: str) -> set[str]:
    return {*name_tokens(name)} - VIEW_WORDS


def _name_key(token: str, table: bytes) -> int:
    hashed = _hash(token.encode("utf-8", "surrogatepass")[:MAX_TOKEN_BYTES], table, _HASH_BITS)
    if _has_digit(token):
        return DIGIT | hashed
    tells = len(token) >= MIN_TELLING_LENGTH or _is_unspaced(token)
    return (TELLING if tells else FILLER) | hashed


def _bottom(values: Collection[bytes], table: bytes) -> list[int]:
    return sorted({_hash(value[:MAX_TOKEN_BYTES], table, _VALUE_BITS) for value in values})[:MAX_VALUES]


def _hash(token: bytes, table: bytes, bits: int) -> int:
    """Return a keyed hash: a secret substitution of the bytes, which is not linear, then a CRC."""
    return (crc32(token.translate(table)) * _MULTIPLIER & 0xFFFFFFFF) >> (32 - bits)


@cache
def _keyed_bytes(seed: int) -> bytes:
    """Return a permutation of all bytes that depends on the seed."""
    order = list(range(256))
    state = seed
    for place in range(255, 0, -1):
        state = split_mix(state)
        other = state % (place + 1)
        order[place], order[other] = order[other], order[place]
    return bytes(order)


def _stands(token: str, text: bytes) -> bool:
    """Return whether a token stands in a folded text, as a whole word where words have ends."""
    word = token.encode("utf-8", "surrogatepass")
    at = text.find(word)
    if at < 0 or _is_unspaced(token):
        return at >= 0
    while at >= 0:
        end = at + len(word)
        if not (_is_in_word(text[end : end + 1]) or _is_in_word(text[max(0, at - 1) : at])):
            return True
        at = text.find(word, at + 1)
    return False


def _is_in_word(byte: bytes) -> bool:
    return byte.isalnum() or byte >= b"\x80"
