"""Counters, heartbeat figures and log lines of a crawl's deduplication."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from scrapy.utils.asyncio import create_looping_call

from dedupcrawl.crawl.concurrency import OneShotEvent
from dedupcrawl.crawl.recorder import PageRecorder
from dedupcrawl.detectors.base import Relation
from dedupcrawl.errors import StoreFullError
from dedupcrawl.stores.workers import WorkerStats
from dedupcrawl.utils.formatting import similarity_text
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.errors import StoreError
    from dedupcrawl.verdict import Verdict

logger = logging.getLogger(__name__)

SLOW = 100.0  #: milliseconds that a call of the store takes on average, from which on the log line states it
VERY_SLOW = 1000.0  #: the same, of the longest

_PROGRESS = (
    "Deduplicated %(checked)d pages (at %(checked_rate)d pages/min), "
    "kept %(kept)d (at %(kept_rate)d pages/min), "
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
}
_POLICIES = {
    "keep": "pages are kept unchecked until it is back",
    "wait": "pages wait for it",
    "close": "the crawl is closed",
}
MAX_FAILURES = 20  #: failures of the store that are logged: each may name another damaged value
_SUMMARY = ("checked", "kept", "dropped", "released")


class CrawlStats:
    """Counts pages (items, when items are judged) under ``dedup/…``; integers only."""

    def __init__(
        self, crawler: Crawler, on_store_error: str = "keep", recorder: PageRecorder | None = None
    ) -> None:
        self._crawler = crawler
        self._recorder = recorder or PageRecorder()
        self._on_store_error = on_store_error
        self._logged: set[str] = set()
        self._failures: set[str] = set()
        self.counts: Counter[str] = Counter()  #: the stats, without their prefix

    def judged(self, verdict: Verdict, *, again: bool = False) -> None:
        """Count a verdict; ``again``: the page had one before, but its claim was released."""
        if verdict.status is Status.UNCHECKED:
            self._count(f"unchecked/{verdict.reason}")
        elif not again:
            self._count("checked")
        if verdict.status is Status.DUPLICATE:
            self._count("duplicate")
            self._count(f"duplicate/{verdict.relation}")
        elif verdict.relation is not None:
            self._count(f"related/{verdict.relation}")

    def dropped(self, verdict: Verdict, size: int) -> None:
        """Count and name a page that goes no further; ``size`` in bytes."""
        self._count("dropped")
        self._count("bytes_saved", size)
        logger.info("Dropped %(what)s", {"what": describe(verdict)}, extra={"spider": self._spider})

    def withheld(self, verdict: Verdict, size: int) -> None:
        """Count and name a page that the spider does not see; ``size`` in bytes."""
        self._count("withheld")
        self.dropped(verdict, size)

    def requests_saved(self, requests: int) -> None:
        """Count requests for files and images of items that were dropped."""
        self._count("requests_saved", requests)

    def kept(self) -> None:
        """Count a page of which all pipelines took an item."""
        self._count("kept")

    def released(self, pages: int) -> None:
        """Count released claims: their pages were not stored after all."""
        self._count("released", pages)

    def store_failed(self, error: Exception, *, quiet: bool = False) -> None:
        """Count a failure of the store; the first of a kind is logged, and none while the store is away."""
        self._count("store_errors")
        if quiet or str(error) in self._failures or len(self._failures) > MAX_FAILURES:
            return
        self._failures.add(str(error))
        if len(self._failures) <= MAX_FAILURES:
            self._log(logging.ERROR, "The store failed, pages are kept unchecked: %(error)s", error=error)
        else:
            self._log(logging.ERROR, "The store fails in ever new ways, which are only counted from here on")

    def store_left(self, error: Exception) -> None:
        """Count and log the beginning of an outage."""
        self._count("outages")
        message = "The store is away, %(policy)s: %(error)s"
        self._log(logging.ERROR, message, policy=_POLICIES[self._on_store_error], error=error)

    def store_returned(self, seconds: float, pages: int) -> None:
        """Count and log the end of an outage; ``pages`` were kept unchecked meanwhile."""
        self._count("outages/seconds", round(seconds))
        message = "The store is back after %(seconds).1f s, in which %(pages)d pages were kept unchecked"
        self._log(logging.WARNING, message, seconds=seconds, pages=pages)

    def gave_up(self) -> None:
        """Log that the crawl is closed since the store is away."""
        self._log(logging.ERROR, "The crawl is closed, for its store is away; what is under way is kept")

    def spooled(self, pages: int, lost: int) -> None:
        """Count pages remembered in the spool, and those for which it had no room."""
        self._count("spool/added", pages)
        self._count("spool/full", lost)
        if lost and self._is_first("spool"):
            self._log(logging.ERROR, "The spool is full: copies of further pages will not be known")

    def spool_failed(self, error: Exception, pages: int) -> None:
        """Count pages that could not even be remembered in the spool; logged once."""
        self._count("spool/full", pages)
        if self._is_first("spool"):
            message = (
                "The spool cannot be written, copies of pages kept meanwhile will not be known: %(error)s"
            )
            self._log(logging.ERROR, message, error=error)

    def spool_left(self, path: Path) -> None:
        """Log that pages stay in the spool."""
        message = (
            "Pages that could not be filed are left in %(path)s; the next crawl of this store files them"
        )
        self._log(logging.WARNING, message, path=path)

    def replayed(self, filed: int, repeats: int, refused: int) -> None:
        """Count and log what became of the pages of the spool."""
        self._count("spool/filed", filed)
        self._count("spool/repeats", repeats)
        if filed or repeats or refused:
            message = (
                "Of the pages kept while the store was away %(filed)d are filed now, "
                "%(repeats)d repeat others, %(refused)d are refused by the store"
            )
            self._log(logging.INFO, message, filed=filed, repeats=repeats, refused=refused)

    def crashed(self, url: str, error: Exception) -> None:
        """Count a fault of ours, or of the user's own reader.

        The first of its kind is logged with its traceback.
        """
        self._count("errors")
        if self._is_first(type(error.__cause__ or error).__name__):
            logger.error(
                "Could not judge %(url)s, it is kept unchecked",
                {"url": url},
                exc_info=error,
                extra={"spider": self._spider},
            )

    def log_summary(self) -> None:
        """Log what became of the pages."""
        numbers = dict(self.counts)  # what the crawl's stats say may be of all workers, or of none
        main = [f"{numbers.pop(name, 0)} {name}" for name in _SUMMARY]
        details = [f"{name} {numbers[name]}" for name in sorted(numbers) if "/" in name]
        logger.info(
            "Pages: %(main)s%(details)s",
            {"main": ", ".join(main), "details": f" ({', '.join(details)})" if details else ""},
            extra={"spider": self._spider},
        )

    @property
    def _spider(self) -> Spider | None:
        return self._crawler.spider

    def _count(self, name: str, by: int = 1) -> None:
        if by:
            self.counts[name] += by
            self._crawler.stats.inc_value(f"dedup/{name}", by)
            self._recorder.count(name, by)

    def _log(self, level: int, message: str, **what: object) -> None:
        logger.log(level, message, *([what] if what else []), extra={"spider": self._spider})

    def _is_first(self, what: str) -> bool:
        is_first = what not in self._logged
        self._logged.add(what)
        return is_first


def describe(verdict: Verdict) -> str:
    """Describe in one line which page another one repeats, how, and which detector found it."""
    how = _RELATIONS[verdict.relation] if verdict.relation else "related to"
    similarity = "" if verdict.similarity is None else f" {similarity_text(verdict.similarity)}"
    return f"{verdict.url}: {how} {verdict.of} ({verdict.detector}{similarity})"


# -- the store --------------------------------------------------------------------------------------


class Outage:
    """A time for which the store is away."""

    def __init__(self, error: StoreError) -> None:
        self.error = error
        self.began = time.monotonic()
        self.pages = 0  #: that were kept unchecked meanwhile
        self.over = OneShotEvent()  #: the store is back, or nobody waits for it any longer
        self.is_full = isinstance(error, StoreFullError)

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        return time.monotonic() - self.began


class CallTimes:
    """How long calls of the store took, since the last reset."""

    def __init__(self) -> None:
        self._calls = 0
        self._whole = self._worst = 0.0
        self._others: list[CallTimes] = []

    def split(self) -> CallTimes:
        """Return another counter of the same calls, with resets of its own."""
        self._others.append(CallTimes())
        return self._others[-1]

    @contextmanager
    def measuring(self, *, unless: type[Exception]) -> Iterator[None]:
        """Time a call, unless that error tells that it was not made."""
        began, was_made = time.monotonic(), True
        try:
            yield
        except unless:
            was_made = False
            raise
        finally:
            if was_made:
                self._add(time.monotonic() - began)

    def _add(self, seconds: float) -> None:
        self._calls += 1
        self._whole += seconds
        self._worst = max(self._worst, seconds)
        for other in self._others:
            other._add(seconds)

    def reset(self) -> tuple[int, float, float]:
        """Return the number of calls, their mean and the longest time in milliseconds; start again at 0."""
        calls, whole, worst = self._calls, self._whole, self._worst
        self._calls, self._whole, self._worst = 0, 0.0, 0.0
        return calls, 1000 * whole / max(calls, 1), 1000 * worst


# -- figures and log lines --------------------------------------------------------------------------


class Heartbeat:
    """The figures that a worker publishes when it renews its leases, for ``dedupcrawl store watch``."""

    def __init__(self, crawler: Crawler, stats: CrawlStats, times: CallTimes) -> None:
        self._crawler = crawler
        self._stats = stats
        self._times = times
        self._host = socket.gethostname()
        self._began = self._last = time.monotonic()
        self._checked = 0

    def figures(self, claims: int) -> WorkerStats:
        """Return the totals, with the number of open ``claims``, and the changes since the last call."""
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
            duplicates=_below("duplicate/", counts),
            related=_below("related/", counts),
            unchecked=_below("unchecked/", counts),
            claims=claims,
            interval=round(now - last, 3),
            recent=counts["checked"] - before,
            calls=calls,
            mean=round(mean, 3),
            worst=round(worst, 3),
        )


@dataclass(frozen=True, slots=True)
class PageCounts:
    """What became of the pages so far."""

    checked: int = 0
    kept: int = 0
    repeats: int = 0  #: dropped, or found where none is dropped
    unchecked: int = 0

    @classmethod
    def of(cls, counts: Mapping[str, int], *, drops: bool) -> Self:
        """Read them from the stats of a crawl, named without ``dedup/``."""
        unchecked = sum(count for name, count in counts.items() if name.startswith("unchecked/"))
        repeats = counts.get("dropped" if drops else "duplicate", 0)
        return cls(counts.get("checked", 0), counts.get("kept", 0), repeats, unchecked)

    def figures(self, before: PageCounts, seconds: float) -> dict[str, float]:
        """Return the numbers and their rates per minute since ``before``, so many seconds ago."""
        minutes = max(seconds, 1e-3) / 60
        return {
            "checked": self.checked,
            "checked_rate": (self.checked - before.checked) / minutes,
            "kept": self.kept,
            "kept_rate": (self.kept - before.kept) / minutes,
            "repeats": self.repeats,
            "repeats_rate": (self.repeats - before.repeats) / minutes,
            "unchecked": self.unchecked,
        }


class StoreStatus(Protocol):
    """What the log line states of the store."""

    outage: Outage | None  #: the current one
    times: CallTimes


class ProgressLog:
    """Logs every ``LOGSTATS_INTERVAL`` seconds what became of the pages, and the state of the store.

    Nothing is logged while nothing changes. The numbers are those of this process alone, like those of the
    summary at the end, wherever its stats are collected.
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
        """Start, unless the interval is 0."""
        if self._options.log_interval:
            self._last = time.monotonic()
            self._loop = create_looping_call(self.log)
            self._loop.start(self._options.log_interval, now=False)

    def stop(self) -> None:
        """Stop."""
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
        """Describe what is wrong with the store, if anything is."""
        calls, mean, worst = self._times.reset()
        outage = self._status.outage
        if outage is not None:
            policy = self._policy(outage)
            return _FULL if outage.is_full else _AWAY, {"seconds": outage.seconds, "policy": policy}
        if calls and (mean >= SLOW or worst >= VERY_SLOW):
            return _CALLS, {"mean": mean, "worst": worst}
        return "", {}

    def _policy(self, outage: Outage) -> str:
        if self._options.on_store_error == "wait" and not outage.over.is_set:
            return "pages wait for it"
        return f"{outage.pages} pages were kept unchecked meanwhile"


def _below(prefix: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in counts.items() if name.startswith(prefix)}
