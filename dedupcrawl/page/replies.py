"""What readers have written below a text, and how many they are: it changes between two visits, and the text does not.

Comments may be longer than a short post, and on some pages they are what the page is about. If a page declares its text
(``itemprop="articleBody"``, its only ``<article>``, or the class of a microformat), the comments beside it are neither
read, nor do they tell it from other pages.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dedupcrawl.page.declared import is_entry
from dedupcrawl.page.rules import COMMENTS, KEPT_REASONS, POSITION_REASONS, REPLIES, SideKind
from dedupcrawl.page.structure import (
    MAX_BESIDE_TEXT,
    MIN_CLEAR_SCORE,
    ancestors,
    common_ancestor,
    declared_text,
    with_ancestors,
)

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from dedupcrawl.page.blocks import BlockTree
    from dedupcrawl.page.structure import ScoreTable

_MARKED = POSITION_REASONS | {COMMENTS}  #: a comment may have been removed for its position too
_counts_replies = re.compile(
    r"(?:no|one|\d[\d,.]*) (?:comments?|replies|reply|responses?|thoughts)(?: yet| so far|(?: to| on) .{1,200})?[.!]?"
    r"|(?:leave|post|write|add) a (?:comment|reply)|comments (?:are closed|off)\.?"
    r"|(?:《.{1,100}》[上有]*)?(?:暂无|暫無|没有|沒有|尚无|还没有|已有|共有?|共計)?"
    r" ?\d* ?[条條则則个個]?(?:评论|評論|回复|回覆|留言)"
    r"|(?:发表|發表|添加|我要)(?:评论|評論|回复|回覆|留言)|(?:评论|評論|留言)(?:已关闭|已關閉|功能已关闭)",
    re.IGNORECASE,
).fullmatch


def replies_below(tree: BlockTree, sums: ScoreTable) -> list[int]:
    """Return the containers of readers' comments on a declared text that is short, unless they are far longer.

    Args:
        tree: blocks and containers.
        sums: the scores of the containers.
    """
    if SideKind.COMMENTS not in tree.sides or tree.is_discussion:
        return []
    text = _only_text(tree)
    if text < 0:
        return []
    around, found, inside = ancestors(text, tree.parents), list[int](), set[int]()
    for container, parent in enumerate(tree.parents):  # parents precede their children
        if parent in inside:
            inside.add(container)
        elif tree.sides[container] is SideKind.COMMENTS and container not in around:
            found.append(container)
            inside.add(container)
    lengths = {each: sums.all_positive[each] for each in found}
    held = sum([length for each, length in lengths.items() if text in ancestors(each, tree.parents)])
    is_short = 0 < sums.all_positive[text] - held < MIN_CLEAR_SCORE
    return found if is_short and sum(lengths.values()) <= MAX_BESIDE_TEXT else []


def _only_text(tree: BlockTree) -> int:
    """Return the only container that is declared the text of a page, or -1."""
    texts = declared_text(tree) or [container for container, head in enumerate(tree.heads) if is_entry(head)]
    return texts[0] if len(texts) == 1 else -1


def mark_replies(tree: BlockTree, reasons: list[str], *, is_short: bool) -> None:
    """Set the reason ``REPLIES`` for readers' comments beside the main text, if it is a declared one.

    The main text is in the declared text, or around it. Of several bodies each may be a post of a list. Below a text
    shorter than an article, comments of many times its length may be a discussion that is not recognised.

    Args:
        tree: blocks and containers.
        reasons: for each block why it is kept or removed; changed in place.
        is_short: whether the main text is shorter than an article.
    """
    if SideKind.COMMENTS not in tree.sides or tree.is_discussion:
        return
    text = _only_text(tree)
    kept = [block[6] for block, reason in zip(tree.blocks, reasons, strict=True) if reason in KEPT_REASONS]
    if text < 0 or not kept:
        return
    main = common_ancestor(kept, tree.parents)
    if main not in ancestors(text, tree.parents) and text not in ancestors(main, tree.parents):
        return
    inside = _reply_containers(tree, with_ancestors(kept, tree.parents))
    places = [at for at, block in enumerate(tree.blocks) if inside[block[6]] and reasons[at] in _MARKED]
    if is_short and sum([tree.blocks[at][1] for at in places]) > MAX_BESIDE_TEXT:
        return
    for place in places:
        reasons[place] = REPLIES


def _reply_containers(tree: BlockTree, holding: Container[int]) -> list[bool]:
    """Return for each container whether it holds comments. Those ``holding`` the main text do not."""
    inside = [False] * len(tree.parents)
    for container, parent in enumerate(tree.parents):  # parents precede their children
        is_inside = tree.sides[container] is SideKind.COMMENTS or (parent >= 0 and inside[parent])
        inside[container] = is_inside and container not in holding
    return inside


def without_counts(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines that do not just count comments, or ask for one.

    >>> without_counts(["No Comments", "12 responses to “Rain”", "已有 3 条评论", "Comments on the law"])
    ['Comments on the law']
    """
    return [line for line in lines if _counts_replies(line) is None]
