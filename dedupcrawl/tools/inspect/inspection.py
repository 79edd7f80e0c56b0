"""Reading a page for inspection: its blocks, their positions, and why each was kept or cut.

The page is not passed on as markup but as a :class:`RebuiltPage`: a list of steps that rebuild it. Of its tree, texts
are passed on as texts, and elements as names from a fixed list. So the browser builds no script, handler, form,
link, style or address of the page, and parses nothing a second time, which is where attacks hide.

A step is ``"text"`` outside of blocks, ``[block, "text"]`` in a block (``[block, "text", 1]`` if browsers do
not show it), ``{"is": …}`` for the start of an element and 0 for its end.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from dedupcrawl.identity.values import other_text, page_values
from dedupcrawl.page import ReadOptions, read_tree
from dedupcrawl.page.document import parse, to_text
from dedupcrawl.page.model import Kind
from dedupcrawl.page.readers import READERS
from dedupcrawl.page.rules import POSITION_REASONS, word_set
from dedupcrawl.page.topic import NOISE, TOPIC, TOPIC_ANCHORS, overlap, topic_words
from dedupcrawl.text.features import Features
from dedupcrawl.tools.inspect.positions import BlockSpan, elements, place_blocks, shares, split_passages
from dedupcrawl.tools.inspect.rules import FOUND, NOT_FOUND, explain_block, rule_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lxml.etree import _Element

    from dedupcrawl.page.model import Block, Page
    from dedupcrawl.tools.inspect.positions import TextSpan


Step: TypeAlias = "str | int | list[int | str] | dict[str, int | str]"
Piece: TypeAlias = tuple[int, int, int]  # start and stop in a text, and index of the block

MAX_DEPTH = 200  #: nesting levels; deeper elements are shown in the last one
MAX_STEPS = 150_000  #: browsers take too long to lay out more

INLINE = word_set("""
    a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd label mark nobr q rb rp rt ruby s samp
    small span strike strong sub sup time tt u var
""")
BLOCK_LEVEL = word_set("""
    address article aside blockquote body caption center col colgroup dd details dialog dir div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre
    section summary table tbody td tfoot th thead tr ul
