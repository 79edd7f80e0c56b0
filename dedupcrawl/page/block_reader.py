"""What is the same whichever reader finds the main text: metadata, and what kind of page it is.

The default reader, ``"blocks"``: the link rules, then the container that holds the main text.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING

from dedupcrawl.page.blocks import Outline, outline
from dedupcrawl.page.document import check_size, metadata
from dedupcrawl.page.flatten import flatten
from dedupcrawl.page.kinds import kind_of
from dedupcrawl.page.model import Block, Kind, Page
from dedupcrawl.page.rules import LANDMARK, MAIN_TEXT, STATED
from dedupcrawl.page.scoring import choose

if TYPE_CHECKING:
    from lxml.etree import _Element

    from dedupcrawl.page.options import ReadOptions


LITTLE = 200  #: bytes: where less is kept, the landmarks are searched too


def read_blocks(root: _Element, url: str, options: ReadOptions) -> Page:
    """Read a page by the link rules and the choice of one container.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``.
    """
    page, reasons, kept = _read(root, options)
    if kept < LITTLE and LANDMARK in reasons:
        # A landmark that was never closed holds the rest of the page.
        again = _read(root, options, open_landmarks=True)
        if again[2] >= max(LITTLE, kept):
            page, reasons, kept = again
    return _page(page, reasons, kept, url, options)


def _read(
    root: _Element, options: ReadOptions, *, open_landmarks: bool = False
) -> tuple[Outline, list[str], int]:
    """Return the outline, why each block is kept or cut, and the length of the main text."""
    stream = flatten(root, open_landmarks=open_landmarks)
    check_size(len(stream), options.max_bytes)
    page = outline(stream, options)
    return page, *choose(page, options)


def _page(page: Outline, reasons: list[str], kept: int, url: str, options: ReadOptions) -> Page:
    head = metadata(page.metadata, url)
    return Page(
        url=url,
        text="\n".join(
            [draft[0] for draft, reason in zip(page.drafts, reasons, strict=True) if reason == MAIN_TEXT]
        ),
        rest=_rest(page, reasons, kept),
        title=head.title,
        language=head.language,
        published=head.published,
        canonical=head.canonical,
        keywords=head.keywords,
        description=head.description,
        blocks=_blocks(page, reasons) if options.blocks else (),
        kind=kind_of(page, reasons, kept),
    )


def _rest(page: Outline, reasons: list[str], kept: int) -> str:
    """Return what was cut for its place alone, where it outweighs the main text.

    Twenty goods over a paragraph of terms are no copy of the next page of the catalogue.
    """
    left_out = [draft for draft, reason in zip(page.drafts, reasons, strict=True) if reason in STATED]
    if sum([draft[1] for draft in left_out]) <= kept:
        return ""
    return "\n".join([text for text, *_ in left_out])


def _blocks(page: Outline, reasons: list[str]) -> tuple[Block, ...]:
    columns = list(zip(*page.drafts, strict=True))[:6]
    kept = [reason is MAIN_TEXT for reason in reasons]
    # what Block(*values) does, without a Python frame for each of hundreds
    return tuple(map(tuple.__new__, repeat(Block), zip(*columns, kept, reasons, strict=True)))


def framed(
    root: _Element,
    url: str,
    options: ReadOptions,
    text: str,
    *,
    anchors: str = "",
    blocks: tuple[Block, ...] = (),
) -> Page:
    """Return the page that the default reader sees, with the main text that another one found.

    An index stays one: whatever a reader takes from a list of links, two such lists are no copies.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``.
    """
    page = read_blocks(root, url, options)
    kind = page.kind
    if kind is not Kind.INDEX:
        kind = Kind.ARTICLE if text.strip() else Kind.EMPTY
    return replace(page, text=text, rest="", anchors=anchors, blocks=blocks, kind=kind)
