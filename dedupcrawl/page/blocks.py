"""From the stream of a page to its blocks and the containers that hold them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from dedupcrawl.page.flatten import LANDMARKS, LINK, MARK, NOTE, UNLINK
from dedupcrawl.page.links import byte_length, fold, measure, measure_lone, split_runs
from dedupcrawl.page.noise import LINK_RUN, link_noise
from dedupcrawl.page.sideparts import Side, side_part
from dedupcrawl.page.tables import words

if TYPE_CHECKING:
    from dedupcrawl.page.options import ReadOptions

#: A block of which nothing is decided yet: text, length, link length, links, longest run, tag, container.
#: A plain tuple, because hundreds are made of every page. Lengths in UTF-8 bytes.
Draft = tuple[str, int, int, int, int, str, int]

#: A text with its marks, without space around it; the tag of its element, and its container.
Raw = tuple[str, str, int]

#: Elements that seldom hold others: unless their class says what they are, they are no containers, and their
#: text belongs to the container around them.
LEAVES = words("address caption dd dt figcaption h1 h2 h3 h4 h5 h6 legend li p pre summary th")

MOST_NAMES = 250  #: characters of class and id that are looked at: what is remembered of them is bounded


@dataclass(slots=True)
class Outline:
    """The blocks of a page in reading order, and the containers in which text was found (parents first)."""

    drafts: list[Draft] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)  #: of each container, -1 for the first
    sides: list[Side] = field(default_factory=list)  #: of each container
    mains: list[int] = field(default_factory=list)  #: containers that are a <main>
    nested: list[int] = field(default_factory=list)  #: containers that are an <article> in one other
    metadata: list[str] = field(default_factory=list)  #: ``name=value``


def outline(stream: str, options: ReadOptions) -> Outline:
    """Build the outline of a flattened page (see :mod:`dedupcrawl.page.flatten`)."""
    page = Outline()
    parts = stream.split(MARK)
    heads = parts[1::2]
    # a look at each of a thousand heads would cost more than one at the stream
    page.metadata = [note.partition(MARK)[0] for note in stream.split(NOTE)[1:]]
    found = _place(page, ["", *heads], parts[::2])
    page.drafts = _measure(found, options)
    return page


def _place(page: Outline, heads: list[str], raws: list[str]) -> list[Raw]:
    """Return the texts that are not empty, and note in ``page`` the containers that hold them.

    One loop over all that a page holds: what is open is kept by depth: an end is one subtraction.
    """
    found: list[Raw] = []
    opened = ["body"] * (len(heads) + 1)  # heads of the open elements
    homes = [-1] * (len(heads) + 1)  # their containers, -1 where there is none yet
    depth = 0
    for head, raw in zip(heads, map(str.strip, raws), strict=False):
        if head:
            depth += 1
            opened[depth] = head
            homes[depth] = -1
        elif depth:
            depth -= 1
        if raw:
            tag, _, leaf = _element(opened[depth][:MOST_NAMES])
            holder = depth - leaf
            if homes[holder] < 0:
                _make_containers(page, opened, homes, holder)
            found.append((raw, tag, homes[holder]))
    return found


def _make_containers(page: Outline, opened: list[str], homes: list[int], last: int) -> None:
    """Give a container to the element at depth ``last`` and to those around it that have none."""
    parents, sides = page.parents, page.sides
    first = last
    while first and homes[first - 1] < 0:
        first -= 1
    holder = homes[first - 1] if first else -1
    for depth in range(first, last + 1):
        head = opened[depth]
        if head == "main":
            page.mains.append(len(parents))
        elif head == "article" and opened[1:depth].count(head) == 1:
            page.nested.append(len(parents))
        homes[depth] = len(parents)
        parents.append(holder)
        sides.append(_element(head[:MOST_NAMES])[1])
        holder = homes[depth]


def _measure(found: list[Raw], options: ReadOptions) -> list[Draft]:
    """Fold the texts and measure their links."""
    drafts: list[Draft] = []
    inside = False  # a link to a web page is open
    for raw, tag, home in found:
        if LINK in raw or inside:
            if raw[0] == LINK and raw[-1] == UNLINK and not inside and raw.find(LINK, 1) < 0:
                text, length, link_length, links = measure_lone(raw)
                if text:
                    drafts.append((text, length, link_length, links, links, tag, home))
            else:
                inside = _take_linked(drafts, raw, tag, home, options, inside=inside)
        else:
            text = fold(raw)
            if text:
                length = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
                drafts.append((text, length, 0, 0, 0, tag, home))
    return drafts


def _take_linked(
    drafts: list[Draft], raw: str, tag: str, home: int, options: ReadOptions, *, inside: bool
) -> bool:
    """Add the block of a text with links, and say whether its last link goes on."""
    text, length, link_length, links, run, inside = measure(raw, inside=inside)
    if run > options.link_run and link_noise(length, link_length, run, options) == LINK_RUN:
        raw, text = split_runs(raw, options.link_run)
        length = link_length = byte_length(text)
        rest = measure(raw, inside=False)
        if rest[0]:
            drafts.append((*rest[:5], tag, home))
    if text:
        drafts.append((text, length, link_length, links, run, tag, home))
    return inside


@lru_cache(maxsize=16384)
def _element(head: str) -> tuple[str, Side, bool]:
    """Return the tag of an element, what its names say it is, and whether it is a leaf."""
    tag, _, names = head.partition(" ")
    if head in LANDMARKS:  # one that is walked inside has names, if only empty ones
        return tag, Side.LANDMARK, False
    side = Side.LIKELY if tag == "figcaption" else side_part(names)
    return tag, side, tag in LEAVES and side is Side.NONE
