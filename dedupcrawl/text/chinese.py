"""Folding of the two ways to write Chinese into one, by the tables of OpenCC (github.com/BYVoid/OpenCC).

Two characters fold alike if any conversion of OpenCC between simplified Chinese and the standards of Taiwan
and Hong Kong turns one into the other, or both stand in a chain of such. A character is folded wherever it
stands, without a look at its neighbours: two texts that differ only in the script become one, whichever side
wrote them (著 and 着, 乾 and 干, 裡 and 裏), and the places of characters stay what they were. Words that the
two sides choose differently (資訊 and 信息) stay different.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.text.normalize import CODE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupcrawl.text.normalize import Points

#: Compatibility ideographs are not among them: normalisation has replaced them by what they stand for.
_HAN = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0x20000, 0x323B0))
_TO_SIMPLIFIED = ("t2s", "tw2s", "hk2s")
_FROM_SIMPLIFIED = ("s2t", "s2tw", "s2hk")
#: Traditional characters that OpenCC writes in words only (瞭解, 藉口, 彷彿…), each before its simple one.
#: Where both are common in simplified texts (像 and 象, 覆 and 复) none is here: segmenters would lose words.
_WITHIN_WORDS = ("瞭了", "藉借", "彷仿", "甦苏", "揹背", "薰熏", "濬浚", "伕夫")


def simplify(packed: Points) -> Points:
    """Return packed points (see :func:`~dedupcrawl.text.normalize.pack`) with Chinese folded."""
    table = _table()
    folded: Points = packed ^ table.take(np.minimum(packed & CODE, len(table) - 1))
    return folded


@functools.cache
def folding_digest() -> str:
    """Return what tells one folding from another, for OpenCC's tables grow from version to version."""
    return blake2b(_table().astype("<u4").tobytes(), digest_size=8).hexdigest()


@functools.cache
def _table() -> Points:
    """Return by code point in which bits what it is folded to differs; the last entry is for all beyond."""
    simplified = [*_conversions(_TO_SIMPLIFIED), *((pair[0], pair[1]) for pair in _WITHIN_WORDS)]
    votes = Counter(target for _, target in simplified)
    table = np.arange(_HAN[-1][1] + 1, dtype=np.uint32)
    for alike in _classes([*simplified, *_conversions(_FROM_SIMPLIFIED)]):
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


def _classes(pairs: Iterable[tuple[str, str]]) -> Iterator[list[str]]:
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
