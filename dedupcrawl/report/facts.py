"""All that a report shows, in plain values: what fills it and what draws it meet here.

Whatever comes from pages (URLs, titles, texts, evidence) is raw: who draws it escapes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.report.figures import Figures, Flow, Histogram, Host, Slice


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page in the table of pages."""

    url: str
    title: str
    host: str
    time: float | None  #: Unix time; None: nobody knows (a corpus without times)
    bytes: int
    status: str
    fate: str  #: "kept", "dropped", "released", or "open": its item was under way when the run ended
    relation: str = ""
    of: str = ""
    cluster: str = ""
    similarity: float | None = None
    detector: str = ""
    reason: str = ""  #: why it is unchecked
    why: str = ""  #: the verdict in one sentence, evidence included
    pair: int | None = None  #: place in ``Report.pairs`` of this page and the one that it relates to


@dataclass(frozen=True, slots=True)
class Cluster:
    """Pages with the same content."""

    name: str
    size: int  #: exact, even where not all of its pages are listed
    hosts: int
    first: float | None  #: Unix time of its first page; None: of none is it known
    last: float | None
    title: str  #: of its first page that has one, else the URL of its first page
    pages: tuple[int, ...]  #: places in ``Report.pages``, by time


@dataclass(frozen=True, slots=True)
class Change:
    """A piece of two texts: what both have, or what the one has in the place of what the other has."""

    old: str
    new: str

    @property
    def is_equal(self) -> bool:
        """Whether both texts have it."""
        return self.old == self.new


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pages side by side."""

    new: str  #: URL
    old: str
    new_title: str
    old_title: str
    opinions: tuple[Opinion, ...]
    relation: str = ""  #: "" for a near miss
    decided: str = ""  #: the detector that decided, "" for a near miss
    similarity: float | None = None  #: by that detector, or the nearest one
    changes: tuple[Change, ...] = ()  #: the texts cut into pieces; () where a text was not kept
    is_cut: bool = False  #: whether the texts are longer than what is shown


@dataclass(frozen=True, slots=True)
class Report:
    """One report."""

    title: str  #: "Crawl of the spider news"
    kind: str  #: "crawl", "batch" or "store"
    version: str  #: of dedupcrawl
    made: float  #: Unix time at which the report was made
    began: float | None
    ended: float | None  #: None: the run goes on, or was killed
    figures: Figures
    settings: Mapping[str, str] = field(default_factory=dict)  #: what decided, by the name of the setting
    notes: tuple[str, ...] = ()  #: what a reader must know: what is sampled, what was not kept, what failed
    slices: tuple[Slice, ...] = ()
    hosts: tuple[Host, ...] = ()  #: those with most pages first
    flows: tuple[Flow, ...] = ()  #: those with most pages first
    detectors: Mapping[str, int] = field(default_factory=dict)  #: duplicates that each of them decided
    histograms: tuple[Histogram, ...] = ()
    pages: tuple[PageRow, ...] = ()  #: all, or a sample; dropped ones before others
    clusters: tuple[Cluster, ...] = ()  #: the largest
    pairs: tuple[Pair, ...] = ()
    misses: tuple[int, ...] = ()  #: places in ``pairs`` of near misses, nearest first
