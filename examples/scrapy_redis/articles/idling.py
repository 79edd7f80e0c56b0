"""When a worker has been idle for long enough to end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Patient:
    """Counts idle seconds from the last answer on; stands before a spider of scrapy-redis among the bases.

    By itself scrapy-redis counts them from the last start address on: an hour later a worker would end as soon
    as the queue is empty for a moment, although the pages that others are fetching hold more links.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Listen to what the crawl fetches."""
        spider: Self = super().from_crawler(crawler, *args, **kwargs)  # type: ignore[misc]
        crawler.signals.connect(spider.note_work, signals.response_received)
        return spider

    def note_work(self) -> None:
        """Begin to count anew."""
        self.spider_idle_start_time = int(time.time())
