"""Normalisation: NFKC, case-folding, white space runs to one space, invisible characters dropped.

One gather from a table over code points does it; only where characters combine with their
neighbours does the text take the slow way through :mod:`unicodedata`. Both give what
:func:`reference` gives.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dedupcrawl.text.scripts import UNSPACED, Role

if TYPE_CHECKING:
    from collections.abc import Callable

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
_PLANES = 0x110000

#: Soft hyphen, zero-width and bidirectional controls, variation selectors, byte order mark, tags.
_INVISIBLE = re.compile(
    "[\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)

#: Only here do code points change or combine under normalisation; between lie Han, Hangul, cuneiform,
#: hieroglyphs, Tangut, surrogates, private use, nothing.
_CHANGING = (
    (0x1, 0x3400),
    (0xA490, 0xAC00),
    (0xD7A4, 0xD800),
    (0xF900, 0x12000),
    (0x16100, 0x17000),
    (0x1B000, 0x20000),
    (0x2F800, 0x2FA20),
    (0xE0000, 0xE1000),
)
_UNCHANGING_LETTERS = (
    (0x3400, 0xA490),
    (0xAC00, 0xD7A4),
    (0x12000, 0x16100),
    (0x17000, 0x1B000),
    (0x20000, 0x2F800),
    (0x2FA20, 0x40000),
)
_JAMO_THAT_JOIN = [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]
_WHITE_SPACE = [point for point in range(0x3001) if chr(point).isspace()]


def reference(text: str) -> str:
    """Normalise the plain way; the definition that :func:`pack` must agree with."""
    return " ".join(unicodedata.normalize("NFKC", _fold(text)).split())


def normalize(text: str) -> str:
    """Normalise by the table."""
    return decode(pack(text) & CODE)


def pack(text: str) -> Points:
    """Normalise ``text`` and return one uint32 a code point: the code and, above it, its role.

    Lone surrogates are kept as they are.
    """
    packed = gather(text)
    if not len(packed):
        return packed
    table, highest = _table(), packed.max()
    if highest >= COMBINES:
        points = encode(reference(text))
        return points | (table.packed[points] & ROLE)
    if highest >= RESIZED:
        packed = table.packed[_resize(table, encode(text))]
    return _single_spaces(packed)


def gather(text: str) -> Points:
    """Return what each code point becomes by itself, white space not folded yet.

    Where one is ``RESIZED`` or more, :func:`pack` has to look at the text as a whole.
    """
    return _table().packed.take(encode(text))


@functools.cache
def roles() -> npt.NDArray[np.uint8]:
    """Return by code point its :class:`~dedupcrawl.text.scripts.Role`, read-only."""
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


def _single_spaces(packed: Points) -> Points:
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


class _Table(NamedTuple):
    packed: Points  #: by code point: what it becomes, its role, and the two flags
    sizes: npt.NDArray[np.uint8]  #: by code point: how many code points it becomes
    starts: npt.NDArray[np.uint32]  #: by code point: where in ``expansions`` they stand, if it is flagged
    expansions: Points


def _resize(table: _Table, points: Points) -> Points:
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
def _table() -> _Table:
    points = np.concatenate([np.arange(start, stop, dtype=np.uint32) for start, stop in _CHANGING])
    flat, starts, sizes = _each(points, lambda joined: unicodedata.normalize("NFKC", _fold(joined)))
    flat[np.isin(flat, _WHITE_SPACE)] = SPACE
    table = _Table(
        np.arange(_PLANES, dtype=np.uint32), np.ones(_PLANES, np.uint8), np.zeros(_PLANES, np.uint32), flat
    )
    table.sizes[points], table.starts[points] = sizes, starts
    table.packed[points[sizes == 1]] = flat[starts[sizes == 1]]
    roles = _roles(points)[table.packed]
    table.packed[points[sizes != 1]] |= RESIZED
    table.packed[points[_combining(points)]] |= COMBINES
    np.bitwise_or(table.packed, roles, out=table.packed)
    return table


def _each(points: Points, function: Callable[[str], str]) -> tuple[Points, Indices, Indices]:
    """Apply ``function`` to every character alone: the results in a row, their starts and lengths."""
    # NUL never combines with anything, so one call does what a call for every character would do.
    flat = encode(function("\0".join(map(chr, points.tolist())) + "\0")).copy()
    stops = np.flatnonzero(flat == 0)
    starts = np.concatenate(([0], stops[:-1] + 1))
    return flat, starts, stops - starts


def _combining(points: Points) -> Flags:
    """Whether each of ``points`` may change, or be changed by, what stands before it."""
    joining = np.zeros(_PLANES, bool)
    flat, starts, _ = _each(points, functools.partial(unicodedata.normalize, "NFD"))
    flat[starts] = 0
    joining[flat] = True
    joining[0] = False
    joining[_JAMO_THAT_JOIN] = True
    joining[points[[unicodedata.combining(chr(point)) > 0 for point in points.tolist()]]] = True
    flat, starts, _ = _each(points, functools.partial(unicodedata.normalize, "NFKD"))
    first: Flags = joining[flat[starts]]
    return first | joining[points]


def _roles(points: Points) -> Points:
    """By code point, in the place of a packed point: its role."""
    tokens = np.zeros(_PLANES, bool)
    tokens[points] = [unicodedata.category(chr(point))[0] in "LMN" for point in points.tolist()]
    for start, stop in _UNCHANGING_LETTERS:
        tokens[start:stop] = True
    roles = np.where(tokens, np.uint32(Role.WORD << ROLE_SHIFT), np.uint32(0))
    for start, stop in UNSPACED:
        roles[start:stop] *= np.uint32(Role.CHARACTER)
    return roles
