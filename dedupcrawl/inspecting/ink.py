"""Where every character of a flattened page comes from.

A reader sees a page as one string that a stylesheet leaves of the tree (:mod:`dedupcrawl.page.flatten`), and
nothing in it says where it stood. So a twin of the tree is flattened too, with the number of each text
written before it; without these numbers the two strings agree, and with them each character has a place.
White space is folded on the way, so only *ink* is followed: all characters but white space. A page pays
for this only when somebody looks at it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lxml.etree import _Element

#: Begins and ends the number of a text; a noncharacter that no walk writes.
NUMBER = "\ufddf"

#: What a tree may hold but not be given, and a number's sign; each stands for itself, as ink or as space.
_UNSOUND = {
    code: " " if chr(code).isspace() else "\ufffd"
    for code in (*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0xFFFE, 0xFFFF, ord(NUMBER))
}
_numbered = re.compile(f"{NUMBER}([0-9]+){NUMBER}").split
_inks = re.compile(r"\S").finditer

#: Number of a text (that of an element's ``text`` is twice the element's place in document order, that
#: of its ``tail`` one more), and the place of a character in it. None: it comes from no text.
Place = tuple[int, int] | None


def ink(text: str) -> str:
    r"""Return a text without white space.

    >>> ink(" a\u00a0b\n")
    'ab'
    """
    return "".join(sound(text).split())


def sound(text: str) -> str:
    """Replace the characters that no tree can be given, one by one."""
    return text.translate(_UNSOUND)


def texts(root: _Element) -> Iterator[tuple[int, str]]:
    """Yield the texts of a document by their numbers; what comments and instructions hold is none."""
    for place, element in enumerate(elements(root)):
        if element.text and isinstance(element.tag, str):
            yield 2 * place, element.text
        if element.tail and place:
            yield 2 * place + 1, element.tail


def elements(root: _Element) -> Iterator[_Element]:
    """Yield the elements of a document in their order; broken markup leaves some beside its root."""
    yield from root.iter()
    for sibling in root.itersiblings():
        yield from sibling.iter()


def provenance(root: _Element, twin: _Element, walk: Callable[[_Element], str]) -> list[Place] | None:
    """Return for each character of ``walk(root)`` where it stands in the tree; None for white space.

    The whole is None where the walk says something else of the numbered twin, which only a page of
    noncharacters can bring about.

    Args:
        root: the root of a document.
        twin: that of another parse of the same page, which is numbered (lxml's own copies lack what broken
            markup leaves behind the root).
        walk: what flattens a page.
    """
    numbers = dict(texts(root))
    placed = {number: [match.start() for match in _inks(sound(text))] for number, text in numbers.items()}
    _number(twin, numbers)
    stream = sound(walk(root))
    found = _follow(_numbered(walk(twin)), placed)
    said = [match.start() for match in _inks(stream)]
    if found is None or "".join([sign for sign, _ in found]) != ink(stream):
        return None
    places: list[Place] = [None] * len(stream)
    for at, (_, place) in zip(said, found, strict=True):
        places[at] = place
    return places


def _follow(parts: Sequence[str], placed: dict[int, list[int]]) -> list[tuple[str, Place]] | None:
    """Return the ink of a numbered stream, split at its numbers, each sign with its place."""
    found: list[tuple[str, Place]] = [(sign, None) for sign in ink(parts[0])]
    for number, part in zip(map(int, parts[1::2]), parts[2::2], strict=True):
        starts = placed.get(number)
        signs = ink(part)
        if starts is None or len(starts) > len(signs):
            return None
        found += [(sign, (number, at)) for sign, at in zip(signs, starts, strict=False)]
        found += [(sign, None) for sign in signs[len(starts) :]]
    return found


def _number(twin: _Element, numbers: dict[int, str]) -> None:
    for place, element in enumerate(elements(twin)):
        if 2 * place in numbers:
            element.text = f"{NUMBER}{2 * place}{NUMBER}{sound(numbers[2 * place])}"
        if 2 * place + 1 in numbers:
            element.tail = f"{NUMBER}{2 * place + 1}{NUMBER}{sound(numbers[2 * place + 1])}"
