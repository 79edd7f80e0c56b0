"""Which blocks are the main text: the link rules, then the choice of one container, then its edges.

All arithmetic is on flat lists, one number a container; parents precede their children, so that a sum over all
descendants is one pass backwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.page.noise import (
    EDGE,
    GUIDE_LINKS,
    LANDMARK,
    LINK_RUN,
    MAIN_TEXT,
    OUTSIDE,
    POOR_CONTAINER,
    SIDE_CLASS,
    link_noise,
)
from dedupcrawl.page.sideparts import Side

if TYPE_CHECKING:
    from dedupcrawl.page.blocks import Outline
    from dedupcrawl.page.options import ReadOptions

COST = 40.0  #: bytes a block must have before it speaks for its container: labels and dates do not
LINK_COST = 3.0  #: a byte of link text outweighs as many of plain text
PARAGRAPH = 30.0  #: what being a <p> is worth
MOST, LEAST = 600.0, -200.0  #: no single block decides alone
HEADING = 200  #: a heading shorter than this says nothing for or against its container
POOR = -120.0  #: a container worth less is cut out of the main text
LIKELY_SHARE = 0.4  #: a side part by its class may hold less than this share of all good text
LEFT_OVER = 200.0  #: comments are cut while at least this much good text is left
UP = 1.12  #: an ancestor must be worth this many times more to take the place of the best container
PARENT, GRANDPARENT, SELF = 1.0, 0.55, 0.9  #: how far the good text of a container speaks for those around it
EDGE_STEP = -40.0  #: what a short block at an edge may cost at most


def choose(outline: Outline, options: ReadOptions) -> list[str]:
    """Return for each draft of ``outline`` why it is kept (:data:`~dedupcrawl.page.noise.MAIN_TEXT`) or cut."""
    reasons = [_noise(draft, outline, options) for draft in outline.drafts]
    worths = [_worth(draft, reason, outline) for draft, reason in zip(outline.drafts, reasons, strict=True)]
    if not any(worth > 0 for worth in worths):
        return [reason or MAIN_TEXT for reason in reasons]
    tree = Containers(outline, worths)
    tree.cut_side_parts()
    tree.prune()
    tree.keep(tree.best())
    for place, draft in enumerate(outline.drafts):
        if not reasons[place]:
            reasons[place] = tree.reasons[draft[5]]
    _trim(reasons, worths)
    return reasons


def _noise(draft, outline, options):
    if outline.kinds[draft[5]][1] is Side.LANDMARK:
        return LANDMARK
    return link_noise(draft[1], draft[2], draft[4], options) or ""


def _worth(draft, reason, outline):
    if reason == LANDMARK:
        return 0.0
    _, length, link_length, _, _, container = draft
    if reason == GUIDE_LINKS:
        return max(LEAST, -COST - length)
    tag = outline.kinds[container][0]
    worth = length - LINK_COST * link_length - COST
    if tag == "p":
        worth += PARAGRAPH
    elif tag[0] == "h" and length < HEADING:
        return 0.0
    if reason == LINK_RUN:
        worth = min(worth, -COST)
    return max(LEAST, min(MOST, worth))


class Containers:
    """The containers of a page and what is known of them."""

    def __init__(self, outline: Outline, worths: list[float]) -> None:
        count = len(outline.parents)
        self.parents = outline.parents
        self.sides = [side for _, side in outline.kinds]
        self.worth = [0.0] * count  #: of all blocks directly inside
        self.good = [0.0] * count  #: of those that are worth something
        self.length = [0] * count
        self.link_length = [0] * count
        self.reasons = [""] * count
        self.total = self.worth
        for draft, worth in zip(outline.drafts, worths, strict=True):
            container = draft[5]
            self.worth[container] += worth
            self.length[container] += draft[1]
            self.link_length[container] += draft[2]
            if worth > 0:
                self.good[container] += worth

    def cut_side_parts(self) -> None:
        """Cut what its class or id calls a side part, unless that leaves too little."""
        inside = self.good[:]
        parents = self.parents
        for child in range(len(parents) - 1, 0, -1):
            inside[parents[child]] += inside[child]
        whole = left = inside[0]
        for child in range(1, len(parents)):
            side = self.sides[child]
            if self.reasons[parents[child]]:
                self.reasons[child] = self.reasons[parents[child]]
            elif (side is Side.COMMENTS and left - inside[child] > LEFT_OVER) or (
                side is Side.LIKELY and inside[child] < LIKELY_SHARE * whole
            ):
                self.reasons[child] = SIDE_CLASS
                left -= inside[child]

    def prune(self) -> None:
        """Sum up from the leaves and cut containers that hold little but links and labels."""
        parents, total, length, link_length = self.parents, self.total, self.length, self.link_length
        for child in range(len(parents) - 1, 0, -1):
            if self.reasons[child]:
                continue
            parent = parents[child]
            length[parent] += length[child]
            link_length[parent] += link_length[child]
            worth = total[child]
            if worth < POOR or (worth < 0 and link_length[child] > 0.5 * length[child]):
                self.reasons[child] = POOR_CONTAINER
                worth = -60.0
            total[parent] += worth

    def best(self) -> int:
        """Return the container around most good text, as Readability counts it, or an ancestor worth clearly more."""
        scores = [0.0] * len(self.parents)
        for child, good in enumerate(self.good):
            if good > 0 and not self.reasons[child]:
                scores[child] += good * SELF
                parent = self.parents[child]
                if parent >= 0:
                    scores[parent] += good * PARENT
                    grandparent = self.parents[parent]
                    if grandparent >= 0:
                        scores[grandparent] += good * GRANDPARENT
        best = max(range(len(scores)), key=scores.__getitem__)
        above = self.parents[best]
        while above >= 0:
            if self.total[above] > UP * self.total[best] and self.total[above] > 0:
                best = above
            above = self.parents[above]
        return best

    def keep(self, best: int) -> None:
        self.reasons[best] = MAIN_TEXT
        for child in range(len(self.parents)):
            if not self.reasons[child]:
                inside = child and self.reasons[self.parents[child]] == MAIN_TEXT
                self.reasons[child] = MAIN_TEXT if inside else OUTSIDE


def _trim(reasons: list[str], worths: list[float]) -> None:
    """Cut the short blocks at both ends: keep the stretch whose sum is largest (Kadane)."""
    kept = [place for place, reason in enumerate(reasons) if reason == MAIN_TEXT]
    best = current = 0.0
    begin = start = 0
    end = len(kept)
    for rank, place in enumerate(kept):
        if current <= 0:
            current, start = 0.0, rank
        current += max(worths[place], EDGE_STEP)
        if current > best:
            best, begin, end = current, start, rank + 1
    for place in kept[:begin] + kept[end:]:
        reasons[place] = EDGE
