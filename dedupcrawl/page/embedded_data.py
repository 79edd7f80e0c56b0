"""The text of a page that scripts fill, from the data in its source: JSON-LD, or the state of a framework.

A page that is built in the browser has no main text in its markup, but many contain it in JSON: as schema.org objects
for search engines, or as the state of the framework (:mod:`dedupcrawl.page.script_state`). It is read only where the
markup itself has next to no text.

Only objects about the topic of the page count. Nearly all pages of a site contain the same objects about its owner:
with them, all pages without text of their own would be equal. So an object counts if its type is one of ``OWN_TYPES``,
or if the page names it as its main entity. Several objects of one type are a list of other pages. In doubt nothing
is read.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from html import unescape
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupcrawl.page.flatten import word_set
from dedupcrawl.page.script_state import MAX_VALUES, PageObject, StateSource, state_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

LINKED_DATA = "application/ld+json"
MAX_JSON_CHARS = 2_000_000  #: characters of the scripts of a page that are searched; limits time and memory
MAX_NAME_CHARS = 200  #: of the name of a page
MAX_NAMES = 3  #: objects whose names make it, those with most text

#: Types of schema.org that a page is about. Many of their subtypes end with one of ``OWN_ENDINGS``.
OWN_TYPES = word_set("""
    Accommodation Apartment Book Car Course CourseInstance CreativeWork Dataset DefinedTerm Drug Game House HowTo
    IndividualProduct Legislation MedicalCondition MobileApplication Movie MusicAlbum MusicComposition MusicRecording
    Product ProductGroup ProductModel Question Quotation RealEstateListing Recipe Report SoftwareApplication
    SpecialAnnouncement TVSeason TVSeries Vehicle VideoGame VideoObject WebApplication
""")
OWN_ENDINGS = ("Article", "Posting", "Event", "Episode", "Review")
PAGE_ENDINGS = ("Page",)  #: types of pages: ``mainEntity`` is their topic
SITE_TYPES = word_set("Organization Corporation WebSite BreadcrumbList ImageObject ItemList SiteNavigationElement")
NAME_KEYS = ("headline", "name", "title")
TEXT_KEYS = ("articleBody", "text", "reviewBody", "description", "recipeIngredient", "ingredients")
FACT_KEYS = (
    *("sku", "mpn", "gtin", "gtin8", "gtin13", "isbn", "price", "lowPrice", "color", "size", "model", "datePosted"),
    *("startDate", "endDate", "streetAddress", "addressLocality"),
)
#: Keys of parts of an object. The others lead to other objects: authors, publishers, related pages.
PART_KEYS = (
    *("acceptedAnswer", "suggestedAnswer", "recipeInstructions", "step", "itemListElement", "offers", "location"),
    *("address", "jobLocation"),
)

_tags = re.compile(r"<[^<>]*>").sub
_breaks = re.compile(r"<(?:br|p|/p|li|div|h[1-6])\b[^<>]*>", re.IGNORECASE).sub


class EmbeddedText(NamedTuple):
    """What the data of a page say about its topic."""

    name: str  #: names of the objects; "" if they have none
    text: str  #: their names, texts and facts, a paragraph a line; "" if there are none


def embedded_text(root: _Element, *names: str) -> EmbeddedText:
    """Return the text for readers in the data of a page: of linked data or of a state, whichever is longer.

    Args:
        root: the ``<html>`` element.
        names: heading and title of the page.
    """
    linked: list[Any] = []
    state = StateSource()
    left = MAX_JSON_CHARS
    for script in root.iter("script"):
        source = script.text or ""
        left -= len(source)
        if left < 0:
            break
        kind = (script.get("type") or "").strip().lower()
        if kind == LINKED_DATA:
            linked.append(_parsed(source))
        else:
            state.add(source, kind, script.get("id") or "")
    found = (_joined(_linked_objects(linked, names)), _joined(state_objects(state.documents())))
    return max(found, key=lambda each: len(each.text))


def _parsed(source: str) -> Any:
    try:
        return json.loads(source)
    except (ValueError, RecursionError):
        return None


def _joined(objects: Iterable[PageObject]) -> EmbeddedText:
    objects = [*objects]
    lines = [line for each in objects for line in map(_plain, (*each.names, *each.texts)) if line]
    most_said = sorted(objects, key=lambda each: -sum(map(len, each.texts)))[:MAX_NAMES]
    names = [" ".join(_plain(name).split()) for each in most_said for name in each.names[:1]]
    return EmbeddedText(" ".join(dict.fromkeys(names))[:MAX_NAME_CHARS].strip(), "\n".join(dict.fromkeys(lines)))


def _linked_objects(documents: Iterable[Any], names: Iterable[str]) -> list[PageObject]:
    """Return the objects of linked data that the page is about.

    A main entity of another type, such as a hotel, may be the owner of the site: the heading or title begins with it.
    """
    titles = [_folded(name) for name in names]
    own: dict[int, dict[str, Any]] = {}
    for value in _outer_objects(documents):
        types = _types_of(value)
        if any(each.endswith(PAGE_ENDINGS) for each in types):
            own |= {id(each): each for each in _as_list(value.get("mainEntity")) if _is_topic(each, titles)}
        elif _is_own(types):
            own[id(value)] = value
    kinds = [frozenset(_types_of(each)) for each in own.values()]
    counts = Counter(kinds)
    return [
        _page_object(value)
        for value, kind in zip(own.values(), kinds, strict=True)
        if counts[kind] == 1 or "Question" in kind
    ]


def _outer_objects(documents: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects that are no part of another one."""
    for document in documents:
        for value in _as_list(document)[:MAX_VALUES]:
            if isinstance(value, dict):
                yield value
                yield from (each for each in _as_list(value.get("@graph"))[:MAX_VALUES] if isinstance(each, dict))


def _is_own(types: Iterable[str]) -> bool:
    return any(each in OWN_TYPES or each.endswith(OWN_ENDINGS) for each in types)


def _is_topic(value: Any, titles: Iterable[str]) -> bool:
    if not isinstance(value, dict) or not SITE_TYPES.isdisjoint(_types_of(value)):
        return False
    names = [_folded(name) for name in _strings(value, NAME_KEYS)]
    is_named = any(name and title.startswith(name) for name in names for title in titles)
    return is_named or _is_own(_types_of(value))


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def _types_of(value: dict[str, Any]) -> list[str]:
    return [each.rpartition("/")[2] for each in _as_list(value.get("@type")) if isinstance(each, str)]


def _page_object(value: dict[str, Any]) -> PageObject:
    """Return the strings of an object and of its parts."""
    found = PageObject()
    left: list[Any] = [value]
    for _ in range(MAX_VALUES):
        if not left:
            break
        part = left.pop()
        if isinstance(part, list):
            left.extend(reversed(part))
        elif isinstance(part, str):
            found.texts.append(part)
        elif isinstance(part, dict):
            (found.names if part is value else found.texts).extend(_strings(part, NAME_KEYS))
            found.texts.extend(_strings(part, TEXT_KEYS))
            found.texts.extend(_strings(part, FACT_KEYS))
            left.extend(part[key] for key in reversed(PART_KEYS) if key in part)
    return found


def _strings(value: dict[str, Any], keys: Iterable[str]) -> list[str]:
    found = (each for key in keys for each in _as_list(value.get(key)))
    return [str(each) for each in found if isinstance(each, str | int | float)]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _plain(text: str) -> str:
    """Return a text without markup, its paragraphs as lines."""
    if "<" in text or "&" in text:
        text = unescape(_tags("", _breaks("\n", unescape(text) if "&lt;" in text else text)))
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
