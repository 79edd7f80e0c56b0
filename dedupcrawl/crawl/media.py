"""Requests that are not made since an item is dropped: those for its files and images."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

MOST_REMEMBERED = 100_000  #: URLs; those beyond them may be counted twice


class Media:
    """Knows which fields Scrapy's files and images pipelines would fetch.

    Only those that stand after ours, for the others have fetched already; and only those that make their
    requests as Scrapy does, for of others nobody knows what they would ask for.
    """

    def __init__(self) -> None:
        self._fields: tuple[str, ...] = ()
        self._seen: set[bytes] = set()

    @property
    def is_there(self) -> bool:
        """Whether there is anything to save."""
        return bool(self._fields)

    def look(self, crawler: Crawler, ours: object) -> None:
        """Look for such pipelines after ``ours``; the engine is there by now."""
        pipelines = crawler.engine.scraper.itemproc.middlewares if crawler.engine else ()
        later = pipelines[pipelines.index(ours) + 1 :] if ours in pipelines else ()
        self._fields = tuple(dict.fromkeys(field for each in later if (field := _field_of(each))))

    def passed(self, item: Any) -> None:
        """Note what is asked for an item that goes on: no copy of it saves that."""
        if self._fields:
            for url in _urls(item, self._fields):
                self._is_news(url)

    def spared(self, item: Any) -> int:
        """Count requests that would have been made for an item; each URL is asked for once in a crawl."""
        if not self._fields:
            return 0
        return sum(self._is_news(url) for url in _urls(item, self._fields))

    def _is_news(self, url: str) -> bool:
        hashed = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        news = hashed not in self._seen
        if news and len(self._seen) < MOST_REMEMBERED:
            self._seen.add(hashed)
        return news


def _field_of(pipeline: object) -> str:
    """Return the field with URLs that a pipeline fetches, "" if it is none of Scrapy's kind."""
    from scrapy.pipelines.files import FilesPipeline  # noqa: PLC0415  # heavy, and rarely needed
    from scrapy.pipelines.images import ImagesPipeline  # noqa: PLC0415

    if not isinstance(pipeline, FilesPipeline):
        return ""
    asks = type(pipeline).get_media_requests
    if isinstance(pipeline, ImagesPipeline):
        return pipeline.images_urls_field if asks is ImagesPipeline.get_media_requests else ""
    return pipeline.files_urls_field if asks is FilesPipeline.get_media_requests else ""


def _urls(item: Any, fields: tuple[str, ...]) -> Iterator[str]:
    adapter = ItemAdapter(item) if ItemAdapter.is_item(item) else {}
    for field in fields:
        urls = adapter.get(field)
        if isinstance(urls, list | tuple):
            yield from (url for url in urls if isinstance(url, str))
