"""The program of the processes that :mod:`tests.crawl.running` starts."""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from dedupcrawl.crawl.pipeline import _PROCESSED_ITEM
from tests.crawl import spiders

BASE = {
    "ADDONS": {"dedupcrawl.Addon": 500},
    "TELNETCONSOLE_ENABLED": False,
    "RETRY_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "LOG_LEVEL": "DEBUG",
    "LOGSTATS_INTERVAL": 0,
}


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        self.lines.append({"level": record.levelname, "logger": record.name, "text": text})


def main(path: str) -> None:
    """Run the crawls listed in a file concurrently, in the folder of the file, and write their results."""
    spec = json.loads(Path(path).read_text())
    os.chdir(Path(path).parent)
    out = os.open(Path(path).with_suffix(".out"), os.O_CREAT | os.O_WRONLY)
    os.dup2(out, 1)
    os.dup2(out, 2)
    lines = Lines()
    reports: list[dict[str, Any]] = [{"items": [], "verdicts": []} for _ in spec["crawls"]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ScrapyDeprecationWarning)
        process = _process(spec)
        logging.root.addHandler(lines)
        for crawl, report in zip(spec["crawls"], reports, strict=True):
            _add(process, crawl, report)
        process.start()
    for report in reports:
        del report["receivers"]
    deprecated = [str(each.message) for each in caught if each.category is ScrapyDeprecationWarning]
    whole = {"reports": reports, "log": lines.lines, "deprecated": deprecated}
    Path(spec["report"]).write_text(json.dumps(whole, default=str))
    sys.exit(int(process.bootstrap_failed))


def _process(spec: dict[str, Any]) -> Any:
    settings = Settings({**BASE, **spec["settings"]})
    reactor = settings.get("TWISTED_REACTOR") or ""
    if "asyncio" in reactor or not settings.getbool("TWISTED_REACTOR_ENABLED"):
        return AsyncCrawlerProcess(settings)
    return CrawlerProcess(settings)


def _add(process: Any, crawl: dict[str, Any], report: dict[str, Any]) -> None:
    name = crawl["spider"]
    spider = load_object(name) if "." in name else getattr(spiders, name)
    custom = type(spider.__name__, (spider,), {"custom_settings": crawl["settings"]})
    crawler = process.create_crawler(custom)

    def keep(item: Any) -> None:
        report["items"].append(ItemAdapter(item).asdict())
        processed = _PROCESSED_ITEM.get()
        verdict = processed.claim.verdict if processed is not None else None
        report["verdicts"].append(verdict.to_dict() if verdict is not None and verdict.is_informative else None)

    def note(reason: str) -> None:
        report["reason"] = reason

    def stats() -> None:
        report["stats"] = crawler.stats.get_stats()

    report["receivers"] = [keep, note, stats]  # they are held weakly
    crawler.signals.connect(keep, signals.item_scraped)
    crawler.signals.connect(note, signals.spider_closed)
    crawler.signals.connect(stats, signals.engine_stopped)
    process.crawl(crawler, **crawl["args"])
