"""When the words of others, comments and teasers, are what a page is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.page.kinds import ENOUGH
from dedupcrawl.page.noise import OTHERS, OUTSIDE, TEASER

if TYPE_CHECKING:
    from dedupcrawl.page.blocks import Draft

LIST = 2  #: a page with so many times more text in teasers than beside them is a list of them


def take_back(drafts: list[Draft], reasons: list[str], left: int) -> list[str]:
    """Let the words of others count as the page's where it says little itself (``left``, in bytes).

    Twice as much text in teasers as beside them is a list of them, and what introduces them stands on each
    page of the list.
    """
    if left < ENOUGH:
        return [OUTSIDE if reason in OTHERS else reason for reason in reasons]
    if TEASER in reasons:
        pairs = zip(drafts, reasons, strict=True)
        teasers = sum([length - linked for (_, length, linked, *_), reason in pairs if reason is TEASER])
        if teasers > LIST * left:
            return [OUTSIDE if reason is TEASER else reason for reason in reasons]
    return reasons
