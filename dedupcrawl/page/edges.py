"""The edges of the main text: bylines, captions, notices and headlines of other pages at either end are left out.

The constants were chosen as those of :mod:`dedupcrawl.page.scoring`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.page.notices import MAX_NOTE_BYTES, MAX_NOTED_BYTES, is_publication_note, may_hold_note
from dedupcrawl.page.rules import (
    CAPTION_ENDS,
    EDGE,
    FRAME,
    MAX_CAPTION_BYTES,
    MIN_STATEMENT_BYTES,
    ends_sentence,
    is_byline,
    is_caption,
    is_consent_notice,
    is_legal,
    is_stamp,
    is_statement,
)
from dedupcrawl.page.structure import HEADINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.page.blocks import RawBlock


EDGE_COST = -40.0  #: lower limit of the score of a block at an edge
FRAME_BLOCKS = 4  #: number of blocks at either end that may be credits and notices
FRAME_SHARE = 0.33  #: a frame with a larger share of the text is a part of it
NOTES_BEFORE = 2  #: number of blocks at the beginning that may be notes on publication
NOTES_SHARE = 0.5  #: notes on publication with a larger share are what the page is about
HEADLINE_BYTES = range(20, 120)  #: bytes of a headline
MIN_HEADLINES = 4  #: headlines of other pages at the end of a text


def trim(blocks: list[RawBlock], kept: list[int], scores: list[float]) -> dict[int, str]:
    """Return the blocks to trim: places in ``kept``, with the reason EDGE or FRAME."""
    begin, end = best_range([scores[place] for place in kept])
    removed = dict.fromkeys(kept[:begin] + kept[end:], EDGE)
    removed.update(dict.fromkeys(frame_blocks(blocks, kept[begin:end]), FRAME))
    return removed


def best_range(scores: list[float]) -> tuple[int, int]:
    """Return start and end of the range with the highest sum (Kadane's algorithm)."""
    best = current = 0.0
    begin = start = 0
    end = len(scores)
    for place, value in enumerate(scores):
        if current <= 0:
            current, start = 0.0, place
        current += max(value, EDGE_COST)
        if current > best:
            best, begin, end = current, start, place + 1
    return begin, end


def frame_blocks(blocks: list[RawBlock], kept: list[int]) -> set[int]:
    """Return the places of credits, captions and notices; none if they are too large a share of the text."""
    notes = note_blocks(blocks, kept)
    rest = [at for at in kept if at not in notes] if notes else kept
    near = {*rest[:FRAME_BLOCKS], *rest[-FRAME_BLOCKS:]}
    found = {at for at in near if is_byline(*blocks[at][:2]) or is_consent_notice(*blocks[at][:2])}
    # The cheap tests first: they avoid most calls of is_caption.
    ends = [at for at in rest if blocks[at][1] <= MAX_CAPTION_BYTES and blocks[at][0].endswith(CAPTION_ENDS)]
    found.update([at for at in ends if is_caption(*blocks[at][:2])])
    frame, text = (sum([blocks[at][1] for at in places]) for places in (found, rest))
    return notes if frame > FRAME_SHARE * text else notes | found


def note_blocks(blocks: Sequence[RawBlock], kept: list[int]) -> set[int]:
    """Return the places of notes on publication at either end of a text; none if they are most of it, or it is long."""
    size = sum([blocks[at][1] for at in kept])
    if size > MAX_NOTED_BYTES:
        return set()
    ends = {*kept[:NOTES_BEFORE], *kept[-FRAME_BLOCKS:]}
    near = [at for at in ends if blocks[at][1] <= MAX_NOTE_BYTES]
    if not may_hold_note([blocks[at][0] for at in near], sum([blocks[at][1] for at in near])):
        return set()
    notes = {at for at in near if is_publication_note(*blocks[at][:2])}
    return notes if sum([blocks[at][1] for at in notes]) <= NOTES_SHARE * size else set()


def trim_choice(blocks: Sequence[RawBlock], chosen: list[bool]) -> None:
    """Remove the blocks of the site from both ends of a chosen text.

    These are notes on publication, and at the end also URLs, legal notices and headlines of other pages.

    The rules do not trim the choice of the model. Headlines are a list without a sentence, after sentences. If
    the model leaves out a part of a list of links, the whole list is left out.
    """
    kept = [place for place, keep in enumerate(chosen) if keep]
    notes = note_blocks(blocks, kept)
    for place in notes:
        chosen[place] = False
    kept = [place for place in kept if place not in notes]
    tail = len(kept)
    while tail and _is_signature(blocks[kept[tail - 1]]):
        tail -= 1
    listed = tail
    is_cut = tail > 0 and [*map(_is_listed_link, blocks[kept[tail - 1] :][:2])] == [True, True]
    while listed and (_is_headline(blocks[kept[listed - 1]]) or (is_cut and _is_listed_link(blocks[kept[listed - 1]]))):
        listed -= 1
    if (is_cut or tail - listed >= MIN_HEADLINES) and any(_is_told(blocks[place]) for place in kept[:listed]):
        tail = listed - (listed > 0 and blocks[kept[listed - 1]][5] in HEADINGS)
    if tail:
        for place in kept[tail:]:
            chosen[place] = False


def _is_signature(block: RawBlock) -> bool:
    text, length = block[:2]
    return length < MIN_STATEMENT_BYTES and (bool(is_legal(text)) or is_stamp(text, length))


def _is_headline(block: RawBlock) -> bool:
    text, length, _, _, _, tag, _ = block
    return tag == "li" and length in HEADLINE_BYTES and not ends_sentence(text)


def _is_listed_link(block: RawBlock) -> bool:
    return block[5] == "li" and block[1] == block[2] > 0


def _is_told(block: RawBlock) -> bool:
    return block[5] not in {"li", *HEADINGS} and is_statement(*block[:2])
