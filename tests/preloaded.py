"""What the processes of tests import, imported once in the process from which they are forked.

Importing takes longer than most crawls of these tests do. Nothing here may install a reactor: each crawl has
its own.
"""

from __future__ import annotations

import gc
from importlib import import_module
from typing import TYPE_CHECKING

from scrapy.settings import default_settings
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULES = (
    "dedupcrawl.batch.preload",
    "dedupcrawl.crawl.addon",
    "dedupcrawl.detectors.minhash",
    "dedupcrawl.spiders.site",
    "dedupcrawl.stores.lmdb",
    "dedupcrawl.stores.redis.store",
    "scrapy.core.downloader.handlers._aiohttp",
    "scrapy.crawler",
    "tests.crawl.components",
    "tests.crawl.driver",
    "tests.faults.worker",
    "tests.stores.subprocesses",
)


def components() -> Iterator[str]:
    """Yield the path of every class that Scrapy's own settings name."""
    for value in vars(default_settings).values():
        for each in (*value, *value.values()) if isinstance(value, dict) else (value,):
            if isinstance(each, str) and each.startswith("scrapy."):
                yield each


def preload() -> None:
    """Import it all."""
    for name in MODULES:
        import_module(name)
    for path in components():
        load_object(path)
    gc.freeze()  # a collection would touch, and so copy, all that is shared with the process that was forked


preload()
