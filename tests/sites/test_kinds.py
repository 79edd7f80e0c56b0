"""The sites are what their labels say."""

from __future__ import annotations

import re

import pytest
from lxml import etree

from dedupcrawl.page.document import parse
from tests.sites.kinds import KINDS, build
from tests.sites.model import Copy, Harder, Site, SitePage

SEEDS = (0, 1, 2, 3)

_sentence = re.compile(r"[^.!?。！？]{25,}[.!?。！？]")


def said(page: SitePage) -> str:
    """Return the title, the text, the data and the texts of pictures, without links and what the template adds."""
    root = parse(page.html)
    for picture in root.findall(".//img"):
        picture.text, picture.tag = picture.get("alt"), "span"
    for script in root.findall(".//script"):
        script.tag = "div" if script.get("type") else "style"
    etree.strip_elements(root, "a", "style", with_tail=False)
    return " ".join(etree.tostring(root, method="text", encoding="unicode").split())


def first_pages(site: Site) -> dict[str, SitePage]:
    """Return a page of each content that is not marked as a copy."""
    return {page.content: page for page in site.pages if not page.made}


def test_there_are_enough_of_them() -> None:
    sites = [build(kind) for kind in KINDS]
    assert len(sites) >= 28
    assert sum(len(site.contents) for site in sites) >= 500
    assert all(10 <= len(site.contents) <= 30 and len(site.pages) > len(site.contents) for site in sites)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_urls_are_unique(kind: str, seed: int) -> None:
    urls = [page.url for page in build(kind, seed).pages]
    assert len(set(urls)) == len(urls)


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides(kind: str) -> None:
    assert build(kind, 1) == build(kind, 1)
    assert build(kind, 1) != build(kind, 3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_contents_differ(kind: str, seed: int) -> None:
    pages = first_pages(build(kind, seed))
    assert len({said(page) for page in pages.values()}) == len(pages)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"languages"}))
def test_an_odd_seed_has_other_sentences(kind: str) -> None:
    """Only what a widespread system writes on every site may be common."""
    held, seen = (
        {sentence for page in build(kind, seed).pages for sentence in _sentence.findall(said(page))} for seed in (1, 0)
    )
    assert len(held & seen) <= 0.02 * len(held)


def test_every_way_to_copy_is_there() -> None:
    made = [page.made for kind in KINDS for page in build(kind).pages if page.made]
    own = {*Copy} - {Copy.REPRINT}
    assert {way: made.count(way) >= 3 for way in own} == dict.fromkeys(own, True)


@pytest.mark.parametrize("kind", KINDS)
def test_other_sites_reprint_a_third_of_the_pages(kind: str) -> None:
    alone, together = build(kind), build(kind, abroad=True)
    reprinted = [page for page in together.pages if page.made == Copy.REPRINT]
    assert sorted(page.url for page in alone.pages) == sorted(
        {page.url for page in together.pages} - {page.url for page in reprinted}
    )
    assert len(reprinted) >= len(alone.contents) // 3
    assert {page.content for page in reprinted} <= set(alone.contents)
    hosts = {page.url.split("/")[2] for page in alone.pages}
    assert not hosts & {page.url.split("/")[2] for page in reprinted}


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_under_another_query_is_the_same_page(kind: str) -> None:
    site = build(kind)
    originals = {page.url: page for page in site.pages if not page.made}
    for page in site.pages:
        if page.made in {Copy.UTM, Copy.SESSION}:
            assert said(page) == said(originals[page.url.partition("?")[0]])


@pytest.mark.parametrize("way", Harder)
def test_harder_sites_have_the_same_labels(way: Harder) -> None:
    easy, hard = build("parts"), build("parts", harder=[way])
    assert [(page.url, page.content) for page in hard.pages] == [(page.url, page.content) for page in easy.pages]
    assert all(page.html != other.html for page, other in zip(easy.pages, hard.pages, strict=True) if not page.made)


def test_a_session_stands_in_the_links() -> None:
    page = next(page for page in build("views").pages if page.made == Copy.SESSION)
    session = page.url.partition("?")[2]
    assert page.html.count(f'?{session}"') >= 5
    assert 'href="/section/1/"' not in page.html
