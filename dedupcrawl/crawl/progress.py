"""A running crawl: outages and calls of its store, the progress line, and the stats that a worker publishes."""

from __future__ import annotations

import logging
import os
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from scrapy.utils.asyncio import create_looping_call

from dedupcrawl.crawl.concurrency import OneShotEvent
from dedupcrawl.crawl.stats import POLICIES
from dedupcrawl.errors import StoreFullError
from dedupcrawl.stores.workers import WorkerStats

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.errors import StoreError

logger = logging.getLogger(__name__)

SLOW = 100.0  #: minimum mean milliseconds of a call of the store that the progress line shows
VERY_SLOW = 1000.0  #: minimum milliseconds of a very slow call
_PROGRESS = (
    "Deduplicated %(checked)d pages (at %(checked_rate)d pages/min), kept %(kept)d (at %(kept_rate)d pages/min), "
)
_DROPPED = "dropped %(repeats)d (at %(repeats_rate)d pages/min)"
_TAGGED = "found %(repeats)d duplicates (at %(repeats_rate)d pages/min)"
_UNCHECKED = ", %(unchecked)d unchecked"
_AWAY = "; the store has been away for %(seconds)d s, %(policy)s"
_FULL = "; the store has been full for %(seconds)d s, %(policy)s"
_CALLS = "; calls of the store took %(mean)d ms, the longest %(worst)d ms"


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
            policy = POLICIES["wait"]
            if self._options.on_store_error != "wait" or outage.over.is_set:
                policy = f"{outage.pages} pages were kept unchecked meanwhile"
            return _FULL if outage.is_full else _AWAY, {"seconds": outage.seconds, "policy": policy}
        if calls and (mean >= SLOW or worst >= VERY_SLOW):
            return _CALLS, {"mean": mean, "worst": worst}
        return "", {}


def _with_prefix(prefix: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in counts.items() if name.startswith(prefix)}
