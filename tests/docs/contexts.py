"""The code around blocks that cannot run alone."""

from __future__ import annotations

import asyncio
import textwrap
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.settings import Settings

from dedupcrawl.config import Config
from dedupcrawl.crawl.item_pages import ItemPages
from dedupcrawl.crawl.items import ResponseTracker
from dedupcrawl.crawl.page_view import META_KEY
from dedupcrawl.crawl.responses import SKIP, ResponseReader
from dedupcrawl.crawl.settings import Options
from dedupcrawl.page import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class _Spider(Spider):
    name = "news"

    def parse_live_ticker(self, response: HtmlResponse) -> None:
        """A callback."""

    def parse_author(self, response: HtmlResponse, item: dict[str, str]) -> None:
        """A callback."""


def in_a_callback(code: str) -> None:
    """Run code as the body of a callback; all requests that it yields must have ``dedup_skip``."""
    names: dict[str, Any] = {}
    exec(f"def parse(self, response, link):\n{textwrap.indent(code, '    ')}", names)
    response = HtmlResponse("https://a.example/", body=b"<a href=/live>live</a>")
    yielded = list(names["parse"](_Spider(), response, "/live"))
    assert yielded
    assert all(isinstance(each, Request) and set(each.meta) == {SKIP} for each in yielded)


def in_a_callback_that_requests_the_author(code: str) -> None:
    """Run code as the body of a callback; the items of its request must be about its page."""
    names: dict[str, Any] = {}
    exec(f"def parse(self, response, author):\n{textwrap.indent(code, '    ')}", names)
    request = Request("https://a.example/1")
    response = HtmlResponse(request.url, body=b"<h1>Ice</h1><p>The bay froze over last night.</p>", request=request)
    (follow_up,) = names["parse"](_Spider(), response, "/author")
    pages = ItemPages(
        Options("memory://", "news", Config()),
        ResponseReader(ReadOptions(), ResponseTracker(), stats=None),  # type: ignore[arg-type]  # nothing fails
    )
    assert pages.carries_item(follow_up, response)
    asyncio.run(pages.carry(response))
    answer = HtmlResponse(follow_up.url, body=b"<h1>A. Writer</h1>", request=follow_up)
    (page,) = pages.origin(follow_up.cb_kwargs["item"], answer).pages
    assert page.url == request.url


def in_a_callback_that_sees_the_page(code: str) -> None:
    """Run code as the body of a callback with ``DEDUP_RESPONSE_META``; it must yield items."""
    names: dict[str, Any] = {}
    exec(f"def parse(self, response):\n{textwrap.indent(code, '    ')}", names)
    request = Request("https://a.example/")
    response = HtmlResponse(request.url, request=request, body=b"<h1>Ice</h1><p>The bay froze over last night.</p>")
    reader = ResponseReader(ReadOptions(), ResponseTracker(), stats=None)  # type: ignore[arg-type]  # nothing fails
    response.meta[META_KEY] = reader.view(response)
    (item,) = names["parse"](_Spider(), response)
    assert item == {"url": request.url, "headline": "Ice", "words": 6}


def with_a_server(code: str) -> None:
    """Run settings with ``REDIS_URL`` in the environment."""
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDIS_URL", "redis://:secret@redis.example/0")
        exec(code, names)
    chosen = {name: value for name, value in names.items() if name.isupper()}
    assert Options.from_settings(Settings(chosen), "news").store == "redis://:secret@redis.example/0"


CONTEXTS: Mapping[str, Callable[[str], None]] = {
    "a spider's callback": in_a_callback,
    "a callback that requests the author": in_a_callback_that_requests_the_author,
    "a callback that sees the page": in_a_callback_that_sees_the_page,
    "an environment with REDIS_URL": with_a_server,
}
