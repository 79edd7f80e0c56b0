"""The line that a crawl logs now and then, beside the one of Scrapy's own ``LogStats``."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from scrapy.utils.asyncio import create_looping_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from dedupcrawl.crawl.desk import Desk
    from dedupcrawl.crawl.line import Outage
    from dedupcrawl.crawl.options import Options
    from dedupcrawl.crawl.tally import Tally

logger = logging.getLogger(__name__)

SLOW = 100.0  #: milliseconds that a call of the store takes on average, from which on the line says so
VERY_SLOW = 1000.0  #: the same, of the longest

_PAGES = (
    "Deduplicated %(checked)d pages (at %(checked_rate)d pages/min), "
    "kept %(kept)d (at %(kept_rate)d pages/min), "
)
_DROPPED = "dropped %(repeats)d (at %(repeats_rate)d pages/min)"
_TAGGED = "found %(repeats)d duplicates (at %(repeats_rate)d pages/min)"
_UNCHECKED = ", %(unchecked)d unchecked"
_AWAY = "; the store has been away for %(seconds)d s, %(policy)s"
_FULL = "; the store has been full for %(seconds)d s, %(policy)s"
_CALLS = "; calls of the store took %(mean)d ms, the longest %(worst)d ms"


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of the pages so far."""

    checked: int = 0
    kept: int = 0
    repeats: int = 0  #: dropped, or found where none is dropped
    unchecked: int = 0

    @classmethod
    def of(cls, counts: Mapping[str, int], *, drops: bool) -> Self:
        """Read it from the stats of a crawl, named without ``dedup/``."""
        unchecked = sum(count for name, count in counts.items() if name.startswith("unchecked/"))
        repeats = counts.get("dropped" if drops else "duplicate", 0)
        return cls(counts.get("checked", 0), counts.get("kept", 0), repeats, unchecked)

    def figures(self, before: Standing, seconds: float) -> dict[str, float]:
        """Return the numbers, and how many there were a minute since ``before``, so many seconds ago."""
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


class Progress:
    """Logs every ``LOGSTATS_INTERVAL`` seconds what became of the pages, and what the store is like.

    Nothing is logged while nothing happens: a worker that is idle for hours has nothing to tell. The numbers
    are of this process alone, as those of the last line of the crawl are, wherever its stats are collected.
    """

    def __init__(self, crawler: Crawler, options: Options, tally: Tally, desk: Desk) -> None:
        self._crawler = crawler
        self._options = options
        self._tally = tally
        self._desk = desk
        self._waits = desk.count_waits()
        self._before = Standing()
        self._last = time.monotonic()
        self._loop: AsyncioLoopingCall | LoopingCall | None = None

    def start(self) -> None:
        """Begin, unless there is to be no such line."""
        if self._options.log_interval:
            self._last = time.monotonic()
            self._loop = create_looping_call(self.tell)
            self._loop.start(self._options.log_interval, now=False)

    def stop(self) -> None:
        """Log no more."""
        if self._loop is not None and self._loop.running:
            self._loop.stop()

    def tell(self) -> None:
        """Log the line if there is news."""
        now, standing = time.monotonic(), Standing.of(self._tally.counts, drops=self._options.drops)
        store, figures = self._store()
        if standing != self._before or store:
            told = _PAGES + (_DROPPED if self._options.drops else _TAGGED)
            told += (_UNCHECKED if standing.unchecked else "") + store
            figures |= standing.figures(self._before, now - self._last)
            logger.info(told, figures, extra={"spider": self._crawler.spider})
        self._before, self._last = standing, now

    def _store(self) -> tuple[str, dict[str, object]]:
        """Say what is wrong with the store, if anything is."""
        calls, mean, worst = self._waits.take()
        outage = self._desk.outage
        if outage is not None:
            policy = self._policy(outage)
            return _FULL if outage.is_full else _AWAY, {"seconds": outage.seconds, "policy": policy}
        if calls and (mean >= SLOW or worst >= VERY_SLOW):
            return _CALLS, {"mean": mean, "worst": worst}
        return "", {}

    def _policy(self, outage: Outage) -> str:
        if self._options.on_store_error == "wait" and not outage.over.known:
            return "pages wait for it"
        return f"{outage.pages} pages were kept unchecked meanwhile"
