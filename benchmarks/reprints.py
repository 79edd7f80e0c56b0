"""Labelled reprints: articles of labelled pages set into the templates of other labelled pages.

A *template* is a labelled page whose main text was replaced by a slot. A *reprint* is an article, unchanged or edited,
set into a template. Pages of one cluster are copies of one another; every other pair is not. A page that has a part of
an article, or more than it, is a cluster of its own.
"""

from __future__ import annotations

import html
import random
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lxml.etree import LxmlError
from lxml.html import document_fromstring, tostring

from dedupcrawl.errors import DedupError
from dedupcrawl.page.document import to_text
from dedupcrawl.text.shingles import seeded_hash
from dedupcrawl.tools.evaluation.extraction import load_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

TEXT_CHARS = range(600, 30_000)  #: characters of the main text of a page that is used
MAX_HTML = 250_000  #: characters of its HTML
SLOT_SHARE = 0.93  #: of the 4-grams of the main text that an element must hold to be replaced by the slot
LEFT_SHARE = 0.05  #: of them that may stand outside it
ALIKE_SHARE = 0.2  #: a page whose text has more 4-grams in common with an earlier one is left out
MIN_SHINGLES = 60
MIN_PARAGRAPHS = 4  #: a text of fewer is cut into about ``PIECES`` at ends of sentences
PIECES = 6
COPIES, OTHERS = 3, 2  #: edited copies of each article, and other texts made from it

SLOT, TITLE = "@@SLOT@@", "@@TITLE@@"
_token = re.compile(r"[㐀-鿿]|[^\W㐀-鿿]+").findall
_han = re.compile("[㐀-鿿]").findall
_sentence_end = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+")
_word = re.compile(r"(?<=[>\s])[A-Z][a-z]{4,}(?=[\s,.])")
_title = re.compile(r"<title>.*?</title>", re.DOTALL)

Shingles = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Source:
    """A labelled page as an article and as a template."""

    name: str
    template: str  #: HTML with ``SLOT`` and ``TITLE``
    paragraphs: tuple[str, ...]  #: of the article
    is_chinese: bool

    @property
    def length(self) -> int:
        """Characters of the article."""
        return sum(map(len, self.paragraphs))


@dataclass(frozen=True, slots=True)
class Reprint:
    """A page made of an article and a template."""

    url: str
    html: str
    cluster: str  #: pages of one cluster are copies
    edit: str  #: how the text was changed


def shingles(text: str) -> Shingles:
    """Return the 4-grams of words and Chinese characters."""
    words = _token(text)
    return frozenset(zip(words, words[1:], words[2:], words[3:], strict=False))


def load_sources(folders: Iterable[Path], part: int, parts: int = 2) -> list[Source]:
    """Return the usable pages of page sets whose host belongs to one part.

    Args:
        folders: page sets (``html/<id>.html.gz`` and ``truth.jsonl``).
        part: which part of the hosts, below ``parts``. A page without a URL counts as a host.
        parts: number of parts, by a hash of the host.
    """
    found: list[Source] = []
    owners: dict[tuple[str, ...], int] = {}
    for folder in folders:
        for page in load_pages(folder):
            host = (urlsplit(page.url).hostname or page.id).removeprefix("www.")
            if seeded_hash(host.encode(), 8, 0)[0] % parts != part or len(page.text) not in TEXT_CHARS:
                continue
            wanted = shingles(page.text)
            source = None if _is_known(wanted, owners) else _source(page.id, page.html, page.text, wanted)
            if source is not None:
                owners.update(dict.fromkeys(wanted, len(found)))
                found.append(source)
    return found


def _is_known(wanted: Shingles, owners: dict[tuple[str, ...], int]) -> bool:
    """Return whether the page sets repeat an article."""
    return len(wanted & owners.keys()) > ALIKE_SHARE * max(1, len(wanted))


def _source(name: str, content: bytes, text: str, wanted: Shingles) -> Source | None:
    """Return a page as a source, or None if its main text does not stand in one element."""
    root: Any = None
    with suppress(DedupError, LxmlError, ValueError):
        decoded = to_text(content, encoding=None, content_type="", max_bytes=1 << 24)
        root = document_fromstring(decoded) if len(decoded) <= MAX_HTML else None
    slot = None if root is None else _slot(root, wanted)
    if root is None or slot is None:
        return None
    junk: Any = root.xpath("//script|//style|//noscript|//svg|//comment()")
    for each in junk:
        if each.getparent() is not None:
            each.drop_tree()
    for child in [*slot]:
        slot.remove(child)
    slot.text = SLOT
    template = _title.sub(f"<title>{TITLE}</title>", tostring(root, encoding="unicode"))
    is_left = len(wanted & shingles(root.text_content())) > LEFT_SHARE * len(wanted)
    if is_left or template.count(SLOT) != 1:
        return None
    is_chinese = len(_han(text)) > 0.2 * len(text)
    return Source(name, template, _paragraphs(text, is_chinese=is_chinese), is_chinese)


