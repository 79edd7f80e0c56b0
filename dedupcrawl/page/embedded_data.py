"""The text of a page that scripts fill, from the data in its source: JSON-LD, or the state of a framework.

A page that is built in the browser has no main text in its markup, but many contain it in JSON: as schema.org objects
for search engines, or as the state of the framework. It is read only where the markup itself has next to no text.

Only objects about the topic of the page count. Nearly all pages of a site contain the same objects about its owner:
with them, all pages without text of their own would be equal. So an object counts if its type is one of ``OWN_TYPES``,
or if the page names it as its main entity. Several objects of one type are a list of other pages. In doubt nothing
is read.

A framework writes the data of a page into its source, to go on with them in the browser: Next.js as ``__NEXT_DATA__``
or ``self.__next_f.push``, Nuxt as ``__NUXT_DATA__`` or ``__NUXT__``, Apollo as ``__APOLLO_STATE__``, Angular as
``ng-state``. No script is run: only valid JSON is read. A state also contains parts that all pages of a
site share (labels, translations, settings, the footer), and excerpts of other pages. So parts whose key has one of
``SHARED_WORDS`` do not count, nor do lists of named objects. The rest is compared as a whole: short facts beside a
text (name, price, size) tell pages with one description apart.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupcrawl.page.rules import word_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

JSON_DATA = "application/json"
NUXT_DATA = "__NUXT_DATA__"
STATE_IDS = ("__NEXT_DATA__", NUXT_DATA, "ng-state")
SCRIPT_TYPES = ("", "text/javascript", "application/javascript", "module")
MAX_VALUES = 20_000  #: values of a document that are visited
MAX_FACT_CHARS = 100  #: a longer string is no fact
MAX_ASSIGNMENTS = 2_000  #: assignments and pushes of a script that are read
MAX_ROUTE_PARAMETERS = 8

NAME_WORDS = word_set("headline name title productname producttitle displayname")
TEXT_WORDS = word_set(
    "abstract article body content contents description excerpt html markdown paragraphs summary text"
)
INNER_WORDS = TEXT_WORDS | word_set("blocks children data items nodes root value")  #: within such a text
FACT_WORDS = word_set("""
    amount area city color colour date ean gtin isbn location material model price rooms size sku variant weight year
""")
SHARED_WORDS = word_set("""
    ad ads advert adverts alert alerts analytics author authors banner banners breadcrumb breadcrumbs categories channel
    cms comment comments company config configs configuration consent contact cookie cookies copyright dictionary
    disclaimer env environment error errors experiments faq faqs flags footer global globals gdpr header headers i18n
    imprint intl label labels language languages legal lexicon links locale locales localization manifest menu menus
    merchant message messages meta metadata modal modals nav navbar navigation newsletter notice notices notification
    notifications organisation organization payment phrases popup popups preferences privacy promo promos promotion
    promotions publisher recommendation recommendations recommended related returns runtime seller seo session setting
    settings shared shipping shop sidebar similar site sites social store strings subscription suggestions support team
    teasers tenant terms theme themes toast tooltip tooltips translation translations ui upsell upsells user users
    vendor viewer warranty website widget widgets
