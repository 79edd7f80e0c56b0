"""What a crawl's deduplication says: stats and log lines."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.crawl.collecting import Collector
from dedupcrawl.formatting import similarity_text
from dedupcrawl.verdict import Status
from dedupcrawl.verdict_text import relation_text

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from dedupcrawl.verdict import Verdict

logger = logging.getLogger(__name__)

_POLICIES = {
    "keep": "pages are kept unchecked until it is back",
    "wait": "pages wait for it",
    "close": "the crawl is closed",
}
MOST_FAILURES = 20  #: failures of the store that are logged: each may name another damaged value
_SUMMARY = ("checked", "kept", "dropped", "released")


class Tally:
    """Counts pages (items, when items are judged) under ``dedup/…``; integers only."""

    def __init__(
        self, crawler: Crawler, on_store_error: str = "keep", collector: Collector | None = None
    ) -> None:
        self._crawler = crawler
        self._collector = collector or Collector()
        self._on_store_error = on_store_error
        self._told: set[str] = set()
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
        logger.info("Dropped %(what)s", {"what": described(verdict)}, extra={"spider": self._spider})

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
        """Count claims that were given back: their pages were not stored after all."""
        self._count("released", pages)

    def store_failed(self, error: Exception, *, quiet: bool = False) -> None:
        """Count a failure of the store; the first of a kind is logged, and none while the store is away."""
        self._count("store_errors")
        if quiet or str(error) in self._failures or len(self._failures) > MOST_FAILURES:
            return
        self._failures.add(str(error))
        if len(self._failures) <= MOST_FAILURES:
            self._log(logging.ERROR, "The store failed, pages are kept unchecked: %(error)s", error=error)
        else:
            self._log(logging.ERROR, "The store fails in ever new ways, which are only counted from here on")

    def store_left(self, error: Exception) -> None:
        """Count and log the beginning of an outage."""
        self._count("outages")
        told = "The store is away, %(policy)s: %(error)s"
        self._log(logging.ERROR, told, policy=_POLICIES[self._on_store_error], error=error)

    def store_returned(self, seconds: float, pages: int) -> None:
        """Count and log the end of an outage; ``pages`` were kept unchecked meanwhile."""
        self._count("outages/seconds", round(seconds))
        told = "The store is back after %(seconds).1f s, in which %(pages)d pages were kept unchecked"
        self._log(logging.WARNING, told, seconds=seconds, pages=pages)

    def gave_up(self) -> None:
        """Log that the crawl is closed since the store is away."""
        self._log(logging.ERROR, "The crawl is closed, for its store is away; what is under way is kept")

    def spooled(self, pages: int, lost: int) -> None:
        """Count pages remembered in the spool, and those for which it had no room."""
        self._count("spool/added", pages)
        self._count("spool/full", lost)
        if lost and self._is_news("spool"):
            self._log(logging.ERROR, "The spool is full: copies of further pages will not be known")

    def spool_failed(self, error: Exception, pages: int) -> None:
        """Count pages that could not even be remembered in the spool; logged once."""
        self._count("spool/full", pages)
        if self._is_news("spool"):
            told = "The spool cannot be written, copies of pages kept meanwhile will not be known: %(error)s"
            self._log(logging.ERROR, told, error=error)

    def spool_left(self, path: Path) -> None:
        """Log that pages stay in the spool."""
        told = "Pages that could not be filed are left in %(path)s; the next crawl of this store files them"
        self._log(logging.WARNING, told, path=path)

    def replayed(self, filed: int, repeats: int, refused: int) -> None:
        """Count and log what became of the pages of the spool."""
        self._count("spool/filed", filed)
        self._count("spool/repeats", repeats)
        if filed or repeats or refused:
            told = (
                "Of the pages kept while the store was away %(filed)d are filed now, "
                "%(repeats)d repeat others, %(refused)d are refused by the store"
            )
            self._log(logging.INFO, told, filed=filed, repeats=repeats, refused=refused)

    def crashed(self, url: str, error: Exception) -> None:
        """Count a fault of ours, or of the user's own reader.

        The first of its kind is logged with its traceback.
        """
        self._count("errors")
        if self._is_news(type(error.__cause__ or error).__name__):
            logger.error(
                "Could not judge %(url)s, it is kept unchecked",
                {"url": url},
                exc_info=error,
                extra={"spider": self._spider},
            )

    def summarise(self) -> None:
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
            self._collector.count(name, by)

    def _log(self, level: int, told: str, **what: object) -> None:
        logger.log(level, told, *([what] if what else []), extra={"spider": self._spider})

    def _is_news(self, what: str) -> bool:
        news = what not in self._told
        self._told.add(what)
        return news


def described(verdict: Verdict) -> str:
    """Say in one line which page another one repeats, how, and who says so."""
    how = relation_text(verdict.relation, verdict.of) if verdict.relation else f"related to {verdict.of}"
    measured = "" if verdict.similarity is None else f" {similarity_text(verdict.similarity)}"
    return f"{verdict.url}: {how} ({verdict.detector}{measured})"
