"""Counting in how many documents words stand, in bounded memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_WORDS = 2_000_000  #: that are counted at a time


@dataclass
class DocumentFrequencies:
    """Document frequencies, exact as long as there are at most ``most`` different words.

    Beyond that the rarest are forgotten, as in lossy counting (Manku, Motwani, *Approximate frequency counts
    over data streams*, VLDB 2002): a word that comes back may have stood in up to ``missed`` documents
    before. So no count is too high, and none is too low by more than ``missed``.
    """

    most: int = MOST_WORDS
    documents: int = 0
    missed: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _missed: dict[str, int] = field(default_factory=dict)  #: of a word that came after some were forgotten

    def add(self, words: Iterable[str]) -> None:
        """Count a document."""
        different = set(words)
        if self.missed:
            new = (word for word in different if word not in self._counts)
            self._missed.update(dict.fromkeys(new, self.missed))
        self._counts.update(different)
        self.documents += 1
        if len(self._counts) > self.most:
            self._forget()

    def frequencies(self, least: int = 1) -> dict[str, int]:
        """Return the words that stand in at least so many documents."""
        return {word: count for word, count in self._counts.items() if count >= least}

    def _forget(self) -> None:
        """Forget the rarest words until half of the room is free again."""
        bounds = Counter(bound for _, bound in self._bounds())
        left = len(self._counts)
        for bound in sorted(bounds):
            left -= bounds[bound]
            self.missed = bound
            if left <= self.most // 2:
                break
        rare = [word for word, bound in self._bounds() if bound <= self.missed]
        for word in rare:
            del self._counts[word]
            self._missed.pop(word, None)

    def _bounds(self) -> Iterator[tuple[str, int]]:
        """Yield every word with the number of documents that it stands in at most."""
        return ((word, count + self._missed.get(word, 0)) for word, count in self._counts.items())
