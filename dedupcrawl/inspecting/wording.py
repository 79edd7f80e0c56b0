"""Why one block was kept or cut, in a sentence with its own figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.inspecting.rules import FOUND, NOT_FOUND, rule_of
from dedupcrawl.page import noise
from dedupcrawl.page.blocks import MOST_NAMES
from dedupcrawl.page.flatten import LANDMARKS, NAMED
from dedupcrawl.page.sideparts import COMMENT_WORDS, NOTICE_WORDS, SIDE_WORDS, words_of
from dedupcrawl.page.topic import NOISE, TOPIC, TOPIC_ANCHORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.etree import _Element

    from dedupcrawl.page.model import Block
    from dedupcrawl.page.options import ReadOptions

_TELLING = {
    noise.SIDE_CLASS: SIDE_WORDS | NOTICE_WORDS | COMMENT_WORDS,
    noise.COMMENTS: COMMENT_WORDS,
}


def why(
    block: Block, options: ReadOptions, around: Iterable[_Element] = (), share: float | None = None
) -> str:
    """Say why a block was kept or cut.

    Args:
        block: the block.
        options: the constants with which the page was read.
        around: the elements around it, the innermost first.
        share: how much of it the main text has, 0…1, where a user's own reader found that; how many words
            it has in common with the longest block, for the reader ``"topic"``.
    """
    meaning = rule_of(block.reason, kept=block.kept).meaning
    detail = _detail(block, options, share) or _named(block, [*around])
    return f"{meaning} {detail}" if detail else meaning


def _detail(block: Block, options: ReadOptions, share: float | None) -> str:
    density, topic = block.link_density, options.topic
    said = {
        noise.GUIDE_LINKS: lambda: _guide_links(density, options),
        noise.LINK_RUN: lambda: (
            f"It was taken out of a block with R from R2 = {options.link_density_content:g} to "
            f"R1 = {options.link_density_noise:g}: {block.longest_run} links in a row are more than "
            f"S = {options.link_run}."
        ),
        noise.MAIN_TEXT: lambda: _kept_links(block, options),
        TOPIC: lambda: _common_words(share, topic.overlap),
        NOISE: lambda: _common_words(share, topic.overlap),
        TOPIC_ANCHORS: lambda: f"{density:.0%} of it is anchor text, more than {topic.anchors:.0%}.",
        FOUND: lambda: "" if share is None else f"{share:.0%} of its letters stand there.",
        NOT_FOUND: lambda: "" if share is None else f"{share:.0%} of its letters stand there.",
    }
    return said[block.reason]() if block.reason in said else ""


def _common_words(share: float | None, least: float) -> str:
    if share is None:
        return ""
    if share == 1:
        return "It is the longest, or has all its words in common with it."
    return f"It has {share:.0%} of the words of the smaller one in common; more than {least:.0%} are wanted."


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
        return f"Its links stand in sentences: R = {block.link_density:.2f} is below R2 = {least:g}."
    return (
        f"R = {block.link_density:.2f} is not below R2 = {least:g}, but its longest run of links is "
        f"{block.longest_run}, and S = {options.link_run} may be."
    )


def _named(block: Block, around: Sequence[_Element]) -> str:
    """Name what of the elements around a block can have cut it."""
    if block.reason == noise.LANDMARK:
        found = {str(element.tag): None for element in around if element.tag in LANDMARKS}
        return f"It is in <{next(iter(found))}>; links in there are not counted." if found else ""
    telling = _TELLING.get(block.reason)
    if telling is None:
        return ""
    words = dict.fromkeys(word for element in around for word in _words(element, telling))
    return f"Found there: {', '.join(words)}." if words else ""


def _words(element: _Element, telling: frozenset[str]) -> list[str]:
    """Return the words in class and id of an element that tell what is in it."""
    if element.tag == "figcaption" and telling is not COMMENT_WORDS:
        return ["figcaption"]
    if element.tag not in NAMED:
        return []
    return sorted(words_of(f"{element.get('class', '')} {element.get('id', '')}"[:MOST_NAMES]) & telling)
