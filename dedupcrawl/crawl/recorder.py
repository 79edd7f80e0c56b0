"""Records the verdicts and outcomes of pages in the ledger, from which the report is made."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from dedupcrawl.config import CONFIG_FIELDS, settings_json
from dedupcrawl.crawl.concurrency import ThreadPool
from dedupcrawl.crawl.items import PageRecorder
from dedupcrawl.crawl.signals import dedup_outcome, dedup_verdict
from dedupcrawl.errors import DedupError, SettingError, package_version
from dedupcrawl.ledger.ledger_schema import Entry, Outcome, select_comparisons
from dedupcrawl.page import Page
from dedupcrawl.sites.text_notes import compared_notes
from dedupcrawl.utils.redaction import hide_password

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.items import ItemClaim, ResponseState
    from dedupcrawl.crawl.settings import Options, ReportOptions
    from dedupcrawl.decision import Verdict
    from dedupcrawl.ledger.ledger_appender import LedgerFileWriter
    from dedupcrawl.ledger.ledger_schema import Compare, RuleRow
    from dedupcrawl.sites.site_memory import SiteTracker

logger = logging.getLogger(__name__)

MAX_WAITING = 4096  #: pages in memory; beyond that the crawl waits until they are written
FLUSH_INTERVAL = 2.0  #: seconds; a killed process loses at most the pages of this time
_NOT_DECISIVE = ("lease", "wait", "ttl")  #: constants that do not influence a verdict


class LedgerRecorder(PageRecorder):
    """Writes the ledger of a crawl, from :meth:`open` to :meth:`close`.

    An error loses no page and does not end the crawl: it is logged once of each type, and the report
    states that it is not complete.

    Args:
        crawler: whose pages are recorded.
        paths: of the report.
    """

    def __init__(self, crawler: Crawler, paths: ReportOptions) -> None:
        self._crawler = crawler
        self._paths = paths
        self._writer: LedgerWriter | None = None
        self._compare: Compare
        self._memory: SiteTracker | None = None
        self._least = 0.0
        self._logged: set[str] = set()

    def open(
        self, options: Options, compare: Compare, counts: Mapping[str, int], memory: SiteTracker | None = None
    ) -> None:
        """Open a new ledger, or that of the crawl that is resumed."""
        self._memory = memory
        self._compare = compare
        self._least = options.config.threshold / 2
        self._writer = open_ledger(self._crawler, self._paths, options, self._failed)
        for name, by in counts.items():
            self.count(name, by)

    def count(self, name: str, by: int) -> None:
        """Add to a counter of the ledger."""
        if self._writer is not None:
            self._writer.ledger.count(name, by)

    def record_verdict(
        self, claim: ItemClaim, subject: Page | Verdict | None, size: int, response: ResponseState | None = None
    ) -> None:
        """Add an entry to the ledger."""
        if self._writer is None:
            return
        try:
            page = subject if isinstance(subject, Page) else None
            entry = Entry(
                url=claim.verdict.url,
                time=time.time(),
                verdict=claim.verdict,
                bytes=size,
                title=page.title if page else "",
                text=page.as_compared().text if page else "",
                notes=self._notes(page, claim) if page else (),
                comparisons=select_comparisons(claim.verdict, *claim.comparison, self._compare, self._least)
                if claim.comparison
                else (),
            )
            self._add(self._writer, entry, claim, response)
        except Exception as error:  # noqa: BLE001  # an error in the report must not lose a page
            self._failed(error)

    def _notes(self, page: Page, claim: ItemClaim) -> tuple[str, ...]:
        filed = claim.claim.record if claim.claim else None
        record = claim.comparison.record if claim.comparison else filed
        view = record.context.view if record and record.context else None
        is_shortened = self._memory is not None and view is not None and (view.own is not None or view.is_template)
        repeated = self._memory.repeated(page) if is_shortened and self._memory else ()
        return tuple(compared_notes(page, view, repeated))

    def record_state(self, claim: ItemClaim) -> None:
        """Change the entry of a page that was not dropped."""
        if self._writer is not None and claim.entry is not None and claim.entry.outcome is not Outcome.DROPPED:
            self._writer.ledger.set_outcome(claim.entry, claim.state.outcome)

    def record_saved_requests(self, claim: ItemClaim, requests: int) -> None:
        """Add to the entry of a dropped page how many requests it saved."""
        if self._writer is not None and claim.entry is not None:
            self._writer.ledger.add_saved_requests(claim.entry, requests)

    def record_rule(self, rule: RuleRow) -> None:
        """Add a rule to the ledger."""
        if self._writer is not None:
            self._writer.ledger.set_rule(rule)

    async def close(self) -> None:
        """Write the rest of the ledger and make the report, in a thread: other crawls may go on."""
        writer, self._writer = self._writer, None
        if writer is None:
            return
        threads = ThreadPool()
        try:
            await threads.run(partial(self._finish, writer))
        finally:
            threads.close()

    def _add(self, writer: LedgerWriter, entry: Entry, claim: ItemClaim, response: ResponseState | None) -> None:
        ledger = writer.ledger
        again = None if response is None else response.entry
        if again is None:
            ledger.count("bytes", entry.bytes)
        claim.entry = ledger.add(entry, claim.state.outcome, again=again)
        if response is not None:
            response.entry = claim.entry
        if ledger.pending >= MAX_WAITING:
            ledger.flush()
        elif ledger.is_due:
            writer.wake()

    def _finish(self, writer: LedgerWriter) -> None:
        paths = writer.paths
        try:
            writer.close()
        except Exception as error:  # noqa: BLE001  # the crawl itself succeeded
            self._failed(error)
        try:
            size = writer.make_report()
        except Exception as error:  # noqa: BLE001  # the same
            message = "The report could not be made, `dedupcrawl report %(ledger)s` tries again: %(error)s"
            self._log(logging.ERROR, message, ledger=paths.ledger, error=error, exc_info=_unexpected(error))
        else:
            message = "Report: %(page)s (%(size).1f MB), made from %(ledger)s"
            self._log(logging.INFO, message, page=paths.page, size=size / 1e6, ledger=paths.ledger)

    def _failed(self, error: Exception, writer: LedgerWriter | None = None) -> None:
        """Log an error, and note it in the ledger of this writer; a crawl that ends has none any more."""
        kind = type(error).__name__
        if kind in self._logged:
            return
        self._logged.add(kind)
        message = "The report will not be complete: %(error)s"
        self._log(logging.ERROR, message, error=error, exc_info=_unexpected(error))
        writer = writer or self._writer
        if writer is not None:
            with suppress(Exception):
                writer.ledger.add_problem(kind, f"The report is not complete: {error}")

    def _log(self, level: int, message: str, exc_info: BaseException | None = None, **what: object) -> None:
        logger.log(level, message, what, exc_info=exc_info, extra={"spider": self._crawler.spider})


def _unexpected(error: Exception) -> Exception | None:
    return None if isinstance(error, DedupError) else error


class SignallingRecorder(PageRecorder):
    """Sends the signals of :mod:`dedupcrawl.crawl.signals`, and passes everything on to another recorder.

    Args:
        crawler: whose signals are sent.
        recorder: of the ledger, if there is one.
    """

    def __init__(self, crawler: Crawler, recorder: PageRecorder) -> None:
        self._crawler = crawler
        self._recorder = recorder
        self.open, self.count, self.close = recorder.open, recorder.count, recorder.close  # type: ignore[method-assign]
        self.record_saved_requests = recorder.record_saved_requests  # type: ignore[method-assign]
        self.record_rule = recorder.record_rule  # type: ignore[method-assign]

    def record_verdict(
        self, claim: ItemClaim, subject: Page | Verdict | None, size: int, response: ResponseState | None = None
    ) -> None:
        """Record a page, and send its verdict."""
        self._recorder.record_verdict(claim, subject, size, response)
        canonical = subject.canonical if isinstance(subject, Page) else ""
        self._send(dedup_verdict, verdict=claim.verdict, size=size, canonical=canonical)

    def record_state(self, claim: ItemClaim) -> None:
        """Record the state of a page, and send its outcome."""
        self._recorder.record_state(claim)
        self._send(dedup_outcome, verdict=claim.verdict, outcome=str(claim.state.outcome))

    def _send(self, signal: object, **arguments: object) -> None:
        self._crawler.signals.send_catch_log(signal, spider=self._crawler.spider, **arguments)


class LedgerWriter:
    """A thread that writes a ledger, and makes the report at the end.

    Args:
        paths: of the report.
        ledger: must not flush by itself.
        failed: called with each error and this writer, in the thread.
    """

    def __init__(
        self, paths: ReportOptions, ledger: LedgerFileWriter, failed: Callable[[Exception, LedgerWriter], None]
    ) -> None:
        self.paths = paths
        self.ledger = ledger
        self._failed = failed
        self._is_closed = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dedupcrawl-report", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Flush the ledger now."""
        self._wake.set()

    def close(self) -> None:
        """Write the remaining entries and the end of the run; raises ``DedupError``."""
        self._is_closed = True
        self._wake.set()
        self._thread.join()
        self.ledger.close()

    def make_report(self) -> int:
        """Write the report; return its size in bytes."""
        from dedupcrawl.tools.report.from_ledgers import report_from_ledgers  # noqa: PLC0415  # heavy, and needed at the end alone
        from dedupcrawl.tools.report.html_report import save_report  # noqa: PLC0415

        return save_report(report_from_ledgers([self.paths.ledger]), self.paths.page)

    def _run(self) -> None:
        while not self._is_closed:
            self._wake.wait(FLUSH_INTERVAL)
            self._wake.clear()
            try:
                self.ledger.flush()
            except Exception as error:  # noqa: BLE001  # writing the next pages may succeed
                self._failed(error, self)


