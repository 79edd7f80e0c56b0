"""Writes down, for the report, what becomes of the pages of a crawl."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from dedupcrawl.crawl.threads import Threads
from dedupcrawl.errors import DedupError
from dedupcrawl.page import Page
from dedupcrawl.report.entry import Entry
from dedupcrawl.report.nearness import held_against
from dedupcrawl.report.note import Fate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.holds import Hold
    from dedupcrawl.crawl.options import Options
    from dedupcrawl.crawl.report_place import Place
    from dedupcrawl.crawl.scribe import Scribe
    from dedupcrawl.crawl.visits import Visit
    from dedupcrawl.report.nearness import Weigh
    from dedupcrawl.verdict import Verdict

logger = logging.getLogger(__name__)

MOST_WAITING = 4096  #: pages in memory; beyond them the crawl waits for the disk


class Collector:
    """Keeps the ledger of a crawl; does nothing without a place for it.

    A fault in it costs neither a page nor the crawl: it is logged once of a kind, and the report says so.
    """

    def __init__(self, crawler: Crawler | None = None, place: Place | None = None) -> None:
        self._crawler = crawler
        self._place = place
        self._scribe: Scribe | None = None
        self._weigh: Weigh
        self._least = 0.0
        self._told: set[str] = set()

    def open(self, options: Options, weigh: Weigh, counts: Mapping[str, int]) -> None:
        """Begin, or go on with, the ledger.

        Args:
            options: the settings in force.
            weigh: says what each detector thinks of two pages.
            counts: what was counted before.

        Raises :class:`~dedupcrawl.errors.DedupError` when there cannot be one.
        """
        if self._crawler is None or self._place is None:
            return
        from dedupcrawl.crawl.scribe import open_scribe  # noqa: PLC0415  # most crawls need no ledger

        self._weigh = weigh
        self._least = options.config.threshold / 2
        self._scribe = open_scribe(self._crawler, self._place, options, self._failed)
        self._place = self._scribe.place
        for name, by in counts.items():
            self.count(name, by)

    def count(self, name: str, by: int) -> None:
        """Add to a counter, named as the stat is without ``dedup/``."""
        if self._scribe is not None:
            self._scribe.writer.count(name, by)

    def judged(
        self,
        hold: Hold,
        subject: Page | Verdict | None,
        size: int,
        visit: Visit | None = None,
        *,
        is_dropped: bool,
    ) -> None:
        """Write down a verdict.

        Args:
            hold: with the verdict, and what the page was compared with.
            subject: the page as it was read, or why it was not.
            size: bytes.
            visit: where its items come from, if they share the verdict; it may be judged again.
            is_dropped: whether it goes no further.
        """
        met, hold.met = hold.met, None
        if self._scribe is None:
            return
        try:
            page = subject if isinstance(subject, Page) else None
            entry = Entry(
                url=hold.verdict.url,
                time=time.time(),
                verdict=hold.verdict,
                bytes=size,
                title=page.title if page else "",
                text=page.text if page else "",
                held=held_against(hold.verdict, *met, self._weigh, self._least) if met else (),
            )
            self._add(entry, hold, visit, Fate.DROPPED if is_dropped else Fate.OPEN)
        except Exception as error:  # noqa: BLE001  # no page is lost for the sake of the report
            self._failed(error)

    def ended(self, hold: Hold, fate: Fate) -> None:
        """Write down what became of a page; what was dropped stays so."""
        if self._scribe is not None and hold.note is not None and hold.note.fate is not Fate.DROPPED:
            self._scribe.writer.outcome(hold.note, fate)

    def saved(self, hold: Hold, requests: int) -> None:
        """Write down that requests were not made since a page was dropped."""
        if self._scribe is not None and hold.note is not None:
            self._scribe.writer.saved(hold.note, requests)

    async def close(self) -> None:
        """Write what is left and make the report, in a thread: others may crawl on."""
        scribe, self._scribe = self._scribe, None
        if scribe is None:
            return
        threads = Threads()
        try:
            await threads.run(partial(self._finish, scribe))
        finally:
            threads.close()

    def _add(self, entry: Entry, hold: Hold, visit: Visit | None, fate: Fate) -> None:
        assert self._scribe is not None
        writer = self._scribe.writer
        again = None if visit is None else visit.note
        if again is None:
            writer.count("bytes", entry.bytes)
        hold.note = writer.add(entry, fate, again=again)
        if visit is not None:
            visit.note = hold.note
        if writer.waiting >= MOST_WAITING:
            writer.flush()
        elif writer.is_due:
            self._scribe.hurry()

    def _finish(self, scribe: Scribe) -> None:
        try:
            scribe.close()
        except DedupError as error:
            self._failed(error)
        try:
            size = scribe.make_report()
        except Exception as error:  # noqa: BLE001  # the crawl itself went well
            told = "The report could not be made, `dedupcrawl report %(ledger)s` tries again: %(error)s"
            self._log(
                logging.ERROR, told, ledger=scribe.place.ledger, error=error, exc_info=_unexpected(error)
            )
        else:
            told = "Report: %(page)s (%(size).1f MB), made from %(ledger)s"
            self._log(logging.INFO, told, page=scribe.place.page, size=size / 1e6, ledger=scribe.place.ledger)

    def _failed(self, error: Exception) -> None:
        kind = type(error).__name__
        if kind in self._told:
            return
        self._told.add(kind)
        told = "The report will not be complete: %(error)s"
        self._log(logging.ERROR, told, error=error, exc_info=_unexpected(error))
        if self._scribe is not None:
            with suppress(Exception):
                self._scribe.writer.trouble(kind, f"The report is not complete: {error}")

    def _log(self, level: int, told: str, exc_info: BaseException | None = None, **what: object) -> None:
        spider = None if self._crawler is None else self._crawler.spider
        logger.log(level, told, what, exc_info=exc_info, extra={"spider": spider})


def _unexpected(error: Exception) -> Exception | None:
    return None if isinstance(error, DedupError) else error
