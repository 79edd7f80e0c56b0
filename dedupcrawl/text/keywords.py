"""The keywords of a text by TF-IDF."""

from __future__ import annotations

import math
from collections import Counter
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.text.lexicon import Lexicon

_LEAST_LENGTH = 2  #: characters of a keyword
_STOP = math.log(2)  #: idf of a word that stands in every other document


class Keyword(NamedTuple):
    """A word, and how much it says of its text."""

    word: str
    weight: float  #: TF-IDF: its share of the words that count, times its idf


def keywords(words: Iterable[str], lexicon: Lexicon, count: int) -> list[Keyword]:
    """Return the ``count`` heaviest words, the heaviest first, equal weights in the order of the text.

    Words of one character, and stop words, which stand in half of all documents or more, do not count. A
    word that the lexicon does not know has the median idf. With the built-in lexicon this is, for Chinese,
    what ``jieba.analyse.extract_tags`` gives (github.com/fxsjy/jieba); the share is what the literature on
    duplicates of web pages calls the density of a keyword.
    """
    found = Counter(word for word in words if len(word) >= _LEAST_LENGTH)
    idfs = {word: lexicon.weight(word) for word in found}
    counted = {word: times for word, times in found.items() if idfs[word] > _STOP}
    total = sum(counted.values())
    weights = {word: times * (idfs[word] / total) for word, times in counted.items()}
    return [Keyword(word, weights[word]) for word in nlargest(count, weights, key=weights.__getitem__)]
