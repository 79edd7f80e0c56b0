"""The identity of a page on its own site: a small sketch of its names and values.

Pages of one site may share a template, terms of sale, a consent text or an author's biography, and with them
nearly all text that is read as main text. A few words tell such pages apart: the *names* (heading and title)
and the *values* (tokens with digits: sizes, dates, prices). :mod:`dedupcrawl.siblings` compares two sketches.

An identity begins with the signature of the layout (:mod:`dedupcrawl.layout`). The sketch that follows is one
big-endian number of whole bytes. Its bits, the highest first:

* 1 bit: whether there is a hash of the body; 3 bits: which of the three samples are whole; 4 bits: number of names;
  3 bits each: numbers of values in the main text and beside it; 18 bits: hash of all values in the main text;
* 24 bits: hash of the body, the main text without the lines that are the heading or the title, if it has any;
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
from enum import IntFlag
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from dedupcrawl.layout import with_layout, without_layout
from dedupcrawl.page.flatten import word_set
from dedupcrawl.page.structure import LAYOUT_BYTES
from dedupcrawl.text.features import Features, compared_text
from dedupcrawl.text.normalize import CODE, decode, pack, simplify
from dedupcrawl.text.shingles import seeded_hash, split_mix
from dedupcrawl.values import page_values

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dedupcrawl.page.model import Page

MAX_NAMES = 15  #: tokens of the names in a sketch
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
_FACTS_BITS = 18
_HEAD_BITS = 32
_BODY_BYTES = 3
_HEXADECIMAL = tuple("%08x%s" + "%05x" * names for names in range(MAX_NAMES + 1))
DIGIT, TELLING, FILLER = 0, 1 << _HASH_BITS, 2 << _HASH_BITS  #: classes of names, in the order of sampling
_HASHED = 0xFFFFFFFF
_MULTIPLIER = 0x9E3779B1  #: 2^32 / golden ratio: spreads the low bits of a CRC to the high ones

_words = re.compile(r"[^\W_]+").findall
_UNSPACED_RUN = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
_LETTERS = frozenset(each for each in range(256) if bytes((each,)).isalnum() or each >= 0x80)  #: bytes within words
_unspaced_parts = re.compile(f"({_UNSPACED_RUN})").split
_is_unspaced = re.compile(_UNSPACED_RUN).match
_has_digit = re.compile(r"\d").search


class Name(IntFlag):
    """Where a token of a page's names stands."""

    HEADING = 1
    TITLE = 2
    #: in the text of the page, other than a line that is the heading or title; not examined for fillers, nor beside the
    #: main text of a page with a heading
    SAID = 4
    MAIN = 8  #: in its main text, such lines included; not examined for fillers


#: The same as plain integers: operations on an enum take twenty times as long.
HEADING, TITLE, SAID, MAIN = map(int, Name)
BODY = SAID | MAIN  #: in the main text other than such lines


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
    body: int  #: hash of the main text without the lines that are the heading or title; -1 if it has none


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


def sketch_identity(page: Page, text: bytes, seed: int, *, fold_chinese: bool = False) -> bytes:
    """Return the identity of a page: the signature of its layout, and the sketch of its names and values.

    It has 8 to 67 bytes.

    Args:
        page: the page.
        text: its normalised text in UTF-8, see :attr:`dedupcrawl.text.features.Features.encoded`.
        seed: key of the hashes, 0…2⁶⁴ - 1.
        fold_chinese: whether traditional characters of names are converted to simplified ones, as in the text.
    """
    named = [_fold(name, fold_chinese=fold_chinese) if name else "" for name in (page.heading, page.title)]
    heading, title = map(_own_name, named)
    keys = sorted([(_name_key(token, seed), token) for token in heading | title])
    is_whole = len(keys) <= MAX_NAMES
    del keys[MAX_NAMES:]
    # The heading is shown anyway: what a title says beside it does not matter.
    where = _places(keys, text, "" if heading else page.beside)
    body = _body(page, _name_lines(page, named, keys, where), text) if BODY in where else None
    if body is not None:
        inside = _places(keys, body, "")
        where = [MAIN if place == BODY != other else place for place, other in zip(where, inside, strict=True)]
    names = [
        (key << _FLAG_BITS) + (token in heading) + 2 * (token in title) + place
        for (key, token), place in zip(keys, where, strict=True)
    ]
    inner, outer = page_values(page, text)
    hashes = _hashes([*inner, *outer], _keyed_bytes(seed))
    count = len(inner)
    mine, others = hashes[:count], hashes[count:]
    whole = is_whole << 2 | (count <= MAX_VALUES) << 1 | (len(others) <= MAX_VALUES)
    facts = (sum(mine) & _HASHED) >> 32 - _FACTS_BITS
    hashed = "" if body is None else seeded_hash(body, _BODY_BYTES, seed).hex()
    sketch = _pack(names, (_bottom(mine), _bottom(others)), whole, facts, hashed)
    return with_layout(page.layout, sketch, page.removed)


