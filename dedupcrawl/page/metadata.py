"""What the head of a page says of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from collections.abc import Iterable

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
