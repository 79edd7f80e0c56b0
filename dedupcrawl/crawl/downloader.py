"""The downloader middleware: keeps known duplicates from the spider, when that is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK

from dedupcrawl.crawl.reading import SKIP
from dedupcrawl.crawl.session import session_of
from dedupcrawl.crawl.tally import described
from dedupcrawl.page import Page

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedupcrawl.crawl.session import Session


class DedupDownloaderMiddleware:
    """In use with ``DEDUP_FOLLOW_DUPLICATES = False`` only.

    Otherwise a page is read when its first item comes: most responses of a crawl are lists that
    yield no item, and reading them would be in vain.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Join the crawl's session, or stay out of the way."""
        session = session_of(crawler)
        if session.options.follow_duplicates:
            raise NotConfigured
        return cls(session)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Hand the response on unless its content is known."""
        # Its request is not the response's yet.
        if request.callback is NO_CALLBACK or request.meta.get(SKIP):
            return response
        page = self._session.read(response)
        if not isinstance(page, Page):
            return response
        hold = await self._session.desk.look(page)
        verdict, size = hold.verdict, len(response.body)
        if verdict.keep:
            return response
        self._session.tally.judged(verdict)
        self._session.tally.withheld(verdict, size)
        self._session.collector.judged(hold, page, size, is_dropped=True)
        raise IgnoreRequest(described(verdict))
