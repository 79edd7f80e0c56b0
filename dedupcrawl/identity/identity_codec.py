"""The parts of an identity, and how they are packed into bytes.

An identity begins with the signature of the layout (``page/signatures.py``). The sketch that follows is a string of
bits, padded with zeros to whole bytes:

* 8 flags, see :class:`SketchFlags`; 4 bits each: numbers of digit names, telling names and fillers; 3 bits each:
  numbers of strong and weak values of the main text; 16 bits: hash of the facts, all numbers of the main text in order
  with their neighbours;
* 16 bits, if it has any: hash of the body, the main text without the lines that are the heading or the title;
* if sentences, lines, values beside the main text or short facts are stored, 2 bits tell the form of what follows.

  - 0, 1 or 2 is the number of counts: none, those of the sentences, or those of the sentences and of the values. Then
    2 bits: whether all values beside the main text and all short facts are stored; 3 bits each: numbers of strong and
    of weak values, and of short facts; 8, 2 × 12 and 16 × 2 bits: each of the counts. If not all short facts are
    stored: 8 bits, their number, and 16 bits, a hash of them all;
  - 3 is the form of a page whose text is about its name, which has neither values nor short facts here: 19 bits, the
    signature of its lines, and a bit: whether counts of its sentences follow;

* the sorted hashes of the digit names, telling names and fillers (14 bits each), then the flags of all names;
* the sorted hashes of the values (15 bits each) and of the short facts (15 bits, and whether one stands beside the main
  text).

Sorted hashes are stored as gaps, in Rice's code (*Some practical universal noiseless coding techniques*, 1979): the
low bits of each hash as they are, and the increase of the high bits in unary, ended by a 1. This takes about two bits
less for each hash than the hash has.

Most flags of a name follow from the page: heading or title are stored only if the page has both (0: both, 10: title,
11: heading). The place takes one bit on a page with a heading and without a body, else two; fillers have none.
"""

from __future__ import annotations

from enum import IntFlag
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.errors import DamageError
from dedupcrawl.identity.sentence_sketches import BUCKETS, COUNTS_BYTES, SIGNATURE_BYTES, SUMS_BYTES
from dedupcrawl.page.signatures import LAYOUT_BYTES, has_sound_layout, without_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_NAMES = 15  #: tokens of the names in a sketch
MAX_VALUES = 6  #: values of the main text in a sketch, of the text beside it, and short facts

#: In place of the sketch of a page that is compared without main text: why it has none.
UNREAD = {b"\1": "index", b"\2": "empty"}
UNREAD_BYTES = LAYOUT_BYTES + 1  #: size of the identity of such a page

HASH_BITS = 14  #: of a name, without its class
VALUE_BITS = 15  #: of a value, without its class, and of a short fact, without ``BESIDE``
FACTS_BITS = BODY_BITS = 16
_BUCKET_BITS, _HEAD_BITS = 2, 8 * SUMS_BYTES  #: of a bucket; of the number and the sums
_MOST = (1 << _BUCKET_BITS) - 1
_SIGNED, _SIGNATURE_BITS = 3, 19  #: the first one in place of a number of counts
_FLAGS_BITS, _NAMES_BITS, _VALUES_BITS, _COUNT_BITS = 8, 4, 3, 8
HEAD_BITS = _FLAGS_BITS + 3 * _NAMES_BITS + 2 * _VALUES_BITS + FACTS_BITS  #: that every sketch has

DIGIT, TELLING, FILLER = 0, 1 << HASH_BITS, 2 << HASH_BITS  #: classes of names, in the order of sampling
_CLASSES = (DIGIT, TELLING, FILLER)
_WHERE = ((0, 0), (3, 2), (2, 2), (0, 1))  #: by ``HEADING | TITLE`` the bits that tell it, and how many
WEAK = 1 << VALUE_BITS  #: weak values have this bit; the strong ones come first
BESIDE = 1  #: short facts beside the main text have this bit


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


class SketchFlags(IntFlag):
    """The flags of a sketch. The highest is the first bit."""

    HAS_BODY = 0x80
    IS_BRIEF = 0x40
    HAS_LONG_HEADING = 0x20
    ALL_NAMES = 0x10
    ALL_INNER = 0x08
    HAS_BESIDE = 0x04
    HAS_HEADING = 0x02
    HAS_TITLE = 0x01


_HAS_BODY, _IS_BRIEF, _IS_LONG, _ALL_NAMES, _ALL_INNER, _HAS_BESIDE, _HAS_HEADING, _HAS_TITLE = map(int, SketchFlags)
_HAS_BOTH = _HAS_HEADING | _HAS_TITLE


