"""The add-on, which installs dedupcrawl: ``ADDONS = {"dedupcrawl.Addon": 500}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from dedupcrawl.crawl.context import ContextOwner, log_fatal
from dedupcrawl.crawl.middlewares import DedupDownloaderMiddleware, DedupSpiderMiddleware, EncodingMiddleware
from dedupcrawl.crawl.pipeline import DedupPipeline
from dedupcrawl.crawl.settings import is_enabled
from dedupcrawl.errors import SettingError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

ENCODING_ORDER = 585  #: after HttpCompressionMiddleware (590), before MetaRefreshMiddleware (580) reads the text
DOWNLOADER_ORDER = 540  #: after decompression, retry and redirect have processed the response
SPIDER_ORDER = 10  #: next to the engine
PIPELINE_ORDER = 50  #: before the pipelines that store items


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
        add = settings.setdefault_in_component_priority_dict
        add("DOWNLOADER_MIDDLEWARES", EncodingMiddleware, ENCODING_ORDER)
        add("DOWNLOADER_MIDDLEWARES", DedupDownloaderMiddleware, DOWNLOADER_ORDER)
        add("SPIDER_MIDDLEWARES", DedupSpiderMiddleware, SPIDER_ORDER)
        add("ITEM_PIPELINES", self.pipeline, PIPELINE_ORDER)
