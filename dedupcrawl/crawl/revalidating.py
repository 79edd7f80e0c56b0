"""The middlewares that ask for known pages conditionally (``DEDUP_REVALIDATE``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse

from dedupcrawl.crawl.context import context_of
from dedupcrawl.crawl.validator_entry import PAGE_REQUEST

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedupcrawl.crawl.context import CrawlContext
    from dedupcrawl.crawl.revisits import KnownPage
    from dedupcrawl.crawl.validators import RevalidationManager

NOT_MODIFIED = 304


class RevalidatingDownloaderMiddleware:
    """Makes requests for known pages conditional, and handles the answer 304.

    The headers are removed from the request with the response: retries and redirects copy them.
    """

    def __init__(self, context: CrawlContext, revalidation: RevalidationManager) -> None:
        self._revalidation, self._stats = revalidation, context.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the context of the crawl; raises ``NotConfigured`` without ``DEDUP_REVALIDATE``."""
        return cls(*_revalidation_of(crawler))

    async def process_request(self, request: Request) -> None:
        """Add the headers of a conditional request."""
        try:
            page = await self._revalidation.find(request)
        except Exception as error:  # noqa: BLE001  # an error of ours must not lose a request
            self._stats.crashed(request.url, error)
            return
        if page is None:
            return
        self._revalidation.pages[request] = page
        if page.requests is not None and page.entry is not None:
            for name, value in page.entry.headers.items():
                request.headers[name] = value

    def process_response(self, request: Request, response: Response) -> Response | Request:
        """Return the response; one with status 304 gets a request whose callback makes the known requests again."""
        page = self._restored(request)
        if page is None or response.status != NOT_MODIFIED or page.requests is None:
            return response
        if not self._revalidation.is_trusted_now(page.site):  # a lie was found meanwhile
            return request.replace(dont_filter=True)
        self._revalidation.not_modified(page)
        request.meta["dont_cache"] = True  # a cache would serve the empty response as the page
        meta = {**request.meta, "handle_httpstatus_list": [NOT_MODIFIED]}
        known = {"requests": page.requests}
        following = request.replace(callback=follow, errback=None, cb_kwargs=known, meta=meta)
        return _without_body(response, following)

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002
        """Remove the headers from a request that failed: it may be sent again."""
        self._restored(request)

    def _restored(self, request: Request) -> KnownPage | None:
        """Remove our headers from a request; return what is known of its page."""
        page = self._revalidation.pages.get(request)
        if page is not None and page.requests is not None and page.entry is not None:
            for name in page.entry.headers:
                request.headers.pop(name, None)
        return page


class RevalidatingSpiderMiddleware:
    """Marks the requests that the spider makes, and notes those that it makes of a page."""

    def __init__(self, context: CrawlContext, revalidation: RevalidationManager) -> None:
        self._revalidation, self._responses = revalidation, context.responses

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the context of the crawl; raises ``NotConfigured`` without ``DEDUP_REVALIDATE``."""
        return cls(*_revalidation_of(crawler))

    def process_spider_input(self, response: Response) -> None:
        """Begin the state of a page that was downloaded."""
        page = None if response.request is None else self._revalidation.pages.get(response.request)
        if page is not None:
            self._responses.of(response).revisit = self._revalidation.visit(page, response)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on the output."""
        state = self._responses.find(response)
        revisit = None if state is None else state.revisit
        async for output in result:
            if isinstance(output, Request):
                if revisit is not None:
                    self._revalidation.request_made(revisit, output)
                output.meta[PAGE_REQUEST] = True
            yield output

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Mark the first requests."""
        async for output in start:
            if isinstance(output, Request):
                output.meta[PAGE_REQUEST] = True
            yield output


def _without_body(response: Response, request: Request) -> HtmlResponse:
    """Return an answer without a page as the empty HTML page that middlewares can read."""
    headers = response.headers.copy()
    for name in ("Content-Encoding", "Content-Length", "Content-Type"):
        headers.pop(name, None)
    return HtmlResponse(response.url, response.status, headers, flags=response.flags, request=request, encoding="utf-8")


def _revalidation_of(crawler: Crawler) -> tuple[CrawlContext, RevalidationManager]:
    context = context_of(crawler)
    if context.revalidation is None:
        raise NotConfigured
    return context, context.revalidation


def follow(response: Response, requests: Sequence[Request]) -> Iterator[Request]:  # noqa: ARG001
    """Make the requests of the last visit of a page again: the callback of a response with status 304."""
    yield from requests


def is_followed(response: Response) -> bool:
    """Whether a response has no page: its known requests are made again in place of its callback."""
    return response.status == NOT_MODIFIED and response.request is not None and response.request.callback is follow
