"""The position in the tree of each character and each block of a flattened page.

A reader sees a page as one string (:mod:`dedupcrawl.page.blocks`), which does not say where its characters
come from. So a second parse of the page is flattened too, with the number of each text written in front of
it. Without the numbers, both strings agree; with them, each character has a position. White space is
collapsed by flattening, so only visible characters are followed. A crawl does none of this.

The reader's own functions then cut the string into blocks once more. The text of a block is compared, to the
last letter, with the characters at its positions: a block is shown in its place, or the page says that it
cannot be.
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

from dedupcrawl.page.blocks import ANCHOR, BREAK, LINK, MARK, UNLINK, build_block_tree, flatten, link_runs
from dedupcrawl.page.topic import segments, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lxml.etree import _Element

    from dedupcrawl.page.model import Page
    from dedupcrawl.page.options import ReadOptions


TEXT_MARK = "\ufddf"  #: starts and ends the number of a text; a noncharacter that flattening never writes
MAX_MISSED_LINES = 1000  #: lines in no block after which the search stops: each costs a search of all blocks
NGRAM_LETTERS = 6  #: letters by which a block is searched for in the main text of a user's reader

#: Characters that a tree cannot be given, and TEXT_MARK, each with a replacement that is as visible.
_INVALID = {
    code: " " if chr(code).isspace() else "\ufffd"
    for code in (*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0xFFFE, 0xFFFF, ord(TEXT_MARK))
}
_numbered = re.compile(f"{TEXT_MARK}([0-9]+){TEXT_MARK}").split
_find_invalid = re.compile(f"[{re.escape(''.join(map(chr, _INVALID)))}]").search
_find_visible_runs = re.compile(r"\S+").finditer


_hidden = re.compile(f"{LINK}[^{ANCHOR}{LINK}]*{ANCHOR}?|[{UNLINK}{BREAK}]").sub

#: The text of a block, and the (start, stop) ranges of the stream that it was made of.
Cut: TypeAlias = tuple[str, list[tuple[int, int]]]
Flatten: TypeAlias = "Callable[[_Element], str]"
Segment: TypeAlias = "Callable[[str], list[Cut] | None]"


@dataclass(frozen=True, slots=True)
class CharacterIndex:
    """The position in the tree of each character of a stream; -1 for white space and marks.

    Two plain arrays: as pairs, the positions of ten million characters would take gigabytes.
    """

    texts: array[int]  #: number of the text (see :func:`numbered_texts`)
    at: array[int]  #: offset in that text


@dataclass(frozen=True, slots=True)
class BlockSpan:
    """Consecutive lines of the main text that come from one block."""

    text: str
    block: int | None  #: index of the block; None: no block contains the text


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A range of one text of a tree (see :func:`numbered_texts`)."""

    text: int  #: number of the text
    start: int
    stop: int


def visible(text: str) -> str:
    r"""Return a text without white space.

    >>> visible(" a\u00a0b\n")
    'ab'
    """
    return "".join(replace_invalid(text).split())


def replace_invalid(text: str) -> str:
    """Replace the characters that a tree cannot be given, one by one."""
    return text.translate(_INVALID) if _find_invalid(text) else text


def numbered_texts(root: _Element) -> Iterator[tuple[int, str]]:
    """Yield the texts of a document with their numbers, except those of comments and instructions.

    The ``text`` of element *n* in document order has the number *2n*, its ``tail`` has *2n + 1*.
    """
    for place, element in enumerate(elements(root)):
        if element.text and isinstance(element.tag, str):
            yield 2 * place, element.text
        if element.tail and place:
            yield 2 * place + 1, element.tail


def elements(root: _Element) -> Iterator[_Element]:
    """Yield the elements of a document in order; broken markup leaves some beside the root."""
    yield from root.iter()
    for sibling in root.itersiblings():
        yield from sibling.iter()


