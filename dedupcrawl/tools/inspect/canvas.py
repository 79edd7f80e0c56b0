"""A page as a list of steps that rebuild it, with its blocks marked and without active content.

The page is not passed on as markup. Of its tree, texts are passed on as texts, and elements as names from a
fixed list. So the browser builds no script, handler, form, link, style or address of the page, and parses
nothing a second time, which is where attacks hide.

A step is ``"text"`` outside of blocks, ``[block, "text"]`` in a block (``[block, "text", 1]`` if browsers do
not show it), ``{"is": …}`` for the start of an element and 0 for its end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from dedupcrawl.page.flatten import word_set
from dedupcrawl.tools.inspect.positions import elements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lxml.etree import _Element

    from dedupcrawl.tools.inspect.positions import Span

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
class Canvas:
    """The steps of a page."""

    steps: list[Step] = field(default_factory=list)
    is_cut: bool = False  #: whether there were more than :data:`MAX_STEPS`


def build_canvas(root: _Element, placed: Sequence[Sequence[Span]]) -> Canvas:
    """Return the steps that rebuild a page; ``placed``: the spans of each block (see :mod:`.positions`)."""
    pieces = _by_text(placed)
    numbers = {element: place for place, element in enumerate(elements(root))}
    builder = _CanvasBuilder(pieces, numbers)
    for element in (root, *root.itersiblings()):
        builder.add(element)
    return Canvas(builder.steps, builder.is_cut)


def _by_text(placed: Sequence[Sequence[Span]]) -> dict[int, list[Piece]]:
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
