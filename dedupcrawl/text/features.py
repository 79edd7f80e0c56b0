"""One page seen by all detectors: what they share is computed once, when the first asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.text.normalize import CODE, ROLE, decode, pack
from dedupcrawl.text.sentences import sentence_ends
from dedupcrawl.text.shingles import shingles, tokens
from dedupcrawl.text.words import words

if TYPE_CHECKING:
    from dedupcrawl.page.model import Page
    from dedupcrawl.text.hashing import Hashes
    from dedupcrawl.text.normalize import Points
    from dedupcrawl.text.shingles import Tokens


@dataclass(frozen=True)
class Features:
    """A lazy view of one page."""

    page: Page
    _shingles: dict[tuple[int, int, int], Hashes] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def packed(self) -> Points:
        """The normalised text as packed points, see :func:`~dedupcrawl.text.normalize.pack`.

        That is the main text, and the rest of the page where it outweighs the main text.
        """
        page = self.page
        return pack(f"{page.text}\n{page.rest}" if page.rest else page.text)

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

    @cached_property
    def sentence_ends(self) -> tuple[int, ...]:
        """Where sentences end in :attr:`text`: the index behind each closing mark."""
        return sentence_ends(self.text)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of :attr:`text`; Chinese is segmented by jieba, which is loaded only now."""
        return words(self.text)

    @cached_property
    def tokens(self) -> Tokens:
        """The token stream, see :mod:`dedupcrawl.text.shingles`."""
        return tokens(self.packed)

    def shingles(self, characters: int, words: int, seed: int) -> Hashes:
        """Return the hashes of all shingles (uint64, with repetitions), shared by the detectors."""
        scheme = (characters, words, seed)
        if scheme not in self._shingles:
            self._shingles[scheme] = shingles(self.tokens, characters, words, seed)
        return self._shingles[scheme]
