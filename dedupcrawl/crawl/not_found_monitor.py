"""Finds out what hosts send for pages that do not exist, with one request to each, and recognises such pages."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from dedupcrawl.crawl.concurrency import BackgroundTaskGroup
from dedupcrawl.crawl.recent_table import RecentTable
from dedupcrawl.crawl.responses import SKIP, read_page_of
from dedupcrawl.errors import StoreError
from dedupcrawl.foresee.soft_404 import NotFoundPages, impossible_url
from dedupcrawl.page import Page
from dedupcrawl.stores.base import Record

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.crawl.store_client import StoreClient
    from dedupcrawl.page import ReadOptions

logger = logging.getLogger(__name__)

MAX_URLS = 10_000  #: of pages that were not found, until their verdicts are known
#: The probe is no page of the crawl, and its first answer counts. It passes the downloader middlewares and the slot of
#: its host: ``robots.txt``, delays and proxies apply.
PROBE_META = {SKIP: True, "dont_redirect": True, "dont_retry": True, "handle_httpstatus_all": True}


class NotFoundMonitor:
    """Probes hosts, and recognises what they send for pages that do not exist.

    Args:
        crawler: sends the probes.
        client: of the store.
        options: how pages are read.
        stats: count probes.
    """

    def __init__(self, crawler: Crawler, client: StoreClient, options: ReadOptions, stats: CrawlStats) -> None:
        self._crawler, self._client, self._options, self._stats = crawler, client, options, stats
        self._pages: NotFoundPages | None = None
        self._found = RecentTable[str, bool](MAX_URLS)
        self._background = BackgroundTaskGroup()

    def page_judged(self, url: str) -> None:
        """Probe the host of a page, once. The page is filed by now, so that a host that sends it is recognised."""
        if self._client.is_open and self._known().begin_probe(url):
            self._background.start(self._probe(url))

    def matches(self, page: Page) -> bool:
        """Whether a page is what its host sends for pages that do not exist."""
        is_found = self._pages is not None and self.knows(page.url) and self._pages.matches(page)
        if is_found:
            self._found[page.url] = True
        return is_found

    def knows(self, url: str) -> bool:
        """Whether pages of the host of a URL can be recognised; its front page never is."""
        return self._pages is not None and urlsplit(url).path not in ("", "/") and self._pages.knows(url)

    def has_matched(self, url: str) -> bool:
        """Whether the page of a URL was such a page."""
        return bool(self._found.get(url))

    def _known(self) -> NotFoundPages:
        if self._pages is None:
            self._pages = NotFoundPages(self._client.dedup)
        return self._pages

    async def _probe(self, url: str) -> None:
        engine = self._crawler.engine
        if engine is None or engine.spider is None:
            return
        self._stats.count("soft_404_probes")
        request = Request(impossible_url(url), callback=NO_CALLBACK, meta=dict(PROBE_META), dont_filter=True)
        try:
            await self._learn(await engine.download_async(request))
        except (StoreError, IgnoreRequest):
            return
        except Exception as error:  # noqa: BLE001  # without an answer nothing is recognised
            logger.debug("The probe %(url)s failed: %(error)s", {"url": request.url, "error": error})

    async def _learn(self, response: Response) -> None:
        page = read_page_of(response.replace(request=None), self._options) if response.status == 200 else None
        signature = self._known().signature(page) if isinstance(page, Page) else None
        if signature is not None:
            stored = (
                await self._client.call(self._client.dedup.candidates, signature)
                if isinstance(signature, Record)
                else ()
            )
            self._known().learn(response.url, signature, stored)