""")
TYPE_KEYS = ("__typename", "_type", "@type")

_key_words = re.compile(r"i18n|[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall
_is_for_machines = re.compile(r"(?:https?:/)?/\S*\Z|[\w+/=-]{24,}\Z|[{\[]").match
_assignment = re.compile(r"\b__(?:NUXT|NEXT_DATA|APOLLO_STATE|INITIAL_STATE|PRELOADED_STATE)__\s*=\s*")
_push = re.compile(r"\b__next_f\.push\(\s*")
_row = re.compile(rb"([0-9a-f]{1,8}):(?:T([0-9a-f]{1,8}),)?")
_is_reference = re.compile(r"\$[0-9a-f]{1,8}\Z").match
_route_parameter = re.compile(r"\[+(?:\.\.\.)?(\w+)\]+").findall
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class ObjectTexts:
    """The strings for readers of an object in the data of a page."""

    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  #: texts and facts


class StateSource:
    """Collects the states in the scripts of a page."""

    def __init__(self) -> None:
        self._states: list[Any] = []
        self._rows: list[str] = []  # parts of the stream that Next.js pushes

    def add(self, source: str, kind: str, name: str) -> None:
        """Read a script.

        Args:
            source: its text.
            kind: its type in lower case, "" if it has none.
            name: its id.
        """
        if kind == JSON_DATA and name in STATE_IDS:
            state = _parsed_at(source.lstrip(), 0)
            self._states.append(_revived(state) if name == NUXT_DATA else state)
        elif kind in SCRIPT_TYPES and "__" in source:
            self._states += _arguments(source, _assignment)
            pushed = (each[1:2] for each in _arguments(source, _push) if isinstance(each, list))
            self._rows += [part for parts in pushed for part in parts if isinstance(part, str)]

    def documents(self) -> Iterator[Any]:
        """Yield the states as values of JSON."""
        yield from self._states
        if self._rows:
            yield from _streamed("".join(self._rows).encode("utf-8", "surrogatepass"))


def _parsed_at(source: str, start: int) -> Any:
    try:
        return _decode(source, start)[0]
    except (ValueError, RecursionError):
        return None


def _arguments(source: str, before: re.Pattern[str]) -> Iterator[Any]:
    """Yield the JSON values that stand after a pattern."""
    end = 0
    for _ in range(MAX_ASSIGNMENTS):
        found = before.search(source, end)
        if found is None:
            return
        end = found.end()
        try:
            value, end = _decode(source, end)
        except (ValueError, RecursionError):
            continue
        yield value


def _revived(flat: Any) -> Any:
    """Return the root of a payload of Nuxt: a list in which numbers within containers are places of their values."""
    if not isinstance(flat, list):
        return None
    made: list[Any] = [type(each)() if isinstance(each, dict | list) else each for each in flat]

    def at(place: Any) -> Any:
        return made[place] if isinstance(place, int) and 0 <= place < len(made) else None

    for new, each in zip(made, flat, strict=True):
        if isinstance(each, dict):
            new.update((key, at(place)) for key, place in each.items())
        elif isinstance(each, list):  # a string at the beginning is the type: Reactive, Set, Date
            new.extend(map(at, each[1:] if isinstance(each[0] if each else 0, str) else each))
    return made[0] if made else None


def _streamed(stream: bytes) -> Iterator[Any]:
    """Yield the values of a stream of React components: rows of an id and JSON, or of an id, a length and a text."""
    texts: dict[str, str] = {}
    values: list[Any] = []
    start = 0
    while row := _row.match(stream, start):
        if row[2]:
            start = row.end() + int(row[2], 16)
            texts["$" + row[1].decode()] = stream[row.end() : start].decode("utf-8", "replace")
        else:
            end = stream.find(b"\n", row.end())
            line = stream[row.end() : end if end >= 0 else len(stream)]
            start = end + 1 if end >= 0 else len(stream)
            if line[:1] in (b"[", b"{"):
                values.append(_parsed_at(line.decode("utf-8", "replace"), 0))
    for value in values:
        _replace_references(value, texts)
    yield from values


def _replace_references(value: Any, texts: dict[str, str]) -> None:
    """Put the texts of a stream where their ids stand."""
    left = [value]
    for _ in range(MAX_VALUES):
        if not left:
            return
        each = left.pop()
        items = each.items() if isinstance(each, dict) else enumerate(each) if isinstance(each, list) else ()
        for key, child in [*items]:
            if isinstance(child, dict | list):
                left.append(child)
            elif isinstance(child, str) and _is_reference(child) and child in texts:
                each[key] = texts[child]


def state_objects(documents: Iterable[Any]) -> list[ObjectTexts]:
    """Return the objects in states that the pages may be about, in their order."""
    return [each for document in documents for each in (*_StateReader(document).objects, *_route(document))]


def _route(document: Any) -> Iterator[ObjectTexts]:
    """Yield the parameters of the route. They tell pages apart if the state has nothing but settings."""
    if isinstance(document, dict) and isinstance(document.get("query"), dict):
        names = _route_parameter(str(document.get("page", "")))[:MAX_ROUTE_PARAMETERS]
        values = [document["query"][name] for name in names if name in document["query"]]
        yield ObjectTexts(texts=[value for value in values if isinstance(value, str) and len(value) <= MAX_FACT_CHARS])


class _StateReader:
    """Collects the objects of a state, without recursion."""

    def __init__(self, document: Any) -> None:
        self.objects: list[ObjectTexts] = []
        self._seen: set[int] = set()
        self._named: dict[int, bool] = {}  # by id: a payload of Nuxt may contain an object many times
        # A value, the object that it is a part of, and whether it is a part of its text.
        self._left: list[tuple[Any, ObjectTexts | None, bool]] = [(document, None, False)]
        for _ in range(MAX_VALUES):
            if not self._left:
                return
            self._visit(*self._left.pop())

    def _visit(self, value: Any, owner: ObjectTexts | None, is_text: bool) -> None:
        if isinstance(value, str):
            if owner and is_text and not _is_for_machines(value):
                owner.texts.append(value)
        elif isinstance(value, dict | list) and id(value) not in self._seen:
            self._seen.add(id(value))
            listed = self._listed(value)
            if isinstance(value, list):
                children = [(each, owner, is_text) for each in value[:MAX_VALUES] if id(each) not in listed]
            else:
                children = [each for each in self._fields(value, owner, is_text) if id(each[0]) not in listed]
            self._left.extend(reversed(children))

    def _fields(
        self, value: dict[str, Any], owner: ObjectTexts | None, is_text: bool
    ) -> list[tuple[Any, ObjectTexts | None, bool]]:
        """Read the strings of an object; return its other values."""
        if any(isinstance(value.get(key), str) and _words(value[key]) & SHARED_WORDS for key in TYPE_KEYS):
            return []
        keys = {key: words for key in value if not (words := _words(key)) & SHARED_WORDS}
        is_told = any(words & TEXT_WORDS for words in keys.values())
        if self._is_named(value) or (is_told and not is_text):
            owner = ObjectTexts()
            self.objects.append(owner)
        others: list[tuple[Any, ObjectTexts | None, bool]] = []
        for key, words in keys.items():
            child = value[key]
            part_of_text = bool(words & (INNER_WORDS if is_text else TEXT_WORDS))
            if isinstance(child, dict | list) or (part_of_text and isinstance(child, str)):
                others.append((child, owner, part_of_text))
            elif owner and key.lower() in NAME_WORDS and isinstance(child, str):
                owner.names.append(child)
            elif owner and words & FACT_WORDS and isinstance(child, str | int | float) and not isinstance(child, bool):
                owner.texts.extend([str(child)] if len(str(child)) <= MAX_FACT_CHARS else [])
        return others

    def _is_named(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        if id(value) not in self._named:
            self._named[id(value)] = any(key.lower() in NAME_WORDS for key in value)
        return self._named[id(value)]

    def _listed(self, container: dict[str, Any] | list[Any]) -> set[int]:
        """Return the ids of named objects that are several of one kind: a list of other pages."""
        if isinstance(container, list):
            pairs = [("", each) for each in container[:MAX_VALUES] if self._is_named(each)]
        else:
            pairs = [(_kind(key), each) for key, each in container.items() if self._is_named(each)]
        counts = Counter([kind for kind, _ in pairs])
        return {id(each) for kind, each in pairs if counts[kind] > 1}


def _kind(key: str) -> str:
    """Return the common part of keys of one kind: ``Product`` of ``Product:17``, ``product`` of ``product-17``."""
    return key.partition(":")[0].rstrip("0123456789abcdef-_")


@lru_cache(maxsize=4096)
def _words(key: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _key_words(key[:MAX_FACT_CHARS]))


LINKED_DATA = "application/ld+json"
MAX_JSON_CHARS = 2_000_000  #: characters of the scripts of a page that are searched; limits time and memory
MAX_NAME_CHARS = 200  #: of the name of a page
MAX_NAMES = 3  #: objects that give it their names: those with most text

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
    """The text of the topic of a page, from its data."""

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


def _joined(objects: Iterable[ObjectTexts]) -> EmbeddedText:
    objects = [*objects]
    lines = [line for each in objects for line in map(_plain, (*each.names, *each.texts)) if line]
    most_said = sorted(objects, key=lambda each: -sum(map(len, each.texts)))[:MAX_NAMES]
    names = [" ".join(_plain(name).split()) for each in most_said for name in each.names[:1]]
    return EmbeddedText(" ".join(dict.fromkeys(names))[:MAX_NAME_CHARS].strip(), "\n".join(dict.fromkeys(lines)))


def _linked_objects(documents: Iterable[Any], names: Iterable[str]) -> list[ObjectTexts]:
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


def _page_object(value: dict[str, Any]) -> ObjectTexts:
    """Return the strings of an object and of its parts."""
    found = ObjectTexts()
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
