"""Measuring the links of one raw text: how much of it is link text, and how the links stand together.

A raw text holds links as ``LINK target ANCHOR label UNLINK`` (see :mod:`dedupcrawl.page.flatten`). Only links
to web pages count; those to files and anchors without a target are text like any other.
"""

from __future__ import annotations

import re

from dedupcrawl.page.flatten import ANCHOR, BREAK, LINK, UNLINK
from dedupcrawl.page.noise import SEPARATORS, leads_to_page

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
