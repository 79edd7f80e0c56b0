"""Which pages share a key with another: all the others can be judged without looking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.batch.prints import Lists, Prints

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Buckets:
    """For each row some buckets, by number: those of row r are ``buckets[starts[r]:starts[r + 1]]``."""

    starts: Numbers
    buckets: Numbers

    def of(self, row: int) -> list[int]:
        """Return the buckets of a row."""
        found: list[int] = self.buckets[self.starts[row] : self.starts[row + 1]].tolist()
        return found

    @property
    def rows(self) -> Numbers:
        """The rows that have any, rising."""
        return np.flatnonzero(np.diff(self.starts))


@dataclass(frozen=True, slots=True)
class Index:
    """The buckets that are of interest: those with more than one page in them, or about them."""

    filed: Buckets  #: where each page is filed
    sought: Buckets  #: where each page looks
    keys: Numbers  #: the key of each bucket, as a number


def index_of(prints: Prints) -> Index:
    """Index a corpus. While it is made it takes 16 bytes for each key of a page."""
    filed, sought = prints.filed(), prints.sought()
    keys = _met(filed, sought) if prints.look_elsewhere else _repeated([lists.values for lists in filed])
    there = _numbered(filed, keys)
    return Index(there, _numbered(sought, keys) if prints.look_elsewhere else there, keys)


def _repeated(values: Sequence[Numbers]) -> Numbers:
    """Return the numbers that stand there more than once, rising."""
    everything = np.concatenate([np.zeros(0, np.uint64), *values])
    everything.sort()
    return np.unique(everything[1:][everything[1:] == everything[:-1]])


def _met(filed: Sequence[Lists], sought: Sequence[Lists]) -> Numbers:
    """Return the numbers that two rows have, be it that they are filed there or look there."""
    return _repeated([_once(one, two) for one, two in zip(filed, sought, strict=True)])


def _once(one: Lists, two: Lists) -> Numbers:
    """Return the values of the rows of two columns, each once for each row."""
    row = np.arange(len(one.counts))
    rows = np.concatenate([np.repeat(row, one.counts), np.repeat(row, two.counts)])
    values = np.concatenate([one.values, two.values])
    order = np.lexsort((values, rows))
    rows, values = rows[order], values[order]
    fresh = np.ones(len(rows), bool)
    fresh[1:] = (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])
    return values[fresh]


def _numbered(lists: Sequence[Lists], keys: Numbers) -> Buckets:
    """Give those keys of each row their numbers that are among ``keys``."""
    counts, found = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
    for each in lists:
        places = np.searchsorted(keys, each.values)
        places[places == len(keys)] = 0
        fits = keys[places] == each.values if len(keys) else np.zeros(len(places), bool)
        found.append(places[fits].astype(np.int32))
        until = np.concatenate([[0], np.cumsum(fits)])
        counts.append(np.diff(until[np.concatenate([[0], np.cumsum(each.counts)])]))
    return Buckets(np.cumsum(np.concatenate(counts)), np.concatenate(found))
