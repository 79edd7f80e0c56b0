"""The identity of a page on its own site: a small sketch of its names and values.

Pages of one site may share a template, terms of sale, a consent text or an author's biography, and with them
nearly all text that is read as main text. A few words tell such pages apart: the *names* (heading and title)
and the *values* (tokens with digits: sizes, dates, prices). :mod:`dedupcrawl.siblings` compares two sketches.

An identity begins with the signature of the layout (:mod:`dedupcrawl.layout`). The sketch that follows is one
big-endian number of whole bytes. Its bits, the highest first:

* 3 bits: whether there is a hash of the body, whether the text is brief, whether the heading is long; 4 bits: which of
  the four samples are whole; 4 bits: number of names; 3 bits each: numbers of values in the main text, of values beside
  it, and of short facts; 16 bits: hash of the facts, all numbers of the main text in order with their neighbours;
* 16 bits: hash of the body, the main text without the lines that are the heading or the title, if it has any;
* 24 bits: number of short facts (8 bits) and hash of them all (16 bits), if their sample is not whole;
* 20 bits a name: class (2 bits), hash (14 bits), flags (4 bits), see :class:`Name`;
* 16 bits a value: class (1 bit) and hash; 16 bits a short fact: hash, and whether it stands beside the main text (1
  bit).

Values beside the main text and short facts are stored only of a page whose main text is not about its name: beside an
article they belong to the site.

Names, values and short facts are bottom-k samples: the k lowest hashes in an order that all pages share (Broder, *On
the resemblance and containment of documents*, 1997), so that the samples of two pages can be compared.

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
from dedupcrawl.page.signatures import LAYOUT_BYTES
from dedupcrawl.text.features import Features, compared_text
from dedupcrawl.text.normalize import CODE, decode, pack, simplify
from dedupcrawl.text.shingles import seeded_hash, split_mix
from dedupcrawl.values import MAX_SHORTS, page_values, short_facts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dedupcrawl.page.model import Page

MAX_NAMES = 15  #: tokens of the names in a sketch
MAX_VALUES = 6  #: values of the main text in a sketch, of the text beside it, and short facts
MIN_TELLING_LENGTH = 4  #: shorter words ("the", "of") do not show what a text is about
MAX_TOKEN_BYTES = 32  #: bytes of a token that are hashed
MAX_SEARCHED = 4096  #: bytes of a text in which names are looked for
MAX_NAME_CHARS = 1000  #: characters of a heading or title that are read
MAX_BRIEF = 2000  #: bytes of a brief text, such as a notice: in a longer one a single date or price is a detail
MIN_ABOUT = 0.5  #: a text with at least this share of a name's telling tokens is about that name
#: Telling tokens of a heading that names one page, not a kind of pages ("Our doctors"). A pair of characters of a text
#: without spaces counts as a third of one.
LONG_HEADING = 4
#: Words of titles that name a view of a page, not its topic.
VIEW_WORDS = word_set(
    "print printer printable friendly version amp mobile page view untitled 打印 印本 本页 列印"
    " druckversion druckansicht drucken druckbare ansicht seite"
    " imprimer imprimable impression imprimir impresión imprimible versión versão impressão para página"
    " stampa stampare stampabile versione pagina afdrukken afdrukversie printversie utskrift utskriftsvänlig skriv"
    " wersja druku drukuj wydruk печать печати версия для страницы распечатать"
    " 印刷 刷用 用ペ ペー ージ 印刷用 인쇄 쇄용"
)

_HASH_BITS = 14
_FLAG_BITS = 4
_NAME_BITS = 2 + _HASH_BITS + _FLAG_BITS
_VALUE_BITS = 16
_FACTS_BITS = 16
_HEAD_BITS = 36
_BODY_BYTES = 2
_SHORTS_BITS = 24
_SHORTS_HASH = (1 << 16) - 1
BESIDE = 1  #: short facts beside the main text have this bit
WEAK = 1 << _VALUE_BITS - 1  #: weak values have this bit; the strong ones come first
_HEXADECIMAL = tuple("%09x%s%s" + "%05x" * names for names in range(MAX_NAMES + 1))
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
    facts: int  #: hash of all numbers of the main text in order, with their neighbours
    body: int  #: hash of the main text without the lines that are the heading or title; -1 if it has none
    shorts: Sample  #: short facts of a page whose text is not about its name
    all_shorts: tuple[int, int]  #: how many there are, and the hash of all; (0, 0) if the sample is whole
    has_long_heading: bool  #: whether the heading names one page, not a kind of pages
    is_brief: bool  #: whether the main text has less than ``MAX_BRIEF`` bytes


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

    It has 9 to 86 bytes.

    Args:
        page: the page.
        text: its normalised text in UTF-8, see :attr:`dedupcrawl.text.features.Features.encoded`.
        seed: key of the hashes, 0…2⁶⁴ - 1.
        fold_chinese: whether traditional characters of names are converted to simplified ones, as in the text.
    """
    named = [_folded_name(name, fold_chinese=fold_chinese) for name in (page.heading, page.title)]
    heading, title = map(_own_name, named)
    keys = sorted([(_name_key(token[:MAX_TOKEN_BYTES], seed), token) for token in heading | title])
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
    is_foreign = not is_about_its_name({each >> _FLAG_BITS: each & (1 << _FLAG_BITS) - 1 for each in names})
    said = _said(page, text, _keyed_bytes(seed), is_foreign=is_foreign)
    flags = (body is not None) << 6 | (len(text) < MAX_BRIEF) << 5 | _is_long(heading) << 4 | is_whole << 3
    for place, sample in enumerate(said.samples):
        flags |= (len(sample) <= MAX_VALUES) << 2 - place
    sketch = _pack(
        names,
        [_bottom(sample) for sample in said.samples],
        flags,
        said.facts,
        body="" if body is None else seeded_hash(body, _BODY_BYTES, seed).hex(),
        shorts="" if len(said.samples[2]) <= MAX_VALUES else _hash_shorts(said.shorts),
    )
    return with_layout(page.layout, sketch, page.removed)


