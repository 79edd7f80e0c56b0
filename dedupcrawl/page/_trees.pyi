"""Decision trees, compiled from ``_trees.pyx``. :mod:`dedupcrawl.page.block_model` is its only user."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def add_leaves(
    feature: NDArray[np.intp],
    limit: NDArray[np.float32],
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    value: NDArray[np.float32],
    columns: NDArray[np.float32],  # (features, rows)
    sums: NDArray[np.float64],  # (rows,)
) -> Any:
    """Add to ``sums`` the value of the leaf that each row reaches in each tree; see ``block_model.Trees``.

    Arrays are contiguous. A ``ValueError`` is raised for sizes and features that do not fit.
    """
