"""What a worker says of itself, beside renewing its leases, for whoever watches."""

from __future__ import annotations

import os
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dedupcrawl.stores.fleet import Figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.tally import Tally


class Waits:
    """How long the crawl waited for calls of the store since that was last asked."""

    def __init__(self) -> None:
        self._calls = 0
        self._whole = self._worst = 0.0
        self._others: list[Waits] = []

    def beside(self) -> Waits:
        """Return another that hears of the same calls, and is asked by somebody else."""
        self._others.append(Waits())
        return self._others[-1]

    @contextmanager
    def timing(self, *, unless: type[Exception]) -> Iterator[None]:
        """Time a call, unless that error says that it was not made."""
        began, was_made = time.monotonic(), True
        try:
            yield
        except unless:
            was_made = False
            raise
        finally:
            if was_made:
                self._note(time.monotonic() - began)

    def _note(self, seconds: float) -> None:
        self._calls += 1
        self._whole += seconds
        self._worst = max(self._worst, seconds)
        for other in self._others:
            other._note(seconds)

    def take(self) -> tuple[int, float, float]:
        """Return how many there were, the mean and the longest in milliseconds; begin anew."""
        calls, whole, worst = self._calls, self._whole, self._worst
        self._calls, self._whole, self._worst = 0, 0.0, 0.0
        return calls, 1000 * whole / max(calls, 1), 1000 * worst


class Pulse:
    """Puts together what one crawl says of itself; its numbers are those of its stats."""

    def __init__(self, crawler: Crawler, tally: Tally, waits: Waits) -> None:
        self._crawler = crawler
        self._tally = tally
        self._waits = waits
        self._host = socket.gethostname()
        self._began = self._last = time.monotonic()
        self._checked = 0

    def figures(self, claims: int) -> Figures:
        """Say how the crawl stands, with so many ``claims``, and how it fared since the last time."""
        counts, now = self._tally.counts, time.monotonic()
        before, self._checked = self._checked, counts["checked"]
        last, self._last = self._last, now
        calls, mean, worst = self._waits.take()
        return Figures(
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


def _below(prefix: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in counts.items() if name.startswith(prefix)}