class HashSample(NamedTuple):
    """The lowest hashes of a page in an order that all pages share."""

    items: dict[int, int]  #: hash → flags
    is_whole: bool  #: whether nothing was left out

    def lacking(self, other: HashSample) -> tuple[list[int], int]:
        """Return the items that ``other`` certainly lacks, and how many items could be compared.

        >>> HashSample({1: 0, 5: 0, 9: 0}, True).lacking(HashSample({1: 0, 2: 0, 6: 0}, False))
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

    names: HashSample
    inner: HashSample  #: values of the main text
    outer: HashSample  #: values beside it
    facts: int  #: hash of all numbers of the main text in order, with their neighbours
    body: int  #: hash of the main text without the lines that are the heading or title; -1 if it has none
    shorts: HashSample  #: short facts of a page whose text is not about its name
    all_shorts: tuple[int, int]  #: how many there are, and the hash of all; (0, 0) if the sample is whole
    has_long_heading: bool  #: whether the heading names one page, not a kind of pages
    is_brief: bool  #: whether the main text is brief, such as a notice
    sentences: bytes  #: see :meth:`dedupcrawl.identity.identity_sketch.ReferenceSketcher.sentences`; or empty


def pack_identity(identity: Identity) -> bytes:
    """Return the sketch of an identity, without the layout. All hashes are sorted."""
    names, inner, outer, shorts = identity.names, identity.inner, identity.outer, identity.shorts
    flags = _flags_of(identity)
    classes = [[each - start for each in names.items if start <= each < start + TELLING] for start in _CLASSES]
    fields = [(flags, _FLAGS_BITS), *((len(each), _NAMES_BITS) for each in classes)]
    fields += [(len(each), _VALUES_BITS) for each in _by_strength(inner)]
    fields.append((identity.facts, FACTS_BITS))
    if flags & _HAS_BODY:
        fields.append((identity.body, BODY_BITS))
    if flags & _HAS_BESIDE:
        fields += _head_beside(identity)
    for each in classes:
        fields += _gaps(each, HASH_BITS, is_whole=names.is_whole)
    fields += _name_flags(names, flags)
    for values in (inner, outer):
        for each in _by_strength(values):
            fields += _gaps(each, VALUE_BITS, is_whole=values.is_whole)
    fields += _gaps([*shorts.items], VALUE_BITS + 1, is_whole=shorts.is_whole)
    return _joined(fields)


def _flags_of(identity: Identity) -> int:
    joined = reduce(or_, identity.names.items.values(), 0)
    return (
        _HAS_BODY * (identity.body >= 0)
        | _IS_BRIEF * identity.is_brief
        | _IS_LONG * identity.has_long_heading
        | _ALL_NAMES * identity.names.is_whole
        | _ALL_INNER * identity.inner.is_whole
        | _HAS_BESIDE * bool(identity.outer.items or identity.shorts.items or identity.sentences)
        | _HAS_HEADING * bool(joined & HEADING)
        | _HAS_TITLE * bool(joined & TITLE)
    )


def _head_beside(identity: Identity) -> Iterator[tuple[int, int]]:
    outer, shorts, sentences = identity.outer, identity.shorts, identity.sentences
    if len(sentences) % COUNTS_BYTES:
        yield _SIGNED, 2
        yield int.from_bytes(sentences[:SIGNATURE_BYTES], "big"), _SIGNATURE_BITS
        yield len(sentences) > SIGNATURE_BYTES, 1
        for at, count in enumerate(sentences[SIGNATURE_BYTES:]):
            yield count, _count_bits(at)
        return
    yield len(sentences) // COUNTS_BYTES, 2
    yield outer.is_whole, 1
    yield shorts.is_whole, 1
    for each in (*_by_strength(outer), shorts.items):
        yield len(each), _VALUES_BITS
    for at, count in enumerate(sentences):
        yield count, _count_bits(at)
    if not shorts.is_whole:
        yield identity.all_shorts[0], _COUNT_BITS
        yield identity.all_shorts[1], FACTS_BITS


def _count_bits(at: int) -> int:
    return 8 if at % COUNTS_BYTES < SUMS_BYTES else _BUCKET_BITS


def _name_flags(names: HashSample, flags: int) -> Iterator[tuple[int, int]]:
    both, one_bit = flags & _HAS_BOTH == _HAS_BOTH, _is_place_one_bit(flags)
    for key, name in names.items.items():
        if both:
            yield _WHERE[name & (HEADING | TITLE)]
        if key < FILLER:
            yield (name & BODY == BODY, 1) if one_bit else (name // SAID, 2)


def _joined(fields: Iterable[tuple[int, int]]) -> bytes:
    """Return numbers with their sizes in bits one after the other."""
    bits = total = 0
    for number, size in fields:
        bits = bits << size | number
        total += size
    count = (total + 7) // 8
    return (bits << 8 * count - total).to_bytes(count, "big")


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
    except ValueError:
        pass
    raise DamageError(f"An identity of {len(identity)} bytes is damaged, or was written by another version.")


def _unpack(sketch: bytes) -> Identity:
    bits = _BitReader(sketch)
    flags = bits.number(_FLAGS_BITS)
    classes = [bits.number(_NAMES_BITS) for _ in _CLASSES]
    strengths = [bits.number(_VALUES_BITS), bits.number(_VALUES_BITS)]
    facts = bits.number(FACTS_BITS)
    body = bits.number(BODY_BITS) if flags & _HAS_BODY else -1
    all_outer, all_short, counts, every, sentences = True, True, [0, 0, 0], (0, 0), b""
    if flags & _HAS_BESIDE:
        counted = bits.number(2)
    if flags & _HAS_BESIDE and counted == _SIGNED:
        sentences = bits.number(_SIGNATURE_BITS).to_bytes(SIGNATURE_BYTES, "big")
        sentences += bits.counts() if bits.number(1) else b""
    elif flags & _HAS_BESIDE:
        all_outer, all_short = bool(bits.number(1)), bool(bits.number(1))
        counts = [bits.number(_VALUES_BITS) for _ in counts]
        sentences = b"".join(bits.counts() for _ in range(counted))
        every = (0, 0) if all_short else (bits.number(_COUNT_BITS), bits.number(FACTS_BITS))
    all_names, all_inner = bool(flags & _ALL_NAMES), bool(flags & _ALL_INNER)
    keys = [
        start + key
        for start, count in zip(_CLASSES, classes, strict=True)
        for key in bits.gaps(count, HASH_BITS, is_whole=all_names)
    ]
    names = {key: bits.name_flags(key, flags) for key in keys}
    inner = bits.values(strengths, is_whole=all_inner)
    outer = bits.values(counts[:2], is_whole=all_outer)
    short = bits.gaps(counts[2], VALUE_BITS + 1, is_whole=all_short)
    bits.end()
    return Identity(
        HashSample(names, all_names),
        inner,
        outer,
        facts,
        body,
        HashSample(dict.fromkeys(short, 0), all_short),
        every,
        bool(flags & _IS_LONG),
        bool(flags & _IS_BRIEF),
        sentences,
    )


class _BitReader:
    """The bits of a sketch, read from the first to the last. Its methods raise ``ValueError`` beyond the last one."""

    def __init__(self, sketch: bytes) -> None:
        self._bits = f"{int.from_bytes(sketch, 'big'):0{8 * len(sketch)}b}"
        self._at = 0

    def number(self, size: int) -> int:
        begin, self._at = self._at, self._at + size
        if self._at > len(self._bits):
            raise ValueError
        return int(self._bits[begin : self._at], 2)

    def gaps(self, count: int, size: int, *, is_whole: bool) -> list[int]:
        low, high, found = _low_bits(count, size, is_whole=is_whole), 0, []
        for _ in range(count):
            stop = self._bits.index("1", self._at)
            high += stop - self._at
            self._at = stop + 1
            found.append(high << low | self.number(low))
        if high >> size - low:
            raise ValueError
        return found

    def values(self, counts: Sequence[int], *, is_whole: bool) -> HashSample:
        strong, weak = (self.gaps(count, VALUE_BITS, is_whole=is_whole) for count in counts)
        return HashSample(dict.fromkeys((*strong, *(each | WEAK for each in weak)), 0), is_whole)

    def counts(self) -> bytes:
        head, rows = self.number(_HEAD_BITS), self.number(BUCKETS * _BUCKET_BITS)
        shifts = range((BUCKETS - 1) * _BUCKET_BITS, -1, -_BUCKET_BITS)
        return head.to_bytes(_HEAD_BITS // 8, "big") + bytes([rows >> shift & _MOST for shift in shifts])

    def name_flags(self, key: int, flags: int) -> int:
        where = flags & _HAS_BOTH
        name = HEADING * (where == _HAS_HEADING) | TITLE * (where == _HAS_TITLE)
        if where == _HAS_BOTH:
            name = HEADING | TITLE if not self.number(1) else HEADING if self.number(1) else TITLE
        if key >= FILLER:
            return name
        return name | (BODY * self.number(1) if _is_place_one_bit(flags) else SAID * self.number(2))

    def end(self) -> None:
        rest = self._bits[self._at :]
        if len(rest) >= 8 or "1" in rest:
            raise ValueError


def _low_bits(count: int, size: int, *, is_whole: bool) -> int:
    """Return how many low bits of each sorted hash are stored as they are. The hashes of a sample are low."""
    return size - count.bit_length() - (not is_whole)


def _gaps(hashes: Sequence[int], size: int, *, is_whole: bool) -> list[tuple[int, int]]:
    low, high, found = _low_bits(len(hashes), size, is_whole=is_whole), 0, []
    end = 1 << low
    for each in hashes:
        # The zeros of the increase of the high bits, a 1, and the low bits.
        found.append((each & end - 1 | end, (each >> low) - high + low + 1))
        high = each >> low
    return found


def _by_strength(values: HashSample) -> tuple[list[int], list[int]]:
    return [each for each in values.items if each < WEAK], [each - WEAK for each in values.items if each >= WEAK]


def _is_place_one_bit(flags: int) -> bool:
    return flags & (_HAS_HEADING | _HAS_BODY) == _HAS_HEADING
