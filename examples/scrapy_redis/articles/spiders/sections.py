"""The spider ``sections``: as ``news``, with the rules of a CrawlSpider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Rule
from scrapy_redis.spiders import RedisCrawlSpider

from articles.idling import Patient
from articles.spiders.news import article_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.http import Response


class SectionsSpider(Patient, RedisCrawlSpider):
    """Takes start addresses from the list ``sections:start_urls``."""

    name = "sections"
    redis_batch_size = 1
    rules: ClassVar[Sequence[Rule]] = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def parse_page(self, response: Response) -> Iterator[dict[str, Any]]:
        """Yield the article of a page, if it has one."""
        if isinstance(response, HtmlResponse):
            yield from article_of(response)
