"""Which blocks are the main text: the link rules, then the choice of one container, then its edges.

The *score* of a block is its contribution to its container, in bytes of plain text; below 0 it is evidence
against the container. All data of containers are flat lists with one entry a container. Parents precede their
children, so a sum over all descendants is one pass backwards.

Numeric constants without another source were chosen by F1 on the labelled page sets aeb and cwced, and by the
copies missed on the labelled reprints (docs/methods-reading.md, "Container choice" and "The readers compared").
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache, partial
from typing import TYPE_CHECKING

from dedupcrawl.page import compiled, structure
from dedupcrawl.page.edges import trim
from dedupcrawl.page.file_lists import file_blocks
from dedupcrawl.page.notices import notice_blocks
from dedupcrawl.page.replies import replies_below
from dedupcrawl.page.rules import (
    COMMENTS,
    GUIDE_LINKS,
    LANDMARK,
    LINK_RUN,
    MAIN_TEXT,
    NESTED,
    OUTSIDE,
    POOR_CONTAINER,
    SIDE_CLASS,
    TEASER,
    THIRD_PARTY_REASONS,
    SideKind,
    is_ambiguous,
    is_consent_notice,
    link_noise,
    points_elsewhere,
    side_words,
    word_set,
)
from dedupcrawl.page.structure import HEADINGS, TERM, TITLES

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from dedupcrawl.page._choice import ChoiceRules
    from dedupcrawl.page._features import BlockScores
    from dedupcrawl.page.blocks import BlockTree, RawBlock
    from dedupcrawl.page.options import ReadOptions


# Score of a block
BLOCK_COST = 40.0  #: subtracted from each block: labels and dates are no evidence for a container
LINK_COST = 3.0  #: weight of a byte of link text against one of plain text
PARAGRAPH_BONUS = 30.0  #: added for a <p>
MAX_SCORE, MIN_SCORE = 600.0, -200.0  #: limits, so that no single block decides alone
MAX_HEADING_BYTES = 200  #: a shorter heading has the score 0
CELLS = word_set("dd dt li td th")  #: usually short: without links their score is never below 0
MAX_GUIDE_BYTES = -MIN_SCORE - BLOCK_COST  #: a block of guide links with at least this length has the lowest score

# Removal of containers
POOR_SCORE = -120.0  #: a container with a lower score is removed…
POOR_LINK_DENSITY = 0.5  #: …and so is one with a score below 0 and a higher link density
EXCLUDED_SCORE = -60.0  #: what such a container adds to the score of the one around it
SIDE_PART_SHARE = 0.4  #: a side part by class is removed if it has less than this share of the positive scores
MIN_SIDE_PART = 200.0  #: one with lower positive scores is removed even if no other text is left
MIN_REMAINING = 200.0  #: positive scores that must be left when comments and notices are removed
MAX_NOTICE = 1000.0  #: a notice with higher positive scores may be the topic of the page
MIN_TEASERS = 4  #: at least this number of adjacent teasers is a list of other stories
MAX_TEASER_BYTES = 500  #: bytes beside the link that a teaser has at most

# Choice of the container
ANCESTOR_FACTOR = 1.3  #: an ancestor with a score higher by this factor replaces the best container
MIN_MAIN_SHARE = 0.3  #: a container with a smaller share of the positive scores left is one part among others

FACT = "dd"  #: beside the posts of a discussion such a block is a figure of their author

# Text that is restored
MIN_ARTICLE_BYTES = 600  #: a main text of at least this length is an article, whatever else is on the page
LIST_RATIO = 2  #: a page with more text in teasers than this factor times its main text is a list


def classify_blocks(tree: BlockTree, options: ReadOptions) -> tuple[list[str], int]:
    """Return for each block why it is kept (``rules.MAIN_TEXT``) or removed, and how many bytes are kept."""
    blocks = tree.blocks
    containers = ContainerScores(tree)
    reasons, scores = containers.score_blocks(blocks, options)
    containers.remove_notices(notice_blocks(blocks, tree.parents, tree.heads), blocks, reasons, scores)
    if not any(containers.positive):
        rest = [block[1] for block, reason in zip(blocks, reasons, strict=True) if not reason]
        return [reason or MAIN_TEXT for reason in reasons], sum(rest)
    repeated = structure.repeated_blocks(blocks)
    containers.discount(repeated, blocks, scores)
    titles = [block for block in blocks if block[5] in TITLES]
    containers.spare_parts(blocks, scores, titles)
    headed, sections = structure.heading_container(titles), structure.linked_sections(titles)
    texts = structure.declared_text(tree)
    declared = headed, structure.title_container(titles, tree.metadata), tree.thread, *texts
    spared = structure.with_ancestors(declared, tree.parents)
    hidden = structure.hidden_beside(tree, texts)
    containers.sum_descendants()
    for child in replies_below(tree, containers):
        containers.removed[child] = COMMENTS
        tree.is_brief = True
    parts = containers.parts_with_sentences(texts or tree.mains[: len(tree.mains) == 1], tree.hidden)
    containers.remove_parts(tree.nested, hidden, sections, spared, parts)
    best = containers.best(tree.mains, headed, sections)
    brief = structure.brief_text(tree, texts, best, containers)
    if brief >= 0:
        best, tree.is_brief = brief, True
    containers.keep_sentences(best, tree.hidden)
    kept = _assign_reasons(blocks, reasons, containers, best)
    structure.mark_repeated(blocks, reasons, repeated)
    removed = trim(blocks, kept, scores) if tree.thread < 0 else {}  # authors and dates of posts are no frame
    for place, reason in removed.items():
        reasons[place] = reason
    left = sum([blocks[place][1] for place in kept if place not in removed]) + structure.rejoin_lists(blocks, reasons)
    left += _rejoin_files(tree, reasons)
    return restore(blocks, reasons, left, hidden), left


def _rejoin_files(tree: BlockTree, reasons: list[str]) -> int:
    """Set the reason MAIN_TEXT for lists of links to files in and beside the main text; return their bytes."""
    if not tree.files:
        return 0
    found = file_blocks(tree, reasons)
    for place in found:
        reasons[place] = MAIN_TEXT
    return sum([tree.blocks[place][1] for place in found])


def _assign_reasons(blocks: list[RawBlock], reasons: list[str], containers: ContainerScores, best: int) -> list[int]:
    """Give blocks without a reason that of their container; return the places of those that are kept."""
    container_reasons, has_lines = containers.reasons_around(best), bool(containers.listings)
    if compiled.choice is not None:
        has_listing = partial(containers.has_listing, best=best)
        places: list[int] = choice_rules().assign_reasons(
            blocks, reasons, container_reasons, containers.around_posts, has_lines, has_listing
        )
        return places
    kept = []
    for place, block in enumerate(blocks):
        if not reasons[place]:
            reason = container_reasons[block[6]]
            if reason is not MAIN_TEXT and (block[5] == "pre" or has_lines) and containers.has_listing(block, best):
                reason = MAIN_TEXT
            elif block[5] == FACT and block[6] in containers.around_posts:
                reason = SIDE_CLASS
            reasons[place] = reason
            if reason is MAIN_TEXT:
                kept.append(place)
    return kept


def score_block(tag: str, length: int, link_length: int) -> float:
    """Return the score of a block with this tag, length and link length in bytes."""
    if length < MAX_HEADING_BYTES and tag in HEADINGS:
        return 0.0
    value = length - LINK_COST * link_length - BLOCK_COST
    if tag == "p":
        value += PARAGRAPH_BONUS
        if link_length:
            value = max(value, length - link_length - BLOCK_COST)
    elif value < 0 and not link_length and tag in CELLS:
        return 0.0
    if value < MIN_SCORE:
        return MIN_SCORE
    return min(value, MAX_SCORE)


@cache
def block_scores() -> BlockScores:
    """Return the compiled code of :func:`score_block` and of what is added up with it."""
    assert compiled.features is not None
    found: BlockScores = compiled.features.BlockScores(
        kinds={**dict.fromkeys(HEADINGS, "heading"), "p": "paragraph", **dict.fromkeys(CELLS, "cell")},
        weights=(BLOCK_COST, LINK_COST, PARAGRAPH_BONUS, MIN_SCORE, MAX_SCORE, MAX_HEADING_BYTES, MAX_GUIDE_BYTES),
        guide_links=GUIDE_LINKS,
        link_run=LINK_RUN,
        landmark=LANDMARK,
        landmark_side=SideKind.LANDMARK,
        points_elsewhere=points_elsewhere,
    )
    return found


@cache
def choice_rules() -> ChoiceRules:
    """Return the compiled loops over containers, with the constants of this module."""
    assert compiled.choice is not None
    found: ChoiceRules = compiled.choice.ChoiceRules(
        comments_side=SideKind.COMMENTS,
        notice_side=SideKind.NOTICE,
        main_text=MAIN_TEXT,
        outside=OUTSIDE,
        poor_container=POOR_CONTAINER,
        comments=COMMENTS,
        side_class=SIDE_CLASS,
        listing="pre",
        fact=FACT,
        weights=(POOR_SCORE, POOR_LINK_DENSITY, EXCLUDED_SCORE, MIN_REMAINING, MAX_NOTICE),
    )
    return found


class ContainerScores:
    """The scores of the containers of a page, and which containers are removed; one entry a container."""

    def __init__(self, tree: BlockTree) -> None:
        count = len(tree.parents)
        self.parents = tree.parents
        self.sides = tree.sides
        self.heads = tree.heads
        self.is_discussion, self.thread, self.around_posts = tree.is_discussion, tree.thread, tree.around_posts
        self.spared = tree.posts | tree.around_posts  #: of several links and a short text, but no menus
        self.listings = structure.listing_containers(tree.heads, tree.parents)
        self.score = [0.0] * count  #: sum of the scores of its blocks
        self.positive = [0.0] * count  #: sum of their positive scores
        self.length = [0] * count
        self.link_length = [0] * count
        self.guides = [0] * count  #: blocks of guide links
        self.plain = [0] * count  #: length of the other blocks
        self.removed = [""] * count  #: why it is removed, or ""
        #: with all descendants, see :meth:`remove_parts`
        self.all_guides, self.all_plain, self.all_positive = list[int](), list[int](), list[float]()

    def score_blocks(self, blocks: list[RawBlock], options: ReadOptions) -> tuple[list[str], list[float]]:
        """Apply the link rules to the blocks, add up their scores; return their reasons and scores."""
        if compiled.features is None:
            return self.score_by_reference(blocks, options)
        content, noise = options.link_density_content, options.link_density_noise
        longest_run = min(options.link_run, sys.maxsize)
        reasons, scores, sums = block_scores().score_blocks(blocks, self.sides, content, noise, longest_run)
        self.score, self.positive, self.length, self.link_length, self.guides, self.plain = sums
        return reasons, scores

    def score_by_reference(self, blocks: list[RawBlock], options: ReadOptions) -> tuple[list[str], list[float]]:
        """Score the blocks in Python: the reference of the compiled code."""
        reasons, scores = [], []
        score_in, positive, length_in, links_in = self.score, self.positive, self.length, self.link_length
        guides, plain, landmark, sides = self.guides, self.plain, SideKind.LANDMARK, self.sides
        r2, r1 = options.link_density_content, options.link_density_noise
        for text, length, link_length, _, run, tag, container in blocks:
            reason = ""
            if link_length:
                links_in[container] += link_length
                if link_length > r1 * length:  # most blocks with links: saves the call of link_noise
                    reason = GUIDE_LINKS
                elif link_length >= r2 * length:
                    reason = link_noise(length, link_length, run, options) or ""
                    if not reason and points_elsewhere(text):
                        reason = GUIDE_LINKS
            if sides[container] is landmark:
                reason = LANDMARK
                value = 0.0
            elif reason:
                value = -BLOCK_COST - length if length < MAX_GUIDE_BYTES else MIN_SCORE
                guides[container] += 1
            else:
                value = score_block(tag, length, link_length)
                plain[container] += length
                if value > 0:
                    positive[container] += value
            score_in[container] += value
            length_in[container] += length
            reasons.append(reason)
            scores.append(value)
        return reasons, scores

    def spare_parts(self, blocks: list[RawBlock], scores: list[float], titles: list[RawBlock]) -> None:
        """Remove penalties of text that looks like labels or teasers.

        A short line of a code listing is no label. A linked term of a definition list is no teaser.
        """
        if self.listings:
            for place, block in enumerate(blocks):
                if scores[place] < 0 and block[6] in self.listings and not block[2]:
                    self.score[block[6]] -= scores[place]
                    scores[place] = 0.0
        for block in titles:
            if block[5] == TERM and block[2] == block[1] and self.guides[block[6]]:
                self.guides[block[6]] -= 1

    def discount(self, places: list[int], blocks: list[RawBlock], scores: list[float]) -> None:
        """Subtract the positive scores of these blocks from their containers."""
        for place in places:
            if scores[place] > 0:
                container = blocks[place][6]
                self.score[container] -= scores[place]
                self.positive[container] -= scores[place]

    def remove_notices(
        self, notices: dict[int, str], blocks: list[RawBlock], reasons: list[str], scores: list[float]
    ) -> None:
        """Remove consent texts and the like, wherever they are."""
        self.discount([*notices], blocks, scores)
        for place, reason in notices.items():
            reasons[place] = reason

    def remove_parts(
        self, nested: list[int], hidden: set[int], sections: set[int], spared: set[int], parts: set[int]
    ) -> None:
        """Remove containers for their nature, then those with a low score.

        ``nested`` are articles inside an article, ``hidden`` is not shown. ``sections`` and ``parts`` of the text are
        no side parts; ``spared`` are no teasers either.
        """
        for child in hidden:
            self.removed[child] = SIDE_CLASS
        self._remove_nested(nested)
        self._remove_teasers(spared)
        self._remove_side_parts(sections | spared, parts)
        self._remove_poor()

    def sum_descendants(self) -> None:
        """Add up the scores of each container and all that it contains."""
        if compiled.choice is not None:
            sums = compiled.choice.sum_descendants(self.parents, self.guides, self.plain, self.positive)
            self.all_guides, self.all_plain, self.all_positive = sums
            return
        guides, plain, positive = [*self.guides], [*self.plain], [*self.positive]
        parents = self.parents
        for child in range(len(guides) - 1, 0, -1):
            if plain[child]:
                plain[parents[child]] += plain[child]
                positive[parents[child]] += positive[child]
            if guides[child]:
                guides[parents[child]] += guides[child]
        self.all_guides, self.all_plain, self.all_positive = guides, plain, positive

    def _remove_nested(self, nested: list[int]) -> None:
        """Remove articles inside an article (comments, other stories), if the text outside outweighs each."""
        if not nested:
            return
        positive = self.all_positive
        outside = positive[0] - sum(positive[child] for child in nested)
        for child in nested:
            if positive[child] < outside:
                self.removed[child] = NESTED

    def _remove_teasers(self, spared: set[int]) -> None:
        """Remove headlines of other stories with their first lines, where several are side by side."""
        guides, plain, parents = self.all_guides, self.all_plain, self.parents
        if guides[0] < MIN_TEASERS or self.is_discussion:  # a short post below the name of its author looks alike
            return
        teasers = [
            child for child, guiding in enumerate(guides) if guiding and child and 0 < plain[child] < MAX_TEASER_BYTES
        ]
        siblings = Counter([parents[child] for child in teasers])
        for child in teasers:
            if siblings[parents[child]] >= MIN_TEASERS and child not in spared:
                self.removed[child] = TEASER

    def _remove_side_parts(self, spared: set[int], parts: set[int]) -> None:
        """Remove side parts by class or id, unless too little text is left or they contain the heading."""
        parents, sides, removed = self.parents, self.sides, self.removed
        positive = self.all_positive
        left = positive[0]
        likely = max(MIN_SIDE_PART, SIDE_PART_SHARE * left)
        spared = spared | parts | self._repeated_side_words(spared, likely)
        if compiled.choice is not None:
            choice_rules().remove_side_parts(parents, sides, removed, positive, spared, likely)
            return
        for child in range(1, len(parents)):
            if removed[parents[child]]:
                removed[child] = removed[parents[child]]
            elif removed[child]:
                left -= positive[child]
            elif sides[child] and child not in spared:
                side, limit = sides[child], likely
                if side is SideKind.COMMENTS:
                    limit = left - MIN_REMAINING
                elif side is SideKind.NOTICE:
                    limit = max(likely, min(MAX_NOTICE, left - MIN_REMAINING))
                if positive[child] < limit:
                    removed[child] = COMMENTS if side is SideKind.COMMENTS else SIDE_CLASS
                    left -= positive[child]

    def _repeated_side_words(self, spared: set[int], limit: float) -> set[int]:
        """Return the likely side parts that are part of the text: those with the same class words score high together.

        High is ``limit`` or more. A page builder puts each paragraph of an article into an element of the same class
        ("widget").
        """
        likely = SideKind.LIKELY  # an access to a member of an enum is slow
        parents, sides, removed = self.parents, self.sides, self.removed
        if likely not in sides:
            return set()
        groups: dict[frozenset[str], list[int]] = {}
        inside = [False] * len(parents)
        for child in range(1, len(parents)):
            if inside[parents[child]] or removed[child]:
                inside[child] = True
            elif sides[child] is likely and child not in spared:
                groups.setdefault(side_words(self.heads[child]), []).append(child)
                inside[child] = True
        positive = self.all_positive
        words = {kind for kind, group in groups.items() if sum([positive[child] for child in group]) >= limit}
        if not words:
            return set()
        return {child for child, side in enumerate(sides) if side is likely and side_words(self.heads[child]) in words}

    def _remove_poor(self) -> None:
        """Add up the scores from the leaves; remove containers of little but links and labels."""
        parents, score, length, links = self.parents, self.score, self.length, self.link_length
        removed = self.removed
        if compiled.choice is not None:
            choice_rules().remove_poor(parents, score, length, links, removed, self.spared)
            return
        for child in range(len(parents) - 1, 0, -1):
            if removed[child]:
                continue
            parent = parents[child]
            value = score[child]
            length[parent] += length[child]
            links[parent] += links[child]
            is_poor = value < 0 and (value < POOR_SCORE or links[child] > POOR_LINK_DENSITY * length[child])
            if is_poor and child not in self.spared:
                removed[child] = POOR_CONTAINER
                value = EXCLUDED_SCORE
            score[parent] += value

    def best(self, mains: list[int], headed: int, sections: set[int]) -> int:
        """Return the container with the highest positive scores of its own, or a clearly better ancestor.

        If the page has exactly one <main>, an ancestor outside of it is never chosen for text inside. In a discussion
        it is the container of all posts, the short ones too.
        """
        if self.thread >= 0 and not self.removed[self.thread]:
            return self.thread
        positive = [0.0 if reason else value for value, reason in zip(self.positive, self.removed, strict=True)]
        own = (
            positive
            if max(positive) >= structure.MIN_CLEAR_SCORE
            else structure.boost_heading(positive, self.parents, headed)
        )
        bound = mains if len(mains) == 1 else ()
        best = above = max(range(len(own)), key=own.__getitem__)
        while above >= 0:
            if self.score[above] > max(0.0, ANCESTOR_FACTOR * self.score[best]):
                best = above
            if above in bound:
                break
            above = self.parents[above]
        sections = sections - structure.ancestors(headed, self.parents) if sections else sections
        best = self._climb(best, bound, positive)
        return structure.around_sections(best, self.parents, self.heads, sections, bound[0] if bound else -1)

    def _climb(self, best: int, bound: Sequence[int], positive: list[float]) -> int:
        """Return ``best`` or the nearest ancestor with enough of the ``positive`` scores.

        ``positive`` has 0.0 for removed containers. The scores of descendants are added to it.
        """
        if positive[best] >= MIN_MAIN_SHARE * sum(positive):
            return best  # the sums of descendants are needed on few pages
        for child in range(len(positive) - 1, 0, -1):
            positive[self.parents[child]] += positive[child]
        enough = MIN_MAIN_SHARE * positive[0]
        while best not in bound and self.parents[best] >= 0 and positive[best] < enough:
            best = self.parents[best]
        return best

    def parts_with_sentences(self, texts: Sequence[int], hidden: Sequence[int]) -> set[int]:
        """Return the parts of the declared texts or the only ``<main>`` that have an ambiguous class, and sentences.

        Where a part has so much text, shorter paragraphs in parts with the same class words are of its kind. In a
        discussion such parts are the signatures of authors.
        """
        likely, positive, heads = SideKind.LIKELY, self.all_positive, self.heads
        sides = enumerate(self.sides)
        found = [
            child for child, side in sides if side is likely and positive[child] > 0 and is_ambiguous(heads[child])
        ]
        if self.is_discussion or not found or not texts:
            return set()
        inside = {*found} & structure.descendants(texts, self.parents) - {*hidden}
        kinds = {side_words(heads[child]) for child in inside if positive[child] >= MIN_SIDE_PART}
        return {child for child in inside if side_words(heads[child]) in kinds}

    def keep_sentences(self, best: int, hidden: Sequence[int]) -> None:
        """Keep the parts of the main container that an ambiguous class has removed although they have sentences.

        What was removed within them for its own class, or is ``hidden``, stays removed.
        """
        kept = {child for child in self.parts_with_sentences([best], hidden) if self.removed[child] is SIDE_CLASS}
        removed, parents = self.removed, self.parents
        for child in range(min(kept, default=len(parents)), len(parents)):
            is_part = child in kept or (parents[child] in kept and not self.sides[child])
            if is_part and removed[child] is SIDE_CLASS and not removed[parents[child]]:
                kept.add(child)
                removed[child] = ""

    def reasons_around(self, best: int) -> list[str]:
        """Return for each container why its blocks are kept or removed, if ``best`` is the main one."""
        if compiled.choice is not None:
            found: list[str] = choice_rules().reasons_around(best, self.parents, self.removed)
            return found
        reasons = [reason or OUTSIDE for reason in self.removed]
        reasons[best] = MAIN_TEXT
        for child in range(best + 1, len(reasons)):
            if reasons[child] is OUTSIDE and reasons[self.parents[child]] is MAIN_TEXT:
                reasons[child] = MAIN_TEXT
        return reasons

    def has_listing(self, block: RawBlock, best: int) -> bool:
        """Whether a block is a listing of code, or a line of one, in the main text, if ``best`` is its container.

        The widget around a listing may look like a side part by its class, and the numbers of its lines like links to
        other pages. Listings of other people's comments and of other articles remain outside.
        """
        container = block[6]
        if block[2] or (block[5] != "pre" and container not in self.listings):
            return False
        while container > best and self.removed[container] in {"", SIDE_CLASS, TEASER, POOR_CONTAINER}:
            container = self.parents[container]
        return container == best


def restore(blocks: list[RawBlock], reasons: list[str], left: int, hidden: Container[int] = ()) -> list[str]:
    """Set the reason OUTSIDE for third-party text on a page with little main text (``left`` bytes).

    Where hardly more than a heading is left, a class that names a side part was misunderstood; but what is in the
    containers ``hidden`` is not shown.

    Twice as much text in teasers as beside them is a list of stories, and its introduction is the same on
    each page of the list. If captions outweigh the main text, the page is a gallery.
    """
    if left < MIN_ARTICLE_BYTES:
        reasons = [OUTSIDE if reason in THIRD_PARTY_REASONS else reason for reason in reasons]
        if left < MIN_REMAINING:
            reasons = [
                OUTSIDE if reason is SIDE_CLASS and _may_be_text(block, hidden) else reason
                for block, reason in zip(blocks, reasons, strict=True)
            ]
    elif TEASER in reasons:
        teasers = [place for place, reason in enumerate(reasons) if reason is TEASER]
        _restore_if_longer(blocks, reasons, teasers, LIST_RATIO * left)
    if SIDE_CLASS in reasons:
        pairs = enumerate(zip(blocks, reasons, strict=True))
        captions = [at for at, (block, why) in pairs if why is SIDE_CLASS and block[5] == "figcaption"]
        _restore_if_longer(blocks, reasons, captions, left)
    return reasons


def _may_be_text(block: RawBlock, hidden: Container[int]) -> bool:
    return not block[2] and block[6] not in hidden and not is_consent_notice(*block[:2])


def _restore_if_longer(blocks: list[RawBlock], reasons: list[str], places: list[int], limit: int) -> None:
    """Restore blocks that together have more than ``limit`` bytes beside their links."""
    if sum([blocks[place][1] - blocks[place][2] for place in places]) > limit:
        for place in places:
            reasons[place] = OUTSIDE
