"""Reading a page for inspection: its blocks, their positions, and why each was kept or cut."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from dedupcrawl.page import ReadOptions, read_tree
from dedupcrawl.page.document import parse, to_text
from dedupcrawl.page.model import Kind
from dedupcrawl.page.readers import READERS
from dedupcrawl.page.rules import POSITION_REASONS
from dedupcrawl.page.topic import NOISE, TOPIC, TOPIC_ANCHORS, overlap, topic_words
from dedupcrawl.text.features import Features
from dedupcrawl.tools.inspect.canvas import Canvas, build_canvas
from dedupcrawl.tools.inspect.positions import Passage, elements, place_blocks, shares, split_passages
from dedupcrawl.tools.inspect.rules import FOUND, NOT_FOUND, explain_block, rule_of
from dedupcrawl.values import page_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lxml.etree import _Element

    from dedupcrawl.page.model import Block, Page
    from dedupcrawl.tools.inspect.positions import Span

MIN_SHARE = 0.5  #: least share of a block in the main text of a user's reader for the block to count as kept
MAX_BLOCKS = 20_000  #: blocks shown
MAX_LINES = 20_000  #: lines of the main text shown

_BY_TOPIC = frozenset({NOISE, TOPIC, TOPIC_ANCHORS})

_UNPLACED = "The blocks cannot be shown in place: the page contains the characters that mark its parts."
_OWN = "Your reader returns only the main text. A block of the page counts as kept if half of its letters are in it."
_OWN_BLOCKS = "This reader is yours; the blocks and their reasons are those that it returned."
_KINDS = {
    Kind.INDEX: "This page is an index: nothing but guide links is left on it. A crawl keeps it, "
    "unchecked(index), and compares it with no other.",
    Kind.EMPTY: "This page has no text that is read. A crawl keeps it, unchecked(empty).",
}


@dataclass(frozen=True, slots=True)
class Inspection:
    """A page as its reader sees it."""

    page: Page
    options: ReadOptions
    blocks: tuple[Block, ...]
    reasons: tuple[str, ...]  #: one sentence for each block
    canvas: Canvas
    passages: tuple[Passage, ...]  #: of the main text
    rest: tuple[Passage, ...]  #: of the text outside the main text that is judged too
    anchors: tuple[Passage, ...]  #: of the topic anchors
    notes: tuple[str, ...]  #: remarks on the page
    values: tuple[str, ...] = ()  #: numbers of the main text, which tell pages of one site apart
    beside: tuple[str, ...] = ()  #: numbers beside it


def inspect_page(body: bytes | str, url: str, options: ReadOptions, content_type: str = "") -> Inspection:
    """Read a page and locate its blocks.

    Args:
        body: the bytes of the page, or its text.
        url: URL of the page.
        options: how to read it.
        content_type: its HTTP header Content-Type.

    Raises:
        PageError: the page cannot be read.
        ReaderError: a user's own reader failed.
    """
    html = to_text(body, encoding=None, content_type=content_type, max_bytes=options.max_bytes)
    found = _read_and_place(html, url, options)
    page = found.page
    canvas = build_canvas(found.root, (found.placed or [])[:MAX_BLOCKS])
    blocks = page.blocks[:MAX_BLOCKS]
    kept = {block.reason for block in blocks if block.kept}
    return Inspection(
        page,
        options,
        blocks,
        tuple(_reasons(blocks, found, options)),
        canvas,
        passages=_passages(page.text, blocks, kept - {TOPIC_ANCHORS}),
        rest=_passages(page.rest, blocks, POSITION_REASONS),
        anchors=_passages(page.anchors, blocks, {TOPIC_ANCHORS}),
        notes=tuple(_notes(found, html, is_cut=canvas.is_cut)),
        **_values(page),
    )


class _Values(TypedDict):
    values: tuple[str, ...]
    beside: tuple[str, ...]


def _values(page: Page) -> _Values:
    inner, outer = page_values(page, Features(page).encoded)
    values, beside = (tuple(sorted(each.decode() for each in some)) for some in (inner, outer))
    return _Values(values=values, beside=beside)


@dataclass(frozen=True, slots=True)
class _PlacedPage:
    """A page with its tree, and the positions of its blocks."""

    page: Page
    root: _Element
    placed: list[list[Span]] | None  #: spans of each block; None: not found
    shares: Sequence[float | None]  #: of each block (see :func:`.rules.explain_block`)
    remark: str = ""  #: about a user's own reader


def _read_and_place(html: str, url: str, options: ReadOptions) -> _PlacedPage:
    """Read a page and locate its blocks; if a user's own reader returns none, those of the whole page."""
    root = parse(html)
    page = read_tree(root, url, options, html=html)
    placed = place_blocks(page, root, parse(html), options) if page.blocks else None
    is_own = options.reader not in READERS
    if placed is None and is_own:
        page, found = _with_text_blocks(page, root, url, options)
        placed = place_blocks(page, root, parse(html), replace(options, reader="text"))
        return _PlacedPage(page, root, placed, found, _OWN)
    return _PlacedPage(page, root, placed, _overlaps(page.blocks), _OWN_BLOCKS if is_own else "")


