"""The weighted shingles of a page's fields (patent CN101645082)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from dedupcrawl.detectors.rabin import fingerprints, symbols

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from dedupcrawl.detectors.bits import Counts
    from dedupcrawl.text.hashing import Hashes
    from dedupcrawl.text.shingles import Tokens

T = TypeVar("T", bound=np.generic)


class Field(NamedTuple):
    """A text of the page, and what it weighs."""

    tokens: Tokens  #: at least one
    weight: int


class Weighted(NamedTuple):
    """Features and their weights."""

    hashes: Sequence[Hashes]  #: one array for every 64 bits of a fingerprint
    weights: Counts | None  #: None: all weigh the same


class _Run(NamedTuple):
    """Shingles of one length."""

    length: int  #: tokens
    taken: npt.NDArray[np.bool_] | None  #: at which tokens one starts; None: wherever there is room


@dataclass(frozen=True, slots=True)
class Weighing:
    """How texts are cut into shingles, and how shingles are hashed: each by several Rabin fingerprints."""

    characters: int  #: length of a shingle that starts at a character of a script without spaces
    words: int  #: length of one that starts at a word
    seed: int
    hashes: int  #: how many fingerprints of 64 bits

    def by_occurrences(self, fields: Sequence[Field]) -> Weighted:
        """Weigh every occurrence of a shingle by its field."""
        parts = [self._hashes(field.tokens) for field in fields]
        if len({field.weight for field in fields}) == 1:
            return Weighted(_joined(parts), None)
        weights = [np.full(len(part[0]), field.weight) for field, part in zip(fields, parts, strict=True)]
        return Weighted(_joined(parts), np.concatenate(weights))

    def by_terms(self, fields: Sequence[Field]) -> Weighted:
        """Weigh every shingle by the sum of the term frequencies of its tokens, and by its field.

        The term frequency is how often a token stands in all fields together. The shingles of a field
        are a set: that one stands twice is said by the frequencies of its terms.
        """
        frequencies = _frequencies([field.tokens.hashes for field in fields])
        parts, weights = [], []
        for field, of_tokens in zip(fields, frequencies, strict=True):
            hashes = self._hashes(field.tokens)
            _, first = np.unique(hashes[0], return_index=True)
            parts.append([part[first] for part in hashes])
            weights.append(self._sums(field.tokens, of_tokens)[first] + field.weight)
        return Weighted(_joined(parts), np.concatenate(weights))

    def _hashes(self, stream: Tokens) -> list[Hashes]:
        cut, runs = symbols(stream), self._runs(stream)
        return [
            _chain([_taken(fingerprints(cut, run.length, self.seed, number), run) for run in runs])
            for number in range(self.hashes)
        ]

    def _sums(self, stream: Tokens, of_tokens: Counts) -> Counts:
        sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(of_tokens)))
        return _chain([_taken(sums[run.length :] - sums[: -run.length], run) for run in self._runs(stream)])

    def _runs(self, stream: Tokens) -> list[_Run]:
        """Say where shingles stand, as :func:`~dedupcrawl.text.shingles.shingles` does."""
        at, count = stream.characters, len(stream.characters)
        found = int(np.count_nonzero(at))
        if found in (0, count):
            return [_Run(min(count, self.characters if found else self.words), None)]
        both = ((self.characters, at), (self.words, ~at))
        runs = [_Run(length, starts[: count - length + 1]) for length, starts in both if length <= count]
        return [run for run in runs if np.any(run.taken)] or [_Run(count, None)]


def _taken(values: npt.NDArray[T], run: _Run) -> npt.NDArray[T]:
    return values if run.taken is None else values[run.taken]


def _joined(parts: Sequence[Sequence[Hashes]]) -> list[Hashes]:
    return [_chain(part) for part in zip(*parts, strict=True)]


def _chain(arrays: Sequence[npt.NDArray[T]]) -> npt.NDArray[T]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _frequencies(tokens: Sequence[Hashes]) -> Iterator[Counts]:
    """Yield for every field how often each of its tokens stands in all fields."""
    _, places, counts = np.unique(np.concatenate(tokens), return_inverse=True, return_counts=True)
    ends = np.cumsum([len(of_field) for of_field in tokens])
    yield from np.split(counts[places], ends[:-1])
