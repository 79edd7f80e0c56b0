"""The reader ``"topic"``: DOM segmentation and topic blocks (source: patent CN101645082).

Tags fall into five classes. From the leaves upwards, a *block* element becomes a segment once it holds enough
text or enough level tags; otherwise its text goes to its parent. A *title* element is a segment of any
length, *level* elements are counted, *ignored* ones are left out, all *others* belong to the text around
them. The text that reaches the root is a segment too, so that nothing is lost. The longest segment is the
topic, and so are segments that share words with it. All titles are in the title field. Those of parts of the
topic are also compared with its text, since most detectors know no fields.

The patent does not list its block tags. Here they are the elements that contain paragraphs: an article is one
segment. With ``p`` and ``li`` among them, every paragraph would have to share words with the longest one.

Chinese text is split into pairs of adjacent characters instead of dictionary words. Both find the same topic;
pairs take a twentieth of the time, and the result does not depend on the word segmenter.

As in :mod:`dedupcrawl.page.blocks`, a stylesheet walks the tree. Its stream is ``text (MARK head MARK
text)*``, where a head is the tag of a block or title element at its start, and empty at its end.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from dedupcrawl.page.block_reader import with_main_text
from dedupcrawl.page.blocks import (
    BLOCKS,
    BREAK,
    IGNORED,
    LANDMARKS,
    LINK,
    MARK,
    STRAY_ELEMENTS,
    UNLINK,
    byte_length,
    normalize_space,
)
from dedupcrawl.page.model import Block, Page
from dedupcrawl.page.rules import word_set
from dedupcrawl.page.stylesheets import RECURSE, StylesheetCache, emit, stylesheet, template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.etree import _Element

    from dedupcrawl.page.options import ReadOptions, TopicOptions


LEVEL = "\ufdd8"  #: mark at the start of a level element

TITLE_TAGS = word_set("h1 h2 h3 h4 h5 h6")  #: ``title`` itself is metadata
LEVEL_TAGS = word_set("b big em font i s small strike strong u")
#: Elements that are a paragraph, an entry or a caption: class "other", but on separate lines.
LINE_TAGS = word_set("address caption dd details dt figcaption figure legend li p pre summary th")
BLOCK_TAGS = (BLOCKS | LANDMARKS) - TITLE_TAGS - LINE_TAGS
IGNORED_TAGS = IGNORED | {"script", "title"}

TOPIC = "topic"  #: kept: the longest segment, and those that share words with it
TOPIC_ANCHORS = "topic anchors"  #: kept, but not as main text: a topic segment of mostly anchor text
TITLE = "title"  #: a heading
MAX_LINKED = 0.5  #: share of anchor text in a title; with more it names another page
NOISE = "noise"  #: removed: all other segments

STOP_WORDS = word_set("""
    a about after all also an and any are as at be because been before being but by can could did do does
    each for from had has have he her here hers him his how i if in into is it its just like may me might
    more most my no not now of on one only or other our ours out over own said same say says she should so
    some such than that the their theirs them then there these they this those to too under until up upon us
    very was we were what when where which while who whom whose why will with would you your yours
