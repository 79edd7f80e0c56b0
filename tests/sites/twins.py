"""Copies of real pages on their own host, made from their HTML. ``python -m tests.sites.twins FOLDER…``.

A twin is counted only if a detector finds the two pages equal: what is measured is how many of these copies
are kept nevertheless, because something else tells the two pages apart.
"""

from __future__ import annotations

import copy
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lxml import etree
from lxml.html import builder

from dedupcrawl import Deduplicator, Page, Status
from dedupcrawl.detectors.base import Relation
from dedupcrawl.page.document import parse, to_text
from dedupcrawl.page.model import PageError
from dedupcrawl.page.options import ReadOptions
from dedupcrawl.page.readers import read_tree
from dedupcrawl.stores.base import Record
from dedupcrawl.tools.evaluation.extraction import load_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lxml.etree import _Element

_BLOCKS = ReadOptions(blocks=True)
_COPIES = frozenset({Relation.IDENTICAL, Relation.NEAR_DUPLICATE})
_NOT_SHOWN = ("script", "style", "h1")  #: and the name of the page, which is not volatile
_VOLATILE = 0.6  #: chance that a block outside the main text gets other digits
_EDITED = 0.1  #: largest share of the main text that an editor removes
_PUBLISHED = "Published 3 May 2026, 12:31. Read 1,204 times"
_UPDATED = "Updated 4 May 2026, 14:05. Read 9,381 times"

_number = re.compile(r"\d+")
_digit = re.compile(r"\d")
_site_in_title = re.compile(r" [|\-–—] [^|\-–—]{2,40}$")


@dataclass(frozen=True, slots=True)
class Original:
    """A page with the parts that twins are made of."""

    root: _Element
    page: Page

    @property
    def title(self) -> str:
        return next(map(_text, self.root.iter("title")), "")

    @property
    def name(self) -> str:
        """The heading, or the title: the first ``<h1>`` may be the logo of the site."""
        return self.page.heading or self.title

    @property
    def paragraphs(self) -> list[str]:
        return self.page.text.split("\n")


@dataclass(frozen=True, slots=True)
class Twin:
    """Two pages of one content: the one that is filed first, and its copy."""

    first: _Element
    second: _Element


@dataclass(frozen=True, slots=True)
class TwinCounts:
    """How many twins of each kind were counted and kept."""

    counted: Counter[str]
    kept: Counter[str]

    @property
    def share(self) -> float:
        """Share of the twins that were kept."""
        return self.kept.total() / max(1, self.counted.total())


def measure(folder: Path, every: int = 1) -> TwinCounts:
    """Judge the twins of every nth labelled page of a folder with ``truth.jsonl`` and ``html/``."""
    counted: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for number, row in enumerate(load_pages(folder)):
        original = _read(row.html, row.url) if number % every == 0 else None
        if original is None:
            continue
        for kind, make in TWINS.items():
            twin = make(original, random.Random(f"{row.id}/{kind}"))
            verdict = _judge(twin, row.url) if twin else None
            if verdict is not None:
                counted[kind] += 1
                kept[kind] += verdict
    return TwinCounts(counted, kept)


def _read(html: bytes, url: str) -> Original | None:
    try:
        root = parse(to_text(html, encoding=None, content_type="", max_bytes=_BLOCKS.max_bytes))
        page = read_tree(root, url, _BLOCKS)
    except PageError:
        return None
    return Original(root, page) if page.text else None


def _judge(twin: Twin, url: str) -> bool | None:
    """Return whether the second page is kept, or None if no detector finds the two equal."""
    with Deduplicator() as dedup:
        first, second = read_tree(twin.first, url), read_tree(twin.second, f"{url}~twin")
        if dedup.add(first).status is Status.UNCHECKED:
            return None
        old, new = dedup.fingerprint(first), dedup.fingerprint(second)
        if not (isinstance(old, Record) and isinstance(new, Record)) or not _are_equal(dedup, new, old):
            return None
        return dedup.add(second).keep


def _are_equal(dedup: Deduplicator, new: Record, old: Record) -> bool:
    matches = (opinion.match for opinion in dedup.assessments(new, old))
    return any(match.relation in _COPIES for match in matches if match)


def _same(original: Original, _: random.Random) -> Twin:
    return Twin(original.root, original.root)


def _bare(original: Original, title: str, *, name: bool = True, last: str = "") -> Twin:
    """Return the page and its main text alone, as views for printers and telephones show it."""
    parts = [builder.P(text) for text in (*original.paragraphs, last) if text]
    heading = [builder.H1(original.name)] if name else []
    page = builder.HTML(builder.HEAD(builder.TITLE(title)), builder.BODY(builder.E.article(*heading, *parts)))
    return Twin(original.root, page)


def _print(original: Original, _: random.Random) -> Twin:
    return _bare(original, "Print", last=f"Printed from {original.page.url} on 4 May 2026")


