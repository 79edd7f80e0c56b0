"""Page objects of scrapy-poet, and spiders that use them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator  # scrapy-poet reads annotations when it runs
from dataclasses import dataclass, field
from typing import Any

import attrs
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy_poet.api import DummyResponse, callback_for
from web_poet import HttpClient, ItemPage, RequestUrl, WebPage
from web_poet import field as page_field
from zyte_common_items import Product as ExtractedProduct

from dedupcrawl import DedupPage, DedupVerdict


@attrs.define
class Article:
    """An item of a page."""

    url: str
    title: str
    summary: str = ""
    language: str = ""


@attrs.define
class ArticlePage(WebPage[Article]):
    """Reads an article by itself."""

    @page_field
    def url(self) -> str:
        return str(self.response.url)

    @page_field
    def title(self) -> str:
        return self.css("h1::text").get("")


@attrs.define
class JudgedPage(ArticlePage):
    """Asks for the page that dedupcrawl reads, and for the verdict, before work that costs much."""

    page: DedupPage
    dedup: DedupVerdict

    @page_field
    def summary(self) -> str:
        return f"copy of {self.dedup.of}" if self.dedup.is_duplicate else self.page.text[:20]

    @page_field
    def language(self) -> str:
        return self.page.reason or str(self.dedup.status)


@dataclass
class Picture:
    """A picture of a product."""

    url: str


@dataclass
class Product:
    """An item that an API returns."""

    url: str
    name: str = ""
    description: str = ""
    price: float | None = None
    scraped_at: str = ""
    pictures: list[Picture] = field(default_factory=list)


@attrs.define
class ProductPage(ItemPage[Product]):
    """Asks an API instead of the page: the page need not be downloaded."""

    url: RequestUrl
    client: HttpClient

    async def to_item(self) -> Product:
        answer = await self.client.get(str(self.url).replace("/product/", "/api/"))
        found: dict[str, Any] = answer.json()
        pictures = [Picture(each) for each in found.pop("pictures", [])]
        return Product(str(self.url), **found, pictures=pictures)


class Poet(Spider):
    """Yields the item of the page object of each URL."""

    name = "poet"
    page: type[Any] = ArticlePage

    def __init__(self, urls: list[str], meta: dict[str, Any] | None = None, **args: Any) -> None:
        super().__init__(**args)
        self.urls, self.meta = urls, meta or {}

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls:
            yield Request(url, self.parse_page, meta=dict(self.meta), dont_filter=True)

    parse_page = callback_for(ArticlePage)


class JudgingPoet(Poet):
    """Its page object has the verdict."""

    parse_page = callback_for(JudgedPage)


class JudgingCallback(Poet):
    """Its callback has the verdict, without a page object."""

    def parse_page(self, response: Response, page: DedupPage, dedup: DedupVerdict) -> Iterator[Any]:
        title = response.css("h1::text").get("")
        yield Article(response.url, title, page.text[:20], page.reason or str(dedup.status))


class Undownloaded(Poet):
    """Yields items of pages that are not downloaded."""

    parse_page = callback_for(ProductPage)


class OddText(str):
    """A value that cannot be read."""

    __slots__ = ()

    def __str__(self) -> str:
        raise ValueError("no text")


class Unreadable(Poet):
    """Yields items of pages that are not downloaded, with a value that cannot be read."""

    async def parse_page(self, response: DummyResponse, page: ProductPage) -> AsyncIterator[Any]:
        yield {**vars(await page.to_item()), "value": OddText("odd")}


class Mixed(Undownloaded):
    """Passes the item of a downloaded page on to a request whose page is not downloaded."""

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls:
            yield Request(url, self.parse_article)

    def parse_article(self, response: Response) -> Iterator[Request]:
        item = Article(response.url, response.css("h1::text").get(""))
        yield response.follow(f"/product/{response.url[-1]}", self.parse_more, cb_kwargs={"item": item})  # type: ignore[arg-type]

    async def parse_more(self, response: DummyResponse, item: Article, more: ProductPage) -> AsyncIterator[Article]:
        item.summary = (await more.to_item()).name
        yield item


class Extracted(Poet):
    """Yields the products that an API has extracted."""

    def parse_page(self, response: DummyResponse, product: ExtractedProduct) -> Iterator[Any]:
        yield product