def map_characters(root: _Element, twin: _Element, walk: Flatten) -> CharacterIndex | None:
    """Return the position in the tree of each character of ``walk(root)``.

    ``twin`` is the root of another parse of the page, and is changed; a copy by lxml lacks what broken markup
    leaves behind the root. None: the twin gives another text, which only noncharacters in the page cause.
    """
    numbers = dict(numbered_texts(root))
    stream = replace_invalid(walk(root))
    _write_numbers(twin, numbers)
    found = _match_texts(_numbered(walk(twin)), numbers)
    if found is None or found[0] != visible(stream):
        return None
    positions = CharacterIndex(array("i", [-1]) * len(stream), array("i", [-1]) * len(stream))
    for place, number, at in zip(_visible_offsets(stream), *found[1:], strict=True):
        positions.texts[place], positions.at[place] = number, at
    return positions


def _match_texts(parts: Sequence[str], numbers: dict[int, str]) -> tuple[str, array[int], array[int]] | None:
    """Return the visible characters of a stream split at its numbers, with the text and offset of each."""
    shown_parts = [visible(parts[0])]
    found, at = (array("i", [-1]) * len(shown_parts[0]) for _ in range(2))
    for number, part in zip(map(int, parts[1::2]), parts[2::2], strict=True):
        starts = _visible_offsets(replace_invalid(numbers.get(number, "")))
        shown = visible(part)
        marks = array("i", [-1]) * (len(shown) - len(starts))
        if len(starts) > len(shown):
            return None
        shown_parts.append(shown)
        found.extend(array("i", [number]) * len(starts) + marks)
        at.extend(starts + marks)
    return "".join(shown_parts), found, at


def _visible_offsets(text: str) -> array[int]:
    offsets = array("i")
    for run in _find_visible_runs(text):
        offsets.extend(range(*run.span()))
    return offsets


def _write_numbers(twin: _Element, numbers: dict[int, str]) -> None:
    for place, element in enumerate(elements(twin)):
        if 2 * place in numbers:
            element.text = f"{TEXT_MARK}{2 * place}{TEXT_MARK}{replace_invalid(numbers[2 * place])}"
        if 2 * place + 1 in numbers:
            element.tail = f"{TEXT_MARK}{2 * place + 1}{TEXT_MARK}{replace_invalid(numbers[2 * place + 1])}"


def split_passages(text: str, blocks: Sequence[tuple[int, str]]) -> list[BlockSpan]:
    """Split a main text into the passages of its ``blocks`` (index and text, in reading order)."""
    found: list[BlockSpan] = []
    for line, block in _lines(text, blocks):
        if found and block is not None and found[-1].block == block:
            found[-1] = BlockSpan(f"{found[-1].text}\n{line}", block)
        else:
            found.append(BlockSpan(line, block))
    return found


def _lines(text: str, blocks: Sequence[tuple[int, str]]) -> Iterator[tuple[str, int | None]]:
    shown = [visible(each) for _, each in blocks]
    whole = "\n".join(shown)
    starts = [0, *accumulate(len(each) + 1 for each in shown)]
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
    """Return for each block the share of its n-grams (:data:`NGRAM_LETTERS`) in the main text, 0…1."""
    main = visible(text)
    grams = {main[at : at + NGRAM_LETTERS] for at in range(max(0, len(main) - NGRAM_LETTERS + 1))}
    return [_share(visible(block), main, grams) for block in blocks]


def _share(block: str, main: str, grams: set[str]) -> float:
    if not block:
        return 0.0
    if len(block) <= NGRAM_LETTERS:
        return float(block in main)
    mine = [block[at : at + NGRAM_LETTERS] for at in range(len(block) - NGRAM_LETTERS + 1)]
    return sum([gram in grams for gram in mine]) / len(mine)


