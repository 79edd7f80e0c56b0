"""Gates on the labelled pages: what is read of each type of page, and what is dropped."""

from __future__ import annotations

import pytest

from tests.data import data
from tests.sites.labelled import Mistakes, measure

SETS = ("aeb", "cwced", "wcxb")
#: F1 of the packaged model, which has seen these pages, and a margin of .005. docs/comparison.md has the figures on
#: sites that a model had not seen.
MIN_F1 = {
    "aeb": 0.977,
    "article": 0.947,
    "service": 0.838,
    "documentation": 0.920,
    "forum": 0.791,
    "listing": 0.735,
    "collection": 0.680,
    "product": 0.723,
}


@pytest.fixture(scope="module")
def found() -> Mistakes:
    return measure([data("pages", name) for name in SETS])


@pytest.mark.parametrize("kind", MIN_F1)
def test_the_main_text_of_each_type_of_page_is_read(found: Mistakes, kind: str) -> None:
    assert found.f1(kind) >= MIN_F1[kind]


def test_few_pages_are_hardly_read(found: Mistakes) -> None:
    assert found.pages == 1627
    assert found.hardly_read(*found.readings) <= 45


def test_pages_that_are_dropped_are_copies(found: Mistakes) -> None:
    """Read one by one: what people wrote down of the three others is not all that their pages say."""
    assert [drop[0].name for drop in found.dropped] == ["wcxb/2863", "wcxb/2927", "wcxb/3035", "wcxb/4213"]


def test_no_copy_is_missed(found: Mistakes) -> None:
    assert (found.copies, found.missed) == (1, [])
