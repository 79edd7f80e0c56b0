"""Where every character of a flattened page comes from.

A reader sees a page as one string that a stylesheet leaves of the tree (:mod:`dedupcrawl.page.flatten`), and
nothing in it says where it stood. So a twin of the tree is flattened too, with the number of each text
written before it; without these numbers the two strings agree, and with them each character has a place.
White space is folded on the way, so only *ink* is followed: all characters but white space. A page pays
for this only when somebody looks at it.

Which passage of the main text came from which block.

Where in its tree each block of a page stands.

The reader's own functions cut the stream into blocks once more, and this module says
where the characters of each come from. What a block says and what its places hold is compared to the last
letter: a block is shown where it is, or the page says that it cannot be shown.
"""

from __future__ import annotations

import re
import sys
from array import array
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, TypeAlias

from dedupcrawl.page.blocks import link_runs, outline
from dedupcrawl.page.flatten import ANCHOR, BREAK, LINK, MARK, UNLINK, flatten
from dedupcrawl.page.topic import segments, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lxml.etree import _Element

    from dedupcrawl.page.model import Page
    from dedupcrawl.page.options import ReadOptions


#: Begins and ends the number of a text; a noncharacter that no walk writes.
TEXT_MARK = "\ufddf"

#: What a tree may hold but not be given, and a number's sign; each stands for itself, as ink or as space.
_INVALID = {
    code: " " if chr(code).isspace() else "\ufffd"
    for code in (*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0xFFFE, 0xFFFF, ord(TEXT_MARK))
}
_numbered = re.compile(f"{TEXT_MARK}([0-9]+){TEXT_MARK}").split
_find_visible = re.compile(r"\S").finditer


@dataclass(frozen=True, slots=True)
class CharacterMap:
    """Where the characters of a stream stand, by their places in it; -1 for white space and marks.

    Two plain arrays: a page of ten million characters would fill gigabytes as pairs.
    """

    texts: array[int]  #: number of the text (see :func:`texts`)
    at: array[int]  #: place in that text


def visible(text: str) -> str:
    r"""Return a text without white space.

    >>> ink(" a\u00a0b\n")
    'ab'
    """
    return "".join(replace_invalid(text).split())


def replace_invalid(text: str) -> str:
    """Replace the characters that no tree can be given, one by one."""
    return text.translate(_INVALID)


def numbered_texts(root: _Element) -> Iterator[tuple[int, str]]:
    """Yield the texts of a document by their numbers; what comments and instructions hold is none.

    The number of an element's ``text`` is twice the element's place in document order, that of its ``tail``
    one more.
    """
    for place, element in enumerate(elements(root)):
        if element.text and isinstance(element.tag, str):
            yield 2 * place, element.text
        if element.tail and place:
            yield 2 * place + 1, element.tail


def elements(root: _Element) -> Iterator[_Element]:
    """Yield the elements of a document in their order; broken markup leaves some beside its root."""
    yield from root.iter()
    for sibling in root.itersiblings():
        yield from sibling.iter()


def map_characters(root: _Element, twin: _Element, walk: Callable[[_Element], str]) -> CharacterMap | None:
    """Return for each character of ``walk(root)`` where it stands in the tree.

    The whole is None where the walk says something else of the numbered twin, which only a page of
    noncharacters can bring about.

    Args:
        root: the root of a document.
        twin: that of another parse of the same page, which is numbered (lxml's own copies lack what broken
            markup leaves behind the root).
        walk: what flattens a page.
    """
    numbers = dict(numbered_texts(root))
    stream = replace_invalid(walk(root))
    _write_numbers(twin, numbers)
    found = _match_texts(_numbered(walk(twin)), numbers)
    if found is None or found[0] != visible(stream):
        return None
    spread = CharacterMap(array("i", [-1]) * len(stream), array("i", [-1]) * len(stream))
    for place, number, at in zip(_visible_offsets(stream), *found[1:], strict=True):
        spread.texts[place], spread.at[place] = number, at
    return spread


def _match_texts(parts: Sequence[str], numbers: dict[int, str]) -> tuple[str, array[int], array[int]] | None:
    """Return the ink of a numbered stream, split at its numbers, and the number and place of each sign."""
    signs = [visible(parts[0])]
    found, at = (array("i", [-1]) * len(signs[0]) for _ in range(2))
    for number, part in zip(map(int, parts[1::2]), parts[2::2], strict=True):
        starts = array("i", _visible_offsets(replace_invalid(numbers.get(number, ""))))
        shown = visible(part)
        marks = array("i", [-1]) * (len(shown) - len(starts))
        if len(starts) > len(shown):
            return None
        signs.append(shown)
        found.extend(array("i", [number]) * len(starts) + marks)
        at.extend(starts + marks)
    return "".join(signs), found, at