class _Said(NamedTuple):
    """What a page says, in hashes."""

    samples: tuple[set[int], set[int], set[int]]  #: the values in the main text, those beside it, and the short facts
    shorts: Collection[int]  #: the short facts in 32 bits
    facts: int  #: all numbers of the main text


def _said(page: Page, text: bytes, table: bytes, *, is_foreign: bool) -> _Said:
    """Return the values and short facts of a page; those beside its text only where it is about something else."""
    values = page_values(page, text, beside=is_foreign)
    strength = (*values.inner.values(), *values.outer.values())
    hashes = [
        each >> 33 - _VALUE_BITS | (0 if is_strong else WEAK)
        for each, is_strong in zip(_hashes([*values.inner, *values.outer], table), strength, strict=True)
    ]
    inner, outer = {*hashes[: len(values.inner)]}, {*hashes[len(values.inner) :]}
    shorts = {_hash_of(each, table): is_beside for each, is_beside in short_facts(page).items()} if is_foreign else {}
    short = {each >> 33 - _VALUE_BITS << 1 | BESIDE * is_beside for each, is_beside in shorts.items()}
    return _Said((inner, outer, short), shorts, _hash_of(values.facts, table) >> 32 - _FACTS_BITS)


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
        if shown and not any(map(name.__contains__, absent)) and (shown in page.text or shown in page.rest)
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


def _bottom(hashes: set[int]) -> list[int]:
    return [*hashes] if len(hashes) < 2 else sorted(hashes)[:MAX_VALUES]


def _hash_shorts(hashes: Collection[int]) -> str:
    """Return the number of short facts and the hash of them all, hexadecimal."""
    return f"{min(len(hashes), MAX_SHORTS + 1):02x}{sum(hashes) >> 8 & _SHORTS_HASH:04x}"


def _is_long(heading: Iterable[str]) -> bool:
    telling = [token for token in heading if _class_of(token) == TELLING]
    pairs = 0 if "".join(telling).isascii() else sum(bool(_is_unspaced(token)) for token in telling)
    return len(telling) - pairs + pairs / 3 >= LONG_HEADING


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
    heading, title = (_own_name(_folded_name(name, fold_chinese=fold_chinese)) for name in (page.heading, page.title))
    found = page_values(page, Features(page, fold_chinese).encoded)
    values = {**found.inner, **found.outer}
    hashed = zip(_hashes(values, _keyed_bytes(seed)), values.items(), strict=True)
    return Labels(
        {_name_key(token[:MAX_TOKEN_BYTES], seed): token for token in heading | title},
        {
            each >> 33 - _VALUE_BITS | (0 if is_strong else WEAK): value.decode("utf-8", "replace")
            for each, (value, is_strong) in hashed
        },
    )


def _folded_name(name: str, *, fold_chinese: bool) -> str:
    # Folding may lengthen a text.
    return _fold(name[:MAX_NAME_CHARS], fold_chinese=fold_chinese)[:MAX_NAME_CHARS] if name else ""


