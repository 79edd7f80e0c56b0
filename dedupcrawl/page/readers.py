"""HTML in, page out: the built-in readers by name, and readers of the user's own."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from lxml import etree

from dedupcrawl.page.block_reader import read_blocks, with_main_text
from dedupcrawl.page.blocks import build_block_tree, flatten_fast
from dedupcrawl.page.document import (
    check_body,
    check_depth,
    decode,
    has_long_tag,
    is_encoding,
    is_plausible,
    parse,
    to_text,
)
from dedupcrawl.page.model import Block, Kind, Page, PageError, ReaderError
from dedupcrawl.page.options import ReadOptions, import_reader
from dedupcrawl.page.time_limit import TooSlowError, check_time
from dedupcrawl.page.topic import read_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lxml.etree import _Element
    from scrapy.http import TextResponse

    from dedupcrawl.page.options import UserReader

ALL_TEXT = "everything"  #: kept: the reader ``"text"`` removes nothing
DEFAULT_OPTIONS = ReadOptions()


def read_page(
    source: bytes | str,
    url: str = "",
    *,
    encoding: str | None = None,
    content_type: str = "",
    options: ReadOptions = DEFAULT_OPTIONS,
) -> Page:
    """Read a page from its HTML. Plain text is read as a page without markup.

    Args:
        source: the body of a response, or its text.
        url: URL of the page; a relative canonical URL is resolved against it.
        encoding: label of the encoding of ``source``, if it is known better than the page declares it.
        content_type: the HTTP header of that name, which may declare an encoding.
        options: the reader, its constants, and the limit on the size.

    Raises:
        PageError: the source is larger than ``options.max_bytes``, binary, nested too deep for the parser, or has a tag
            with too many attributes.
        ReaderError: a user's reader failed.

    >>> read_page("<title>News</title><p>It rained in the hills all night.").text
    'It rained in the hills all night.'
    """
    text = to_text(source, encoding=encoding, content_type=content_type, max_bytes=options.max_bytes)
    check_time()
    root = parse(text)
    check_time()
    return read_tree(root, url, options, html=text)


def read_response(response: TextResponse, options: ReadOptions = DEFAULT_OPTIONS, *, shares_tree: bool = True) -> Page:
    """Read a Scrapy response. The tree of its selector is used, which the spider needs as well.

    The body is decoded and parsed again only if the encoding of the response is evidently wrong, or a script looks
    like a tag with very many attributes.

    Args:
        response: a response with text.
        options: as in :func:`read_page`.
        shares_tree: False: parse the text again, because another thread may use the tree of the selector.

    Raises:
        PageError, ReaderError: as :func:`read_page`.
    """
    check_body(response.body, options.max_bytes, response.url)
    own = _own_text(response)
    text = _decoded_again(response) if own is None else own
    if shares_tree and own is not None and not has_long_tag(text):
        return read_tree(_tree_of(response, text), response.url, options, html=text)
    return read_tree(parse(text), response.url, options, html=text)


def _tree_of(response: TextResponse, text: str) -> _Element:
    try:
        root: _Element = response.selector.root
    except ValueError:  # of a <base> with an invalid URL, which the selector resolves
        return parse(text)
    return root


def response_text(response: TextResponse) -> str:
    """Return the text of a response, decoded again if its encoding is evidently wrong or no encoding of pages.

    Args:
        response: a response with text. Its ``text`` is not used if its ``encoding`` is a codec of Python such as
            ``idna`` or ``hex``, which raise exceptions.
    """
    own = _own_text(response)
    return _decoded_again(response) if own is None else own


def _own_text(response: TextResponse) -> str | None:
    """Return ``response.text``, None if its encoding is evidently wrong or no encoding of pages."""
    label = response.encoding  # Scrapy looks it up in several places each time, also for ``response.text``
    if not is_encoding(label):
        return None
    text = response.text
    return text if is_plausible(response.body, text, label, _content_type(response)) else None


def _decoded_again(response: TextResponse) -> str:
    return decode(response.body, content_type=_content_type(response))


def _content_type(response: TextResponse) -> str:
    return (response.headers.get("Content-Type") or b"").decode("latin-1")


def read_tree(
    root: _Element, url: str = "", options: ReadOptions = DEFAULT_OPTIONS, *, html: str | None = None
) -> Page:
    """Read a page from its lxml tree, which is not changed.

    Args:
        root: the ``<html>`` element.
        url: as in :func:`read_page`.
        options: as in :func:`read_page`.
        html: the source of the tree, for a user's reader. None: the tree is serialised for it.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``, or the tree was cut off at the
            depth at which the parser stops.
        ReaderError: a user's reader failed.
    """
    check_depth(root)
    built_in = READERS.get(options.reader)
    if built_in is not None:
        return built_in(root, url, options)
    return _read_by_user(import_reader(options.reader), root, html, url, options)


def read_all_text(root: _Element, url: str, options: ReadOptions) -> Page:
    """Read all text of a page in its order, one line a block: the reader ``"text"``.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``.
    """
    whole_runs = replace(options, link_run=sys.maxsize)  # no run of links becomes a block of its own
    raw = build_block_tree(flatten_fast(root, open_landmarks=True), whole_runs).blocks
    blocks = tuple(Block(*block[:6], True, ALL_TEXT) for block in raw) if options.blocks else ()
    return with_main_text(root, url, options, "\n".join([text for text, *_ in raw]), blocks=blocks)


#: (root of the tree, URL, options) → page.
TreeReader: TypeAlias = "Callable[[_Element, str, ReadOptions], Page]"

READERS: Mapping[str, TreeReader] = {"blocks": read_blocks, "topic": read_topic, "text": read_all_text}


def _read_by_user(reader: UserReader, root: _Element, html: str | None, url: str, options: ReadOptions) -> Page:
    """Read a page with a user's reader; everything but the main text is read from the tree."""
    if html is None:
        html = etree.tostring(root, encoding="unicode", method="html")
    name = options.reader
    try:
        found = reader(html, url)
    except (PageError, TooSlowError):
        raise
    except Exception as error:
        raise ReaderError(f"the reader {name} failed on {url}: {type(error).__name__}: {error}") from error
    if not isinstance(found, str | Page | None):
        raise ReaderError(
            f"the reader {name} returned {type(found).__name__} for {url}: a str, a Page or None is accepted"
        )
    if isinstance(found, Page):
        return found if found.url else replace(found, url=url)
    page = with_main_text(root, url, options, found or "")
    return page if found and found.strip() else replace(page, kind=Kind.EMPTY)
