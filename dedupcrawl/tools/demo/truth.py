"""The labels of the bundled web, and the faults of a crawl of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dedupcrawl.tools.demo.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dedupcrawl.tools.demo.corpus import Content

INDEX = "index"


@dataclass(frozen=True, slots=True)
class Truth:
    """The label of a page."""

    site: str
    path: str
    kind: str  #: original, reprint, excerpt… or index
    cluster: str  #: the same for all pages with the same content

    @property
    def is_index(self) -> bool:
        """Whether the page has only links; such a page is no duplicate, and is counted apart."""
        return self.kind == INDEX


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """The outcome of a page in a crawl."""

    truth: Truth
    kept: bool
    verdict: Mapping[str, object]  #: of :meth:`dedupcrawl.Verdict.to_dict`


class Fault(StrEnum):
    """How a verdict can be wrong."""

    WRONGLY_DROPPED = "wrongly dropped"  #: although no earlier page of its cluster had been kept
    MISSED = "missed"  #: kept although one was


@dataclass(frozen=True, slots=True)
class DemoSummary:
    """The figures of one crawl.

    The first four count pages with an article. Index pages are not counted, but a dropped one is wrongly
    dropped.
    """

    pages: int
    distinct: int  #: clusters among the pages
    kept: int
    dropped: int
    wrongly_dropped: int
    missed: int


def all_pages(content: Content) -> dict[tuple[str, str], Truth]:
    """Return the label of every page of the bundled web, by site and path."""
    truths = [Truth(page.site, page.path, page.kind, page.cluster) for page in content.pages]
    for site in content.sites.values():
        listings = Layout(content, site, dict.fromkeys(content.sites, "")).listings()
        truths += [Truth(site.key, page.path, INDEX, f"{site.key}{page.path}") for page in listings]
    return {(truth.site, truth.path): truth for truth in truths}


def find_faults(outcomes: Iterable[PageOutcome], kept_before: Collection[str] = ()) -> list[Fault | None]:
    """Return the fault of each outcome in the order of the crawl, None where the verdict is right.

    ``kept_before``: clusters of which an earlier crawl kept a page.
    """
    kept = set(kept_before)
    found = []
    for outcome in outcomes:
        found.append(_fault(outcome, has_earlier=outcome.truth.cluster in kept))
        if outcome.kept:
            kept.add(outcome.truth.cluster)
    return found


def _fault(outcome: PageOutcome, *, has_earlier: bool) -> Fault | None:
    if outcome.truth.is_index:
        return None if outcome.kept else Fault.WRONGLY_DROPPED
    if outcome.kept == has_earlier:
        return Fault.MISSED if outcome.kept else Fault.WRONGLY_DROPPED
    return None


def summarize(outcomes: Sequence[PageOutcome], found: Sequence[Fault | None]) -> DemoSummary:
    """Return the figures; ``found``: the fault of each outcome."""
    articles = [outcome for outcome in outcomes if not outcome.truth.is_index]
    kept = sum(outcome.kept for outcome in articles)
    return DemoSummary(
        pages=len(articles),
        distinct=len({outcome.truth.cluster for outcome in articles}),
        kept=kept,
        dropped=len(articles) - kept,
        wrongly_dropped=found.count(Fault.WRONGLY_DROPPED),
        missed=found.count(Fault.MISSED),
    )
