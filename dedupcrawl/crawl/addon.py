"""The add-on: ``ADDONS = {"dedupcrawl.Addon": 500}`` is the whole installation."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured

from dedupcrawl.crawl.downloader import DedupDownloaderMiddleware
from dedupcrawl.crawl.options import is_enabled
from dedupcrawl.crawl.pipeline import DedupPipeline
from dedupcrawl.crawl.session import Session, say
from dedupcrawl.crawl.spider import DedupSpiderMiddleware
from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

DOWNLOADER_ORDER = 540  #: nearer to the spider than decompression, retry and redirect
SPIDER_ORDER = 10  #: next to the engine
PIPELINE_ORDER = 50  #: before what stores items


class Addon:
    """Installs the components and owns what they share."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Belong to one crawl."""
        return cls(crawler)

    def update_settings(self, settings: BaseSettings) -> None:
        """Put the components in their places, unless ``DEDUP_ENABLED`` is False."""
        try:
            enabled = is_enabled(settings)
        except SettingError as error:
            say(error)
            raise
        if not enabled:
            raise NotConfigured
        place = settings.setdefault_in_component_priority_dict
        place("DOWNLOADER_MIDDLEWARES", DedupDownloaderMiddleware, DOWNLOADER_ORDER)
        place("SPIDER_MIDDLEWARES", DedupSpiderMiddleware, SPIDER_ORDER)
        place("ITEM_PIPELINES", DedupPipeline, PIPELINE_ORDER)

    @cached_property
    def session(self) -> Session:
        """What the components share; made when the first asks, with the settings final."""
        return Session.begin(self._crawler)
