"""The block model: it finds the main text of pages that the rules misread.

The rules know articles best. On forums, lists and catalogues they often choose one part among many. Gradient-boosted
trees (Friedman, "Greedy function approximation", Annals of Statistics 29, 2001) estimate for each block the
probability that it is main text, from what the rules found out about it. A second set of trees, the *gate*, sees the
page and both choices, and estimates by how much the model's choice improves F1. The model's choice replaces that of the
rules only where the gate expects a clear gain: the model cuts one article slightly differently on two sites, so on
pages that the rules read well it would make copies look different.

The trees were trained on labelled pages by ``docs/making/reader_model.py``; they are plain arrays in
``reader_model.npz``. Leaves are integers, so that their sum does not depend on its order.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dedupcrawl.page import compiled
from dedupcrawl.page.block_features import (
    MIN_OWN_TEXT,
    BlockFeatures,
    block_features,
    is_familiar,
    left_out_bytes,
    text_size,
)
from dedupcrawl.page.rules import CONSENT, GUIDE_LINKS, KEPT_REASONS, LANDMARK, REPEATED, REPLIES
from dedupcrawl.page.scoring import BLOCK_COST, MIN_ARTICLE_BYTES, block_scores, score_block
from dedupcrawl.page.time_limit import check_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dedupcrawl.page._trees import ForestScores
    from dedupcrawl.page.blocks import BlockTree, RawBlock

    Floats = NDArray[np.float64]


# Chosen by F1 by page type and by the copies missed on reprints, on hosts that were not trained on
# (docs/methods-reading.md, "Block model").
MIN_GAIN = 0.12  #: F1 that the gate must expect of the model's choice for it to replace that of the rules
MIN_PROMISED_GAIN = 0.03  #: minimum gain on pages of other kinds, on which the model is the better reader
MIN_PAGE_BYTES = 1000  #: bytes of text; shorter pages were hardly among the labelled ones
#: The rules' choice stands on an article of at least ``MIN_OWN_TEXT`` bytes if they left out statements of less than
#: this times its length…
MAX_UNREAD = 0.8
#: …and on any other page with a text of the length of an article, if all that they left out is less than this times
#: its length. With a lower value, the model is asked for more pages, and F1 by type does not change.
MAX_LEFT_OUT = 0.2
#: Reasons of text that is read, or belongs to the site or to other pages.
READ_REASONS = KEPT_REASONS | {LANDMARK, CONSENT, GUIDE_LINKS, REPEATED, REPLIES}
CHUNK = 1024  #: blocks that are evaluated at once, in 15 MB
MAX_LEAVES = 32  #: leaves of a tree that compiled code has bits for
UNIT = 1 << 16  #: leaves are stored in multiples of 1 / UNIT
QUANTUM = 2.0**-26  #: probabilities are multiples of it: sums over less than 2^27 bytes are exact in any order
MODEL_FILE = "reader_model.npz"


class ForestTables(NamedTuple):
    """Binary decision trees with the same number of leaves, which are evaluated all at once.

    All conditions of all trees are evaluated. A leaf is reached where the conditions on its path hold: with few
    leaves that is one comparison and one product of small matrices, faster in numpy than going down step by step.
    Compiled code (``_trees.pyx``) keeps a bit for each leaf that may still be reached, with the same sums.
    """

    feature: NDArray[np.intp]  #: (trees, nodes): index of the compared feature
    limit: NDArray[np.float32]  #: (trees, nodes): a row goes left if its feature is at most this
    path: NDArray[np.float32]  #: (trees, leaves, nodes): 1 goes left, -1 goes right, 0 is not on the path
    lefts: NDArray[np.float32]  #: (trees, leaves): number of nodes on the path that go left
    value: NDArray[np.float32]  #: (trees, leaves): whole numbers, in multiples of 1 / ``UNIT``
    left: NDArray[np.uint32]  #: (trees, nodes): bits of the leaves that a row may reach that goes left
    right: NDArray[np.uint32]  #: mask of a row that goes right
    forest: ForestScores | None  #: the trees as compiled code takes them; None: there is none

    def predict(self, rows: NDArray[np.float32]) -> Floats:
        """Return the sum of the reached leaves for each row of features.

        Raises :class:`~dedupcrawl.page.time_limit.TooSlowError` beyond a limit that is in force.
        """
        if len(rows) <= CHUNK:
            return self._predict(rows)
        return np.concatenate([self._predict(rows[first : first + CHUNK]) for first in range(0, len(rows), CHUNK)])

    def _predict(self, rows: NDArray[np.float32]) -> Floats:
        check_time()
        if compiled.trees is not None and self.forest is not None and rows.dtype == np.float32:
            sums = np.zeros(len(rows))
            self.forest.add_leaves(np.ascontiguousarray(rows.T), sums)
            return sums / UNIT
        return self.predict_by_reference(rows)

    def predict_by_reference(self, rows: NDArray[np.float32]) -> Floats:
        """Return the sum of the leaves for each row, computed by numpy without a time limit."""
        holds = (rows.T[self.feature] <= self.limit[:, :, None]).astype(np.float32)  # trees, nodes, rows
        reached = (np.matmul(self.path, holds) == self.lefts[:, :, None]).astype(np.float32)
        # Exact: the leaves are integers, and their sums far below 2^24.
        sums = self.value.reshape(1, -1) @ reached.reshape(self.value.size, -1)
        found: Floats = sums[0].astype(np.float64) / UNIT
        return found


def corrected_blocks(tree: BlockTree, reasons: Sequence[str], kept: int, unread: int) -> list[bool] | None:
    """Return which blocks are main text by the model, or None where the choice of the rules stands.

    Args:
        tree: blocks and containers.
        reasons: for each block the reason that the rules gave.
        kept: bytes of the main text by the rules.
        unread: bytes of statements beside it, see :func:`unread_bytes`.
    """
    if needs_no_model(tree, reasons, kept, unread):
        return None
    features = block_features(tree, reasons)
    if features.excluded.all():
        return None
    trees, gate = load_model()
    chances = probabilities(trees, features)
    keep = best_choice(chances, features.lengths)
    if not is_better(features, chances, keep, gate):
        return None
    found: list[bool] = keep.tolist()
    return found


def needs_no_model(tree: BlockTree, reasons: Sequence[str], kept: int, unread: int) -> bool:
    """Return whether the choice of the rules needs no correction, which saves the time of the model.

    It needs none if the rules found a text, and left out little beside it. On an article, only left-out statements
    count: lists and labels belong to the site. The arguments are those of :func:`corrected_blocks`.
    """
    size = text_size(tree)
    if size[0] < MIN_PAGE_BYTES:
        return True
    if is_familiar(tree, size):
        return kept >= MIN_OWN_TEXT and unread < MAX_UNREAD * kept
    return kept >= MIN_ARTICLE_BYTES and left_out_bytes(tree, reasons) < MAX_LEFT_OUT * kept


def unread_bytes(blocks: Sequence[RawBlock], reasons: Sequence[str]) -> int:
    """Return the bytes of statements, beside links and the site's own text, that are not in the main text."""
    if compiled.features is not None:
        return block_scores().unread_bytes([*blocks], [*reasons], READ_REASONS)
    found = 0
    for (_, length, link_length, _, _, tag, _), reason in zip(blocks, reasons, strict=True):
        if reason not in READ_REASONS and length > BLOCK_COST:
            found += max(0, int(score_block(tag, length, link_length)))
    return found


