"""Normalisation: NFKC, case folding, one space for each run of white space, no invisible characters.

A lookup table over code points does it. Only texts with combining characters are processed with
:mod:`unicodedata`. Both give the result of :func:`normalize_reference`.

:mod:`unicodedata` sorts a run of combining marks by insertion, in quadratic time. Unicode's Stream-Safe Text Format
(UAX #15) bounds such runs to 30 marks, which no language exceeds. Here the marks after the 30th are left out.

A sign of arithmetic between two numbers is a token: exercises and formulas differ by it. Everywhere else it separates
words like other symbols.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from enum import IntEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dedupcrawl.utils.optional import import_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class CharacterKind(IntEnum):
    """The role of a code point in the token stream."""

    SEPARATOR = 0  #: white space, punctuation, symbols, controls: ends a word
    WORD = 1  #: a letter, digit or mark of a script with spaces
    CHARACTER = 2  #: a token by itself, in a script without spaces


FOLDING = "Reading traditional Chinese as simplified"  #: what needs OpenCC, for an error message
#: Scripts without spaces between words, as half-open ranges of code points (Unicode block tables).
UNSPACED = (
    (0x0E00, 0x0F00),  # Thai, Lao
    (0x1000, 0x10A0),  # Myanmar
    (0x1780, 0x1800),  # Khmer
    (0x1950, 0x19E0),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AB0),  # Tai Tham
    (0x1B00, 0x1B80),  # Balinese
    (0x2E80, 0x3130),  # radicals, ideographic marks, kana, bopomofo
    (0x31A0, 0xA4D0),  # bopomofo extended … all of Han in the basic plane … Yi
    (0xA980, 0xAA80),  # Javanese, Cham, Myanmar extended
    (0xF900, 0xFB00),  # compatibility ideographs
    (0x16FE0, 0x18E00),  # Tangut, Khitan
    (0x1B000, 0x1B300),  # kana extended, Nüshu
    (0x20000, 0x40000),  # the rest of Han
)

#: Signs of arithmetic. A hyphen is none of them: it also stands in ranges and dates, where editions use dashes.
OPERATORS = "+−×÷=<>≤≥≠±"
#: What may stand between such a sign and a number: a space, brackets, currencies, the percent sign.
AROUND_NUMBERS = " ()[]{}$€£¥%"

Points = npt.NDArray[np.uint32]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

CODE = np.uint32((1 << 21) - 1)  #: mask of a packed point: the code point
ROLE_SHIFT = np.uint32(21)  #: position of the :class:`CharacterKind`, above the code point
ROLE = np.uint32(3 << 21)
RESIZED = np.uint32(1 << 29)  #: table only: the code point is removed, or becomes several
COMBINES = np.uint32(1 << 30)  #: table only: the result depends on the neighbours
_UTF32 = np.dtype("<u4")
SPACE = np.uint32(0x20)  #: also as a packed point, because its role is 0
_CODE_POINTS = 0x110000

#: Soft hyphen, zero-width and bidirectional controls, variation selectors, byte order mark, tags.
_INVISIBLE = re.compile(
    "[\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)

MAX_MARK_RUN = 30  #: marks in a row that natural text has at most; the bound of the Stream-Safe Text Format

_MARK_STRIDE = 6  #: distance of the code points that are checked first for a longer run

#: The only ranges in which code points change or combine under normalisation. Between them are Han, Hangul,
#: cuneiform, hieroglyphs, Tangut, surrogates, private use and unassigned code points.
_CHANGING_RANGES = (
    (0x1, 0x3400),
    (0xA490, 0xAC00),
    (0xD7A4, 0xD800),
    (0xF900, 0x12000),
    (0x16100, 0x17000),
    (0x1B000, 0x20000),
    (0x2F800, 0x2FA20),
    (0xE0000, 0xE1000),
)
_UNCHANGING_LETTER_RANGES = (
    (0x3400, 0xA490),
    (0xAC00, 0xD7A4),
    (0x12000, 0x16100),
    (0x17000, 0x1B000),
    (0x20000, 0x2F800),
    (0x2FA20, 0x40000),
)
_JAMO_THAT_JOIN = [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]
_WHITE_SPACE = [point for point in range(0x3001) if chr(point).isspace()]
_TEXT_SEPARATOR = "\0"  #: after each text; separates tokens and never combines; can occur in a text too

#: Compatibility ideographs are not included, because normalisation has replaced them.
_HAN = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0x20000, 0x323B0))
_TO_SIMPLIFIED = ("t2s", "tw2s", "hk2s")  #: conversions of OpenCC
_FROM_SIMPLIFIED = ("s2t", "s2tw", "s2hk")
#: Traditional characters that OpenCC converts within words only (瞭解, 藉口, 彷彿…), each before its
#: simplified one. Pairs that are both frequent in simplified texts (像 and 象, 覆 and 复) are excluded,
#: because segmenters would miss words.
_WITHIN_WORDS = ("瞭了", "藉借", "彷仿", "甦苏", "揹背", "薰熏", "濬浚", "伕夫")


def normalize_reference(text: str) -> str:
    """Normalise with :mod:`unicodedata` only. This is the definition that :func:`pack` must agree with."""
    return " ".join(_fold(bound_marks(text)).split())


def normalize(text: str) -> str:
    """Return the normalised text."""
    return decode(pack(text) & CODE)


def pack(text: str) -> Points:
    """Normalise ``text`` to one uint32 per code point: the code point, and above it its :class:`CharacterKind`.

    Lone surrogates are kept.
    """
    packed = map_code_points(text)
    if not len(packed):
        return packed
    table, highest = _table(), packed.max()
    if highest >= COMBINES:
        points = _fold_points(table, bound_marks(text))
        packed = table.packed.take(points) & (ROLE | CODE)
        spaces = packed == SPACE  # white space of any kind; all else is normalised already
        return mark_operators(_collapse_spaces(np.where(spaces, SPACE, points | (packed & ROLE))))
    if highest >= RESIZED:
        packed = table.packed[_resize(table, encode(text))] & (ROLE | CODE)
    return mark_operators(_collapse_spaces(packed))


def mark_operators(packed: Points) -> Points:
    """Give each sign of arithmetic between two numbers the role of a token, ``CharacterKind.CHARACTER``.

    Between the sign and an ASCII digit may stand characters of ``AROUND_NUMBERS``. The array is returned unchanged, or
    as a copy. Runs of such characters belong to at most two signs, so the time is linear.

    Args:
        packed: packed points with white space collapsed; those of several texts have a separator after each text.
    """
    is_operator = np.logical_or.reduce([packed == np.uint32(ord(sign)) for sign in OPERATORS])
    places = np.flatnonzero(is_operator).tolist()
    found = [place for place in places if all(_is_number(packed, place, step) for step in (-1, 1))]
    if found:
        packed = packed.copy()
        packed[found] |= _OPERATOR_ROLE
    return packed


_OPERATOR_ROLE = np.uint32(CharacterKind.CHARACTER << int(ROLE_SHIFT))
_DIGIT_POINTS = range(
    ord("0") | CharacterKind.WORD << int(ROLE_SHIFT), (ord("9") | CharacterKind.WORD << int(ROLE_SHIFT)) + 1
)
_AROUND_POINTS = frozenset(map(ord, AROUND_NUMBERS))


def _is_number(packed: Points, place: int, step: int) -> bool:
    """Return whether a digit is next to a place in one direction."""
    place += step
    while 0 <= place < len(packed) and int(packed[place]) in _AROUND_POINTS:
        place += step
    return 0 <= place < len(packed) and int(packed[place]) in _DIGIT_POINTS


def map_code_points(text: str) -> Points:
    """Return the normalisation of each code point by itself; white space is not collapsed.

    If a value is ``RESIZED`` or more, :func:`pack` has to process the text as a whole.
    """
    return _table().packed.take(encode(text))


@functools.cache
def roles() -> npt.NDArray[np.uint8]:
    """Return the :class:`CharacterKind` of every code point, read-only."""
    result = ((_table().packed & ROLE) >> ROLE_SHIFT).astype(np.uint8)
    result.flags.writeable = False
    return result


def encode(text: str) -> Points:
    """Return the code points of ``text``."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), _UTF32)


