"""When what was cut for what it is, comments, teasers or captions, is what a page is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.page.kinds import ENOUGH
from dedupcrawl.page.noise import OTHERS, OUTSIDE, SIDE_CLASS, TEASER

if TYPE_CHECKING:
    from dedupcrawl.page.blocks import Draft

LIST = 2  #: a page with so many times more text in teasers than beside them is a list of them


def take_back(drafts: list[Draft], reasons: list[str], left: int) -> list[str]:
    """Let the words of others count as the page's where it says little itself (``left``, in bytes).

    Twice as much text in teasers as beside them is a list of them, and what introduces them stands on each
    page of the list. Where captions outweigh the text, the page is its pictures.
    """
    if left < ENOUGH:
        reasons = [OUTSIDE if reason in OTHERS else reason for reason in reasons]
    elif TEASER in reasons:
        teasers = [place for place, reason in enumerate(reasons) if reason is TEASER]
        _take_if_more(drafts, reasons, teasers, LIST * left)
    if SIDE_CLASS in reasons:
        pairs = enumerate(zip(drafts, reasons, strict=True))
        captions = [at for at, (draft, why) in pairs if why is SIDE_CLASS and draft[5] == "figcaption"]
        _take_if_more(drafts, reasons, captions, left)
    return reasons


def _take_if_more(drafts: list[Draft], reasons: list[str], places: list[int], most: int) -> None:
    """Take back blocks that hold more than ``most`` bytes beside their links."""
    if sum([drafts[place][1] - drafts[place][2] for place in places]) > most:
        for place in places:
            reasons[place] = OUTSIDE
