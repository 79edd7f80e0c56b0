"""The spider middleware: tells the pipeline which response an item came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self
from weakref import ref

from scrapy import Request

from dedupcrawl.crawl.session import session_of
from dedupcrawl.crawl.visits import CURRENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedupcrawl.crawl.session import Session


class DedupSpiderMiddleware:
    """Stands next to the engine, so that it sees items as the pipelines will."""

    def __init__(self, session: Session) -> None:
        self._visits = session.visits
        self._desk = session.desk

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Join the crawl's session."""
        return cls(session_of(crawler))

    def process_spider_input(self, response: Response) -> None:
        """Name the response to whatever runs in this context from here on."""
        CURRENT.set(ref(response))

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Note each item's source, and the end of the output."""
        yielded = self._visits.yielded
        try:
            async for output in result:
                if not isinstance(output, Request) and output is not None:
                    yielded(output, response)
                yield output
        except Exception:
            await self._end(response)
            raise
        await self._end(response)

    async def _end(self, response: Response) -> None:
        visit = self._visits.find(response)
        if visit is None:
            return
        visit.exhausted = True
        if visit.hold is not None:
            await self._desk.settle([visit.hold])
