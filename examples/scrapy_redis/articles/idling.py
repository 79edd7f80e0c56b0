"""Idle handling: when a worker ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import DontCloseSpider

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.utils.log import SpiderLoggerAdapter


class Patient:
    """Keeps a worker running while there may be requests; a mixin, before a spider of scrapy-redis in the bases.

    scrapy-redis counts idle seconds from the last start address on. An hour later a worker ends as soon as the
    queue is empty for a moment, although pages that other workers are fetching contain more links. It also ends
    at once if it cannot read start addresses from Redis, or cannot parse them.
    """

    logger: SpiderLoggerAdapter

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Create the spider, and reset the idle time at every response."""
        spider: Self = super().from_crawler(crawler, *args, **kwargs)  # type: ignore[misc]
        crawler.signals.connect(spider.note_work, signals.response_received)
        return spider

    def note_work(self) -> None:
        """Reset the idle time."""
        self.spider_idle_start_time = int(time.time())

    def spider_idle(self) -> None:
        """Take the next start addresses; on an error keep running, because later ones may be valid."""
        try:
            super().spider_idle()  # type: ignore[misc]
        except DontCloseSpider:
            raise
        except Exception as error:
            self.logger.warning("No start address could be taken: %(error)s", {"error": error})
            raise DontCloseSpider from error