def _slot(root: Any, wanted: Shingles) -> Any:
    """Return the deepest element that holds the main text, or None."""
    element = root.find("body")
    needed = SLOT_SHARE * len(wanted)
    if element is None or len(wanted) < MIN_SHINGLES or _common(element, wanted) < needed:
        return None
    while True:
        inner = (child for child in element if isinstance(child.tag, str) and child.tag not in ("script", "style", "p"))
        deeper = next((child for child in inner if _common(child, wanted) >= needed), None)
        if deeper is None:
            return element if element.tag != "body" else None
        element = deeper


def _common(element: Any, wanted: Shingles) -> int:
    return len(wanted & shingles(element.text_content()))


def _paragraphs(text: str, *, is_chinese: bool) -> tuple[str, ...]:
    found = [line.strip() for line in text.split("\n") if line.strip()]
    if len(found) >= MIN_PARAGRAPHS:
        return tuple(found)
    sentences = [each for each in _sentence_end.split(text) if each.strip()]
    size = max(1, len(sentences) // PIECES)
    glue = "" if is_chinese else " "
    return tuple(glue.join(sentences[at : at + size]) for at in range(0, len(sentences), size))


# -- edits --------------------------------------------------------------------------------------

COPY_EDITS = ("layout", "byline", "typos", "width", "drop", "captions", "links", "resplit")
OTHER_EDITS = ("excerpt", "appended", "other_end", "merged")
_BYLINES = {
    True: (
        ("本报北京11月3日电（记者 李明）", "来源：新华网 2004-08-07 10:22"),
        ("（责任编辑：张三）", "编辑：小王 打印本页"),
    ),
    False: (
        ("By A. Correspondent, 3 November", "Source: Press Agency | Updated 10:22 GMT", "LONDON —"),
        ("Reporting by A. Writer; editing by B. Editor", "Copyright 2004. All rights reserved."),
    ),
}
_CAPTIONS = {True: "图为活动现场。资料图片", False: "File photo: a view of the scene."}
_TO_ASCII = {
    True: str.maketrans("，。：；！？（）０１２３４５６７８９", ",.:;!?()0123456789"),
    False: str.maketrans("“”‘’—", "\"\"''-"),
}
_LETTERS = {True: "的了在是我有", False: "etaoins"}
TYPO_RATE = 0.003


def edited(edit: str, source: Source, chance: random.Random, other: Sequence[str] = ()) -> list[str]:
    """Return the paragraphs of an article after an edit; ``other`` is the text that is added to it."""
    texts = [*source.paragraphs]
    if edit in OTHER_EDITS:
        return _mixed(edit, texts, chance, other)
    if edit in _REWRITES:
        return _REWRITES[edit](texts, source.is_chinese, chance)
    return texts


def _mixed(edit: str, texts: list[str], chance: random.Random, other: Sequence[str]) -> list[str]:
    """Return a part of a text, or a text with another one."""
    count = len(texts)
    if edit == "excerpt":
        return texts[: max(1, round(count * chance.uniform(0.45, 0.7)))]
    if edit == "appended":
        return [*texts, *other[: max(1, round(len(other) * 0.8))]]
    if edit == "other_end":
        return [*texts[: max(1, round(count * 0.3))], *other[round(len(other) * 0.4) :]]
    return [*texts, *other]


def _with_byline(texts: list[str], chinese: bool, chance: random.Random) -> list[str]:
    heads, tails = _BYLINES[chinese]
    return [chance.choice(heads), *texts, chance.choice(tails)]


def _with_typos(texts: list[str], chinese: bool, chance: random.Random) -> list[str]:
    letters = _LETTERS[chinese]
    return ["".join(chance.choice(letters) if chance.random() < TYPO_RATE else c for c in text) for text in texts]


def _with_other_signs(texts: list[str], chinese: bool, _chance: random.Random) -> list[str]:
    return [text.translate(_TO_ASCII[chinese]) for text in texts]


def _without_paragraph(texts: list[str], _chinese: bool, chance: random.Random) -> list[str]:
    length = sum(map(len, texts))
    short = [at for at in range(1, len(texts)) if len(texts[at]) < 0.05 * length]
    left_out = chance.choice(short) if short else len(texts)
    return texts[:left_out] + texts[left_out + 1 :]


def _with_caption(texts: list[str], chinese: bool, chance: random.Random) -> list[str]:
    at = chance.randrange(1, len(texts) + 1)
    return [*texts[:at], _CAPTIONS[chinese], *texts[at:]]


def _split_again(texts: list[str], chinese: bool, chance: random.Random) -> list[str]:
    return [*_joined(texts, "" if chinese else " ", chance)]


#: Edits of the text of a copy; "layout" changes nothing, and "links" only its HTML.
_REWRITES: Mapping[str, Callable[[list[str], bool, random.Random], list[str]]] = {
    "byline": _with_byline,
    "typos": _with_typos,
    "width": _with_other_signs,
    "drop": _without_paragraph,
    "captions": _with_caption,
    "resplit": _split_again,
}


def _joined(texts: Iterable[str], glue: str, chance: random.Random) -> Iterator[str]:
    """Yield paragraphs; some are joined."""
    held = ""
    for text in texts:
        if held and chance.random() >= 0.4:
            yield held
            held = text
        else:
            held = f"{held}{glue}{text}" if held else text
    yield held


def _are_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether two texts are copies, or nearly so."""
    one, other = ("\n".join(each) for each in (first, second))
    mine, others = shingles(one), shingles(other)
    ratio = max(len(one), len(other)) / max(1, min(len(one), len(other)))
    return len(mine & others) >= 0.75 * len(mine | others) and ratio <= 1.2


# -- pages --------------------------------------------------------------------------------------


def make_reprints(sources: Sequence[Source], seed: int, articles: int, sites: int, hosts: int = 0) -> list[Reprint]:
    """Return the pages of articles in the templates of other sites, in random order.

    Args:
        sources: see :func:`load_sources`.
        seed: of everything that is drawn.
        articles: how many articles of each language are used, at most.
        sites: how many templates of each language are used, at most; 0: all.
        hosts: with 0 each template is a site. Else each page is on one of so many hosts, whatever its template.
    """
    chance = random.Random(seed)
    shuffled = chance.sample(sources, len(sources))
    made: list[Reprint] = []
    for is_chinese in (True, False):
        group = [source for source in shuffled if source.is_chinese is is_chinese]
        templates = chance.sample(group, min(len(group), sites or len(group)))
        for article in group[:articles]:
            for edit, texts in _texts(article, group, chance):
                template = chance.choice(templates)
                host = f"site{chance.randrange(hosts)}" if hosts else re.sub("[^a-z0-9]", "-", template.name.lower())
                own = edit in OTHER_EDITS
                cluster = f"{article.name}#{edit}" if own else article.name
                url = f"https://{host[:40].strip('-')}.example/{len(made)}.html"
                body = _body(texts, chance if edit == "links" else None)
                made.append(Reprint(url, _page(template, texts[0][:40], body), cluster, edit))
    chance.shuffle(made)
    return made


def _texts(article: Source, group: Sequence[Source], chance: random.Random) -> Iterator[tuple[str, list[str]]]:
    """Yield an article, copies of it, and other texts made from it, each with the name of its edit."""
    yield "original", [*article.paragraphs]
    for edit in chance.sample(COPY_EDITS, COPIES):
        yield edit, edited(edit, article, chance)
    others = [each for each in group if each is not article]
    similar = [each for each in others if 0.5 < each.length / article.length < 2] or others
    used: list[Sequence[str]] = [article.paragraphs]
    for edit in chance.sample(OTHER_EDITS, OTHERS if others else 0):
        tries = (edited(edit, article, chance, chance.choice(similar).paragraphs) for _ in range(20))
        texts = next((each for each in tries if not any(_are_alike(each, seen) for seen in used)), None)
        if texts is not None:
            used.append(texts)
            yield edit, texts


def _page(template: Source, title: str, body: str) -> str:
    return template.template.replace(SLOT, body).replace(TITLE, html.escape(title))


def _body(texts: Iterable[str], linking: random.Random | None) -> str:
    """Return paragraphs as HTML, with links on some words if ``linking`` is given."""
    body = "".join(f"<p>{html.escape(text)}</p>\n" for text in texts)
    words = sorted({*_word.findall(body)}) if linking else []
    for word in linking.sample(words, min(4, len(words))) if linking else ():
        body = body.replace(word, f'<a href="/topic/{word}">{word}</a>', 1)
    return body
