"""Patterns of URLs that bring nothing new: calendars, facets, sessions, sort orders, pages that are not found.

A *pattern* is a host, the beginning of a path, and the names of the parameters. Its pages are counted since one of
them brought something new: a page that is kept, on it or behind it. A new page credits the patterns of all pages on
the way to it. So a list that leads to articles is productive, and the months of a calendar that only lead to each
other are not.

An *exhausted* pattern has answered ``EXHAUSTED`` pages in a row with nothing new. Its requests come last from then on;
all that was found on productive pages is still sent. Only a request that was found on a page of an exhausted pattern
can be left out, and only when its pattern has answered ``PATTERN_AUDIT`` pages in a row with nothing new, and all
exhausted patterns of the site together ``SITE_AUDIT``. This ends sites without end. A page can be missed only if each
way to it leads through so many pages in a row that brought nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

EXHAUSTED = 40  #: pages of a pattern in a row with nothing new, after which its requests come last
PATTERN_AUDIT = 100  #: the same, after which requests found on such pages can be left out …
SITE_AUDIT = 500  #: … if the exhausted patterns of the site have answered so many pages in a row with nothing new
MAX_PATTERNS = 256  #: of a site; then the first segment of a path is not distinguished
MAX_SEGMENTS = 2  #: of a path that are distinguished, so that ``/a/b/a/b/…`` is one pattern
MAX_NAMES = 8  #: parameters that are distinguished
MAX_TRAIL = 6  #: patterns on the way to a page that are credited, the last ones

ANY, NUMBERED, MORE = "*", "#", "…"


class PatternNames(NamedTuple):
    """A pattern, and its form that does not distinguish the first segment."""

    text: str
    coarse: str


def pattern_of(url: str) -> PatternNames:
    """Return the pattern of a URL.

    >>> pattern_of("http://a.example/cal/2025/view?m=1&y=2025").text
    'a.example/cal/#/…?m&y'
    >>> pattern_of("http://a.example/").text
    'a.example/'
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # of a bracket in the host
        return PatternNames("", "")
    segments = [each for each in parts.path.split("/") if each]
    kinds = [NUMBERED if any(map(str.isdigit, each)) else ANY for each in segments[:MAX_SEGMENTS]]
    first = [segments[0].lower()] if kinds and kinds[0] == ANY else kinds[:1]
    end = [MORE] if len(segments) > MAX_SEGMENTS else [] if segments else [""]
    names = sorted({pair.partition("=")[0] for pair in parts.query.split("&")})[:MAX_NAMES] if parts.query else []
    query = f"?{'&'.join(names)}" if names else ""
    text, coarse = ("/".join([parts.netloc.lower(), *path, *end]) for path in (first + kinds[1:], kinds))
    return PatternNames(text + query, coarse + query)


class PatternCount:
    """How many pages of a pattern were answered."""

    __slots__ = ("has_brought", "idle", "was_exhausted")

    def __init__(self) -> None:
        self.idle = 0  #: pages since one of them brought something new
        self.has_brought = False  #: whether any did
        self.was_exhausted = False  #: whether the pattern was exhausted before one of them did


class SitePatternCounts:
    """Counts the pages of a site by their patterns. Nothing is exhausted before the site has brought anything."""

    def __init__(self) -> None:
        self._counts: dict[str, PatternCount] = {}
        self._audited = 0  # pages of exhausted patterns since one brought something new
        self._is_productive = False

    def __len__(self) -> int:
        """The number of patterns."""
        return len(self._counts)

    @property
    def exhausted(self) -> list[str]:
        """The patterns that are exhausted now."""
        return [text for text, count in self._counts.items() if self._is_exhausted(count)]

    def name(self, url: str) -> str:
        """Return the pattern under which a URL is counted."""
        pattern = pattern_of(url)
        is_told = pattern.text in self._counts or len(self._counts) < MAX_PATTERNS
        return pattern.text if is_told else pattern.coarse

    def answered(self, pattern: str) -> None:
        """Count a page that was downloaded, before it is known whether it brings something new."""
        count = self._counts.get(pattern)
        if count is None:
            if len(self._counts) >= 2 * MAX_PATTERNS:  # hosts or parameters without end: these are never exhausted
                return
            count = self._counts[pattern] = PatternCount()
        self._audited += self._is_exhausted(count)
        count.idle += 1

    def brought(self, trail: Iterable[str]) -> None:
        """Credit the pattern of a page that is new, and those of the pages on the way to it."""
        for pattern in trail:
            count = self._counts.get(pattern)
            if count is not None:
                count.was_exhausted |= self._is_exhausted(count)
                count.idle, count.has_brought = 0, True
        self._is_productive = True
        self._audited = 0

    def is_exhausted(self, pattern: str) -> bool:
        """Whether a pattern is exhausted now."""
        count = self._counts.get(pattern)
        return count is not None and self._is_exhausted(count)

    def was_exhausted(self, pattern: str) -> bool:
        """Whether a pattern is exhausted, or ever was: its requests come last."""
        count = self._counts.get(pattern)
        return count is not None and (count.was_exhausted or self._is_exhausted(count))

    def was_productive(self, pattern: str) -> bool:
        """Whether a pattern has brought anything: its requests come before those of patterns that never did."""
        count = self._counts.get(pattern)
        return count is not None and count.has_brought

    def is_barren(self, pattern: str) -> bool:
        """Whether requests of a pattern that were found on pages of exhausted patterns can be left out."""
        count = self._counts.get(pattern)
        return count is not None and count.idle >= PATTERN_AUDIT and self._audited >= SITE_AUDIT

    def _is_exhausted(self, count: PatternCount) -> bool:
        return self._is_productive and count.idle >= EXHAUSTED


def extended(trail: Sequence[str], pattern: str) -> tuple[str, ...]:
    """Return the trail of a page that was found on a page with this trail; a pattern is in it once.

    >>> extended(("list", "page"), "list")
    ('page', 'list')
    """
    return (*(each for each in trail if each != pattern), pattern)[-MAX_TRAIL:]
