"""A page has a text for its user, by the block model, and one that is compared, by the rules alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from dedupcrawl import Deduplicator, Page, read_page
from dedupcrawl.decision import Verdict
from dedupcrawl.page import ReadOptions
from dedupcrawl.stores.base import Record
from dedupcrawl.text.features import compared_text
from dedupcrawl.tools.evaluation.extraction import load_pages
from tests.data import data
from tests.sites.kinds import build

READERS = ("topic", "text")
SHORT_BY_RULES = "tariffs"  #: a kind of site whose tables the rules leave out


@cache
def split_pages() -> list[tuple[str, Page]]:
    """Return pages of a forum, with their HTML, whose two texts differ."""
    read = [(page.html, read_page(page.html, page.url)) for kind in ("phpbb", "songs") for page in build(kind).pages]
    found = [(html, page) for html, page in read if page.compared is not None]
    assert len(found) >= 3
    return found


def record(page: Page) -> Record:
    with Deduplicator(clock=lambda: 0.0) as dedup:
        found = dedup.fingerprint(page)
    assert not isinstance(found, Verdict)
    return found


def test_the_compared_text_is_that_of_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = split_pages()
    monkeypatch.setattr("dedupcrawl.page.block_reader.corrected_blocks", lambda *_: None)
    for html, page in pages:
        by_rules = read_page(html, page.url)
        assert by_rules.compared is None
        assert by_rules.text == page.compared != page.text
        assert replace(page.as_compared(), blocks=(), kind=by_rules.kind) == replace(by_rules, blocks=())
        assert compared_text(page) == compared_text(by_rules)


def test_blocks_are_those_of_the_text() -> None:
    for html, page in split_pages():
        assert "\n".join(block.text for block in page.blocks if block.kept) == page.text
        assert not read_page(html, page.url, options=ReadOptions(blocks=False)).blocks


def test_the_fingerprint_is_of_the_compared_text() -> None:
    for _, page in split_pages():
        assert record(page) == record(page.as_compared()) == record(replace(page, text="something else"))
        assert record(page).sketches != record(replace(page, compared=None)).sketches


def test_many_pages_have_the_same_fingerprints() -> None:
    pages = [page for _, page in split_pages()]
    with Deduplicator(clock=lambda: 0.0) as dedup:
        assert dedup.fingerprint_many(pages) == [record(page) for page in pages]


def test_a_short_text_by_the_rules_is_not_compared() -> None:
    for page in build(SHORT_BY_RULES).pages:
        assert read_page(page.html, page.url).compared is None


@pytest.mark.parametrize("reader", READERS)
def test_other_readers_have_one_text(reader: str) -> None:
    for html, page in split_pages():
        assert read_page(html, page.url, options=ReadOptions(reader=reader)).compared is None


def test_no_small_part_of_a_labelled_page_is_compared_alone() -> None:
    for labelled in load_pages(data("pages", "wcxb"), lambda rows: rows[::9]):
        page = read_page(labelled.html, labelled.url)
        assert len(page.compared or page.text) >= 0.4 * len(page.text), labelled.url