def _visible_offsets(text: str) -> Iterator[int]:
    """Yield the places of the ink of a text."""
    return (match.start() for match in _find_visible(text))


def _write_numbers(twin: _Element, numbers: dict[int, str]) -> None:
    for place, element in enumerate(elements(twin)):
        if 2 * place in numbers:
            element.text = f"{TEXT_MARK}{2 * place}{TEXT_MARK}{replace_invalid(numbers[2 * place])}"
        if 2 * place + 1 in numbers:
            element.tail = f"{TEXT_MARK}{2 * place + 1}{TEXT_MARK}{replace_invalid(numbers[2 * place + 1])}"


MAX_MISSED_LINES = (
    1000  #: lines that no block has, after which no more are looked for: each costs a look at all
)
NGRAM_LETTERS = (
    6  #: letters by which a block is looked for in a main text that somebody else has put together
)


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of the main text that follow each other in one block."""

    text: str
    block: int | None  #: place of the block; None: no block has it as it stands


def split_passages(text: str, blocks: Sequence[tuple[int, str]]) -> list[Passage]:
    """Cut a main text into the passages of its blocks; joined by line ends they are the text.

    Args:
        text: the main text.
        blocks: the place and the text of each block that may be part of it, in reading order.
    """
    found: list[Passage] = []
    for line, block in _lines(text, blocks):
        if found and block is not None and found[-1].block == block:
            found[-1] = Passage(f"{found[-1].text}\n{line}", block)
        else:
            found.append(Passage(line, block))
    return found


def _lines(text: str, blocks: Sequence[tuple[int, str]]) -> Iterator[tuple[str, int | None]]:
    """Look for each line behind the last one that was found, then from the beginning."""
    inks = [visible(each) for _, each in blocks]
    whole = "\n".join(inks)
    starts = [0, *accumulate(len(each) + 1 for each in inks)]
    at = missed = 0
    for line in text.split("\n"):
        wanted = visible(line)
        place = -1
        if wanted and missed < MAX_MISSED_LINES:
            place = whole.find(wanted, at)
            place = whole.find(wanted) if place < 0 else place
        if place < 0:
            missed += 1
            yield line, None
            continue
        at = place + len(wanted)
        yield line, blocks[bisect_right(starts, place) - 1][0]


def shares(text: str, blocks: Sequence[str]) -> list[float]:
    """Return for each block how much of its ink the main text has, 0…1, by runs of :data:`GRAM` letters."""
    said = visible(text)
    grams = {said[at : at + NGRAM_LETTERS] for at in range(max(0, len(said) - NGRAM_LETTERS + 1))}
    return [_share(visible(block), said, grams) for block in blocks]


def _share(block: str, said: str, grams: set[str]) -> float:
    if not block:
        return 0.0
    if len(block) <= NGRAM_LETTERS:
        return float(block in said)
    mine = [block[at : at + NGRAM_LETTERS] for at in range(len(block) - NGRAM_LETTERS + 1)]
    return sum([gram in grams for gram in mine]) / len(mine)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of one text of a tree (see :func:`~dedupcrawl.tools.inspect.positions.numbered_texts`)."""

    text: int  #: number of the text
    start: int
    stop: int


#: The text of a block, and which stretches of the stream it was made of.
Cut: TypeAlias = tuple[str, list[tuple[int, int]]]
Flatten: TypeAlias = "Callable[[_Element], str]"
Segment: TypeAlias = "Callable[[str], list[Cut] | None]"

_hidden = re.compile(f"{LINK}[^{ANCHOR}{LINK}]*{ANCHOR}?|[{UNLINK}{BREAK}]").sub


