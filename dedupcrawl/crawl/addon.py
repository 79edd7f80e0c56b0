"""The add-on: ``ADDONS = {"dedupcrawl.Addon": 500}`` is the whole installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from dedupcrawl.crawl.context import ContextOwner, log_fatal
from dedupcrawl.crawl.middlewares import DedupDownloaderMiddleware, DedupSpiderMiddleware
from dedupcrawl.crawl.pipeline import DedupPipeline
from dedupcrawl.crawl.settings import is_enabled
from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

DOWNLOADER_ORDER = 540  #: nearer to the spider than decompression, retry and redirect
SPIDER_ORDER = 10  #: next to the engine
PIPELINE_ORDER = 50  #: before what stores items


class Addon(ContextOwner):
    """Installs the components and owns the context that they share."""

    pipeline = DedupPipeline

    def update_settings(self, settings: BaseSettings) -> None:
        """Put the components in their places, unless ``DEDUP_ENABLED`` is False."""
        try:
            enabled = is_enabled(settings)
        except SettingError as error:
            log_fatal(error)
            raise
        if not enabled:
            raise NotConfigured
        place = settings.setdefault_in_component_priority_dict
        place("DOWNLOADER_MIDDLEWARES", DedupDownloaderMiddleware, DOWNLOADER_ORDER)
        place("SPIDER_MIDDLEWARES", DedupSpiderMiddleware, SPIDER_ORDER)
        place("ITEM_PIPELINES", self.pipeline, PIPELINE_ORDER)
