"""Several pages seen by all detectors: what they share is computed once, and for all pages in one go."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from dedupcrawl.text.chinese import simplify
from dedupcrawl.text.features import Features, judged_text
from dedupcrawl.text.many import PackedTexts, pack_many
from dedupcrawl.text.manyshingles import Shingles, shingles_of_many
from dedupcrawl.text.normalize import CODE, decode
from dedupcrawl.text.repetition import LONGEST
from dedupcrawl.text.shingles import located_tokens

if TYPE_CHECKING:
    from dedupcrawl.page.model import Page
    from dedupcrawl.text.normalize import Indices

_HEAD = 8  #: letters with which a repetition would begin again


class Group(Sequence[Features]):
    """Pages, at least one, that say together what :class:`~dedupcrawl.text.features.Features` says of each.

    It pays for texts of a few thousand characters, and for so many that their arrays stay in the cache.
    """

    def __init__(self, pages: Sequence[Page], *, fold_chinese: bool = False) -> None:
        self.pages = pages
        self._fold_chinese = fold_chinese
        self._features: list[Features | None] = [None] * len(pages)
        self._shingles: dict[tuple[int, int, int], Shingles] = {}

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
        enough = [count >= 2 * LONGEST for count in self.letters]
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

    def shingles(self, characters: int, words: int, seed: int) -> Shingles:
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
        span = self._letters_before[:, None] + np.arange(LONGEST + _HEAD)
        beginnings = self._texts.packed[letters[np.minimum(span, len(letters) - 1)]]
        data, width = beginnings.tobytes(), beginnings.itemsize
        head, step = width * _HEAD, width * (LONGEST + _HEAD)
        return [
            data.find(data[row : row + head], row + width, row + step) >= 0
            for row in range(0, len(data), step)
        ]
