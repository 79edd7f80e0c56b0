"""The built-in readers of main text, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from dedupcrawl.page.everything import read_everything
from dedupcrawl.page.maintext import read_blocks
from dedupcrawl.page.topic import read_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lxml.etree import _Element

    from dedupcrawl.page.model import Page
    from dedupcrawl.page.options import ReadOptions

#: (root of the tree, URL, constants) → page.
TreeReader: TypeAlias = "Callable[[_Element, str, ReadOptions], Page]"

READERS: Mapping[str, TreeReader] = {
    "blocks": read_blocks,
    "topic": read_topic,
    "text": read_everything,
}
