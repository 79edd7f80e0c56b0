"""Copies of the demo's web with exchanged words: their stories are as distinct as those of the demo."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dedupcrawl.tools.demo.corpus import load_content
from tests.faults.soundness import examine
from tests.faults.towns import town
from tests.faults.web import serving, towns_of

if TYPE_CHECKING:
    from dedupcrawl.tools.demo.corpus import BundledCorpus


def originals(number: int) -> BundledCorpus:
    content = town(number)
    return replace(content, pages=tuple(page for page in content.pages if page.kind == "original"))


def test_the_detectors_tell_all_stories_of_a_town_in_any_order() -> None:
    found = examine([town(7)])
    assert found.faults == ()
    assert (found.pages, found.stories) == (116, 62)


def test_two_towns_have_little_in_common() -> None:
    assert examine([originals(0), originals(7)]).across < 0.3


def test_stories_told_twice_in_the_same_words_are_found_out() -> None:
    assert examine([originals(3), originals(3)]).across == 1.0


def test_a_town_has_the_plan_of_the_demo_and_words_of_its_own() -> None:
    ours, theirs = load_content(), town(5)
    assert town(0) is ours
    assert town(5) == theirs
    assert [page.path for page in theirs.pages] == [page.path for page in ours.pages]
    for id, article in ours.articles.items():
        told = theirs.articles[id]
        assert told.paragraphs != article.paragraphs
        assert [len(text) for text in told.paragraphs] == [len(text) for text in article.paragraphs]


def test_all_pages_are_served_and_known_by_their_story() -> None:
    towns = towns_of(117)
    assert len(towns) == 2
    with serving(towns) as web:
        assert len(web.fronts) == 10
        assert len(web.stories) == 232
        assert len(web.distinct) == 124
