"""What a page says twice: a second copy of the article, made for printers, small screens or reading aloud."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.page.noise import MAIN_TEXT, OUTSIDE, REPEATED

if TYPE_CHECKING:
    from dedupcrawl.page.blocks import Draft

REPEAT = 100  #: a block of so many bytes that the page has had before says nothing new


def repeats(drafts: list[Draft]) -> list[int]:
    """Return the places of long blocks whose text an earlier block has."""
    lengths = [draft[1] for draft in drafts if draft[1] >= REPEAT]
    if len(set(lengths)) == len(lengths):
        return []  # to hash the texts costs more
    new = {draft[0] for draft in drafts if draft[1] >= REPEAT}
    if len(new) == len(lengths):
        return []
    found = []
    for place, (text, length, *_) in enumerate(drafts):
        if text in new:
            new.remove(text)
        elif length >= REPEAT:
            found.append(place)
    return found


def set_repeats_apart(drafts: list[Draft], reasons: list[str], places: list[int]) -> None:
    """Give those outside that only say what the main text says a reason of their own."""
    if not places:
        return
    said = {draft[0] for draft, reason in zip(drafts, reasons, strict=True) if reason is MAIN_TEXT}
    for place in places:
        if reasons[place] is OUTSIDE and drafts[place][0] in said:
            reasons[place] = REPEATED
