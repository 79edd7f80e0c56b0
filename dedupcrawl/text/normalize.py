"""Normalisation: NFKC, case-folding, white space runs to one space, invisible characters dropped.

One gather from a table over code points does it; only where characters combine with their
neighbours does the text take the slow way through :mod:`unicodedata`. Both give what
:func:`reference` gives.

Which code points make up words, which stand for themselves, which only separate.

Several texts normalised in one go: most of the work on a short text is what each call costs.

Folding of the two ways to write Chinese into one, by the tables of OpenCC (github.com/BYVoid/OpenCC).

Two characters fold alike if any conversion of OpenCC between simplified Chinese and the standards of Taiwan
and Hong Kong turns one into the other, or both stand in a chain of such. A character is folded wherever it
stands, without a look at its neighbours: two texts that differ only in the script become one, whichever side
wrote them (著 and 着, 乾 and 干, 裡 and 裏), and the places of characters stay what they were. Words that the
two sides choose differently (資訊 and 信息) stay different.
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class Role(IntEnum):
    """What a code point does in the token stream."""

    SEPARATOR = 0  #: white space, punctuation, symbols, controls: ends a word, is no token
    WORD = 1  #: a letter, digit or mark of a script that puts spaces between words
    CHARACTER = 2  #: a token of its own: scripts without spaces


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

Points = npt.NDArray[np.uint32]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

CODE = np.uint32((1 << 21) - 1)  #: low bits of a packed point: the code point
ROLE_SHIFT = np.uint32(21)  #: above it: its :class:`~dedupcrawl.text.scripts.Role`
ROLE = np.uint32(3 << 21)
RESIZED = np.uint32(1 << 29)  #: table only: becomes no code point, or several
COMBINES = np.uint32(1 << 30)  #: table only: the result depends on the neighbours
_UTF32 = np.dtype("<u4")
SPACE = np.uint32(0x20)  #: as a packed point, for its role is zero
_CODE_POINTS = 0x110000

#: Soft hyphen, zero-width and bidirectional controls, variation selectors, byte order mark, tags.
_INVISIBLE = re.compile(
    "[\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)

#: Only here do code points change or combine under normalisation; between lie Han, Hangul, cuneiform,
#: hieroglyphs, Tangut, surrogates, private use, nothing.
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


def normalize_reference(text: str) -> str:
    """Normalise the plain way; the definition that :func:`pack` must agree with."""
    return " ".join(unicodedata.normalize("NFKC", _fold(text)).split())


def normalize(text: str) -> str:
    """Normalise by the table."""
    return decode(pack(text) & CODE)


def pack(text: str) -> Points:
    """Normalise ``text`` and return one uint32 a code point: the code and, above it, its role.

    Lone surrogates are kept as they are.
    """
    packed = map_code_points(text)
    if not len(packed):
        return packed
    table, highest = _table(), packed.max()
    if highest >= COMBINES:
        points = encode(normalize_reference(text))
        return points | (table.packed[points] & ROLE)
    if highest >= RESIZED:
        packed = table.packed[_resize(table, encode(text))]
    return _collapse_spaces(packed)


def map_code_points(text: str) -> Points:
    """Return what each code point becomes by itself, white space not folded yet.

    Where one is ``RESIZED`` or more, :func:`pack` has to look at the text as a whole.
    """
    return _table().packed.take(encode(text))


@functools.cache
def roles() -> npt.NDArray[np.uint8]:
    """Return by code point its :class:`~dedupcrawl.text.normalize.Role`, read-only."""
    result = ((_table().packed & ROLE) >> ROLE_SHIFT).astype(np.uint8)
    result.flags.writeable = False
    return result


def encode(text: str) -> Points:
    """Return the code points of ``text``."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), _UTF32)


def decode(points: Points) -> str:
    """Return the text that consists of ``points``."""
    return points.astype(_UTF32, copy=False).tobytes().decode("utf-32-le", "surrogatepass")


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()


