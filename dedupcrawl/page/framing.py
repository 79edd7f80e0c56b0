"""What is the same whichever reader finds the main text: metadata, and what kind of page it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dedupcrawl.page.maintext import read_blocks
from dedupcrawl.page.model import Kind

if TYPE_CHECKING:
    from lxml.etree import _Element

    from dedupcrawl.page.model import Block, Page
    from dedupcrawl.page.options import ReadOptions


def framed(
    root: _Element,
    url: str,
    options: ReadOptions,
    text: str,
    *,
    anchors: str = "",
    blocks: tuple[Block, ...] = (),
) -> Page:
    """Return the page that the default reader sees, with the main text that another one found.

    An index stays one: whatever a reader takes from a list of links, two such lists are no copies.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``.
    """
    page = read_blocks(root, url, options)
    kind = page.kind
    if kind is not Kind.INDEX:
        kind = Kind.ARTICLE if text.strip() else Kind.EMPTY
    return replace(page, text=text, rest="", anchors=anchors, blocks=blocks, kind=kind)
