"""The rules that keep or cut a block: family, sign and meaning of each, and a sentence for one block.

Each family has its own colour and pattern, and each rule its own sign, so no rule is shown by colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.page import rules
from dedupcrawl.page.blocks import LANDMARKS, MAX_HEAD_CHARS, NAMED_BLOCKS
from dedupcrawl.page.readers import ALL_TEXT
from dedupcrawl.page.rules import COMMENT_WORDS, NOTICE_WORDS, SIDE_WORDS, name_words
from dedupcrawl.page.topic import NOISE, TITLE, TOPIC, TOPIC_ANCHORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lxml.etree import _Element

    from dedupcrawl.page.model import Block
    from dedupcrawl.page.options import ReadOptions

FOUND = "found"  #: reason: the text is in the main text that a user's own reader found
NOT_FOUND = "not found"  #: reason: it is not


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """How a rule is shown."""

    reason: str  #: :attr:`dedupcrawl.Block.reason`
    family: str  #: a key of :data:`FAMILIES`
    sign: str  #: a few letters before each block
    meaning: str  #: one sentence


#: What the rules of each family examine.
FAMILIES: Mapping[str, str] = {
    "kept": "kept",
    "density": "link density R",
    "runs": "runs of links",
    "container": "container",
    "names": "class words",
    "elements": "elements",
    "ends": "ends and wording",
    "model": "block model",
    "topic": "topic",
    "own": "your reader",
}

_RULES = (
    RuleEntry(rules.MAIN_TEXT, "kept", "✓", "It is main text."),
    RuleEntry(rules.MODEL_KEPT, "kept", "✓M", "The rules misread this page; the block model reads this as main text."),
    RuleEntry(TOPIC, "kept", "✓", "It is the longest block, or shares words with it: topic text."),
    RuleEntry(ALL_TEXT, "kept", "✓", "This reader keeps all that can be read."),
    RuleEntry(FOUND, "kept", "✓", "It is in the main text that your reader returned."),
    RuleEntry(TOPIC_ANCHORS, "topic", "✓A", "It shares words with the topic, but is little else than links."),
    RuleEntry(rules.GUIDE_LINKS, "density", "R", "Its links only lead to other pages."),
    RuleEntry(rules.LINK_RUN, "runs", "RUN", "Too many links are in a row, with only separators between."),
    RuleEntry(rules.POOR_CONTAINER, "container", "POOR", "Its container holds little text, or mostly links."),
    RuleEntry(rules.OUTSIDE, "container", "OUT", "It is not in the container taken for the main text."),
    RuleEntry(rules.TEASER, "container", "TEASE", "It is one of several headlines in a row, with first lines."),
    RuleEntry(rules.SIDE_CLASS, "names", "CLASS", "A class or id around it names a side part, or scripts show it."),
    RuleEntry(rules.COMMENTS, "names", "COMM", "A class or id around it marks it as written by readers."),
    RuleEntry(rules.REPLIES, "names", "REPLY", "Readers wrote it below a text that the page declares."),
    RuleEntry(rules.LANDMARK, "elements", "TAG", "HTML has elements for side parts, and it is in one."),
    RuleEntry(rules.NESTED, "elements", "ART", "It is in an article inside an article: a comment, a story."),
    RuleEntry(rules.EDGE, "ends", "EDGE", "It is a short block before the main text begins or after it ends."),
    RuleEntry(
        rules.FRAME,
        "ends",
        "WORDS",
        "Its wording is that of a credit, a caption, a cookie notice, or a stamp: time of a change, number of readers.",
    ),
    RuleEntry(rules.CONSENT, "ends", "ASK", "It asks for consent to cookies, by its words."),
    RuleEntry(rules.MODEL_REMOVED, "model", "MODEL", "The rules read it as main text, the block model does not."),
    RuleEntry(rules.REPEATED, "ends", "TWICE", "The main text contains the same text; this is a second copy."),
    RuleEntry(TITLE, "topic", "HEAD", "It is a heading, which this reader keeps apart."),
    RuleEntry(NOISE, "topic", "NOISE", "It shares too few words with the longest block of the page."),
    RuleEntry(NOT_FOUND, "own", "NOT", "It is not in the main text that your reader returned."),
)
RULES: Mapping[str, RuleEntry] = {rule.reason: rule for rule in _RULES}


def rule_of(reason: str, *, kept: bool) -> RuleEntry:
    """Return the rule of a reason; a reason of a user's own reader gets a general sign."""
    known = RULES.get(reason)
    if known is not None:
        return known
    family, sign = ("kept", "✓") if kept else ("own", "OWN")
    return RuleEntry(reason, family, sign, "Your reader decided this.")