def decode(points: Points) -> str:
    """Return the text of the code points ``points``."""
    return points.astype(_UTF32, copy=False).tobytes().decode("utf-32-le", "surrogatepass")


def expanded_length(text: str) -> int:
    """Return the length of the normalised text in code points, before any of them combine or white space collapses."""
    return int(_table().sizes.take(encode(text)).sum(dtype=np.int64))


def _fold(text: str) -> str:
    composed = unicodedata.normalize("NFKC", text)
    folded = composed.casefold()
    return composed if folded == composed else unicodedata.normalize("NFKC", folded)  # letters may combine again


def _fold_points(table: _NormalizationTable, text: str) -> Points:
    """Return the code points of :func:`_fold`. It normalises again only where folded letters can combine."""
    composed = unicodedata.normalize("NFKC", text)
    folded = composed.casefold()
    points = encode(folded)
    if folded != composed and (len(folded) != len(composed) or _can_combine(table, points, encode(composed))):
        return encode(unicodedata.normalize("NFKC", folded))
    return points


def _can_combine(table: _NormalizationTable, folded: Points, composed: Points) -> bool:
    """Return whether a letter that was folded, or its successor, can change with its neighbours."""
    changed = np.flatnonzero(folded != composed)
    following = folded.take(np.minimum(changed + 1, len(folded) - 1))
    return bool(max(table.packed.take(folded.take(changed)).max(), table.packed.take(following).max()) >= COMBINES)


