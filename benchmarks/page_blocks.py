"""Blocks and links to files on pages with known main text: experiments 1 and 4 of the source of the link rules.

A page is *divided rightly* if no block mixes main text with other text. A block mixes them if at least ``MIN_PIECE``
characters at one of its ends are in the main text, and as many at the other end are not.

A link to a file is *content* if its text, of at least ``MIN_LABEL`` characters, is in the main text of its page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.page import PageError, ReadOptions, read_page
from dedupcrawl.page.blocks import ANCHOR, LINK, MARK, UNLINK, flatten, measure_links, split_runs
from dedupcrawl.page.document import parse, to_text
from dedupcrawl.page.rules import GUIDE_LINKS, LINK_RUN, leads_to_page, link_noise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.links import Sample

MIN_PIECE = 40  #: characters of a part of a block that is looked for in the main text
MIN_LABEL = 8  #: characters of the text of a link; a shorter one is in many texts
#: Names of files that no browser shows as a page.
FILE = re.compile(r"\.(pdf|mp3|zip|docx?|xlsx?|exe|pptx?|rar|gz|dmg|mp4|m4a|csv|epub)([?#]|$)", re.IGNORECASE)

_link = re.compile(f"{LINK}([^{ANCHOR}]*){ANCHOR}([^{LINK}{UNLINK}]*){UNLINK}?")


@dataclass
class BlockCounts:
    """The division of the pages of a set."""

    pages: int = 0  #: with a block of main text
    right: int = 0  #: of them without a mixed block
    blocks: int = 0  #: with main text
    mixed: int = 0  #: of them with other text too


@dataclass
class FileCounts:
    """The links to files in the main text of the pages of a set."""

    pages: int = 0  #: with such a link
    right: int = 0  #: of them with all links kept
    links: int = 0
    kept: int = 0


def count_blocks(samples: Iterable[Sample]) -> BlockCounts:
    """Count the blocks of pages, as they are before the reader chooses among them."""
    counts, options = BlockCounts(), ReadOptions(blocks=True)
    for sample in samples:
        truth = _squeezed(sample.main_text)
        try:
            blocks = [_squeezed(each.text) for each in read_page(sample.html, options=options).blocks]
        except PageError:
            continue
        states = [state for each in blocks if (state := _state(each, truth)) != "other"]
        counts.pages += bool(states)
        counts.right += bool(states) and "mixed" not in states
        counts.blocks += len(states)
        counts.mixed += states.count("mixed")
    return counts


def _state(block: str, truth: str) -> str:
    """Return "main", "mixed" or "other"; a short block, which may be anywhere in a text, is "other"."""
    if len(block) < 2 * MIN_PIECE:
        return "main" if len(block) >= MIN_PIECE and block in truth else "other"
    ends = [piece in truth for piece in (block[:MIN_PIECE], block[-MIN_PIECE:])]
    return "main" if all(ends) else "mixed" if any(ends) else "other"


def count_files(samples: Iterable[Sample], *, whole: bool) -> FileCounts:
    """Count the links to files that the link rules keep, or the ``whole`` reader."""
    counts, options = FileCounts(), ReadOptions()
    for sample in samples:
        truth = _squeezed(sample.main_text)
        try:
            text = to_text(sample.html, encoding=None, content_type="", max_bytes=options.max_bytes)
            stream = flatten(parse(text), open_landmarks=True)
            kept = _squeezed(read_page(sample.html).text if whole else _left(stream, options))
        except PageError:
            continue
        labels = [_squeezed(match[2]) for match in _link.finditer(stream) if _is_file(match[1])]
        states = [each in kept for each in labels if len(each) >= MIN_LABEL and each in truth]
        counts.pages += bool(states)
        counts.right += bool(states) and all(states)
        counts.links += len(states)
        counts.kept += sum(states)
    return counts


def _is_file(target: str) -> bool:
    return bool(FILE.search(target)) and not leads_to_page(target)


def _left(stream: str, options: ReadOptions) -> str:
    """Return the text that the link rules alone leave of a page."""
    left = []
    for raw in map(str.strip, stream.split(MARK)[::2]):
        _, length, link_length, _, run, _ = measure_links(raw, inside=False)
        noise = link_noise(length, link_length, run, options)
        rest = {None: raw, GUIDE_LINKS: "", LINK_RUN: split_runs(raw, options.link_run)[0]}[noise]
        left.append(measure_links(rest.strip(), inside=False)[0] if rest.strip() else "")
    return "\n".join(left)


def _squeezed(text: str) -> str:
    """Remove white space: hand-made texts have other line breaks."""
    return "".join(text.split())
