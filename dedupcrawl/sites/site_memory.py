"""Site memory: what a site repeats on many pages is not the content of one.

The life of the author, comment rules and newsletters stand on many pages of a site, and reprints have those of another
site. One page cannot tell them from its text; the third page of the site can. For each site the memory counts on how
many kept pages a line stands. A line on at least ``KNOWN_PAGES`` pages is left out of the compared text of later pages.

The lines of the compared text are counted, and on the first pages of a site also those beside it. For the same part of
a template is read as text on a page with a short article, and left out on one with a long article.

A page counts only if it has enough text of its own: lines that no page of the site had before. Home, tag and month
pages that carry whole posts have none if the posts were read before. If they are read first, they are known by their
linked headings (``Page.listed``) or by their title, and do not count either. So a post that is on six pages remains
content. Dropped pages do not count, because a page's own views would make its text one that is repeated, nor do later
versions of a filed page. A mistake of the memory costs a copy, never a page: where little text would remain, the whole
text is compared.

The tables are part of the store (:mod:`dedupcrawl.stores.site_tables`).
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.errors import StoreError
from dedupcrawl.sites.registrable_domain import site_of
from dedupcrawl.stores.site_tables import MAX_SITE_CHARS, SiteTable, SiteView, unpack_site
from dedupcrawl.text.features import compared_text
from dedupcrawl.text.lines import MAX_READ_LINES, LineCounts, LineLimits, count_lines, without_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dedupcrawl.page.model import Page
    from dedupcrawl.stores.site_tables import SiteTables

# Chosen on part "tune" of benchmarks.sites (docs/methods-siblings.md, "Site memory").
KNOWN_PAGES = 3  #: a line on at least so many counted pages is repeated text
MIN_OWN_BYTES = 200  #: of lines that no page of the site had before: with less, a page does not count
MIN_OWN_SHARE = 0.1  #: the same as a share of its text
MIN_LEFT_BYTES = 600  #: if less would be left of a text, all of it is compared: a copy of it may have the rest too
MIN_LEFT_SHARE = 0.1  #: the same as a share of the text
#: The site repeats all of a text if at most this share of it is not known. The repeated text alone makes two such pages
#: similar by 0.85, so they would be near-duplicates whatever each has for itself.
MAX_TEMPLATE_SHARE = 0.08
MIN_LINE_BYTES = 12  #: shorter lines are not counted: cells and labels are many, and weigh little
#: Beside the lines that its site has had, the new ones of a page next to these, or at either end of its text: there a
#: site repeats more. And runs of lines, as a site may repeat a long text.
COUNTED_LINES = LineLimits(MIN_LINE_BYTES, new=16, runs=24)
FIRST_PAGES = 8  #: counted pages of a site of which the lines beside the compared text are counted too
NEW_BESIDE = 16  #: new lines beside the text that are counted, the longest ones
MIN_LISTED = 2  #: linked headings within the main text of a page that lists others
MAX_LOADED_LINES = 400_000  #: entries of all tables in a process, about 40 MB
EXCHANGE_PAGES = 128  #: pages that a process counts before the store gets its counts

#: Titles of pages that list others, whatever these carry.
_lists = re.compile(
    r"^(?:标签|標籤|分类|分類|归档|歸檔|存档|tags?|categor(?:y|ies)|archives?)\b|^(?:标签|標籤|分类|分類|归档|歸檔|存档)",
    re.IGNORECASE,
).match


@dataclass(frozen=True, slots=True)
class RepeatedText:
    """A line of a page that is not compared."""

    text: str
    pages: int  #: of the site that have it, at most ``MAX_COUNT``


class SiteTracker:
    """The tables of the sites that a process meets. Thread-safe.

    A store on a server is asked only with the counts that it gets: what it knows of a site arrives after the first
    pages of it. Failures of the store are ignored, because late knowledge costs a copy only.

    Args:
        store: keeps the tables of all workers.
        remote: whether calls of the store cross a network.
        clock: returns the Unix time in seconds.
    """

    def __init__(self, store: SiteTables, *, remote: bool, clock: Callable[[], float] = time.time) -> None:
        self._store, self._remote, self._clock = store, remote, clock
        self._tables: OrderedDict[str, SiteTable] = OrderedDict()  # the site that was met last is at the end
        self._counted: dict[str, SiteTable] = {}  # what the store has not got yet
        self._unknown: set[str] = set()  # sites that the store was not asked for
        self._lines = self._pages = 0
        self._lock = Lock()

    def has_lines(self, url: str) -> bool:
        """Return whether any line of the site of a URL was counted: without one, all of a page's text is its own."""
        site = site_of(url)
        if not site or len(site) > MAX_SITE_CHARS:
            return False
        self._load(site)
        with self._lock:
            return bool(self._table(site).lines)

    def view(self, page: Page) -> SiteView | None:
        """Return what the site knows of a page; None for a page without URL or text."""
        site = site_of(page.url)
        if not site or len(site) > MAX_SITE_CHARS:
            return None
        text = compared_text(page)
        lines = self._lines_of(text, site)
        if not lines.total:
            return None
        counted, fresh = (lines.counted, lines.fresh) if has_own_text(lines) and not is_list(page) else ((), 0)
        beside = page.beside if counted and self._is_first(site) and is_mostly_read(page, lines.total) else ""
        return SiteView(site, counted, *compared_part(text, lines), new=fresh, beside=beside)

    def repeated(self, page: Page) -> list[RepeatedText]:
        """Return the lines of a page that its site repeats, in order."""
        text = compared_text(page)
        pairs = zip(text.split("\n", MAX_READ_LINES), self._lines_of(text, site_of(page.url)).pages, strict=False)
        return [RepeatedText(line, pages) for line, pages in pairs if pages >= KNOWN_PAGES]

    def _lines_of(self, text: str, site: str) -> LineCounts:
        """Return the lines of a text, and on how many pages of the site each is."""
        self._load(site)
        with self._lock:
            return count_lines(text, self._table(site).lines, KNOWN_PAGES, COUNTED_LINES)

    def _is_first(self, site: str) -> bool:
        """Return whether a page is one of the first of its site that count."""
        with self._lock:
            return self._table(site).pages < FIRST_PAGES

    def count(self, view: SiteView | None) -> None:
        """Count the lines of a page that is kept.

        Pages are read together, and counted one after the other. If another page with the same text was counted since
        this one was read, it has no text of its own any more, and does not count.
        """
        if view is None or not view.lines:
            return
        with self._lock:
            table = self._table(view.site)
            new = view.lines[len(view.lines) - view.new :]
            if 2 * sum(line not in table.lines for line in new) < view.new:
                return
            beside = beside_lines(view.beside, table.lines) if view.beside else []
            lines = dict.fromkeys([*beside, *view.lines], 1).items()
            self._lines -= len(table.lines)
            table.add(lines, 1)
            self._lines += len(table.lines)
            self._counted.setdefault(view.site, SiteTable()).add(lines, 1)
            self._pages += 1
            is_due = self._pages >= EXCHANGE_PAGES or bool(self._unknown)
        if is_due:
            self.exchange()

    def exchange(self) -> None:
        """Give the store the counts of this process, and load what other processes have counted of these sites."""
        with self._lock:
            counted, self._counted, self._pages = self._counted, {}, 0
            names, self._unknown = {*counted, *self._unknown}, set()
        if not names:
            return
        now = self._clock()
        deltas = {name: counted[name].pack(now) if name in counted else b"" for name in names}
        try:
            merged = self._store.merge_sites(deltas)
        except StoreError:
            with self._lock:
                for name, table in counted.items():
                    self._counted.setdefault(name, SiteTable()).add(table.lines.items(), table.pages)
            return
        with self._lock:
            for name, value in merged.items():
                self._keep(name, unpack_site(value))

    def close(self) -> None:
        """Give the store what it has not got yet."""
        with suppress(StoreError):
            self.exchange()

    def _load(self, site: str) -> None:
        """Load the table of a site from a local store; a remote one is asked later.

        The store is called without the lock: another thread may count a page within a transaction.
        """
        with self._lock:
            if site in self._tables:
                return
            if self._remote:
                self._unknown.add(site)
        stored: Mapping[str, bytes] = {}
        if not self._remote:
            with suppress(StoreError):
                stored = self._store.load_sites([site])
        with self._lock:
            if site not in self._tables:
                self._keep(site, unpack_site(stored.get(site)))

    def _table(self, site: str) -> SiteTable:
        table = self._tables.get(site)
        if table is None:  # another thread has met so many sites since it was loaded
            return self._keep(site, SiteTable())
        self._tables.move_to_end(site)
        return table

    def _keep(self, site: str, table: SiteTable) -> SiteTable:
        """Keep a table with the counts that the store does not have; forget the sites that were met longest ago."""
        pending = self._counted.get(site)
        if pending is not None:
            table.add(pending.lines.items(), pending.pages)
        replaced = self._tables.pop(site, None)
        self._tables[site] = table
        self._lines += len(table.lines) - (len(replaced.lines) if replaced else 0)
        while self._lines > MAX_LOADED_LINES and len(self._tables) > 1:
            self._lines -= len(self._tables.popitem(last=False)[1].lines)
        return table


