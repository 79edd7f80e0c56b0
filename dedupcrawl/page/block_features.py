"""The features of the blocks of a page, which the block model reads (:mod:`dedupcrawl.page.block_model`).

All of them come from the blocks and containers that the rules have made already: only the last character of a text is
examined, and the tree is not visited again. A decision tree only compares, so values need no scaling.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from dedupcrawl.page import compiled, rules
from dedupcrawl.page.rules import CONSENT, KEPT_REASONS, LANDMARK, MAIN_TEXT, REPEATED, SideKind, name_words, word_set
from dedupcrawl.page.structure import BESIDE_WORDS, SOFTWARE, containers_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dedupcrawl.page._features import FeatureBuilder
    from dedupcrawl.page.blocks import BlockTree

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


#: The order is part of the trained model: new tags and reasons are added at the end.
TAGS = {
    tag: number
    for number, tag in enumerate(
        "p li td th dd dt h1 h2 h3 h4 h5 h6 div section article main header pre blockquote table ul ol form "  # noqa: SIM905
        "figure figcaption summary aside nav footer dialog menu body".split()
    )
}
REASONS = {
    reason: number
    for number, reason in enumerate(
        (
            *(MAIN_TEXT, rules.GUIDE_LINKS, rules.LINK_RUN, LANDMARK, rules.SIDE_CLASS, rules.COMMENTS),
            *(rules.NESTED, rules.TEASER, rules.POOR_CONTAINER, rules.OUTSIDE, rules.EDGE, REPEATED, rules.FRAME),
            CONSENT,
        )
    )
}
OTHER = 40  #: a tag or reason that is not listed, or no heading yet
FAR = 999  #: blocks since a heading that does not exist
CONTENT_WORDS = word_set("content contents body text prose markdown richtext rte message msg postbody entry")
POST_WORDS = word_set("post posts reply message thread topic comment answer question forum discussion")
AUTHOR_WORDS = word_set("author authors avatar member poster profile user userdetails userinfo username")
#: Bits of the kinds of words in class and id: content, post, beside a post, author; and one for a discussion.
WORD_KINDS, AUTHOR_KINDS, DISCUSSION = 0b11, 0b1100, 0b10000
SENTENCE_ENDS = tuple('.!?。！？…:：;；"”)')
COUNTED_TAGS = ("p", "li", "h2", "h3", "td", "article")  #: tags whose blocks are counted for the gate
SHARED_TAGS = ("p", "li", "td", "div", "pre", "blockquote")  #: tags whose share of the text the gate sees
#: Names in ``<meta name=generator>`` of programs for manuals, for discussions and for shops.
GENERATORS = (
    ("docusaurus", "sphinx", "mkdocs", "gitbook", "hugo", "jekyll", "vitepress", "mediawiki", "docfx"),
    SOFTWARE,
    ("shopify", "woocommerce", "magento", "prestashop", "bigcommerce", "shopware"),
)
#: Reasons of blocks that the model never keeps: consent texts, second copies, the site's own text.
EXCLUDED = [REASONS[CONSENT], REASONS[REPEATED], REASONS[LANDMARK]]
_is_excluded = np.isin(np.arange(OTHER + 1), EXCLUDED)  # by the number of a reason
THIRD_PARTY = [REASONS[rules.COMMENTS], REASONS[rules.NESTED]]  #: reasons of blocks by other authors
MIN_OWN_TEXT = 200  #: bytes: an article with at least this length is not continued by comments and other articles
FEATURES = 36  #: of a block
SIDE_COLUMN = 13  #: column of the rows with the side kind of the containers, by class and id
WORDS_COLUMN = 18  #: column of the rows with the kinds of content words of the containers
MIN_LATIN_WIDTH = 0.7  #: characters a byte of a text in the Latin script have at least (UTF-8: Cyrillic 0.5, Han 0.33)
SHORT, LONG = 30, 150  #: bytes; shares of blocks below and above are known to the gate


class BlockFeatures(NamedTuple):
    """The features of a page: one row a block for the block model, one vector for the gate."""

    rows: NDArray[np.float32]  #: (blocks, features)
    page: Floats  #: of the page as a whole; empty where the gate is not asked
    lengths: Floats  #: of the blocks, bytes
    kept: Floats  #: 1.0 for the blocks that the rules keep
    excluded: NDArray[np.bool_]  #: blocks that the model never keeps
    is_familiar: bool  #: the page is of a kind that the rules know best, see :func:`is_familiar`


class _BlockTable(NamedTuple):
    lengths: Floats
    link_lengths: Floats
    kept: Floats
    tags: Integers
    containers: Integers
    reasons: Integers


def block_features(tree: BlockTree, reasons: Sequence[str], *, for_training: bool = False) -> BlockFeatures:
    """Return the features of a page with at least one block.

    Args:
        tree: blocks and containers.
        reasons: for each block the reason that the rules gave.
        for_training: whether the gate is asked about pages of all kinds.
    """
    columns, rows = features_in_c(tree, reasons) or features_by_reference(tree, reasons)
    familiar = is_familiar(tree)
    page = _page(tree, columns, rows) if familiar or for_training else np.empty(0)
    excluded = _is_excluded[columns.reasons]
    if familiar:
        excluded |= _by_others(columns, rows)
    if tree.thread >= 0:
        excluded |= ~np.array(containers_in(tree.thread, tree.parents))[columns.containers]
    return BlockFeatures(rows, page, columns.lengths, columns.kept, excluded, familiar)


def features_in_c(tree: BlockTree, reasons: Sequence[str]) -> tuple[_BlockTable, NDArray[np.float32]] | None:
    """Return the columns and features of the blocks by compiled code (``_features.pyx``); None if there is none."""
    if compiled.features is None:
        return None
    count = len(tree.blocks)
    sizes, numbers = np.empty((3, count)), np.empty((3, count), np.int64)
    values = np.empty((FEATURES, count), np.float32)
    feature_rows().fill(tree, [*reasons], _signs(tree), sizes, numbers, values)
    return _BlockTable(*sizes, *numbers), values.T


@cache
def feature_rows() -> FeatureBuilder:
    """Return the compiled code that fills in the columns and features of a page."""
    assert compiled.features is not None
    found: FeatureBuilder = compiled.features.FeatureBuilder(
        tags=TAGS,
        reasons=REASONS,
        other=OTHER,
        far=FAR,
        kept_reason=REASONS[MAIN_TEXT],
        sentence_ends="".join(SENTENCE_ENDS),
    )
    return found


def features_by_reference(tree: BlockTree, reasons: Sequence[str]) -> tuple[_BlockTable, NDArray[np.float32]]:
    """Return the columns of a page and the features of its blocks (blocks, features), computed by numpy."""
    columns = _columns(tree, np.array([REASONS.get(reason, OTHER) for reason in reasons]))
    groups, paths, words = _containers(tree, columns)
    features = (
        *_own(tree, columns),
        *_places(columns),
        *groups,
        *_alike(columns, paths),
        *_around(columns),
        *_totals(columns),
        (words & AUTHOR_KINDS) >> 2,
        words >= DISCUSSION,
    )
    values = np.empty((FEATURES, len(columns.tags)), np.float32)
    for place, feature in enumerate(features):  # several times as fast as ``numpy.column_stack``
        values[place] = feature
    return columns, values.T


def _by_others(columns: _BlockTable, rows: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which blocks of an article are comments or other articles; none if it has no text of its own."""
    others: NDArray[np.bool_] = np.isin(columns.reasons, THIRD_PARTY) | (rows[:, SIDE_COLUMN] == SideKind.COMMENTS)
    own = float((columns.lengths * columns.kept)[~others].sum())
    return others if own >= MIN_OWN_TEXT else np.zeros_like(others)


