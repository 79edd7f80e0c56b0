"""Postpones requests of patterns of URLs that bring nothing new, and ends sites without end (``DEDUP_FORESEE``)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.fingerprinting import without_fragment
from dedupcrawl.foresee.patterns import SitePatternCounts, extended
from dedupcrawl.foresee.soft_404 import SOFT_404
from dedupcrawl.sites.registrable_domain import site_of

if TYPE_CHECKING:
    from scrapy import Request

    from dedupcrawl.decision import Verdict

MAX_PAGES = 4096  #: pages whose verdicts are awaited
MAX_SITES = 10_000  #: with patterns; the pages of others always count as productive
TRAIL, IDLE = "dedup_trail", "dedup_idle"  #: keys of Request.meta
LEVELS = 256  #: more than :func:`level` returns
RULE = "pattern {}"  #: in place of a rule, with the requests that are skipped


class PatternEntry(NamedTuple):
    """A request that was sent, until its page is judged."""

    site: str
    pattern: str
    trail: tuple[str, ...]  #: the patterns of the pages on the way to it, and its own
    steps: int  #: pages of exhausted patterns in a row on the way to it, with itself; 0: its pattern was not exhausted


class PatternManager:
    """Counts the pages of a crawl by their patterns."""

    def __init__(self) -> None:
        self._sites: dict[str, SitePatternCounts] = {}
        self._sent: OrderedDict[str, PatternEntry] = OrderedDict()
        self._skipped: dict[str, set[str]] = {}  # by site: patterns of which requests were skipped

    def lateness(self, request: Request) -> int:
        """Return by how much a request comes after others that are postponed; 0 if its pattern is not exhausted.

        Patterns that have ever brought anything come before those that never did. Within either, those requests come
        first that were found on pages of other patterns, the least depth first, and then those that are the fewest
        steps away from such pages. A crawl in depth-first order would go on in one direction otherwise, and end far
        away from pages that are near. A pattern that was exhausted and brings something new again stays behind the
        others, or each new page would have the crawl go on in one direction for ``EXHAUSTED`` pages.
        """
        counts = self._sites.get(site_of(request.url))
        if counts is None or not counts.was_exhausted(pattern := counts.name(request.url)):
            return 0
        rank = 0 if counts.was_productive(pattern) else 2 * LEVELS
        steps = int(request.meta.get(IDLE) or 0)
        return 1 + rank + (LEVELS + level(steps) if steps else level(int(request.meta.get("depth") or 0)))

    def barren_pattern(self, request: Request) -> str:
        """Return the pattern of a request that can be left out; "" if it must be sent."""
        counts = self._sites.get(site_of(request.url))
        if counts is None or not request.meta.get(IDLE):
            return ""
        pattern = counts.name(request.url)
        return pattern if counts.is_barren(pattern) else ""

    def skipped(self, site: str, pattern: str) -> None:
        """Note that a request of a pattern was skipped."""
        self._skipped.setdefault(site, set()).add(pattern)

    def sent(self, request: Request) -> None:
        """Remember a request that is sent."""
        site, url = site_of(request.url), without_fragment(request.url)
        counts = self._sites.get(site)
        if counts is None:
            if len(self._sites) >= MAX_SITES:
                return
            counts = self._sites[site] = SitePatternCounts()
        pattern = counts.name(url)
        trail = extended(request.meta.get(TRAIL) or (), pattern)
        steps = int(request.meta.get(IDLE) or 0) + 1 if counts.is_exhausted(pattern) else 0
        self._sent[url] = PatternEntry(site, pattern, trail, steps)
        while len(self._sent) > MAX_PAGES:
            self._sent.popitem(last=False)

    def answered(self, url: str) -> None:
        """Count a page that was downloaded."""
        sent = self._sent.get(without_fragment(url))
        if sent is not None:
            self._sites[sent.site].answered(sent.pattern)

    def mark(self, request: Request, found_on: str) -> None:
        """Note in a request on what page it was found; spiders copy ``Response.meta``."""
        for key in (TRAIL, IDLE):
            request.meta.pop(key, None)
        sent = self._sent.get(without_fragment(found_on))
        if sent is not None:
            request.meta[TRAIL] = list(sent.trail)
            if sent.steps:
                request.meta[IDLE] = sent.steps

    def verdict_given(self, verdict: Verdict) -> tuple[str, ...]:
        """Credit the patterns of a page that is new; return those of them of which requests were skipped.

        A page that cannot be compared may be new. One that is as it was in an earlier crawl shows that its pattern
        leads to pages. A page that is not found is nothing.
        """
        is_productive = verdict.keep or verdict.of == verdict.url
        if verdict.reason == SOFT_404 or not is_productive:
            return ()
        site, url = site_of(verdict.url), without_fragment(verdict.url)
        counts = self._sites.get(site)
        if counts is None:
            return ()
        sent = self._sent.get(url)
        trail = sent.trail if sent is not None else (counts.name(url),)
        counts.brought(trail)
        skipped = self._skipped.get(site)
        if not skipped or skipped.isdisjoint(trail):
            return ()
        again = tuple(skipped.intersection(trail))
        skipped.difference_update(again)
        return again


def level(count: int) -> int:
    """Return a number that grows with the logarithm of a count: each priority is a queue, which may be an open file.

    >>> [level(count) for count in (0, 1, 2, 3, 4, 6, 8, 12, 16, 1000)]
    [0, 1, 2, 3, 6, 7, 10, 11, 14, 35]
    """
    count = max(0, count)
    dropped = max(0, count.bit_length() - 2)
    return min(4 * dropped + (count >> dropped), LEVELS - 1)
