"""The folder of the demo: a Scrapy project in small, and what came of its crawls.

``items.jsonl``   what has been kept, by this crawl and those before it
``summary.json``  the figures of the last crawl
``crawl.jsonl``   the feed of the last crawl, index pages among it
``journal.jsonl`` what became of each page of the last crawl, in order
``crawl.log``     its log
``report.html``   what it kept and dropped, and why, to look at; made from ``report.ledger``
``.scrapy/dedup`` the store (the default one of a Scrapy project); with it the next crawl keeps nothing twice

A Scrapy extension that writes down what became of every item, at once and in order.
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
_OF_LAST = (FEED, "journal.jsonl", "summary.json", REPORT, "report.ledger")
_FILES = ("items.jsonl", "crawl.log", *_OF_LAST)


@dataclass(frozen=True, slots=True)
class DemoProject:
    """The files of the demo below ``path``."""

    path: Path

    def prepare(self, *, fresh: bool) -> None:
        """Make the folder a Scrapy project; with ``fresh`` forget earlier crawls.

        Raises :class:`~dedupcrawl.errors.DedupError` for a folder that is somebody else's project or
        cannot be written.
        """
        project = self.path / "scrapy.cfg"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if project.exists() and project.read_text("utf-8") != PROJECT:
                raise DedupError(
                    f"{self.path} is a Scrapy project already; give the demo a folder of its own"
                )
            project.write_text(PROJECT, "utf-8")
            if fresh:
                self._forget()
        except OSError as error:
            raise DedupError(f"{self.path} cannot be written: {error}") from None

    def _forget(self) -> None:
        for name in _FILES:
            (self.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.path / ".scrapy", ignore_errors=True)

    def kept_urls(self) -> list[str]:
        """Return the URLs of what earlier crawls kept."""
        return [row["url"] for row in self._rows("items.jsonl")]

    def journal(self) -> list[dict[str, Any]]:
        """Return what is known so far of the pages of the crawl, in order."""
        return self._rows("journal.jsonl")

    def add_items(self, is_wanted: Callable[[str], bool]) -> None:
        """Append those items of the last crawl's feed whose URL is wanted."""
        with (self.path / "items.jsonl").open("a", encoding="utf-8") as file:
            for row in self._rows(FEED):
                if is_wanted(row["url"]):
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def write_summary(self, summary: DemoSummary) -> None:
        """Write the figures."""
        (self.path / "summary.json").write_text(json.dumps(asdict(summary), indent=2) + "\n", "utf-8")

    def forget_last(self) -> None:
        """Remove what the next crawl writes anew, so that nothing old is taken for it."""
        for name in _OF_LAST:
            (self.path / name).unlink(missing_ok=True)

    def _rows(self, name: str) -> list[dict[str, Any]]:
        file = self.path / name
        # A last line without its end is still being written.
        *lines, _ = file.read_text("utf-8").split("\n") if file.exists() else ("",)
        return [json.loads(line) for line in lines]


class Journal:
    """One line of JSON an item: ``{"url", "kept", "verdict"}``, into the file ``JOURNAL_FILE``."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Listen to the fate of items."""
        journal = cls(Path(crawler.settings["JOURNAL_FILE"]))
        crawler.signals.connect(journal.scraped, signals.item_scraped)
        crawler.signals.connect(journal.dropped, signals.item_dropped)
        crawler.signals.connect(journal.close, signals.spider_closed)
        return journal

    def scraped(self, item: Any) -> None:
        """Note an item that went through all pipelines."""
        adapter = ItemAdapter(item)
        self._write(adapter["url"], kept=True, verdict=adapter.get("dedup") or {})

    def dropped(self, item: Any, exception: Exception) -> None:
        """Note an item that a pipeline refused; a refusal of another kind than ours has no verdict."""
        verdict: Verdict | None = getattr(exception, "verdict", None)
        self._write(ItemAdapter(item)["url"], kept=False, verdict=verdict.to_dict() if verdict else {})

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _write(self, url: str, *, kept: bool, verdict: dict[str, object]) -> None:
        self._file.write(
            json.dumps({"url": url, "kept": kept, "verdict": verdict}, ensure_ascii=False) + "\n"
        )
        self._file.flush()
