"""DOM segmentation after patent CN101645082: from a tree to the semantic blocks of a page.

Tags fall into five classes. From the leaves upwards a *block* element becomes a segment once it holds enough
text or enough level tags; otherwise it hands what it holds to its parent. A *title* element is a segment
whatever its length, *level* elements are counted, *ignored* ones are left out, and all *others* belong to
what stands around them. What reaches the root is a segment too, so that no text is lost.

The patent does not list its block tags. Read as those that hold paragraphs rather than are one, an article is
one segment; with ``p`` and ``li`` among them every paragraph would have to share words with the longest one.

As in :mod:`dedupcrawl.page.flatten`, a stylesheet walks the tree in C. Its stream is ``text (MARK head MARK
text)*``, where a head is the tag of a block or title element that begins, or empty where the last one ends.

The words by which two blocks of one page are compared; those that any text has are left out.

Han text is cut into pairs of neighbouring characters instead of dictionary words. Both find the same topic,
pairs cost a twentieth, and what is read from a page does not depend on who segments its words.

The reader ``"topic"``, after patent CN101645082: blocks that share words with the longest one.

The patent weighs four fields of a page: its title, its keywords and description, its topic text and its topic
anchors. They are ``Page.title``, ``keywords`` and ``description``, ``text``, and ``anchors``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from dedupcrawl.page.block_reader import framed
from dedupcrawl.page.blocks import byte_length, fold
from dedupcrawl.page.flatten import (
    BLOCKS,
    BREAK,
    IGNORED,
    INSIDE,
    LANDMARKS,
    LINK,
    MARK,
    STRAY,
    UNLINK,
    TreeWalk,
    say,
    stylesheet,
    template,
    words,
)
from dedupcrawl.page.model import Block, Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.etree import _Element

    from dedupcrawl.page.options import ReadOptions, TopicOptions


LEVEL = "\ufdd8"  #: where a level element begins

TITLES = words("h1 h2 h3 h4 h5 h6")  #: ``title`` itself is metadata, wherever it stands
LEVELS = words("b big em font i s small strike strong u")
#: Elements that are a paragraph, an entry or a caption: others, but on lines of their own.
LINES = words("address caption dd details dt figcaption figure legend li p pre summary th")
CONTAINERS = (BLOCKS | LANDMARKS) - TITLES - LINES
LEFT_OUT = IGNORED | {"script", "title"}


@dataclass(slots=True)
class Segment:
    """A semantic block; lengths in characters after white space is folded."""

    tag: str
    texts: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  #: of its texts among all of the page
    length: int = 0
    link_length: int = 0  #: of ``length``, how much is anchor text
    links: int = 0
    levels: int = 0  #: level tags in it

    @property
    def text(self) -> str:
        """Its texts, a line each."""
        return "\n".join(self.texts)

    @property
    def anchor_share(self) -> float:
        """Anchor text / all text, 0…1."""
        return self.link_length / self.length if self.length else 0.0

    def take(self, other: Segment) -> None:
        """Take over what an element inside holds."""
        self.texts += other.texts
        self.places += other.places
        self.length += other.length
        self.link_length += other.link_length
        self.links += other.links
        self.levels += other.levels


#: Text, length of its anchor text, links, level tags, and whether the last link goes on behind it.
Measured: TypeAlias = tuple[str, int, int, int, bool]


def segments(root: _Element, options: TopicOptions) -> list[Segment]:
    """Return the segments of a page that hold text, inner ones before those around them."""
    parts = walk(root).split(MARK)
    found: list[Segment] = []
    tags = ["body"]  # of the open elements
    held: list[Segment | None] = [None]  # what each of them holds: most hold nothing of their own
    inside = False  # a link is open
    for place, (head, raw) in enumerate(zip(["", *parts[1::2]], parts[::2], strict=False)):
        if head:
            tags.append(head)
            held.append(None)
        elif len(tags) > 1:
            _close(tags, held, found, options)
        if raw and not raw.isspace():
            segment = held[-1] = held[-1] or Segment(tags[-1])
            inside = _add(segment, place, raw, inside=inside)
    while len(tags) > 1:  # a page that has marks of its own
        _close(tags, held, found, options)
    rest = held[0]
    return [*found, rest] if rest is not None and rest.texts else found


def _close(tags: list[str], held: list[Segment | None], found: list[Segment], options: TopicOptions) -> None:
    """End the innermost element: what it holds is a segment, or goes to the element around it."""
    tag, segment = tags.pop(), held.pop()
    if segment is None:
        return
    enough = segment.length >= options.characters or segment.levels >= options.levels
    if segment.texts and (enough or tag in TITLES):
        found.append(segment)
    elif (around := held[-1]) is not None:
        around.take(segment)
    else:
        segment.tag = tags[-1]
        held[-1] = segment


def _add(segment: Segment, place: int, raw: str, *, inside: bool) -> bool:
    """Add a raw text to a segment, and say whether its last link goes on."""
    text, link_length, links, levels, inside = measure(raw, inside=inside)
    segment.levels += levels
    if text:
        segment.texts.append(text)
        segment.places.append(place)
        segment.length += len(text)
        segment.link_length += link_length
        segment.links += links
    return inside


def measure(raw: str, *, inside: bool) -> Measured:
    """Measure a raw text; ``inside`` says that it begins in a link."""
    levels = raw.count(LEVEL)
    if levels:
        raw = raw.replace(LEVEL, "")
    if not inside and LINK not in raw:
        return fold(raw), 0, 0, levels, False
    before, *pieces = raw.split(LINK)
    label, closed, _ = before.partition(UNLINK)
    labels = [label] if inside else []
    inside = inside and not closed
    for piece in pieces:
        label, closed, _ = piece.partition(UNLINK)
        labels.append(label)
        inside = not closed
    text = fold(raw.replace(LINK, "").replace(UNLINK, ""))
    link_length = sum([len(fold(label)) for label in labels])
    return text, min(link_length, len(text)), len(labels), levels, inside


def walk(root: _Element) -> str:
    """Return the stream of a parsed page, ``root`` being its ``<html>`` element (it is not changed)."""
    return _walk()(root)


@cache
def _walk() -> TreeWalk:
    source = stylesheet(
        template("|".join(sorted(LEFT_OUT)) + "|comment()|processing-instruction()"),
        *(template(tag, say(MARK, tag, MARK), INSIDE, say(MARK, MARK)) for tag in CONTAINERS | TITLES),
        *(template(tag, say(BREAK), INSIDE, say(BREAK)) for tag in LINES),
        *(template(tag, say(LEVEL), INSIDE) for tag in LEVELS),
        template("br|hr", say(BREAK)),
        template("a[@href]", say(LINK), INSIDE, say(UNLINK)),
        template("/", "<stream>", INSIDE, "</stream>"),
        template("head", f'<xsl:apply-templates select="{STRAY}"/>'),
    )
    return TreeWalk(source)


STOP_WORDS = words("""
    a about after all also an and any are as at be because been before being but by can could did do does
    each for from had has have he her here hers him his how i if in into is it its just like may me might
    more most my no not now of on one only or other our ours out over own said same say says she should so
    some such than that the their theirs them then there these they this those to too under until up upon us
    very was we were what when where which while who whom whose why will with would you your yours
