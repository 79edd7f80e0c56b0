"""All that a report shows, in plain values: what fills it and what draws it meet here.

Whatever comes from pages (URLs, titles, texts, evidence) is raw: who draws it escapes it.

What a report is made of, before it is chosen what is shown: where ledgers, batches and stores meet.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dedupcrawl.verdict_text import why

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.ledger.counters import Flow, Histogram, Host, RunTotals, Slice
    from dedupcrawl.verdict import Verdict

    PairKey = Hashable


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
    figures: RunTotals
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


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page that can be shown."""

    row: PageRow  #: ``pair`` is filled in later
    chance: int  #: hash of its cluster: pages with the least are shown, where there are too many
    order: int  #: rises as pages came
    pair: PairKey | None = None  #: names it and the page that it relates to


def row_from_verdict(
    verdict: Verdict, *, url: str, host: str, time: float | None, bytes: int, fate: str, title: str = ""
) -> PageRow:
    """Put a verdict into the table of pages."""
    return PageRow(
        url=url,
        title=title,
        host=host,
        time=time,
        bytes=bytes,
        status=str(verdict.status),
        fate=fate,
        relation=str(verdict.relation or ""),
        of=verdict.of or "",
        cluster=verdict.cluster or "",
        similarity=verdict.similarity,
        detector=verdict.detector or "",
        reason=verdict.reason or "",
        why=why(verdict),
    )


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """How large a cluster is."""

    name: str
    pages: int
    first: float | None = None  #: Unix time
    last: float | None = None


@dataclass(frozen=True, slots=True)
class PairInput:
    """Two pages that can be shown side by side."""

    key: PairKey
    new: str  #: URL
    old: str
    opinions: tuple[Opinion, ...]
    relation: str = ""
    decided: str = ""
    similarity: float | None = None
    new_title: str = ""
    old_title: str = ""
    new_text: str | None = None  #: main text; None: it was not kept
    old_text: str | None = None


def no_pairs(_: Sequence[PairKey]) -> Iterator[PairInput]:
    """Give nothing."""
    return iter(())


@dataclass(frozen=True, slots=True)
class ReportInput:
    """What a source has to tell. What is exact of it is exact whatever ``rows`` leaves out."""

    about: Mapping[str, Any]  #: title, kind, version, began, ended and settings of a ``Report``
    figures: RunTotals
    rows: Iterable[ListedPage]
    clusters: tuple[ClusterSize, ...] = ()  #: the largest, of at least two pages
    misses: tuple[PairKey, ...] = ()  #: pairs, nearest first
    pairs: Callable[[Sequence[PairKey]], Iterable[PairInput]] = (
        no_pairs  #: gives those that it has, in their order
    )
    notes: tuple[str, ...] = ()
    slices: tuple[Slice, ...] = ()
    hosts: tuple[Host, ...] = ()
    flows: tuple[Flow, ...] = ()
    detectors: Mapping[str, int] = field(default_factory=dict)
    histograms: tuple[Histogram, ...] = ()
