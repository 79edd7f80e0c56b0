"""URLs of pages, as items and requests name them: as keys, which are equal for the usual variants of one URL."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy.http import TextResponse
from w3lib.url import safe_url_string

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response


def page_key(url: str) -> int:
    """Return a hash that is the same for a URL with another scheme, another fragment, or a slash at its end."""
    if not url.isascii() or " " in url:
        with suppress(ValueError):  # "http://[": it is no URL, and a key of its own text
            url = safe_url_string(url.strip())
    return hash((url.partition("#")[0].partition("://")[2] or url).rstrip("/"))


def url_key_at(url: str, response: Response) -> int:
    """Return the key of a URL on the page of a response, which may be relative to it."""
    if "://" not in url:
        with suppress(ValueError):  # "//[": as in page_key
            url = response.urljoin(url)
    return page_key(url)


def url_keys(response: Response) -> Iterator[int]:
    """Yield the keys of the URLs of a response: its own, that of its request, and those that were redirected to it."""
    yield page_key(response.url)
    if response.request is not None:
        yield page_key(response.request.url)
        yield from map(page_key, response.request.meta.get("redirect_urls", ()))


def is_url_of(key: int, response: Response) -> bool:
    """Whether this is the key of a URL of a response."""
    return key in url_keys(response)


def is_canonical_url(key: int, response: Response) -> bool:
    """Whether the page of a response declares that the URL with this key is its canonical one."""
    if not isinstance(response, TextResponse):
        return False
    try:
        links = response.xpath('//link[@rel="canonical"]/@href').getall()
    except ValueError:  # JSON
        return False
    return any(url_key_at(link, response) == key for link in links)


def as_url(value: Any) -> str:
    """Return the text of a field with a URL, or the first of a list; "" for anything else.

    A URL may be an object, such as ``pydantic.HttpUrl``.
    """
    if isinstance(value, list | tuple) and value:
        value = value[0]
    if isinstance(value, str):
        return value
    return str(value) if hasattr(value, "scheme") and hasattr(value, "host") else ""
