"""The reader ``"text"``: all that can be read on the page, noise and link texts included.

The built-in readers of main text, by name.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from dedupcrawl.page.block_reader import framed, read_blocks
from dedupcrawl.page.blocks import outline
from dedupcrawl.page.flatten import flatten
from dedupcrawl.page.model import Block, Page
from dedupcrawl.page.topic import read_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lxml.etree import _Element

    from dedupcrawl.page.options import ReadOptions


EVERYTHING = "everything"  #: kept: this reader cuts nothing


def read_everything(root: _Element, url: str, options: ReadOptions) -> Page:
    """Read all text of a page in its order, a line for every block.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``.
    """
    whole_runs = replace(options, link_run=sys.maxsize)  # a run of links stays where it stands
    drafts = outline(flatten(root, open_landmarks=True), whole_runs).drafts
    blocks = tuple(Block(*draft[:6], True, EVERYTHING) for draft in drafts) if options.blocks else ()
    return framed(root, url, options, "\n".join([text for text, *_ in drafts]), blocks=blocks)


#: (root of the tree, URL, constants) → page.
TreeReader: TypeAlias = "Callable[[_Element, str, ReadOptions], Page]"

READERS: Mapping[str, TreeReader] = {
    "blocks": read_blocks,
    "topic": read_topic,
    "text": read_everything,
}
