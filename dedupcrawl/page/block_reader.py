"""The default reader, ``"blocks"``: the link rules, then the container that holds the main text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict
from urllib.parse import urljoin

from lxml.etree import XPath

from dedupcrawl.page import compiled
from dedupcrawl.page.block_model import corrected_blocks, unread_bytes
from dedupcrawl.page.blocks import BlockTree, build_block_tree, byte_length, flatten_fast
from dedupcrawl.page.document import check_stream
from dedupcrawl.page.edges import trim_choice
from dedupcrawl.page.embedded_data import embedded_text
from dedupcrawl.page.file_lists import file_blocks, listed_files
from dedupcrawl.page.model import Block, Kind, Page
from dedupcrawl.page.page_kind import MAX_LABEL_BYTES, kind_of, listed_below
from dedupcrawl.page.replies import mark_replies, without_counts
from dedupcrawl.page.rules import (
    CONSENT,
    KEPT_REASONS,
    LANDMARK,
    MAIN_TEXT,
    MODEL_KEPT,
    MODEL_REMOVED,
    POSITION_REASONS,
    REPEATED,
    REPLIES,
    is_byline,
    is_legal,
    word_set,
)
from dedupcrawl.page.scoring import MIN_ARTICLE_BYTES, classify_blocks
from dedupcrawl.page.side_text import ChoiceResult, with_chosen_parts, with_own_parts
from dedupcrawl.page.signatures import MAX_READ_BYTES, files_signature, layout_signature, removed_signature
from dedupcrawl.page.structure import (
    HEADINGS,
    MAX_BESIDE_TEXT,
    folded_line,
    join_leading_facts,
    join_trailing_facts,
    listed_headings,
    mark_discussion,
    page_title,
)
from dedupcrawl.page.time_limit import check_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lxml.etree import _Element

    from dedupcrawl.page.blocks import RawBlock
    from dedupcrawl.page.options import ReadOptions


# Measured on the labelled page sets aeb and cwced (docs/methods-reading.md, "The readers compared").
MIN_MAIN_TEXT = 200  #: bytes: with less main text, the inside of landmarks is read as well
MIN_TITLED = 4  #: characters of a line that names a page because it is a part of its title
MIN_FOUND = 0.5  #: share of the text that the block model chose, which the rules must have found to be compared
MIN_VISIBLE = 2000  #: bytes: all visible text of a page without main text is compared if it has at least this length
#: Of text that is compared elsewhere, or never.
COMPARED_REASONS = KEPT_REASONS | {CONSENT, REPEATED, LANDMARK, REPLIES}
FACT_TAGS = word_set("dt dd th td")  #: short facts: a page with little text is known by them
MIN_ITEMS = 5  #: as many headings or links of one kind name the items of a list; fewer are boilerplate of the site

_UNREAD_ASIDE = (b"a", b"script", b"style", b"select")
_texts_aside = XPath(
    "//aside//text()[not(ancestor::a or ancestor::script or ancestor::style or ancestor::select)]", smart_strings=False
)
MAX_PICTURED_BYTES = 6000  #: of main text; beside a longer one pictures do not matter
_UNPICTURED = ("a", "nav", "header", "footer", "aside")  #: pictures in these say nothing about the page
_HIDING = tuple(name.encode() for name in _UNPICTURED)


def read_blocks(root: _Element, url: str, options: ReadOptions) -> Page:
    """Read a page by the link rules and the choice of one container.

    Source: the block model and link rules of "Web page noise elimination by blocks"; the choice of the
    container is described in docs/methods-reading.md.

    Args:
        root: the ``<html>`` element.
        url: URL of the page.
        options: R1, R2 and S of the link rules, and the limit on the size.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``.
    """
    tree, reasons, kept = classify(root, options)
    reading = ChoiceResult(reasons, kept, kept)
    unread = unread_bytes(tree.blocks, reasons)
    chosen = None if tree.is_brief else corrected_blocks(tree, reasons, kept, unread)
    mark_replies(tree, reasons, is_short=kept < MIN_ARTICLE_BYTES)
    if chosen is not None and _has_few_replies(tree, reasons, chosen):
        chosen = None
    corrected = None if chosen is None else _corrected(tree, reasons, chosen, options)
    facts = 0
    if not tree.is_discussion:
        facts = join_leading_facts(tree.blocks, reasons) + join_trailing_facts(tree.blocks, reasons)
    reading = ChoiceResult(reasons, kept + facts, kept)
    corrected = corrected or reading
    compared = with_chosen_parts(tree, reading, corrected) if _is_compared(reading, corrected) else corrected
    named = _heading_place(tree, compared.reasons)
    compared = with_own_parts(tree, compared, named)
    reasons, kept = compared.reasons, compared.kept
    unread = unread if compared is reading and REPLIES not in reasons else unread_bytes(tree.blocks, reasons)
    kind = kind_of(tree, reasons, compared.in_sentences, options)
    texts = texts_by_reason(tree, reasons, named)
    text = "\n".join(texts.kept)
    pictures = [*_pictures(root), *_facts_aside(root, texts)] if kept < MAX_PICTURED_BYTES else []
    surroundings, described = _surroundings(tree, texts, named, pictures), metadata(tree.metadata, url)
    if kept < MIN_MAIN_TEXT:
        heading, title = surroundings["heading"], described["title"]
        data = embedded_text(root, heading, title)
        if byte_length(data.text) >= MIN_MAIN_TEXT:
            surroundings["heading"], kind = heading or data.name, Kind.ARTICLE
            text = "\n".join(filter(None, (text, title, heading, data.text)))
    rest, is_split = _rest(tree, reasons, kept, named), compared is not corrected
    return Page(
        url=url,
        text="\n".join(texts_by_reason(tree, corrected.reasons, named).kept) if is_split else text,
        compared=text if is_split else None,
        rest=rest,
        blocks=_blocks(tree, corrected.reasons) if options.blocks else (),
        kind=kind,
        unread=unread,
        listed=listed_headings(tree.blocks, reasons, KEPT_REASONS),
        visible=_visible(tree, reasons, kind),
        removed=_removed(root, texts, text, rest),
        files=files_signature(listed_files(tree, reasons)) if tree.files else b"",
        layout=layout_signature(tree.elements, tree.parents, texts.container),
        **surroundings,
        **described,
    )


def _corrected(tree: BlockTree, reasons: list[str], chosen: list[bool], options: ReadOptions) -> ChoiceResult:
    """Return the choice of the block model, which leaves the reasons of other blocks as they are.

    Separators in a block of guide links (R > R1) are no sentences.
    """
    trim_choice(tree.blocks, chosen)
    corrected = [
        (reason if reason is MAIN_TEXT else MODEL_KEPT) if keep else MODEL_REMOVED if reason is MAIN_TEXT else reason
        for reason, keep in zip(reasons, chosen, strict=True)
    ]
    for place in file_blocks(tree, corrected) if tree.files else ():
        chosen[place] = True
        corrected[place] = MODEL_KEPT
    kept = sum([block[1] for block, keep in zip(tree.blocks, chosen, strict=True) if keep])
    links = [
        block[1] if block[2] > options.link_density_noise * block[1] else block[2]
        for block, keep in zip(tree.blocks, chosen, strict=True)
        if keep
    ]
    return ChoiceResult(corrected, kept, kept - sum(links))


def _has_few_replies(tree: BlockTree, reasons: Sequence[str], chosen: Sequence[bool]) -> bool:
    """Return whether the block model takes comments on a declared text for the text, and not a whole discussion."""
    pairs = zip(tree.blocks, reasons, chosen, strict=True)
    return 0 < sum([block[1] for block, reason, keep in pairs if keep and reason is REPLIES]) <= MAX_BESIDE_TEXT


def _is_compared(reading: ChoiceResult, corrected: ChoiceResult) -> bool:
    """Return whether the choice of the rules is compared, although the block model may have corrected it.

    The model cuts the same article differently on two sites, so two articles are compared by the rules. A shorter text
    by the rules may be any part of the site: then the choice of the model is compared. So it is if the rules found
    less than half of it: one post of several, or a part beside the text.
    """
    found, chosen = reading.in_sentences, corrected.in_sentences
    return corrected is reading or (min(found, chosen) >= MIN_ARTICLE_BYTES and found >= MIN_FOUND * chosen)


def with_main_text(
    root: _Element, url: str, options: ReadOptions, text: str, *, anchors: str = "", blocks: tuple[Block, ...] = ()
) -> Page:
    """Return the page of the default reader with the main text that another reader found.

    An index page remains an index page: two lists of links must not match, whatever text is read from them.
    """
    page = read_blocks(root, url, options)
    kind = page.kind
    if kind is not Kind.INDEX:
        kind = Kind.ARTICLE if text.strip() else Kind.EMPTY
    visible = page.visible if kind is Kind.INDEX else ""
    return replace(
        page,
        text=text,
        compared=None,
        rest="",
        anchors=anchors,
        blocks=blocks,
        kind=kind,
        unread=0,
        removed=b"",
        visible=visible,
    )


def classify(root: _Element, options: ReadOptions) -> tuple[BlockTree, list[str], int]:
    """Return the blocks, the reason of each by the rules, and the length of the main text in bytes.

    Raises:
        PageError: the text of the tree is larger than ``options.max_bytes``.
    """
    tree, reasons, kept = _classify(root, options)
    for embedded in (False, True):
        # A landmark that is never closed contains the rest of the page; a button, a whole accordion.
        if kept < MIN_MAIN_TEXT and not tree.is_brief and (embedded or LANDMARK in reasons):
            opened = _classify(root, options, open_landmarks=True, open_embedded=embedded)
            if opened[2] >= max(MIN_MAIN_TEXT, kept):
                tree, reasons, kept = opened
    return tree, reasons, kept


def _classify(
    root: _Element, options: ReadOptions, *, open_landmarks: bool = False, open_embedded: bool = False
) -> tuple[BlockTree, list[str], int]:
    """Return the blocks, the reason of each, and the length of the main text in bytes."""
    stream = flatten_fast(root, open_landmarks=open_landmarks, open_embedded=open_embedded)
    check_stream(stream, options.max_bytes)
    check_time()
    tree = build_block_tree(stream, options)
    mark_discussion(tree)
    check_time()
    classified = classify_blocks(tree, options)
    check_time()
    return tree, *classified


def _rest(tree: BlockTree, reasons: list[str], kept: int, named: int) -> str:
    """Return the text beside a short main text that tells the page from others.

    That is the heading, the text between it and the main text, and short facts (definition lists, tables); and all
    text that was removed only for its position if it is longer than the main text. Without it, catalogue pages with
    different goods and the same terms of sale would be copies. So would be lists of pages under the same introduction.
    Beside an article the other text belongs to the site.
    """
    if kept >= MIN_ARTICLE_BYTES:
        return ""
    removed = [place for place, why in enumerate(reasons) if why in POSITION_REASONS]
    is_longer = not tree.is_brief and sum([tree.blocks[place][1] for place in removed]) > kept
    first = next((place for place, why in enumerate(reasons) if why in KEPT_REASONS), 0)
    listed = Counter([_naming(tree.blocks[place]) for place in removed]) if is_longer else Counter[str]()
    chosen = [
        place
        for place in removed
        if place == named
        or (
            (is_longer or tree.blocks[place][5] in FACT_TAGS or 0 <= named < place < first)
            and not _is_boilerplate(tree.blocks[place], listed)
        )
    ]
    below = listed_below(tree, reasons, kept)
    return "\n".join([tree.blocks[place][0] for place in (sorted({*chosen, *below}) if below else chosen)])


def _naming(block: RawBlock) -> str:
    """Return the tag of a block that may name an item: a heading, or a block that is partly a link; else ""."""
    _, length, link_length, _, _, tag, _ = block
    return tag if (tag in HEADINGS and not link_length) or 0 < link_length < length else ""


def _is_boilerplate(block: RawBlock, listed: Mapping[str, int]) -> bool:
    """Return whether a block is a heading of another part, a breadcrumb, a legal notice, a credit or a stamp.

    Many headings or links of one kind are no boilerplate: they name the items of a list (``listed``: how many by tag).
    """
    text, length, link_length, _, _, tag, _ = block
    if tag in HEADINGS or link_length > 0:
        naming = _naming(block)
        return not naming or listed.get(naming, 0) < MIN_ITEMS
    return bool(is_legal(text)) or is_byline(text, length)


class ReasonTexts(NamedTuple):
    """The texts of the blocks of a page, divided by the reason of each."""

    kept: list[str]  #: the main text
    beside: list[str]  #: all other texts, without the heading
    stated: list[str]  #: those of them without links that are not read for their position
    removed: list[str]  #: texts without links that are not compared
    landmark_bytes: int  #: of text in landmarks
    container: int  #: of the first block of the main text, -1 without any


def texts_by_reason(tree: BlockTree, reasons: list[str], named: int) -> ReasonTexts:
    """Divide the texts of a page by their reasons; ``named`` is the place of its heading.

    If none of several ``<h1>`` is the heading, they stand beside the text.
    """
    if compiled.choice is not None:
        found = compiled.choice.texts_by_reason(
            tree.blocks, reasons, named, KEPT_REASONS, COMPARED_REASONS, POSITION_REASONS, LANDMARK
        )
        return ReasonTexts(*found)
    pairs = [*zip(tree.blocks, reasons, strict=True)]
    others = [
        (block, reason)
        for place, (block, reason) in enumerate(pairs)
        if reason not in KEPT_REASONS and place != named and (block[5] != "h1" or named < 0)
    ]
    return ReasonTexts(
        kept=[block[0] for block, reason in pairs if reason in KEPT_REASONS],
        beside=[block[0] for block, _ in others],
        stated=[block[0] for block, reason in others if reason in POSITION_REASONS and not block[2]],
        removed=[block[0] for block, reason in pairs if not block[2] and reason not in COMPARED_REASONS],
        landmark_bytes=sum([block[1] for block, reason in pairs if reason == LANDMARK]),
        container=next((block[6] for block, reason in pairs if reason in KEPT_REASONS), -1),
    )


def _removed(root: _Element, texts: ReasonTexts, text: str, rest: str) -> bytes:
    """Return the signature of all text without links that is not compared, side parts and short lines included."""
    if len(text) + len(rest) > MAX_READ_BYTES:
        return b""
    removed = texts.removed
    if rest:
        compared = frozenset(rest.split("\n"))
        removed = [each for each in removed if each not in compared]
    read = byte_length(text) + byte_length(rest)
    # The links within a landmark are unknown: it is one block.
    if texts.landmark_bytes >= read:
        removed = [*removed, *(text for each in texts_aside(root) if (text := each.strip()))]
    return removed_signature(removed, read)


def texts_aside(root: _Element) -> list[str]:
    """Return the texts in all ``<aside>`` of a document, but for links, scripts and lists to choose from."""
    found: list[str] | None = None
    if compiled.walk is not None:
        found = compiled.walk.texts_within(root, b"aside", _UNREAD_ASIDE)
    if found is not None:
        return found
    texts: Any = _texts_aside(root)
    return [str(text) for text in texts]


def _facts_aside(root: _Element, texts: ReasonTexts) -> list[str]:
    """Return the cells and terms without links in all ``<aside>``: facts of an item, which stand beside its text."""
    if not texts.landmark_bytes:
        return []
    cells = (cell for aside in root.iter("aside") for cell in aside.iter(*FACT_TAGS) if cell.find(".//a") is None)
    found = [" ".join("".join(map(str, cell.itertext())).split())[:MAX_LABEL_BYTES] for cell in cells]
    return [text for text in dict.fromkeys(found) if text]


class _SurroundingTexts(TypedDict):
    heading: str
    beside: str
    stated: str


def _pictures(root: _Element) -> list[str]:
    """Return the alternative texts of the pictures of a page; those in links show other pages."""
    texts = [" ".join(text.split())[:MAX_LABEL_BYTES] for text in alternative_texts(root)]
    return [text for text in texts if text]


def alternative_texts(root: _Element) -> list[str]:
    """Return the alternative texts of the pictures of a page that say something about it."""
    found: list[str] | None = None
    if compiled.walk is not None:
        found = compiled.walk.alternative_texts(root, _HIDING)
    if found is not None:
        return found
    images = (image for image in root.iter("img") if image.get("alt"))
    return [str(image.get("alt")) for image in images if next(image.iterancestors(*_UNPICTURED), None) is None]


def _surroundings(tree: BlockTree, texts: ReasonTexts, named: int, pictures: Sequence[str]) -> _SurroundingTexts:
    """Return the heading and the text beside the main text, which tell pages of one template apart."""
    return _SurroundingTexts(
        heading=tree.blocks[named][0] if named >= 0 else "",
        beside="\n".join(texts.beside),
        stated="\n".join([*without_counts(texts.stated), *pictures]),
    )


def _heading_place(tree: BlockTree, reasons: list[str]) -> int:
    """Return the place of the block that names the page, or -1.

    It is the only ``<h1>`` that is no link. On a page without any, for example a view for printers, it is the
    last ``<h2>`` before the main text. One that the title does not repeat may head a section: then it is the last
    line there that is a part of the title, as on pages of Doxygen.
    """
    headings = [place for place, block in enumerate(tree.blocks) if block[5] == "h1"]
    if headings:
        own = [place for place in headings if not tree.blocks[place][2]]
        return own[0] if len(own) == 1 else -1
    lines = _lines_before_text(tree, reasons)
    named = next((place for place in reversed(lines) if tree.blocks[place][5] == "h2"), -1)
    title = folded_line(page_title(tree.metadata))
    if named < 0 or folded_line(tree.blocks[named][0]) in title:
        return named
    return next((place for place in reversed(lines) if _is_part(folded_line(tree.blocks[place][0]), title)), named)


def _lines_before_text(tree: BlockTree, reasons: list[str]) -> list[int]:
    """Return the places of the blocks without links before the main text, and of an ``<h2>`` with which it begins."""
    found = []
    for place, (block, reason) in enumerate(zip(tree.blocks, reasons, strict=True)):
        if reason in KEPT_REASONS and (block[5] != "h2" or block[2]):
            break
        if not block[2]:
            found.append(place)
    return found


def _is_part(line: str, title: str) -> bool:
    """Return whether whole words of a title are a line; one that is all of it may be the name of the site."""
    return len(line) >= MIN_TITLED and line != title and re.search(rf"\b{re.escape(line)}(?!\w)", title) is not None


def _visible(tree: BlockTree, reasons: list[str], kind: Kind) -> str:
    """Return the text by which a page without main text is compared; "" if there is too little.

    The navigation of a site says nothing about a page, and links say nothing about a page that is no list of links.
    """
    if kind is Kind.ARTICLE or kind is Kind.CONSENT:
        return ""
    shown = [block for block, reason in zip(tree.blocks, reasons, strict=True) if reason not in (LANDMARK, CONSENT)]
    size = sum([block[1] if kind is Kind.INDEX else block[1] - block[2] for block in shown])
    return "\n".join([block[0] for block in shown]) if size >= MIN_VISIBLE else ""


def _blocks(tree: BlockTree, reasons: list[str]) -> tuple[Block, ...]:
    columns = list(zip(*tree.blocks, strict=True))[:6]
    kept = [reason in KEPT_REASONS for reason in reasons]
    # as Block(*values), but without a Python frame for each of hundreds
    return tuple(map(tuple.__new__, repeat(Block), zip(*columns, kept, reasons, strict=True)))


# -- metadata ----------------------------------------------------------------------------------

#: For each metadata field, the names under which pages give it, the most reliable first.
TITLE = ("og:title", "title", "headline")
DESCRIPTION = ("description", "og:description", "dc.description", "twitter:description")
KEYWORDS = ("keywords", "news_keywords", "dc.subject")
CANONICAL = ("canonical", "og:url")
LANGUAGE = ("lang", "content-language", "og:locale", "dc.language")
PUBLISHED = (
    "article:published_time", "datepublished", "og:published_time", "pubdate", "publishdate", "publish-date",
    "publish_date", "ptime", "og:release_date", "dc.date.issued", "dc.date", "dcterms.created",
    "sailthru.date", "parsely-pub-date", "weibo: article:create_at", "og:time", "date", "ld", "time",
)  # fmt: skip
_json_string = re.compile(r'\s*:\s*"([^"]+)"').match
_subtag = re.compile(r"(?!utf)[a-z]{2,3}(?![a-z])").match


class PageMetadata(TypedDict):
    """The metadata fields of a :class:`~dedupcrawl.page.model.Page`; "" if the page does not give them."""

    title: str
    description: str
    keywords: str
    published: str
    canonical: str
    language: str


def metadata(entries: Iterable[str], url: str) -> PageMetadata:
    """Return the metadata in the ``name=value`` entries of a flattened page; the first of a name counts."""
    values: dict[str, str] = {}
    for entry in entries:
        name, _, value = entry.partition("=")
        if value:
            values.setdefault(name.lower(), value)
    if "ld" in values:
        found = _json_string(values["ld"])
        values["ld"] = found[1] if found else ""
    return PageMetadata(
        title=_first_value(values, TITLE),
        description=_first_value(values, DESCRIPTION),
        keywords=_first_value(values, KEYWORDS),
        published=_first_value(values, PUBLISHED),
        canonical=_absolute_url(url, _first_value(values, CANONICAL)),
        language=primary_subtag(_first_value(values, LANGUAGE)),
    )


def _absolute_url(base: str, target: str) -> str:
    try:
        return urljoin(base, target) if target else ""
    except ValueError:  # for example "http://["
        return target


def _first_value(values: dict[str, str], names: tuple[str, ...]) -> str:
    for name in names:
        value = " ".join(values[name].split()) if name in values else ""
        if value:
            return value
    return ""


def primary_subtag(tag: str) -> str:
    """Return the language of a BCP 47 tag or a locale.

    >>> primary_subtag("zh-Hans-CN"), primary_subtag("en_GB"), primary_subtag("unknown")
    ('zh', 'en', '')
    """
    found = _subtag(tag.strip().lower())
    return found.group() if found else ""