def _columns(tree: BlockTree, why: Integers) -> _BlockTable:
    _, lengths, link_lengths, _, _, tags, containers = zip(*tree.blocks, strict=True)
    return _BlockTable(
        np.array(lengths, np.float64),
        np.array(link_lengths, np.float64),
        (why == REASONS[MAIN_TEXT]).astype(np.float64),
        np.array([TAGS.get(tag, OTHER) for tag in tags]),
        np.array(containers),
        why,
    )


def _own(tree: BlockTree, columns: _BlockTable) -> tuple[NDArray[Any], ...]:
    """Return the features of a block by itself, and the decision of the rules."""
    ends = np.array([block[0].endswith(SENTENCE_ENDS) for block in tree.blocks])
    width = np.array([len(block[0]) for block in tree.blocks]) / columns.lengths
    density = columns.link_lengths / columns.lengths
    return columns.lengths, density, columns.tags, ends, width, columns.kept, columns.reasons


def _places(columns: _BlockTable) -> tuple[NDArray[Any], ...]:
    """Return the place of a block on the page, and among the headings."""
    count = len(columns.tags)
    order = np.arange(count)
    kept = np.flatnonzero(columns.kept)
    first, last = (kept[0], kept[-1]) if len(kept) else (0, count - 1)
    is_heading = (columns.tags >= TAGS["h1"]) & (columns.tags <= TAGS["h6"])
    heading = np.maximum.accumulate(np.where(is_heading, order, -1))
    title = np.flatnonzero(columns.tags == TAGS["h1"])
    since = np.clip(order - title[0], -50, FAR) if len(title) else np.full(count, FAR)
    under = np.where(heading >= 0, columns.tags[heading], OTHER)
    return order / count, (order - first) / count, (order - last) / count, under, since


