"""Exact figures of a run: totals, hosts, time slices and histograms of similarity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Figures:
    """The headline, exact whatever else is sampled.

    The stats of a crawl, and the summary of a batch, say the same.
    """

    pages: int  #: all that came: checked and unchecked
    checked: int
    kept: int
    dropped: int
    duplicates: Mapping[str, int]  #: by relation, dropped or not
    related: Mapping[str, int]  #: by relation: excerpts, expansions, updated ones
    unchecked: Mapping[str, int]  #: by reason
    released: int = 0  #: claims given back
    bytes: int = 0  #: of all pages
    bytes_saved: int = 0  #: of those that were dropped
    requests_saved: int | None = None  #: requests that were not made; None: there was nothing to request


@dataclass(frozen=True, slots=True)
class Slice:
    """What came within one span of time; spans are equal and follow each other without gaps."""

    start: float  #: Unix time
    kept: int
    dropped: int
    unchecked: int


@dataclass(frozen=True, slots=True)
class Flow:
    """How many pages of one host repeat pages of another (or of the same)."""

    copy: str  #: host whose pages are the copies
    source: str  #: host whose pages came first
    pages: int


@dataclass(frozen=True, slots=True)
class Host:
    """What came from one host."""

    name: str
    pages: int
    kept: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """How similar pages were to what they were held against, by one detector."""

    detector: str
    threshold: float | None  #: least similarity of a match, where one number says it
    edges: tuple[float, ...]  #: n + 1 rising edges of n bins
    matched: tuple[int, ...]  #: pairs in each bin that the detector matched
    missed: tuple[int, ...]  #: pairs in each bin that it did not