def place_blocks(page: Page, root: _Element, twin: _Element, options: ReadOptions) -> list[list[TextSpan]] | None:
    """Return the spans that hold the text of each block of a page, in reading order.

    ``twin`` is the root of another parse of the page, and is changed. None: the blocks are not found in the
    tree. They come from elsewhere, or the page contains the characters that mark its parts.
    """
    for walk_over, cut in _readings(root, options):
        stream = walk_over(root)
        cuts = cut(stream)
        if cuts is not None and [text for text, _ in cuts] == [block.text for block in page.blocks]:
            positions = map_characters(root, twin, walk_over)
            return None if positions is None else _spans(stream, positions, cuts)
    return None


def _readings(root: _Element, options: ReadOptions) -> Iterator[tuple[Flatten, Segment]]:
    """Yield the ways in which a page may have been cut into blocks, the most likely first."""
    whole_runs = replace(options, link_run=sys.maxsize)
    opened = partial(flatten, open_landmarks=True)
    everything = partial(flatten, open_landmarks=True, open_embedded=True)
    outlined: Segment = partial(_cut_outline, options=options)
    ways: dict[str, list[tuple[Flatten, Segment]]] = {
        "blocks": [(flatten, outlined), (opened, outlined), (everything, outlined)],
        "topic": [(walk, partial(_cut_topic, root=root, options=options))],
        "text": [(opened, partial(_cut_outline, options=whole_runs))],
    }
    first = ways.pop(options.reader, [])
    yield from chain(first, *ways.values())


def _cut_outline(stream: str, options: ReadOptions) -> list[Cut] | None:
    """Cut as :func:`~dedupcrawl.page.blocks.build_block_tree` does; None if its blocks are not found."""
    texts = [block[0] for block in build_block_tree(stream, options).blocks]
    cuts: list[Cut] = []
    for start, raw in _raw_texts(stream):
        shown = visible(_hidden("", raw))
        if not shown:
            continue
        if len(cuts) < len(texts) and visible(texts[len(cuts)]) == shown:
            cuts.append((texts[len(cuts)], [(start, start + len(raw))]))
            continue
        inside, outside = _split_link_runs(start, raw, options.link_run)
        for ranges in (outside, inside):
            if any(visible(_hidden("", stream[begin:end])) for begin, end in ranges):
                if len(cuts) == len(texts):
                    return None
                cuts.append((texts[len(cuts)], ranges))
    return cuts if len(cuts) == len(texts) else None


def _split_link_runs(start: int, raw: str, most: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the ranges of the long runs of links in a raw text at ``start``, and those between."""
    inside, outside, end = [], [], 0
    for begin, stop, links in link_runs(raw):
        if links > most:
            outside.append((start + end, start + begin))
            inside.append((start + begin, start + stop))
            end = stop
    return inside, [*outside, (start + end, start + len(raw))]


def _cut_topic(stream: str, root: _Element, options: ReadOptions) -> list[Cut]:
    ranges = [(start, start + len(part)) for start, part in _parts(stream)]
    found = sorted(segments(root, options.topic), key=lambda segment: segment.places)
    return [(segment.text, [ranges[place] for place in segment.places]) for segment in found]


def _raw_texts(stream: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a stream that are not empty, stripped, each with its offset."""
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


def _spans(stream: str, positions: CharacterIndex, cuts: Sequence[Cut]) -> list[list[TextSpan]] | None:
    """Return the spans of each block; None if those of one do not hold its text."""
    found = []
    for text, ranges in cuts:
        held = [place for begin, end in ranges for place in range(begin, end) if positions.at[place] >= 0]
        if "".join([stream[place] for place in held]) != "".join(text.split()):
            return None
        found.append(_join_spans((positions.texts[place], positions.at[place]) for place in held))
    return found


def _join_spans(places: Iterable[tuple[int, int]]) -> list[TextSpan]:
    spans: list[TextSpan] = []
    text, start, stop = -1, 0, 0
    for number, at in places:
        if number == text and at >= stop:
            stop = at + 1
            continue
        if text >= 0:
            spans.append(TextSpan(text, start, stop))
        text, start, stop = number, at, at + 1
    return [*spans, TextSpan(text, start, stop)] if text >= 0 else spans