""")
#: Characters that do the work of stop words: particles, pronouns, conjunctions, prepositions.
STOP_CHARACTERS = (
    "的了是在和也就都而及与與着著或这這那不有为為以于於上中下他她它我你们們被把从從到对對将將之其所"
)

_UNSPACED = (
    (0x3005, 0x3007),  # 々〆〇
    (0x3040, 0x30FF),  # kana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


def _without(ranges: Iterable[tuple[int, int]], left_out: Iterable[int]) -> list[tuple[int, int]]:
    """Cut code points out of ranges: a set in a pattern is quicker than a look ahead of each character."""
    parts = list(ranges)
    for point in left_out:
        parts = [
            piece
            for first, last in parts
            for piece in (
                ((first, point - 1), (point + 1, last)) if first <= point <= last else ((first, last),)
            )
            if piece[0] <= piece[1]
        ]
    return parts


def _as_set(ranges: Iterable[tuple[int, int]]) -> str:
    return "".join([f"{chr(first)}-{chr(last)}" for first, last in ranges])


_telling = _as_set(_without(_UNSPACED, map(ord, STOP_CHARACTERS)))
_pairs = re.compile(f"(?=([{_telling}]{{2}}))").findall
_spaced = re.compile(f"[^\\W_{_as_set(_UNSPACED)}]+").findall


def topic_words(text: str) -> Counter[str]:
    """Return the words of a block with their counts.

    >>> sorted(topic_words("The river rose in 长江的水位"))
    ['river', 'rose', '水位', '长江']
    """
    folded = text.casefold()
    found = Counter(_spaced(folded))
    for word in STOP_WORDS & found.keys():
        del found[word]
    if not text.isascii():
        found.update(_pairs(folded))
    return found


def overlap(one: Counter[str], other: Counter[str]) -> float:
    """Return |common words| / |words of the smaller block|, both with repetitions; 0 without words.

    >>> overlap(Counter("abb"), Counter("abcd"))
    0.6666666666666666
    """
    small, large = sorted((one, other), key=Counter.total)
    size = small.total()
    common = sum([min(count, large[word]) for word, count in small.items() if word in large])
    return common / size if size else 0.0


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