def open_ledger(
    crawler: Crawler, paths: ReportOptions, options: Options, failed: Callable[[Exception, LedgerWriter], None]
) -> LedgerWriter:
    """Open the ledger and start its writer.

    Raises ``DedupError`` when the ledger cannot be written, or one of the files belongs to another program.
    """
    from dedupcrawl.ledger.ledger import Ledger  # noqa: PLC0415  # most crawls need no ledger
    from dedupcrawl.tools.report.html_bundle import require_report_or_nothing  # noqa: PLC0415  # the same

    paths = paths.resumed(crawler.settings["JOBDIR"])
    about = {
        "title": f"Crawl of the spider {(crawler.spider or crawler.spidercls).name}",
        "kind": "crawl",
        "version": package_version(),
        "settings": settings_text(options),
        "job": paths.job,
    }
    try:
        require_report_or_nothing(paths.page)
        ledger = Ledger.create(paths.ledger, about, resume=paths.resumes)
    except DedupError as error:
        raise SettingError("DEDUP_REPORT", paths.template, f"another path, for {error}") from None
    ledger.auto_flush = False
    return LedgerWriter(paths, ledger, failed)


def settings_text(options: Options) -> dict[str, str]:
    """Return the settings that influence verdicts, as JSON by name, without passwords."""
    config = options.config
    values: dict[str, object] = {
        "store": hide_password(options.store),
        "namespace": options.namespace,
        "action": "drop" if options.drops else "tag",
        "item_fields": options.item_fields,
        "follow_duplicates": options.follow_duplicates,
    }
    values |= {name: getattr(config, name) for name in CONFIG_FIELDS if name not in _NOT_DECISIVE}
    values["drop"] = sorted(config.drop)
    return settings_json(values)
