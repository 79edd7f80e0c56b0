"""HTML in, page out: what every reader of main text has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.page.document import check_body, check_depth, parse, to_text
from dedupcrawl.page.encoding import believable
from dedupcrawl.page.options import ReadOptions, own_reader
from dedupcrawl.page.own import read_with
from dedupcrawl.page.readers import READERS

if TYPE_CHECKING:
    from lxml.etree import _Element
    from scrapy.http import TextResponse

    from dedupcrawl.page.model import Page

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
