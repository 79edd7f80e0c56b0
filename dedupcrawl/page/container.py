"""Which blocks are the main text: the link rules, then the choice of one container, then its edges.

All arithmetic is on flat lists, one number a container; parents precede their children, so that a sum over
all descendants is one pass backwards.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.page.noise import (
    EDGE,
    LANDMARK,
    MAIN_TEXT,
    OUTSIDE,
    POOR_CONTAINER,
    SIDE_CLASS,
    TEASER,
    link_noise,
)
from dedupcrawl.page.sideparts import Side

if TYPE_CHECKING:
    from dedupcrawl.page.blocks import Draft, Outline
    from dedupcrawl.page.options import ReadOptions

COST = 40.0  #: bytes a block must have before it speaks for its container: labels and dates do not
LINK_COST = 3.0  #: a byte of link text outweighs so many of plain text
PARAGRAPH = 30.0  #: what being a <p> is worth
MOST, LEAST = 600.0, -200.0  #: no single block decides alone
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
HEADING = 200  #: a heading shorter than this says nothing for or against its container
CELLS = frozenset({"dd", "dt", "li", "td", "th"})  #: short by nature: without links they cost nothing
POOR = -120.0  #: a container worth less is cut out of the main text…
POOR_LINKS = 0.5  #: …and so is one worth less than nothing with a larger share of links
CUT_COST = -60.0  #: what a cut container still costs the one around it
LIKELY_SHARE = 0.4  #: a side part by its class may hold less than this share of all good text
LIKELY_LEAST = 200.0  #: one that holds less good text goes even if nothing else is there
LEFT_OVER = 200.0  #: comments are cut while at least this much good text is left
TEASERS = 4  #: so many teasers side by side are a list of other stories
TEASER_TEXT = 500  #: bytes beside the link that a teaser has at most
UP = 1.3  #: an ancestor must be worth so many times more to take the place of the best container
EDGE_COST = -40.0  #: what a short block near an edge costs at most


def choose(outline: Outline, options: ReadOptions) -> list[str]:
    """Return for each draft of ``outline`` why it is kept (``noise.MAIN_TEXT``) or cut (another reason)."""
    containers = Containers(outline)
    reasons, worths = containers.weigh(outline.drafts, options)
    if not any(containers.good):
        return [reason or MAIN_TEXT for reason in reasons]
    containers.cut_teasers()
    containers.cut_side_parts()
    containers.prune()
    fates = containers.fates(containers.best())
    kept = []
    for place, draft in enumerate(outline.drafts):
        if not reasons[place]:
            reasons[place] = fates[draft[6]]
            if reasons[place] is MAIN_TEXT:
                kept.append(place)
    begin, end = stretch([worths[place] for place in kept])
    for place in kept[:begin] + kept[end:]:
        reasons[place] = EDGE
    return reasons


def worth(tag: str, length: int, link_length: int) -> float:
    """Return what a block says for its container (below 0: against it), in bytes of good text."""
    if length < HEADING and tag in HEADINGS:
        return 0.0
    value = length - LINK_COST * link_length - COST
    if tag == "p":
        value = max(value + PARAGRAPH, length - link_length - COST)
    elif value < 0 and not link_length and tag in CELLS:
        return 0.0
    if value < LEAST:
        return LEAST
    return min(value, MOST)


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


class Containers:
    """The containers of a page and what is known of them; the lists have one entry a container."""

    def __init__(self, outline: Outline) -> None:
        count = len(outline.parents)
        self.parents = outline.parents
        self.sides = outline.sides
        self.worth = [0.0] * count  #: of the blocks in it
        self.good = [0.0] * count  #: of those blocks in it that speak for it
        self.length = [0] * count
        self.link_length = [0] * count
        self.guides = [0] * count  #: blocks of guide links
        self.plain = [0] * count  #: length of the other blocks
        self.cut = [""] * count  #: why it is cut

    def weigh(self, drafts: list[Draft], options: ReadOptions) -> tuple[list[str], list[float]]:
        """Apply the link rules to the blocks, and sum up what they are worth."""
        reasons, worths = [], []
        worth_in, good, length_in, links_in = self.worth, self.good, self.length, self.link_length
        plain, landmark, sides = self.plain, Side.LANDMARK, self.sides
        for _, length, link_length, _, run, tag, home in drafts:
            reason = ""
            if link_length:
                reason = link_noise(length, link_length, run, options) or ""
                links_in[home] += link_length
            if sides[home] is landmark:
                reason = LANDMARK
                value = 0.0
            elif reason:
                value = max(LEAST, -COST - length)
                self.guides[home] += 1
            else:
                value = worth(tag, length, link_length)
                plain[home] += length
                if value > 0:
                    good[home] += value
            worth_in[home] += value
            length_in[home] += length
            reasons.append(reason)
            worths.append(value)
        return reasons, worths

    def sums(self, values: list[float] | list[int]) -> list[float]:
        """Return for each container the sum of ``values`` over it and all inside it."""
        sums: list[float] = [*values]
        parents = self.parents
        for child in range(len(sums) - 1, 0, -1):
            value = sums[child]
            if value:  # most containers hold nothing of their own
                sums[parents[child]] += value
        return sums

    def cut_teasers(self) -> None:
        """Cut headlines of other stories with their first lines, where several stand side by side."""
        if sum(self.guides) < TEASERS:
            return
        guides, plain, parents = self.sums(self.guides), self.sums(self.plain), self.parents
        teasers = [
            child
            for child, guiding in enumerate(guides)
            if guiding and child and 0 < plain[child] < TEASER_TEXT
        ]
        beside = Counter([parents[child] for child in teasers])
        for child in teasers:
            if beside[parents[child]] >= TEASERS:
                self.cut[child] = TEASER

    def cut_side_parts(self) -> None:
        """Cut what its class or id calls a side part, unless that leaves too little."""
        parents, sides, cut = self.parents, self.sides, self.cut
        good = self.sums(self.good)
        left = good[0]
        likely = max(LIKELY_LEAST, LIKELY_SHARE * left)
        for child in range(1, len(parents)):
            if cut[parents[child]]:
                cut[child] = cut[parents[child]]
            elif cut[child]:
                left -= good[child]
            elif sides[child]:
                limit = likely if sides[child] == Side.LIKELY else left - LEFT_OVER
                if good[child] < limit:
                    cut[child] = SIDE_CLASS
                    left -= good[child]

    def prune(self) -> None:
        """Sum up from the leaves what containers are worth; cut those of little but links and labels."""
        parents, worth, length, links, cut = self.parents, self.worth, self.length, self.link_length, self.cut
        for child in range(len(parents) - 1, 0, -1):
            if cut[child]:
                continue
            parent = parents[child]
            value = worth[child]
            length[parent] += length[child]
            links[parent] += links[child]
            if value < 0 and (value < POOR or links[child] > POOR_LINKS * length[child]):
                cut[child] = POOR_CONTAINER
                value = CUT_COST
            worth[parent] += value

    def best(self) -> int:
        """Return the container with most good text of its own, or an ancestor that is worth clearly more."""
        own = [0.0 if cut else good for good, cut in zip(self.good, self.cut, strict=True)]
        best = above = max(range(len(own)), key=own.__getitem__)
        while above >= 0:
            if self.worth[above] > max(0.0, UP * self.worth[best]):
                best = above
            above = self.parents[above]
        return best

    def fates(self, best: int) -> list[str]:
        """Return for each container why the blocks in it are kept or cut."""
        fates = [reason or OUTSIDE for reason in self.cut]
        fates[best] = MAIN_TEXT
        for child in range(best + 1, len(fates)):
            if fates[child] is OUTSIDE and fates[self.parents[child]] is MAIN_TEXT:
                fates[child] = MAIN_TEXT
        return fates
