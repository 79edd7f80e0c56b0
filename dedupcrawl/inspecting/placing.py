"""Where in its tree each block of a page stands.

The reader's own functions cut the stream into blocks once more, and :mod:`dedupcrawl.inspecting.ink` says
where the characters of each come from. What a block says and what its places hold is compared to the last
letter: a block is shown where it is, or the page says that it cannot be shown.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from dedupcrawl.inspecting.ink import ink, provenance
from dedupcrawl.page.blocks import outline
from dedupcrawl.page.flatten import ANCHOR, BREAK, LINK, MARK, UNLINK, flatten
from dedupcrawl.page.links import link_runs
from dedupcrawl.page.segments import segments, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lxml.etree import _Element

    from dedupcrawl.inspecting.ink import Places
    from dedupcrawl.page.model import Page
    from dedupcrawl.page.options import ReadOptions


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of one text of a tree (see :func:`~dedupcrawl.inspecting.ink.texts`)."""

    text: int  #: number of the text
    start: int
    stop: int


#: The text of a block, and which stretches of the stream it was made of.
Cut: TypeAlias = tuple[str, list[tuple[int, int]]]
Walking: TypeAlias = "Callable[[_Element], str]"
Cutting: TypeAlias = "Callable[[str], list[Cut] | None]"

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
            places = provenance(root, twin, walk_over)
            return None if places is None else _spans(stream, places, cuts)
    return None


def _readings(root: _Element, options: ReadOptions) -> Iterator[tuple[Walking, Cutting]]:
    """Yield the ways in which a page may have been cut into blocks, the likeliest first."""
    whole_runs = replace(options, link_run=sys.maxsize)
    opened = partial(flatten, open_landmarks=True)
    outlined: Cutting = partial(_outlined, options=options)
    ways: dict[str, list[tuple[Walking, Cutting]]] = {
        "blocks": [(flatten, outlined), (opened, outlined)],
        "topic": [(walk, partial(_segmented, root=root, options=options))],
        "text": [(opened, partial(_outlined, options=whole_runs))],
    }
    first = ways.pop(options.reader, [])
    yield from chain(first, *ways.values())


def _outlined(stream: str, options: ReadOptions) -> list[Cut] | None:
    """Cut as :func:`~dedupcrawl.page.blocks.outline` does; None where its blocks are not found again."""
    texts = [draft[0] for draft in outline(stream, options).drafts]
    cuts: list[Cut] = []
    for start, raw in _raws(stream):
        shown = ink(_hidden("", raw))
        if not shown:
            continue
        if len(cuts) < len(texts) and ink(texts[len(cuts)]) == shown:
            cuts.append((texts[len(cuts)], [(start, start + len(raw))]))
            continue
        inside, outside = _parted(start, raw, options.link_run)
        for stretches in (outside, inside):
            if any(ink(_hidden("", stream[begin:end])) for begin, end in stretches):
                if len(cuts) == len(texts):
                    return None
                cuts.append((texts[len(cuts)], stretches))
    return cuts if len(cuts) == len(texts) else None


def _parted(start: int, raw: str, most: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the stretches of the long runs of links in a raw text at ``start``, and those between."""
    inside, outside, end = [], [], 0
    for begin, stop, links in link_runs(raw):
        if links > most:
            outside.append((start + end, start + begin))
            inside.append((start + begin, start + stop))
            end = stop
    return inside, [*outside, (start + end, start + len(raw))]


def _segmented(stream: str, root: _Element, options: ReadOptions) -> list[Cut]:
    """Cut as the reader ``"topic"`` does."""
    starts = [start for start, _ in _parts(stream)]
    lengths = [len(part) for _, part in _parts(stream)]
    found = sorted(segments(root, options.topic), key=lambda segment: segment.places)
    return [
        (segment.text, [(starts[place], starts[place] + lengths[place]) for place in segment.places])
        for segment in found
    ]


def _raws(stream: str) -> Iterator[tuple[int, str]]:
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


def _spans(stream: str, places: Places, cuts: Sequence[Cut]) -> list[list[Span]] | None:
    """Return the spans of each block; None where one of them does not hold what its block says."""
    found = []
    for text, stretches in cuts:
        held = [place for begin, end in stretches for place in range(begin, end) if places.at[place] >= 0]
        if "".join([stream[place] for place in held]) != "".join(text.split()):
            return None
        found.append(_joined((places.texts[place], places.at[place]) for place in held))
    return found


def _joined(places: Iterable[tuple[int, int]]) -> list[Span]:
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
