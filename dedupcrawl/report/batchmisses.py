"""The near misses of a batch: kept pages that were compared and did not match.

A batch does not write down whom it compared. Pages that meet share a key, and pages that are much alike share
many: so pairs are made of neighbours in the buckets, and those with most keys in common are weighed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.batch.index import index_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dedupcrawl.batch.index import Buckets
    from dedupcrawl.batch.prints import Prints
    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.progress import Progress

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]
    Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
    Weigh = Callable[[int, int], Sequence[Opinion]]

BACK = 3  #: kept pages before it in each bucket with which a page is paired
ENTRIES = 4_000_000  #: keys of pages that are looked at; where there are more, those of some pages
WEIGHED = 5_000  #: pairs that are weighed
NEAR = 0.5  #: of the least similarity of a match: what is farther away is no near miss


@dataclass(frozen=True, slots=True)
class Weighed:
    """Two pages that do not match."""

    new: int  #: row
    old: int
    nearest: Opinion  #: the one with the highest similarity
    opinions: tuple[Opinion, ...]


@dataclass(frozen=True, slots=True)
class Misses:
    """What was found."""

    near: tuple[Weighed, ...]  #: nearest first
    weighed: tuple[Weighed, ...]  #: all that do not match
    tried: int  #: pairs that were to be weighed
    pairs: int  #: that there were to choose them from
    one_in: int  #: pages whose neighbours were looked at: all (1), every second one (2), …


def near_misses(
    prints: Prints, rank: Numbers, kept: Flags, of: Numbers, *, weigh: Weigh, teller: Progress
) -> Misses:
    """Find pairs of kept pages that share keys and do not match, and weigh those that share most.

    Args:
        prints: the corpus.
        rank: of each row, its place in the order in which pages were judged.
        kept: of each row, whether it stands where later pages look.
        of: of each row, the one that it relates to, or a negative number.
        weigh: gives the opinions on a new and an older row.
        teller: is told how far it has come.
    """
    new, old, one_in = _pairs(prints, rank, kept)
    unrelated = of[new] != old
    pairs, shared = np.unique(new[unrelated] * np.int64(len(prints)) + old[unrelated], return_counts=True)
    chosen = pairs[np.argsort(-shared, kind="stable")[:WEIGHED]]
    teller.begin("near misses", len(chosen))
    weighed = []
    for pair in chosen.tolist():
        found = _weighed(pair // len(prints), pair % len(prints), weigh)
        teller.advance(1)
        if found is not None:
            weighed.append(found)
    near = sorted(filter(_is_near, weighed), key=lambda each: -(each.nearest.similarity or 0.0))
    return Misses(tuple(near), tuple(weighed), len(chosen), len(pairs), one_in)


def _pairs(prints: Prints, rank: Numbers, kept: Flags) -> tuple[Numbers, Numbers, int]:
    """Return new and old rows, once for each key that they meet under."""
    index = index_of(prints)
    filed_bucket, filed_row = _entries(index.filed, kept)
    sought_bucket, sought_row = _entries(index.sought, kept)
    one_in = -(-len(sought_row) // ENTRIES) or 1
    if one_in > 1:
        some = sought_row % one_in == 0
        sought_bucket, sought_row = sought_bucket[some], sought_row[some]
    rows = len(prints)
    order = np.argsort(filed_bucket * np.int64(rows) + rank[filed_row])
    places, filed_row = (filed_bucket * np.int64(rows) + rank[filed_row])[order], filed_row[order]
    behind = np.searchsorted(places, sought_bucket * np.int64(rows) + rank[sought_row])
    new, old = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for back in range(1, BACK + 1):
        there = behind - back
        fits = there >= 0
        fits[fits] = places[there[fits]] // rows == sought_bucket[fits]
        new.append(sought_row[fits])
        old.append(filed_row[there[fits]])
    return np.concatenate(new), np.concatenate(old), one_in


def _entries(buckets: Buckets, kept: Flags) -> tuple[Numbers, Numbers]:
    """Return bucket and row of each entry of a row that is kept."""
    rows = np.repeat(np.arange(len(buckets.starts) - 1), np.diff(buckets.starts))
    there = kept[rows]
    return buckets.buckets[there].astype(np.int64), rows[there]


def _weighed(new: int, old: int, weigh: Weigh) -> Weighed | None:
    """Weigh two pages; None where they match after all, or nothing can be measured."""
    opinions = tuple(weigh(new, old))
    measured = [each for each in opinions if each.similarity is not None]
    if not measured or any(each.match for each in opinions):
        return None
    return Weighed(new, old, max(measured, key=lambda each: each.similarity or 0.0), opinions)


def _is_near(weighed: Weighed) -> bool:
    similarity = weighed.nearest.similarity or 0.0
    least = [bar.value for bar in weighed.nearest.bars if bar.measure == "similarity"]
    return similarity >= NEAR * max(least, default=NEAR)
