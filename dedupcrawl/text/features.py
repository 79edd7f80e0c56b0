"""One page seen by all detectors: what they share is computed once, when the first asks for it.

Texts that say one thing over and over.

Several pages seen by all detectors: what they share is computed once, and for all pages in one go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from dedupcrawl.page.model import Page
from dedupcrawl.text.normalize import CODE, ROLE, PackedTexts, decode, pack, pack_many, simplify
from dedupcrawl.text.shingles import (
    ShinglesOfMany,
    located_tokens,
    shingles,
    shingles_of_many,
    token_spans,
    tokens,
)
from dedupcrawl.text.words import sentence_ends, words

if TYPE_CHECKING:
    from dedupcrawl.text.hashing import Hashes
    from dedupcrawl.text.normalize import Indices, Points
    from dedupcrawl.text.shingles import Tokens


LONGEST_REPEATED = 64  #: letters and digits of what is repeated


def is_one_word_repeated(letters: Points) -> bool:
    """Whether letters and digits (code points of either, nothing between) are one word twice or more often.

    The word has up to ``LONGEST`` of them and may be a phrase; what stands last may be a part of it.
    """
    data, width = letters.tobytes(), letters.itemsize
    longest = min(LONGEST_REPEATED, len(letters) // 2)
    periods = np.flatnonzero(letters[1 : longest + 1] == letters[:1]) + 1
    head = data[: width * longest]
    shifts = [width * period for period in periods.tolist() if data.startswith(head, width * period)]
    return any(data[shift:] == data[:-shift] for shift in shifts)


_BEGINNING_LENGTH = 512  #: characters


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
        beginning = _letter_points(self.packed[:_BEGINNING_LENGTH])
        if len(beginning) >= 2 * LONGEST_REPEATED and not is_one_word_repeated(beginning):
            return False  # as most texts: what begins a repetition is one
        return is_one_word_repeated(_letter_points(self.packed))

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


def _letter_points(packed: Points) -> Points:
    letters: Points = packed[(packed & ROLE) != 0]
    return letters


_HEAD_LETTERS = 8  #: letters with which a repetition would begin again


class FeaturesBatch(Sequence[Features]):
    """Pages, at least one, that say together what :class:`~dedupcrawl.text.features.Features` says of each.

    It pays for texts of a few thousand characters, and for so many that their arrays stay in the cache.
    """

    def __init__(self, pages: Sequence[Page], *, fold_chinese: bool = False) -> None:
        self.pages = pages
        self._fold_chinese = fold_chinese
        self._features: list[Features | None] = [None] * len(pages)
        self._shingles: dict[tuple[int, int, int], ShinglesOfMany] = {}

    def __len__(self) -> int:
        return len(self.pages)

    @overload
    def __getitem__(self, place: int) -> Features: ...
    @overload
    def __getitem__(self, place: slice) -> list[Features]: ...
    def __getitem__(self, place: int | slice) -> Features | list[Features]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        found = self._features[place]
        if found is None:
            found = self._features[place] = Features(self.pages[place], self._fold_chinese)
        return found

    @cached_property
    def lengths(self) -> list[int]:
        """The length of each normalised text in characters."""
        found: list[int] = (self._texts.stops - self._texts.starts).tolist()
        return found

    @cached_property
    def letters(self) -> list[int]:
        """How many of these characters of each are letters, digits or marks."""
        found: list[int] = np.diff(self._letters_before, append=len(self._letters)).tolist()
        return found

    @cached_property
    def are_one_word_repeated(self) -> list[bool]:
        """Whether each text is one word over and over."""
        enough = [count >= 2 * LONGEST_REPEATED for count in self.letters]
        return [
            (recurs or not many) and self[place].is_one_word_repeated
            for place, (many, recurs) in enumerate(zip(enough, self._recurring, strict=True))
        ]

    @cached_property
    def encoded(self) -> list[bytes]:
        """Each normalised text in UTF-8, half surrogate pairs too."""
        texts = self._texts
        joined = decode(texts.packed & CODE)
        spans = zip(texts.starts.tolist(), texts.stops.tolist(), strict=True)
        return [joined[start:stop].encode("utf-8", "surrogatepass") for start, stop in spans]

    def shingles(self, characters: int, words: int, seed: int) -> ShinglesOfMany:
        """Return the hashes of all shingles of all texts, and whose they are."""
        scheme = (characters, words, seed)
        if scheme not in self._shingles:
            texts = self._texts
            stream, places = located_tokens(texts.packed)
            bounds = np.append(np.searchsorted(places, texts.starts), len(places))
            self._shingles[scheme] = shingles_of_many(stream, bounds, *scheme)
        return self._shingles[scheme]

    @cached_property
    def _texts(self) -> PackedTexts:
        texts = pack_many([judged_text(page) for page in self.pages])
        return texts._replace(packed=simplify(texts.packed)) if self._fold_chinese else texts

    @cached_property
    def _letters(self) -> Indices:
        """Where the letters of all texts stand."""
        return np.flatnonzero(self._texts.packed > CODE)  # those that have a role

    @cached_property
    def _letters_before(self) -> Indices:
        return np.searchsorted(self._letters, self._texts.starts)

    @property
    def _recurring(self) -> list[bool]:
        """Whether the first letters of each text come again soon, as they do where a word is repeated.

        Where a text is shorter than that it may be any answer.
        """
        letters = self._letters
        if not len(letters):
            return [False] * len(self)
        span = self._letters_before[:, None] + np.arange(LONGEST_REPEATED + _HEAD_LETTERS)
        beginnings = self._texts.packed[letters[np.minimum(span, len(letters) - 1)]]
        data, width = beginnings.tobytes(), beginnings.itemsize
        head, step = width * _HEAD_LETTERS, width * (LONGEST_REPEATED + _HEAD_LETTERS)
        return [
            data.find(data[row : row + head], row + width, row + step) >= 0
            for row in range(0, len(data), step)
        ]