def _collapse_spaces(packed: Points) -> Points:
    space = packed == SPACE
    if not space.any():
        return packed
    surplus = space[1:] & space[:-1]
    if surplus.any():
        keep = np.ones(len(packed), bool)
        np.logical_not(surplus, out=keep[1:])
        packed, space = packed[keep], space[keep]
    start = int(space[0])
    stop = max(start, len(space) - int(space[-1]))
    return packed[start:stop]


class _NormalizationTable(NamedTuple):
    packed: Points  #: by code point: what it becomes, its role, and the two flags
    sizes: npt.NDArray[np.uint8]  #: by code point: how many code points it becomes
    starts: npt.NDArray[np.uint32]  #: by code point: where in ``expansions`` they stand, if it is flagged
    expansions: Points


def _resize(table: _NormalizationTable, points: Points) -> Points:
    """Expand ligatures and the like and drop the invisible, all at once."""
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
    flat, starts, sizes = _map_each(points, lambda joined: unicodedata.normalize("NFKC", _fold(joined)))
    flat[np.isin(flat, _WHITE_SPACE)] = SPACE
    table = _NormalizationTable(
        np.arange(_CODE_POINTS, dtype=np.uint32),
        np.ones(_CODE_POINTS, np.uint8),
        np.zeros(_CODE_POINTS, np.uint32),
        flat,
    )
    table.sizes[points], table.starts[points] = sizes, starts
    table.packed[points[sizes == 1]] = flat[starts[sizes == 1]]
    roles = _roles(points)[table.packed]
    table.packed[points[sizes != 1]] |= RESIZED
    table.packed[points[_combining(points)]] |= COMBINES
    np.bitwise_or(table.packed, roles, out=table.packed)
    return table


def _map_each(points: Points, function: Callable[[str], str]) -> tuple[Points, Indices, Indices]:
    """Apply ``function`` to every character alone: the results in a row, their starts and lengths."""
    # NUL never combines with anything, so one call does what a call for every character would do.
    flat = encode(function("\0".join(map(chr, points.tolist())) + "\0")).copy()
    stops = np.flatnonzero(flat == 0)
    starts = np.concatenate(([0], stops[:-1] + 1))
    return flat, starts, stops - starts


def _combining(points: Points) -> Flags:
    """Whether each of ``points`` may change, or be changed by, what stands before it."""
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
    """By code point, in the place of a packed point: its role."""
    tokens = np.zeros(_CODE_POINTS, bool)
    tokens[points] = [unicodedata.category(chr(point))[0] in "LMN" for point in points.tolist()]
    for start, stop in _UNCHANGING_LETTER_RANGES:
        tokens[start:stop] = True
    roles = np.where(tokens, np.uint32(Role.WORD << ROLE_SHIFT), np.uint32(0))
    for start, stop in UNSPACED:
        roles[start:stop] *= np.uint32(Role.CHARACTER)
    return roles


_TEXT_SEPARATOR = (
    "\0"  #: behind each text; it separates tokens, combines with nothing, and may stand in a text too
)


class PackedTexts(NamedTuple):
    """Packed texts, one behind the other, with something behind each that is neither a token nor a space."""

    packed: Points
    starts: Indices  #: of each text its first point
    stops: Indices  #: of each text the place behind its last point


def pack_many(texts: Sequence[str]) -> PackedTexts:
    """Normalise texts, at least one, each as :func:`~dedupcrawl.text.normalize.pack` does."""
    packed = map_code_points(_TEXT_SEPARATOR.join((*texts, "")))
    ends = np.cumsum([len(text) + 1 for text in texts])
    if packed.max() >= RESIZED:
        packed, ends = _pack_individually(texts, packed, ends)
    return _collapse_spaces_of_many(packed, ends)


