"""The parts of an identity, and how they are packed into bytes.

An identity begins with the signature of the layout (``page/signatures.py``). The sketch that follows has, with the
highest byte of a number first:

* a byte of flags, 1 for a brief text and 2 for an article, and two bytes each: the hash of the facts, which are all
  numbers of the main text in order with their neighbours; that of all text beside the main text; and that of the body,
  which is the main text without the lines that are the heading or the title. The last two are 0 if there is none;
* five samples: names, values of the main text, values beside it, short facts, sentences. Each is a byte, the number of
  hashes, plus 128 if the page has more; then a byte, how many the page has, and two bytes, a hash of them all; and
  the lowest hashes, two bytes each: those of sentences in the order of the text, the others sorted. A name has 14 bits
  below its class, a value 15 bits below ``WEAK``, a short fact 15 bits above ``BESIDE``, a sentence 16 bits;
* four bits for each name: where it stands.
"""

from __future__ import annotations

from enum import IntFlag
from struct import Struct, pack, unpack_from
from struct import error as StructError  # noqa: N812
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.errors import DamageError
from dedupcrawl.page.signatures import LAYOUT_BYTES, has_sound_layout, without_layout

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MAX_NAMES = 15  #: tokens of the names in a sketch
MAX_VALUES = 16  #: values of the main text in a sketch, of the text beside it, and short facts
MAX_SENTENCES = 24  #: sentences in a sketch
FEW_VALUES, FEW_SENTENCES = 6, 8  #: values of a text that is not brief, and sentences of an article or a long text
MAX_COUNT = 255  #: of the items of a page that are counted

#: In place of the sketch of a page that is compared without main text: why it has none.
UNREAD = {b"\1": "index", b"\2": "empty"}
UNREAD_BYTES = LAYOUT_BYTES + 1  #: size of the identity of such a page

HASH_BITS = 14  #: of a name, without its class
VALUE_BITS = 15  #: of a value, without its class, and of a short fact, without ``BESIDE``
FULL_BITS = 16  #: of a sentence, of the facts, and of the body
DIGIT, TELLING, FILLER = 0, 1 << HASH_BITS, 2 << HASH_BITS  #: classes of names, in the order of sampling
WEAK = 1 << VALUE_BITS  #: weak values have this bit; the strong ones come first
BESIDE = 1  #: short facts beside the main text have this bit
#: The samples in their order: how many hashes they have at most, and the bit of a hash that is a flag.
_SAMPLES = ((MAX_NAMES, 0), (MAX_VALUES, 0), (MAX_VALUES, 0), (MAX_VALUES, BESIDE), (MAX_SENTENCES, 0))
_HEAD, _ALL, _MORE = Struct(">BHHH"), Struct(">BH"), 0x80


class NameFlags(IntFlag):
    """The places where a token of a page's names occurs."""

    HEADING = 1
    TITLE = 2
    #: in the text of the page, other than a line that is the heading or title; not examined for fillers, nor beside the
    #: main text of a page with a heading
    SAID = 4
    MAIN = 8  #: in its main text, such lines included; not examined for fillers


#: The flags as plain integers: operations on an enum take twenty times as long.
HEADING, TITLE, SAID, MAIN = map(int, NameFlags)
BODY = SAID | MAIN  #: in the main text other than such lines


_IS_BRIEF, _IS_ARTICLE = 1, 2  # the flags of a sketch


class HashSample(NamedTuple):
    """The lowest hashes of a page in an order that all pages share; without hashes, how many there are."""

    items: dict[int, int]  #: hash → flags
    number: int = 0  #: how many the page has, at most ``MAX_COUNT``; 0 with hashes: not known, only their order counts
    total: int = 0  #: sum of all of them, modulo 2¹⁶

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return self.number == len(self.items)

    def lacking(self, other: HashSample) -> tuple[list[int], int]:
        """Return the items that ``other`` certainly lacks, and how many items could be compared.

        >>> HashSample({1: 0, 5: 0, 9: 0}, 3).lacking(HashSample({1: 0, 2: 0, 6: 0}, 7))
        ([5], 2)
        """
        end = 1 << 16 if other.is_whole else max(other.items, default=-1)
        seen = [each for each in self.items if each <= end]
        return [each for each in seen if each not in other.items], len(seen)

    def differs(self, other: HashSample, ignored: int = 0) -> bool:
        """Return whether each page certainly has an item that the other lacks.

        It is so if both have equally many, and not the same.

        Args:
            other: the sample of the other page.
            ignored: items with this flag do not count, but are not lacking either.

        >>> HashSample({}, 40, 7).differs(HashSample({}, 40, 9)), HashSample({}, 40, 7).differs(HashSample({}, 41, 9))
        (True, False)
        """
        has_own = self.has_own(other, ignored) and other.has_own(self, ignored)
        return bool(self.number and other.number and (has_own or (not ignored and self.is_as_many(other))))

    def is_as_many(self, other: HashSample) -> bool:
        """Return whether both pages have equally many items, which are not the same: each has one of its own."""
        return self.number == other.number < MAX_COUNT and self.total != other.total

    def has_own(self, other: HashSample, ignored: int = 0) -> bool:
        """Return whether the page certainly has an item that the other lacks, see :meth:`differs`."""
        return any(not self.items[each] & ignored for each in self.lacking(other)[0])


