"""Blocks from the stream of a page, compiled from ``_blocks.pyx``. :mod:`dedupcrawl.page.blocks` is its only user."""

from collections.abc import Callable, Collection
from typing import Any, final

from dedupcrawl.page.blocks import BlockTree
from dedupcrawl.page.options import ReadOptions

@final
class BlockBuilder:
    """Builds the blocks of pages by the constants and rare cases of :mod:`dedupcrawl.page.blocks`."""

    def __init__(
        self,
        *,
        classify: Callable[[str], tuple[str, Any, bool]],
        is_opened: Callable[[str], bool],
        hidden_side: Any,
        make_blocks: Callable[..., int],
        links: tuple[int, int, int],
        file_types: Collection[str],
        separators: str,
        short_gap: int,
        max_head_chars: int,
        part_names: Collection[str],
    ) -> None: ...
    def build(self, stream: bytes, tree: BlockTree, options: ReadOptions) -> None:
        """Add the blocks, containers and metadata of a stream in UTF-8 to an empty tree."""
