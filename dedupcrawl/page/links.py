"""Measuring the links of one raw text: how much of it is link text, and how the links stand together.

A raw text holds links as ``LINK target ANCHOR label UNLINK`` (see :mod:`dedupcrawl.page.flatten`). Only links to
web pages count; those to files and anchors without a target are text like any other.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dedupcrawl.page.flatten import ANCHOR, BREAK, LINK, UNLINK
from dedupcrawl.page.noise import SEPARATORS, leads_to_page

#: Text up to this many characters parts two links no more than a separator does ("and", "与").
SHORT_GAP = 3

_links = re.compile(f"{LINK}([^{ANCHOR}]*){ANCHOR}([^{UNLINK}{LINK}]*){UNLINK}?")
_separators = SEPARATORS + BREAK


class Measured(NamedTuple):
    """A text without marks, and what its links come to; lengths in UTF-8 bytes."""

    text: str
    length: int
    link_length: int
    links: int
    longest_run: int
    inside: bool  #: the last link is still open: the next text begins in it


def fold(raw: str) -> str:
    """Fold white space; a ``<br>`` becomes a line end, empty lines go."""
    text = " ".join(raw.split())
    if BREAK in text:
        return "\n".join(filter(None, map(str.strip, text.split(BREAK))))
    return text


def byte_length(text: str) -> int:
    """Return the length of ``text`` in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def measure(raw: str, *, inside: bool) -> Measured:
    """Measure a raw text with links; ``inside`` says that it begins in one."""
    if inside or raw.count(LINK) != 1:
        return _measure_many(raw, inside=inside)
    before, _, rest = raw.partition(LINK)
    target, _, rest = rest.partition(ANCHOR)
    label, closed, after = rest.partition(UNLINK)
    if (after and not after.isspace()) or (before and not before.isspace()):
        text = fold(before + label + after)
        length = byte_length(text)
        link_length = min(length, byte_length(fold(label)))
    else:
        text = fold(label)
        link_length = length = byte_length(text)
    if leads_to_page(target):
        return Measured(text, length, link_length, 1, 1, not closed)
    return Measured(text, length, 0, 0, 0, inside=False)


def _measure_many(raw: str, *, inside: bool) -> Measured:
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
        texts += label, after
        if not leads_to_page(target):
            run = 0
            continue
        labels += label
        links += 1
        run += 1
        longest = max(longest, run)
        inside = not closed
        if parts_links(after):
            run = 0
    text = fold("".join(texts).replace(UNLINK, ""))
    length = byte_length(text)
    return Measured(text, length, min(length, byte_length(fold(labels))), links, longest, inside)


def parts_links(text: str) -> bool:
    """Whether a text between two links ends their run; separators do not."""
    return len(text) >= SHORT_GAP and bool(text.strip(_separators))


def split_runs(raw: str, most: int) -> tuple[str, str]:
    """Part a raw text from its runs of more than ``most`` links.

    Returns the raw text that is left, and the text of the runs without marks.
    """
    left, runs, end = [], [], 0
    for start, stop, links in _runs(raw):
        if links > most:
            left.append(raw[end:start])
            runs.append(_links.sub(r"\2", raw[start:stop]))
            end = stop
    left.append(raw[end:])
    return " ".join(left), fold(" ".join(runs))


def _runs(raw: str) -> list[tuple[int, int, int]]:
    """Return start, end and number of links of each run."""
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
