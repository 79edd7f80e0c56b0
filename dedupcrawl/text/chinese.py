"""Folding of traditional Chinese characters to simplified ones, by the tables of OpenCC.

A character is folded wherever it stands, without a look at its neighbours: two texts that differ only in the
script then become one, and the places of characters stay what they were.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.text.normalize import CODE, encode

if TYPE_CHECKING:
    from dedupcrawl.text.normalize import Points

_HAN = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, 0x323B0))


def simplify(packed: Points) -> Points:
    """Return packed points (see :func:`~dedupcrawl.text.normalize.pack`) with Chinese folded."""
    table = _table()
    codes = packed & CODE
    folded: Points = (packed ^ codes) | table.take(np.minimum(codes, len(table) - 1))
    return folded


@functools.cache
def _table() -> Points:
    from opencc import OpenCC  # noqa: PLC0415 - it must not load before it is needed

    points = [point for start, stop in _HAN for point in range(start, stop)]
    folded = encode(OpenCC("t2s").convert("\0".join(map(chr, points))).replace("\0", ""))
    table = np.arange(_HAN[-1][1] + 1, dtype=np.uint32)
    table[points] = folded
    return table
