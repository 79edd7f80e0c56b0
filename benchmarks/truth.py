"""All pairs of texts with a Jaccard similarity of at least t, exact: prefix filtering.

Two sets with J >= t share one of the ``n - ceil(t n) + 1`` rarest elements of each (Chaudhuri, Ganti,
Kaushik, ICDE 2006; Bayardo, Ma, Srikant, WWW 2007), and their sizes differ at most by the factor t.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.text.normalize import pack
from dedupcrawl.text.shingles import shingles, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]

CHARACTERS, WORDS = 5, 3
CHUNK = 2_000_000  #: pairs per comparison


def shingle_set(text: str) -> Numbers:
    """Return the shingles of a text as sorted 64-bit hashes, as in the detectors."""
    return np.unique(shingles(tokens(pack(text), 0), CHARACTERS, WORDS, 0))


def length(text: str) -> int:
    """Return the length of a text in characters, as in the detectors."""
    return len(pack(text))


def jaccard(one: Numbers, two: Numbers) -> float:
    """Return |A ∩ B| / |A ∪ B|; 0 for two empty sets."""
    common = len(np.intersect1d(one, two, assume_unique=True))
    return common / max(1, len(one) + len(two) - common)


def similar_pairs(sets: Sequence[Numbers], t: float) -> tuple[Numbers, Numbers, Numbers]:
    """Return all pairs (earlier, later) with J >= t, and their J."""
    ranked = _by_rarity(sets)
    earlier, later = _candidates(ranked, t)
    similar = np.array([jaccard(ranked[a], ranked[b]) for a, b in zip(earlier, later, strict=True)])
    fine = similar >= t
    return earlier[fine], later[fine], similar[fine]


def _by_rarity(sets: Sequence[Numbers]) -> list[Numbers]:
    """Number the elements, rarest first, and sort each set by these numbers."""
    everything = np.concatenate([np.zeros(0, np.uint64), *sets])
    _, numbers, counts = np.unique(everything, return_inverse=True, return_counts=True)
    places = np.empty(len(counts), np.int64)
    places[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    ranked = places[numbers]
    ends: Any = np.cumsum([len(each) for each in sets])[:-1] if sets else []
    return [np.sort(each) for each in np.split(ranked, ends)]


def _candidates(ranked: Sequence[Numbers], t: float) -> tuple[Numbers, Numbers]:
    sizes = np.array([len(each) for each in ranked], np.int64)
    lengths = np.where(sizes > 0, sizes - np.ceil(t * sizes - 1e-9).astype(np.int64) + 1, 0)
    pages = np.repeat(np.arange(len(ranked)), lengths)
    elements = np.concatenate(
        [np.zeros(0, np.int64), *(each[:count] for each, count in zip(ranked, lengths, strict=True))]
    )
    order = np.lexsort((sizes[pages], elements))
    pages, elements = pages[order], elements[order]
    starts: Any = np.flatnonzero(np.concatenate([[True], elements[1:] != elements[:-1]])) if len(elements) else []
    codes: list[Numbers] = []
    waiting: list[Numbers] = []
    for start, end in zip(starts, [*starts[1:], len(elements)], strict=True):
        if end - start > 1:
            waiting.append(_pairs_of(pages[start:end], sizes, t, len(ranked)))
            if sum(map(len, waiting)) > CHUNK:
                codes, waiting = [np.unique(np.concatenate([*codes, *waiting]))], []
    both = np.unique(np.concatenate([np.zeros(0, np.int64), *codes, *waiting]))
    return both // max(1, len(ranked)), both % max(1, len(ranked))


def _pairs_of(pages: Numbers, sizes: Numbers, t: float, count: int) -> Numbers:
    """Pair pages, sorted by size, whose sizes fit; a pair is one number."""
    until = np.searchsorted(sizes[pages], sizes[pages] / t + 1e-9, side="right")
    partners = until - np.arange(len(pages)) - 1
    first = np.repeat(np.arange(len(pages)), partners)
    offsets = np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
    one, two = pages[first], pages[first + 1 + offsets]
    pairs: Numbers = np.minimum(one, two) * count + np.maximum(one, two)
    return pairs
