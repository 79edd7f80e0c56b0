"""The text of a page that scripts fill, from the data in its source: JSON-LD and the state of a framework.

A page that is built in the browser has no main text in its markup, but many contain it in JSON: for search engines
as schema.org objects (``articleBody``, ``text``, ``description``), or as the state of the framework (``__NEXT_DATA__``
of Next.js, ``__NUXT_DATA__``). It is read only where the markup itself has next to no text.
"""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

JSON_TYPES = ("application/ld+json", "application/json")
LINKED_DATA = JSON_TYPES[0]
STATE_IDS = ("__NEXT_DATA__", "__NUXT_DATA__")
#: Names of the values that are text for readers, in linked data; the names of some objects stand above it.
TEXT_NAMES = ("headline", "name", "articleBody", "text", "reviewBody", "description")
#: A string of a framework's state is text for readers if it has at least so many characters and words.
MIN_STATE_CHARS, MIN_STATE_WORDS = 80, 8
MAX_JSON_CHARS = 2_000_000  #: characters of a script; a larger one is not read, to bound time and memory
MAX_VALUES = 20_000  #: values of a script that are visited
_tags = re.compile(r"<[^<>]*>").sub
_breaks = re.compile(r"<(?:br|p|/p|li|div|h[1-6])\b[^<>]*>", re.IGNORECASE).sub
_han = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]").search


def embedded_text(root: _Element) -> str:
    """Return the text for readers in the JSON of a page, a paragraph a line; "" if there is none.

    Args:
        root: the ``<html>`` element.
    """
    found: dict[str, None] = {}
    for script in root.iter("script"):
        kind = (script.get("type") or "").strip().lower()
        source = script.text or ""
        if kind not in JSON_TYPES or len(source) > MAX_JSON_CHARS:
            continue
        if kind != LINKED_DATA and script.get("id") not in STATE_IDS:
            continue
        try:
            data = json.loads(source)
        except (ValueError, RecursionError):
            continue
        texts = _linked_texts(data) if kind == LINKED_DATA else _state_texts(data)
        found.update(dict.fromkeys(filter(None, map(_plain, texts))))
    return "\n".join(found)


def _linked_texts(data: Any) -> Iterator[str]:
    """Yield the texts of objects that have one, each with its name."""
    for value in _walk(data):
        if isinstance(value, dict) and any(isinstance(value.get(name), str) for name in TEXT_NAMES[2:]):
            yield from (value[name] for name in TEXT_NAMES if isinstance(value.get(name), str))


def _state_texts(data: Any) -> Iterator[str]:
    """Yield the strings that are long enough to be sentences."""
    for value in _walk(data):
        is_long = isinstance(value, str) and len(value) >= MIN_STATE_CHARS and "{" not in value
        if is_long and (value.count(" ") >= MIN_STATE_WORDS or _han(value)):
            yield value


def _walk(data: Any) -> Iterator[Any]:
    """Yield the values of a JSON document in their order, without recursion."""
    left = [data]
    for _ in range(MAX_VALUES):
        if not left:
            return
        value = left.pop()
        yield value
        if isinstance(value, dict):
            left.extend(reversed(value.values()))
        elif isinstance(value, list):
            left.extend(reversed(value))


def _plain(text: str) -> str:
    """Return a text without markup, its paragraphs as lines."""
    if "<" in text or "&" in text:
        text = unescape(_tags("", _breaks("\n", unescape(text) if "&lt;" in text else text)))
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