#: Reasons by their marks. All marks have the same size, and no sketch has it.
_UNREAD = {b"\1": "index", b"\2": "empty"}
_MARKS = {reason: mark for mark, reason in _UNREAD.items()}
UNREAD_BYTES = LAYOUT_BYTES + 1  #: size of the identity of a page that is compared without main text


def unread_identity(page: Page) -> bytes:
    """Return the identity of a page without main text: the reason, "index" or "empty", in place of a sketch."""
    return with_layout(page.layout, _MARKS[str(page.kind)])


def unread_reason(identity: bytes) -> str:
    r"""Return why a page has no main text, "" for one that has.

    >>> unread_reason(bytes(4) + b"\1"), unread_reason(bytes(12))
    ('index', '')
    """
    return _UNREAD.get(without_layout(identity), "") if len(identity) == UNREAD_BYTES else ""


def _name_lines(
    page: Page, named: Sequence[str], keys: Sequence[tuple[int, str]], where: Sequence[int]
) -> dict[str, str]:
    """Return the heading and the title, as shown and folded, that may be a line of the main text."""
    absent = [token for (key, token), place in zip(keys, where, strict=True) if place != BODY and key < FILLER]
    return {
        shown: name
        for shown, name in zip((page.heading, page.title), named, strict=True)
        if shown and not any(map(name.__contains__, absent)) and shown in page.text
    }


def _body(page: Page, lines: Mapping[str, str], text: bytes) -> bytes | None:
    """Return the normalised text without the lines that are the heading or the title; None if there is no such line.

    Args:
        page: the page.
        lines: heading and title as shown, and folded.
        text: the normalised text of the page.
    """
    if not lines:
        return None
    all_lines = compared_text(page).split("\n")
    body, is_shown = b" %b " % text, False
    for shown, name in lines.items():
        line = b" %b " % " ".join(name.split()).encode("utf-8", "surrogatepass")
        for _ in range(all_lines.count(shown)):
            before, found, after = body.partition(line)
            body, is_shown = before + found[:1] + after, True
    return body.strip() if is_shown else None


def _bottom(hashes: list[int]) -> list[int]:
    if len(hashes) < 2:
        return [each >> 32 - _VALUE_BITS for each in hashes]
    return sorted({each >> 32 - _VALUE_BITS for each in hashes})[:MAX_VALUES]


def _places(keys: Sequence[tuple[int, str]], text: bytes, beside: str) -> list[int]:
    """Return for each name the flags that tell whether it stands in the text or beside it."""
    text = text[:MAX_SEARCHED]
    where = [0] * len(keys)
    missing = []
    for index, (key, token) in enumerate(keys):
        if key >= FILLER:
            break
        word = token.encode("utf-8", "surrogatepass")
        if _stands(word, text, token):
            where[index] = BODY
        else:
            missing.append((index, token, word))
    if not missing or not beside:
        return where
    # Letters outside ASCII keep their case here: folding all text of a page takes longer than the rest.
    other = beside[:MAX_SEARCHED].encode("utf-8", "surrogatepass").lower()
    for index, token, word in missing:
        if _stands(word, other, token) or (
            not token.isascii() and _stands(token.capitalize().encode("utf-8", "surrogatepass"), other, token)
        ):
            where[index] = SAID
    return where


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


def _pack(
    names: Sequence[int], values: tuple[Sequence[int], Sequence[int]], is_whole: int, facts: int, body: str
) -> bytes:
    """Return the bytes of a sketch.

    Args:
        names: class, hash and flags of each name.
        values: hashes of the values in the main text, and of those beside it.
        is_whole: three bits: whether these are all names, values of the main text, and values beside it.
        facts: hash of all values in the main text.
        body: hash of the body, hexadecimal; "" without.
    """
    inner, outer = values
    head = (((bool(body) << 3 | is_whole) << 4 | len(names)) << 3 | len(inner)) << 3 | len(outer)
    # Names and values are whole hexadecimal digits: one formatting is faster than arithmetic on long integers.
    form = _HEXADECIMAL[len(names)] + "%03x" * (len(inner) + len(outer))
    digits = form % (head << _FACTS_BITS | facts, body, *names, *inner, *outer)
    return bytes.fromhex(digits if len(digits) % 2 == 0 else digits + "0")


def _size(names: int, values: int, *, has_body: bool) -> int:
    """Return the number of bits of a sketch."""
    return _HEAD_BITS + 8 * _BODY_BYTES * has_body + names * _NAME_BITS + values * _VALUE_BITS


def unpack_identity(identity: bytes) -> Identity | None:
    """Return the parts of an identity; None for one that is empty or damaged."""
    sketch = without_layout(identity)
    if 8 * len(sketch) < _HEAD_BITS:
        return None
    head = int.from_bytes(sketch[: _HEAD_BITS // 8], "big")
    facts = head & (1 << _FACTS_BITS) - 1
    head >>= _FACTS_BITS
    outer, inner, count, flags = head & 7, head >> 3 & 7, head >> 6 & 15, head >> 10
    size = _size(count, inner + outer, has_body=flags >= 8)
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
        bits & (1 << 8 * _BODY_BYTES) - 1 if flags & 8 else -1,
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