def _containers(tree: BlockTree, columns: _BlockTable) -> tuple[tuple[NDArray[Any], ...], Integers, Integers]:
    """Return the features of the containers of each block, the number of their path, and their kinds of words."""
    home, total = columns.containers, max(1.0, float(columns.lengths.sum()))
    length, kept, side, words, paths, tags = _descend(tree, columns)
    parents = np.array(tree.parents)
    parent = np.where(parents[home] < 0, home, parents[home])
    held = np.maximum(1, length)
    own_sides = np.array(tree.sides, np.int64)
    values = (
        own_sides[home],
        side[home],
        tags[home],
        (length / total)[parent],
        (kept / held)[parent],
        (length / total)[home],
        words[home] & WORD_KINDS,
    )
    return values, paths[home], words[home]


def _descend(tree: BlockTree, columns: _BlockTable) -> tuple[NDArray[Any], ...]:
    """Return for each container: bytes in it, bytes kept, side kind, words and path (with ancestors), tag."""
    parents, count = tree.parents, len(tree.parents)
    length = np.bincount(columns.containers, columns.lengths, count).tolist()
    kept = np.bincount(columns.containers, columns.lengths * columns.kept, count).tolist()
    side = [int(kind) for kind in tree.sides]
    words, paths, tags = ([*column] for column in zip(*_signs(tree), strict=True))
    for child in range(count - 1, 0, -1):
        length[parents[child]] += length[child]
        kept[parents[child]] += kept[child]
    for child in range(1, count):
        parent = parents[child]
        side[child] = max(side[child], side[parent])
        words[child] |= words[parent]
        paths[child] = (paths[parent] * 31 + paths[child]) & 0x3FFFFFFF
    return np.array(length), np.array(kept), np.array(side), np.array(words), np.array(paths), np.array(tags)


def _signs(tree: BlockTree) -> list[tuple[int, int, int]]:
    """Return the signs of the containers; the first one, which holds all others, shows whether it is a discussion."""
    signs = [*map(_head_signs, tree.heads)]
    if tree.is_discussion:
        signs[0] = (signs[0][0] | DISCUSSION, *signs[0][1:])
    return signs


@lru_cache(maxsize=16384)
def _head_signs(head: str) -> tuple[int, int, int]:
    """Return which kinds of words are in class and id (bits 0 to 3), a number of tag and class, the tag.

    Digits are left out of the class, because many sites number their posts.
    """
    tag, _, names = head.partition(" ")
    words = name_words(names)
    kinds = (CONTENT_WORDS, POST_WORDS, BESIDE_WORDS, AUTHOR_WORDS)
    bits = sum([(not kind.isdisjoint(words)) << place for place, kind in enumerate(kinds)])
    tag_number = TAGS.get(tag, OTHER)
    first = names.partition(" ")[0].encode("utf-8", "replace").translate(None, b"0123456789")
    return bits, crc32(first, tag_number) & 0x3FFFFFFF, tag_number  # hash() differs from process to process


def _alike(columns: _BlockTable, paths: Integers) -> tuple[NDArray[Any], ...]:
    """Return how many blocks have one path and tag, and the decision of the rules about them."""
    lengths, total = columns.lengths, max(1.0, float(columns.lengths.sum()))
    _, group = np.unique(paths * 64 + columns.tags, return_inverse=True)
    size = np.bincount(group)
    length = np.bincount(group, lengths)
    kept = np.bincount(group, lengths * columns.kept) / length
    links = np.bincount(group, columns.link_lengths) / length
    mean = length / size
    spread = np.sqrt(np.maximum(0, np.bincount(group, lengths * lengths) / size - mean * mean)) / (mean + 1)
    return size[group], mean[group], (length / total)[group], kept[group], links[group], spread[group]


