"""Finds out what hosts send for pages that do not exist, with one request to each, and recognises such pages."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from dedupcrawl.crawl.concurrency import BackgroundTaskGroup
from dedupcrawl.crawl.items import ItemClaim, PageState
from dedupcrawl.crawl.recent_table import RecentTable
from dedupcrawl.crawl.responses import SKIP, read_page_of
from dedupcrawl.decision import unchecked
from dedupcrawl.errors import StoreError
from dedupcrawl.foresee.soft_404 import SOFT_404, NotFoundPages, Signature, impossible_url
from dedupcrawl.page import Page
from dedupcrawl.sites.registrable_domain import host_of
from dedupcrawl.stores.base import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedupcrawl.crawl.claims import ClaimManager
    from dedupcrawl.crawl.items import ResponseState
    from dedupcrawl.crawl.settings import Options
    from dedupcrawl.crawl.stats import CrawlStats
    from dedupcrawl.crawl.store_client import StoreClient
    from dedupcrawl.stores.base import Candidate

logger = logging.getLogger(__name__)

MAX_URLS = 10_000  #: of pages that were not found, until their verdicts are known
#: The probe is no page of the crawl, and its first answer counts. It passes the downloader middlewares and the slot of
#: its host: ``robots.txt``, delays and proxies apply.
PROBE_META = {SKIP: True, "dont_redirect": True, "dont_retry": True, "handle_httpstatus_all": True}

_STORED = (PageState.SCRAPED, PageState.COMMITTED)


class _FirstPage(NamedTuple):
    """The page of a host that was kept although it is not found."""

    claim: ItemClaim
    signature: Signature


class NotFoundMonitor:
    """Probes hosts, and recognises what they send for pages that do not exist.

    Args:
        crawler: sends the probes.
        client: of the store.
        claims: find out whether a page is stored.
        options: how pages are read, and which are dropped.
        stats: count probes.
    """

    def __init__(
        self, crawler: Crawler, client: StoreClient, claims: ClaimManager, options: Options, stats: CrawlStats
    ) -> None:
        self._crawler, self._client, self._claims = crawler, client, claims
        self._options, self._stats = options, stats
        self._pages: NotFoundPages | None = None
        self._first: dict[str, _FirstPage] = {}  # by host: a page that is not found, and kept
        self._found = RecentTable[str, bool](MAX_URLS)
        self._background = BackgroundTaskGroup()

    def page_judged(self, url: str) -> None:
        """Probe the host of a page, once. The page is filed by now, so that a host that sends it is recognised."""
        if self._client.is_open and self._known().begin_probe(url):
            self._background.start(self._probe(url))

    async def claim(self, page: Page, state: ResponseState) -> ItemClaim | None:
        """Return the claim of a page that is not found; None: it is judged as any other.

        Nothing is filed. The first such page of a host is kept, and copies of it are dropped once its item is stored.
        If the same page is in the store, such as the front page, this one is a copy as any other.
        """
        if self._known().compare(page) is None:
            return None
        self._found[page.url] = True
        checked = await self._claims.check(page)
        if not checked.verdict.keep:
            return None
        host = host_of(page.url)
        first = self._first.get(host)
        if first is not None and first.claim.state in _STORED:
            verdict = self._known().compare_with(first.signature, page)  # two pages that resemble it may differ
            if verdict is not None:
                kept = first.claim.verdict.url
                drops = verdict.relation in self._options.config.drop
                return ItemClaim(replace(verdict, keep=not drops, of=kept, cluster=kept), state)
        claim, signature = ItemClaim(unchecked(page.url, SOFT_404), state), self._known().signature(page)
        is_needed = first is None or first.claim.state not in (PageState.OPEN, *_STORED)
        if is_needed and signature is not None:
            self._first[host] = _FirstPage(claim, signature)
        return claim

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
        if response.status != 200:
            return
        page = read_page_of(response.replace(request=None), self._options.config.reading)
        signature = self._known().signature(page) if isinstance(page, Page) else None
        if signature is None:
            return
        stored: Sequence[Candidate] = ()
        if isinstance(signature, Record):
            stored = await self._client.call(self._client.dedup.candidates, signature)
        self._known().learn(response.url, signature, stored)