""")
#: Chinese stop words of one character: particles, pronouns, conjunctions, prepositions.
STOP_CHARACTERS = "的了是在和也就都而及与與着著或这這那不有为為以于於上中下他她它我你们們被把从從到对對将將之其所"

#: Characters of scripts without spaces between words, apart from the main block of Han: 々〆〇, kana, Han.
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0003ffff"
#: The main block of Han without the stop characters, which are all in it.
_HAN = "".join(
    f"{chr(before + 1)}-{chr(after - 1)}"
    for before, after in pairwise([0x4DFF, *sorted(map(ord, STOP_CHARACTERS)), 0xA000])
    if after - before > 1
)
_pairs = re.compile(f"(?=([{_UNSPACED}{_HAN}]{{2}}))").findall
_spaced_words = re.compile(f"[^\\W_{_UNSPACED}\u4e00-\u9fff]+").findall

#: Text, length of its anchor text, links, level tags, and whether the last link is still open.
TextMeasures: TypeAlias = tuple[str, int, int, int, bool]


def read_topic(root: _Element, url: str, options: ReadOptions) -> Page:
    """Read a page by its topic segments (source: patent CN101645082).

    The four fields that the patent weighs are ``Page.title_field``, ``keywords`` and ``description``, ``text``,
    ``anchors``. The first one has all titles of the page.

    Args:
        root: the ``<html>`` element.
        url: URL of the page.
        options: ``options.topic`` has the constants.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``.
    """
    found = segments(root, options.topic)
    reasons = classify(found, options.topic)
    pairs = sorted(zip(found, reasons, strict=True), key=lambda pair: pair[0].places)
    page = with_main_text(
        root,
        url,
        options,
        _text_of(found, reasons, TOPIC),
        anchors=_text_of(found, reasons, TOPIC_ANCHORS),
        blocks=tuple(_block(*pair) for pair in pairs) if options.blocks else (),
    )
    return replace(
        page, titles=_text_of(found, reasons, TITLE), rest=_text(_titles_of_topic(found, reasons, page.title))
    )


def classify(found: Sequence[TopicBlock], options: TopicOptions) -> list[str]:
    """Return the class of each segment: TOPIC, TOPIC_ANCHORS, TITLE or NOISE."""
    reasons = [TITLE if segment.tag in TITLE_TAGS else NOISE for segment in found]
    rest = [place for place, reason in enumerate(reasons) if reason is NOISE]
    if not rest:
        return reasons
    longest = max(rest, key=lambda place: found[place].length)
    topic = topic_words(found[longest].text)
    size = topic.total()
    for place in rest:
        segment = found[place]
        if place == longest or overlap(topic_words(segment.text), topic, size) > options.overlap:
            reasons[place] = TOPIC_ANCHORS if segment.anchor_share > options.anchors else TOPIC
    return reasons


def _titles_of_topic(found: Sequence[TopicBlock], reasons: Sequence[str], title: str) -> list[TopicBlock]:
    """Return the titles just above a text of the topic that are no links, but the name of the page.

    Each site may name a page in its own way, and an ``<h1>`` before that name is the site's. A title that is a link
    names another page.
    """
    name = _name_of_page(found, title)
    order = [at for _, at in sorted((place, at) for at, segment in enumerate(found) for place in segment.places)]
    named: dict[int, None] = {}
    is_above = is_named = False
    for at in reversed(order):
        is_named = is_named or found[at] is name
        is_title = reasons[at] is TITLE
        is_above = is_above if is_title else reasons[at] is TOPIC
        is_part = not (is_named and found[at].tag == "h1")
        if is_title and is_above and is_part and found[at].anchor_share <= MAX_LINKED:
            named[at] = None
    return [found[at] for at in named]


def _name_of_page(found: Sequence[TopicBlock], title: str) -> TopicBlock | None:
    """Return the ``<h1>`` that names a page: of several, the longest that the ``<title>`` contains, or the first."""
    headings = [segment for segment in found if segment.tag == "h1" and segment.anchor_share <= MAX_LINKED]
    titled = [segment for segment in headings if segment.text in title]
    return max(titled, key=lambda segment: segment.length, default=headings[0] if headings else None)


def _text_of(found: Sequence[TopicBlock], reasons: Sequence[str], wanted: str) -> str:
    """Return the texts of one class."""
    return _text([segment for segment, reason in zip(found, reasons, strict=True) if reason is wanted])


def _text(found: Sequence[TopicBlock]) -> str:
    """Return the texts of some segments in reading order: a segment may be inside another one."""
    texts = [line for segment in found for line in zip(segment.places, segment.texts, strict=True)]
    return "\n".join([text for _, text in sorted(texts)])


def _block(segment: TopicBlock, reason: str) -> Block:
    length = byte_length(segment.text)
    link_length = round(segment.anchor_share * length)
    kept = reason in (TOPIC, TOPIC_ANCHORS)
    return Block(segment.text, length, link_length, segment.links, 0, segment.tag, kept, reason)


@dataclass(slots=True)
class TopicBlock:
    """A semantic block of a page. Lengths in characters after white space is normalised."""

    tag: str
    texts: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  #: of its texts among all texts of the page
    length: int = 0
    link_length: int = 0  #: length of the anchor text in it
    links: int = 0
    levels: int = 0  #: level tags in it

    @property
    def text(self) -> str:
        """Its texts, one a line."""
        return "\n".join(self.texts)

    @property
    def anchor_share(self) -> float:
        """Anchor text / all text, 0…1."""
        return self.link_length / self.length if self.length else 0.0

    def merge(self, other: TopicBlock) -> None:
        """Add the content of an element inside."""
        self.texts += other.texts
        self.places += other.places
        self.length += other.length
        self.link_length += other.link_length
        self.links += other.links
        self.levels += other.levels


def segments(root: _Element, options: TopicOptions) -> list[TopicBlock]:
    """Return the segments of a page with text, inner ones before those around them."""
    parts = walk(root).split(MARK)
    found: list[TopicBlock] = []
    tags = ["body"]  # of the open elements
    open_segments: list[TopicBlock | None] = [None]  # text of each that is in no segment yet; mostly none
    inside = False  # a link is open
    for place, (head, marked) in enumerate(zip(["", *parts[1::2]], parts[::2], strict=False)):
        if head:
            tags.append(head)
            open_segments.append(None)
        elif len(tags) > 1:
            _close(tags, open_segments, found, options)
        if marked and not marked.isspace():
            segment = open_segments[-1] = open_segments[-1] or TopicBlock(tags[-1])
            inside = _add(segment, place, marked, inside=inside)
    while len(tags) > 1:  # a page that itself contains marks
        _close(tags, open_segments, found, options)
    rest = open_segments[0]
    return [*found, rest] if rest is not None and rest.texts else found


def _close(
    tags: list[str], open_segments: list[TopicBlock | None], found: list[TopicBlock], options: TopicOptions
) -> None:
    """Close the innermost element: its text is a segment, or goes to the element around it."""
    tag, segment = tags.pop(), open_segments.pop()
    if segment is None:
        return
    enough = segment.length >= options.characters or segment.levels >= options.levels
    if segment.texts and (enough or tag in TITLE_TAGS):
        found.append(segment)
    elif (around := open_segments[-1]) is not None:
        around.merge(segment)
    else:
        segment.tag = tags[-1]
        open_segments[-1] = segment


def _add(segment: TopicBlock, place: int, marked: str, *, inside: bool) -> bool:
    """Add a marked text to a segment; return whether its last link is still open."""
    text, link_length, links, levels, inside = measure_text(marked, inside=inside)
    segment.levels += levels
    if text:
        segment.texts.append(text)
        segment.places.append(place)
        segment.length += len(text)
        segment.link_length += link_length
        segment.links += links
    return inside


def measure_text(marked: str, *, inside: bool) -> TextMeasures:
    """Measure a marked text; ``inside``: it begins inside a link."""
    levels = marked.count(LEVEL)
    if levels:
        marked = marked.replace(LEVEL, "")
    if not inside and LINK not in marked:
        return normalize_space(marked), 0, 0, levels, False
    before, *pieces = marked.split(LINK)
    label, closed, _ = before.partition(UNLINK)
    labels = [label] if inside else []
    inside = inside and not closed
    for piece in pieces:
        label, closed, _ = piece.partition(UNLINK)
        labels.append(label)
        inside = not closed
    text = normalize_space(marked.replace(LINK, "").replace(UNLINK, ""))
    link_length = sum([len(normalize_space(label)) for label in labels])
    return text, min(link_length, len(text)), len(labels), levels, inside


def walk(root: _Element) -> str:
    """Return the stream of a parsed page; ``root``, its ``<html>`` element, is not changed."""
    return _walk()(root)


@cache
def _walk() -> StylesheetCache:
    source = stylesheet(
        template("|".join(sorted(IGNORED_TAGS)) + "|comment()|processing-instruction()"),
        *(template(tag, emit(MARK, tag, MARK), RECURSE, emit(MARK, MARK)) for tag in BLOCK_TAGS | TITLE_TAGS),
        *(template(tag, emit(BREAK), RECURSE, emit(BREAK)) for tag in LINE_TAGS),
        *(template(tag, emit(LEVEL), RECURSE) for tag in LEVEL_TAGS),
        template("br|hr", emit(BREAK)),
        template("a[@href]", emit(LINK), RECURSE, emit(UNLINK)),
        template("/", "<stream>", RECURSE, "</stream>"),
        template("head", f'<xsl:apply-templates select="{STRAY_ELEMENTS}"/>'),
    )
    return StylesheetCache(source)


def topic_words(text: str) -> Counter[str]:
    """Return the words of a segment with their counts, without stop words.

    >>> sorted(topic_words("The river rose in 长江的水位"))
    ['river', 'rose', '水位', '长江']
    """
    folded = text.casefold()
    found = Counter(_spaced_words(folded))
    for word in STOP_WORDS & found.keys():
        del found[word]
    if not text.isascii():
        found.update(_pairs(folded))
    return found


def overlap(one: Counter[str], other: Counter[str], other_size: int | None = None) -> float:
    """Return |common words| / |words of the smaller segment|, both with repetitions; 0 without words.

    ``other_size`` is the number of words in ``other``, if it is known: to add it up again for each segment of a page
    takes quadratic time.

    >>> overlap(Counter("abb"), Counter("abcd"))
    0.6666666666666666
    """
    size, other_size = one.total(), other.total() if other_size is None else other_size
    if other_size < size:
        one, other, size = other, one, other_size
    return (one & other).total() / size if size else 0.0
