"""The add-on, which installs dedupcrawl (``ADDONS = {"dedupcrawl.Addon": 500}``), and its middlewares.

The middlewares correct encodings, link items to their responses, and keep duplicates from the spider.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

from scrapy import Request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import TextResponse
from scrapy.http.request import NO_CALLBACK

from dedupcrawl.crawl.context import ContextOwner, context_of, log_fatal
from dedupcrawl.crawl.items import CURRENT_RESPONSE, PageState
from dedupcrawl.crawl.page_view import META_KEY, drop_view
from dedupcrawl.crawl.pipeline import ORDER, DedupPipeline
from dedupcrawl.crawl.responses import SKIP
from dedupcrawl.crawl.settings import is_enabled
from dedupcrawl.crawl.stats import describe
from dedupcrawl.errors import SettingError
from dedupcrawl.page import Page
from dedupcrawl.page.document import replacement_encoding
from dedupcrawl.stores.opening import MEMORY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from types import FrameType

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

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


logger = logging.getLogger(__name__)

ENCODING_ORDER = 585  #: after HttpCompressionMiddleware (590), before MetaRefreshMiddleware (580) reads the text
DOWNLOADER_ORDER = 540  #: after decompression, retry and redirect have processed the response
SPIDER_ORDER = 10  #: next to the engine

#: Commands of Scrapy with which a person looks at pages: they must not change what a crawl knows.
LOOKING_COMMANDS = ("shell", "fetch", "parse", "bench", "check", "view")
#: Settings under which nothing is written. The commands have no feeds, or feeds without items.
WITHOUT_TRACE: Mapping[str, object] = {"DEDUP_STORE": MEMORY, "DEDUP_REPORT": "", "DEDUP_COMMIT": "item_scraped"}


class Addon(ContextOwner):
    """Adds the middlewares and the item pipeline to a crawl.

    The components share one :class:`~dedupcrawl.crawl.context.CrawlContext`, which the add-on owns.
    """

    pipeline = DedupPipeline

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components, unless ``DEDUP_ENABLED`` is False.

        Raises:
            SettingError: ``DEDUP_ENABLED`` is not a boolean.
            NotConfigured: it is False; Scrapy then ignores the add-on.
        """
        try:
            enabled = is_enabled(settings)
        except SettingError as error:
            log_fatal(error)
            raise
        if not enabled:
            raise NotConfigured
        command = looking_command()
        if command:
            for name, value in WITHOUT_TRACE.items():
                settings.set(name, value, priority="cmdline")
            message = "dedupcrawl: `scrapy %(command)s` leaves no trace: the store is in memory, and there is no report"
            logger.info(message, {"command": command})
        add = settings.setdefault_in_component_priority_dict
        add("DOWNLOADER_MIDDLEWARES", EncodingMiddleware, ENCODING_ORDER)
        add("DOWNLOADER_MIDDLEWARES", DedupDownloaderMiddleware, DOWNLOADER_ORDER)
        add("SPIDER_MIDDLEWARES", DedupSpiderMiddleware, SPIDER_ORDER)
        add("ITEM_PIPELINES", self.pipeline, ORDER)


def looking_command() -> str:
    """Return the name of the Scrapy command that runs this code if it is one of ``LOOKING_COMMANDS``, else "".

    Neither settings nor crawler name the command, and Scrapy removes it from ``sys.argv``. So it is looked up on the
    stack, where the method ``run`` of the command is while it crawls.
    """
    commands = sys.modules.get("scrapy.commands")
    frame: FrameType | None = sys._getframe()
    while commands is not None and frame is not None:
        command = frame.f_locals.get("self") if frame.f_code.co_name == "run" else None
        if isinstance(command, commands.ScrapyCommand):
            names = (kind.__module__.removeprefix("scrapy.commands.") for kind in type(command).__mro__)
            return next((name for name in names if name in LOOKING_COMMANDS), "")
        frame = frame.f_back
    return ""
