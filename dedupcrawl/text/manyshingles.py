"""The shingles of several texts in one go."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dedupcrawl.text.hashing import Hashes, mix
from dedupcrawl.text.shingles import polynomials, runs

if TYPE_CHECKING:
    from dedupcrawl.text.normalize import Flags, Indices
    from dedupcrawl.text.shingles import Tokens


class Shingles(NamedTuple):
    """Hashes of shingles, and whose they are."""

    hashes: Hashes
    texts: Indices  #: of each shingle its text
    counts: Indices  #: of each text its shingles, repetitions counted


def shingles_of_many(stream: Tokens, bounds: Indices, characters: int, words: int, seed: int) -> Shingles:
    """Hash the shingles of several texts, each as :func:`~dedupcrawl.text.shingles.shingles` does.

    Args:
        stream: their tokens.
        bounds: where those of each text begin; behind them, where the last one ends.
        characters: as there.
        words: as there.
        seed: as there.
    """
    found = [
        _starting(stream.hashes, which, bounds, length, seed)
        for which, length in ((stream.characters, characters), (~stream.characters, words))
        if which.any()
    ]
    counts = sum((each.counts for each in found), np.zeros(len(bounds) - 1, np.int64))
    for text in np.flatnonzero((counts == 0) & (np.diff(bounds) > 0)).tolist():
        whole = stream.hashes[bounds[text] : bounds[text + 1]]
        found.append(Shingles(runs(whole, len(whole), seed), np.array([text]), counts))
        counts[text] = 1
    empty = (np.zeros(0, np.uint64), np.zeros(0, np.int64))
    hashes, texts = (np.concatenate([empty[at], *(each[at] for each in found)]) for at in range(2))
    return Shingles(hashes, texts, counts)


def _starting(hashes: Hashes, which: Flags, bounds: Indices, length: int, seed: int) -> Shingles:
    """Hash every run of ``length`` tokens that lies within one text and starts at one of those flagged."""
    fits = which.copy()
    if length > 1:
        late = (bounds[1:, None] - np.arange(1, length)).ravel()
        # Where a text is shorter, some of these are late in that before it anyway, or no tokens at all.
        fits[late[late >= 0]] = False
    places = np.flatnonzero(fits)
    counts = np.diff(np.searchsorted(places, bounds))
    run = mix(polynomials(hashes, length, seed).take(places)) if len(places) else np.zeros(0, np.uint64)
    return Shingles(run, np.repeat(np.arange(len(counts)), counts), counts)