def sample(items: Mapping[int, int], limit: int, *, is_sorted: bool = True) -> HashSample:
    """Return the lowest of some hashes of 16 bits with their flags, at most ``limit``, their number, and their sum.

    They are sorted, or stay in the order of ``items``.
    """
    lowest = dict(sorted(items.items())[:limit])
    placed = lowest if is_sorted else {each: lowest[each] for each in items if each in lowest}
    return HashSample(placed, min(len(items), MAX_COUNT), sum(items) & 0xFFFF)


class Identity(NamedTuple):
    """A sketch in its parts."""

    names: HashSample
    inner: HashSample  #: values of the main text
    outer: HashSample  #: values beside it
    shorts: HashSample  #: short facts of a page whose text is not about its name
    sentences: HashSample  #: in the order of the text; without their number if the text is long
    facts: int  #: hash of all numbers of the main text in order, with their neighbours
    body: int  #: hash of the main text without the lines that are the heading or title; 0 if it has none
    is_brief: bool  #: whether the main text is brief, such as a notice
    is_article: bool  #: whether the main text is about the name of its page, and either of them is long
    around: int  #: hash of all text beside the main text; 0 if there is none


def pack_identity(identity: Identity) -> bytes:
    """Return the sketch of an identity, without the layout."""
    names, inner, outer, shorts, sentences, facts, body, is_brief, is_article, around = identity
    head = _HEAD.pack(_IS_BRIEF * is_brief | _IS_ARTICLE * is_article, facts, around, body)
    placed = [key | place for key, place in shorts.items.items()]
    samples = [_packed(each, each.items) for each in (names, inner, outer)]
    samples += (_packed(shorts, placed), _packed(sentences, sentences.items))
    places = [*names.items.values(), 0]
    pairs = zip(places[::2], places[1::2], strict=False)
    return b"".join((head, *samples, bytes([high << 4 | low for high, low in pairs])))


def _packed(sample: HashSample, hashes: Collection[int]) -> bytes:
    size = len(hashes)
    every = b"" if sample.is_whole else _ALL.pack(sample.number, sample.total)
    return bytes((size | _MORE * (not sample.is_whole),)) + every + pack(f">{size}H", *hashes)


def unpack_identity(identity: bytes) -> Identity | None:
    """Return the parts of an identity; None for a page that has none, or a mark in place of a sketch.

    Raises:
        DamageError: it is damaged, or of a kind that is not known.
    """
    sketch = without_layout(identity)
    is_mark = sketch in UNREAD and len(identity) == UNREAD_BYTES
    try:
        if has_sound_layout(identity):
            return None if is_mark or not sketch else _unpack(sketch)
    except (ValueError, IndexError, StructError):
        pass
    raise DamageError(f"An identity of {len(identity)} bytes is damaged, or was written by another version.")


def _unpack(sketch: bytes) -> Identity:
    (flags, facts, around, body), at, samples = _HEAD.unpack_from(sketch), _HEAD.size, []
    for limit, kind in _SAMPLES:
        found, at = _sample_at(sketch, at, limit, kind)
        samples.append(found)
    names, inner, outer, shorts, sentences = samples
    places = [place for byte in sketch[at:] for place in (byte >> 4, byte & 15)]
    if flags >= 2 * _IS_ARTICLE or len(places) != len(names.items) + len(names.items) % 2:
        raise ValueError
    names.items.update(zip(names.items, places, strict=False))
    return Identity(
        names, inner, outer, shorts, sentences, facts, body, bool(flags & _IS_BRIEF), bool(flags & _IS_ARTICLE), around
    )


def _sample_at(sketch: bytes, at: int, limit: int, place: int) -> tuple[HashSample, int]:
    """Return the sample at a place of a sketch, and where it ends."""
    size, has_more, at = sketch[at] & ~_MORE, sketch[at] & _MORE, at + 1
    if has_more:
        (count, total), at = _ALL.unpack_from(sketch, at), at + _ALL.size
    hashes = unpack_from(f">{size}H", sketch, at)
    items = {each & ~place: each & place for each in hashes}
    if not has_more:
        count, total = size, sum(items) & 0xFFFF
    is_ordered = limit == MAX_SENTENCES or [*items] == sorted(items)
    if not (len(items) == size <= limit and is_ordered and (count > size or not has_more or count == 0 < size)):
        raise ValueError
    return HashSample(items, count, total), at + 2 * size
