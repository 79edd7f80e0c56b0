"""The reader ``"text"``: everything that who looks at the page can read, noise and all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dedupcrawl.page.flatten import ANCHOR, LINK, MARK, UNLINK, flatten
from dedupcrawl.page.framing import framed
from dedupcrawl.page.links import byte_length, fold
from dedupcrawl.page.model import Block, Page

if TYPE_CHECKING:
    from lxml.etree import _Element

    from dedupcrawl.page.options import ReadOptions

EVERYTHING = "everything"  #: kept: this reader cuts nothing

_link_marks = re.compile(f"{LINK}[^{ANCHOR}{MARK}]*{ANCHOR}?|{UNLINK}")


def read_everything(root: _Element, url: str, options: ReadOptions) -> Page:
    """Read all visible text of a page in its order, a line for every block.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``.
    """
    parts = _link_marks.sub("", flatten(root, open_landmarks=True)).split(MARK)
    texts = [text for text in map(fold, parts[::2]) if text]
    blocks = tuple(map(_block, texts)) if options.blocks else ()
    return framed(root, url, options, "\n".join(texts), blocks=blocks)


def _block(text: str) -> Block:
    return Block(text, byte_length(text), 0, 0, 0, "", kept=True, reason=EVERYTHING)
