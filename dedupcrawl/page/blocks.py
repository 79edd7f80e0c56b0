"""From the stream of a page to its blocks and the containers that hold them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from dedupcrawl.page.flatten import BEGIN, END, LANDMARKS, LINK, TEXT
from dedupcrawl.page.links import byte_length, fold, measure, split_runs
from dedupcrawl.page.noise import LINK_RUN, link_noise
from dedupcrawl.page.sideparts import Side, side_part

if TYPE_CHECKING:
    from dedupcrawl.page.options import ReadOptions

#: A block of which nothing is decided yet: text, length, link length, links, longest run, tag, container.
#: A plain tuple, because hundreds are made of every page. Lengths in UTF-8 bytes.
Draft = tuple[str, int, int, int, int, str, int]

#: Elements that seldom hold others: unless their class says what they are, they are no containers, and their text
#: belongs to the container around them.
LEAVES = frozenset(
    "address caption dd dt figcaption h1 h2 h3 h4 h5 h6 legend li p pre summary th".split()  # noqa: SIM905
)


@dataclass(slots=True)
class Outline:
    """The blocks of a page in reading order, and the containers in which text was found (parents first)."""

    drafts: list[Draft] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)  #: of each container, -1 for the first
    sides: list[Side] = field(default_factory=list)  #: of each container
    metadata: list[str] = field(default_factory=list)  #: ``@name=value``


def outline(stream: str, options: ReadOptions) -> Outline:
    """Build the outline of a flattened page (see :mod:`dedupcrawl.page.flatten`)."""
    page = Outline()
    builder = _Builder(page, options)
    take, close, opened = builder.take, builder.close, builder.opened
    for part in stream.split(BEGIN):
        head, _, rest = part.partition(TEXT)
        if head[:1] == "@":
            page.metadata.append(head)
        elif head != "/":
            opened.append(head)
        raw, end, rest = rest.partition(END)
        if raw and not raw.isspace():
            take(raw)
        while end:
            close()
            raw, end, rest = rest.partition(END)
            if raw and not raw.isspace():
                take(raw)
    return page


class _Builder:
    """Follows the open elements; only those in which text is found become containers."""

    __slots__ = ("chain", "inside", "opened", "options", "page")

    def __init__(self, page: Outline, options: ReadOptions) -> None:
        self.page = page
        self.options = options
        self.opened = ["body"]  #: heads of the open elements
        self.chain: list[int] = []  #: containers of the outermost of them, as far as they are made
        self.inside = False  #: a link to a web page is open

    def close(self) -> None:
        """End the element begun last."""
        opened = self.opened
        if len(opened) > 1:
            opened.pop()
            if len(self.chain) > len(opened):
                self.chain.pop()

    def take(self, raw: str) -> None:
        """Make a block of the text between two boundaries."""
        if self.inside or LINK in raw:
            self.take_linked(raw)
            return
        text = fold(raw)
        if text:
            tag, home = self.place()
            self.page.drafts.append((text, byte_length(text), 0, 0, 0, tag, home))

    def take_linked(self, raw: str) -> None:
        """The same for a text with links; a run of links that is noise becomes a block of its own."""
        text, length, link_length, links, run, inside = measure(raw, inside=self.inside)
        self.inside = inside
        if not text:
            return
        tag, home = self.place()
        if run > self.options.link_run and link_noise(length, link_length, run, self.options) == LINK_RUN:
            raw, text = split_runs(raw, run - 1)
            length = link_length = byte_length(text)
            self.take(raw)
        self.page.drafts.append((text, length, link_length, links, run, tag, home))

    def place(self) -> tuple[str, int]:
        """Return the tag of the element that holds the text, and its container."""
        tag, _, leaf = _element(self.opened[-1])
        depth = len(self.opened) - leaf
        chain = self.chain
        for head in self.opened[len(chain) : depth]:
            self.page.parents.append(chain[-1] if chain else -1)
            self.page.sides.append(_element(head)[1])
            chain.append(len(self.page.sides) - 1)
        return tag, chain[depth - 1]


@lru_cache(maxsize=32768)
def _element(head: str) -> tuple[str, Side, bool]:
    """Return the tag of an element, what its names say it is, and whether it is a leaf."""
    tag, _, names = head.partition(" ")
    if tag in LANDMARKS:
        return tag, Side.LANDMARK, False
    side = Side.LIKELY if tag == "figcaption" else side_part(names)
    return tag, side, tag in LEAVES and side is Side.NONE
