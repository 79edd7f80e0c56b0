"""Decision trees, compiled from ``_trees.pyx``. :mod:`dedupcrawl.page.block_model` is its only user."""

import numpy as np
from numpy.typing import NDArray

class ForestScores:
    def __init__(
        self,
        feature: NDArray[np.intp],
        limit: NDArray[np.float32],
        left: NDArray[np.uint32],
        right: NDArray[np.uint32],
        value: NDArray[np.float32],
    ) -> None:
        """Take the arrays of ``block_model.Trees``, which are contiguous.

        A ``ValueError`` is raised for sizes and features that do not fit.
        """

    def add_leaves(
        self,
        columns: NDArray[np.float32],  # (features, rows)
        sums: NDArray[np.float64],  # (rows,)
    ) -> None:
        """Add to ``sums`` the value of the leaf that each row reaches in each tree.

        Arrays are contiguous. A ``ValueError`` is raised for sizes that do not fit.
        """

    def probabilities(
        self,
        columns: NDArray[np.float32],  # (features, rows)
        excluded: NDArray[np.uint8],  # (rows,)
        chances: NDArray[np.float64],  # (rows,)
        unit: float,  # ``block_model.UNIT``
        quantum: float,  # ``block_model.QUANTUM``
    ) -> None:
        """Set ``chances`` to what ``block_model.probabilities`` returns; a ``ValueError`` is raised as above."""

def choose(chances: NDArray[np.float64], lengths: NDArray[np.float64], keep: NDArray[np.uint8]) -> None:
    """Set ``keep`` to 1 for the choice of ``block_model.best_choice``, else to 0.

    Arrays are contiguous. A ``ValueError`` is raised for arrays of different sizes.
    """

def promised_gain(
    chances: NDArray[np.float64],
    lengths: NDArray[np.float64],
    keep: NDArray[np.uint8],  # the choice of the model
    kept: NDArray[np.float64],  # that of the rules
) -> float:
    """Return the F1 that the model promises to gain, see ``block_model.promised_gain``. Errors: as :func:`choose`."""
