"""Text to tree: what is refused, what is repaired, and how HTML is parsed.

What the head of a page says of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from lxml import html
from parsel.selector import create_root_node

from dedupcrawl.page.encoding import decode
from dedupcrawl.page.model import BINARY, TOO_DEEP, TOO_LARGE, PageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element


#: How files that are no text begin.
SIGNATURES = (
    b"%PDF-", b"\x89PNG\r\n", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"\x7fELF", b"MZ\x90",
    b"Rar!", b"7z\xbc\xaf", b"ID3", b"OggS", b"RIFF", b"\xd0\xcf\x11\xe0", b"\0\0\0\x18ftyp", b"\0\0\0 ftyp",
    b"BZh9", b"wOFF", b"\xfd7zXZ", b"II*\0", b"MM\0*", b"\x1aE\xdf\xa3", b"FWS", b"CWS",
)  # fmt: skip
#: Bytes that no text has, by the WHATWG MIME Sniffing Standard; NUL is left out: broken pages hold it.
BINARY_BYTES = bytes({*range(0x01, 0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)})
UTF16_STARTS = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
LOOKED_AT = 4096  #: bytes of a page that are searched for signs of binary data
DEEPEST = 2040  #: levels; libxml2 stops at 2,048
BINARY_SHARE = 0.02  #: of them, how many binary ones a broken page may have


def is_binary(body: bytes) -> bool:
    """Whether bytes are no text at all, whatever their Content-Type says."""
    if body.startswith(SIGNATURES):
        return True
    if body.startswith(UTF16_STARTS):
        return False
    start = body[:LOOKED_AT]
    return len(start) - len(start.translate(None, BINARY_BYTES)) > BINARY_SHARE * len(start)


def check_size(size: int, most: int) -> None:
    """Raise :class:`PageError` if a page has more than ``most`` bytes."""
    if size > most:
        raise PageError(TOO_LARGE, f"a page of {size} bytes is larger than max_bytes = {most}")


def check_depth(root: _Element) -> None:
    """Raise :class:`PageError` if the parser has stopped because tags were nested too deep.

    What it left out may be all that tells the page from another one. Where it stopped, the last
    element of every level is the parent of the next.
    """
    depth = 0
    while len(root):
        root = root[-1]
        depth += 1
    if depth >= DEEPEST:
        raise PageError(TOO_DEEP, f"tags are nested {depth} levels deep, beyond which nothing is parsed")


def check_body(body: bytes, most: int, name: str = "the page") -> None:
    """Raise :class:`PageError` for bytes that are too many, or no text; the message calls them ``name``."""
    check_size(len(body), most)
    if is_binary(body):
        raise PageError(BINARY, f"{name} is binary data, not text")


def to_text(source: bytes | str, *, encoding: str | None, content_type: str, most: int) -> str:
    """Return a page's text. Raises :class:`PageError` for what is too large or no text."""
    if isinstance(source, str):
        check_size(len(source), most)
        return source
    check_body(source, most)
    return decode(source, encoding=encoding, content_type=content_type)


def parse(text: str) -> _Element:
    """Parse a page as Scrapy does; broken markup is repaired, and there is always a root."""
    return create_root_node("", html.HTMLParser, body=text.encode("utf-8", "replace"))


#: For each field the names it goes by, the most trusted first.
TITLE = ("og:title", "title", "headline")
DESCRIPTION = ("description", "og:description", "dc.description", "twitter:description")
KEYWORDS = ("keywords", "news_keywords", "dc.subject")
CANONICAL = ("canonical", "og:url")
LANGUAGE = ("lang", "content-language", "og:locale", "dc.language")
PUBLISHED = (
    "article:published_time", "datepublished", "og:published_time", "pubdate", "publishdate", "publish-date",
    "publish_date", "ptime", "og:release_date", "dc.date.issued", "dc.date", "dcterms.created",
    "sailthru.date", "parsely-pub-date", "weibo: article:create_at", "og:time", "date", "ld", "time",
)  # fmt: skip

_json_string = re.compile(r'\s*:\s*"([^"]+)"').match
_subtag = re.compile(r"(?!utf)[a-z]{2,3}(?![a-z])").match


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata fields of a :class:`~dedupcrawl.page.model.Page`; "" for what the page does not say."""

    title: str = ""
    description: str = ""
    keywords: str = ""
    published: str = ""
    canonical: str = ""
    language: str = ""


def metadata(entries: Iterable[str], url: str) -> Metadata:
    """Choose among the ``name=value`` entries of a flattened page; the first of a name counts."""
    said: dict[str, str] = {}
    for entry in entries:
        name, _, value = entry.partition("=")
        if value:
            said.setdefault(name.lower(), value)
    if "ld" in said:
        found = _json_string(said["ld"])
        said["ld"] = found[1] if found else ""
    return Metadata(
        title=_first(said, TITLE),
        description=_first(said, DESCRIPTION),
        keywords=_first(said, KEYWORDS),
        published=_first(said, PUBLISHED),
        canonical=_absolute(url, _first(said, CANONICAL)),
        language=primary_subtag(_first(said, LANGUAGE)),
    )


def _absolute(base: str, target: str) -> str:
    try:
        return urljoin(base, target) if target else ""
    except ValueError:  # "http://[" and its like
        return target


def _first(said: dict[str, str], names: tuple[str, ...]) -> str:
    for name in names:
        if name in said:
            value = " ".join(said[name].split())
            if value:
                return value
    return ""


def primary_subtag(tag: str) -> str:
    """Return the language of a BCP 47 tag or a locale.

    >>> primary_subtag("zh-Hans-CN"), primary_subtag("en_GB"), primary_subtag("unknown")
    ('zh', 'en', '')
    """
    found = _subtag(tag.strip().lower())
    return found.group() if found else ""
