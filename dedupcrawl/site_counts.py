"""Sites most of whose pages turn out to be like a few others of the same site.

Such a site is either full of copies, or its pages are not read as what they are: the text that they share was
taken for their main text. Only a person can tell, so the crawl and the report say it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dedupcrawl.decision import DUPLICATE_RELATIONS
from dedupcrawl.detectors.base import Relation
from dedupcrawl.siblings import site_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.verdict import Verdict

MIN_PAGES = 20  #: judged pages of a site from which it can be conspicuous
MIN_SHARE = 0.5  #: share of its pages that repeat, or are siblings of, pages of the same site
MAX_SOURCES_SHARE = 0.25  #: of these pages: the earlier pages that they are like are at most this share
MAX_SITES = 2_000  #: sites that are counted at a time; the one not seen for longest is forgotten
MAX_SOURCES = 64  #: earlier pages of a site that are told apart
_ALIKE = (DUPLICATE_RELATIONS - {Relation.UNCHANGED}) | {Relation.SIBLING}


@dataclass(slots=True)
class SiteCount:
    """The verdicts on the pages of one site."""

    site: str  #: see :func:`dedupcrawl.siblings.site_of`
    pages: int = 0  #: judged
    repeats: int = 0  #: that repeat another page of the site
    siblings: int = 0  #: of another page of the site
    sources: set[str] = field(default_factory=set)  #: URLs of the earlier pages, at most ``MAX_SOURCES``
    is_reported: bool = False  #: whether it was said
    example: tuple[str, str] = ("", "")  #: URLs of two pages found alike, the later one first

    @property
    def is_conspicuous(self) -> bool:
        """Whether most of the pages are like few pages of the same site."""
        alike = self.repeats + self.siblings
        return (
            self.pages >= MIN_PAGES
            and alike >= MIN_SHARE * self.pages
            and len(self.sources) <= MAX_SOURCES_SHARE * alike
        )

    @property
    def advice(self) -> str:
        """What to look at, a sentence."""
        if self.siblings > self.repeats:
            return (
                "Siblings are kept. If they are copies, name sibling in DEDUP_DROP; if nearly all they share is a "
                "template, look at one of them with dedupcrawl inspect."
            )
        return (
            "If they are no copies, look at one of them with dedupcrawl inspect; "
            'DEDUP_SCOPE = "other-hosts" compares pages of different sites only.'
        )

    def add(self, verdict: Verdict) -> None:
        """Count a verdict on a page of this site."""
        self.pages += 1
        if verdict.relation not in _ALIKE or not verdict.of or site_of(verdict.of) != self.site:
            return
        if verdict.relation is Relation.SIBLING:
            self.siblings += 1
        else:
            self.repeats += 1
        if len(self.sources) < MAX_SOURCES:
            self.sources.add(verdict.of)
        if not self.example[0]:
            self.example = (verdict.url, verdict.of)


class SiteCounts:
    """Counts the verdicts of each site in bounded memory."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, SiteCount] = OrderedDict()

    def add(self, verdict: Verdict) -> SiteCount | None:
        """Count a verdict; return the count of its site, None for a page without a URL."""
        site = site_of(verdict.url)
        if not site:
            return None
        count = self._sites.get(site)
        if count is None:
            count = self._sites[site] = SiteCount(site)
            if len(self._sites) > MAX_SITES:
                self._sites.popitem(last=False)
        else:
            self._sites.move_to_end(site)
        count.add(verdict)
        return count

    def conspicuous(self) -> Iterator[SiteCount]:
        """Yield the sites most of whose pages are like few others, those with most such pages first."""
        found = (count for count in self._sites.values() if count.is_conspicuous)
        yield from sorted(found, key=lambda count: (-count.repeats - count.siblings, count.site))
