"""The parts of an identity, and how they are packed into bytes.

An identity begins with the signature of the layout (``page/signatures.py``). The sketch that follows is a stream of
bits (``utils/bits.py``), with these numbers of bits:

* 1 each: whether the text is brief; is an article; and whether the page has a body, values of the main text, values
  beside it, and short facts;
* 16 each: the hash of the facts, which are all numbers of the main text in order with their neighbours; that of all
  text beside the main text, 0 if there is none; and that of the body, which is the main text without the lines that
  are the heading or the title;
* the samples of names, of values and short facts if there are any, and of sentences. Each is the number of hashes, 5;
  whether the page has more, 1; then how many it has, 8, and their sum, 16, unless they are 0, not known; and the lowest
  hashes, sorted. Those of sentences are in the order of the text, each with as many bits as the largest, less 1 in 4. A
  name has 14 bits below its class, a value 15 bits below ``WEAK``, a short fact 15 bits above ``BESIDE``;
* 2 for each name that is a filler, 4 for each other one: where it stands.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.errors import DamageError
from dedupcrawl.page.signatures import LAYOUT_BYTES, has_sound_layout, without_layout
from dedupcrawl.text import features
from dedupcrawl.utils.bits import BitReader, BitWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_SIZE_BITS, _COUNT_BITS, _WIDTH_BITS = 5, 8, 4  # of a sample in a sketch
_PLACE_BITS = (4, 2)  # of a name, and of one that is a filler

# The places where a token of a page's names occurs.
HEADING, TITLE = 1, 2
#: In the text of the page, other than a line that is the heading or title. Not examined for fillers, nor beside the
#: main text of a page with a heading.
SAID = 4
MAIN = 8  #: in its main text, such lines included; not examined for fillers
BODY = SAID | MAIN  #: in the main text other than such lines


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

    def own(self, other: HashSample, ignored: int = 0, only: int = 0) -> list[int]:
        """Return the items that ``other`` certainly lacks, without the flag ``ignored`` and with the flags ``only``."""
        lacking = self.lacking(other)[0]
        return [each for each in lacking if not self.items[each] & ignored and self.items[each] & only == only]

    def differs(self, other: HashSample, ignored: int = 0, only: int = 0) -> bool:
        """Return whether each page certainly has an item that the other lacks.

        It is so if both have equally many, and not the same.

        Args:
            other: the sample of the other page.
            ignored: items with this flag do not count, but are not lacking either.
            only: nor do items without this flag.

        >>> HashSample({}, 40, 7).differs(HashSample({}, 40, 9)), HashSample({}, 40, 7).differs(HashSample({}, 41, 9))
        (True, False)
        """
        has_own = self.own(other, ignored, only) and other.own(self, ignored, only)
        return bool(self.number and other.number and (has_own or (not ignored and self.is_as_many(other))))

    def is_as_many(self, other: HashSample) -> bool:
        """Return whether both pages have equally many items, which are not the same: each has one of its own."""
        return self.number == other.number < MAX_COUNT and self.total != other.total


def sample(items: Mapping[int, int], limit: int, *, is_sorted: bool = True) -> HashSample:
    """Return the lowest of some hashes of 16 bits with their flags, at most ``limit``; sorted, or in their order."""
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
    values, bits = (inner, outer, shorts), BitWriter()
    bits.write_all((is_brief, is_article, body > 0, *(bool(each.items) for each in values)), 1)
    bits.write_all((facts, around, body) if body else (facts, around), FULL_BITS)
    _write_size(bits, names)
    bits.write_sorted([*names.items])
    for each in values:
        if each.items:
            _write_size(bits, each)
            bits.write_sorted([key | place for key, place in each.items.items()])
    _write_size(bits, sentences)
    width = max([1, *sentences.items]).bit_length()
    bits.write(width - 1, _WIDTH_BITS)
    bits.write_all(sentences.items, width)
    for key, place in names.items.items():
        bits.write(place, _PLACE_BITS[key >= FILLER])
    return bits.to_bytes()


def _write_size(bits: BitWriter, sample: HashSample) -> None:
    bits.write(2 * len(sample.items) + (not sample.is_whole), _SIZE_BITS + 1)
    if not sample.is_whole:
        bits.write(sample.number, _COUNT_BITS)
        bits.write(sample.total, FULL_BITS * (sample.number > 0))


def unpack_identity(identity: bytes) -> Identity | None:
    """Return the parts of an identity; None for a page that has none, or a mark in place of a sketch.

    Raises:
        DamageError: it is damaged, or of a kind that is not known.
    """
    sketch = without_layout(identity)
    with suppress(ValueError):
        if has_sound_layout(identity):
            return _unpack(sketch) if sketch and (sketch not in UNREAD or len(identity) != UNREAD_BYTES) else None
    raise DamageError(f"An identity of {len(identity)} bytes is damaged, or was written by another version.")


def _unpack(sketch: bytes) -> Identity:
    if features.kernel is None:
        return reference_unpack(sketch)
    *samples, facts, body, is_brief, is_article, around = features.kernel.unpack_sketch(sketch)
    return Identity._make((*map(HashSample._make, samples), facts, body, is_brief, is_article, around))


def reference_unpack(sketch: bytes) -> Identity:
    """Return the parts of a sketch, like compiled code. ``ValueError`` is raised if it is damaged."""
    bits = BitReader(sketch)
    is_brief, is_article, has_body, *has_values = map(bool, bits.read_all(6, 1))
    facts, around = bits.read_all(2, FULL_BITS)
    body = bits.read(FULL_BITS) if has_body else 0
    names, pairs = _read_sample(bits, MAX_NAMES), zip(has_values, (0, 0, BESIDE), strict=True)
    inner, outer, shorts = (_read_sample(bits, MAX_VALUES, flag) if has else HashSample({}) for has, flag in pairs)
    sentences = _read_sample(bits, MAX_SENTENCES)
    names.items.update({key: bits.read(_PLACE_BITS[key >= FILLER]) for key in names.items})
    bits.end()
    return Identity(names, inner, outer, shorts, sentences, facts, body, is_brief, is_article, around)


def _read_sample(bits: BitReader, limit: int, flag: int = 0) -> HashSample:
    size, has_more = divmod(bits.read(_SIZE_BITS + 1), 2)
    number = bits.read(_COUNT_BITS) if has_more else size
    total = bits.read(FULL_BITS) if has_more and number else 0
    is_sorted = limit != MAX_SENTENCES
    hashes = bits.read_sorted(size) if is_sorted else bits.read_all(size, 1 + bits.read(_WIDTH_BITS))
    items = {each & ~flag: each & flag for each in hashes}
    if not (len(items) == size <= limit and (number > size or not has_more or number == 0 < size)):
        raise ValueError
    return HashSample(items, number, total if has_more else sum(items) & 0xFFFF)
