"""The default reader, ``"blocks"``: the link rules, then the container that holds the main text."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, TypedDict

from dedupcrawl.page.blocks import BlockTree, build_block_tree
from dedupcrawl.page.document import check_size, metadata
from dedupcrawl.page.flatten import flatten
from dedupcrawl.page.model import Block, Kind, Page
from dedupcrawl.page.rules import LANDMARK, MAIN_TEXT, POSITION_REASONS
from dedupcrawl.page.scoring import MIN_ARTICLE_BYTES, classify_blocks
from dedupcrawl.page.structure import layout_signature

if TYPE_CHECKING:
    from lxml.etree import _Element

    from dedupcrawl.page.options import ReadOptions


# Measured on the labelled page sets aeb and cwced (docs/methods.md, "The readers compared").
MIN_MAIN_TEXT = 200  #: bytes: with less main text, the inside of landmarks is read as well
MIN_STATEMENT_BYTES = 200  #: a block of at least this length is a statement even without a full stop
INDEX_SHARE = 0.5  #: a page with a larger share of guide links and no statement is an index

_ends_sentence = re.compile(r"""[.!?。！？…．][\s"'”’»)）」』\]]*\Z""").search
#: The owner, host and licence of a site are named on all of its pages.
_legal = re.compile(r"©|\(c\)|copyright|rights reserved|版权|版權|ICP|备案|備案", re.IGNORECASE).search


def read_blocks(root: _Element, url: str, options: ReadOptions) -> Page:
    """Read a page by the link rules and the choice of one container.

    Source: the block model and link rules of "Web page noise elimination by blocks"; the choice of the
    container is described in docs/methods.md.

    Args:
        root: the ``<html>`` element.
        url: URL of the page.
        options: R1, R2 and S of the link rules, and the limit on the size.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``.
    """
    tree, reasons, kept = _classify(root, options)
    if kept < MIN_MAIN_TEXT and LANDMARK in reasons:
        # A landmark that is never closed contains the rest of the page.
        opened = _classify(root, options, open_landmarks=True)
        if opened[2] >= max(MIN_MAIN_TEXT, kept):
            tree, reasons, kept = opened
    return Page(
        url=url,
        text="\n".join([block[0] for block, reason in zip(tree.blocks, reasons, strict=True) if reason == MAIN_TEXT]),
        rest=_rest(tree, reasons, kept),
        blocks=_blocks(tree, reasons) if options.blocks else (),
        kind=kind_of(tree, reasons, kept),
        layout=_layout(tree, reasons),
        **_surroundings(tree, reasons),
        **metadata(tree.metadata, url),
    )


def with_main_text(
    root: _Element, url: str, options: ReadOptions, text: str, *, anchors: str = "", blocks: tuple[Block, ...] = ()
) -> Page:
    """Return the page of the default reader with the main text that another reader found.

    An index page remains an index page: two lists of links must not match, whatever text is read from them.
    """
    page = read_blocks(root, url, options)
    kind = page.kind
    if kind is not Kind.INDEX:
        kind = Kind.ARTICLE if text.strip() else Kind.EMPTY
    return replace(page, text=text, rest="", anchors=anchors, blocks=blocks, kind=kind)


def _classify(
    root: _Element, options: ReadOptions, *, open_landmarks: bool = False
) -> tuple[BlockTree, list[str], int]:
    """Return the blocks, the reason of each, and the length of the main text in bytes."""
    stream = flatten(root, open_landmarks=open_landmarks)
    check_size(len(stream), options.max_bytes)
    tree = build_block_tree(stream, options)
    return tree, *classify_blocks(tree, options)


def _rest(tree: BlockTree, reasons: list[str], kept: int) -> str:
    """Return the text that was removed only for its position, if it is longer than the main text.

    Without it, catalogue pages with different goods and the same terms of sale would be copies.
    """
    removed = [block for block, why in zip(tree.blocks, reasons, strict=True) if why in POSITION_REASONS]
    if sum([block[1] for block in removed]) <= kept:
        return ""
    return "\n".join([text for text, *_ in removed])


def _layout(tree: BlockTree, reasons: list[str]) -> bytes:
    main = tree.blocks[reasons.index(MAIN_TEXT)][6] if MAIN_TEXT in reasons else -1
    return layout_signature(tree.elements, tree.parents, main)


class _Surroundings(TypedDict):
    heading: str
    beside: str
    stated: str


def _surroundings(tree: BlockTree, reasons: list[str]) -> _Surroundings:
    """Return the heading and the text beside the main text, which tell pages of one template apart."""
    named = _heading_place(tree, reasons)
    others = [
        (block[0], reason in POSITION_REASONS and not block[2])
        for place, (block, reason) in enumerate(zip(tree.blocks, reasons, strict=True))
        if reason is not MAIN_TEXT and place != named and block[5] != "h1"
    ]
    return _Surroundings(
        heading=tree.blocks[named][0] if named >= 0 else "",
        beside="\n".join([text for text, _ in others]),
        stated="\n".join([text for text, is_stated in others if is_stated]),
    )


def _heading_place(tree: BlockTree, reasons: list[str]) -> int:
    """Return the place of the block that names the page, or -1.

    It is the only ``<h1>`` that is no link. On a page without any, for example a view for printers, it is the
    last ``<h2>`` before the main text.
    """
    headings = [place for place, block in enumerate(tree.blocks) if block[5] == "h1"]
    if headings:
        own = [place for place in headings if not tree.blocks[place][2]]
        return own[0] if len(own) == 1 else -1
    named = -1
    for place, (block, reason) in enumerate(zip(tree.blocks, reasons, strict=True)):
        if block[5] == "h2" and not block[2]:
            named = place
        elif reason is MAIN_TEXT:
            break
    return named


def _blocks(tree: BlockTree, reasons: list[str]) -> tuple[Block, ...]:
    columns = list(zip(*tree.blocks, strict=True))[:6]
    kept = [reason is MAIN_TEXT for reason in reasons]
    # as Block(*values), but without a Python frame for each of hundreds
    return tuple(map(tuple.__new__, repeat(Block), zip(*columns, kept, reasons, strict=True)))


def kind_of(tree: BlockTree, reasons: list[str], kept: int) -> Kind:
    """Return the kind of a page with ``kept`` bytes of main text: an index has guide links, no statement."""
    if kept >= MIN_ARTICLE_BYTES:
        return Kind.ARTICLE
    total = guide = 0
    has_statement = False
    for (text, length, link_length, *_), reason in zip(tree.blocks, reasons, strict=True):
        total += length
        guide += length if reason is LANDMARK else link_length
        has_statement = has_statement or (reason is MAIN_TEXT and is_statement(text, length))
    if guide > INDEX_SHARE * total and not has_statement:
        return Kind.INDEX
    return Kind.ARTICLE if kept else Kind.EMPTY


def is_statement(text: str, length: int) -> bool:
    """Return whether a block is a statement: long or ending as a sentence, and no copyright line.

    >>> [is_statement(text, len(text)) for text in ("Closed today.", "Sports", "© 2024 The Gazette.")]
    [True, False, False]
    """
    return (length >= MIN_STATEMENT_BYTES or bool(_ends_sentence(text))) and not _legal(text)
