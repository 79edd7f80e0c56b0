"""The text of items: of the fields that ``DEDUP_ITEM_FIELDS`` names, or of all fields."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter

from dedupcrawl.crawl.page_urls import as_url
from dedupcrawl.page import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from dedupcrawl.crawl.stats import CrawlStats

FIELD_SAMPLE = 20  #: items after which it is clear that no item has a field


def read_item(item: Any, names: Sequence[str], url: str) -> Page:
    """Make a page of the text in the fields ``names`` of an item; missing fields are ignored."""
    adapter = ItemAdapter(item) if ItemAdapter.is_item(item) else {}
    texts = [(name, _text(adapter.get(name))) for name in names]
    page = Page.from_text("\n".join(text for _, text in texts if text), url)
    return replace(page, fields=tuple(texts))


def own_url(item: Any) -> str:
    """Return the field ``url`` of an item, "" if it has none."""
    url = ItemAdapter(item).get("url") if ItemAdapter.is_item(item) else ""
    return url if isinstance(url, str) else ""


class ItemFields:
    """The fields of ``DEDUP_ITEM_FIELDS``; logs those that no item has, such as a misspelt one.

    Args:
        names: of the fields.
        stats: log them.
    """

    def __init__(self, names: Sequence[str], stats: CrawlStats) -> None:
        self._names = names
        self._stats = stats
        self._missing = dict.fromkeys(names)
        self._found: dict[str, None] = {}  # of the items so far
        self._items = 0

    def has_any(self, item: Any) -> bool:
        """Whether an item has one of the fields, with or without a value."""
        found = ItemAdapter(item).field_names() if ItemAdapter.is_item(item) else ()
        if self._missing:
            self._count(found)
        return any(name in found for name in self._names)

    def warn(self) -> None:
        """Log the fields that no item has had so far, once."""
        for name in self._missing if self._items else ():
            self._stats.field_missing(name, self._items, ", ".join(self._found) or "no fields")
        self._missing.clear()

    def _count(self, found: Collection[str]) -> None:
        self._items += 1
        self._found.update(dict.fromkeys(found))
        for name in found:
            self._missing.pop(name, None)
        if self._items >= FIELD_SAMPLE:
            self.warn()


def read_whole_item(item: Any, url: str, left_out: Collection[str], is_now: Callable[[Any], bool]) -> Page:
    """Make a page of all fields of an item: of its texts and numbers, in their order, and of those of nested items.

    URLs are no text. They tell two items of one site apart whose texts are equal, such as two products with different
    pictures. A reprint on another site has other URLs, and is a copy nevertheless.

    Args:
        item: whose page was not downloaded.
        url: of this page.
        left_out: names of the fields with the URL of the page, or with what deduplication writes.
        is_now: whether a value is the time at which the item was scraped: it differs in each crawl.
    """
    found = _WholeItemText(is_now)
    found.add_item(item, left_out)
    page = Page.from_text("\n".join(found.texts), url)
    stated = "\n".join(found.stated)
    return replace(page, beside=stated, stated=stated)


def is_short(text: str, min_chars: int) -> bool:
    """Whether a text has fewer than ``min_chars`` characters, or than half as many letters."""
    return len(text) < min_chars or 2 * sum(map(str.isalpha, text)) < min_chars


@dataclass
class _WholeItemText:
    """Collects what the fields of an item say."""

    is_now: Callable[[Any], bool]
    texts: list[str] = field(default_factory=list)  #: texts and numbers
    stated: list[str] = field(default_factory=list)  #: what is no text, but may tell two items apart

    def add_item(self, item: Any, left_out: Collection[str] = ()) -> None:
        """Add the values of an item, without those of the fields ``left_out``."""
        for name, value in ItemAdapter(item).items():
            if name not in left_out:
                self.add(value)

    def add(self, value: Any) -> None:
        """Add a value, and those in it."""
        if value is None or isinstance(value, bool) or self.is_now(value):
            return
        if isinstance(value, str | int | float | Decimal | date):
            self._add_text(str(value).strip())
        elif isinstance(value, list | tuple):
            for each in value:
                self.add(each)
        elif isinstance(value, set | frozenset):
            self.add(sorted(value, key=repr))
        elif isinstance(value, bytes):
            self.stated.append(blake2b(value, digest_size=16).hexdigest())
        elif ItemAdapter.is_item(value):
            self.add_item(value)
        else:
            self.stated.append(as_url(value) or repr(value))

    def _add_text(self, text: str) -> None:
        if text:
            (self.stated if _is_url(text) else self.texts).append(text)


def _is_url(text: str) -> bool:
    return text.startswith(("https://", "http://", "//")) and len(text.split()) == 1


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, map(_text, value)))
    return "" if value is None else str(value)
