"""Shown output about stores."""

from __future__ import annotations

import io
import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis
from rich.console import Console

from dedupcrawl import Deduplicator
from dedupcrawl.cli.watch import NamespaceState, StoreState, dashboard
from dedupcrawl.crawl.stats import CrawlStats
from dedupcrawl.errors import StoreUnreachableError
from dedupcrawl.stores.base import HotBucketInfo, StoreInfo
from dedupcrawl.stores.workers import MemoryInfo, WorkerRecord, WorkersInfo, WorkerStats
from tests.docs.newspapers import PAGES
from tests.docs.output_matching import shows, shows_lines
from tests.stores.servers import free_port

if TYPE_CHECKING:
    from tests.docs.blocks import Block
    from tests.docs.page_runner import PageRunner


class _Lines(logging.Handler):
    """Collects log lines in the format of a crawl."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname}: {record.getMessage()}")


def outage(block: Block, runner: PageRunner) -> None:
    """Log an outage with the figures of the page; the error is that of an unreachable server."""
    crawler: Any = SimpleNamespace(stats=SimpleNamespace(inc_value=lambda *_: None), spider=None)
    stats, handler = CrawlStats(crawler), _Lines()
    logger = logging.getLogger("dedupcrawl.crawl.stats")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with pytest.raises(StoreUnreachableError) as away:
            Deduplicator(f"redis://127.0.0.1:{free_port()}/0")
        stats.outage_began(away.value)
        stats.outage_ended(63.2, 412)
        stats.replayed(430, 9, 0)
        stats.spool_left(Path("/home/me/news/.scrapy/dedup-spool/7d1f/0b5e.sqlite"), 217)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    missing = shows_lines(block.text, "\n".join(handler.lines))
    assert not missing, f"{missing} of {handler.lines}"


def rights(block: Block, runner: PageRunner) -> None:
    """Create a user with exactly these permissions; it must be able to file pages."""
    url = dict(runner.swaps)["redis://redis.example/0"]
    with Redis.from_url(url) as client:
        client.execute_command(*block.text.split())
    own = url.replace("redis://", "redis://crawler:secret@")
    with Deduplicator(own, "rights") as dedup:
        assert [dedup.add(html=html, url=f"https://{at}").keep for at, html in PAGES.items()].count(False) == 2


def superseded(block: Block, runner: PageRunner) -> None:
    """Run a batch with ``--keep latest``."""
    rows = [
        {"url": f"https://{at}", "html": PAGES["a.example/1"], "time": f"2026-05-0{day}T08:00:00Z"}
        for day, at in enumerate(("a.example/old", "b.example/copy", "a.example/new"), 1)
    ]
    (runner.folder / "thrice.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, printed = runner.type("dedupcrawl batch thrice.jsonl --out latest/ --keep latest")
    assert status == 0, printed
    written = (runner.folder / "latest" / "superseded.jsonl").read_text()
    assert json.loads(block.text) == json.loads(runner.there(written)), written


def watching(block: Block, runner: PageRunner) -> None:
    """Render the dashboard of the workers on the page."""
    console = Console(width=80, file=io.StringIO(), force_terminal=False)
    console.print(dashboard(_SEEN, 80, None, 2.0))
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    assert shows(f"…\n{block.text}", printed), printed


def _worker(host: str, process: int, state: str, checked: int, kept: int, copies: int, **more: Any) -> WorkerRecord:
    usual: dict[str, Any] = {"spider": "reader", "uptime": 900.0, "dropped": copies, "related": {}, "calls": 9}
    usual |= {"duplicates": {}, "unchecked": {}, "claims": 0, "interval": 20.0, "recent": 0, "mean": 0, "worst": 0}
    return WorkerRecord(
        "0", state, 3.0, WorkerStats(host=host, process=process, checked=checked, kept=kept, **usual | more)
    )


_SEEN = StoreState(
    "redis://redis.example/0",
    datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    (
        NamespaceState(
            "news",
            StoreInfo(
                url="redis://redis.example/0", namespace="news", pages=84_203, open=31, scraped=0, keys=0,
                bytes=58_942_100, oldest=None, newest=None, scheme="{}", layout="hash", hot=3,
                hottest=(HotBucketInfo("a1b2c3d4e5f6", 780),),
            ),
            WorkersInfo(
                (
                    _worker("crawl-1", 25302, "here", 41_120, 34_089, 7_031, recent=432, claims=16, mean=16.5,
                            worst=59.0, duplicates={"identical": 6_500, "near-duplicate": 531}),
                    _worker("crawl-2", 25303, "here", 43_124, 35_989, 7_135, recent=538, claims=15, mean=14.3,
                            worst=64.0, duplicates={"identical": 6_700, "near-duplicate": 435}),
                    _worker("crawl-2", 24118, "gone", 12_100, 9_100, 2_954, unchecked={"store": 79},
                            duplicates={"identical": 2_862, "near-duplicate": 92}),
                ),
                MemoryInfo(61_700_000, 2_000_000_000),
            ),
            31.3,
        ),
    ),
)  # fmt: skip
