"""Which parts of a page are compared although the rules removed them for their class.

A page that quotes an article and comments on it differs from the article in the comment alone. The comment may stand in
a part whose class names a box ("widget", "promo"): it says how the part looks, or who paid for it, and not what stands
in it, as "caption" or "author-bio" does. Without the comment the page would be dropped as a copy of the article. So
sentences in such a part of the article are compared. What the reader delivers does not change.

A part of the template has sentences, too. Where it does, the first copies of a site are kept; then the site is known to
repeat them (``sites/site_memory.py``).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.page.rules import (
    AMBIGUOUS_WORDS,
    KEPT_REASONS,
    MODEL_KEPT,
    SIDE_CLASS,
    SideKind,
    is_byline,
    side_words,
    word_set,
)
from dedupcrawl.page.structure import HEADINGS, ancestors, common_ancestor, with_ancestors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupcrawl.page.blocks import BlockTree, RawBlock

# Measured on the labelled page sets aeb, cwced and wcxb (docs/methods-reading.md, "Block model").
MIN_ADDED = 0.1  #: share of the text by the rules that a part beside it must have to be compared with it
MIN_SENTENCE = 40  #: bytes of a block that is no label
LONG_SENTENCE = 100  #: bytes of a block that needs no full stop at its end
MAX_LEVELS = 3  #: containers between the main text and the one that holds it and the heading
#: Names of boxes: they do not name what is in them.
BOX_WORDS = AMBIGUOUS_WORDS | word_set("promo promos sponsor sponsored sponsors widget widgets")
_ENDS = (*".!?…。！？", '."', '!"', '?"', ".”", "!”", "?”", "。”", "！”", "？”", "。」", ".)", "。）")


class ChoiceResult(NamedTuple):
    """A choice of blocks."""

    reasons: list[str]  #: of each block
    kept: int  #: bytes of the main text
    in_sentences: int  #: of it, without links if the block model chose it

    def with_blocks(self, blocks: list[RawBlock], places: Iterable[int]) -> ChoiceResult:
        """Return the choice with more blocks, if they add at least ``MIN_ADDED`` of the text.

        With less another text is no other page (``relations``).
        """
        added = sum([blocks[place][1] - blocks[place][2] for place in places])
        if not added or added < MIN_ADDED * self.in_sentences:
            return self
        reasons = [*self.reasons]
        for place in places:
            reasons[place] = MODEL_KEPT
        return ChoiceResult(reasons, self.kept + added, self.in_sentences + added)

    @property
    def kept_places(self) -> list[bool]:
        """For each block whether it is chosen."""
        return [reason in KEPT_REASONS for reason in self.reasons]


def with_chosen_parts(tree: BlockTree, reading: ChoiceResult, corrected: ChoiceResult) -> ChoiceResult:
    """Return the choice of the rules with the parts that they removed for a class alone, and that the model chose."""
    if corrected is reading or tree.is_discussion:
        return reading
    pairs = enumerate(zip(reading.reasons, corrected.reasons, strict=True))
    found = reading.with_blocks(
        tree.blocks, [at for at, (rule, model) in pairs if rule is SIDE_CLASS and model is MODEL_KEPT]
    )
    return corrected if found is not reading and found.kept_places == corrected.kept_places else found


def with_own_parts(tree: BlockTree, choice: ChoiceResult, named: int) -> ChoiceResult:
    """Return a choice with the sentences in boxes of the article.

    Args:
        tree: blocks and containers.
        choice: the blocks that are compared.
        named: place of the heading of the page, -1 without any.
    """
    if tree.is_discussion or SIDE_CLASS not in choice.reasons:
        return choice
    boxes = _boxes(tree)
    if not boxes:
        return choice
    inside = _within(tree, choice, named, boxes - _leading_elsewhere(tree, boxes))
    places = [
        place
        for place, (block, reason) in enumerate(zip(tree.blocks, choice.reasons, strict=True))
        if reason is SIDE_CLASS and block[6] in inside and _is_sentence(block)
    ]
    return choice.with_blocks(tree.blocks, places) if places else choice


def _boxes(tree: BlockTree) -> set[int]:
    sides = enumerate(tree.sides)
    return {each for each, side in sides if side is SideKind.LIKELY and is_box(tree.heads[each])} - {*tree.hidden}


def _leading_elsewhere(tree: BlockTree, boxes: set[int]) -> set[int]:
    """Return the boxes with a block that is mostly a link: they announce another page."""
    linked = {block[6] for block in tree.blocks if 2 * block[2] > block[1]}
    return boxes & with_ancestors(linked, tree.parents)


@lru_cache(maxsize=16384)
def is_box(head: str) -> bool:
    """Return whether ``tag class id`` of an element shows a side part by the name of a box only.

    >>> [is_box(head) for head in ("div wp-widget promo", "div widget author-bio", "div text")]
    [True, False, False]
    """
    return frozenset() < side_words(head) <= BOX_WORDS


def _within(tree: BlockTree, choice: ChoiceResult, named: int, boxes: set[int]) -> set[int]:
    """Return the boxes in the article, and all containers in them that are no side parts themselves."""
    around, found, parents = _article(tree, choice, named), set[int](), tree.parents
    plain = {around}  # containers of the article outside its boxes
    for each in range(around + 1, len(parents)):  # parents precede their children
        if parents[each] in found:
            if each in boxes or not tree.sides[each]:
                found.add(each)
        elif parents[each] in plain:
            if each in boxes:
                found.add(each)
            elif not tree.sides[each]:
                plain.add(each)
    return found


def _article(tree: BlockTree, choice: ChoiceResult, named: int) -> int:
    """Return the innermost container around the chosen blocks and the heading, if it is near; else around the blocks.

    A container further out holds the columns of the page.
    """
    main = common_ancestor([tree.blocks[at][6] for at, kept in enumerate(choice.kept_places) if kept], tree.parents)
    if named < 0 or main < 0:
        return main
    headed = common_ancestor([main, tree.blocks[named][6]], tree.parents)
    levels = len(ancestors(main, tree.parents)) - len(ancestors(headed, tree.parents))
    return headed if levels <= MAX_LEVELS else main


def _is_sentence(block: RawBlock) -> bool:
    """Return whether a block is no label, heading, link or byline."""
    text, length, link_length, _, _, tag, _ = block
    is_prose = length >= MIN_SENTENCE and 2 * link_length <= length and tag not in HEADINGS
    return is_prose and (length >= LONG_SENTENCE or text.endswith(_ENDS)) and not is_byline(text, length)
