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

A page without main text, which is compared by all its visible text, has a mark of one byte instead of a sketch:
the reason why it stays unchecked if no earlier page has the same text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from enum import IntFlag
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from dedupcrawl.page.flatten import word_set
from dedupcrawl.text.features import Features
from dedupcrawl.text.normalize import CODE, decode, pack, simplify
from dedupcrawl.text.shingles import split_mix

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from dedupcrawl.page.model import Page

MAX_NAMES = 15  #: tokens of the names in a sketch
MAX_NUMBERS = 128  #: numbers of a text that are examined
MAX_VALUES = 6  #: values of the main text in a sketch, and of the text beside it
MIN_TELLING_LENGTH = 4  #: shorter words ("the", "of") do not show what a text is about
MAX_TOKEN_BYTES = 32  #: bytes of a token that are hashed
MAX_SEARCHED = 4096  #: bytes of a text in which names are looked for
#: Words of titles that name a view of a page, not its topic.
VIEW_WORDS = word_set("print printer printable friendly version amp mobile page view untitled 打印 印本 本页")

_HASH_BITS = 14
_FLAG_BITS = 4
_NAME_BITS = 2 + _HASH_BITS + _FLAG_BITS
_VALUE_BITS = 12
_FACTS_BITS = 19
_HEAD_BITS = 32
DIGIT, TELLING, FILLER = 0, 1 << _HASH_BITS, 2 << _HASH_BITS  #: classes of names, in the order of sampling
_HASHED = 0xFFFFFFFF
_MULTIPLIER = 0x9E3779B1  #: 2^32 / golden ratio: spreads the low bits of a CRC to the high ones

_words = re.compile(r"[^\W_]+").findall
_UNSPACED_RUN = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
_LETTERS = frozenset(each for each in range(256) if bytes((each,)).isalnum() or each >= 0x80)  #: bytes within words
_unspaced_parts = re.compile(f"({_UNSPACED_RUN})").split
_is_unspaced = re.compile(_UNSPACED_RUN).match
_has_digit = re.compile(r"\d").search

_ZERO = np.uint8(48)
_IS_MARK = np.zeros(256, bool)  #: bytes that join digits to one number: 3.5, 1,200, 2024-05-03, 10x20
_IS_MARK[[*b".,:/x'-"]] = True


def _alternatives(english: str, chinese: str) -> str:
    return "|".join(map(re.escape, (*english.split(), *chinese.split())))


#: After a number: words that count readers or tell a time that passes. "12 of 40 found this helpful" are two numbers.
_is_counted = re.compile(
    (
        r"(?: of [0-9]{1,9})?(?:[ +k)]|万|萬){0,3}(?:"
        r"(?:comment|repl(?:y|ie)|view|reader?|like|share|vote|visit(?:or)?|download|follower|user|hit)s?\b"
        r"|(?:people|persons?|users?|readers?|customers?|members?) (?:found|like|watch|view|online|read|have\b|has\b)"
        r"|found (?:this|it) |(?:min(?:ute)?s?|hours?|days?) ago\b|"
        + _alternatives("▲ ▼", "人看 人浏览 人瀏覽 人阅读 人閱讀 人评论 人評論 人点 人點 条评论 條評論 条回复 條回覆")
        + r"|(?:次)?(?:阅读|閱讀|浏览|瀏覽|点击|點擊|播放|下载|下載)|评论|評論|点赞|點讚|(?:分钟|分鐘|小时|小時)前)"
    ).encode()
).match
_COUNTED_STARTS = (
    *("co", "re", "vi", "li", "sh", "vo", "do", "fo", "us", "hi", "pe", "cu", "me", "mi", "ho", "da", "of"),
    *("k", "k ", "+ ", ") ", "+)", *"▲▼万萬人条條次阅閱浏瀏点點播下评評分小"),
)
#: Words before a number that count readers, and arrows of tickers; "read 12 times".
_COUNTING = tuple(
    each.encode()
    for each in (
        *("comments", "replies", "views", "reads", "readers", "likes", "shares", "votes", "visits", "visitors"),
        *("downloads", "hits", "users", "followers", "read", "viewed", "shared", "visited", "downloaded", "played"),
        *("▲", "▼", "阅读", "閱讀", "阅读数", "阅读量", "浏览", "瀏覽", "浏览量", "点击", "點擊", "评论", "評論"),
        *("回复", "回覆", "点赞", "點讚", "转发", "轉發", "收藏", "人气", "人氣"),
    )
)
_COLON, _BRACKET = "：".encode(), "（".encode()  #: text beside the main text is not normalised
#: The last two bytes of these words, and the first two of those after a number, with what stands between.
_ENDS = frozenset([*(each[-2:] for each in _COUNTING), b": ", b" (", _COLON[-2:], _BRACKET[-2:]])
_STARTS = frozenset(each.encode()[:2] for each in _COUNTED_STARTS)
_REACH = 16  #: bytes before a number in which these words are looked for


