"""Writes the ledger of a crawl in a thread of its own, and makes the report of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dedupcrawl.config import CONFIG_FIELDS
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.formatting import hide_password
from dedupcrawl.report.ledger import Ledger
from dedupcrawl.report.saving import refuse_foreign, save
from dedupcrawl.settings_text import settings_json
from dedupcrawl.version import our_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.options import Options
    from dedupcrawl.crawl.report_place import Place
    from dedupcrawl.report.writing import Writer

MOMENT = 2.0  #: seconds that pages wait at most to be written: a killed process loses no more
_BESIDE = ("lease", "wait", "ttl")  #: constants that decide no verdict


class Scribe:
    """A thread that writes what waits.

    Args:
        place: of the report.
        writer: of the ledger, which leaves it to us when to write.
        failed: told of what goes wrong, in that thread.
    """

    def __init__(self, place: Place, writer: Writer, failed: Callable[[Exception], None]) -> None:
        self.place = place
        self.writer = writer
        self._failed = failed
        self._is_over = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dedupcrawl-report", daemon=True)
        self._thread.start()

    def hurry(self) -> None:
        """Write now."""
        self._wake.set()

    def close(self) -> None:
        """Write the rest and the end of the run; raises :class:`~dedupcrawl.errors.DedupError`."""
        self._is_over = True
        self._wake.set()
        self._thread.join()
        self.writer.close()

    def make_report(self) -> int:
        """Make the page; return how many bytes it has."""
        from dedupcrawl.report.gather import gather  # noqa: PLC0415  # heavy, and needed at the end alone

        return save(gather([self.place.ledger]), self.place.page)

    def _run(self) -> None:
        while not self._is_over:
            self._wake.wait(MOMENT)
            self._wake.clear()
            try:
                self.writer.flush()
            except Exception as error:  # noqa: BLE001  # the next pages may be written again
                self._failed(error)


def open_scribe(
    crawler: Crawler, place: Place, options: Options, failed: Callable[[Exception], None]
) -> Scribe:
    """Open the ledger and begin to write.

    Raises :class:`~dedupcrawl.errors.DedupError` when it cannot be written, or is not ours to overwrite.
    """
    place = place.resumed(crawler.settings["JOBDIR"])
    name = (crawler.spider or crawler.spidercls).name
    about = {
        "title": f"Crawl of the spider {name}",
        "kind": "crawl",
        "version": our_version(),
        "settings": told(options),
        "job": place.job,
    }
    try:
        refuse_foreign(place.page)
        writer = Ledger.create(place.ledger, about, resume=place.resumes)
    except DedupError as error:
        raise SettingError("DEDUP_REPORT", place.template, f"another path, for {error}") from None
    writer.flushes = False
    return Scribe(place, writer, failed)


def told(options: Options) -> dict[str, str]:
    """Name the settings that decide what becomes of pages, as one would write them; no password is shown."""
    config = options.config
    values: dict[str, object] = {
        "store": hide_password(options.store),
        "namespace": options.namespace,
        "action": "drop" if options.drops else "tag",
        "item_fields": options.item_fields,
        "follow_duplicates": options.follow_duplicates,
    }
    values |= {name: getattr(config, name) for name in CONFIG_FIELDS if name not in _BESIDE}
    values["drop"] = sorted(config.drop)
    return settings_json(values)
