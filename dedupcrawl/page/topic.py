"""The reader ``"topic"``, after patent CN101645082: blocks that share words with the longest one.

The patent weighs four fields of a page: its title, its keywords and description, its topic text and its topic
anchors. They are ``Page.title``, ``keywords`` and ``description``, ``text``, and ``anchors``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.page.framing import framed
from dedupcrawl.page.links import byte_length
from dedupcrawl.page.model import Block, Page
from dedupcrawl.page.segments import TITLES, Segment, segments
from dedupcrawl.page.topicwords import overlap, topic_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.etree import _Element

    from dedupcrawl.page.options import ReadOptions, TopicOptions

TOPIC = "topic"  #: kept: the longest block, and what shares words with it
TOPIC_ANCHORS = "topic anchors"  #: kept, but not as main text: a topic block of little but anchor text
TITLE = "title"  #: a heading
NOISE = "noise"  #: cut: what remains


def read_topic(root: _Element, url: str, options: ReadOptions) -> Page:
    """Read a page by its topic blocks.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``.
    """
    found = segments(root, options.topic)
    reasons = classify(found, options.topic)
    return framed(
        root,
        url,
        options,
        _text(found, reasons, TOPIC),
        anchors=_text(found, reasons, TOPIC_ANCHORS),
        blocks=_blocks(found, reasons) if options.blocks else (),
    )


def classify(found: Sequence[Segment], options: TopicOptions) -> list[str]:
    """Return for each segment what it is to the page: TOPIC, TOPIC_ANCHORS, TITLE or NOISE."""
    reasons = [TITLE if segment.tag in TITLES else NOISE for segment in found]
    rest = [place for place, reason in enumerate(reasons) if reason is NOISE]
    if not rest:
        return reasons
    longest = max(rest, key=lambda place: found[place].length)
    wanted = topic_words(found[longest].text)
    for place in rest:
        segment = found[place]
        is_topic = place == longest or overlap(topic_words(segment.text), wanted) > options.overlap
        if is_topic:
            reasons[place] = TOPIC_ANCHORS if segment.anchor_share > options.anchors else TOPIC
    return reasons


def _text(found: Sequence[Segment], reasons: Sequence[str], wanted: str) -> str:
    """Return the texts of one class in reading order: a segment may stand inside another one."""
    texts = [
        line
        for segment, reason in zip(found, reasons, strict=True)
        if reason is wanted
        for line in zip(segment.places, segment.texts, strict=True)
    ]
    return "\n".join([text for _, text in sorted(texts)])


def _blocks(found: Sequence[Segment], reasons: Sequence[str]) -> tuple[Block, ...]:
    pairs = zip(found, reasons, strict=True)
    return tuple(_block(*pair) for pair in sorted(pairs, key=lambda pair: pair[0].places))


def _block(segment: Segment, reason: str) -> Block:
    length = byte_length(segment.text)
    link_length = round(segment.anchor_share * length)
    kept = reason in (TOPIC, TOPIC_ANCHORS)
    return Block(segment.text, length, link_length, segment.links, 0, segment.tag, kept, reason)
