"""Counts of verdicts by site, and the sites that are conspicuous by them.

Of a conspicuous site, most pages turn out to be like a few others of them, or are not read at all. It is either full of
copies, or its pages are not read as what they are: the text that they share was taken for their main text. Only a
person can tell, so crawls, batches and reports point it out. So they do with a site that gives one text again and
again, each time with another name or number: such pages are siblings, and kept.

The earlier pages are counted by the algorithm of J. Misra and D. Gries, "Finding repeated elements", Science of
Computer Programming 2 (1982): a counter may be too low, never too high.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from dedupcrawl.detectors.base import DUPLICATE_RELATIONS, VERSIONS, Relation
from dedupcrawl.sites.registrable_domain import site_of
from dedupcrawl.utils.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Mapping


# Chosen on generated sites (docs/choosing.md, "A warning about a site").
MIN_PAGES = 15  #: minimum compared pages of a conspicuous site
#: Of these, and of versions of known URLs: pages that repeat, or are siblings of, earlier pages of the site.
MIN_SHARE = 0.5
CROWD = 5  #: pages that are like one earlier page. A print, an AMP and a tracked view are three
CROWD_SHARE = 1 / 3  #: of the pages that are like others: those that are like an earlier page with a crowd
#: Like :data:`MIN_SHARE`, whatever the earlier pages: four pages for each one that is like no other. Copies of pages of
#: other sites do not count here: of a mirror, each page repeats another page.
HIGH_SHARE = 0.8
MIN_UNREAD_PAGES = 40  #: minimum pages of an unread site, compared or not
UNREAD_SHARE = 0.9  #: of these: pages that were not read
MANY_SIBLINGS = 50  #: pages of a site that are siblings of one another, whatever else it has

MAX_SITES = 1_000  #: sites that a crawl counts at a time; the one not seen for longest is forgotten
MAX_LISTED_SITES = 20_000  #: sites that a batch or a report counts at a time
MAX_SOURCES = 32  #: earlier pages of a site that are counted
MAX_GROUPED = 256  #: pages of a site whose group of siblings is known; the 32 newest pages of a text are compared
MAX_GROUP_URLS = 8  #: pages of a group of siblings that are named
MAX_REPORTED = 10_000  #: sites that are reported
MAX_URL_CHARS = 2_000  #: of the URL of an example

#: Reasons of unchecked pages that arrived as HTML, but were not read.
UNREAD_REASONS = frozenset({"empty", "index", "short", "no-fingerprint", "consent", "little-read"})
_VERSIONS = VERSIONS | {Relation.UNCHANGED}
_ALIKE = (DUPLICATE_RELATIONS - _VERSIONS) | {Relation.SIBLING}


class NoticeKind(StrEnum):
    """Why a site is conspicuous."""

    ALIKE = "alike"  #: most of its pages repeat, or are siblings of, few of its pages
    SIBLINGS = "siblings"  #: many of its pages have one text, and differ in names or numbers
    UNREAD = "unread"  #: nearly none of its pages is read


@dataclass(frozen=True, slots=True)
class SiteNotice:
    """What is conspicuous about a site."""

    kind: NoticeKind
    site: str  #: see :func:`dedupcrawl.sites.registrable_domain.site_of`
    pages: int  #: compared ones, without new versions of known URLs; all, if they are not read
    examples: tuple[str, str]  #: URLs of two pages: two that are alike, or two that are not read
    repeats: int = 0  #: pages that repeat an earlier page of the site
    siblings: int = 0  #: pages that are siblings of an earlier page of the site
    elsewhere: int = 0  #: pages that repeat an earlier page of another site
    crowded: int = 0  #: of all these: those that are like one of ``sources``
    sources: int = 0  #: earlier pages that at least :data:`CROWD` pages are like
    unread: Mapping[str, int] = field(default_factory=dict)  #: pages that were not read, by reason
    is_sample: bool = False  #: whether only a sample of the pages was counted
    group: int = 0  #: pages of the largest group of siblings
    group_urls: tuple[str, ...] = ()  #: some of them

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the notice with these fields, as :func:`dataclasses.asdict` and JSON give them."""
        first, second = values["examples"]
        texts = {"kind": NoticeKind(values["kind"]), "group_urls": tuple(values.get("group_urls", ()))}
        return cls(**{**values, **texts, "examples": (first, second)})

    @property
    def text(self) -> str:
        """The numbers, as a sentence without its full stop."""
        pages = f"{'a sample of ' if self.is_sample else ''}{self.pages:,}"
        if self.kind is NoticeKind.UNREAD:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in self.unread.items())
            return f"Of {pages} pages of {self.site}, {sum(self.unread.values()):,} were not read: {reasons}"
        if self.kind is NoticeKind.SIBLINGS:
            return (
                f"Of {pages} compared pages of {self.site}, {self.group:,} are siblings of one another, with one text"
            )
        numbers = ((self.repeats, "repeat"), (self.siblings, "are siblings of"))
        here = " and ".join(f"{number:,} {what}" for number, what in numbers if number)
        found = [f"{here} earlier pages of this site"] if here else []
        if self.elsewhere:
            found.append(f"{self.elsewhere:,} repeat earlier pages of other sites")
        return f"Of {pages} compared pages of {self.site}, {', '.join(found)}{self._crowd}"

    @property
    def concerned(self) -> int:
        """Number of pages that are like others, or not read."""
        return self.group if self.kind is NoticeKind.SIBLINGS else self._alike + sum(self.unread.values())

    @property
    def _alike(self) -> int:
        return self.repeats + self.siblings + self.elsewhere

    @property
    def _crowd(self) -> str:
        if not self.sources:
            return ""
        some = "all of these" if self.crowded == self._alike else f"{self.crowded:,} of these {self._alike:,}"
        return f"; {some} are like only {counted(self.sources, 'earlier page')}"

    @property
    def advice(self) -> str:
        """What to do, in sentences."""
        if self.kind is NoticeKind.UNREAD:
            return (
                "They are kept, and not compared. dedupcrawl inspect URL shows what is found on one; DEDUP_READER "
                "chooses another reader, and DEDUP_ITEM_FIELDS compares items instead of pages."
            )
        if self.kind is NoticeKind.SIBLINGS or self.siblings > self.repeats + self.elsewhere:
            return (
                "Siblings are kept by default. If these are copies, add sibling to DEDUP_DROP. If they are not, "
                'DEDUP_SCOPE = "other-hosts" compares no pages of one site, and a higher DEDUP_THRESHOLD relates '
                "fewer of them. dedupcrawl inspect URL shows which text of a page is compared."
            )
        advice = (
            "If these are no copies, dedupcrawl inspect URL shows which text is compared: DEDUP_READER and "
            "DEDUP_ITEM_FIELDS change that"
        )
        if not self.repeats:
            return f"{advice}."
        return f'{advice}, and DEDUP_SCOPE = "other-hosts" compares pages of different sites only.'

    @property
    def message(self) -> str:
        """Numbers, two examples and advice in one line."""
        return f"{self.text}; for example {self.examples[0]} and {self.examples[1]}. {self.advice}"