def is_better(features: BlockFeatures, chances: Floats, keep: NDArray[np.bool_], gate: ForestTables) -> bool:
    """Return whether the choice of the model replaces that of the rules.

    On pages of the kinds that the rules know best the gate decides, on others the gain that the probabilities promise.
    """
    if features.is_familiar:
        return bool(gate.predict(gate_features(features, chances, keep)[None])[0] > MIN_GAIN)
    return promised_gain(features, chances, keep) > MIN_PROMISED_GAIN


def promised_gain(features: BlockFeatures, chances: Floats, keep: NDArray[np.bool_]) -> float:
    """Return how much higher the expected F1 of the model's choice is than that of the rules."""
    if compiled.trees is not None:
        gain: float = compiled.trees.promised_gain(chances, features.lengths, keep.view(np.uint8), features.kept)
        return gain
    by_model, by_rules = (expected_f1(chances, features.lengths, which) for which in (keep, features.kept))
    return by_model - by_rules


def probabilities(trees: ForestTables, features: BlockFeatures) -> Floats:
    """Return for each block the probability that it is main text, 0 for the excluded ones; multiples of ``QUANTUM``."""
    if compiled.trees is not None and trees.forest is not None and len(features.rows) <= CHUNK:
        check_time()
        found = np.empty(len(features.rows))
        columns = np.ascontiguousarray(features.rows.T)
        trees.forest.probabilities(columns, features.excluded.view(np.uint8), found, UNIT, QUANTUM)
        return found
    chances = np.zeros(len(features.rows))
    asked = ~features.excluded
    sums = trees.predict(features.rows.T[:, asked].T)
    chances[asked] = np.rint(1 / (1 + np.exp(-sums)) / QUANTUM) * QUANTUM
    return chances