def bound_marks(text: str) -> str:
    """Remove invisible characters, and of each run of combining marks all after the first ``MAX_MARK_RUN``."""
    visible = _INVISIBLE.sub("", text)
    is_mark = _marks()
    # A longer run contains this many positions of the sample, one after the other.
    sample = is_mark.take(encode(visible[::_MARK_STRIDE])).tobytes()
    if b"\1" * (MAX_MARK_RUN // _MARK_STRIDE) not in sample:
        return visible
    points = encode(visible)
    starters = np.flatnonzero(~is_mark.take(points))
    runs = np.diff(starters, prepend=-1, append=len(points))  # each with the starter before it
    if runs.max() <= MAX_MARK_RUN + 1:
        return visible
    places = np.arange(1, len(points) + 1) - np.repeat(np.append(0, starters + 1), runs)[1:]
    return decode(points[places <= MAX_MARK_RUN])


@functools.cache
def _marks() -> Flags:
    """Return for every code point whether it decomposes to combining marks only; read-only."""
    marks = np.zeros(_CODE_POINTS, bool)
    for start, stop in _CHANGING_RANGES:
        decomposed = [unicodedata.normalize("NFKD", chr(point)) for point in range(start, stop)]
        marks[start:stop] = [all(map(unicodedata.combining, parts)) for parts in decomposed]
    marks.flags.writeable = False
    return marks


def _collapse_spaces(packed: Points) -> Points:
    space = packed == SPACE
    if not space.any():
        return packed
    surplus = space[1:] & space[:-1]
    if surplus.any():
        keep = np.ones(len(packed), bool)
        np.logical_not(surplus, out=keep[1:])
        packed = packed[keep]
    start = int(packed[0] == SPACE)
    stop = max(start, len(packed) - int(packed[-1] == SPACE))
    return packed[start:stop]


class _NormalizationTable(NamedTuple):
    packed: Points  #: by code point: its normalisation, role and flags
    sizes: npt.NDArray[np.uint8]  #: by code point: number of code points in its normalisation
    starts: npt.NDArray[np.uint32]  #: by code point: their start in ``expansions``, if flagged
    expansions: Points


def _resize(table: _NormalizationTable, points: Points) -> Points:
    """Expand ligatures and similar characters, and remove invisible characters."""
    sizes = table.sizes[points]
    source = np.repeat(points, sizes)
    stops = np.cumsum(sizes, dtype=np.int64)
    within = np.arange(len(source)) - np.repeat(stops - sizes, sizes)
    result = table.packed[source]
    resized = np.flatnonzero(result >= RESIZED)
    result[resized] = table.expansions[table.starts[source[resized]] + within[resized]]
    return result & CODE


@functools.cache
def _table() -> _NormalizationTable:
    points = np.concatenate([np.arange(start, stop, dtype=np.uint32) for start, stop in _CHANGING_RANGES])
    flat, starts, sizes = _map_each(points, lambda joined: _fold(_INVISIBLE.sub("", joined)))
    flat[np.isin(flat, _WHITE_SPACE)] = SPACE
    count = _CODE_POINTS
    table = _NormalizationTable(
        np.arange(count, dtype=np.uint32), np.ones(count, np.uint8), np.zeros(count, np.uint32), flat
    )
    table.sizes[points], table.starts[points] = sizes, starts
    table.packed[points[sizes == 1]] = flat[starts[sizes == 1]]
    roles = _roles(points)[table.packed]
    table.packed[points[sizes != 1]] |= RESIZED
    table.packed[points[_combining(points)]] |= COMBINES
    np.bitwise_or(table.packed, roles, out=table.packed)
    return table


class KernelTables(NamedTuple):
    """The tables of the compiled kernel, by code point; see :class:`_NormalizationTable`."""

    packed: Points
    sizes: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.uint32]
    expansions: Points  #: packed, without flags
    folding: Points  #: see :func:`simplify`; empty: nothing is folded


