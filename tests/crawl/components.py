"""Pipelines, middlewares and add-ons that a project may have."""

from __future__ import annotations

import gzip
import io
import json
import logging
import os
import sqlite3
import time
from asyncio import ensure_future
from functools import partial
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from fastwarc.warc import WarcRecord, WarcRecordType
from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.exporters import JsonLinesItemExporter
from scrapy.extensions.feedexport import BlockingFeedStorage, FileFeedStorage
from scrapy.pipelines.files import FilesPipeline

from dedupcrawl.batch.formats.warc_revisits import revisit_headers
from dedupcrawl.crawl import item_pages, recorder
from dedupcrawl.crawl.page_view import current_page
from dedupcrawl.crawl.signals import dedup_outcome, dedup_verdict
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import StoreError
from dedupcrawl.foresee import rule_state
from dedupcrawl.ledger.ledger_appender import LedgerTables
from dedupcrawl.stores.transactional import MemoryStore
from tests.crawl.spiders import soon

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from dedupcrawl.crawl.context import CrawlContext
    from dedupcrawl.decision import Verdict

logger = logging.getLogger(__name__)


class Refuse:
    """Drops, or fails on, items whose URL contains the text of a setting, after a delay."""

    def __init__(self, needle: str, how: str) -> None:
        self.needle, self.how = needle, how

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings["REFUSE"], crawler.settings.get("REFUSE_HOW", "drop"))

    async def process_item(self, item: Any) -> Any:
        await soon(0.1)
        if self.needle in ItemAdapter(item)["url"] + ItemAdapter(item)["title"]:
            raise DropItem("not wanted") if self.how == "drop" else ValueError("cannot be stored")
        return item


class ReadText:
    """A spider middleware that reads the text of each response."""

    def __init__(self, crawler: Crawler) -> None:
        self.stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        assert self.stats is not None
        response.css("title").getall()
        self.stats.inc_value(f"read/{response.status}")
        async for each in result:
            yield each


class SeePage:
    """A pipeline after deduplication: it stores what is known of the item's page."""

    def process_item(self, item: Any) -> Any:
        view = current_page()
        if view is not None and view.verdict is not None:
            item["later"] = [view.page.text if view.page else None, str(view.verdict.status), view.verdict.url]
        return item


class Slow:
    """Delays every item."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings.getfloat("SLOW", 0.15))

    async def process_item(self, item: Any) -> Any:
        await soon(self.seconds)
        return item


class Cut:
    """Cuts the network of the store when the first item arrives, which has been checked by then."""

    def __init__(self, fault: str) -> None:
        self.fault = Path(fault)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings["CUT"])

    def process_item(self, item: Any) -> Any:
        self.fault.touch()
        return item


class Gate:
    """Holds every item until the file ``gate`` exists."""

    async def process_item(self, item: Any) -> Any:
        while not Path("gate").exists():
            await soon(0.05)
        return item


class GateBehind(Gate):
    """Comes after the pipeline that stores items."""


class Block:
    """Blocks the thread of the reactor with every item."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings.getfloat("BLOCK"))

    def process_item(self, item: Any) -> Any:
        time.sleep(self.seconds)
        return item


class Write:
    """Writes every item to a file and flushes it, like a pipeline that writes to a database."""

    def __init__(self, path: str) -> None:
        self.file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings["WRITE_TO"])

    def process_item(self, item: Any) -> Any:
        self.file.write(json.dumps(ItemAdapter(item).asdict(), default=str) + "\n")
        self.file.flush()
        return item


class Replace:
    """Runs before deduplication and replaces items by other objects."""

    def process_item(self, item: Any) -> Any:
        return {**ItemAdapter(item).asdict(), "replaced": True}


class DropEarly:
    """Runs before deduplication and drops some items."""

    def process_item(self, item: Any) -> Any:
        if ItemAdapter(item)["title"].endswith(" 1"):
            raise DropItem("early")
        return item


class Enrich:
    """A spider middleware that yields one more item for every item."""

    async def process_spider_output(self, response: Response, result: Any) -> Any:
        async for output in result:
            yield output
            if isinstance(output, dict):
                yield {**output, "title": "more"}


class OtherAddon:
    """Installs components of its own."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", Enrich, 543)
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", Slow, 300)


class FeedAddon:
    """Names a feed."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings.set("FEEDS", {"out.jl": {"format": "jsonlines"}}, "cmdline")


