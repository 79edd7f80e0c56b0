"""The middlewares that postpone or skip requests whose pages are foreseen to be copies (``DEDUP_FORESEE``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy import Request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import TextResponse

from dedupcrawl.crawl.context import context_of
from dedupcrawl.crawl.foreseen_requests import FOUND_ON_PROBE, LATE, OWN_KEYS, POSTPONED, THROUGH, RequestOutcome
from dedupcrawl.crawl.foresight_manager import LAST_PRIORITY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedupcrawl.crawl.context import CrawlContext
    from dedupcrawl.crawl.foreseen_requests import Probed

_GONE = (404, 410)  #: statuses of pages that nobody needs to request again


class SkippedPage(IgnoreRequest):
    """The request was not sent: by the rules of its site, its page is a copy of one that was downloaded."""


class ForeseeingDownloaderMiddleware:
    """Asks about each request whether its page is a copy; observes, postpones or skips it then."""

    def __init__(self, context: CrawlContext) -> None:
        self._foresight, self._stats = context.foresight, context.stats
        self._changes_crawl = context.options.changes_crawl

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the context of the crawl; raises ``NotConfigured`` if nothing is foreseen."""
        context = context_of(crawler)
        if not context.options.foresee or context.options.item_fields:
            raise NotConfigured
        return cls(context)

    async def process_request(self, request: Request) -> Request | None:
        """Return None to send a request, or a postponed one; raises :class:`SkippedPage` to skip it."""
        try:
            fate = await self._foresight.decide(request)
        except Exception as error:  # noqa: BLE001  # an error of ours must not lose a request
            self._stats.crashed(request.url, error)
            return None
        if fate is RequestOutcome.SKIPPED:
            raise SkippedPage("its page is foreseen to be a copy")
        if fate is RequestOutcome.POSTPONED:
            lateness = self._foresight.lateness(request)
            turn = int(request.meta.get(POSTPONED, 0))
            meta = {**request.meta, POSTPONED: turn + 1, **({LATE: True} if lateness else {})}
            return request.replace(priority=LAST_PRIORITY - 10 * lateness - turn, dont_filter=True, meta=meta)
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        """Forget a request whose page will not be judged."""
        if response.status in _GONE:
            self._foresight.answered(request.url)
            self._foresight.page_without_items(request.url)
        elif response.status != 200:
            self._foresight.forget(request.url)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002
        """Forget a request that failed; one that was sent again remains stored."""
        self._foresight.forget(request.url)


class ForeseeingSpiderMiddleware:
    """Notes pages without items, and the requests that only copies lead to."""

    def __init__(self, context: CrawlContext) -> None:
        self._foresight, self._stats = context.foresight, context.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the context of the crawl; raises ``NotConfigured`` if the crawl is only observed."""
        context = context_of(crawler)
        if not context.options.changes_crawl:
            raise NotConfigured
        return cls(context)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on the output."""
        audited, probed = self._foresight.probed_by(response.url)
        has_items = False
        if isinstance(response, TextResponse):
            self._foresight.answered(response.url)
        try:
            async for output in result:
                if isinstance(output, Request):
                    _mark(output, audited, probed)
                    self._foresight.mark(output, response.url)
                else:
                    has_items = True
                yield output
        except Exception:
            self._foresight.forget(response.url)  # nothing waits for a page whose callback has failed
            raise
        if not has_items:
            self._foresight.page_without_items(response.url)


def _mark(request: Request, audited: Probed, probed: Probed) -> None:
    """Note in a request by which rules the page was foreseen that it is from; spiders copy ``Response.meta``."""
    for key in OWN_KEYS:
        request.meta.pop(key, None)
    if audited:
        request.meta[THROUGH] = [*audited]
    if probed:
        request.meta[FOUND_ON_PROBE] = [*probed]
