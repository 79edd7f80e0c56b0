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

from dedupcrawl.page.rules import EDGE, KEPT_REASONS, MODEL_REMOVED, OUTSIDE, POSITION_REASONS, TEASER
from dedupcrawl.page.structure import HEADINGS, common_ancestor, containers_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.page.blocks import BlockTree, RawBlock

MIN_FILES = 3  #: links to files in another container that are a list, not one document of the site
MAX_LABEL_BYTES = 60  #: of a block between the links: a number, a duration, a size, the name of a format
MAX_LABELS = 4  #: such blocks between two links: the other cells of a row
REMOVABLE = POSITION_REASONS | {MODEL_REMOVED}  #: reasons that say nothing about the block itself
LISTED = REMOVABLE | {TEASER}  #: within the main text, files may be listed among links to pages
CELLS = frozenset({"td", "th"})
ITEMS = CELLS | {"dd", "li"}


def file_blocks(tree: BlockTree, reasons: Sequence[str]) -> list[int]:
    """Return the places of removed blocks that are lists of links to files in or beside the main text, or part of one.

    Args:
        tree: blocks and containers.
        reasons: for each block why it is kept or removed.
    """
    kept = [place for place, reason in enumerate(reasons) if reason in KEPT_REASONS]
    if not kept:
        return []
    blocks = tree.blocks
    top = common_ancestor([blocks[place][6] for place in kept], tree.parents)
    inside = containers_in(top, tree.parents)
    listed = {
        place
        for place, links in tree.files.items()
        if inside[blocks[place][6]] and reasons[place] in (LISTED if links else LISTED - {EDGE, OUTSIDE})
        if links or blocks[place][5] in ITEMS
    }
    for places in (range(kept[-1] + 1, len(blocks)), range(kept[0] - 1, -1, -1)):
        found = _adjacent_files(tree, reasons, places)
        if sum([tree.files[place] for place in found]) >= MIN_FILES:
            listed.update(found)
    return sorted(listed | _labels(tree, reasons, listed)) if listed else []


def _adjacent_files(tree: BlockTree, reasons: Sequence[str], places: Iterable[int]) -> list[int]:
    """Return the blocks with links to files that come first in ``places``, with nothing but labels between them."""
    found: list[int] = []
    labels = 0
    for place in places:
        if reasons[place] not in REMOVABLE:
            break
        if tree.files.get(place):
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
