"""The plan, the articles and the truth fit together."""

from __future__ import annotations

from itertools import combinations

import pytest

from dedupcrawl.config import Config
from dedupcrawl.demo.content import PlannedPage, load_content
from dedupcrawl.demo.edits import EDITS
from dedupcrawl.demo.stories import tell
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features

CONTENT = load_content()
TRAPS = {"excerpt", "other-ending", "merged", "appended", "part", "same-title", "notice"}


def features(page: PlannedPage) -> Features:
    return Features(Page.from_text(tell(CONTENT, page).text))


@pytest.fixture(scope="module")
def shingles() -> dict[PlannedPage, tuple[set[int], int]]:
    """The shingles of every page as the defaults cut them, and its length."""
    of_pages = {page: features(page) for page in CONTENT.pages}
    return {page: (set(f.shingles(5, 3, 0).tolist()), f.length) for page, f in of_pages.items()}


def test_the_web_has_five_sites_in_two_languages_and_about_a_hundred_pages() -> None:
    assert len(CONTENT.sites) == 5
    assert {site.language for site in CONTENT.sites.values()} == {"zh", "en"}
    assert 100 <= len(CONTENT.pages) <= 130
    assert {page.kind for page in CONTENT.pages} == TRAPS | {"original", "reprint", "copy"}


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_dozen_long_articles_in_each_language_are_reprinted(language: str) -> None:
    reprinted = {page.cluster for page in CONTENT.pages if page.kind == "reprint"}
    long = [article for id, article in CONTENT.articles.items() if id in reprinted and article.caption]
    lengths = [len("".join(article.paragraphs)) for article in long if article.language == language]
    assert len(lengths) == 12
    assert min(lengths) > (500 if language == "zh" else 1800)


def test_every_article_is_printed_and_every_printed_one_has_a_first_site() -> None:
    printed = {part.partition("[")[0].partition("!")[0] for page in CONTENT.pages for part in page.parts}
    assert printed == set(CONTENT.articles)
    for page in CONTENT.pages:
        assert CONTENT.home(page.article).key in CONTENT.sites


def test_no_two_pages_share_a_path_so_that_a_page_is_known_on_any_port() -> None:
    paths = [page.path for page in CONTENT.pages]
    assert len(set(paths)) == len(paths)
    listed = {section.path for site in CONTENT.sites.values() for section in site.sections}
    assert not listed & set(paths)


def test_edits_are_known_and_change_something() -> None:
    for page in CONTENT.pages:
        assert set(page.edits) <= EDITS.keys() | {"title", "links"}
        for name in page.edits:
            without = PlannedPage(
                page.site,
                page.path,
                page.kind,
                page.cluster,
                page.parts,
                tuple(edit for edit in page.edits if edit != name),
                delay=page.delay,
            )
            assert tell(CONTENT, page) != tell(CONTENT, without), (page, name)


def test_pages_of_a_cluster_print_the_same_parts_and_others_do_not() -> None:
    for one, two in combinations(CONTENT.pages, 2):
        assert (one.cluster == two.cluster) == (one.parts == two.parts), (one, two)


def test_pages_of_a_cluster_are_copies_by_the_default_measure(
    shingles: dict[PlannedPage, tuple[set[int], int]],
) -> None:
    config = Config()
    for one, two in combinations(CONTENT.pages, 2):
        if one.cluster == two.cluster:
            (mine, length), (theirs, other) = shingles[one], shingles[two]
            assert len(mine & theirs) / len(mine | theirs) > config.threshold + 0.05, (one, two)
            assert max(length, other) / min(length, other) < config.length_ratio, (one, two)


def test_pages_of_two_clusters_are_not(shingles: dict[PlannedPage, tuple[set[int], int]]) -> None:
    config = Config()
    for one, two in combinations(CONTENT.pages, 2):
        (mine, length), (theirs, other) = shingles[one], shingles[two]
        if one.cluster != two.cluster and min(length, other) >= config.min_chars:
            alike = len(mine & theirs) / len(mine | theirs) > config.threshold - 0.1
            assert not alike or max(length, other) / min(length, other) > config.length_ratio, (one, two)


def test_an_excerpt_is_wholly_inside_its_article(
    shingles: dict[PlannedPage, tuple[set[int], int]],
) -> None:
    for page in CONTENT.pages:
        if page.kind in ("excerpt", "part") and not page.edits:
            article = Features(Page.from_text("\n".join(CONTENT.articles[page.article].paragraphs)))
            assert shingles[page][0] <= set(article.shingles(5, 3, 0).tolist())


def test_two_articles_of_one_title_are_two() -> None:
    pages = [page for page in CONTENT.pages if page.kind == "same-title"]
    titles = [tell(CONTENT, page).title for page in pages]
    assert len(pages) == 4
    assert len(set(titles)) == 2


def test_short_notices_of_one_wording_stay_below_the_shortest_text_that_is_compared() -> None:
    stopped = [page for page in CONTENT.pages if page.cluster.startswith("zh/notice-water")]
    assert len(stopped) == 2
    assert all(features(page).length < Config().min_chars for page in stopped)
