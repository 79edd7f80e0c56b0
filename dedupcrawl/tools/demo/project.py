"""The folder of the demo: a small Scrapy project, and the results of its crawls.

``items.jsonl``   the items kept by all crawls
``summary.json``  the figures of the last crawl
``crawl.jsonl``   the feed of the last crawl, with index pages
``journal.jsonl`` the outcome of each page of the last crawl, in order
``crawl.log``     the log of the last crawl
``report.html``   the report of the last crawl, made from ``report.ledger``
``.scrapy/dedup`` the store (the default one of a Scrapy project)
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from itemadapter import ItemAdapter
from scrapy import signals

from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from dedupcrawl.tools.demo.truth import DemoSummary
    from dedupcrawl.verdict import Verdict


PROJECT = "[settings]\ndefault = dedupcrawl.tools.demo.settings\n"
FEED = "crawl.jsonl"
REPORT = "report.html"
_LAST_CRAWL = (FEED, "journal.jsonl", "summary.json", REPORT, "report.ledger")
_FILES = ("items.jsonl", "crawl.log", *_LAST_CRAWL)


@dataclass(frozen=True, slots=True)
class DemoProject:
    """The files of the demo below ``path``."""

    path: Path

    def prepare(self, *, fresh: bool) -> None:
        """Make the folder a Scrapy project; ``fresh``: remove the results of earlier crawls.

        Raises:
            DedupError: the folder is another Scrapy project, or cannot be written.
        """
        project = self.path / "scrapy.cfg"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if project.exists() and project.read_text("utf-8") != PROJECT:
                raise DedupError(f"{self.path} is a Scrapy project already; give the demo a folder of its own")
            project.write_text(PROJECT, "utf-8")
            if fresh:
                for name in _FILES:
                    (self.path / name).unlink(missing_ok=True)
                shutil.rmtree(self.path / ".scrapy", ignore_errors=True)
        except OSError as error:
            raise DedupError(f"{self.path} cannot be written: {error}") from None

    def kept_urls(self) -> list[str]:
        """Return the URLs of the items kept so far."""
        return [row["url"] for row in self._rows("items.jsonl")]

    def journal(self) -> list[dict[str, Any]]:
        """Return the outcomes of pages written so far, in order."""
        return self._rows("journal.jsonl")

    def add_items(self, is_wanted: Callable[[str], bool]) -> None:
        """Append the items of the last crawl whose URL is wanted to ``items.jsonl``."""
        with (self.path / "items.jsonl").open("a", encoding="utf-8") as file:
            for row in self._rows(FEED):
                if is_wanted(row["url"]):
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def write_summary(self, summary: DemoSummary) -> None:
        """Write the figures."""
        (self.path / "summary.json").write_text(json.dumps(asdict(summary), indent=2) + "\n", "utf-8")

    def remove_last(self) -> None:
        """Remove the results of the last crawl, so that they are not taken for those of the next."""
        for name in _LAST_CRAWL:
            (self.path / name).unlink(missing_ok=True)

    def _rows(self, name: str) -> list[dict[str, Any]]:
        file = self.path / name
        # A last line without a line end is still being written.
        *lines, _ = file.read_text("utf-8").split("\n") if file.exists() else ("",)
        return [json.loads(line) for line in lines]


class Journal:
    """Scrapy extension that writes ``{"url", "kept", "verdict"}`` for each item to ``JOURNAL_FILE``."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the item signals."""
        journal = cls(Path(crawler.settings["JOURNAL_FILE"]))
        crawler.signals.connect(journal.scraped, signals.item_scraped)
        crawler.signals.connect(journal.dropped, signals.item_dropped)
        crawler.signals.connect(journal.close, signals.spider_closed)
        return journal

    def scraped(self, item: Any) -> None:
        """Write an item that passed all pipelines."""
        adapter = ItemAdapter(item)
        self._write(adapter["url"], kept=True, verdict=adapter.get("dedup") or {})

    def dropped(self, item: Any, exception: Exception) -> None:
        """Write a dropped item; one that another pipeline dropped has no verdict."""
        verdict: Verdict | None = getattr(exception, "verdict", None)
        self._write(ItemAdapter(item)["url"], kept=False, verdict=verdict.to_dict() if verdict else {})

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, url: str, *, kept: bool, verdict: dict[str, object]) -> None:
        row = {"url": url, "kept": kept, "verdict": verdict}
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self._file.flush()