def _fold(text: str, *, fold_chinese: bool) -> str:
    if text.isascii():
        return text.lower()
    return decode(simplify(pack(text)) & CODE) if fold_chinese else unicodedata.normalize("NFKC", text).casefold()


def _pack(
    names: Sequence[int], samples: Sequence[Sequence[int]], flags: int, facts: int, *, body: str, shorts: str
) -> bytes:
    """Return the bytes of a sketch.

    Args:
        names: class, hash and flags of each name.
        samples: the values in the main text, those beside it, and the short facts.
        flags: seven bits: whether there is a body, whether the text is brief, whether the heading is long, and whether
            these are all names, values of the main text, values beside it, and short facts.
        facts: hash of the facts.
        body: hash of the body, hexadecimal; "" without.
        shorts: number and hash of the short facts, hexadecimal; "" if they are all there.
    """
    inner, outer, short = samples
    head = (((flags << 4 | len(names)) << 3 | len(inner)) << 3 | len(outer)) << 3 | len(short)
    # All parts are whole hexadecimal digits: one formatting is faster than arithmetic on long integers.
    form = _HEXADECIMAL[len(names)] + "%04x" * (len(inner) + len(outer) + len(short))
    digits = form % (head << _FACTS_BITS | facts, body, shorts, *names, *inner, *outer, *short)
    return bytes.fromhex(digits if len(digits) % 2 == 0 else digits + "0")


def _size(names: int, values: int, *, has_body: bool, has_shorts: bool) -> int:
    """Return the number of bits of a sketch."""
    return (
        _HEAD_BITS + 8 * _BODY_BYTES * has_body + _SHORTS_BITS * has_shorts + names * _NAME_BITS + values * _VALUE_BITS
    )


def unpack_identity(identity: bytes) -> Identity | None:
    """Return the parts of an identity; None for one that is empty or damaged."""
    sketch = without_layout(identity)
    if 8 * len(sketch) < _HEAD_BITS:
        return None
    bits = int.from_bytes(sketch, "big")
    head = bits >> 8 * len(sketch) - _HEAD_BITS
    facts = head & (1 << _FACTS_BITS) - 1
    head >>= _FACTS_BITS
    short, outer, inner, count, flags = head & 7, head >> 3 & 7, head >> 6 & 7, head >> 9 & 15, head >> 13
    has_body, is_cut = bool(flags & 64), not flags & 1
    size = _size(count, inner + outer + short, has_body=has_body, has_shorts=is_cut)
    if -(-size // 8) != len(sketch):
        return None
    bits >>= -size % 8
    values = []
    for _ in range(inner + outer + short):
        values.append(bits & (1 << _VALUE_BITS) - 1)
        bits >>= _VALUE_BITS
    names: dict[int, int] = {}
    for _ in range(count):
        names[bits >> _FLAG_BITS & (1 << 2 + _HASH_BITS) - 1] = bits & (1 << _FLAG_BITS) - 1
        bits >>= _NAME_BITS
    all_shorts = (bits >> 16 & 0xFF, bits & _SHORTS_HASH) if is_cut else (0, 0)
    bits >>= _SHORTS_BITS * is_cut
    return Identity(
        Sample(names, bool(flags & 8)),
        Sample(dict.fromkeys(values[short + outer :], 0), bool(flags & 4)),
        Sample(dict.fromkeys(values[short : short + outer], 0), bool(flags & 2)),
        facts,
        bits & (1 << 8 * _BODY_BYTES) - 1 if has_body else -1,
        Sample(dict.fromkeys(values[:short], 0), not is_cut),
        all_shorts,
        bool(flags & 16),
        bool(flags & 32),
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


def is_about_its_name(names: Mapping[int, int]) -> bool:
    """Return whether the body of a page is about its heading, or without a heading its title.

    A single word proves nothing: "Decision" may stand above and in many texts.
    """
    own = [key for key, flags in names.items() if flags & HEADING] or [*names]
    return len([key for key in own if key < FILLER]) > 1 and about(names, own, BODY) >= MIN_ABOUT


def about(names: Mapping[int, int], some: Iterable[int], place: int = MAIN) -> float:
    """Return how many of the telling ones among some tokens of a name stand in the main text, or its body, 0…1."""
    telling = [key for key in some if key < FILLER]
    return sum(names[key] & place == place for key in telling) / len(telling) if telling else 0.0


def _hash_of(text: bytes, table: bytes) -> int:
    return crc32(text.translate(table)) * _MULTIPLIER & _HASHED


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