class FailingStorage(FileFeedStorage):
    """A feed that cannot be uploaded."""

    def store(self, file: Any) -> Any:
        super().store(file)
        raise OSError("the upload failed")


class OddBatchesFail(FileFeedStorage):
    """Fails for every file of an odd number."""

    def store(self, file: Any) -> Any:
        super().store(file)
        fail_if_odd(self.path)


class Upload(BlockingFeedStorage):
    """Uploads in a thread; fails for every file of an odd number."""

    def __init__(self, uri: str, *, feed_options: Any = None) -> None:
        self.path = uri.removeprefix("upload://")

    def _store_in_thread(self, file: IO[bytes]) -> None:
        file.seek(0)
        Path(self.path).write_bytes(file.read())
        fail_if_odd(self.path)


def fail_if_odd(path: str) -> None:
    if int(Path(path).stem.rpartition("-")[2]) % 2:
        raise OSError("the upload failed")


class NoExporter:
    """An item filter that accepts nothing."""

    def __init__(self, feed_options: object) -> None:
        pass

    def accepts(self, item: Any) -> bool:
        return False


class AskedOnce:
    """An item filter that accepts every other item, and fails if it is asked about an item again."""

    def __init__(self, feed_options: object) -> None:
        self.asked: list[Any] = []

    def accepts(self, item: Any) -> bool:
        assert not any(item is each for each in self.asked)
        self.asked.append(item)
        return len(self.asked) % 2 == 0


class FailingFilter:
    """An item filter that uses a field that not every item has."""

    def __init__(self, feed_options: object) -> None:
        pass

    def accepts(self, item: Any) -> bool:
        return bool(ItemAdapter(item)["price"])


class TornStore(MemoryStore):
    """A store that refuses every other page."""

    def offer(self, record: Any, since: int = 0) -> Any:
        if int(record.url[-1]) % 2:
            raise StoreError("no space left on device")
        return super().offer(record, since)


class CrawlerAddon:
    """Changes something in the add-on of dedupcrawl."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def context(self) -> CrawlContext:
        """Return what the add-on of the crawl shares among its components."""
        from dedupcrawl import Addon

        addon = self.crawler.get_addon(Addon)
        assert addon is not None
        return addon.context


class TornAddon(CrawlerAddon):
    """Installs the failing store and a failing detector, which no setting can select."""

    def update_settings(self, settings: BaseSettings) -> None:
        dedup = self.context().client.dedup
        if settings["TORN"] == "store":
            dedup.store.__class__ = TornStore
        else:
            dedup.fingerprint = dedup.fingerprint_many = None  # type: ignore[assignment, method-assign]


class BytesAddon(CrawlerAddon):
    """Logs verdicts and outcomes, and counts the pages that are read; with ``READ_ALL`` none is known by its bytes."""

    def update_settings(self, settings: BaseSettings) -> None:
        connect = self.crawler.signals.connect
        connect(self.watch, signals.engine_started)
        connect(self.verdict_given, dedup_verdict)
        connect(self.outcome_known, dedup_outcome)

    def watch(self) -> None:
        context = self.context()
        read = context.reader._attempt

        def counted(response: Response, **how: Any) -> Any:
            assert self.crawler.stats is not None
            self.crawler.stats.inc_value("reads")
            return read(response, **how)

        context.reader._attempt = counted  # type: ignore[method-assign]
        if self.crawler.settings.getbool("READ_ALL"):
            assert context.bodies is not None
            context.bodies.is_used = False

    def verdict_given(self, verdict: Verdict, size: int) -> None:
        logger.info("VERDICT %s %d", json.dumps(verdict.to_dict(), sort_keys=True), size)

    def outcome_known(self, verdict: Verdict, outcome: str) -> None:
        logger.info("OUTCOME %s %s", verdict.url, outcome)


class Choking(JsonLinesItemExporter):
    """An exporter that cannot write one of the items."""

    def export_item(self, item: Any) -> None:
        if ItemAdapter(item)["title"] == "T3":
            raise OSError("the disk is full")
        super().export_item(item)


class OwnFiles(FilesPipeline):
    """A pipeline with unpredictable requests; here it makes none."""

    def get_media_requests(self, item: Any, info: Any) -> list[Any]:
        return []


class FullDiskAddon:
    """Simulates a full disk at the first write to a ledger."""

    def update_settings(self, settings: BaseSettings) -> None:
        write, times = LedgerTables.write, count()

        def fail_once(self: LedgerTables, batch: Any) -> None:
            if next(times) == 0:
                raise sqlite3.OperationalError("database or disk is full")
            write(self, batch)

        vars(recorder)["FLUSH_INTERVAL"] = settings.getfloat("FLUSH_INTERVAL")
        LedgerTables.write = fail_once  # type: ignore[method-assign]


class ClumsyAddon:
    """Makes the page recorder fail."""

    def update_settings(self, settings: BaseSettings) -> None:
        def assessments(self: Deduplicator, new: Any, old: Any) -> Any:
            raise RuntimeError("clumsy")

        Deduplicator.assessments = assessments  # type: ignore[method-assign]


class NoDatabase:
    """Fails to open when all others are open."""

    async def open_spider(self) -> None:
        await soon(0.05)
        raise RuntimeError("no database")

    def process_item(self, item: Any) -> Any:
        return item


class WatchingReport:
    """Checks whether a report exists when the spider is closed, after feeds and requests."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        seen = cls()
        crawler.signals.connect(seen.look, signals.feed_exporter_closed)
        return seen

    def look(self) -> None:
        Path("seen.txt").write_text("a report" if Path("report.html").exists() else "no report yet")


