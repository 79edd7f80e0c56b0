"""A reader of the user's own: what it is given, and what is made of its answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lxml import etree

from dedupcrawl.page.errors import PageError, ReaderError
from dedupcrawl.page.framing import framed
from dedupcrawl.page.model import Kind, Page

if TYPE_CHECKING:
    from lxml.etree import _Element

    from dedupcrawl.page.options import OwnReader, ReadOptions


def read_with(reader: OwnReader, root: _Element, html: str | None, url: str, options: ReadOptions) -> Page:
    """Read a page with a user's function.

    Args:
        reader: the function.
        root: root of the tree, from which everything but the main text is read.
        html: what the tree was parsed from; None: the tree is written out again.
        url: of the page.
        options: the constants of reading; ``options.reader`` names the function in errors.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``; or the function raised it, which
            is how it refuses a page.
        ReaderError: the function raised something (it is the error's cause), or returned neither a text,
            nor a page, nor None.
    """
    found = _ask(reader, _written(root) if html is None else html, url, options.reader)
    if isinstance(found, Page):
        return found if found.url else replace(found, url=url)
    page = framed(root, url, options, found)
    return page if found.strip() else replace(page, kind=Kind.EMPTY)


def _ask(reader: OwnReader, html: str, url: str, name: str) -> str | Page:
    try:
        found = reader(html, url)
    except PageError:
        raise
    except Exception as error:
        raise ReaderError(f"the reader {name} failed on {url}: {type(error).__name__}: {error}") from error
    if not isinstance(found, str | Page | None):
        raise ReaderError(
            f"the reader {name} returned {type(found).__name__} for {url}: a str, a Page or None is accepted"
        )
    return found or ""


def _written(root: _Element) -> str:
    written: str = etree.tostring(root, encoding="unicode", method="html")
    return written
