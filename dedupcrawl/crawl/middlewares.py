"""The middlewares: they correct encodings, link items to their responses, and keep duplicates from the spider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self
from weakref import ref

from scrapy import Request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import TextResponse
from scrapy.http.request import NO_CALLBACK

from dedupcrawl.crawl.context import context_of
from dedupcrawl.crawl.items import CURRENT_RESPONSE, PageState
from dedupcrawl.crawl.page_view import META_KEY, drop_view
from dedupcrawl.crawl.responses import SKIP
from dedupcrawl.crawl.stats import describe
from dedupcrawl.page import Page
from dedupcrawl.page.document import replacement_encoding

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedupcrawl.crawl.context import CrawlContext


class DedupDownloaderMiddleware:
    """Withholds known pages from the spider, if ``DEDUP_FOLLOW_DUPLICATES`` is False.

    By default a page is read when its first item arrives: most responses are lists of links without items,
    which need not be read.
    """

    def __init__(self, context: CrawlContext) -> None:
        self._context = context

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the context of the crawl; raises ``NotConfigured`` if duplicates are followed."""
        context = context_of(crawler)
        if context.options.follow_duplicates:
            raise NotConfigured
        return cls(context)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return the response; raises ``IgnoreRequest`` if the store knows its content."""
        # The request is checked here since ``response.request`` is not set yet.
        if request.callback is NO_CALLBACK or request.meta.get(SKIP):
            return response
        page = self._context.reader.read(response)
        if not isinstance(page, Page):
            return response
        claim = await self._context.claims.check(page)
        verdict, size = claim.verdict, len(response.body)
        if verdict.keep:
            return response
        self._context.stats.outcomes.add(claim)
        claim.advance(PageState.DROPPED)
        self._context.stats.judged(verdict)
        self._context.stats.count("withheld")
        self._context.stats.dropped(verdict, size)
        self._context.recorder.record_verdict(claim, page, size)
        raise IgnoreRequest(describe(verdict))


class DedupSpiderMiddleware:
    """Links items to their responses.

    It is next to the engine, and so receives each item as the pipelines will.
    """

    def __init__(self, context: CrawlContext) -> None:
        self._responses = context.responses
        self._reader = context.reader if context.options.shows_pages else None
        self._claims = context.claims

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the context of the crawl."""
        return cls(context_of(crawler))

    def process_spider_input(self, response: Response) -> None:
        """Store the response in the current context, and what is known of its page in its meta if that is wanted."""
        CURRENT_RESPONSE.set(ref(response))
        if self._reader is not None:
            response.meta[META_KEY] = self._reader.view(response)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Register the response of each item; mark the end of the output."""
        add_item = self._responses.add_item
        try:
            async for output in result:
                if isinstance(output, Request):
                    if self._reader is not None:
                        drop_view(output, response)
                elif output is not None:
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


class EncodingMiddleware:
    """Replaces labels such as ``charset=idna`` or ``charset=hex``, codecs of Python that are no encodings of pages.

    ``response.text`` raises an exception for them. Scrapy's ``MetaRefreshMiddleware`` reads it, so the page would be
    lost before a spider sees it. This middleware runs just before that one, after decompression.
    """

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002
        """Return the response, or the same with a usable encoding."""
        if not isinstance(response, TextResponse):
            return response
        header = (response.headers.get("Content-Type") or b"").decode("latin-1")
        encoding = replacement_encoding(response.body, header)
        return response.replace(encoding=encoding) if encoding else response
