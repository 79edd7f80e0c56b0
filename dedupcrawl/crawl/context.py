"""What the components of one crawl share."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy.extensions.corestats import CoreStats
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from dedupcrawl.crawl.claims import ClaimManager
from dedupcrawl.crawl.feeds import FeedTracker
from dedupcrawl.crawl.items import ResponseTracker
from dedupcrawl.crawl.recorder import PageRecorder
from dedupcrawl.crawl.responses import read_page_of
from dedupcrawl.crawl.settings import FEED_MODE, Options
from dedupcrawl.crawl.stats import CrawlStats
from dedupcrawl.crawl.store_client import StoreClient
from dedupcrawl.decision import unchecked
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.stores.opening import is_local

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from dedupcrawl.page import Page, ReadOptions
    from dedupcrawl.verdict import Verdict

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CrawlContext:
    """The options, store and memory of one crawl."""

    options: Options
    reading: ReadOptions
    responses: ResponseTracker
    client: StoreClient
    claims: ClaimManager
    stats: CrawlStats
    feeds: FeedTracker | None  #: None: claims do not wait for feeds
    task: asyncio.Task[Any] | None = None  #: that the crawl runs in
    recorder: PageRecorder = field(default_factory=PageRecorder)

    @classmethod
    def create(cls, crawler: Crawler, pipeline: type[object]) -> CrawlContext:
        """Check the settings and open a store on this machine.

        An error ends the crawl before its first request; it is logged in one sentence.

        Args:
            crawler: of the crawl.
            pipeline: the item pipeline of deduplication; others may stand before it.
        """
        try:
            return cls._create(crawler, pipeline)
        except DedupError as error:
            log_fatal(error)
            raise

    @classmethod
    def _create(cls, crawler: Crawler, pipeline: type[object]) -> CrawlContext:
        options = Options.from_settings(crawler.settings, _spider_name(crawler))
        feeds = _feeds(crawler) if options.commit_with_feeds else None
        recorder = PageRecorder(crawler, options.report)
        stats = CrawlStats(crawler, options.on_store_error, recorder)
        client = StoreClient(crawler, options, stats)
        claims = ClaimManager(crawler, client, options, stats, recorder)
        if is_local(options.store):
            client.open_now()
        responses = ResponseTracker(may_be_replaced=_has_earlier_pipelines(crawler.settings, pipeline))
        return cls(
            options, options.config.reading, responses, client, claims, stats, feeds, _task(), recorder
        )

    async def open(self, crawler: Crawler) -> None:
        """Open a store across a network, and the ledger.

        An error ends the crawl as one of :meth:`create` does.
        """
        try:
            await self.claims.open()
            self.recorder.open(self.options, self.claims.weigh, self.stats.counts)
        except DedupError as error:
            log_fatal(error, self.task)
            # Scrapy closes a spider that it has not opened, and its own statistics count on the opening.
            stats = crawler.get_extension(CoreStats)
            if stats is not None and crawler.spider is not None:
                stats.spider_opened(crawler.spider)
            raise

    def read(self, response: Response) -> Page | Verdict:
        """Read a response once."""
        state = self.responses.of(response)
        if state.subject is None:
            try:
                state.subject = read_page_of(response, self.reading)
            except Exception as error:  # noqa: BLE001  # no page may end a crawl
                self.stats.crashed(response.url, error)
                state.subject = unchecked(response.url, "error")
        return state.subject


class ContextOwner:
    """The base of the add-on: an add-on of this class gives the components of a crawl their context."""

    pipeline: ClassVar[type[object]]  #: the item pipeline of deduplication

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Belong to one crawl."""
        return cls(crawler)

    @cached_property
    def context(self) -> CrawlContext:
        """What the components share; created when the first asks for it, with the settings final."""
        return CrawlContext.create(self._crawler, self.pipeline)


def context_of(crawler: Crawler) -> CrawlContext:
    """Return the context that the add-on of this crawl owns."""
    owner = crawler.get_addon(ContextOwner)
    if owner is None:
        raise SettingError("ADDONS", crawler.settings["ADDONS"], 'a dict with "dedupcrawl.Addon": 500')
    return owner.context


def log_fatal(error: DedupError, task: asyncio.Task[Any] | None = None) -> None:
    """Log an error that ends the crawl in one sentence.

    It is still raised, so that the command fails and a script can catch it; but asyncio need not
    print its traceback when the crawl's task is thrown away.
    """
    logger.error("dedupcrawl: %(error)s", {"error": error})
    task = task or _task()
    if task is not None:
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())


def _task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _spider_name(crawler: Crawler) -> str:
    """Return the name that the spider bears now: it may have been given one as it was made."""
    return (crawler.spider or crawler.spidercls).name


def _has_earlier_pipelines(settings: BaseSettings, pipeline: type[object]) -> bool:
    pipelines = build_component_list(settings.get_component_priority_dict_with_base("ITEM_PIPELINES"))
    return bool(pipelines) and load_object(pipelines[0]) is not pipeline


def _feeds(crawler: Crawler) -> FeedTracker:
    exporter = crawler.get_extension(FeedExporter)
    if exporter is None:
        raise SettingError("DEDUP_COMMIT", FEED_MODE, '"item_scraped", as long as no feed of FEEDS is in use')
    return FeedTracker(exporter)