def _pack_individually(texts: Sequence[str], packed: Points, ends: Indices) -> tuple[Points, Indices]:
    """Pack by themselves those texts of which a point becomes none or several, or combines with another."""
    sizes = np.diff(ends, prepend=0)
    pieces, done = [], 0
    for place in np.unique(np.searchsorted(ends, np.flatnonzero(packed >= RESIZED), "right")).tolist():
        stop = int(ends[place]) - 1
        alone = pack(texts[place])
        pieces += [packed[done : stop - len(texts[place])], alone]
        sizes[place] = len(alone) + 1
        done = stop
    return np.concatenate((*pieces, packed[done:])), np.cumsum(sizes)


def _collapse_spaces_of_many(packed: Points, ends: Indices) -> PackedTexts:
    """Fold white space; a space before a border stays there, outside of the text."""
    space = packed == SPACE
    blank = space.copy()
    blank[ends - 1] = True
    space[1:] &= blank[:-1]
    surplus = np.flatnonzero(space)  # at the very beginning it is one too
    if len(surplus):
        np.logical_not(space, out=space)
        packed = packed[space]
        ends = ends - np.searchsorted(surplus, ends)
    starts = np.concatenate(([0], ends[:-1]))
    stops = ends - 1
    return PackedTexts(packed, starts, stops - ((packed[stops - 1] == SPACE) & (stops > starts)))


#: Compatibility ideographs are not among them: normalisation has replaced them by what they stand for.
_HAN = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0x20000, 0x323B0))
_TO_SIMPLIFIED = ("t2s", "tw2s", "hk2s")
_FROM_SIMPLIFIED = ("s2t", "s2tw", "s2hk")
#: Traditional characters that OpenCC writes in words only (瞭解, 藉口, 彷彿…), each before its simple one.
#: Where both are common in simplified texts (像 and 象, 覆 and 复) none is here: segmenters would lose words.
_WITHIN_WORDS = ("瞭了", "藉借", "彷仿", "甦苏", "揹背", "薰熏", "濬浚", "伕夫")


def simplify(packed: Points) -> Points:
    """Return packed points (see :func:`~dedupcrawl.text.normalize.pack`) with Chinese folded."""
    table = _folding_table()
    folded: Points = packed ^ table.take(np.minimum(packed & CODE, len(table) - 1))
    return folded


@functools.cache
def folding_digest() -> str:
    """Return what tells one folding from another, for OpenCC's tables grow from version to version."""
    return blake2b(_folding_table().astype("<u4").tobytes(), digest_size=8).hexdigest()


@functools.cache
def _folding_table() -> Points:
    """Return by code point in which bits what it is folded to differs; the last entry is for all beyond."""
    simplified = [*_conversions(_TO_SIMPLIFIED), *((pair[0], pair[1]) for pair in _WITHIN_WORDS)]
    votes = Counter(target for _, target in simplified)
    table = np.arange(_HAN[-1][1] + 1, dtype=np.uint32)
    for alike in _equivalence_classes([*simplified, *_conversions(_FROM_SIMPLIFIED)]):
        # What most others are simplified to: segmenters know the words it stands in.
        chosen = min(alike, key=lambda character: (-votes[character], character))
        table[list(map(ord, alike))] = ord(chosen)
    return table ^ np.arange(len(table), dtype=np.uint32)


def _conversions(names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield what conversions of OpenCC make of characters that stand alone."""
    from opencc import OpenCC  # noqa: PLC0415 - it must not load before it is needed

    characters = [chr(point) for start, stop in _HAN for point in range(start, stop)]
    for name in names:
        converted = OpenCC(name).convert("\n".join(characters)).split("\n")
        yield from ((a, b) for a, b in zip(characters, converted, strict=True) if a != b and len(b) == 1)


def _equivalence_classes(pairs: Iterable[tuple[str, str]]) -> Iterator[list[str]]:
    """Join pairs that share a character, over and over: every character ends in one class."""
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
