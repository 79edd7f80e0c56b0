"""Imports of the test processes, done once in the fork server.

The imports take longer than most crawls of the tests. No module may install a reactor: each crawl chooses its
own.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from scrapy.settings import default_settings
from scrapy.utils.misc import load_object

from dedupcrawl import Deduplicator
from tests import garbage

if TYPE_CHECKING:
    from collections.abc import Iterator

HANDLERS = "scrapy.core.downloader.handlers"
MODULES = (
    "dedupcrawl.batch.preload",
    "dedupcrawl.crawl.addon",
    "dedupcrawl.detectors.minhash",
    "dedupcrawl.spiders.site",
    "dedupcrawl.stores.lmdb",
    "dedupcrawl.stores.redis.store",
    # downloads without a reactor; Scrapy 2.18 has another one
    f"{HANDLERS}._aiohttp" if find_spec(f"{HANDLERS}._aiohttp") else f"{HANDLERS}._httpx",
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


def load_tables() -> None:
    """Judge a page, which loads the tables that each crawl would load: public suffixes, character classes, masks."""
    with Deduplicator("memory://") as dedup:
        dedup.add(html="<h1>Frost</h1><p>The harbour froze over.", url="https://www.example.co.uk/1")


def preload() -> None:
    """Import all modules and components, and load the tables."""
    for name in MODULES:
        import_module(name)
    for path in components():
        load_object(path)
    load_tables()
    garbage.freeze()


preload()
