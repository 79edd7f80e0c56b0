"""The add-on, which installs dedupcrawl: ``ADDONS = {"dedupcrawl.Addon": 500}``."""

from __future__ import annotations

import inspect
import logging
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured
from scrapy.settings import SETTINGS_PRIORITIES

from dedupcrawl.crawl.context import ContextOwner, log_fatal
from dedupcrawl.crawl.foreseeing import ForeseeingDownloaderMiddleware, ForeseeingSpiderMiddleware
from dedupcrawl.crawl.pipeline import (
    ORDER,
    DedupDownloaderMiddleware,
    DedupPipeline,
    DedupSpiderMiddleware,
    EncodingMiddleware,
)
from dedupcrawl.crawl.revalidating import RevalidatingDownloaderMiddleware, RevalidatingSpiderMiddleware
from dedupcrawl.crawl.settings import ITEM_MODE, is_enabled
from dedupcrawl.errors import SettingError
from dedupcrawl.stores import MEMORY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

    from scrapy.settings import BaseSettings


logger = logging.getLogger(__name__)

ENCODING_ORDER = 585  #: after HttpCompressionMiddleware (590), before MetaRefreshMiddleware (580) reads the text
DOWNLOADER_ORDER = 540  #: after decompression, retry and redirect have processed the response
#: Next to the downloader: HttpCacheMiddleware (900) answers first, and must not store a response without a page.
REVALIDATING_ORDER = 910
REVALIDATING_SPIDER_ORDER = 10_000  #: next to the spider: requests are stored as the spider makes them
FORESEEING_ORDER = 545  #: after the middlewares that refuse requests; before RetryMiddleware (550) repeats one
SPIDER_ORDER = 10  #: next to the engine
FORESEEING_SPIDER_ORDER = 5  #: still nearer, where requests have their depth and priority
PROVIDER = "dedupcrawl.crawl.page_object_provider.DedupProvider"  #: for page objects of scrapy-poet
PROVIDER_ORDER = 550  #: after the providers of responses

#: Commands of Scrapy with which a person looks at pages: they must not change what a crawl knows.
LOOKING_COMMANDS = ("shell", "fetch", "parse", "bench", "check", "view")
#: Settings under which nothing is written. The commands have no feeds, or feeds without items.
WITHOUT_TRACE: Mapping[str, object] = {"DEDUP_STORE": MEMORY, "DEDUP_REPORT": "", "DEDUP_COMMIT": ITEM_MODE}


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
            self._leave_no_trace(settings, command)
        add = settings.setdefault_in_component_priority_dict
        add("DOWNLOADER_MIDDLEWARES", EncodingMiddleware, ENCODING_ORDER)
        add("DOWNLOADER_MIDDLEWARES", DedupDownloaderMiddleware, DOWNLOADER_ORDER)
        add("DOWNLOADER_MIDDLEWARES", RevalidatingDownloaderMiddleware, REVALIDATING_ORDER)
        add("SPIDER_MIDDLEWARES", DedupSpiderMiddleware, SPIDER_ORDER)
        add("SPIDER_MIDDLEWARES", RevalidatingSpiderMiddleware, REVALIDATING_SPIDER_ORDER)
        add("DOWNLOADER_MIDDLEWARES", ForeseeingDownloaderMiddleware, FORESEEING_ORDER)
        add("SPIDER_MIDDLEWARES", ForeseeingSpiderMiddleware, FORESEEING_SPIDER_ORDER)
        add("ITEM_PIPELINES", self.pipeline, ORDER)
        _provide_to_page_objects(settings)

    def _leave_no_trace(self, settings: BaseSettings, command: str) -> None:
        """Change the settings of a crawl that a person looks at, except those given on the command line."""
        explicit = SETTINGS_PRIORITIES["cmdline"]
        changed = {name: value for name, value in WITHOUT_TRACE.items() if (settings.getpriority(name) or 0) < explicit}
        for name, value in changed.items():
            settings.set(name, value, priority="cmdline")
        if "DEDUP_STORE" in changed:
            message = "dedupcrawl: `scrapy %(command)s` leaves no trace: its store is in memory (or -s DEDUP_STORE=…)"
            logger.info(message, {"command": command})


def _provide_to_page_objects(settings: BaseSettings) -> None:
    """Add the provider of ``DedupPage`` and ``DedupVerdict`` if scrapy-poet is installed, which is not imported."""
    providers = settings.getdict("SCRAPY_POET_PROVIDERS")
    known = {each if isinstance(each, str) else f"{each.__module__}.{each.__qualname__}" for each in providers}
    if PROVIDER not in known and find_spec("scrapy_poet") is not None:
        priority = settings.getpriority("SCRAPY_POET_PROVIDERS") or 0
        settings.set("SCRAPY_POET_PROVIDERS", {**providers, PROVIDER: PROVIDER_ORDER}, priority)


def looking_command() -> str:
    """Return the name of the Scrapy command that runs this code if it is one of ``LOOKING_COMMANDS``, else "".

    Neither settings nor crawler name the command, and Scrapy removes it from ``sys.argv``. So it is looked up on the
    stack, where the method ``run`` of the command is while it crawls. Settings of the command line need none of this:
    they always win.
    """
    commands = sys.modules.get("scrapy.commands")
    frame: FrameType | None = inspect.currentframe()
    while commands is not None and frame is not None:
        command = frame.f_locals.get("self") if frame.f_code.co_name == "run" else None
        if isinstance(command, commands.ScrapyCommand):
            names = (kind.__module__.removeprefix("scrapy.commands.") for kind in type(command).__mro__)
            return next((name for name in names if name in LOOKING_COMMANDS), "")
        frame = frame.f_back
    return ""
