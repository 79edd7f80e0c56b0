"""A Scrapy extension that writes down what became of every item, at once and in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from itemadapter import ItemAdapter
from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from dedupcrawl.verdict import Verdict


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
