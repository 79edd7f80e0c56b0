"""Scores and features of blocks, compiled from ``_features.pyx``.

:mod:`dedupcrawl.page.scoring`, ``block_features`` and ``block_model`` are its only users.
"""

from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from dedupcrawl.page.blocks import BlockTree, RawBlock
from dedupcrawl.page.rules import SideKind

class FeatureBuilder:
    def __init__(
        self,
        *,
        tags: dict[str, int],
        reasons: dict[str, int],
        other: int,
        far: int,
        kept_reason: int,
        sentence_ends: str,
    ) -> None:
        """Take the constants of ``block_features``; ``kept_reason``: the number of the reason of kept blocks."""

    def fill(
        self,
        tree: BlockTree,
        reasons: list[str],
        signs: list[tuple[int, int, int]],  # of each container, see ``block_features._head_signs``
        sizes: NDArray[np.float64],  # (3, blocks): length, link length, 1.0 for kept blocks
        numbers: NDArray[np.int64],  # (3, blocks): tag, container, reason
        rows: NDArray[np.float32],  # (features, blocks)
    ) -> None:
        """Fill the three arrays, which are contiguous, with what is known of a page with at least one block.

        A ``ValueError`` or ``TypeError`` is raised for arrays and lists that do not fit.
        """

class BlockScores:
    def __init__(
        self,
        *,
        kinds: dict[str, str],  # by tag what it is: the same object for all headings, for all cells, for paragraphs
        weights: tuple[float, ...],  # cost of a block and of link text, bonus, lowest and highest score, two lengths
        guide_links: str,
        link_run: str,
        landmark: str,
        landmark_side: SideKind,
        points_elsewhere: Callable[[str], bool],
    ) -> None:
        """Take the constants of ``scoring``; see ``scoring.block_scores``."""

    def score_blocks(
        self, blocks: list[RawBlock], sides: list[SideKind], content: float, noise: float, longest_run: int
    ) -> tuple[list[str], list[float], tuple[list[float], list[float], list[int], list[int], list[int], list[int]]]:
        """Return reasons and scores of the blocks, and what the blocks of each container add up to.

        That is, in this order: score, positive scores, length, link length, blocks of guide links, length of the
        others; see ``scoring.ContainerScores``. The arguments are the blocks, what each container shows, and R2, R1 and
        S of the link rules. A ``ValueError`` or ``TypeError`` is raised for lists that do not fit.
        """

    def unread_bytes(self, blocks: list[RawBlock], reasons: list[str], read: Collection[str]) -> int:
        """Return the bytes of text that was not read; see ``block_model.unread_bytes``.

        ``read``: reasons of blocks that do not count.
        """

def text_size(blocks: list[RawBlock]) -> tuple[int, int]:
    """Return how many bytes and how many characters the blocks have."""

def left_out_bytes(blocks: list[RawBlock], reasons: list[str], seen: Collection[str]) -> int:
    """Return the bytes that were left out; see ``block_features.left_out_bytes``.

    ``seen``: reasons of blocks that do not count.
    """
