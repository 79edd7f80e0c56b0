"""Several texts normalised in one go: most of the work on a short text is what each call costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dedupcrawl.text.normalize import RESIZED, SPACE, gather, pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.text.normalize import Indices, Points

_BORDER = "\0"  #: behind each text; it separates tokens, combines with nothing, and may stand in a text too


class PackedTexts(NamedTuple):
    """Packed texts, one behind the other, with something behind each that is neither a token nor a space."""

    packed: Points
    starts: Indices  #: of each text its first point
    stops: Indices  #: of each text the place behind its last point


def pack_many(texts: Sequence[str]) -> PackedTexts:
    """Normalise texts, at least one, each as :func:`~dedupcrawl.text.normalize.pack` does."""
    packed = gather(_BORDER.join((*texts, "")))
    ends = np.cumsum([len(text) + 1 for text in texts])
    if packed.max() >= RESIZED:
        packed, ends = _packed_apart(texts, packed, ends)
    return _single_spaces(packed, ends)


def _packed_apart(texts: Sequence[str], packed: Points, ends: Indices) -> tuple[Points, Indices]:
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


def _single_spaces(packed: Points, ends: Indices) -> PackedTexts:
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
