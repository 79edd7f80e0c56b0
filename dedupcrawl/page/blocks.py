"""From the stream of a page to its blocks and the containers that hold them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from dedupcrawl.page.flatten import BEGIN, BREAK, END, LANDMARKS, LINK, NOTE, TEXT
from dedupcrawl.page.links import byte_length, lines, measure, split_runs
from dedupcrawl.page.noise import LINK_RUN, link_noise
from dedupcrawl.page.sideparts import Side, side_part
from dedupcrawl.page.tables import words

if TYPE_CHECKING:
    from dedupcrawl.page.options import ReadOptions

#: A block of which nothing is decided yet: text, length, link length, links, longest run, tag, container.
#: A plain tuple, because hundreds are made of every page. Lengths in UTF-8 bytes.
Draft = tuple[str, int, int, int, int, str, int]

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
    metadata: list[str] = field(default_factory=list)  #: ``name=value``


def outline(stream: str, options: ReadOptions) -> Outline:  # noqa: C901 - see below
    """Build the outline of a flattened page (see :mod:`dedupcrawl.page.flatten`).

    One loop over all that a page holds; a call for each of its steps would cost a third as much again.
    """
    page = Outline()
    drafts = page.drafts
    opened = ["body"]  # heads of the open elements
    chain: list[int] = []  # containers of the outermost of them: they are made when text is found inside
    inside = False  # a link to a web page is open
    for part in stream.split(BEGIN):
        head, _, rest = part.partition(TEXT)
        if NOTE in head:
            page.metadata.append(head[1:])
        else:
            opened.append(head if len(head) < MOST_NAMES else head[:MOST_NAMES])
        end = END
        while end:
            raw, end, rest = rest.partition(END)
            if raw and not raw.isspace():
                tag, _, leaf = _element(opened[-1])
                depth = len(opened) - leaf
                if depth > len(chain):
                    _make_containers(page, chain, opened[len(chain) : depth])
                if inside or LINK in raw:
                    inside = _take_linked(drafts, raw, tag, chain[depth - 1], options, inside=inside)
                else:
                    text = " ".join(raw.split())
                    if BREAK in text:
                        text = lines(text)
                    length = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
                    if length:
                        drafts.append((text, length, 0, 0, 0, tag, chain[depth - 1]))
            if end and len(opened) > 1:
                opened.pop()
                if len(chain) > len(opened):
                    chain.pop()
    return page


def _make_containers(page: Outline, chain: list[int], heads: list[str]) -> None:
    """Lengthen the chain of open containers by one for each head."""
    for head in heads:
        page.parents.append(chain[-1] if chain else -1)
        chain.append(len(page.sides))
        page.sides.append(_element(head)[1])


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