class Name(IntFlag):
    """Where a token of a page's names stands."""

    HEADING = 1
    TITLE = 2
    SAID = 4  #: in the text of the page, other than the heading; not examined for fillers
    MAIN = 8  #: in its main text; not examined for fillers


#: The same as plain integers: operations on an enum take twenty times as long.
HEADING, TITLE, SAID, MAIN = map(int, Name)


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
    return _values_inside_and_beside(text, b"")[0]


def page_values(page: Page, text: bytes) -> tuple[set[bytes], set[bytes]]:
    """Return the values in the main text of a page, and those beside it only.

    Args:
        page: the page.
        text: its normalised text in UTF-8.
    """
    # Only digits and letters of ASCII matter here: to fold the text would take longer than to search it.
    return _values_inside_and_beside(text, page.stated.encode("utf-8", "surrogatepass").lower())


def _values_inside_and_beside(text: bytes, beside: bytes) -> tuple[set[bytes], set[bytes]]:
    """Return the values of two texts, in one pass: calls of numpy on short texts are expensive."""
    # Before the first number too, three bytes can be looked at.
    both = b"".join((b"   ", text, b"   ", beside))
    starts, stops = _number_places(both)
    middle = bisect_left(starts, len(text) + 3)
    inner = _values_at(both, starts[: min(middle, MAX_NUMBERS)], stops)
    outer = _values_at(both, starts[middle : middle + MAX_NUMBERS], stops[middle:]) - inner
    return inner, outer


def _values_at(text: bytes, starts: list[int], stops: list[int]) -> set[bytes]:
    values: set[bytes] = set()
    for start, stop in zip(starts, stops, strict=False):
        value = text[start:stop]
        # The pairs of bytes rule out for most numbers that a word of a counter stands beside it.
        if value not in values and not (
            (
                text[stop + 1 : stop + 3] in _STARTS
                or text[start - 2 : start] in _ENDS
                or text[start - 3 : start - 1] in _ENDS
                or text[stop : stop + 2] in _STARTS
            )
            and _is_counter(text, start, stop)
        ):
            values.add(value)
    return values


def _number_places(text: bytes) -> tuple[list[int], list[int]]:
    """Return where the numbers start and stop; a regular expression takes three times as long to find them."""
    points = np.frombuffer(text, np.uint8)
    digits = (points - _ZERO < 10).nonzero()[0]
    if not len(digits):
        return [], []
    after = digits[:-1] + 1
    gaps = digits[1:] - after  # 0 within a run of digits
    ends = ((gaps > 0) & ((gaps > 1) | ~_IS_MARK[points[after]])).nonzero()[0]
    starts = [int(digits[0]), *digits[ends + 1].tolist()]
    return starts, [*after[ends].tolist(), int(digits[-1]) + 1]


def _is_counter(text: bytes, start: int, stop: int) -> bool:
    """Return whether a number counts readers or tells a time that passes."""
    before = text[max(0, start - _REACH) : start].rstrip(b" :(").removesuffix(_COLON).removesuffix(_BRACKET)
    return before.endswith(_COUNTING) or _is_counted(text, stop) is not None


def sketch_identity(page: Page, text: bytes, seed: int, *, fold_chinese: bool = False) -> bytes:
    """Return the sketch of a page's names and values, 4 to 60 bytes.

    Args:
        page: the page.
        text: its normalised text in UTF-8, see :attr:`dedupcrawl.text.features.Features.encoded`.
        seed: key of the hashes, 0…2⁶⁴ - 1.
        fold_chinese: whether traditional characters of names are converted to simplified ones, as in the text.
    """
    heading, title = (_own_name(_fold(name, fold_chinese=fold_chinese)) for name in (page.heading, page.title))
    keys = sorted([(_name_key(token, seed), token) for token in heading | title])
    names = {
        key: (HEADING if token in heading else 0) | (TITLE if token in title else 0) for key, token in keys[:MAX_NAMES]
    }
    _look_for(keys[:MAX_NAMES], names, text, page.beside)
    inner, outer = page_values(page, text)
    hashes = _hashes([*inner, *outer], _keyed_bytes(seed))
    samples = [_bottom(hashes[: len(inner)]), _bottom(hashes[len(inner) :])]
    is_whole = (len(keys) <= MAX_NAMES, len(inner) <= MAX_VALUES, len(outer) <= MAX_VALUES)
    facts = (sum(hashes[: len(inner)]) & _HASHED) >> 32 - _FACTS_BITS
    return _pack([key << _FLAG_BITS | where for key, where in names.items()], samples, is_whole, facts)


