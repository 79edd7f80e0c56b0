"""Spiders for other packages, without any code for deduplication."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.loader import ItemLoader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure


class Titles(Spider):
    """Yields URL and title of each page; ``meta`` is that of the requests."""

    name = "titles"

    def __init__(self, urls: list[str], meta: dict[str, Any] | None = None, **args: Any) -> None:
        super().__init__(**args)
        self.urls, self.meta = urls, meta or {}

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield self.request(url)

    def request(self, url: str) -> Request:
        """Return the request of a URL."""
        return Request(url, meta=dict(self.meta))

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "title": response.css("h1::text").get(""), "kind": type(response).__name__}


class Browsing(Titles):
    """Reads the page of the browser, which it closes, instead of the response."""

    def request(self, url: str) -> Request:
        return super().request(url).replace(errback=self.close_page)

    async def close_page(self, failure: Failure) -> None:
        await failure.request.meta["playwright_page"].close()  # type: ignore[attr-defined]
        self.logger.info("closed a page of the browser")

    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        page = response.meta["playwright_page"]
        title = await page.locator("h1").inner_text()
        await page.close()
        yield {"url": response.url, "title": title, "kind": type(response).__name__}


class Loading(Titles):
    """Makes its items with a loader."""

    def parse(self, response: Response) -> Iterator[Any]:
        loader = ItemLoader(item={}, response=response)  # type: ignore[arg-type]
        loader.add_value("url", response.url)
        loader.add_css("title", "h1::text")
        yield loader.load_item()


class Pictures(Titles):
    """Yields the picture of each page, for the pipelines that download it."""

    def parse(self, response: Response) -> Iterator[Any]:
        for item in super().parse(response):
            yield {**item, "file_urls": [f"{response.url}.png"], "image_urls": [f"{response.url}.png"]}


class Following(Titles):
    """Follows the links of a list, and yields an item for each page with a heading."""

    def parse(self, response: Response) -> Iterator[Any]:
        if response.css("h1"):
            yield from super().parse(response)
        for link in response.css("a.follow::attr(href)").getall():
            yield response.follow(link, self.parse)
