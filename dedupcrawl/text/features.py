"""One page seen by all detectors: what they share is computed once, when the first asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.page.model import Page
from dedupcrawl.text.chinese import simplify
from dedupcrawl.text.normalize import CODE, ROLE, decode, pack
from dedupcrawl.text.repetition import LONGEST, is_one_word_repeated
from dedupcrawl.text.sentences import sentence_ends
from dedupcrawl.text.shingles import shingles, token_spans, tokens
from dedupcrawl.text.words import words

if TYPE_CHECKING:
    from dedupcrawl.text.hashing import Hashes
    from dedupcrawl.text.normalize import Indices, Points
    from dedupcrawl.text.shingles import Tokens

_BEGINNING = 512  #: characters


@dataclass(frozen=True)
class Features:
    """A lazy view of one page."""

    page: Page
    fold_chinese: bool = False  #: traditional characters are read as simplified ones
    _words: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _shingles: dict[tuple[int, int, int], Hashes] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def packed(self) -> Points:
        """The normalised text as packed points, see :func:`~dedupcrawl.text.normalize.pack`.

        That is the main text, and the rest of the page where it outweighs the main text.
        """
        packed = pack(judged_text(self.page))
        return simplify(packed) if self.fold_chinese else packed

    @cached_property
    def points(self) -> Points:
        """The code points of the normalised main text, uint32."""
        return self.packed & CODE

    @cached_property
    def text(self) -> str:
        """The normalised main text."""
        return decode(self.points)

    @property
    def length(self) -> int:
        """Length of the normalised main text in characters."""
        return len(self.packed)

    @property
    def letters(self) -> int:
        """How many of these characters are letters, digits or marks, which is all that tokens are made of."""
        return int(np.count_nonzero(self.packed & ROLE))

    @property
    def is_one_word_repeated(self) -> bool:
        """Whether the text is one word over and over, whatever stands between."""
        beginning = _letters(self.packed[:_BEGINNING])
        if len(beginning) >= 2 * LONGEST and not is_one_word_repeated(beginning):
            return False  # as most texts: what begins a repetition is one
        return is_one_word_repeated(_letters(self.packed))

    @cached_property
    def sentence_ends(self) -> tuple[int, ...]:
        """Where sentences end in :attr:`text`: the index behind each closing mark."""
        return sentence_ends(self.text)

    @cached_property
    def tokens(self) -> Tokens:
        """The token stream, see :mod:`dedupcrawl.text.shingles`."""
        return tokens(self.packed)

    @cached_property
    def token_spans(self) -> tuple[Indices, Indices]:
        """Where in :attr:`text` each token begins, and where it ends."""
        return token_spans(self.packed)

    def words(self, segmenter: str = "jieba") -> tuple[str, ...]:
        """Return the words of :attr:`text`, see :func:`dedupcrawl.text.words.words`."""
        if segmenter not in self._words:
            self._words[segmenter] = words(self.text, segmenter)
        return self._words[segmenter]

    def part(self, text: str) -> Features:
        """Return the features of another text of the page (its title, say), normalised in the same way."""
        return Features(Page.from_text(text), self.fold_chinese)

    def shingles(self, characters: int, words: int, seed: int) -> Hashes:
        """Return the hashes of all shingles (uint64, with repetitions), shared by the detectors."""
        scheme = (characters, words, seed)
        if scheme not in self._shingles:
            self._shingles[scheme] = shingles(self.tokens, characters, words, seed)
        return self._shingles[scheme]


def judged_text(page: Page) -> str:
    """Return the text of a page that detectors look at."""
    return f"{page.text}\n{page.rest}" if page.rest else page.text


def _letters(packed: Points) -> Points:
    letters: Points = packed[(packed & ROLE) != 0]
    return letters
