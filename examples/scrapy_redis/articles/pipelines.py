"""The pipeline that stores articles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from itemadapter import ItemAdapter

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class JsonLines:
    """Writes each article at once, a line of JSON, to the worker's own file.

    The article has been written when this pipeline returns, and dedupcrawl commits it after that. A feed (``-o``)
    would keep it in a buffer that a killed worker loses.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Name the file after the worker."""
        return cls(Path(f"articles-{crawler.settings['WORKER']}.jl"))

    def process_item(self, item: Any) -> Any:
        """Write an item."""
        self._file.write(json.dumps(ItemAdapter(item).asdict(), ensure_ascii=False) + "\n")
        self._file.flush()
        return item

    def close_spider(self) -> None:
        """Close the file."""
        self._file.close()
