"""The walk over a parsed page, compiled from ``_walk.pyx``. Used by ``blocks`` and ``block_reader``."""

from collections.abc import Collection
from typing import final

from lxml.etree import _Element

@final
class TreeReader:
    """Walks trees; the arguments are names of elements."""

    def __init__(
        self,
        *,
        blocks: Collection[str],  # begin and end a block
        named_blocks: Collection[str],  # begin and end a block too; its class and id are returned
        landmarks: Collection[str],  # one block without links
        ignored: Collection[str],  # left out
    ) -> None: ...
    def stream(self, root: _Element) -> bytes | None:
        """Return the stream in UTF-8, or None for a page with nodes that HTML does not have."""

def alternative_texts(root: _Element, hiding: tuple[bytes, ...]) -> list[str] | None:
    """Return the alternative texts of the pictures in an element, without those in elements with names in ``hiding``.

    None is returned for a page with nodes that HTML does not have.
    """

def texts_within(root: _Element, container: bytes, hiding: tuple[bytes, ...]) -> list[str] | None:
    """Return the texts in the elements of a document that are called ``container``, but for those in ``hiding``.

    None is returned for a page with nodes that HTML does not have.
    """
