"""Which columns of a corpus hold what, and what their values say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.batch.formats.base import Bad, Fields, Row
from dedupcrawl.batch.formats.times import unix_time
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

#: The usual names, the likeliest first.
URL = ("url", "link", "uri", "page_url", "source_url", "target_uri", "WARC-Target-URI", "href")
HTML = ("html", "raw_html", "html_content", "content_html", "page_html", "body_html", "body")
TEXT = ("text", "content", "main_text", "maintext", "article_text", "raw_text", "raw_content", "plain_text")
TIME = (
    "time", "timestamp", "date", "fetched", "fetched_at", "fetch_time", "crawled", "crawled_at", "crawl_time",
    "scraped_at", "published", "published_at", "date_published", "publish_date", "pub_date", "datetime",
    "created_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Names:
    """Which columns are asked, in turn, for each of the four."""

    url: tuple[str, ...]
    html: tuple[str, ...]
    text: tuple[str, ...]
    time: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.url, *self.html, *self.text, *self.time)))


def names_of(fields: Fields) -> Names:
    """Return which columns are asked. Where HTML or text is named, the other is not guessed."""
    named = bool(fields.html or fields.text)
    return Names(
        url=(fields.url,) if fields.url else URL,
        html=(fields.html,) if fields.html else () if named else HTML,
        text=(fields.text,) if fields.text else () if named else TEXT,
        time=(fields.time,) if fields.time else TIME,
    )


def missing(fields: Fields, there: Collection[str]) -> str | None:
    """Say which column is missing among those that are there; None: all that is needed is there."""
    named = {name: what for what in ("url", "html", "text", "time") if (name := getattr(fields, what))}
    for name, what in named.items():
        if name not in there:
            return f"no column {name!r}, named as that of the {what}"
    names = names_of(fields)
    if not any(name in there for name in (*names.html, *names.text)):
        return "no column of the usual names of HTML or text"
    return None


def check_columns(path: object, fields: Fields, there: Collection[str]) -> None:
    """Raise :class:`~dedupcrawl.errors.DedupError` if a column is missing, naming those that are there."""
    lacking = missing(fields, there)
    if lacking:
        raise DedupError(f"{path}: {lacking}; it has {', '.join(sorted(there)) or 'none'}")


def row_of(number: int, get: Callable[[str], object], names: Names) -> Row | Bad:
    """Make a row of the values of its columns; ``get`` returns None for what is not there."""
    try:
        html = _page(get, names.html)
        text = None if html else _text(get, names.text)
        url = _text(get, names.url) or ""
        time = _time(get, names.time)
    except TypeError as error:
        return Bad(number, str(error))
    if html:
        return Row(number, url, html, None, time, _size(html))
    return Row(number, url, None, text or "", time, _size(text or ""))


def _page(get: Callable[[str], object], names: Iterable[str]) -> bytes | str | None:
    """Return the first HTML that is there; bytes are left to the reader of pages, which knows encodings."""
    for name in names:
        value = get(name)
        if value is None:
            continue
        found = value if isinstance(value, bytes) else _string(name, value)
        if found:
            return found
    return None


def _text(get: Callable[[str], object], names: Iterable[str]) -> str | None:
    for name in names:
        value = get(name)
        if value is not None and (found := _string(name, value)):
            return found
    return None


def _time(get: Callable[[str], object], names: Iterable[str]) -> float | None:
    for name in names:
        value = get(name)
        if value is not None and (found := unix_time(value)) is not None:
            return found
    return None


def _string(name: str, value: object) -> str | None:
    """Return the text of a value. Raises TypeError for what is none."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list):
        return "\n".join(filter(None, (_string(name, each) for each in value)))
    if isinstance(value, int | float):
        return str(value)
    raise TypeError(f"column {name!r} holds {type(value).__name__}, which is neither text nor HTML")


def _size(page: bytes | str) -> int:
    return len(page) if isinstance(page, bytes) or page.isascii() else len(page.encode("utf-8", "replace"))
