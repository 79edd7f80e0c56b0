"""Which blocks are the main text: the link rules, then the choice of one container, then its edges.

All arithmetic is on flat lists, one number a container; parents precede their children, so that a sum over
all descendants is one pass backwards.

Where the main text begins and ends, and what frames it there without being part of it.

What the page's own heading says of where its main text is.

When what was cut for what it is, comments, teasers or captions, is what a page is about.

What a page says twice: a second copy of the article, made for printers, small screens or reading aloud.

What a block says for or against the container that it stands in.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.page.flatten import words
from dedupcrawl.page.kinds import ENOUGH
from dedupcrawl.page.rules import (
    CAPTION_ENDS,
    CAPTION_MOST,
    COMMENTS,
    COOKIE,
    CREDIT_MOST,
    EDGE,
    FRAME,
    GUIDE_LINKS,
    LANDMARK,
    MAIN_TEXT,
    NESTED,
    OTHERS,
    OUTSIDE,
    POOR_CONTAINER,
    REPEATED,
    SIDE_CLASS,
    TEASER,
    SideKind,
    is_caption,
    is_consent_notice,
    is_credit,
    link_noise,
    points_elsewhere,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.page.blocks import Draft, Outline
    from dedupcrawl.page.options import ReadOptions


EDGE_COST = -40.0  #: what a short block near an edge costs at most
NEAR = 4  #: so many blocks from the beginning and from the end are looked at for credits and notices
FRAME_SHARE = 0.33  #: a frame that says more than this share of the text is a part of it


def trim(drafts: list[Draft], kept: list[int], worths: list[float]) -> dict[int, str]:
    """Return which blocks of the main text go after all, each with its reason (``noise.EDGE`` or ``FRAME``).

    Args:
        drafts: the blocks of the page.
        kept: the places in ``drafts`` of the main text, in reading order.
        worths: for each place what its block is worth (see :func:`dedupcrawl.page.scoring.worth`).
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


#: Bytes of good text: where no container has more, size alone does not tell which holds the main text.
SHORT = 800.0
HEADED = 20.0  #: so many times does good text under the heading count there


def heading(drafts: Sequence[Draft]) -> int:
    """Return the container of the page's ``<h1>``, or -1 if it has none or several.

    One that is a link is the name of the site.
    """
    homes = [draft[6] for draft in drafts if draft[5] == "h1" and not draft[2]]
    return homes[0] if len(homes) == 1 else -1


def around(container: int, parents: Sequence[int]) -> set[int]:
    """Return a container (-1: none) and all that it stands in."""
    found = set()
    while container >= 0:
        found.add(container)
        container = parents[container]
    return found


def favour_headed(own: Sequence[float], parents: Sequence[int], headed: int) -> list[float]:
    """Return the good text of each container, that in the one with the heading counted ``HEADED`` times.

    The terms of a shop outgrow what it says of a spoon; but ``<h1>`` stands over the spoon.

    Args:
        own: good text of each container, without what is in containers inside it.
        parents: of each container, -1 for the first.
        headed: what :func:`heading` says of the page.
    """
    under = {headed}
    favoured: list[float] = []
    for child, (good, parent) in enumerate(zip(own, parents, strict=True)):
        if headed >= 0 and parent in under:
            under.add(child)
        favoured.append(good * HEADED if child in under else good)
    return favoured


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


COST = 40.0  #: bytes a block must have before it speaks for its container: labels and dates do not
LINK_COST = 3.0  #: a byte of link text outweighs so many of plain text
PARAGRAPH = 30.0  #: what being a <p> is worth
MOST, LEAST = 600.0, -200.0  #: no single block decides alone
HEADINGS = words("h1 h2 h3 h4 h5 h6")
HEADING = 200  #: a heading shorter than this says nothing for or against its container
CELLS = words("dd dt li td th")  #: short by nature: without links they cost nothing
LONG_GUIDE = -LEAST - COST  #: bytes of a block of guide links that says as much against it as any can


def worth(tag: str, length: int, link_length: int) -> float:
    """Return what a block says for its container (below 0: against it), in bytes of good text."""
    if length < HEADING and tag in HEADINGS:
        return 0.0
    value = length - LINK_COST * link_length - COST
    if tag == "p":
        value += PARAGRAPH
        if link_length:
            value = max(value, length - link_length - COST)
    elif value < 0 and not link_length and tag in CELLS:
        return 0.0
    if value < LEAST:
        return LEAST
    return min(value, MOST)


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
        guides, plain, landmark, sides = self.guides, self.plain, SideKind.LANDMARK, self.sides
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
                if side is SideKind.COMMENTS:
                    limit = left - LEFT_OVER
                elif side is SideKind.NOTICE:
                    limit = max(likely, min(NOTICE_MOST, left - LEFT_OVER))
                if good[child] < limit:
                    cut[child] = COMMENTS if side is SideKind.COMMENTS else SIDE_CLASS
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
