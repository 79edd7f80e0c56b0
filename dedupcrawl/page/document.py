"""Text to tree: which bodies are refused, how HTML is parsed, and the metadata in the head of a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urljoin

from lxml import html
from parsel.selector import create_root_node

from dedupcrawl.page.encoding import decode
from dedupcrawl.page.model import BINARY, TOO_DEEP, TOO_LARGE, PageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element


#: First bytes of common binary file formats.
SIGNATURES = (
    b"%PDF-", b"\x89PNG\r\n", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"\x7fELF", b"MZ\x90",
    b"Rar!", b"7z\xbc\xaf", b"ID3", b"OggS", b"RIFF", b"\xd0\xcf\x11\xe0", b"\0\0\0\x18ftyp", b"\0\0\0 ftyp",
    b"BZh9", b"wOFF", b"\xfd7zXZ", b"II*\0", b"MM\0*", b"\x1aE\xdf\xa3", b"FWS", b"CWS",
)  # fmt: skip
#: "Binary data bytes" of the WHATWG MIME Sniffing Standard, without NUL: broken pages contain it.
BINARY_BYTES = bytes({*range(0x01, 0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)})
UTF16_STARTS = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
SNIFFED_BYTES = 4096  #: bytes at the start of a body that are checked for binary data
MAX_BINARY_SHARE = 0.02  #: share of binary bytes among them that a broken page may have
MAX_DEPTH = 2040  #: levels; libxml2 stops at 2,048

#: For each metadata field, the names under which pages give it, the most reliable first.
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


def is_binary(body: bytes) -> bool:
    """Return whether a body is binary data, whatever its Content-Type is."""
    if body.startswith(SIGNATURES):
        return True
    if body.startswith(UTF16_STARTS):
        return False
    start = body[:SNIFFED_BYTES]
    return len(start) - len(start.translate(None, BINARY_BYTES)) > MAX_BINARY_SHARE * len(start)


def check_size(size: int, max_bytes: int) -> None:
    """Raise :class:`PageError` for a page of more than ``max_bytes`` bytes."""
    if size > max_bytes:
        raise PageError(TOO_LARGE, f"a page of {size} bytes is larger than max_bytes = {max_bytes}")


def check_depth(root: _Element) -> None:
    """Raise :class:`PageError` if the parser stopped because tags were nested too deep.

    The part that it left out may be all that distinguishes the page from another one. At the place where the
    parser stopped, the last child of every level is the parent of the next.
    """
    depth = 0
    while len(root):
        root = root[-1]
        depth += 1
    if depth >= MAX_DEPTH:
        raise PageError(TOO_DEEP, f"tags are nested {depth} levels deep, beyond which nothing is parsed")


def check_body(body: bytes, max_bytes: int, name: str = "the page") -> None:
    """Raise :class:`PageError` for a body that is too large or binary; ``name`` is used in the message."""
    check_size(len(body), max_bytes)
    if is_binary(body):
        raise PageError(BINARY, f"{name} is binary data, not text")


def to_text(source: bytes | str, *, encoding: str | None, content_type: str, max_bytes: int) -> str:
    """Return the text of a page. Raises :class:`PageError` for one that is too large or binary."""
    if isinstance(source, str):
        check_size(len(source), max_bytes)
        return source
    check_body(source, max_bytes)
    return decode(source, encoding=encoding, content_type=content_type)


def parse(text: str) -> _Element:
    """Parse a page as Scrapy does. Broken markup is repaired; there is always a root element."""
    return create_root_node("", html.HTMLParser, body=text.encode("utf-8", "replace"))


class Metadata(TypedDict):
    """The metadata fields of a :class:`~dedupcrawl.page.model.Page`; "" if the page does not give them."""

    title: str
    description: str
    keywords: str
    published: str
    canonical: str
    language: str


def metadata(entries: Iterable[str], url: str) -> Metadata:
    """Return the metadata in the ``name=value`` entries of a flattened page; the first of a name counts."""
    values: dict[str, str] = {}
    for entry in entries:
        name, _, value = entry.partition("=")
        if value:
            values.setdefault(name.lower(), value)
    if "ld" in values:
        found = _json_string(values["ld"])
        values["ld"] = found[1] if found else ""
    return Metadata(
        title=_first_value(values, TITLE),
        description=_first_value(values, DESCRIPTION),
        keywords=_first_value(values, KEYWORDS),
        published=_first_value(values, PUBLISHED),
        canonical=_absolute_url(url, _first_value(values, CANONICAL)),
        language=primary_subtag(_first_value(values, LANGUAGE)),
    )


def _absolute_url(base: str, target: str) -> str:
    try:
        return urljoin(base, target) if target else ""
    except ValueError:  # for example "http://["
        return target


def _first_value(values: dict[str, str], names: tuple[str, ...]) -> str:
    found = (" ".join(values[name].split()) for name in names if name in values)
    return next(filter(None, found), "")


def primary_subtag(tag: str) -> str:
    """Return the language of a BCP 47 tag or a locale.

    >>> primary_subtag("zh-Hans-CN"), primary_subtag("en_GB"), primary_subtag("unknown")
    ('zh', 'en', '')
    """
    found = _subtag(tag.strip().lower())
    return found.group() if found else ""
