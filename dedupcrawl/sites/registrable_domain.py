"""The site of a URL.

The site is the domain that somebody can register, by the public suffix list (https://publicsuffix.org/list/) with its
private part. The list is the one that comes with tldextract: nothing is fetched, and no cache is written.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tldextract import TLDExtract


def registrable_domain(host: str) -> str:
    """Return the public suffix of a host with one more label; "" if it has none, as an address or a suffix itself.

    Args:
        host: a host without a port, in any case.

    >>> registrable_domain("www.shop.example.co.uk"), registrable_domain("a.github.io"), registrable_domain("localhost")
    ('example.co.uk', 'a.github.io', '')
    """
    found = _extractor().extract_str(host)
    return f"{found.domain}.{found.suffix}" if found.domain and found.suffix else ""


@cache
def _extractor() -> TLDExtract:
    """Load the list when it is first needed: many commands need none, and the import takes 0.1 seconds."""
    from tldextract import TLDExtract  # noqa: PLC0415

    return TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)


_URL_PATH = re.compile(r"[/?#]")  #: begins what follows the host


def site_of(url: str) -> str:
    """Return the site of a URL: the registrable domain of its host, or the host if it has none.

    By the private part of the public suffix list, two blogs of one provider are two sites.

    >>> site_of("https://www.shop.example.co.uk:8443/a"), site_of("http://127.0.0.1:8000/")
    ('example.co.uk', '127.0.0.1:8000')
    """
    host = host_of(url)
    return _site_of_host(host) if host else ""


def host_of(url: str) -> str:
    """Return host and port of a URL in lower case, without user and password; "" if it has none.

    Never raises an error, as ``urlsplit`` does at an unclosed bracket.
    """
    rest = url.partition("://")[2]
    return _URL_PATH.split(rest, maxsplit=1)[0].rpartition("@")[2].lower()


@lru_cache(maxsize=16_384)
def _site_of_host(host: str) -> str:
    name = host.partition(":")[0]
    known = registrable_domain(name)
    if known or "." not in name or name.replace(".", "").isdigit() or host.startswith("["):
        return known or host
    return ".".join(name.split(".")[-2:])  # the default rule of the public suffix list


class SiteComparison:
    """Tells whether pages are of the site of one page.

    Args:
        url: of that page; pages without a URL are of no site.

    >>> is_own = SiteComparison("https://www.shop.example/a")
    >>> is_own.has("https://www.shop.example/b"), is_own.has("https://shop.example/"), is_own.has("")
    (True, True, False)
    """

    __slots__ = ("_origin", "_site")

    def __init__(self, url: str) -> None:
        self._site = site_of(url) if url else None
        host = url.find("://") + 3
        end = url.find("/", host) + 1
        #: the beginning of all URLs of its host, which need no look-up of their site; "" if it has none
        self._origin = url[:end] if host > 2 and end else ""

    def has(self, url: str) -> bool:
        """Return whether another page is of this site."""
        if self._origin and url.startswith(self._origin):
            return True
        return bool(url) and self._site is not None and site_of(url) == self._site
