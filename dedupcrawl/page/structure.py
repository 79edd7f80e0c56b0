"""The layout of a page as four bytes: which elements are at its beginning and around its main text.

Each byte is the hash of some start tags: of the first containers of the page, of the next ones, of the outer containers
of the main text, and of the inner ones. Of a start tag count the tag, the class and the id, without digits. The content
of the page does not matter. :mod:`dedupcrawl.layout` compares two signatures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Sequence

LAYOUT_BYTES = 4  #: of a signature

# Chosen on pairs of pages of wcxb (docs/methods.md, "Layout").
FIRST = 4  #: number of the first containers of a page
NEXT = 8  #: number of these and the next ones
INNER = 3  #: containers around the main text that are inner ones

_MAX_AROUND = 64  #: containers around the main text that are used, the innermost ones
_DIGITS = b"0123456789"
_ELEMENT, _PART = "\0", "\1"  #: separators: a parsed page does not contain them


def layout_signature(elements: Sequence[str], parents: Sequence[int], main: int) -> bytes:
    """Return the signature of a page, 4 bytes.

    Args:
        elements: for each container its start tag as ``tag class id``, see :mod:`dedupcrawl.page.flatten`.
        parents: for each container the index of its parent, -1 for the first.
        main: index of the container of the main text, -1 if there is none.
    """
    around: list[str] = []
    while main >= 0 and len(around) < _MAX_AROUND:
        around.append(elements[main])
        main = parents[main]
    # Where a part is empty, the whole takes its place: two empty parts would be equal.
    parts = (
        elements[:FIRST],
        elements[FIRST:NEXT] or elements,
        around[INNER:] or around or elements,
        around[:INNER] or elements,
    )
    joined = _PART.join(map(_ELEMENT.join, parts)).encode("utf-8", "replace").translate(None, _DIGITS)
    first, *others = [crc32(part) & 0xFF for part in joined.split(_PART.encode())]
    return bytes([first & 0x7F, *others])  # the highest bit is left for :mod:`dedupcrawl.layout`