@dataclass(slots=True)
class SiblingCounts:
    """Groups of pages of a site that are siblings of one another.

    A sibling is filed, too, and only the newest pages of a text are compared. So a page may be a sibling of one that is
    a sibling itself: they belong to the group of the first one.
    """

    firsts: dict[int, int] = field(default_factory=dict)  #: first page of the group of the latest pages; hashes of URLs
    sizes: dict[int, int] = field(default_factory=dict)  #: of groups, by their first page
    largest: int = 0  #: size of the largest group so far
    urls: list[str] = field(default_factory=list)  #: pages of the largest group
    _first: int = 0  #: page of the largest group

    def add(self, url: str, of: str) -> None:
        """Add a page that is a sibling of an earlier one."""
        older = hash(of)
        first = self.firsts.pop(older, older)
        self.firsts.update({older: first, hash(url): first})
        for _ in range(len(self.firsts) - MAX_GROUPED):
            del self.firsts[next(iter(self.firsts))]
        size = _count(self.sizes, first) + 1  # and the first page
        if size <= max(self.largest, 1):
            return
        if first != self._first:
            self._first, self.urls = first, [of[:MAX_URL_CHARS]]
        self.largest = size
        if len(self.urls) < MAX_GROUP_URLS:
            self.urls.append(url[:MAX_URL_CHARS])