def _notes(seen: _PlacedPage, html: str, *, is_cut: bool) -> Iterator[str]:
    page = seen.page
    if page.kind in _KINDS:
        yield _KINDS[page.kind]
    if lost := html.count("\ufffd"):
        yield f"{lost:,} characters could not be decoded, or are marked so by the page itself."
    if page.rest:
        yield "The page has more text outside its main text than in it: both are compared, and both must agree."
    if seen.remark:
        yield seen.remark
    if seen.placed is None and page.blocks:
        yield _UNPLACED
    if is_cut or len(page.blocks) > MAX_BLOCKS or page.text.count("\n") >= MAX_LINES:
        yield "This page is very large: only its beginning is shown. It was read to its end."


def _with_text_blocks(page: Page, root: _Element, url: str, options: ReadOptions) -> tuple[Page, list[float | None]]:
    """Give a page without blocks those of the reader "text", kept if its main text contains them."""
    whole = read_tree(root, url, replace(options, reader="text"))
    found = shares(page.text, [block.text for block in whole.blocks])
    blocks = tuple(
        block._replace(kept=share >= MIN_SHARE, reason=FOUND if share >= MIN_SHARE else NOT_FOUND)
        for block, share in zip(whole.blocks, found, strict=True)
    )
    return replace(page, blocks=blocks), [*found]


def _overlaps(blocks: Sequence[Block]) -> list[float | None]:
    """Return the share of words each block has in common with the longest, if the reader decides by that."""
    compared = [place for place, block in enumerate(blocks) if block.reason in _BY_TOPIC]
    found: list[float | None] = [None] * len(blocks)
    if compared:
        longest = max(compared, key=lambda place: len(blocks[place].text.replace("\n", "")))
        wanted = topic_words(blocks[longest].text)
        size = wanted.total()
        for place in compared:
            found[place] = 1.0 if place == longest else overlap(topic_words(blocks[place].text), wanted, size)
    return found


def _reasons(blocks: Sequence[Block], found: _PlacedPage, options: ReadOptions) -> Iterator[str]:
    tree = list(elements(found.root))
    for number, block in enumerate(blocks):
        spans = found.placed[number] if found.placed else ()
        around = _around(tree, spans[0].text) if spans else ()
        yield explain_block(block, options, around, found.shares[number])


def _around(tree: Sequence[_Element], text: int) -> Iterator[_Element]:
    """Yield the elements around the text with this number, the innermost first."""
    place, is_tail = divmod(text, 2)
    if not is_tail:
        yield tree[place]
    yield from tree[place].iterancestors()


def _passages(text: str, blocks: Sequence[Block], reasons: frozenset[str] | set[str]) -> tuple[Passage, ...]:
    if not text:
        return ()
    wanted = [(place, block.text) for place, block in enumerate(blocks) if block.reason in reasons]
    lines = text.split("\n", MAX_LINES)[:MAX_LINES]
    return tuple(split_passages("\n".join(lines), wanted))


def rule_counts(blocks: Sequence[Block]) -> list[tuple[str, bool, int, int]]:
    """Return (reason, is kept, blocks, bytes) of each rule that was applied, those that keep first."""
    number, size = Counter[tuple[bool, str]](), Counter[tuple[bool, str]]()
    for block in blocks:
        number[block.kept, block.reason] += 1
        size[block.kept, block.reason] += block.length
    order = sorted(number, key=lambda one: (not one[0], rule_of(one[1], kept=one[0]).family, -size[one]))
    return [(reason, kept, number[kept, reason], size[kept, reason]) for kept, reason in order]
