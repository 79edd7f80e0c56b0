"""A link to a file is content, also in a list beside the main text: the tracks of an album, a table of downloads.

No other page has the text of such a link (source: "Web page noise elimination by blocks", the third kind of link). The
entries of such a list are short, so they look like the labels of a site, and are left out with the edges of the main
text, or with other containers. Here they are put back. What introduces them (a heading), and what stands between them
(the other cells of a table), comes with them.

A list in the container of the main text is part of the page, however short it is; so are items that link files in a
sentence, among links to pages. One in another container must be
next to the main text, with nothing but labels between, and must have several links: a footer may link one file too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.page.rules import (
    EDGE,
    KEPT_REASONS,
    MODEL_REMOVED,
    OUTSIDE,
    POSITION_REASONS,
    SIDE_CLASS,
    TEASER,
    name_words,
    word_set,
)
from dedupcrawl.page.structure import HEADINGS, ancestors, common_ancestor, containers_in

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from dedupcrawl.page.blocks import BlockTree, RawBlock

MIN_LISTED = 2  #: links to files that are a list by which pages are told apart
MIN_FILES = 3  #: links to files in another container that are a list, not one document of the site
MAX_LABEL_BYTES = 60  #: of a block between the links: a number, a duration, a size, the name of a format
MAX_LABELS = 4  #: such blocks between two links: the other cells of a row
REMOVABLE = POSITION_REASONS | {MODEL_REMOVED}  #: reasons that say nothing about the block itself
LISTED = REMOVABLE | {TEASER}  #: within the main text, files may be listed among links to pages
#: Words in class and id of parts that list files.
FILE_WORDS = word_set("attachment attachments download downloads files fujian playlist tracklist tracks xiazai")
CELLS = frozenset({"td", "th"})
ITEMS = CELLS | {"dd", "li"}


def file_blocks(tree: BlockTree, reasons: Sequence[str]) -> list[int]:
    """Return the places of removed blocks that are lists of links to files in or beside the main text, or part of one.

    Args:
        tree: blocks and containers.
        reasons: for each block why it is kept or removed.
    """
    blocks, kept = tree.blocks, _kept(reasons)
    if not kept:
        return []
    inside, above = _around(tree, _column(tree, kept))
    listed = {
        place
        for place, links in tree.files.items()
        if inside[blocks[place][6]] and reasons[place] in (LISTED if links else LISTED - {EDGE, OUTSIDE})
        if links or blocks[place][5] in ITEMS
    }
    listed |= {place for place in tree.files if inside[blocks[place][6]] and _is_named_so(tree, place, reasons, above)}
    for found in _adjacent_lists(tree, reasons, kept, above):
        if sum([tree.files[place] or 1 for place in found]) >= MIN_FILES:
            listed.update(found)
    return sorted(listed | _labels(tree, reasons, listed)) if listed else []


def listed_files(tree: BlockTree, reasons: Sequence[str]) -> list[str]:
    """Return the texts of the lists of files by which a page is told from others; [] without such a list.

    They are those of the main text, of the ``<main>`` or the ``<article>`` around it, and directly beside it, with the
    other cells of their rows. A link in a sentence is in no list.

    Args:
        tree: blocks and containers.
        reasons: for each block why it is kept or removed.
    """
    blocks, kept = tree.blocks, _kept(reasons)
    if not kept:
        return []
    inside, above = _around(tree, _declared_column(tree, _column(tree, kept)))
    places = {
        place
        for place in tree.files
        if inside[blocks[place][6]] and _is_listed(tree, place)
        if reasons[place] in KEPT_REASONS | REMOVABLE or _is_named_so(tree, place, reasons, above)
    }
    places.update(*_adjacent_lists(tree, reasons, kept, above))
    if sum([tree.files[place] or 1 for place in places]) < MIN_LISTED:
        return []
    cells = {at for place in places for step in (1, -1) for at in _cells_beside(blocks, place, step)}
    return [blocks[place][0] for place in sorted(cells | places)]


def _kept(reasons: Sequence[str]) -> list[int]:
    return [place for place, reason in enumerate(reasons) if reason in KEPT_REASONS]


def _column(tree: BlockTree, kept: Sequence[int]) -> int:
    """Return the innermost container of the main text."""
    return common_ancestor([tree.blocks[place][6] for place in kept], tree.parents)


def _around(tree: BlockTree, column: int) -> tuple[Sequence[bool], Container[int]]:
    """Return which containers are in a container, and those that it is in."""
    return containers_in(column, tree.parents), ancestors(column, tree.parents)


def _declared_column(tree: BlockTree, top: int) -> int:
    """Return the page's only ``<main>`` or ``<article>`` around a container, or that itself."""
    articles = [at for at, head in enumerate(tree.heads) if head.partition(" ")[0] == "article"]
    above = ancestors(top, tree.parents)
    return next((some[0] for some in (tree.mains, articles) if len(some) == 1 and some[0] in above), top)


