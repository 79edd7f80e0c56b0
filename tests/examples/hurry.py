"""Makes workers of tests look for work, and for an end, more often than every five seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.core.engine import ExecutionEngine

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Heartbeat:
    """An extension that quickens the engine of its process."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Do it before the spider is opened."""
        ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.5
        return cls()
