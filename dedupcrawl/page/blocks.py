"""From the stream of a page to its blocks and the containers that hold them.

Measuring the links of one raw text: how much of it is link text, and how the links stand together.

A raw text holds links as ``LINK target ANCHOR label UNLINK`` (see :mod:`dedupcrawl.page.flatten`). Only links
to web pages count; those to files and anchors without a target are text like any other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from dedupcrawl.page.flatten import ANCHOR, BREAK, LANDMARKS, LINK, MARK, NOTE, UNLINK, words
from dedupcrawl.page.rules import LINK_RUN, SEPARATORS, SideKind, leads_to_page, link_noise, side_part

if TYPE_CHECKING:
    from dedupcrawl.page.options import ReadOptions


#: A shorter text parts two links no more than a separator does ("&", "与").
SHORT_GAP = 3

_links = re.compile(f"{LINK}([^{ANCHOR}]*){ANCHOR}([^{UNLINK}{LINK}]*){UNLINK}?")
_separators = SEPARATORS + BREAK


#: A text without marks and what its links come to: text, length, link length, links, longest run (in bytes of
#: UTF-8), and whether the last link is still open, so that the next text begins in it.
Measured = tuple[str, int, int, int, int, bool]


def fold(raw: str) -> str:
    """Fold white space; a ``<br>`` becomes a line end."""
    text = raw.strip()
    if text.isprintable() and "  " not in text:  # so are most texts: no mark is printable, no space but " "
        return text
    # the end of a link that is no guide link and holds blocks: its beginning stands in another text
    text = " ".join(text.replace(UNLINK, "").split())
    return lines(text) if BREAK in text else text


def lines(text: str) -> str:
    """Make line ends of the ``<br>`` of a folded text; empty lines go."""
    return "\n".join(filter(None, map(str.strip, text.split(BREAK))))


def byte_length(text: str) -> int:
    """Return the length of ``text`` in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def measure(raw: str, *, inside: bool) -> Measured:
    """Measure a raw text with links and no space around; ``inside`` says that it begins in one."""
    before, *pieces = raw.split(LINK)
    texts = [before]
    labels = ""
    links = run = longest = 0
    if inside:
        labels, closed, _ = before.partition(UNLINK)
        inside = not closed
        links = run = longest = 1
    for piece in pieces:
        target, _, rest = piece.partition(ANCHOR)
        label, closed, after = rest.partition(UNLINK)
        texts.append(label)
        texts.append(after)
        if leads_to_page(target):
            labels += label
            links += 1
            run += 1
            inside = not closed
            if len(after) < SHORT_GAP or not parts_links(after):
                continue
        longest = max(longest, run)
        run = 0
    longest = max(longest, run)
    text = fold("".join(texts).replace(UNLINK, ""))
    length = byte_length(text)
    link_length = min(length, byte_length(fold(labels))) if labels else 0
    return text, length, link_length, links, longest, inside


def measure_lone(raw: str) -> tuple[str, int, int, int]:
    """Measure a raw text that is one link: its text, length, link length and links, 1 or 0.

    Every second text with links is so, and this is a third of the work that the general case is.
    """
    target, _, label = raw[1:-1].partition(ANCHOR)
    text = fold(label)
    length = len(text) if text.isascii() else byte_length(text)
    return (text, length, length, 1) if leads_to_page(target) else (text, length, 0, 0)


def parts_links(text: str) -> bool:
    """Whether a text between two links ends their run; separators do not."""
    return len(text) >= SHORT_GAP and bool(text.strip(_separators))


def split_runs(raw: str, most: int) -> tuple[str, str]:
    """Part a raw text from its runs of more than ``most`` links.

    Returns the raw text that is left, and the text of the runs without marks.
    """
    left, runs, end = [], [], 0
    for start, stop, links in link_runs(raw):
        if links > most:
            left.append(raw[end:start])
            runs.append(_links.sub(r"\2", raw[start:stop]))
            end = stop
    left.append(raw[end:])
    return " ".join(left), fold(" ".join(runs))


def link_runs(raw: str) -> list[tuple[int, int, int]]:
    """Return start, end and number of links of each run of links in a raw text."""
    runs: list[tuple[int, int, int]] = []
    for link in _links.finditer(raw):
        if not leads_to_page(link[1]):
            continue
        if runs and not parts_links(raw[runs[-1][1] : link.start()]):
            start, _, links = runs.pop()
            runs.append((start, link.end(), links + 1))
        else:
            runs.append((link.start(), link.end(), 1))
    return runs


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
    sides: list[SideKind] = field(default_factory=list)  #: of each container
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
def _element(head: str) -> tuple[str, SideKind, bool]:
    """Return the tag of an element, what its names say it is, and whether it is a leaf."""
    tag, _, names = head.partition(" ")
    if head in LANDMARKS:  # one that is walked inside has names, if only empty ones
        return tag, SideKind.LANDMARK, False
    side = SideKind.LIKELY if tag == "figcaption" else side_part(names)
    return tag, side, tag in LEAVES and side is SideKind.NONE
