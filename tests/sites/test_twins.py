"""Copies of real pages on their own host, in print, under another section, with a new stamp, are dropped."""

from __future__ import annotations

import random

import pytest

from dedupcrawl.page.document import parse
from dedupcrawl.page.options import ReadOptions
from dedupcrawl.page.readers import read_tree
from tests.data import data
from tests.sites.kinds import build
from tests.sites.twins import TWINS, Original, measure

KEPT = 0.02  #: of the twins
#: Every so many pages of each set; ``python -m tests.sites.twins`` measures all of them.
SAMPLED = {"aeb": 12, "cwced": 6, "wcxb": 30}


@pytest.mark.parametrize("name", ["aeb", "cwced", "wcxb"])
def test_copies_of_real_pages_are_dropped(name: str) -> None:
    counts = measure(data("pages", name), SAMPLED[name])
    assert counts.counted.total() >= 60
    assert set(counts.counted) >= set(TWINS) - {"edit"}
    assert counts.share <= KEPT, counts.kept


def article() -> Original:
    page = next(page for page in build("multipage", 0).pages if page.url.endswith("/all"))
    root = parse(page.html)
    return Original(root, read_tree(root, page.url, ReadOptions(blocks=True)))


@pytest.mark.parametrize("kind", sorted(set(TWINS) - {"same"}))
def test_a_twin_is_another_page_with_nearly_the_same_text(kind: str) -> None:
    original = article()
    twin = TWINS[kind](original, random.Random(4))
    assert twin is not None
    first, second = (read_tree(root, "https://a.example/") for root in (twin.first, twin.second))
    words = set(first.text.split())
    assert len(words & set(second.text.split())) >= 0.9 * len(words)
    changed = [(root.xpath("string(//title)"), root.xpath("string(//body)")) for root in (twin.first, twin.second)]
    assert changed[0] != changed[1]


@pytest.mark.parametrize("kind", TWINS)
def test_the_original_is_left_alone(kind: str) -> None:
    original = article()
    before = original.root.xpath("string()")
    TWINS[kind](original, random.Random(4))
    assert original.root.xpath("string()") == before
