"""DOM segmentation after patent CN101645082: from a tree to the semantic blocks of a page.

Tags fall into five classes. From the leaves upwards a *block* element becomes a segment once it holds enough
text or enough level tags; otherwise it hands what it holds to its parent. A *title* element is a segment
whatever its length, *level* elements are counted, *ignored* ones are left out, and all *others* belong to
what stands around them. What reaches the root is a segment too, so that no text is lost.

The patent does not list its block tags. Read as those that hold paragraphs rather than are one, an article is
one segment; with ``p`` and ``li`` among them every paragraph would have to share words with the longest one.

As in :mod:`dedupcrawl.page.flatten`, a stylesheet walks the tree in C. Its stream is ``text (MARK head MARK
text)*``, where a head is the tag of a block or title element that begins, or empty where the last one ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from dedupcrawl.page.flatten import BLOCKS, BREAK, IGNORED, LANDMARKS, LINK, MARK, STRAY, UNLINK
from dedupcrawl.page.links import fold
from dedupcrawl.page.tables import words
from dedupcrawl.page.walking import INSIDE, Walk, say, stylesheet, template

if TYPE_CHECKING:
    from lxml.etree import _Element

    from dedupcrawl.page.options import TopicOptions

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
def _walk() -> Walk:
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
    return Walk(source)