def _print_version(original: Original, _: random.Random) -> Twin:
    return _bare(original, f"{original.title} - Print version")


def _amp(original: Original, _: random.Random) -> Twin:
    return _bare(original, original.title)


def _nameless(original: Original, _: random.Random) -> Twin:
    return _bare(original, "Daily Example", name=False)


def _section(original: Original, _: random.Random) -> Twin:
    """Title the two pages after two sections."""
    pages = []
    for section in ("Politics", "Top stories"):
        pages.append(copy.deepcopy(original.root))
        _retitle(pages[-1], f"{original.title} | {section} | Daily Example")
    return Twin(*pages)


def _headline(original: Original, chance: random.Random) -> Twin | None:
    """Give the copy another headline, of words of the text, in all places where the old one stands."""
    words = re.findall(r"\w{5,}", original.page.text)[:300]
    if len(words) <= 20:
        return None
    new, site = " ".join(chance.sample(words, 7)), _site_in_title.search(original.title)
    root = copy.deepcopy(original.root)
    _retitle(root, new + (site[0] if site else ""))
    for heading in root.iter("h1"):
        _set_text(heading, new)
    for meta in root.iter("meta"):
        if "og:title" in meta.values() or "twitter:title" in meta.values():
            meta.set("content", new)
    return Twin(original.root, root)


def _volatile(original: Original, chance: random.Random) -> Twin:
    """Change digits outside the main text: counters, dates, prices of other things."""
    main = " ".join(original.page.text.split())
    root = copy.deepcopy(original.root)
    body = root.find("body")
    for element in () if body is None else body.iter(etree.Element):
        text = " ".join((element.text or "").split())
        if text and text not in main and element.tag not in _NOT_SHOWN and chance.random() < _VOLATILE:
            element.text = _digit.sub(lambda _: str(chance.randint(1, 9)), text)
    return Twin(original.root, root)


def _stamp(original: Original, _: random.Random, tag: str = "p") -> Twin | None:
    """Put a date and a counter above the first paragraph of both pages."""
    pages = []
    for text in (_PUBLISHED, _UPDATED):
        pages.append(copy.deepcopy(original.root))
        paragraph = _first_paragraph(pages[-1], original.paragraphs)
        if paragraph is None:
            return None
        stamp = etree.Element(tag)
        stamp.text = text
        paragraph.addprevious(stamp)
    return Twin(*pages)


def _edge_stamp(original: Original, _: random.Random) -> Twin | None:
    return _stamp(original, _, "div")


def _edit(original: Original, chance: random.Random) -> Twin | None:
    """Remove a short paragraph, and raise one number of the text by one."""
    root = copy.deepcopy(original.root)
    short = [text for text in original.paragraphs[1:] if 0 < len(text) <= _EDITED * len(original.page.text)]
    gone = _first_paragraph(root, chance.sample(short, 1)) if short else None
    counted = (_first_paragraph(root, [text]) for text in original.paragraphs if _digit.search(text))
    changed = next((paragraph for paragraph in counted if paragraph is not None and paragraph.text), None)
    if gone is None or changed is None:
        return None
    changed.text = _number.sub(lambda number: str(int(number[0][-9:]) + 1), changed.text or "", count=1)
    if gone is not changed:
        _set_text(gone, "")
    return Twin(original.root, root)


def _text(element: _Element) -> str:
    """Return the text of an element in one line."""
    return " ".join(etree.tostring(element, method="text", encoding="unicode", with_tail=False).split())


def _retitle(root: _Element, title: str) -> None:
    for element in root.findall("head/title")[:1]:
        element.text = title


def _set_text(element: _Element, text: str) -> None:
    for child in list(element):
        element.remove(child)
    element.text = text


def _first_paragraph(root: _Element, texts: Iterable[str]) -> _Element | None:
    """Return the first ``<p>`` that begins one of the texts."""
    found = {_text(element): element for element in root.iter("p")}
    return next((found[text] for text in texts if text in found), None)


TWINS: Mapping[str, Callable[[Original, random.Random], Twin | None]] = {
    "same": _same,
    "print": _print,
    "print version": _print_version,
    "amp": _amp,
    "section": _section,
    "nameless": _nameless,
    "volatile": _volatile,
    "stamp": _stamp,
    "edge stamp": _edge_stamp,
    "edit": _edit,
    "headline": _headline,
}


def main(folders: Iterable[str]) -> Iterator[str]:
    """Yield a line for each kind of twin in each folder."""
    for folder in folders:
        counts = measure(Path(folder))
        for kind in TWINS:
            yield f"{Path(folder).name:<8} {kind:<14} {counts.kept[kind]:>5} of {counts.counted[kind]:>5} kept"
        yield f"{Path(folder).name:<8} {'all':<14} {counts.share:.2%}"


if __name__ == "__main__":
    for line in main(sys.argv[1:]):
        print(line, flush=True)
