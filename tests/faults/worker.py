"""What runs in a worker: a crawl of the whole web, and a ledger that survives a kill.

A ledger is a file of JSON Lines, a line for each thing that happened, written by one system call. Every line in it
has happened, however the process ended.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import Settings

from dedupcrawl import Deduplicator, deduplicator
from dedupcrawl.crawl.claims import ClaimManager
from dedupcrawl.crawl.pipeline import _PROCESSED_ITEM
from dedupcrawl.spiders.site import SiteSpider
from dedupcrawl.stores import open_store
from tests.crawl.spiders import soon

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from dedupcrawl.crawl.items import ItemClaim
    from dedupcrawl.decision import Claim
    from dedupcrawl.stores.base import Record, Store

NAMESPACE = "faults"
BASE = {
    "ADDONS": {"dedupcrawl.Addon": 500, "tests.faults.worker.EventRecorder": 600},
    "ITEM_PIPELINES": {
        "tests.faults.worker.Slow": 300,
        "tests.faults.worker.Keep": 400,
        "tests.faults.worker.Slower": 500,
    },
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "DEDUP_NAMESPACE": NAMESPACE,
    "TELNETCONSOLE_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": 8,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "LOG_LEVEL": "INFO",
}


class Ledger:
    """Appends to the ledger of this process."""

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, **what: object) -> None:
        """Write an event; ``at`` is ``time.monotonic``, which all processes of the machine share."""
        line = json.dumps({**what, "at": time.monotonic()}, ensure_ascii=False) + "\n"
        os.write(self.file, line.encode())


class Slow:
    """Delays every item, like a database; SLOW is in seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read the setting."""
        return cls(crawler.settings.getfloat("SLOW"))

    async def process_item(self, item: Any) -> Any:
        """Wait."""
        await soon(self.seconds)
        return item


class Slower(Slow):
    """Comes after the ledger: items are stored, but their claims are not committed yet."""


class Keep:
    """Stores an item: writes it to the ledger, with the reason if its page is unchecked."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open the ledger."""
        return cls(Ledger(crawler.settings["LEDGER"]))

    def process_item(self, item: Any) -> Any:
        """Store it."""
        stored = ItemAdapter(item)
        processed = _PROCESSED_ITEM.get()
        reason = (processed.claim.verdict.reason if processed is not None else None) or ""
        self.ledger.write(event="stored", url=stored["url"], reason=reason, entered=LastCheck.at)
        return item


class LastCheck:
    """When the claim of any item was checked for the last time: of the item that is stored next, or after that."""

    at = 0.0

    @classmethod
    def watch(cls) -> None:
        """Record each check from now on."""
        is_sure = ClaimManager.is_sure

        def watched(claims: ClaimManager, claim: ItemClaim) -> bool:
            cls.at = time.monotonic()
            return is_sure(claims, claim)

        watching: Any = watched
        ClaimManager.is_sure = watching  # type: ignore[method-assign]


class EventRecorder:
    """Records events that no item shows.

    These are the token of this worker on the server, the claims it has committed, the pages it files from a spool, and
    the number of its claims when it is idle.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.ledger = Ledger(crawler.settings["LEDGER"])
        self.store: Any = None
        crawler.signals.connect(self.begun, signals.spider_opened)
        crawler.signals.connect(self.idle, signals.spider_idle)
        crawler.signals.connect(self.closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the extension."""
        return cls(crawler)

    def update_settings(self, settings: BaseSettings) -> None:
        """Intercept the opening of the store, commits and the replay of a spool."""
        LastCheck.watch()
        opening: Any = self.open
        vars(deduplicator)["open_store"] = opening
        filing: Any = self.watching(Deduplicator.remember)
        Deduplicator.remember = filing  # type: ignore[method-assign]
        committing: Any = self.recording(Deduplicator.commit)
        Deduplicator.commit = committing  # type: ignore[method-assign]

    def open(self, url: str, **how: Any) -> Store:
        """Open the store."""
        self.store = store = open_store(url, **how)
        local: Any = store
        token: bytes = local._session.token if store.remote else local._token
        self.ledger.write(event="opened", token=token.hex())
        return store

    def watching(self, remember: Callable[[Deduplicator, Record], bool]) -> Callable[..., bool]:
        """Return a method that records each page before it is filed."""

        def watched(dedup: Deduplicator, record: Record) -> bool:
            self.ledger.write(event="replayed", url=record.url)
            return remember(dedup, record)

        return watched

    def recording(self, commit: Callable[[Deduplicator, list[Claim]], None]) -> Callable[..., None]:
        """Return a method that records each claim after it is committed."""

        def recorded(dedup: Deduplicator, claims: Iterable[Claim]) -> None:
            given = list(claims)
            held = [claim for claim in given if claim.id in dedup._filer._held]  # a commit ignores the others
            commit(dedup, given)
            for claim in held:
                if claim.record is not None:
                    self.ledger.write(event="committed", url=claim.record.url)

        return recorded

    def begun(self) -> None:
        """The process handles signals from now on."""
        self.ledger.write(event="begun")

    def idle(self) -> None:
        """All items have passed all pipelines."""
        if self.store is not None:
            self.ledger.write(event="idle", claims=len(self.store._own))

    def closed(self, reason: str) -> None:
        """The crawl is over."""
        self.ledger.write(event="closed", reason=reason)


def main(folder: str, log: str, fronts: list[str], settings: dict[str, Any]) -> None:
    """Crawl from these front pages on, in a folder of the worker's own."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    process = AsyncCrawlerProcess(Settings({**BASE, **settings}))
    process.crawl(SiteSpider, url=",".join(fronts))
    process.start()
    sys.exit(int(process.bootstrap_failed))