#: Reasons by their marks. All marks have the same size, and no sketch has it.
_UNREAD = {b"\1": "index", b"\2": "empty"}
_MARKS = {reason: mark for mark, reason in _UNREAD.items()}
MARK_BYTES = 1


def unread_mark(reason: str) -> bytes:
    """Return what stands in place of the sketch of a page without main text, "index" or "empty"."""
    return _MARKS[reason]


def unread_reason(sketch: bytes) -> str:
    """Return why a page has no main text, "" for one that has.

    >>> unread_reason(unread_mark("index")), unread_reason(bytes(12))
    ('index', '')
    """
    return _UNREAD.get(sketch, "") if len(sketch) == MARK_BYTES else ""


def _bottom(hashes: list[int]) -> list[int]:
    return sorted({each >> 32 - _VALUE_BITS for each in hashes})[:MAX_VALUES]


def _look_for(keys: list[tuple[int, str]], names: dict[int, int], text: bytes, beside: str) -> None:
    """Set the flags of the names that stand in the text and beside it."""
    text = text[:MAX_SEARCHED]
    missing = []
    for key, token in keys:
        if key >= FILLER:
            break
        word = token.encode("utf-8", "surrogatepass")
        if _stands(word, text, token):
            names[key] |= SAID | MAIN
        else:
            missing.append((key, token, word))
    if not missing or not beside:
        return
    # Letters outside ASCII keep their case here: folding all text of a page takes longer than the rest.
    other = beside[:MAX_SEARCHED].encode("utf-8", "surrogatepass").lower()
    for key, token, word in missing:
        if _stands(word, other, token) or (
            not token.isascii() and _stands(token.capitalize().encode("utf-8", "surrogatepass"), other, token)
        ):
            names[key] |= SAID


class Labels(NamedTuple):
    """The texts behind the hashes of a sketch."""

    names: dict[int, str]
    values: dict[int, str]  #: of the main text and beside it


def label_identity(page: Page, seed: int, *, fold_chinese: bool = False) -> Labels:
    """Return the texts of all names and values of a page, by their hashes in sketches under ``seed``."""
    heading, title = (_own_name(_fold(name, fold_chinese=fold_chinese)) for name in (page.heading, page.title))
    inner, outer = page_values(page, Features(page, fold_chinese).encoded)
    values = [*inner, *outer]
    hashed = zip(_hashes(values, _keyed_bytes(seed)), values, strict=True)
    return Labels(
        {_name_key(token, seed): token for token in heading | title},
        {each >> 32 - _VALUE_BITS: value.decode() for each, value in hashed},
    )


def _fold(text: str, *, fold_chinese: bool) -> str:
    if text.isascii():
        return text.lower()
    return decode(simplify(pack(text)) & CODE) if fold_chinese else unicodedata.normalize("NFKC", text).casefold()


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


@lru_cache(maxsize=16384)
def _name_key(token: str, seed: int) -> int:
    """Return the class of a token and its hash. The names of a site's pages have most words in common."""
    encoded = token.encode("utf-8", "surrogatepass")
    return _class_of(token) | _hashes([encoded], _keyed_bytes(seed))[0] >> 32 - _HASH_BITS


def _class_of(token: str) -> int:
    if not token.isalpha() and _has_digit(token):
        return DIGIT
    return TELLING if len(token) >= MIN_TELLING_LENGTH or _is_unspaced(token) else FILLER


def _hashes(tokens: Collection[bytes], table: bytes) -> list[int]:
    """Return keyed hashes of 32 bits: a secret substitution of the bytes, which is not linear, then a CRC.

    No token may hold a line break. Of each, ``MAX_TOKEN_BYTES`` are hashed.
    """
    if not tokens:
        return []
    parts = b"\n".join(tokens).translate(table).split(table[10:11])
    return [crc32(part[:MAX_TOKEN_BYTES]) * _MULTIPLIER & _HASHED for part in parts]


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


def _stands(word: bytes, text: bytes, token: str) -> bool:
    """Return whether a token stands in a folded text, as a whole word where words have ends.

    Args:
        word: the token in UTF-8.
        text: the text in UTF-8.
        token: the token.
    """
    at = text.find(word)
    if at < 0 or (not token.isascii() and _is_unspaced(token)):
        return at >= 0
    while at >= 0:
        end = at + len(word)
        if (end == len(text) or text[end] not in _LETTERS) and (at == 0 or text[at - 1] not in _LETTERS):
            return True
        at = text.find(word, end)
    return False
