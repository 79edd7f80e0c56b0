"""Counters, published worker stats and log lines of a crawl's deduplication."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.crawl.items import OutcomeCounts, PageRecorder, PageState
from dedupcrawl.crawl.settings import LOG_LANGUAGES
from dedupcrawl.decision import Status
from dedupcrawl.detectors.base import Relation
from dedupcrawl.page.time_limit import TOO_SLOW
from dedupcrawl.sites.registrable_domain import host_of
from dedupcrawl.sites.site_counts import SiteCounts
from dedupcrawl.utils.formatting import similarity_text
from dedupcrawl.utils.messages import ENGLISH, mark, read_chinese

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from scrapy.crawler import Crawler

    from dedupcrawl.decision import Verdict

logger = logging.getLogger(__name__)

CATALOGUE = "crawl/zh.json"  #: Chinese texts of the summary
MAX_FAILURES = 20  #: different failures of the store that are logged; further ones are counted only
MAX_SLOW_HOSTS = 100  #: hosts whose first page beyond the time limit is logged as a warning
MAX_SITE_WARNINGS = 100  #: conspicuous sites that are logged

ITEM_CHARS = 60  #: of the text of an item in the log
SHOWN_PARTS = 3  #: of the summary, also with a count of 0
_NOT_STORED = (PageState.RELEASED, PageState.REFUSED, PageState.LOST)
#: Parts of the pages in the summary, with their states, and whether they are unchecked. They sum to all pages.
_PARTS: Sequence[tuple[str, tuple[PageState, ...], bool | None]] = (
    (mark("kept"), (PageState.SCRAPED, PageState.COMMITTED), False),
    (mark("kept unchecked"), (PageState.SCRAPED, PageState.COMMITTED), True),
    (mark("dropped"), (PageState.DROPPED,), None),
    (mark("released (other pipelines refused their items, or a feed was not stored)"), _NOT_STORED, None),
    (mark("not finished"), (PageState.OPEN,), None),
)
_RELATIONS = {
    Relation.IDENTICAL: "identical to",
    Relation.NEAR_DUPLICATE: "near-duplicate of",
    Relation.EXCERPT: "excerpt of",
    Relation.EXPANSION: "expansion of",
    Relation.UNCHANGED: "unchanged copy of",
    Relation.UPDATED: "new version of",
    Relation.REFRESHED: "refreshed version of",
    Relation.SIBLING: "sibling of",
}
POLICIES = {
    "keep": "pages are kept unchecked until it is back",
    "wait": "pages wait for it",
    "close": "the crawl is closed",
}


class CrawlStats:
    """Counts pages (items, with ``DEDUP_ITEM_FIELDS``) in Scrapy's stats under ``dedup/…``; logs events.

    Args:
        crawler: whose stats are used.
        on_store_error: the setting ``DEDUP_ON_STORE_ERROR``, for the log.
        recorder: receives the same counts.
        language: of the summary: the setting ``DEDUP_LOG_LANGUAGE``.
    """

    def __init__(
        self,
        crawler: Crawler,
        on_store_error: str = "keep",
        recorder: PageRecorder | None = None,
        language: str = LOG_LANGUAGES[0],
    ) -> None:
        self._crawler = crawler
        self.texts = read_chinese(CATALOGUE) if language == "zh" else ENGLISH  #: of the summary
        self._recorder = recorder or PageRecorder()
        self._on_store_error = on_store_error
        self._logged: set[str] = set()
        self._failures: set[str] = set()
        self._slow_hosts: set[str] = set()
        self.sites = SiteCounts()  #: verdicts of this process by site
        self.outcomes = OutcomeCounts()  #: of the pages of this process
        self.counts: Counter[str] = Counter()  #: of this process; by name without ``dedup/``

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter; a counter that stays 0 does not exist."""
        if by:
            self.counts[name] += by
            self._crawler.stats.inc_value(f"dedup/{name}", by)
            self._recorder.count(name, by)

    def judged(self, verdict: Verdict, *, again: bool = False) -> None:
        """Count a verdict; ``again``: the page was judged before, but its claim was released."""
        if verdict.status is Status.UNCHECKED:
            self.count(f"unchecked/{verdict.reason}")
            if verdict.reason == TOO_SLOW:
                self._too_slow(verdict.url)
        elif not again:
            self.count("checked")
        if verdict.status is Status.DUPLICATE:
            self.count("duplicate")
            self.count(f"duplicate/{verdict.relation}")
        elif verdict.relation is not None:
            self.count(f"related/{verdict.relation}")
        if verdict.keep and verdict.is_informative:
            self._log_kept(verdict)
        if not again:
            self._watch_site(verdict)

    def _log_kept(self, verdict: Verdict) -> None:
        """Log a page that is kept although it is related to another one, or could not be checked."""
        if logger.isEnabledFor(logging.DEBUG):
            why = f"{verdict.url}: unchecked, {verdict.reason}" if verdict.relation is None else describe(verdict)
            self._log(logging.DEBUG, "Kept %(what)s", what=why)

    def _watch_site(self, verdict: Verdict) -> None:
        """Log, once for a site, what is conspicuous about it."""
        notice = self.sites.add(verdict.url, verdict.relation, verdict.of, verdict.reason)
        if notice is None:
            return
        self.count("conspicuous_sites")
        if self.counts["conspicuous_sites"] <= MAX_SITE_WARNINGS:
            self._log(logging.WARNING, "%(notice)s", notice=notice.message)
        elif self._is_first("conspicuous_sites"):
            message = "More than %(most)d sites are conspicuous; further ones are only counted"
            self._log(logging.WARNING, message, most=MAX_SITE_WARNINGS)

    def _too_slow(self, url: str) -> None:
        """Log a page that exceeded its time limit; a site may have many, so only its first is a warning."""
        host = host_of(url)
        is_new = host not in self._slow_hosts and len(self._slow_hosts) < MAX_SLOW_HOSTS
        self._slow_hosts.update([host] if is_new else [])
        message = "%(url)s took more than DEDUP_PAGE_TIMEOUT allows, it is kept unchecked"
        self._log(logging.WARNING if is_new else logging.DEBUG, message, url=url)

    def dropped(self, verdict: Verdict, size: int, item: str = "") -> None:
        """Count and log a dropped page of ``size`` bytes; ``item``: the text of an item that was judged by itself."""
        self.count("dropped")
        self.count("bytes_saved", size)
        text = " ".join(item.split())
        named = f"the item {text[:ITEM_CHARS]}{'…' * (len(text) > ITEM_CHARS)} of " if text else ""
        self._log(logging.INFO, "Dropped %(what)s", what=named + describe(verdict))

    def crashed(self, url: str, error: Exception) -> None:
        """Count an unexpected error; the first of each type is logged with its traceback."""
        self.count("errors")
        if self._is_first(type(error.__cause__ or error).__name__):
            message = "Could not judge %(url)s, it is kept unchecked"
            self._log(logging.ERROR, message, exc_info=error, url=url)

    def feed_claims_lost(self, error: Exception) -> None:
        """Log that the claims of a stored feed could not be read back."""
        self.count("errors")
        message = "The claims of a stored feed cannot be read, the next crawl will store its pages again: %(error)s"
        self._log(logging.ERROR, message, error=error)

    def pipeline_before(self, order: str) -> None:
        """Log a pipeline that runs before that of deduplication; ``order`` names both with their numbers."""
        message = (
            "%(order)s in ITEM_PIPELINES: it processes items that are dropped afterwards, and downloads their files if "
            "it has any; give it a higher number"
        )
        self._log(logging.WARNING, message, order=order)

    def field_missing(self, field: str, items: int, fields: str) -> None:
        """Log a field of ``DEDUP_ITEM_FIELDS`` that none of the first ``items`` items has; ``fields`` are theirs."""
        message = "DEDUP_ITEM_FIELDS names %(field)s, which none of the first %(items)d items has; they have %(fields)s"
        self._log(logging.WARNING, message, field=field, items=items, fields=fields)

    def lapsed(self, lapses: int) -> None:
        """Log the first check of claims after each end of the lease; ``lapses``: how often it has ended."""
        if self._is_first(f"lapse {lapses}"):
            message = (
                "This worker was stopped, or had no store, for longer than DEDUP_LEASE: "
                "it asks the store before it stores the pages claimed before"
            )
            self._log(logging.WARNING, message)

    # -- the store ----------------------------------------------------------------------------

    def publishing_failed(self, error: Exception) -> None:
        """Log that this worker could not publish its stats; the first error of each type."""
        self.count("publish_errors")
        if self._is_first(f"publishing {type(error).__name__}"):
            message = "The statistics of this worker could not be published, the crawl goes on: %(error)s"
            self._log(logging.WARNING, message, error=error)

    def store_failed(self, error: Exception, *, quiet: bool = False) -> None:
        """Count a failure of the store; log each message once. ``quiet``: do not log, the store is away."""
        self.count("store_errors")
        if quiet or str(error) in self._failures or len(self._failures) > MAX_FAILURES:
            return
        self._failures.add(str(error))
        if len(self._failures) <= MAX_FAILURES:
            self._log(logging.ERROR, "The store failed, pages are kept unchecked: %(error)s", error=error)
        else:
            self._log(
                logging.ERROR,
                "The store fails with more than %(most)d different errors; further ones are only counted",
                most=MAX_FAILURES,
            )

    def outage_began(self, error: Exception) -> None:
        """Count and log the start of an outage."""
        self.count("outages")
        message = "The store is away, %(policy)s: %(error)s"
        self._log(logging.ERROR, message, policy=POLICIES[self._on_store_error], error=error)

    def outage_ended(self, seconds: float, pages: int) -> None:
        """Count and log the end of an outage in which ``pages`` were kept unchecked."""
        self.count("outages/seconds", round(seconds))
        message = "The store is back after %(seconds).1f s, in which %(pages)d pages were kept unchecked"
        self._log(logging.WARNING, message, seconds=seconds, pages=pages)

    def gave_up(self) -> None:
        """Log that the crawl is closed because the store is away."""
        self._log(logging.ERROR, "The crawl is closed because its store is away; pages in work are kept")

    def spooled(self, pages: int, lost: int) -> None:
        """Count pages that were added to the spool, and those for which it had no room."""
        self.count("spool/added", pages)
        self.count("spool/full", lost)
        if lost and self._is_first("spool"):
            self._log(logging.ERROR, "The spool is full: copies of further pages will not be known")

    def spool_failed(self, error: Exception, pages: int) -> None:
        """Count pages that could not be written to the spool; the first error is logged."""
        self.count("spool/full", pages)
        if self._is_first("spool"):
            message = "The spool cannot be written, copies of pages kept meanwhile will not be known: %(error)s"
            self._log(logging.ERROR, message, error=error)

    def waiting_to_close(self, seconds: float) -> None:
        """Log, once, that the end of the crawl waits for the store, at most for so many seconds."""
        if self._is_first("close"):
            message = "The crawl ends when its stored pages are filed, or in %(seconds)d s (DEDUP_CLOSE_PATIENCE)"
            self._log(logging.WARNING, message, seconds=seconds)

    def spool_left(self, path: Path, pages: int) -> None:
        """Count and log pages that remain in the spool."""
        self.count("spool/left", pages)
        message = (
            "%(pages)d stored pages could not be filed, they are left in %(path)s. Keep this file: the next crawl of "
            "this store files them. Until then copies of them are kept"
        )
        self._log(logging.WARNING, message, pages=pages, path=path)

    def replayed(self, filed: int, repeats: int, refused: int) -> None:
        """Count and log the pages of the spool that were filed, repeat others, or were refused."""
        self.count("spool/filed", filed)
        self.count("spool/repeats", repeats)
        if filed or repeats or refused:
            message = (
                "Of the pages kept while the store was away %(filed)d are filed now, "
                "%(repeats)d repeat others, %(refused)d are refused by the store"
            )
            self._log(logging.INFO, message, filed=filed, repeats=repeats, refused=refused)

    def log_summary(self) -> None:
        """Log the outcomes of the pages of this process; Scrapy's stats may be those of all workers."""
        parts = [(self.outcomes.of(*states, unchecked=kind), name) for name, states, kind in _PARTS]
        text = self.texts.text
        named = [text("{n} {part}", n=count, part=text(name)) for count, name in parts]
        shown = " + ".join(each for at, each in enumerate(named) if parts[at][0] or at < SHOWN_PARTS)
        details = ", ".join(f"{name} {self.counts[name]}" for name in sorted(self.counts) if "/" in name)
        details = f" ({details})" if details else ""
        pages = sum(count for count, _ in parts)
        message = text("Pages: %(pages)d = %(parts)s%(details)s")
        self._log(logging.INFO, message, pages=pages, parts=shown, details=details)

    def log_not_modified(self) -> None:
        """Log how many pages were not downloaded since their servers call them unchanged."""
        pages, size = self.counts["not_modified"], self.counts["not_modified/bytes"]
        if pages:
            message = "Not modified: %(pages)d pages of %(size)d bytes were not downloaded; their links were followed"
            self._log(logging.INFO, self.texts.text(message), pages=pages, size=size)

    def warn(self, message: str, what: Mapping[str, object]) -> None:
        """Log a warning; ``what`` are the values in the message."""
        logger.warning(message, what, extra={"spider": self._crawler.spider})

    def _log(self, level: int, message: str, exc_info: Exception | None = None, **what: object) -> None:
        args = [what] if what else []
        logger.log(level, message, *args, exc_info=exc_info, extra={"spider": self._crawler.spider})

    def _is_first(self, what: str) -> bool:
        is_first = what not in self._logged
        self._logged.add(what)
        return is_first


def describe(verdict: Verdict) -> str:
    """Describe a verdict in one line: both pages, their relation, the detector and the similarity."""
    how = _RELATIONS[verdict.relation] if verdict.relation else "related to"
    similarity = "" if verdict.similarity is None else f" {similarity_text(verdict.similarity)}"
    return f"{verdict.url}: {how} {verdict.of} ({verdict.detector}{similarity})"
