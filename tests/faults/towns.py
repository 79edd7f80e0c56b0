"""The demo's web many times over: every town has its sites and its plan of pages, with exchanged words.

Words are exchanged for others of their length, and Chinese characters for others, one for one within a town.
So the copies in a town are as alike as those of the demo, and stories of two towns have next to nothing in
common.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from random import Random
from typing import TYPE_CHECKING

from dedupcrawl.tools.demo.corpus import load_content

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dedupcrawl.tools.demo.corpus import ArticleText, BundledCorpus

_WORD = re.compile("[A-Za-z]+")
_HAN = re.compile("[一-鿿]")
_KEPT = frozenset("的得在再做作已己像象账帐需须那哪以")  #: characters in the typing errors of the demo


@dataclass(frozen=True)
class Dialect:
    """The exchanged words and characters of one town."""

    words: Mapping[str, str]  #: lower case
    characters: Mapping[int, str]  #: for ``str.translate``

    def tell(self, text: str) -> str:
        """Exchange the words of a text; capitals stay in their places."""
        return _WORD.sub(self._word, text.translate(self.characters))

    def _word(self, match: re.Match[str]) -> str:
        old = match.group()
        new = self.words[old.lower()]
        return "".join(b.upper() if a.isupper() else b for a, b in zip(old, new, strict=True))


def town(number: int) -> BundledCorpus:
    """Return the web of a town; that of number 0 is the demo's own."""
    content = load_content()
    if number == 0:
        return content
    dialect = _dialect(number)
    return replace(
        content,
        articles={id: _retold(article, dialect) for id, article in content.articles.items()},
        pages=tuple(replace(page, title=dialect.tell(page.title)) for page in content.pages),
    )


def _retold(article: ArticleText, dialect: Dialect) -> ArticleText:
    tell = dialect.tell
    return replace(
        article,
        title=tell(article.title),
        other_title=tell(article.other_title),
        description=tell(article.description),
        caption=tell(article.caption),
        keywords=tuple(map(tell, article.keywords)),
        paragraphs=tuple(map(tell, article.paragraphs)),
        ending=tuple(map(tell, article.ending)),
    )


def _dialect(number: int) -> Dialect:
    words, characters = _vocabulary()
    chance = Random(number)
    told: dict[str, str] = {}
    for _, group in groupby(words, len):
        alike = list(group)
        told.update(zip(alike, chance.sample(alike, len(alike)), strict=True))
    others = chance.sample(characters, len(characters))
    return Dialect(told, {ord(old): new for old, new in zip(characters, others, strict=True)})


@cache
def _vocabulary() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of the demo, the short ones first, and its Chinese characters."""
    text = "\n".join(_texts(load_content()))
    words = {word.lower() for word in _WORD.findall(text)}
    characters = set(_HAN.findall(text)) - _KEPT
    return tuple(sorted(words, key=lambda word: (len(word), word))), tuple(sorted(characters))


def _texts(content: BundledCorpus) -> Iterator[str]:
    for article in content.articles.values():
        yield from (article.title, article.other_title, article.description, article.caption)
        yield from (*article.keywords, *article.paragraphs, *article.ending)
    for page in content.pages:
        yield page.title