@dataclass(slots=True)
class SiteCount:
    """The verdicts on the pages of one site."""

    site: str  #: see :func:`dedupcrawl.sites.registrable_domain.site_of`
    compared: int = 0  #: pages, without versions of known URLs
    versions: int = 0  #: versions of known URLs: pages that a crawl before this one kept
    repeats: int = 0  #: of them: those that repeat an earlier page of the site
    siblings: int = 0  #: of them: siblings of an earlier page of the site
    elsewhere: int = 0  #: of them: those that repeat an earlier page of another site
    unchecked: int = 0  #: pages that were not compared
    unread: Counter[str] = field(default_factory=Counter)  #: of them: those that were not read, by reason
    sources: dict[int, int] = field(default_factory=dict)  #: pages that are like an earlier page, by hash of its URL
    most: int = 0  #: the largest of these numbers so far
    #: URLs of two pages that are alike, and of two that are not read
    examples: dict[NoticeKind, tuple[str, str]] = field(default_factory=dict)
    groups: SiblingCounts = field(default_factory=SiblingCounts)  #: of siblings

    def add(self, url: str, relation: Relation | None, of: str | None, reason: str | None) -> bool:
        """Count a page; return whether it made the site more conspicuous.

        Args:
            url: of the page.
            relation: to an earlier page, None if it has none.
            of: URL of the earlier page.
            reason: why the page is unchecked; None if it was compared.
        """
        if reason is not None:
            self.unchecked += 1
            return reason in UNREAD_REASONS and self._add_unread(url, reason)
        if relation in _VERSIONS:
            self.versions += 1
            return False
        self.compared += 1
        return relation in _ALIKE and bool(of) and self._add_alike(url, relation, of or "")

    def notice(self) -> SiteNotice | None:
        """Return what is conspicuous about the site; None if nothing is.

        When a site is crawled again, only the pages that were dropped before are not versions of known URLs. So their
        share is that of all pages.
        """
        here = self.repeats + self.siblings
        alike, pages = here + self.elsewhere, self.compared + self.versions
        if alike >= MIN_SHARE * pages and self.compared >= MIN_PAGES:
            crowds = [number for number in self.sources.values() if number >= CROWD]
            if sum(crowds) >= CROWD_SHARE * alike or here >= HIGH_SHARE * pages:
                return SiteNotice(
                    NoticeKind.ALIKE,
                    self.site,
                    self.compared,
                    self.examples[NoticeKind.ALIKE],
                    repeats=self.repeats,
                    siblings=self.siblings,
                    elsewhere=self.elsewhere,
                    crowded=sum(crowds),
                    sources=len(crowds),
                    group=self.groups.largest,
                    group_urls=tuple(self.groups.urls),
                )
        if self.groups.largest >= MANY_SIBLINGS:
            return self._notice_of_siblings()
        pages, unread = self.compared + self.unchecked, self.unread.total()
        if pages < MIN_UNREAD_PAGES or unread < UNREAD_SHARE * pages:
            return None
        examples = self.examples[NoticeKind.UNREAD]
        return SiteNotice(NoticeKind.UNREAD, self.site, pages, examples, unread=dict(self.unread.most_common()))

    def _notice_of_siblings(self) -> SiteNotice:
        first, second, *_ = urls = self.groups.urls
        return SiteNotice(
            NoticeKind.SIBLINGS,
            self.site,
            self.compared,
            (first, second),
            repeats=self.repeats,
            siblings=self.siblings,
            elsewhere=self.elsewhere,
            group=self.groups.largest,
            group_urls=tuple(urls),
        )

    def _add_unread(self, url: str, reason: str) -> bool:
        self.unread[reason] += 1
        if self.unread.total() <= 2:
            first = self.examples.get(NoticeKind.UNREAD, (url[:MAX_URL_CHARS],))[0]
            self.examples[NoticeKind.UNREAD] = (first, url[:MAX_URL_CHARS])
        return True

    def _add_alike(self, url: str, relation: Relation | None, of: str) -> bool:
        is_elsewhere = site_of(of) != self.site
        if is_elsewhere and relation is Relation.SIBLING:
            return False
        if is_elsewhere:
            self.elsewhere += 1
        elif relation is Relation.SIBLING:
            self.siblings += 1
            self.groups.add(url, of)
        else:
            self.repeats += 1
        number = _count(self.sources, hash(of))
        if number > self.most:  # an example from the largest crowd
            self.most = number
            self.examples[NoticeKind.ALIKE] = (url[:MAX_URL_CHARS], of[:MAX_URL_CHARS])
        return True


def _count(counts: dict[int, int], what: int) -> int:
    """Count one more of something in bounded memory; return its count."""
    number = counts.get(what, 0) + 1
    if number > 1 or len(counts) < MAX_SOURCES:
        counts[what] = number
        return number
    for each, count in [*counts.items()]:
        if count > 1:
            counts[each] = count - 1
        else:
            del counts[each]
    return 0


class SiteCounts:
    """Counts the verdicts on pages by site, in bounded memory.

    Args:
        most: sites that are counted at a time.
        is_sample: whether the pages are a sample of all.
    """

    def __init__(self, most: int = MAX_SITES, *, is_sample: bool = False) -> None:
        self._most = most
        self._is_sample = is_sample
        self._sites: OrderedDict[str, SiteCount] = OrderedDict()
        self._reported: set[str] = set()
        site_of("https://www.example.com/")  # loads the public suffix list (50 ms) now, and not before the first page

    def add(
        self, url: str, relation: Relation | None = None, of: str | None = None, reason: str | None = None
    ) -> SiteNotice | None:
        """Count a page; return what is conspicuous about its site, once a site.

        Args:
            url: of the page.
            relation: to an earlier page, None if it has none.
            of: URL of the earlier page.
            reason: why the page is unchecked; None if it was compared.
        """
        site = site_of(url)
        if not site or not self._count(site).add(url, relation, of, reason) or site in self._reported:
            return None
        notice = self._sites[site].notice()
        if notice is None or len(self._reported) == MAX_REPORTED:
            return None
        self._reported.add(site)
        return notice

    def counts(self) -> list[SiteCount]:
        """Return the counts of all sites that are counted now."""
        return [*self._sites.values()]

    def notices(self) -> list[SiteNotice]:
        """Return what is conspicuous now: sites of pages that are alike first, then those with most such pages."""
        found = filter(None, (count.notice() for count in self._sites.values()))
        ranked = sorted(found, key=lambda each: (each.kind, -each.concerned, each.site))
        return [replace(each, is_sample=self._is_sample) for each in ranked]

    def _count(self, site: str) -> SiteCount:
        count = self._sites.get(site)
        if count is not None:
            self._sites.move_to_end(site)
            return count
        count = self._sites[site] = SiteCount(site)
        if len(self._sites) > self._most:
            self._sites.popitem(last=False)
        return count
