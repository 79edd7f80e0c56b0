"""Where the main text begins and ends, and what frames it there without being part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.page.noise import EDGE, FRAME
from dedupcrawl.page.wordings import (
    CAPTION_ENDS,
    CAPTION_MOST,
    COOKIE,
    CREDIT_MOST,
    is_caption,
    is_consent_notice,
    is_credit,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.page.blocks import Draft

EDGE_COST = -40.0  #: what a short block near an edge costs at most
NEAR = 4  #: so many blocks from the beginning and from the end are looked at for credits and notices
FRAME_SHARE = 0.33  #: a frame that says more than this share of the text is a part of it


def trim(drafts: list[Draft], kept: list[int], worths: list[float]) -> dict[int, str]:
    """Return which blocks of the main text go after all, each with its reason (``noise.EDGE`` or ``FRAME``).

    Args:
        drafts: the blocks of the page.
        kept: the places in ``drafts`` of the main text, in reading order.
        worths: for each place what its block is worth (see :func:`dedupcrawl.page.worth.worth`).
    """
    begin, end = stretch([worths[place] for place in kept])
    gone = dict.fromkeys(kept[:begin] + kept[end:], EDGE)
    gone.update(dict.fromkeys(frame(drafts, kept[begin:end]), FRAME))
    return gone


def stretch(worths: list[float]) -> tuple[int, int]:
    """Return begin and end of the stretch of blocks worth most (Kadane)."""
    best = current = 0.0
    begin = start = 0
    end = len(worths)
    for place, value in enumerate(worths):
        if current <= 0:
            current, start = 0.0, place
        current += max(value, EDGE_COST)
        if current > best:
            best, begin, end = current, start, place + 1
    return begin, end


def frame(drafts: list[Draft], kept: list[int]) -> set[int]:
    """Return the places of credits, captions and notices; none where they are more than a third of all."""
    near = {*kept[:NEAR], *kept[-NEAR:]}
    # what is asked first spares most blocks a call
    found = {at for at in near if drafts[at][1] <= CREDIT_MOST and is_credit(*drafts[at][:2])}
    found.update([at for at in near if COOKIE in drafts[at][0] and is_consent_notice(*drafts[at][:2])])
    ends = [at for at in kept if drafts[at][1] <= CAPTION_MOST and drafts[at][0].endswith(CAPTION_ENDS)]
    found.update([at for at in ends if is_caption(*drafts[at][:2])])
    if found and _bytes(drafts, found) > FRAME_SHARE * _bytes(drafts, kept):
        return set()
    return found


def _bytes(drafts: list[Draft], places: Iterable[int]) -> int:
    return sum([drafts[place][1] for place in places])