""")
#: Elements that are shown as an empty frame with this name.
PLACEHOLDERS: Mapping[str, str] = {
    "applet": "applet",
    "audio": "sound",
    "button": "button",
    "canvas": "drawing",
    "embed": "embedded object",
    "frame": "frame",
    "iframe": "frame",
    "img": "picture",
    "input": "field",
    "map": "image map",
    "object": "embedded object",
    "select": "list of choices",
    "svg": "drawing",
    "textarea": "field",
    "video": "video",
}
#: Elements that browsers do not show. Of their text, only that of blocks is shown.
INVISIBLE = word_set(
    "base head link math meta noembed noframes noscript param script source style template title track"
)
#: Attributes that label a frame, the best first.
LABEL_ATTRIBUTES = ("alt", "aria-label", "title", "placeholder", "value")
MAX_LABEL_CHARS = 120  #: characters
MIN_PICTURE_SIDE = 32  #: pixels; a picture with a shorter side is decoration

_language = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,4}\Z").match
_number = re.compile(r"\s*([0-9]{1,4})(?:px)?\s*\Z").match
_space = re.compile(r"\s+").sub
_hides = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE).search


@dataclass(slots=True)
class RebuiltPage:
    """The steps of a page."""

    steps: list[Step] = field(default_factory=list)
    is_cut: bool = False  #: whether there were more than :data:`MAX_STEPS`


def build_canvas(root: _Element, placed: Sequence[Sequence[TextSpan]]) -> RebuiltPage:
    """Return the steps that rebuild a page; ``placed``: the spans of each block (see :mod:`.positions`)."""
    pieces = _by_text(placed)
    numbers = {element: place for place, element in enumerate(elements(root))}
    builder = _CanvasBuilder(pieces, numbers)
    for element in (root, *root.itersiblings()):
        builder.add(element)
    return RebuiltPage(builder.steps, builder.is_cut)


def _by_text(placed: Sequence[Sequence[TextSpan]]) -> dict[int, list[Piece]]:
    pieces: dict[int, list[Piece]] = {}
    for block, spans in enumerate(placed):
        for span in spans:
            pieces.setdefault(span.text, []).append((span.start, span.stop, block))
    for each in pieces.values():
        each.sort()
    return pieces


class _CanvasBuilder:
    """Collects steps, without recursion: pages may be nested deeply."""

    def __init__(self, pieces: Mapping[int, Sequence[Piece]], numbers: Mapping[_Element, int]) -> None:
        self.steps: list[Step] = []
        self.is_cut = False
        self._pieces, self._numbers = pieces, numbers
        self._open: list[bool] = []  # for each open element: whether a step opened it
        self._nested = 0
        self._hidden = 0  # open elements that are not shown

    def add(self, root: _Element) -> None:
        """Add an element with everything in it."""
        if not isinstance(root.tag, str):
            return
        self._begin(root)
        at: list[tuple[_Element, _Element | None]] = [(root, next(root.iterchildren(), None))]
        while at:
            element, child = at.pop()
            if child is None:
                self._end(element)
                if at:
                    self._text(self._numbers[element] * 2 + 1, element.tail)
                continue
            at.append((element, child.getnext()))
            if isinstance(child.tag, str):
                self._begin(child)
                at.append((child, next(child.iterchildren(), None)))
            else:
                self._text(self._numbers[child] * 2 + 1, child.tail)

    def _begin(self, element: _Element) -> None:
        self.is_cut = self.is_cut or len(self.steps) >= MAX_STEPS
        is_shown = not self._hidden and not self.is_cut and self._nested < MAX_DEPTH
        step = _opening(element) if is_shown else None
        if step is not None:
            self.steps.append(step)
            self._nested += 1
        self._open.append(step is not None)
        self._hidden += element.tag in INVISIBLE or element.tag in PLACEHOLDERS
        self._text(self._numbers[element] * 2, element.text)

    def _end(self, element: _Element) -> None:
        self._hidden -= element.tag in INVISIBLE or element.tag in PLACEHOLDERS
        if self._open.pop():
            self.steps.append(0)
            self._nested -= 1

    def _text(self, number: int, text: str | None) -> None:
        if not text or self.is_cut:
            return
        at = 0
        for start, stop, block in self._pieces.get(number, ()):
            self._plain(text[at:start])
            self.steps.append([block, _space(" ", text[start:stop]), *([1] if self._hidden else [])])
            at = stop
        self._plain(text[at:])

    def _plain(self, text: str) -> None:
        if text and not self._hidden:
            self.steps.append(_space(" ", text))


def _opening(element: _Element) -> dict[str, int | str] | None:
    tag = str(element.tag).lower()
    if tag in INVISIBLE:
        return None
    if tag in PLACEHOLDERS:
        return _frame(element, PLACEHOLDERS[tag])
    if tag == "br":
        return {"is": "br"}
    step: dict[str, int | str] = {"is": tag if tag in INLINE or tag in BLOCK_LEVEL else "span"}
    for name in ("colspan", "rowspan"):
        if found := _number(element.get(name, "")):
            step[name] = max(1, min(int(found[1]), 100))
    if _language(element.get("lang", "")):
        step["lang"] = element.get("lang", "")
    if element.get("dir", "").lower() in {"ltr", "rtl", "auto"}:
        step["dir"] = element.get("dir", "").lower()
    if element.get("hidden") is not None or _hides(element.get("style", "")):
        step["hidden"] = 1
    return step


def _frame(element: _Element, name: str) -> dict[str, int | str] | None:
    if element.get("type", "").lower() == "hidden":
        return None
    step: dict[str, int | str] = {"is": "frame", "name": name}
    labels = [element.get(label, "") for label in LABEL_ATTRIBUTES]
    if element.tag == "button":
        labels.append(" ".join(map(str, element.itertext())))
    if label := next(filter(None, map(_folded, labels)), ""):
        step["label"] = label
    for side in ("width", "height"):
        if found := _number(element.get(side, "")):
            step[side] = int(found[1])
    sides = [step[side] for side in ("width", "height") if side in step]
    if "label" not in step and any(int(side) < MIN_PICTURE_SIDE for side in sides):
        return {"is": "frame", "name": "▫"}  # a spacer, an arrow, a bullet
    return step


def _folded(text: str) -> str:
    return _space(" ", text).strip()[:MAX_LABEL_CHARS]


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
class InspectedPage:
    """A page as its reader sees it."""

    page: Page
    options: ReadOptions
    blocks: tuple[Block, ...]
    reasons: tuple[str, ...]  #: one sentence for each block
    canvas: RebuiltPage
    passages: tuple[BlockSpan, ...]  #: of the main text
    rest: tuple[BlockSpan, ...]  #: of the text outside the main text that is judged too
    anchors: tuple[BlockSpan, ...]  #: of the topic anchors
    notes: tuple[str, ...]  #: remarks on the page
    values: tuple[str, ...] = ()  #: numbers of the main text, which tell pages of one site apart
    beside: tuple[str, ...] = ()  #: numbers beside it


def inspect_page(body: bytes | str, url: str, options: ReadOptions, content_type: str = "") -> InspectedPage:
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
    return InspectedPage(
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
    found = page_values(Features(page).encoded, other_text(page).beside)
    values, beside = (
        tuple(sorted(each.decode("utf-8", "replace") for each in some)) for some in (found.inner, found.outer)
    )
    return _Values(values=values, beside=beside)


@dataclass(frozen=True, slots=True)
class _PlacedPage:
    """A page with its tree, and the positions of its blocks."""

    page: Page
    root: _Element
    placed: list[list[TextSpan]] | None  #: spans of each block; None: not found
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


def _passages(text: str, blocks: Sequence[Block], reasons: frozenset[str] | set[str]) -> tuple[BlockSpan, ...]:
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
