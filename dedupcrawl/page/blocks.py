"""From the stream of a page to its blocks and the containers that hold them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from dedupcrawl.page.flatten import ANCHOR, BEGIN, END, LANDMARKS, LINK, TEXT, UNLINK
from dedupcrawl.page.noise import FILE_TYPES, SEPARATORS, leads_to_file
from dedupcrawl.page.sideparts import Side, side_part

#: A block of which nothing is decided yet: text, length, link length, links, longest run, container.
#: A plain tuple, because hundreds are made of every page. Lengths in UTF-8 bytes.
Draft = tuple[str, int, int, int, int, int]


@dataclass(slots=True)
class Outline:
    """The blocks of a page in reading order, and their containers (parents before children)."""

    drafts: list[Draft] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)  #: of each container, -1 above the first
    kinds: list[tuple[str, Side]] = field(default_factory=list)  #: tag and side of each container
    metadata: list[str] = field(default_factory=list)  #: ``name=value``


def outline(stream: str) -> Outline:
    """Build the outline of a flattened page (see :mod:`dedupcrawl.page.flatten`)."""
    page = Outline()
    builder = _Builder(page)
    take, opened, chain = builder.take, builder.opened, builder.chain
    parts = iter(stream.split(BEGIN))
    take(next(parts))
    for part in parts:
        head, _, text = part.partition(TEXT)
        if head != "/":
            if head[:1] == "@":
                page.metadata.append(head)
            else:
                opened.append(head)
        text, end, rest = text.partition(END)
        if text and not text.isspace():
            take(text)
        if end:
            if rest and not rest.isspace() and rest.strip(_ENDS):
                builder.take_rest(rest)
            else:
                del opened[-1 - rest.count(END) :]
                del chain[len(opened) :]
    return page


_ENDS = END + " \t\r\n\f\xa0\u3000"


class _Builder:
    """Follows the open elements; only those in which text is found become containers."""

    __slots__ = ("chain", "inside", "opened", "page")

    def __init__(self, page: Outline) -> None:
        self.page = page
        self.opened = ["body"]  #: heads of the open elements
        self.chain: list[int] = []  #: containers of the outermost of them, as far as they are made
        self.inside = False  #: a link to a web page is open

    def take_rest(self, rest: str) -> None:
        for text in rest.split(END):
            self.opened.pop()
            del self.chain[len(self.opened) :]
            if text and not text.isspace():
                self.take(text)

    def take(self, raw: str) -> None:
        """Make a block of the text between two boundaries."""
        link_length = links = run = 0
        if self.inside or LINK in raw:
            raw, link_length, links, run, self.inside = read_links(raw, inside=self.inside)
        text = " ".join(raw.split())
        if text:
            length = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
            chain = self.chain
            if len(chain) != len(self.opened):
                self.make_containers()
            self.page.drafts.append(
                (text, length, link_length if link_length < length else length, links, run, chain[-1])
            )

    def make_containers(self) -> None:
        chain = self.chain
        page = self.page
        for head in self.opened[len(chain) :]:
            page.parents.append(chain[-1] if chain else -1)
            chain.append(len(page.parents) - 1)
            page.kinds.append(_begin(head))


@lru_cache(maxsize=32768)
def _begin(head: str) -> tuple[str, Side]:
    """Return the tag and the kind of the element that a head begins."""
    tag, _, names = head.partition(" ")
    return (tag, Side.LANDMARK) if tag in LANDMARKS else (tag, side_part(names))


def byte_length(text: str) -> int:
    """Return the length of ``text`` in UTF-8 bytes after white space is folded."""
    text = " ".join(text.split())
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


_split = re.compile(f"{LINK}([^{ANCHOR}]*){ANCHOR}([^{UNLINK}{LINK}]*)").split


def read_links(raw: str, *, inside: bool) -> tuple[str, int, int, int, bool]:
    """Take the marks of links out of a raw text and measure them.

    ``inside`` says that the text begins in a link to a web page. Returns the text, the bytes of it that are
    quasi-noise, the number of links, the longest run of links, and whether the last link is still open.
    """
    parts = _split(raw)
    quasi = ""
    links = run = longest = 0
    if inside:
        quasi, closed, _ = parts[0].partition(UNLINK)
        inside = not closed
        links = run = longest = 1
    for place in range(1, len(parts), 3):
        target = parts[place]
        parts[place] = ""
        after = parts[place + 2]
        if not target or target.rpartition(".")[2] in FILE_TYPES or ("?" in target and leads_to_file(target)):
            run = 0
            continue
        quasi += parts[place + 1]
        links += 1
        run += 1
        if run > longest:
            longest = run
        if len(after) > 3 and after.strip(_GAP):
            run = 0
    if len(parts) > 1:
        inside = UNLINK not in parts[-1]
    return "".join(parts).replace(UNLINK, ""), byte_length(quasi), links, longest, inside


_GAP = SEPARATORS + UNLINK
