"""What a report is made of, before it is chosen what is shown: where ledgers, batches and stores meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dedupcrawl.report.facts import PageRow
from dedupcrawl.verdict_text import why

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.report.figures import Figures, Flow, Histogram, Host, Slice
    from dedupcrawl.verdict import Verdict

    Key = Hashable  # names a pair of pages; each source has its own


@dataclass(frozen=True, slots=True)
class Listed:
    """A page that can be shown."""

    row: PageRow  #: ``pair`` is filled in later
    chance: int  #: hash of its cluster: pages with the least are shown, where there are too many
    order: int  #: rises as pages came
    pair: Key | None = None  #: names it and the page that it relates to


def as_row(
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
class Size:
    """How large a cluster is."""

    name: str
    pages: int
    first: float | None = None  #: Unix time
    last: float | None = None


@dataclass(frozen=True, slots=True)
class Both:
    """Two pages that can be shown side by side."""

    key: Key
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


def no_pairs(_: Sequence[Key]) -> Iterator[Both]:
    """Give nothing."""
    return iter(())


@dataclass(frozen=True, slots=True)
class Material:
    """What a source has to tell. What is exact of it is exact whatever ``rows`` leaves out."""

    about: Mapping[str, Any]  #: title, kind, version, began, ended and settings of a ``Report``
    figures: Figures
    rows: Iterable[Listed]
    clusters: tuple[Size, ...] = ()  #: the largest, of at least two pages
    misses: tuple[Key, ...] = ()  #: pairs, nearest first
    pairs: Callable[[Sequence[Key]], Iterable[Both]] = no_pairs  #: gives those that it has, in their order
    notes: tuple[str, ...] = ()
    slices: tuple[Slice, ...] = ()
    hosts: tuple[Host, ...] = ()
    flows: tuple[Flow, ...] = ()
    detectors: Mapping[str, int] = field(default_factory=dict)
    histograms: tuple[Histogram, ...] = ()
