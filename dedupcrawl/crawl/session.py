"""What the components of one crawl share."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy.extensions.corestats import CoreStats
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from dedupcrawl.crawl.collecting import Collector
from dedupcrawl.crawl.desk import Desk
from dedupcrawl.crawl.feeds import Feeds
from dedupcrawl.crawl.opening import open_now
from dedupcrawl.crawl.options import FEED_MODE, Options
from dedupcrawl.crawl.reading import read_page_of
from dedupcrawl.crawl.tally import Tally
from dedupcrawl.crawl.visits import Visits
from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.policy import unchecked
from dedupcrawl.stores.opening import is_local

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from dedupcrawl.page import Page, ReadOptions
    from dedupcrawl.verdict import Verdict

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Session:
    """One crawl's options, store and memory."""

    options: Options
    reading: ReadOptions
    visits: Visits
    desk: Desk
    tally: Tally
    feeds: Feeds | None  #: None: claims do not wait for feeds
    task: asyncio.Task[Any] | None = None  #: that the crawl runs in
    collector: Collector = field(default_factory=Collector)

    @classmethod
    def begin(cls, crawler: Crawler) -> Session:
        """Check the settings and open a store on this machine.

        An error ends the crawl before its first request; it is said in one sentence.
        """
        try:
            return cls._begin(crawler)
        except DedupError as error:
            say(error)
            raise

    @classmethod
    def _begin(cls, crawler: Crawler) -> Session:
        options = Options.from_settings(crawler.settings, _spider_name(crawler))
        feeds = _feeds(crawler) if options.commit_with_feeds else None
        collector = Collector(crawler, options.report)
        tally = Tally(crawler, options.on_store_error, collector)
        desk = Desk(crawler, tally, options, collector)
        if is_local(options.store):
            desk.take(open_now(options))
        visits = Visits(may_be_replaced=_has_earlier_pipelines(crawler.settings))
        return cls(options, options.config.reading, visits, desk, tally, feeds, _task(), collector)

    async def open(self, crawler: Crawler) -> None:
        """Open a store across a network, and the ledger.

        An error ends the crawl as one of :meth:`begin` does.
        """
        try:
            await self.desk.open(partial(open_now, self.options))
            self.collector.open(self.options, self.desk.weigh, self.tally.counts)
        except DedupError as error:
            say(error, self.task)
            # Scrapy closes a spider that it has not opened, and its own statistics count on the opening.
            stats = crawler.get_extension(CoreStats)
            if stats is not None and crawler.spider is not None:
                stats.spider_opened(crawler.spider)
            raise

    def read(self, response: Response) -> Page | Verdict:
        """Read a response once."""
        visit = self.visits.of(response)
        if visit.subject is None:
            try:
                visit.subject = read_page_of(response, self.reading)
            except Exception as error:  # noqa: BLE001  # no page may end a crawl
                self.tally.crashed(response.url, error)
                visit.subject = unchecked(response.url, "error")
        return visit.subject


def session_of(crawler: Crawler) -> Session:
    """Return the session that the add-on of this crawl opened."""
    from dedupcrawl.crawl.addon import Addon  # noqa: PLC0415  # the add-on names the components

    addon = crawler.get_addon(Addon)
    if addon is None:
        raise SettingError("ADDONS", crawler.settings["ADDONS"], 'a dict with "dedupcrawl.Addon": 500')
    return addon.session


def say(error: DedupError, task: asyncio.Task[Any] | None = None) -> None:
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


def _has_earlier_pipelines(settings: BaseSettings) -> bool:
    from dedupcrawl.crawl.pipeline import DedupPipeline  # noqa: PLC0415  # it joins this session

    pipelines = build_component_list(settings.get_component_priority_dict_with_base("ITEM_PIPELINES"))
    return bool(pipelines) and load_object(pipelines[0]) is not DedupPipeline


def _feeds(crawler: Crawler) -> Feeds:
    exporter = crawler.get_extension(FeedExporter)
    if exporter is None:
        raise SettingError("DEDUP_COMMIT", FEED_MODE, '"item_scraped", as long as no feed of FEEDS is in use')
    return Feeds(exporter)
