"""Makes workers of tests check for requests, and for idleness, every half second instead of every five."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.core.engine import ExecutionEngine

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Heartbeat:
    """Extension that shortens the idle interval of the engine."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Set the interval before the spider is opened."""
        ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.5
        return cls()
