"""Features of blocks, compiled from ``_features.pyx``. :mod:`dedupcrawl.page.block_features` is its only user."""

import numpy as np
from numpy.typing import NDArray

from dedupcrawl.page.blocks import BlockTree

class FeatureRows:
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