def best_choice(chances: Floats, lengths: Floats) -> NDArray[np.bool_]:
    """Return the choice of blocks with the highest expected F1.

    It consists of the most probable blocks. On a clear page the least probable of them has a probability of about one
    half, on an unclear page of half the F1 that can be reached (Lipton, Elkan and Naryanaswamy, "Optimal thresholding
    of classifiers to maximize F1 measure", ECML PKDD 2014).
    """
    if compiled.trees is not None:
        found = np.empty(len(chances), np.bool_)
        compiled.trees.choose(chances, lengths, found.view(np.uint8))
        return found
    order = np.argsort(-chances, kind="stable")
    right = np.cumsum((lengths * chances)[order])
    expected = 2 * right / (np.cumsum(lengths[order]) + right[-1])
    keep = np.zeros(len(chances), np.bool_)
    keep[order[: int(np.argmax(expected)) + 1]] = True
    return keep


def expected_f1(chances: Floats, lengths: Floats, keep: NDArray[Any]) -> float:
    """Return the F1 that a choice of blocks has on average, if the probabilities are right."""
    both = float((lengths * keep).sum()) + float((lengths * chances).sum())
    return 2 * float((lengths * keep * chances).sum()) / both if both else 0.0


def gate_features(features: BlockFeatures, chances: Floats, keep: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the features of the gate: of the page, and of the agreement of rules and model (``keep``)."""
    lengths, kept = features.lengths, features.kept
    model = keep.astype(np.float64)
    total = max(1.0, float(lengths.sum()))
    by_rules, by_model, both = (float((lengths * which).sum()) for which in (kept, model, kept * model))
    doubt = np.minimum(chances, 1 - chances)
    added, lost = lengths * (1 - kept) * model, lengths * kept * (1 - model)
    return np.array(
        (
            *features.page,
            *(expected_f1(chances, lengths, which) for which in (kept, model)),
            *(by_rules, by_model, both / max(1.0, by_rules), both / max(1.0, by_model), by_rules / max(1.0, by_model)),
            *(_mean(chances, lengths * which) for which in (kept, 1 - kept, model)),
            *(float((lengths * doubt).sum()) / total, float(chances.max())),
            *(float((part * np.abs(chances - 0.5)).sum()) / max(1.0, by_rules) for part in (added, lost)),
            *(float((lengths * chances).sum()) / total, float(((chances - 0.5) ** 2 * lengths).sum()) / total),
            *(float(np.abs(np.diff(which)).sum()) / len(chances) for which in (model, kept)),
        ),
        np.float32,
    )


def _mean(chances: Floats, weights: Floats) -> float:
    return float((weights * chances).sum()) / max(1.0, float(weights.sum()))


@cache
def load_model() -> tuple[ForestTables, ForestTables]:
    """Return the trees of the blocks and those of the gate."""
    with files("dedupcrawl.page").joinpath(MODEL_FILE).open("rb") as file, np.load(file) as arrays:
        blocks, gate = (_trees(*(arrays[f"{name}_{field}"] for field in STORED)) for name in ("blocks", "gate"))
    return blocks, gate


STORED = ("feature", "limit", "path", "value")  #: the arrays of a set of trees in ``MODEL_FILE``


def _trees(
    feature: NDArray[np.uint8], limit: NDArray[np.float32], path: NDArray[np.int8], value: NDArray[np.int32]
) -> ForestTables:
    """Return trees from their stored arrays; a leaf that a smaller tree does not have is never reached."""
    lefts = (path > 0).sum(axis=2).astype(np.float32)
    lefts[~path.any(axis=2)] = np.inf
    left, right = (_bits((path != side) & path.any(axis=2, keepdims=True)) for side in (-1, 1))
    arrays = feature.astype(np.intp), limit, path.astype(np.float32), lefts, value.astype(np.float32), left, right
    return ForestTables(*arrays, _forest(arrays[0], limit, left, right, arrays[4]))


def _forest(feature: NDArray[np.intp], *arrays: NDArray[Any]) -> ForestScores | None:
    if compiled.trees is None or arrays[-1].shape[1] > MAX_LEAVES:
        return None
    found: ForestScores = compiled.trees.ForestScores(feature, *arrays)
    return found


def _bits(leaves: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return for each tree and node a bit for each leaf (second axis). A tree has at most ``MAX_LEAVES`` leaves."""
    bits = np.left_shift(1, np.arange(leaves.shape[1], dtype=np.uint32), dtype=np.uint32)
    return np.ascontiguousarray(np.bitwise_or.reduce(np.where(leaves, bits[None, :, None], np.uint32(0)), axis=1))
