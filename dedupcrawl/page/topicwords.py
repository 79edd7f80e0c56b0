"""The words by which two blocks of one page are compared; those that any text has are left out.

Han text is cut into pairs of neighbouring characters instead of dictionary words. Both find the same topic,
pairs cost a twentieth, and what is read from a page does not depend on who segments its words.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.page.tables import words

if TYPE_CHECKING:
    from collections.abc import Iterable

STOP_WORDS = words("""
    a about after all also an and any are as at be because been before being but by can could did do does
    each for from had has have he her here hers him his how i if in into is it its just like may me might
    more most my no not now of on one only or other our ours out over own said same say says she should so
    some such than that the their theirs them then there these they this those to too under until up upon us
    very was we were what when where which while who whom whose why will with would you your yours
""")
#: Characters that do the work of stop words: particles, pronouns, conjunctions, prepositions.
STOP_CHARACTERS = (
    "的了是在和也就都而及与與着著或这這那不有为為以于於上中下他她它我你们們被把从從到对對将將之其所"
)

_UNSPACED = (
    (0x3005, 0x3007),  # 々〆〇
    (0x3040, 0x30FF),  # kana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


def _without(ranges: Iterable[tuple[int, int]], left_out: Iterable[int]) -> list[tuple[int, int]]:
    """Cut code points out of ranges: a set in a pattern is quicker than a look ahead of each character."""
    parts = list(ranges)
    for point in left_out:
        parts = [
            piece
            for first, last in parts
            for piece in (
                ((first, point - 1), (point + 1, last)) if first <= point <= last else ((first, last),)
            )
            if piece[0] <= piece[1]
        ]
    return parts


def _as_set(ranges: Iterable[tuple[int, int]]) -> str:
    return "".join([f"{chr(first)}-{chr(last)}" for first, last in ranges])


_telling = _as_set(_without(_UNSPACED, map(ord, STOP_CHARACTERS)))
_pairs = re.compile(f"(?=([{_telling}]{{2}}))").findall
_spaced = re.compile(f"[^\\W_{_as_set(_UNSPACED)}]+").findall


def topic_words(text: str) -> Counter[str]:
    """Return the words of a block with their counts.

    >>> sorted(topic_words("The river rose in 长江的水位"))
    ['river', 'rose', '水位', '长江']
    """
    folded = text.casefold()
    found = Counter(_spaced(folded))
    for word in STOP_WORDS & found.keys():
        del found[word]
    if not text.isascii():
        found.update(_pairs(folded))
    return found


def overlap(one: Counter[str], other: Counter[str]) -> float:
    """Return |common words| / |words of the smaller block|, both with repetitions; 0 without words.

    >>> overlap(Counter("abb"), Counter("abcd"))
    0.6666666666666666
    """
    small, large = sorted((one, other), key=Counter.total)
    size = small.total()
    common = sum([min(count, large[word]) for word, count in small.items() if word in large])
    return common / size if size else 0.0
