"""Feature codes: the tokens on either side of the end of a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.text.shingles import runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.text.features import Features
    from dedupcrawl.text.hashing import Hashes
    from dedupcrawl.text.normalize import Indices

LONGEST_TOKEN = 32  #: characters kept of a token; nothing that is longer is a word


def code_places(features: Features, size: int) -> Indices:
    """Return, for every sentence end with ``size`` / 2 tokens on either side, where its code begins.

    Places are indices of the token stream: a code is characters where the script has no spaces,
    words elsewhere, and punctuation is no part of it.
    """
    starts, _ = features.token_spans
    places = np.searchsorted(starts, np.array(features.sentence_ends, np.int64)) - size // 2
    return np.unique(places[(places >= 0) & (places + size <= len(starts))])


def code_tokens(features: Features, place: int, size: int) -> tuple[str, ...]:
    """Return the tokens of the code that begins at ``place``."""
    starts, stops = features.token_spans
    spans = zip(starts[place : place + size].tolist(), stops[place : place + size].tolist(), strict=True)
    return tuple(features.text[start : min(stop, start + LONGEST_TOKEN)] for start, stop in spans)


def code_hashes(features: Features, places: Indices, size: int, seed: int) -> Hashes:
    """Hash the codes that begin at ``places``."""
    return runs(features.tokens.hashes, size, seed)[places]


def longest_common_subsequence(left: Sequence[object], right: Sequence[object]) -> int:
    """Return the length of the longest common subsequence, O(n·m)."""
    row = [0] * (len(right) + 1)
    for item in left:
        diagonal = 0
        for at, other in enumerate(right, 1):
            diagonal, row[at] = row[at], diagonal + 1 if item == other else max(row[at], row[at - 1])
    return row[-1]


def readable(tokens: Sequence[str]) -> str:
    """Write a code down: words with spaces, characters without."""
    return ("" if all(len(token) == 1 for token in tokens) else " ").join(tokens)
