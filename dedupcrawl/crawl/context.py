"""The context of a crawl: the objects that its components share."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy.extensions.corestats import CoreStats
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from dedupcrawl.crawl.claims import ClaimManager
from dedupcrawl.crawl.feeds import FeedTracker
from dedupcrawl.crawl.foresight_manager import ForesightManager
from dedupcrawl.crawl.items import PageRecorder, ResponseTracker
from dedupcrawl.crawl.known_bodies import BodyTracker
from dedupcrawl.crawl.not_found_monitor import NotFoundMonitor
from dedupcrawl.crawl.recorder import LedgerRecorder, SignallingRecorder
from dedupcrawl.crawl.responses import PageJudge, ResponseReader
from dedupcrawl.crawl.settings import AUTO, ITEM_MODE, Options, names_feeds
from dedupcrawl.crawl.stats import CrawlStats
from dedupcrawl.crawl.store_client import StoreClient
from dedupcrawl.crawl.validators import RevalidationManager
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.page import compiled
from dedupcrawl.stores import is_local
from dedupcrawl.stores.redis import packed_urls
from dedupcrawl.text import features

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CrawlContext:
    """The objects that the components of one crawl share."""

    options: Options  #: the checked settings
    responses: ResponseTracker  #: links items to their responses
    client: StoreClient  #: calls the store
    claims: ClaimManager  #: claims pages, commits and releases claims
    reader: ResponseReader  #: reads each response once
    judge: PageJudge  #: returns the claim of an item
    stats: CrawlStats  #: counters and log lines
    recorder: PageRecorder  #: records pages in the ledger, and sends signals
    foresight: ForesightManager  #: foresees copies
    bodies: BodyTracker | None = None  #: recognises pages by their bytes; None: all pages are read
    feeds: FeedTracker | None = None  #: None: claims do not wait for feeds
    revalidation: RevalidationManager | None = None  #: None: no request is conditional
    task: asyncio.Task[Any] | None = None  #: in which the crawl runs

    @classmethod
    def create(cls, crawler: Crawler, pipeline: type[object]) -> CrawlContext:
        """Check the settings, and open the store if it is local; ``pipeline`` is that of deduplication.

        Raises ``DedupError``, after it was logged; it ends the crawl before its first request.
        """
        try:
            return cls._create(crawler, pipeline)
        except DedupError as error:
            log_fatal(error)
            raise

    @classmethod
    def _create(cls, crawler: Crawler, pipeline: type[object]) -> CrawlContext:
        # The crawler's spider may have been renamed when it was created.
        logger.debug("dedupcrawl: text kernel: %(kernel)s", {"kernel": features.kernel_description()})
        logger.debug("dedupcrawl: page reading: %(reading)s", {"reading": compiled.description()})
        logger.debug("dedupcrawl: requests to servers: %(packing)s", {"packing": packed_urls.description()})
        options = Options.from_settings(crawler.settings, (crawler.spider or crawler.spidercls).name)
        feeds = _feeds(crawler, options.commit)
        ledger = PageRecorder() if options.report is None else LedgerRecorder(crawler, options.report)
        recorder = SignallingRecorder(crawler, ledger)
        stats = CrawlStats(crawler, options.on_store_error, recorder, options.log_language)
        client = StoreClient(crawler, options, stats)
        claims = ClaimManager(crawler, client, options, stats, recorder)
        if is_local(options.store):
            client.open_now()
        responses = ResponseTracker(may_be_replaced=_has_earlier_pipelines(crawler.settings, pipeline))
        reader = ResponseReader(
            options.config.reading, responses, stats, options.page_timeout, large_pages=claims.large_pages
        )
        not_found = NotFoundMonitor(crawler, client, claims, options, stats) if options.changes_crawl else None
        bodies = BodyTracker(crawler, options, client, stats)
        judge = PageJudge(options, reader, claims, stats, recorder, not_found=not_found, bodies=bodies)
        revalidation = None
        if options.revalidate:
            revalidation = RevalidationManager(crawler, options, client, stats, has_feeds=feeds is not None)
        foresight = ForesightManager(crawler, options, client, stats, recorder, not_found=not_found)
        return cls(
            options,
            responses,
            client,
            claims,
            reader,
            judge,
            stats,
            recorder,
            foresight,
            bodies=bodies,
            feeds=feeds,
            revalidation=revalidation,
            task=_task(),
        )

    async def open(self, crawler: Crawler) -> None:
        """Open the store if it is remote, and the ledger; raises ``DedupError`` as :meth:`create` does."""
        try:
            await self.claims.open()
            dedup = self.client.dedup
            self.recorder.open(self.options, dedup.assessments, self.stats.counts, dedup.site_memory)
        except DedupError as error:
            log_fatal(error, self.task)
            # Scrapy now closes a spider that was not opened, and CoreStats fails without this call.
            stats = crawler.get_extension(CoreStats)
            if stats is not None and crawler.spider is not None:
                stats.spider_opened(crawler.spider)
            raise


class ContextOwner:
    """Base class of the add-on; the other components find it by this class and take its context."""

    pipeline: ClassVar[type[object]]  #: the item pipeline of deduplication

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the add-on of a crawl."""
        return cls(crawler)

    @cached_property
    def context(self) -> CrawlContext:
        """The context, created on first use: the settings are final by then."""
        return CrawlContext.create(self._crawler, self.pipeline)


def context_of(crawler: Crawler) -> CrawlContext:
    """Return the context of a crawl; raises ``SettingError`` if the add-on is not installed."""
    owner = crawler.get_addon(ContextOwner)
    if owner is None:
        raise SettingError("ADDONS", crawler.settings["ADDONS"], 'a dict with "dedupcrawl.Addon": 500')
    return owner.context


def log_fatal(error: DedupError, task: asyncio.Task[Any] | None = None) -> None:
    """Log an error that ends the crawl as one line, without a traceback.

    The error is still raised: the command fails, and a script can catch it. Retrieving the exception of the
    crawl's task keeps asyncio from logging its traceback.
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


def _has_earlier_pipelines(settings: BaseSettings, pipeline: type[object]) -> bool:
    pipelines = build_component_list(settings.get_component_priority_dict_with_base("ITEM_PIPELINES"))
    return bool(pipelines) and load_object(pipelines[0]) is not pipeline


def _feeds(crawler: Crawler, commit: str) -> FeedTracker | None:
    """Return the tracker of the feeds that items must be stored in; None if items are durable without."""
    if commit == ITEM_MODE or (commit == AUTO and not _wants_feeds(crawler.settings)):
        return None
    exporter = crawler.get_extension(FeedExporter)
    if exporter is None:
        accepted = f'"{ITEM_MODE}", if pipelines store the items: Scrapy writes no feed of FEEDS, its ERROR says why'
        raise SettingError("DEDUP_COMMIT", commit, accepted)
    return FeedTracker(exporter)


def _wants_feeds(settings: BaseSettings) -> bool:
    """Whether feeds are named, and the project has not switched their extension off."""
    if not names_feeds(settings):
        return False
    extensions = settings.get_component_priority_dict_with_base("EXTENSIONS")
    loaded = [load_object(each) for each, order in extensions.items() if order is not None]
    return any(isinstance(each, type) and issubclass(each, FeedExporter) for each in loaded)