def kernel_tables(*, fold_chinese: bool) -> KernelTables:
    """Return the tables of :func:`pack`, and with ``fold_chinese`` that of :func:`simplify`."""
    table = _table()
    expansions = table.packed[table.expansions] & (ROLE | CODE)
    folding = _folding_table() if fold_chinese else np.zeros(0, np.uint32)
    return KernelTables(table.packed, table.sizes, table.starts, expansions, folding)


def _map_each(points: Points, function: Callable[[str], str]) -> tuple[Points, Indices, Indices]:
    """Apply ``function`` to every character alone; return results in one array, with starts and lengths."""
    # NUL never combines, so one call has the same result as a call for every character.
    flat = encode(function("\0".join(map(chr, points.tolist())) + "\0")).copy()
    stops = np.flatnonzero(flat == 0)
    starts = np.concatenate(([0], stops[:-1] + 1))
    return flat, starts, stops - starts


def _combining(points: Points) -> Flags:
    """Return whether each of ``points`` can change, or be changed by, the preceding character."""
    joining = np.zeros(_CODE_POINTS, bool)
    flat, starts, _ = _map_each(points, functools.partial(unicodedata.normalize, "NFD"))
    flat[starts] = 0
    joining[flat] = True
    joining[0] = False
    joining[_JAMO_THAT_JOIN] = True
    joining[points[[unicodedata.combining(chr(point)) > 0 for point in points.tolist()]]] = True
    flat, starts, _ = _map_each(points, functools.partial(unicodedata.normalize, "NFKD"))
    first: Flags = joining[flat[starts]]
    return first | joining[points]


def _roles(points: Points) -> Points:
    """Return the role of every code point, shifted to its position in a packed point."""
    tokens = np.zeros(_CODE_POINTS, bool)
    tokens[points] = [unicodedata.category(chr(point))[0] in "LMN" for point in points.tolist()]
    for start, stop in _UNCHANGING_LETTER_RANGES:
        tokens[start:stop] = True
    roles = np.where(tokens, np.uint32(CharacterKind.WORD << ROLE_SHIFT), np.uint32(0))
    for start, stop in UNSPACED:
        roles[start:stop] *= np.uint32(CharacterKind.CHARACTER)
    return roles


class PackedTexts(NamedTuple):
    """Packed texts in one array. After each text is a code point that is neither a token nor a space."""

    packed: Points
    starts: Indices  #: index of the first point of each text
    stops: Indices  #: index after the last point of each text


def pack_many(texts: Sequence[str]) -> PackedTexts:
    """Normalise texts, at least one, like :func:`pack`, but with less overhead per text."""
    packed = map_code_points(_TEXT_SEPARATOR.join((*texts, "")))
    ends = np.cumsum([len(text) + 1 for text in texts])
    if packed.max() >= RESIZED:
        packed, ends = _pack_individually(texts, packed, ends)
    return _collapse_spaces_of_many(packed, ends)


