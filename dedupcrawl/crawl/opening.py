"""Opening the store of a crawl: at once where it is on this machine, else in a thread."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dedupcrawl.crawl.options import as_setting
from dedupcrawl.crawl.waiting import pause
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import SettingError, StoreUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from dedupcrawl.crawl.line import Line
    from dedupcrawl.crawl.options import Options
    from dedupcrawl.crawl.tally import Tally

STEP = 1.0  #: seconds before a store that cannot be opened is tried again


def open_now(options: Options) -> Deduplicator:
    """Open the store.

    Raises :class:`~dedupcrawl.errors.DedupError`; a constant that is not accepted is named as a setting.
    """
    try:
        return Deduplicator(options.store, options.namespace, config=options.config)
    except SettingError as error:
        raise as_setting(error) from None


async def open_patiently(
    opening: Callable[[], Deduplicator], line: Line, options: Options, tally: Tally, crawler: Crawler
) -> Deduplicator:
    """Open a store across a network; with ``DEDUP_ON_STORE_ERROR = "wait"`` wait until it answers.

    Raises :class:`~dedupcrawl.errors.DedupError`: a crawl that has not begun loses nothing by not beginning.
    """
    began = time.monotonic()
    patience = options.store_patience if options.on_store_error == "wait" else 0.0
    told = False
    while True:
        try:
            dedup = await line.run(opening)
        except StoreUnreachableError as error:
            if time.monotonic() - began + STEP > patience or not crawler.crawling:
                raise
            if not told:
                tally.store_left(error)
            told = True
            await pause(STEP)
        else:
            if told:
                tally.store_returned(time.monotonic() - began, 0)
            return dedup
