"""Reads a hostile page as a crawl, a batch and the tools do, and checks what must hold for every page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse

from dedupcrawl.decision import Status
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.page import Kind, Page, PageError, ReadOptions, read_page, read_response
from dedupcrawl.tools.inspect.inspection import inspect_page
from dedupcrawl.tools.inspect.render import render

if TYPE_CHECKING:
    from collections.abc import Callable

READERS = ("blocks", "topic", "text")


def outcome(read: Callable[[], Page]) -> Page | str:
    """Return the page, or the reason why it is refused; other exceptions are faults."""
    try:
        return read()
    except PageError as error:
        return error.reason


def check_page(body: bytes | str, label: str = "", *, tools: bool = False) -> str:
    """Check a page with all built-in readers; return what became of it with the default one."""
    header = f"text/html; charset={label}" if label else "text/html"
    found: Page | str = ""
    for reader in reversed(READERS):
        options = ReadOptions(reader=reader)

        def read(options: ReadOptions = options) -> Page:
            return read_page(body, "http://a.example/x", content_type=header, options=options)

        found = outcome(read)
        assert outcome(read) == found, "not deterministic"
        if isinstance(found, Page):
            _check(found)
    if isinstance(body, bytes):
        response = HtmlResponse("http://a.example/x", body=body, headers={"Content-Type": header})
        in_crawl = outcome(lambda: read_response(response))
        assert isinstance(in_crawl, Page) == isinstance(found, Page)
        if isinstance(in_crawl, Page):
            _check(in_crawl)
    if isinstance(found, str):
        return found
    status = _judge(found)
    if tools:
        render(inspect_page(body, found.url, ReadOptions(), header))
    return status


def _check(page: Page) -> None:
    kept = [block for block in page.blocks if block.kept]
    if page.anchors == "" and page.blocks and page.kind is not Kind.EMPTY:
        assert sorted(page.text.split("\n")) == sorted("\n".join([block.text for block in kept]).split("\n")), (
            "text lost"
        )
    for block in page.blocks:
        assert block.text == block.text.strip()
        assert 0 <= block.link_length <= block.length
    assert not (page.kind is Kind.EMPTY and page.text.strip()), "a page with text is empty"


def _judge(page: Page) -> str:
    with Deduplicator() as dedup:
        first = dedup.check(page)
        assert dedup.check(page) == first, "a check files nothing"
        added, copy = dedup.add(page), dedup.add(page)
    assert first.keep
    assert added.keep
    assert added.status == first.status
    assert (added.status is Status.UNCHECKED) == bool(added.reason), "unchecked without a reason"
    if added.status is Status.UNIQUE:
        assert copy.status is not Status.UNIQUE, "the same page twice is new twice"
    return added.reason or str(added.status)