_CLASS_WORDS = {
    rules.SIDE_CLASS: SIDE_WORDS | NOTICE_WORDS | COMMENT_WORDS,
    rules.COMMENTS: COMMENT_WORDS,
    rules.REPLIES: COMMENT_WORDS,
}


def explain_block(
    block: Block, options: ReadOptions, around: Iterable[_Element] = (), share: float | None = None
) -> str:
    """Return why a block was kept or cut, with its figures.

    ``around``: the elements around it, the innermost first. ``share``, 0…1: how much of the block is in the
    text of a user's own reader, or how many of its words the longest block has (reader "topic").
    """
    meaning = rule_of(block.reason, kept=block.kept).meaning
    detail = _detail(block, options, share) or _named(block, [*around])
    return f"{meaning} {detail}" if detail else meaning


def _detail(block: Block, options: ReadOptions, share: float | None) -> str:
    density, topic = block.link_density, options.topic
    details = {
        rules.GUIDE_LINKS: lambda: _guide_links(density, options),
        rules.LINK_RUN: lambda: (
            f"It was taken out of a block with R from R2 = {options.link_density_content:g} to "
            f"R1 = {options.link_density_noise:g}: {block.longest_run} links in a row are more than "
            f"S = {options.link_run}."
        ),
        rules.MAIN_TEXT: lambda: _kept_links(block, options),
        TOPIC: lambda: _common_words(share, topic.overlap),
        NOISE: lambda: _common_words(share, topic.overlap),
        TOPIC_ANCHORS: lambda: f"{density:.0%} of it is anchor text, more than {topic.anchors:.0%}.",
        FOUND: lambda: "" if share is None else f"{share:.0%} of its letters are in it.",
        NOT_FOUND: lambda: "" if share is None else f"{share:.0%} of its letters are in it.",
    }
    return details[block.reason]() if block.reason in details else ""


def _common_words(share: float | None, least: float) -> str:
    if share is None:
        return ""
    if share == 1:
        return "It is the longest, or has all its words in common with it."
    return f"It has {share:.0%} of the words of the smaller one in common; more than {least:.0%} are required."


def _guide_links(density: float, options: ReadOptions) -> str:
    if density > options.link_density_noise:
        return f"R = {density:.2f} is above R1 = {options.link_density_noise:g}."
    return (
        f"R = {density:.2f} is not above R1 = {options.link_density_noise:g}, but its first words point to "
        "other stories."
    )


def _kept_links(block: Block, options: ReadOptions) -> str:
    if not block.link_length:
        return ""
    least = options.link_density_content
    if block.link_density < least:
        return f"Its links are in sentences: R = {block.link_density:.2f} is below R2 = {least:g}."
    return (
        f"R = {block.link_density:.2f} is not below R2 = {least:g}, but its longest run of links is "
        f"{block.longest_run}, and S = {options.link_run} are allowed."
    )


def _named(block: Block, around: Sequence[_Element]) -> str:
    """Name what can have cut a block in the elements around it."""
    if block.reason == rules.LANDMARK:
        found = {str(element.tag): None for element in around if element.tag in LANDMARKS}
        return f"It is in <{next(iter(found))}>; its links are not counted." if found else ""
    wanted = _CLASS_WORDS.get(block.reason)
    if wanted is None:
        return ""
    words = dict.fromkeys(word for element in around for word in _words(element, wanted))
    return f"Found there: {', '.join(words)}." if words else ""


def _words(element: _Element, wanted: frozenset[str]) -> list[str]:
    if element.tag == "figcaption" and wanted is not COMMENT_WORDS:
        return ["figcaption"]
    if element.tag not in NAMED_BLOCKS:
        return []
    return sorted(name_words(f"{element.get('class', '')} {element.get('id', '')}"[:MAX_HEAD_CHARS]) & wanted)