def repeated_lines(value: bytes) -> bytes:
    """Return a packed table with its repeated lines only; b"" if it has none. It changes with them alone."""
    table = unpack_site(value)
    lines = {line: KNOWN_PAGES for line, pages in sorted(table.lines.items()) if pages >= KNOWN_PAGES}
    return SiteTable(len(lines), lines).pack(0.0) if lines else b""


class ComparedPart(NamedTuple):
    """What is compared of a text."""

    own: str | None = None  #: the text without what the site repeats; None: all is compared
    is_template: bool = False  #: whether the site repeats all of the text


def has_own_text(lines: LineCounts) -> bool:
    """Return whether a text has enough lines that no page of the site had before."""
    return lines.new >= max(MIN_OWN_BYTES, MIN_OWN_SHARE * lines.total)


def compared_part(text: str, lines: LineCounts) -> ComparedPart:
    """Return what is compared of a text, by its lines as the site knows them."""
    left = lines.total - lines.known
    if left <= MAX_TEMPLATE_SHARE * lines.total and len(lines.sizes) < MAX_READ_LINES:
        return ComparedPart(is_template=True)
    if not lines.known or left < max(MIN_LEFT_BYTES, MIN_LEFT_SHARE * lines.total):
        return ComparedPart()
    return ComparedPart(without_lines(text, lines.pages, KNOWN_PAGES))


def is_mostly_read(page: Page, size: int) -> bool:
    """Return whether the sentences beside a text of ``size`` bytes are not longer: they may be other pages' texts."""
    return page.unread <= size


def beside_lines(text: str, pages: dict[int, int]) -> list[int]:
    """Return the hashes of the lines to count beside a compared text: those that the site has had, and the longest.

    Args:
        text: the lines.
        pages: the hash of a line → pages of the site that have it.
    """
    lines = count_lines(text, pages, KNOWN_PAGES)
    rows = zip(lines.hashes, lines.sizes, lines.pages, strict=True)
    some = {line: (size, count) for line, size, count in rows if size >= MIN_LINE_BYTES}
    new = [line for line, (_, count) in some.items() if not count]
    longest = sorted(new, key=lambda line: -some[line][0])[:NEW_BESIDE]
    return [*longest, *[line for line, (_, count) in some.items() if count]]


def is_list(page: Page) -> bool:
    """Return whether a page lists other pages, by linked headings in its text or by its title."""
    return page.listed >= MIN_LISTED or _lists(page.title.lstrip()) is not None