def place_blocks(page: Page, root: _Element, twin: _Element, options: ReadOptions) -> list[list[Span]] | None:
    """Return for each block of ``page`` the spans that hold its text, in reading order.

    Args:
        page: what was read from the tree, with its blocks.
        root: the root element of the tree.
        twin: that of another parse of the same page, which is changed.
        options: with which it was read; a reader of the user's own may have used one of ours inside.

    Returns None where the blocks cannot be found in the tree: they come from elsewhere, or the page holds the
    very characters that mark its parts.
    """
    for walk_over, cut in _readings(root, options):
        stream = walk_over(root)
        cuts = cut(stream)
        if cuts is not None and [text for text, _ in cuts] == [block.text for block in page.blocks]:
            places = map_characters(root, twin, walk_over)
            return None if places is None else _spans(stream, places, cuts)
    return None


def _readings(root: _Element, options: ReadOptions) -> Iterator[tuple[Flatten, Segment]]:
    """Yield the ways in which a page may have been cut into blocks, the likeliest first."""
    whole_runs = replace(options, link_run=sys.maxsize)
    opened = partial(flatten, open_landmarks=True)
    outlined: Segment = partial(_cut_outline, options=options)
    ways: dict[str, list[tuple[Flatten, Segment]]] = {
        "blocks": [(flatten, outlined), (opened, outlined)],
        "topic": [(walk, partial(_cut_topic, root=root, options=options))],
        "text": [(opened, partial(_cut_outline, options=whole_runs))],
    }
    first = ways.pop(options.reader, [])
    yield from chain(first, *ways.values())


def _cut_outline(stream: str, options: ReadOptions) -> list[Cut] | None:
    """Cut as :func:`~dedupcrawl.page.blocks.outline` does; None where its blocks are not found again."""
    texts = [draft[0] for draft in outline(stream, options).drafts]
    cuts: list[Cut] = []
    for start, raw in _raw_texts(stream):
        shown = visible(_hidden("", raw))
        if not shown:
            continue
        if len(cuts) < len(texts) and visible(texts[len(cuts)]) == shown:
            cuts.append((texts[len(cuts)], [(start, start + len(raw))]))
            continue
        inside, outside = _split_link_runs(start, raw, options.link_run)
        for stretches in (outside, inside):
            if any(visible(_hidden("", stream[begin:end])) for begin, end in stretches):
                if len(cuts) == len(texts):
                    return None
                cuts.append((texts[len(cuts)], stretches))
    return cuts if len(cuts) == len(texts) else None


def _split_link_runs(start: int, raw: str, most: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the stretches of the long runs of links in a raw text at ``start``, and those between."""
    inside, outside, end = [], [], 0
    for begin, stop, links in link_runs(raw):
        if links > most:
            outside.append((start + end, start + begin))
            inside.append((start + begin, start + stop))
            end = stop
    return inside, [*outside, (start + end, start + len(raw))]


def _cut_topic(stream: str, root: _Element, options: ReadOptions) -> list[Cut]:
    """Cut as the reader ``"topic"`` does."""
    starts = [start for start, _ in _parts(stream)]
    lengths = [len(part) for _, part in _parts(stream)]
    found = sorted(segments(root, options.topic), key=lambda segment: segment.places)
    return [
        (segment.text, [(starts[place], starts[place] + lengths[place]) for place in segment.places])
        for segment in found
    ]


def _raw_texts(stream: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a stream that are not empty, without space around, each with its place."""
    for start, part in _parts(stream):
        raw = part.strip()
        if raw:
            yield start + part.index(raw), raw


def _parts(stream: str) -> Iterator[tuple[int, str]]:
    start = 0
    for number, part in enumerate(stream.split(MARK)):
        if number % 2 == 0:
            yield start, part
        start += len(part) + len(MARK)


def _spans(stream: str, places: CharacterMap, cuts: Sequence[Cut]) -> list[list[Span]] | None:
    """Return the spans of each block; None where one of them does not hold what its block says."""
    found = []
    for text, stretches in cuts:
        held = [place for begin, end in stretches for place in range(begin, end) if places.at[place] >= 0]
        if "".join([stream[place] for place in held]) != "".join(text.split()):
            return None
        found.append(_join_spans((places.texts[place], places.at[place]) for place in held))
    return found


def _join_spans(places: Iterable[tuple[int, int]]) -> list[Span]:
    """Join the characters of one text that follow each other to spans."""
    spans: list[Span] = []
    text, start, stop = -1, 0, 0
    for number, at in places:
        if number == text and at >= stop:
            stop = at + 1
            continue
        if text >= 0:
            spans.append(Span(text, start, stop))
        text, start, stop = number, at, at + 1
    return [*spans, Span(text, start, stop)] if text >= 0 else spans
