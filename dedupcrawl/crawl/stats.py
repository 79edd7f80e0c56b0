"""Counters, published worker stats and log lines of a crawl's deduplication."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from scrapy.utils.asyncio import create_looping_call

from dedupcrawl.crawl.concurrency import OneShotEvent
from dedupcrawl.crawl.items import OutcomeCounts, PageRecorder, PageState
from dedupcrawl.crawl.settings import LOG_LANGUAGES
from dedupcrawl.decision import Status
from dedupcrawl.detectors.base import Relation
from dedupcrawl.errors import StoreFullError
from dedupcrawl.page.time_limit import TOO_SLOW
from dedupcrawl.sites.registrable_domain import host_of
from dedupcrawl.sites.site_counts import SiteCounts
from dedupcrawl.stores.workers import WorkerStats
from dedupcrawl.utils.formatting import similarity_text
from dedupcrawl.utils.messages import ENGLISH, mark, read_chinese

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.decision import Verdict
    from dedupcrawl.errors import StoreError

logger = logging.getLogger(__name__)

CATALOGUE = "crawl/zh.json"  #: Chinese texts of the summary
MAX_FAILURES = 20  #: different failures of the store that are logged; further ones are counted only
MAX_SLOW_HOSTS = 100  #: hosts whose first page beyond the time limit is logged as a warning
MAX_SITE_WARNINGS = 100  #: conspicuous sites that are logged
SLOW = 100.0  #: minimum mean milliseconds of a call of the store that the progress line shows
VERY_SLOW = 1000.0  #: minimum milliseconds of a very slow call

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
_PROGRESS = (
    "Deduplicated %(checked)d pages (at %(checked_rate)d pages/min), kept %(kept)d (at %(kept_rate)d pages/min), "
)
_DROPPED = "dropped %(repeats)d (at %(repeats_rate)d pages/min)"
_TAGGED = "found %(repeats)d duplicates (at %(repeats_rate)d pages/min)"
_UNCHECKED = ", %(unchecked)d unchecked"
_AWAY = "; the store has been away for %(seconds)d s, %(policy)s"
_FULL = "; the store has been full for %(seconds)d s, %(policy)s"
_CALLS = "; calls of the store took %(mean)d ms, the longest %(worst)d ms"
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
_POLICIES = {
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
        self._log(logging.ERROR, message, policy=_POLICIES[self._on_store_error], error=error)

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


class OutageState:
    """A period in which the store is away."""

    def __init__(self, error: StoreError) -> None:
        self.error = error
        self.began = time.monotonic()
        self.pages = 0  #: kept unchecked meanwhile
        self.over = OneShotEvent()  #: the store is back, or the patience is over
        self.is_full = isinstance(error, StoreFullError)

    @property
    def seconds(self) -> float:
        """Duration so far."""
        return time.monotonic() - self.began


class CallStats:
    """The durations of calls of the store since the last reset."""

    def __init__(self) -> None:
        self._calls = 0
        self._total = self._worst = 0.0
        self._others: list[CallStats] = []

    def split(self) -> CallStats:
        """Return another counter of the same calls, which is reset on its own."""
        self._others.append(CallStats())
        return self._others[-1]

    @contextmanager
    def measuring(self, *, unless: type[Exception]) -> Iterator[None]:
        """Measure a call, except if it raises ``unless``: it was not made then."""
        began, was_made = time.monotonic(), True
        try:
            yield
        except unless:
            was_made = False
            raise
        finally:
            if was_made:
                self.add(time.monotonic() - began)

    def add(self, seconds: float) -> None:
        """Add a call that took ``seconds``."""
        self._calls += 1
        self._total += seconds
        self._worst = max(self._worst, seconds)
        for other in self._others:
            other.add(seconds)

    def reset(self) -> tuple[int, float, float]:
        """Return the number of calls, their mean and the longest in milliseconds; start again at 0."""
        calls, total, worst = self._calls, self._total, self._worst
        self._calls, self._total, self._worst = 0, 0.0, 0.0
        return calls, 1000 * total / max(calls, 1), 1000 * worst


class HeartbeatBuilder:
    """Makes the stats that a worker publishes whenever it renews its leases, for ``store watch``."""

    def __init__(self, crawler: Crawler, stats: CrawlStats, times: CallStats) -> None:
        self._crawler = crawler
        self._stats = stats
        self._times = times
        self._host = socket.gethostname()
        self._began = self._last = time.monotonic()
        self._checked = 0

    def worker_stats(self, claims: int) -> WorkerStats:
        """Return the totals, the number of open ``claims``, and the changes since the last call."""
        counts, now = self._stats.counts, time.monotonic()
        before, self._checked = self._checked, counts["checked"]
        last, self._last = self._last, now
        calls, mean, worst = self._times.reset()
        return WorkerStats(
            host=self._host,
            process=os.getpid(),
            spider=str((self._crawler.spider or self._crawler.spidercls).name),
            uptime=round(now - self._began, 3),
            checked=counts["checked"],
            kept=counts["kept"],
            dropped=counts["dropped"],
            duplicates=_with_prefix("duplicate/", counts),
            related=_with_prefix("related/", counts),
            unchecked=_with_prefix("unchecked/", counts),
            claims=claims,
            interval=round(now - last, 3),
            recent=counts["checked"] - before,
            calls=calls,
            mean=round(mean, 3),
            worst=round(worst, 3),
        )


class PageCounts(NamedTuple):
    """The counts of the progress line."""

    checked: int = 0
    kept: int = 0
    repeats: int = 0  #: dropped pages; duplicates, where none is dropped
    unchecked: int = 0

    @classmethod
    def of(cls, counts: Mapping[str, int], *, drops: bool) -> Self:
        """Return the counts in those of :class:`CrawlStats`."""
        unchecked = sum(_with_prefix("unchecked/", counts).values())
        repeats = counts.get("dropped" if drops else "duplicate", 0)
        return cls(counts.get("checked", 0), counts.get("kept", 0), repeats, unchecked)

    def figures(self, before: PageCounts, seconds: float) -> dict[str, float]:
        """Return the counts, and their rates per minute since ``before``, ``seconds`` ago."""
        minutes = max(seconds, 1e-3) / 60
        pairs = zip(self._fields, self, before, strict=True)
        return self._asdict() | {f"{name}_rate": (now - then) / minutes for name, now, then in pairs}


class StoreStatus(Protocol):
    """The part of a store client that the progress line shows."""

    outage: OutageState | None  #: the current one
    times: CallStats


class ProgressMonitor:
    """Logs the counts and the state of the store every ``LOGSTATS_INTERVAL`` seconds, if they changed.

    The counts are those of this process, wherever Scrapy collects its stats.
    """

    def __init__(self, crawler: Crawler, options: Options, stats: CrawlStats, store: StoreStatus) -> None:
        self._crawler = crawler
        self._options = options
        self._stats = stats
        self._status = store
        self._times = store.times.split()
        self._before = PageCounts()
        self._last = time.monotonic()
        self._loop: AsyncioLoopingCall | LoopingCall | None = None

    def start(self) -> None:
        """Start to log, unless the interval is 0."""
        if self._options.log_interval:
            self._last = time.monotonic()
            self._loop = create_looping_call(self.log)
            self._loop.start(self._options.log_interval, now=False)

    def stop(self) -> None:
        """Stop to log."""
        if self._loop is not None and self._loop.running:
            self._loop.stop()

    def log(self) -> None:
        """Log the line if anything changed."""
        now, counts = time.monotonic(), PageCounts.of(self._stats.counts, drops=self._options.drops)
        store, figures = self._store()
        if counts != self._before or store:
            message = _PROGRESS + (_DROPPED if self._options.drops else _TAGGED)
            message += (_UNCHECKED if counts.unchecked else "") + store
            figures |= counts.figures(self._before, now - self._last)
            logger.info(message, figures, extra={"spider": self._crawler.spider})
        self._before, self._last = counts, now

    def _store(self) -> tuple[str, dict[str, object]]:
        """Return the message about a store that is away, full or slow, and its values."""
        calls, mean, worst = self._times.reset()
        outage = self._status.outage
        if outage is not None:
            policy = _POLICIES["wait"]
            if self._options.on_store_error != "wait" or outage.over.is_set:
                policy = f"{outage.pages} pages were kept unchecked meanwhile"
            return _FULL if outage.is_full else _AWAY, {"seconds": outage.seconds, "policy": policy}
        if calls and (mean >= SLOW or worst >= VERY_SLOW):
            return _CALLS, {"mean": mean, "worst": worst}
        return "", {}


def _with_prefix(prefix: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in counts.items() if name.startswith(prefix)}
