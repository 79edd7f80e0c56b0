"""A reader of the user's own: what it is given, and what is made of its answer.

HTML in, page out: what every reader of main text has in common.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lxml import etree

from dedupcrawl.page.block_reader import framed
from dedupcrawl.page.document import check_body, check_depth, parse, to_text
from dedupcrawl.page.encoding import believable
from dedupcrawl.page.model import Kind, Page, PageError, ReaderError
from dedupcrawl.page.options import ReadOptions, own_reader
from dedupcrawl.page.readers import READERS

if TYPE_CHECKING:
    from lxml.etree import _Element
    from scrapy.http import TextResponse

    from dedupcrawl.page.options import OwnReader


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


DEFAULT = ReadOptions()


def read_page(
    source: bytes | str,
    url: str = "",
    *,
    encoding: str | None = None,
    content_type: str = "",
    options: ReadOptions = DEFAULT,
) -> Page:
    """Read a page from its HTML (plain text is read as a page without markup).

    Args:
        source: the body of a response, or its text.
        url: where it comes from; relative links in its metadata are resolved against it.
        encoding: label of the encoding of bytes, if somebody knows it better than the page.
        content_type: the HTTP header of that name, which may declare an encoding.
        options: which reader finds the main text, its constants and the bound on size.

    Raises:
        PageError: the source is larger than ``options.max_bytes``, or binary data, or nested deeper than
            parsers go.
        ReaderError: a reader of the user's own failed.

    >>> read_page("<title>News</title><p>It rained in the hills all night.").text
    'It rained in the hills all night.'
    """
    text = to_text(source, encoding=encoding, content_type=content_type, most=options.max_bytes)
    return read_tree(parse(text), url, options, html=text)


def read_response(response: TextResponse, options: ReadOptions = DEFAULT) -> Page:
    """Read a Scrapy response, from the tree of its selector, which the spider will use anyway.

    Only where the response's encoding is evidently wrong is the body decoded and parsed anew.

    Raises:
        PageError, ReaderError: as :func:`read_page`.
    """
    body = response.body
    check_body(body, options.max_bytes, response.url)
    header = (response.headers.get("Content-Type") or b"").decode("latin-1")
    if believable(body, response.text, response.encoding, header):
        return read_tree(response.selector.root, response.url, options, html=response.text)
    return read_page(body, response.url, content_type=header, options=options)


def read_tree(
    root: _Element, url: str = "", options: ReadOptions = DEFAULT, *, html: str | None = None
) -> Page:
    """Read a page from the root element of its lxml tree, which is left as it is.

    Args:
        root: the ``<html>`` element.
        url: as in :func:`read_page`.
        options: as in :func:`read_page`.
        html: what the tree was parsed from; a reader of the user's own gets it. Without it that reader
            gets the tree written out again.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``, or the tree was cut off at the
            depth at which parsers stop.
        ReaderError: a reader of the user's own failed.
    """
    check_depth(root)
    built_in = READERS.get(options.reader)
    if built_in is not None:
        return built_in(root, url, options)
    return read_with(own_reader(options.reader), root, html, url, options)
