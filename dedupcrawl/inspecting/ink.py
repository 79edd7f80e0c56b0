"""Where every character of a flattened page comes from.

A reader sees a page as one string that a stylesheet leaves of the tree (:mod:`dedupcrawl.page.flatten`), and
nothing in it says where it stood. So a twin of the tree is flattened too, with the number of each text
written before it; without these numbers the two strings agree, and with them each character has a place.
White space is folded on the way, so only *ink* is followed: all characters but white space. A page pays
for this only when somebody looks at it.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Places:
    """Where the characters of a stream stand, by their places in it; -1 for white space and marks.

    Two plain arrays: a page of ten million characters would fill gigabytes as pairs.
    """

    texts: array[int]  #: number of the text (see :func:`texts`)
    at: array[int]  #: place in that text


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
    """Yield the texts of a document by their numbers; what comments and instructions hold is none.

    The number of an element's ``text`` is twice the element's place in document order, that of its ``tail``
    one more.
    """
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


def provenance(root: _Element, twin: _Element, walk: Callable[[_Element], str]) -> Places | None:
    """Return for each character of ``walk(root)`` where it stands in the tree.

    The whole is None where the walk says something else of the numbered twin, which only a page of
    noncharacters can bring about.

    Args:
        root: the root of a document.
        twin: that of another parse of the same page, which is numbered (lxml's own copies lack what broken
            markup leaves behind the root).
        walk: what flattens a page.
    """
    numbers = dict(texts(root))
    stream = sound(walk(root))
    _number(twin, numbers)
    found = _follow(_numbered(walk(twin)), numbers)
    if found is None or found[0] != ink(stream):
        return None
    spread = Places(array("i", [-1]) * len(stream), array("i", [-1]) * len(stream))
    for place, number, at in zip(_inked(stream), *found[1:], strict=True):
        spread.texts[place], spread.at[place] = number, at
    return spread


def _follow(parts: Sequence[str], numbers: dict[int, str]) -> tuple[str, array[int], array[int]] | None:
    """Return the ink of a numbered stream, split at its numbers, and the number and place of each sign."""
    signs = [ink(parts[0])]
    found, at = (array("i", [-1]) * len(signs[0]) for _ in range(2))
    for number, part in zip(map(int, parts[1::2]), parts[2::2], strict=True):
        starts = array("i", _inked(sound(numbers.get(number, ""))))
        shown = ink(part)
        marks = array("i", [-1]) * (len(shown) - len(starts))
        if len(starts) > len(shown):
            return None
        signs.append(shown)
        found.extend(array("i", [number]) * len(starts) + marks)
        at.extend(starts + marks)
    return "".join(signs), found, at


def _inked(text: str) -> Iterator[int]:
    """Yield the places of the ink of a text."""
    return (match.start() for match in _inks(text))


def _number(twin: _Element, numbers: dict[int, str]) -> None:
    for place, element in enumerate(elements(twin)):
        if 2 * place in numbers:
            element.text = f"{NUMBER}{2 * place}{NUMBER}{sound(numbers[2 * place])}"
        if 2 * place + 1 in numbers:
            element.tail = f"{NUMBER}{2 * place + 1}{NUMBER}{sound(numbers[2 * place + 1])}"