def _pack_individually(texts: Sequence[str], packed: Points, ends: Indices) -> tuple[Points, Indices]:
    """Pack the texts in which a code point is removed, expands to several, or combines with another."""
    sizes = np.diff(ends, prepend=0)
    pieces, done = [], 0
    for i in np.unique(np.searchsorted(ends, np.flatnonzero(packed >= RESIZED), "right")).tolist():
        stop = int(ends[i]) - 1
        text = pack(texts[i])
        pieces += [packed[done : stop - len(texts[i])], text]
        sizes[i] = len(text) + 1
        done = stop
    return np.concatenate((*pieces, packed[done:])), np.cumsum(sizes)


def _collapse_spaces_of_many(packed: Points, ends: Indices) -> PackedTexts:
    """Collapse white space. A space before a separator stays there, outside of the text."""
    space = packed == SPACE
    blank = space.copy()
    blank[ends - 1] = True
    space[1:] &= blank[:-1]
    surplus = np.flatnonzero(space)  # white space at the very beginning is surplus too
    if len(surplus):
        np.logical_not(space, out=space)
        packed = packed[space]
        ends = ends - np.searchsorted(surplus, ends)
    starts = np.concatenate(([0], ends[:-1]))
    stops = ends - 1
    packed = mark_operators(packed)
    return PackedTexts(packed, starts, stops - ((packed[stops - 1] == SPACE) & (stops > starts)))


def simplify(packed: Points) -> Points:
    """Fold Chinese in packed points (see :func:`pack`) to simplified, with the tables of OpenCC.

    Source: github.com/BYVoid/OpenCC. Two characters are equivalent if any conversion of OpenCC between
    simplified Chinese and the standards of Taiwan and Hong Kong maps one to the other, directly or in several
    steps. Neighbours do not matter. Two texts that differ only in the script become equal (著 and 着, 裡 and
    裏), and positions do not change. Different words of the two sides (資訊 and 信息) stay different.
    """
    table = _folding_table()
    folded: Points = packed ^ table.take(np.minimum(packed & CODE, len(table) - 1))
    return folded


@functools.cache
def folding_digest() -> str:
    """Return a digest of the folding, because the tables of OpenCC differ between versions."""
    return blake2b(_folding_table().astype("<u4").tobytes(), digest_size=8).hexdigest()


@functools.cache
def _folding_table() -> Points:
    """Return by code point its XOR with the folded one; the last entry is for all others."""
    simplified = [*_conversions(_TO_SIMPLIFIED), *((pair[0], pair[1]) for pair in _WITHIN_WORDS)]
    votes = Counter(target for _, target in simplified)
    table = np.arange(_HAN[-1][1] + 1, dtype=np.uint32)
    for characters in _equivalence_classes([*simplified, *_conversions(_FROM_SIMPLIFIED)]):
        # The most frequent target, because segmenters know the words with it.
        chosen = min(characters, key=lambda character: (-votes[character], character))
        table[list(map(ord, characters))] = ord(chosen)
    return table ^ np.arange(len(table), dtype=np.uint32)


def _conversions(names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the conversions of single characters by the conversions ``names`` of OpenCC."""
    convert = import_extra("opencc", FOLDING, "zh").OpenCC
    characters = [chr(point) for start, stop in _HAN for point in range(start, stop)]
    for name in names:
        converted = convert(name).convert("\n".join(characters)).split("\n")
        yield from ((a, b) for a, b in zip(characters, converted, strict=True) if a != b and len(b) == 1)


def _equivalence_classes(pairs: Iterable[tuple[str, str]]) -> Iterator[list[str]]:
    """Join pairs with a common character until every character is in exactly one class."""
    parents: dict[str, str] = {}

    def root(character: str) -> str:
        while parents.setdefault(character, character) != character:
            character = parents[character]
        return character

    for one, other in pairs:
        parents[root(one)] = root(other)
    classes = defaultdict(list)
    for character in sorted(parents):
        classes[root(character)].append(character)
    yield from classes.values()
