"""Readers as users write them, named by their dotted path in tests."""

from __future__ import annotations

import logging
import re
from typing import Any

from dedupcrawl.page import Page, PageError

NOT_CALLABLE = "a text"


def headline(html: str, url: str) -> str | None:
    """Return the first ``<h1>``; None where there is none."""
    found = re.search(r"<h1>(.*?)</h1>", html, re.DOTALL)
    return found[1] if found else None


def echo(html: str, url: str) -> str:
    """Return what it is given."""
    return f"{url} {html}"


def takes_html_only(html: str) -> str:
    """Have a signature that no reader has."""
    return html


def whole(html: str, url: str) -> Page:
    """Return a page without a URL."""
    return Page(url="", text=f"{len(html)} characters", title="My own title")


def moved(html: str, url: str) -> Page:
    """Return a page that does."""
    return Page(url="https://elsewhere.example/", text="Moved.")


def counting(html: str, url: str) -> str:
    """Log each call."""
    logging.getLogger(__name__).info("read by the counting reader")
    return re.sub(r"<[^>]*>", " ", html)


def fails_on_odd(html: str, url: str) -> str | None:
    """Fail for the pages of an odd number."""
    if int(url.rpartition("/")[2]) % 2:
        raise KeyError("no such field")
    return headline(html, url)


def returns_a_list(html: str, url: str) -> Any:
    """Return the paragraphs unjoined."""
    return ["one", "two"]


def refuses(html: str, url: str) -> str:
    """Refuse every page."""
    raise PageError("paywall", "the story goes on for subscribers only")


async def later(html: str, url: str) -> str:
    """Return nothing yet."""
    return html