def _is_listed(tree: BlockTree, place: int) -> bool:
    """Return whether a block with links to files is little else, or is as short as a label."""
    return tree.files[place] > 0 or tree.blocks[place][1] <= MAX_LABEL_BYTES


def _is_named_so(tree: BlockTree, place: int, reasons: Sequence[str], above: Container[int]) -> bool:
    """Return whether a block was removed for its class or id, and one of them says that the part lists files.

    The containers ``above`` the main text do not count.
    """
    if reasons[place] is not SIDE_CLASS:
        return False
    around = [at for at in ancestors(tree.blocks[place][6], tree.parents) if at not in above]
    return not FILE_WORDS.isdisjoint(word for at in around for word in name_words(tree.heads[at]))


def _cells_beside(blocks: Sequence[RawBlock], place: int, step: int) -> list[int]:
    """Return the short cells without links on one side of a cell, up to a row of headings of columns."""
    found: list[int] = []
    at = place + step
    while 0 <= at < len(blocks) and len(found) < MAX_LABELS and blocks[at][5] in CELLS and blocks[place][5] in CELLS:
        is_heading = blocks[at][5] == "th" and "th" in [block[5] for block in blocks[max(0, at - 1) : at + 2 : 2]]
        if is_heading or not _is_label(blocks[at]):
            break
        found.append(at)
        at += step
    return found


def _adjacent_lists(
    tree: BlockTree, reasons: Sequence[str], kept: Sequence[int], above: Container[int]
) -> list[list[int]]:
    """Return the blocks with links to files next to the main text, those after it and those before it."""
    around = range(kept[-1] + 1, len(tree.blocks)), range(kept[0] - 1, -1, -1)
    return [_adjacent_files(tree, reasons, places, above) for places in around]


def _adjacent_files(tree: BlockTree, reasons: Sequence[str], places: Iterable[int], above: Container[int]) -> list[int]:
    """Return the blocks with links to files that come first in ``places``, with nothing but labels between them."""
    found: list[int] = []
    labels = 0
    for place in places:
        if reasons[place] not in REMOVABLE and not _is_named_so(tree, place, reasons, above):
            break
        if place in tree.files and _is_listed(tree, place):
            found.append(place)
            labels = 0
            continue
        labels += 1
        if labels > MAX_LABELS or not _is_label(tree.blocks[place]):
            break
    return found


def _labels(tree: BlockTree, reasons: Sequence[str], listed: set[int]) -> set[int]:
    """Return what belongs to links to files: labels between them, the other cells of their rows, and a heading."""
    blocks, found = tree.blocks, set[int]()
    known = {place for place in tree.files if place in listed or reasons[place] in KEPT_REASONS}
    for place in listed:
        for step in (1, -1):
            passed: list[int] = []
            at = place + step
            while 0 <= at < len(blocks) and len(passed) <= MAX_LABELS and at not in known:
                if reasons[at] not in REMOVABLE or not _is_label(blocks[at]):
                    break
                passed.append(at)
                at += step
            if at in known:
                found.update(passed)
            else:
                found.update(_own_labels(blocks, place, passed))
    return found


def _own_labels(blocks: Sequence[RawBlock], place: int, passed: Sequence[int]) -> list[int]:
    """Return those of the labels at one end of a list that are cells of the same row, or the heading above it."""
    found: list[int] = []
    for at in passed:
        is_cell = blocks[at][5] in CELLS and blocks[place][5] in CELLS and len(found) < MAX_LABELS
        is_heading = at < place and blocks[at][5] in HEADINGS and blocks[at][5] != "h1"
        if not is_cell and not is_heading:
            break
        found.append(at)
        if is_heading:
            break
    return found


def _is_label(block: RawBlock) -> bool:
    return not block[2] and (block[1] <= MAX_LABEL_BYTES or block[5] in HEADINGS)
