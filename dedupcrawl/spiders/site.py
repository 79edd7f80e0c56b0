"""The spider ``site``: every page of one or more hosts, an item each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from dedupcrawl.errors import SettingError
from dedupcrawl.page import PageError, read_response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

    from dedupcrawl.page import Page

_ACCEPTED = 'one or more addresses joined by commas, as in -a url="https://example.com,https://example.org"'


@dataclass
class SitePage:
    """What is stored of a page."""

    url: str
    site: str  #: host, with the port if it is not the usual one
    title: str
    text: str  #: main text, a paragraph a line
    kind: str  #: article, index or empty; "" if it could not be read
    published: str = ""  #: as the page writes it
    language: str = ""
    canonical: str = ""
    dedup: dict[str, Any] | None = None  #: the verdict, as :meth:`dedupcrawl.Verdict.to_dict` gives it


class SiteSpider(Spider):
    """Follows every link; those that leave the hosts it starts from (and their subdomains) are not requested.

    Args:
        url: where to start; several addresses are joined by commas. The ports of a host are one.

    Raises:
        SettingError: ``url`` is missing, or is no http(s) address.
    """

    name = "site"

    def __init__(self, url: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.starts = tuple(address.strip() for address in url.split(",") if address.strip())
        if not self.starts:
            raise SettingError("url", url, _ACCEPTED)
        self.allowed_domains = sorted({_host(address) for address in self.starts})
        self._links = LinkExtractor()

    async def start(self) -> AsyncIterator[Request]:
        """Request the addresses given, once each although pages link back to them."""
        for address in self.starts:
            yield Request(address)

    def parse(self, response: Response, **_: Any) -> Iterator[SitePage | Request]:
        """Yield the page, then what it links to."""
        if not isinstance(response, HtmlResponse):
            return
        yield _item(response)
        for link in self._links.extract_links(response):
            yield response.follow(link)


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