def _around(columns: _BlockTable) -> tuple[Floats, ...]:
    """Return the share of kept text and of links among the neighbours, one and three to either side."""
    order = np.arange(len(columns.tags))
    sums = [np.concatenate(([0.0], np.cumsum(value))) for value in (columns.lengths, columns.lengths * columns.kept)]
    links = np.concatenate(([0.0], np.cumsum(columns.link_lengths)))
    found = []
    for reach in (1, 3):
        end, begin = np.minimum(len(order), order + reach + 1), np.maximum(0, order - reach)
        length = sums[0][end] - sums[0][begin] + 1
        found += [(sums[1][end] - sums[1][begin]) / length, (links[end] - links[begin]) / length]
    return tuple(found)


def _totals(columns: _BlockTable) -> tuple[Floats, ...]:
    """Return for each block the features of the whole page."""
    count, total = len(columns.tags), max(1.0, float(columns.lengths.sum()))
    kept = float((columns.lengths * columns.kept).sum())
    cells = float((columns.tags == TAGS["td"]).sum())
    links = float(columns.link_lengths.sum())
    return tuple(np.full(count, value) for value in (kept / total, kept, total, links / total, cells))


def _page(tree: BlockTree, columns: _BlockTable, rows: NDArray[np.float32]) -> Floats:
    """Return the features of the page that the gate reads in addition to the agreement of rules and model.

    The URL is not among them: a page must be read in the same way under all its addresses.
    """
    lengths, tags = columns.lengths, columns.tags
    total = max(1.0, float(lengths.sum()))
    kept = float((lengths * columns.kept).sum())
    kind, generator, published = _declared(tree)
    by_reason = np.bincount(np.minimum(columns.reasons, len(REASONS)), lengths, len(REASONS) + 1) / total
    words = rows[:, WORDS_COLUMN].astype(np.int64)
    return np.array(
        (
            *(total, len(lengths), float(columns.link_lengths.sum()) / total, kept / total, kept),
            *(float(lengths[tags == TAGS[tag]].sum()) / total for tag in SHARED_TAGS),
            *(float((tags == TAGS[tag]).sum()) for tag in COUNTED_TAGS),
            *("article" in kind, "product" in kind, "website" in kind, published, len(tree.nested), len(tree.mains)),
            *(any(name in generator for name in names) for names in GENERATORS),
            *by_reason,
            *(float(lengths[words & bit > 0].sum()) / total for bit in (1, 2)),
            *(float(lengths.mean()), float((lengths > LONG).mean()), float((lengths < SHORT).mean())),
        )
    )


def _declared(tree: BlockTree) -> tuple[str, str, bool]:
    """Return the features of the metadata: kind of the page, generator, whether there is a time of publication."""
    metadata = {name.lower(): value for name, _, value in (entry.partition("=") for entry in tree.metadata)}
    published = "article:published_time" in metadata or "datePublished" in metadata.get("ld", "")
    return metadata.get("og:type", "").lower(), metadata.get("generator", "").lower(), published


#: Reasons of text that is read, belongs to the site, is a second copy or another article: no sign of a text that was
#: misread.
SEEN_REASONS = KEPT_REASONS | {LANDMARK, CONSENT, REPEATED, rules.NESTED}


def left_out_bytes(tree: BlockTree, reasons: Sequence[str]) -> int:
    """Return the bytes beside links that the rules left out and may have misread."""
    if compiled.features is not None:
        found: int = compiled.features.left_out_bytes(tree.blocks, [*reasons], SEEN_REASONS)
        return found
    return sum(
        [block[1] - block[2] for block, why in zip(tree.blocks, reasons, strict=True) if why not in SEEN_REASONS]
    )


def is_familiar(tree: BlockTree, size: tuple[int, int] | None = None) -> bool:
    """Return whether the rules know such pages best; ``size``: what :func:`text_size` returns, if it is known.

    These are pages that declare themselves articles, and pages in other scripts than the Latin one: too few of them
    were labelled to train the model on all their kinds. Forums declare their threads articles, too.
    """
    kind, _, published = _declared(tree)
    if ("article" in kind or published) and not tree.is_discussion:
        return True
    length, characters = size or text_size(tree)
    return characters < MIN_LATIN_WIDTH * length


def text_size(tree: BlockTree) -> tuple[int, int]:
    """Return how many bytes and how many characters the blocks have."""
    if compiled.features is not None:
        found: tuple[int, int] = compiled.features.text_size(tree.blocks)
        return found
    return sum([block[1] for block in tree.blocks]), sum([len(block[0]) for block in tree.blocks])
