"""The spider ``site``: crawls one or more hosts, and makes an item of each page."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from dedupcrawl.errors import SettingError
from dedupcrawl.page import PageError, read_response
from dedupcrawl.page.document import is_encoding

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from dedupcrawl.page import Page

_ACCEPTED = 'one or more addresses joined by commas, as in -a url="https://example.com,https://example.org"'


@dataclass
class SitePage:
    """The item of a page."""

    url: str
    site: str  #: host, and port if it is not the default
    title: str
    text: str  #: main text, one paragraph per line
    kind: str  #: article, index or empty; "" if it could not be read
    published: str = ""  #: as written in the page
    language: str = ""
    canonical: str = ""
    author: str = ""  #: main text of the page of its author, with the argument ``authors``
    dedup: dict[str, Any] | None = None  #: :meth:`dedupcrawl.Verdict.to_dict`


class SiteSpider(Spider):
    """Follows every link to the start hosts and their subdomains.

    Args:
        url: start address, or several joined by commas; all ports of a host are crawled.
        authors: whether an item gets the main text of the page that its own page names as that of its author
            (``<link rel="author">``): "1" or "0".

    Raises:
        SettingError: ``url`` is missing, or is no http(s) address; ``authors`` is neither "1" nor "0".
    """

    name = "site"

    def __init__(self, url: str = "", authors: str = "0", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if authors not in ("0", "1"):
            raise SettingError("authors", authors, '"1" or "0"')
        self.follows_authors = authors == "1"
        self.starts = tuple(address.strip() for address in url.split(",") if address.strip())
        if not self.starts:
            raise SettingError("url", url, _ACCEPTED)
        self.allowed_domains = sorted({_host(address) for address in self.starts})
        self._links = LinkExtractor()

    async def start(self) -> AsyncIterator[Request]:
        """Request each start address; a link back to it is filtered as a duplicate request."""
        for address in self.starts:
            yield Request(address)

    def parse(self, response: Response, **_: Any) -> Iterator[SitePage | Request]:
        """Yield the item of the page, then requests for its links."""
        if not isinstance(response, HtmlResponse):
            return
        item = _item(response)
        author = response.xpath('//link[@rel="author"]/@href').get() if self.follows_authors else None
        if author:  # one page for all articles of an author, hence dont_filter
            carried = {"item": item}
            yield response.follow(
                author, self.parse_author, errback=self.author_failed, dont_filter=True, cb_kwargs=carried
            )
        else:
            yield item
        if not is_encoding(response.encoding):  # such as "idna", which raises exceptions
            response = response.replace(encoding="utf-8")
        for link in self._links.extract_links(response):
            yield response.follow(link)

    def parse_author(self, response: Response, item: SitePage) -> Iterator[SitePage]:
        """Yield the item of an article, completed on the page of its author."""
        with suppress(PageError):
            if isinstance(response, HtmlResponse):
                item.author = read_response(response).text
        yield item

    def author_failed(self, failure: Failure) -> Iterator[SitePage]:
        """Yield the item of an article as it is: the page of its author cannot be fetched."""
        yield failure.request.cb_kwargs["item"]  # type: ignore[attr-defined]  # set by Scrapy


def _host(address: str) -> str:
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise SettingError("url", address, _ACCEPTED)
    return host.removeprefix("www.")


def _item(response: HtmlResponse) -> SitePage:
    site = urlsplit(response.url).netloc
    try:
        page: Page = read_response(response)
    except PageError:
        return SitePage(response.url, site, title="", text="", kind="")
    return SitePage(
        url=response.url,
        site=site,
        title=page.title,
        text=page.text,
        kind=str(page.kind),
        published=page.published,
        language=page.language,
        canonical=page.canonical,
    )
