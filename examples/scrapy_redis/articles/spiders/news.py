"""The spider ``news``: every article of the sites whose addresses are put into Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy_redis.spiders import RedisSpider

from articles.idling import Patient
from dedupcrawl.page import Kind, PageError, read_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response


class NewsSpider(Patient, RedisSpider):
    """Takes start addresses from the list ``news:start_urls``, and follows the links within each site."""

    name = "news"
    redis_batch_size = 1  # otherwise the first worker takes all start addresses

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        """Yield the article of a page, if it has one, then requests for its links."""
        if not isinstance(response, HtmlResponse):
            return
        yield from article_of(response)
        links = LinkExtractor(allow_domains=[urlsplit(response.url).netloc])
        yield from response.follow_all(links.extract_links(response))


def article_of(response: HtmlResponse) -> Iterator[dict[str, Any]]:
    """Yield the item of a page that is an article."""
    try:
        page = read_response(response)
    except PageError:
        return
    if page.kind is Kind.ARTICLE:
        yield {"url": response.url, "title": page.title, "text": page.text}
