"""One middleware links items to their responses, the other withholds known duplicates from the spider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self
from weakref import ref

from scrapy import Request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK

from dedupcrawl.crawl.context import context_of
from dedupcrawl.crawl.items import CURRENT_RESPONSE, PageState
from dedupcrawl.crawl.responses import SKIP
from dedupcrawl.crawl.stats import describe
from dedupcrawl.page import Page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedupcrawl.crawl.context import CrawlContext


class DedupDownloaderMiddleware:
    """In use with ``DEDUP_FOLLOW_DUPLICATES = False`` only.

    Otherwise a page is read when its first item comes: most responses of a crawl are lists that
    yield no item, and reading them would be in vain.
    """

    def __init__(self, context: CrawlContext) -> None:
        self._context = context

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the context of the crawl; raises ``NotConfigured`` where duplicates are followed."""
        context = context_of(crawler)
        if context.options.follow_duplicates:
            raise NotConfigured
        return cls(context)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return the response unless its content is known."""
        # Its request is not the response's yet.
        if request.callback is NO_CALLBACK or request.meta.get(SKIP):
            return response
        page = self._context.read(response)
        if not isinstance(page, Page):
            return response
        claim = await self._context.claims.check(page)
        verdict, size = claim.verdict, len(response.body)
        if verdict.keep:
            return response
        claim.advance(PageState.DROPPED)
        self._context.stats.judged(verdict)
        self._context.stats.withheld(verdict, size)
        self._context.recorder.record_verdict(claim, page, size)
        raise IgnoreRequest(describe(verdict))


class DedupSpiderMiddleware:
    """Links items to their responses.

    It stands next to the engine, so that it sees items as the pipelines will.
    """

    def __init__(self, context: CrawlContext) -> None:
        self._responses = context.responses
        self._claims = context.claims

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the context of the crawl."""
        return cls(context_of(crawler))

    def process_spider_input(self, response: Response) -> None:
        """Name the response to whatever runs in this context from here on."""
        CURRENT_RESPONSE.set(ref(response))

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Register each item with its response, and note the end of the output."""
        add_item = self._responses.add_item
        try:
            async for output in result:
                if not isinstance(output, Request) and output is not None:
                    add_item(output, response)
                yield output
        except Exception:
            await self._end(response)
            raise
        await self._end(response)

    async def _end(self, response: Response) -> None:
        state = self._responses.find(response)
        if state is None:
            return
        state.output_ended.set()
        if state.valid_claim is not None:
            await self._claims.settle([state.valid_claim])
