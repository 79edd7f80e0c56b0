"""Which blocks are the main text: the link rules, then the choice of one container, then its edges.

All arithmetic is on flat lists, one number a container; parents precede their children, so that a sum over
all descendants is one pass backwards.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.page.edges import trim
from dedupcrawl.page.heading import SHORT, around, favour_headed, heading
from dedupcrawl.page.noise import (
    COMMENTS,
    GUIDE_LINKS,
    LANDMARK,
    MAIN_TEXT,
    NESTED,
    OUTSIDE,
    POOR_CONTAINER,
    SIDE_CLASS,
    TEASER,
    link_noise,
)
from dedupcrawl.page.others import take_back
from dedupcrawl.page.repeats import repeats, set_repeats_apart
from dedupcrawl.page.sideparts import Side
from dedupcrawl.page.wordings import points_elsewhere
from dedupcrawl.page.worth import COST, LEAST, LONG_GUIDE, worth

if TYPE_CHECKING:
    from dedupcrawl.page.blocks import Draft, Outline
    from dedupcrawl.page.options import ReadOptions

POOR = -120.0  #: a container worth less is cut out of the main text…
POOR_LINKS = 0.5  #: …and so is one worth less than nothing with a larger share of links
CUT_COST = -60.0  #: what a cut container still costs the one around it
LIKELY_SHARE = 0.4  #: a side part by its class may hold less than this share of all good text
LIKELY_LEAST = 200.0  #: one that holds less good text goes even if nothing else is there
LEFT_OVER = 200.0  #: comments and notices are cut while at least this much good text is left
NOTICE_MOST = 1000.0  #: a notice with more good text than this may be what the page is about
TEASERS = 4  #: so many teasers side by side are a list of other stories
TEASER_TEXT = 500  #: bytes beside the link that a teaser has at most
UP = 1.3  #: an ancestor must be worth so many times more to take the place of the best container


def choose(outline: Outline, options: ReadOptions) -> tuple[list[str], int]:
    """Return for each draft why it is kept (``noise.MAIN_TEXT``) or cut, and how many bytes are kept."""
    containers = Containers(outline)
    reasons, worths = containers.weigh(outline.drafts, options)
    if not any(containers.good):
        rest = [draft[1] for draft, reason in zip(outline.drafts, reasons, strict=True) if not reason]
        return [reason or MAIN_TEXT for reason in reasons], sum(rest)
    again = repeats(outline.drafts)
    containers.discount(again, outline.drafts, worths)
    headed = heading(outline.drafts)
    containers.cut_parts(outline.nested, headed)
    kept = _keep(outline.drafts, reasons, containers.fates(containers.best(outline.mains, headed)))
    set_repeats_apart(outline.drafts, reasons, again)
    gone = trim(outline.drafts, kept, worths)
    for place, reason in gone.items():
        reasons[place] = reason
    left = sum([outline.drafts[place][1] for place in kept if place not in gone])
    return take_back(outline.drafts, reasons, left), left


def _keep(drafts: list[Draft], reasons: list[str], fates: list[str]) -> list[int]:
    """Hand down the fates of the containers to their blocks; return the places of those that are kept."""
    kept = []
    for place, draft in enumerate(drafts):
        if not reasons[place]:
            reasons[place] = fates[draft[6]]
            if reasons[place] is MAIN_TEXT:
                kept.append(place)
    return kept


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
        #: with all inside
        self.all_guides, self.all_plain, self.all_good = self.guides, self.plain, self.good

    def weigh(self, drafts: list[Draft], options: ReadOptions) -> tuple[list[str], list[float]]:
        """Apply the link rules to the blocks, and sum up what they are worth."""
        reasons, worths = [], []
        worth_in, good, length_in, links_in = self.worth, self.good, self.length, self.link_length
        guides, plain, landmark, sides = self.guides, self.plain, Side.LANDMARK, self.sides
        least, most = options.link_density_content, options.link_density_noise
        for text, length, link_length, _, run, tag, home in drafts:
            reason = ""
            if link_length:
                links_in[home] += link_length
                if link_length > most * length:  # most blocks with links; to ask costs more than the rule
                    reason = GUIDE_LINKS
                elif link_length >= least * length:
                    reason = link_noise(length, link_length, run, options) or ""
                    if not reason and points_elsewhere(text):
                        reason = GUIDE_LINKS
            if sides[home] is landmark:
                reason = LANDMARK
                value = 0.0
            elif reason:
                value = -COST - length if length < LONG_GUIDE else LEAST
                guides[home] += 1
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

    def discount(self, places: list[int], drafts: list[Draft], worths: list[float]) -> None:
        """Let blocks no longer speak for their containers."""
        for place in places:
            if worths[place] > 0:
                home = drafts[place][6]
                self.worth[home] -= worths[place]
                self.good[home] -= worths[place]

    def cut_parts(self, nested: list[int], headed: int) -> None:
        """Cut what is no main text for what it is, then what is worth too little."""
        self.add_up()
        self.cut_nested(nested)
        self.cut_teasers()
        self.cut_side_parts(around(headed, self.parents))
        self.prune()

    def add_up(self) -> None:
        """Sum up guides, plain and good text over each container and all inside it."""
        guides, plain, good = [*self.guides], [*self.plain], [*self.good]
        parents = self.parents
        for child in range(len(guides) - 1, 0, -1):
            if plain[child]:
                plain[parents[child]] += plain[child]
                good[parents[child]] += good[child]
            if guides[child]:
                guides[parents[child]] += guides[child]
        self.all_guides, self.all_plain, self.all_good = guides, plain, good

    def cut_nested(self, nested: list[int]) -> None:
        """Cut articles inside an article, if the text outside them outweighs each.

        HTML means them for comments on the outer one; sites also put the next stories there.
        """
        if not nested:
            return
        good = self.all_good
        outside = good[0] - sum(good[child] for child in nested)
        for child in nested:
            if good[child] < outside:
                self.cut[child] = NESTED

    def cut_teasers(self) -> None:
        """Cut headlines of other stories with their first lines, where several stand side by side."""
        guides, plain, parents = self.all_guides, self.all_plain, self.parents
        if guides[0] < TEASERS:
            return
        teasers = [
            child
            for child, guiding in enumerate(guides)
            if guiding and child and 0 < plain[child] < TEASER_TEXT
        ]
        beside = Counter([parents[child] for child in teasers])
        for child in teasers:
            if beside[parents[child]] >= TEASERS:
                self.cut[child] = TEASER

    def cut_side_parts(self, spared: set[int]) -> None:
        """Cut what its class or id calls a side part, unless that leaves too little.

        ``spared`` are those that the page's heading stands in: no side part has it.
        """
        parents, sides, cut = self.parents, self.sides, self.cut
        good = self.all_good
        left = good[0]
        likely = max(LIKELY_LEAST, LIKELY_SHARE * left)
        for child in range(1, len(parents)):
            if cut[parents[child]]:
                cut[child] = cut[parents[child]]
            elif cut[child]:
                left -= good[child]
            elif sides[child] and child not in spared:
                side, limit = sides[child], likely
                if side is Side.COMMENTS:
                    limit = left - LEFT_OVER
                elif side is Side.NOTICE:
                    limit = max(likely, min(NOTICE_MOST, left - LEFT_OVER))
                if good[child] < limit:
                    cut[child] = COMMENTS if side is Side.COMMENTS else SIDE_CLASS
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

    def best(self, mains: list[int], headed: int) -> int:
        """Return the container with most good text of its own, or an ancestor that is worth clearly more.

        Where the page says what its <main> is, nothing outside of it joins the text inside. A page with
        several does not say it.
        """
        own = [0.0 if cut else good for good, cut in zip(self.good, self.cut, strict=True)]
        if max(own) < SHORT:
            own = favour_headed(own, self.parents, headed)
        bound = mains if len(mains) == 1 else ()
        best = above = max(range(len(own)), key=own.__getitem__)
        while above >= 0:
            if self.worth[above] > max(0.0, UP * self.worth[best]):
                best = above
            if above in bound:
                break
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
