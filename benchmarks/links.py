"""The link rules (``page/rules.py``), alone and in the whole reader, on pages with known main text.

A *statement link* is a link whose text is part of the main text of its page; every other link to a web page
is a *guide link*. This definition takes the "Health" of a menu for a statement in every article about health.
The narrower definition follows the source ("the text before and behind it is no link"): the link has plain
text beside it in its block, and both together are part of the main text. Links to files are left out, because
the rules do not apply to them.

The main texts are labelled by hand (``marked``), or known because the pages are generated (``bundled``).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.page import PageError, ReadOptions, read_tree
from dedupcrawl.page.blocks import ANCHOR, LINK, MARK, UNLINK, flatten, measure_links, normalize_space, split_runs
from dedupcrawl.page.document import parse, to_text
from dedupcrawl.page.rules import GUIDE_LINKS, LINK_RUN, SEPARATORS, leads_to_page, link_noise
from dedupcrawl.tools.demo.corpus import load_content, write_story
from dedupcrawl.tools.demo.sites import SiteLayout
from dedupcrawl.tools.evaluation.extraction import load_pages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from lxml.etree import _Element

CONTEXT = 8  #: characters beside a link that distinguish a sentence from a menu

_link = re.compile(f"{LINK}([^{ANCHOR}]*){ANCHOR}([^{LINK}{UNLINK}]*){UNLINK}?")


@dataclass(frozen=True)
class Anchor:
    """A link to a web page, and whether it is kept."""

    label: str
    sentence: str  #: the label with the plain text beside it, see ``CONTEXT``; "" if there is none
    kept: bool


@dataclass(frozen=True)
class Sample:
    """A page whose main text is known."""

    html: bytes | str
    main_text: str


@dataclass(frozen=True)
class LinkCounts:
    """The number of kept and removed links of one page."""

    statements: int
    statements_kept: int
    guides: int
    guides_removed: int


def anchors(html: bytes | str, options: ReadOptions, *, whole: bool = False) -> Iterator[Anchor]:
    """Yield the links of a page and whether the link rules, or the ``whole`` reader, keep them."""
    text = to_text(html, encoding=None, content_type="", max_bytes=options.max_bytes)
    root = parse(text)
    main_text = _main_blocks(root, options) if whole else None
    # Landmarks are read like any block: only the rules are tested, not the <nav> elements of HTML.
    stream = flatten(root, open_landmarks=True)
    for raw in map(str.strip, stream.split(MARK)[::2]):
        if LINK in raw:
            yield from _judged(raw, options, main_text)


def _main_blocks(root: _Element, options: ReadOptions) -> Counter[str]:
    """Count the blocks that the default reader keeps, by text."""
    page = read_tree(root, options=replace(options, blocks=True))
    return Counter(block.text for block in page.blocks if block.kept)


def _judged(raw: str, options: ReadOptions, main_text: Counter[str] | None) -> Iterator[Anchor]:
    _, length, link_length, _, run, _ = measure_links(raw, inside=False)
    noise = link_noise(length, link_length, run, options)
    left = {None: raw, GUIDE_LINKS: "", LINK_RUN: split_runs(raw, options.link_run)[0]}[noise]
    if left and main_text is not None:
        block = measure_links(left.strip(), inside=False)[0]
        left = left if main_text[block] else ""
        main_text[block] -= bool(left)
    stays = Counter(match[0] for match in _link.finditer(left))
    for match in _link.finditer(raw):
        label = normalize_space(match[2])
        if not label or not leads_to_page(match[1]):
            continue
        kept = stays[match[0]] > 0
        stays[match[0]] -= kept
        yield Anchor(label, _sentence(raw, match), kept)


def _sentence(raw: str, match: re.Match[str]) -> str:
    before = normalize_space(raw[: match.start()].rpartition(UNLINK)[2])[-CONTEXT:]
    after = normalize_space(raw[match.end() :].partition(LINK)[0])[:CONTEXT]
    if not (before + after).strip(SEPARATORS):
        return ""
    return _squeezed(before + match[2] + after)


def count_links(sample: Sample, options: ReadOptions, *, in_sentence: bool, whole: bool = False) -> LinkCounts:
    """Count the links of a page by kind and result.

    ``in_sentence`` uses the narrower definition; ``whole`` as in :func:`anchors`.
    """
    truth = _squeezed(sample.main_text)
    statements: list[bool] = []
    guides: list[bool] = []
    for anchor in anchors(sample.html, options, whole=whole):
        text = anchor.sentence if in_sentence else _squeezed(anchor.label)
        (statements if text and text in truth else guides).append(anchor.kept)
    return LinkCounts(len(statements), sum(statements), len(guides), len(guides) - sum(guides))


def count_all_links(samples: Iterable[Sample], *, in_sentence: bool, whole: bool = False) -> list[LinkCounts]:
    """Count the links of every readable page."""
    options = ReadOptions()
    found = []
    for each in samples:
        try:
            found.append(count_links(each, options, in_sentence=in_sentence, whole=whole))
        except PageError:
            continue
    return found


def marked(folder: Path) -> Iterator[Sample]:
    """Yield the pages of a set with hand-labelled main texts."""
    for page in load_pages(folder):
        yield Sample(page.html, page.text)


def bundled() -> Iterator[Sample]:
    """Yield the pages of the demo sites: articles with links, and lists of links."""
    content = load_content()
    origins = {key: f"http://{key}.example" for key in content.sites}
    stories = {(page.site, page.path): write_story(content, page).text for page in content.pages}
    for site in content.sites.values():
        for path, body in SiteLayout(content, site, origins).documents().items():
            yield Sample(body.decode(site.charset), stories.get((site.key, path), ""))


def _squeezed(text: str) -> str:
    """Remove white space: hand-made texts have other line breaks."""
    return "".join(text.split())


@dataclass(frozen=True)
class Shares:
    """Shares of links and pages, 0 to 1; a page without links of a kind does not count for it."""

    statements: int
    kept: float  #: of the statement links
    pages_keeping_all: float
    guides: int
    removed: float  #: of the guide links
    pages_rid_of_all: float
    pages_rid_of_most: float  #: of at least nine in ten


def shares(pages: list[LinkCounts]) -> Shares:
    """Compute the shares for the pages of a set."""
    stating = [page for page in pages if page.statements]
    guiding = [page for page in pages if page.guides]
    statements, guides = sum(page.statements for page in pages), sum(page.guides for page in pages)
    return Shares(
        statements,
        _share(sum(page.statements_kept for page in pages), statements),
        _share(sum(page.statements_kept == page.statements for page in stating), len(stating)),
        guides,
        _share(sum(page.guides_removed for page in pages), guides),
        _share(sum(page.guides_removed == page.guides for page in guiding), len(guiding)),
        _share(sum(page.guides_removed >= 0.9 * page.guides for page in guiding), len(guiding)),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