class InTheWay:
    """Creates a folder with the name of the report."""

    def process_item(self, item: Any) -> Any:
        Path("report.html").mkdir()
        return item


class SignalWhenIdle:
    """Sends a signal to a process when all pages were crawled, before the spider is closed."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        component = cls()
        pid, number = crawler.settings["SIGNAL_WHEN_IDLE"]
        component.send = partial(os.kill, pid, number)  # type: ignore[attr-defined]
        crawler.signals.connect(component.idle, signals.spider_idle)
        return component

    def idle(self) -> None:
        self.send()  # type: ignore[attr-defined]


class StopAfterSkips:
    """Ends a crawl, in order, once so many requests were skipped."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler, self._left = crawler, crawler.settings.getint("STOP_AFTER_SKIPS")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        if self._left and self._crawler.stats.get_value("dedup/skipped", 0) >= self._left:
            self._left = 0
            ensure_future(self._crawler.stop_async())  # noqa: RUF006  # it waits for this request


class NoEvidenceAwaited:
    """Sends requests in their order, and none later because its page is no evidence that a rule needs."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:  # Scrapy's interface
        rule_state.PROMISING_GROUPS = 1 << 30
        return cls()


class UnreadableStats:
    """Makes the statistics that a worker publishes fail, from the end of the crawl on."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        component = cls()
        component.crawler = crawler  # type: ignore[attr-defined]
        crawler.signals.connect(component.idle, signals.spider_idle)
        return component

    def idle(self) -> None:
        """The name of the spider can no longer be encoded."""

        class Unnamed(str):
            __slots__ = ()

            def __str__(self) -> str:
                raise LookupError("the spider has no name")

        self.crawler.spider.name = Unnamed()  # type: ignore[attr-defined]


class NoCarriedPages:
    """Forgets each page that waits for its item at once, as if too many had come after it."""

    def update_settings(self, settings: BaseSettings) -> None:
        item_pages.MAX_CARRIED = 0


class WarcExporter:
    """An extension that writes the responses of all items to a WARC file, and revisit records for copies."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler.settings["WARC_FILE"])
        crawler.signals.connect(extension.item_scraped, signals.item_scraped)
        crawler.signals.connect(extension.item_dropped, signals.item_dropped)
        return extension

    def item_scraped(self, item: Any, response: Response) -> None:
        self.write(response, {}, response.body)

    def item_dropped(self, item: Any, response: Response) -> None:
        self.write(response, revisit_headers(response.meta["dedup"].verdict), b"")

    def write(self, response: Response, fields: dict[str, str], body: bytes) -> None:
        record = WarcRecord()
        record.init_headers(record_type=WarcRecordType.response)
        record.headers["WARC-Target-URI"] = response.url
        record.headers["Content-Type"] = "application/http; msgtype=response"
        for name, value in fields.items():
            record.headers[name] = value
        head = b"HTTP/1.1 %d OK\r\n" % response.status + bytes(response.headers.to_string())
        record.set_bytes_content(head + b"\r\n\r\n" + body)
        written = io.BytesIO()
        record.write(written)
        with self.path.open("ab") as file:
            file.write(gzip.compress(written.getvalue()))
