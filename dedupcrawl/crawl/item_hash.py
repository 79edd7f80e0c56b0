"""Hashes of items: two items of a crawl with the same hash have equal fields.

The hashes are those of Python, whose key is drawn for each process: they are compared within a process only.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter

from dedupcrawl.crawl.page_urls import page_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

SLACK = 1.0  #: seconds by which the time of scraping may lie outside the crawl
_ISO_LENGTHS = range(19, 36)  #: characters of a date with a time, as ``datetime.isoformat`` writes it
_NUMBERS = (int, float, bool, type(None))
_BY_REPR = frozenset({*_NUMBERS, complex, bytes, bytearray, Decimal, Fraction})  #: ``hash(-1) == hash(-2)``


class ItemHasher:
    """Hashes the fields of items.

    A time between the start of the crawl and now (a ``datetime``, a Unix time or an ISO text) is the time at which an
    item was scraped. All such times count as equal: otherwise no item would equal the item of a second download.

    Args:
        ignored: names of fields that do not count: those that deduplication writes.
        began: start of the crawl, Unix time in seconds.
        url_fields: names of fields with the URL of a page. Their values count as equal if they differ only by the
            scheme or a slash at the end: these are one page, and a site may link to it in each of these ways.
    """

    def __init__(self, ignored: Collection[str], began: float, url_fields: Collection[str] = ()) -> None:
        self._ignored = frozenset(ignored)
        self._began = began
        self._url_fields = frozenset(url_fields)
        self._unequal = count()  # for what cannot be hashed

    def __call__(self, item: Any) -> int:
        """Return the hash; a new one for an item that cannot be read: it equals no other."""
        try:
            fields = item if type(item) is dict else ItemAdapter(item)
            counted = [(name, value) for name, value in fields.items() if name not in self._ignored]
            return self._fields([(name, self._plain(name, value)) for name, value in counted])
        except Exception:  # noqa: BLE001  # values of any class, with methods of their own
            return hash(("unequal", next(self._unequal)))

    def _plain(self, name: str, value: Any) -> Any:
        """Return the value of a field; of a URL, its key and its fragment, by which items of one page may differ."""
        if name not in self._url_fields or type(value) is not str or "://" not in value:
            return value
        return _URL, page_key(value), value.partition("#")[2]

    def _fields(self, fields: Iterable[tuple[Any, Any]]) -> int:
        return hash(frozenset([(name, self._value(value)) for name, value in fields]))

    def _value(self, value: Any) -> int:
        kind = type(value)
        if kind is str:
            return hash(_NOW if self.is_now(value) else value)
        if kind is list or kind is tuple:
            return hash((kind, *map(self._value, value)))
        if kind is dict:
            return self._fields(value.items())
        if kind not in _NUMBERS and ItemAdapter.is_item(value):
            return hash((kind, self._fields(ItemAdapter(value).items())))
        if kind is set or kind is frozenset:
            return hash((kind, frozenset(map(self._value, value))))
        return hash(_NOW) if self.is_now(value) else hash((kind, repr(value) if kind in _BY_REPR else _by_value(value)))

    def is_now(self, value: Any) -> bool:
        """Whether a value is the time at which an item of this crawl was scraped."""
        kind = type(value)
        if kind is str:
            return self._is_time_text(value)
        return self._is_now_at(value) if isinstance(value, datetime) else kind in _NUMBERS and self._is_now(value)

    def _is_now(self, seconds: float | None) -> bool:
        """Whether a number is a Unix time of this crawl, in seconds or milliseconds."""
        if not seconds or seconds < self._began - SLACK:
            return False
        now = time.time() + SLACK
        return seconds <= now or self._began - SLACK <= seconds / 1000 <= now

    def _is_now_at(self, moment: datetime) -> bool:
        """Whether a time is one of this crawl; a time without a zone is local, or UTC."""
        if moment.tzinfo is not None:
            return self._is_now(moment.timestamp())
        return self._is_now(moment.timestamp()) or self._is_now(moment.replace(tzinfo=UTC).timestamp())

    def _is_time_text(self, text: str) -> bool:
        if len(text) not in _ISO_LENGTHS or text[4] != "-" or text[13] != ":":
            return False
        try:
            return self._is_now_at(datetime.fromisoformat(text))
        except (ValueError, OverflowError, OSError):
            return False


_NOW = ("time of scraping",)
_URL = "URL"  #: before the key of one, so that it equals no other value


def _by_value(value: Any) -> int:
    """Return the hash of a value; raises ``TypeError`` if its class does not say when two values are equal.

    The text of such a value, like that of a large array or of a selector, may be that of a different one.
    """
    own: object = type(value).__hash__
    if own is object.__hash__:
        raise TypeError(f"{type(value).__name__} has no hash of its value")
    return hash(value)


def shape_of(item: Any) -> int:
    """Return a hash of the class and the names of the fields of an item; 0 if it has no fields."""
    if not ItemAdapter.is_item(item):
        return 0
    return hash((type(item), frozenset(ItemAdapter(item).field_names())))
