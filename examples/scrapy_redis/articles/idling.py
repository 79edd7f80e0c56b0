"""When a worker has been idle for long enough to end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import DontCloseSpider

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.utils.log import SpiderLoggerAdapter


class Patient:
    """Lets a worker stay as long as there may be work; stands before a spider of scrapy-redis in the bases.

    By itself scrapy-redis counts idle seconds from the last start address on: an hour later a worker ends as
    soon as the queue is empty for a moment, although pages that others are fetching hold more links. And it
    ends at once when it cannot ask Redis for start addresses, or cannot read what it finds there.
    """

    logger: SpiderLoggerAdapter

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Listen to what the crawl fetches."""
        spider: Self = super().from_crawler(crawler, *args, **kwargs)  # type: ignore[misc]
        crawler.signals.connect(spider.note_work, signals.response_received)
        return spider

    def note_work(self) -> None:
        """Begin to count anew."""
        self.spider_idle_start_time = int(time.time())

    def spider_idle(self) -> None:
        """Take the next start addresses; stay if that fails, for the next may be better."""
        try:
            super().spider_idle()  # type: ignore[misc]
        except DontCloseSpider:
            raise
        except Exception as error:
            self.logger.warning("No start address could be taken: %(error)s", {"error": error})
            raise DontCloseSpider from error
