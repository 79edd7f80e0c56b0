"""The plan, the articles and the edits of the bundled web."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.config import Config
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.text.normalize import normalize
from dedupcrawl.tools.demo.corpus import (
    EDITS,
    ArticleBlock,
    Blocks,
    EditContext,
    PlannedPage,
    apply_edits,
    load_content,
    sentences,
    write_story,
)

CONTENT = load_content()
TRAPS = {"excerpt", "other-ending", "merged", "appended", "part", "same-title", "notice"}


def features(page: PlannedPage) -> Features:
    return Features(Page.from_text(write_story(CONTENT, page).text))


@pytest.fixture(scope="module")
def shingles() -> dict[PlannedPage, tuple[set[int], int]]:
    """The shingles of every page under the defaults, and its length."""
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
            assert write_story(CONTENT, page) != write_story(CONTENT, without), (page, name)


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


def test_an_excerpt_is_wholly_inside_its_article(shingles: dict[PlannedPage, tuple[set[int], int]]) -> None:
    for page in CONTENT.pages:
        if page.kind in ("excerpt", "part") and not page.edits:
            article = Features(Page.from_text("\n".join(CONTENT.articles[page.article].paragraphs)))
            assert shingles[page][0] <= set(article.shingles(5, 3, 0).tolist())


def test_two_articles_of_one_title_are_two() -> None:
    pages = [page for page in CONTENT.pages if page.kind == "same-title"]
    titles = [write_story(CONTENT, page).title for page in pages]
    assert len(pages) == 4
    assert len(set(titles)) == 2


def test_short_notices_of_one_wording_stay_below_the_shortest_text_that_is_compared() -> None:
    stopped = [page for page in CONTENT.pages if page.cluster.startswith("zh/notice-water")]
    assert len(stopped) == 2
    assert all(features(page).length < Config().min_chars for page in stopped)


ZH = EditContext("zh", "江潮晚报网", "沈砚秋", "桥上的人。", seed=7)
EN = EditContext("en", "The Harbour Courier", "Imogen Tarrant", "The quay.", seed=7)
CHINESE = (ArticleBlock("天亮了。“船呢？”他问。船在已经结冰的河上。"), ArticleBlock("人在桥上，看了很久；没有做声。"))
ENGLISH = (
    ArticleBlock("It was light. “Where’s the ferry?” he asked. Silence."),
    ArticleBlock("Nobody answered. Somebody, perhaps, shivered."),
)
CASES = [(CHINESE, ZH), (ENGLISH, EN)]


def text(blocks: Blocks) -> str:
    return "".join("".join(block.text.split()) for block in blocks if not block.caption)


@pytest.mark.parametrize("article", load_content().articles.values(), ids=lambda article: article.id)
def test_sentences_hold_the_whole_paragraph(article: object) -> None:
    for paragraph in article.paragraphs:  # type: ignore[attr-defined]
        cut = sentences(paragraph, article.language)  # type: ignore[attr-defined]
        assert "".join("".join(cut).split()) == "".join(paragraph.split())
        assert all(cut)


def test_sentences_end_behind_the_closing_quote() -> None:
    assert sentences(CHINESE[0].text, "zh") == ["天亮了。", "“船呢？”", "他问。", "船在已经结冰的河上。"]
    assert sentences(ENGLISH[0].text, "en") == ["It was light.", "“Where’s the ferry?”", "he asked.", "Silence."]


def test_a_source_is_named_first_and_an_editor_last() -> None:
    assert apply_edits(("source",), CHINESE, ZH)[0] == ArticleBlock("（据江潮晚报网消息，记者沈砚秋）")
    assert apply_edits(("source",), ENGLISH, EN)[0] == ArticleBlock("By Imogen Tarrant, for The Harbour Courier.")
    assert apply_edits(("editor",), CHINESE, ZH)[:-1] == CHINESE


def test_a_caption_is_no_paragraph() -> None:
    with_caption = apply_edits(("caption",), ENGLISH, EN)
    assert with_caption == (*ENGLISH, ArticleBlock("The quay.", caption=True))
    assert text(with_caption) == text(ENGLISH)


@pytest.mark.parametrize(("blocks", "reprint"), CASES)
def test_the_last_sentence_goes(blocks: Blocks, reprint: EditContext) -> None:
    last = sentences(blocks[-1].text, reprint.language)[-1]
    assert text(apply_edits(("drop_end",), blocks, reprint)) == text(blocks).removesuffix("".join(last.split()))


def test_a_paragraph_of_one_sentence_goes_with_it() -> None:
    assert apply_edits(("drop_end",), CHINESE, ZH) == CHINESE[:1]


@pytest.mark.parametrize(("blocks", "reprint"), CASES)
def test_splitting_anew_keeps_the_words_and_moves_the_paragraphs(blocks: Blocks, reprint: EditContext) -> None:
    anew = apply_edits(("caption", "resplit"), blocks, reprint)
    assert text(anew) == text(blocks)
    assert [block.text for block in anew if not block.caption] != [block.text for block in blocks]
    assert [block for block in anew if block.caption] == [ArticleBlock(reprint.caption, caption=True)]


@pytest.mark.parametrize(("blocks", "reprint"), CASES)
def test_width_and_quotes_change_signs_only(blocks: Blocks, reprint: EditContext) -> None:
    changed = apply_edits(("width", "quotes"), blocks, reprint)
    assert changed != blocks
    assert _letters(text(changed)) == _letters(text(blocks))


def _letters(text: str) -> str:
    return "".join(character for character in normalize(text) if character.isalnum())


@pytest.mark.parametrize(("blocks", "reprint"), CASES)
def test_typos_are_few_and_the_same_every_time(blocks: Blocks, reprint: EditContext) -> None:
    mistyped = apply_edits(("typos",), blocks, reprint)
    wrong = sum(a != b for a, b in zip(text(mistyped), text(blocks), strict=True))
    assert 1 <= wrong <= 6
    assert mistyped == apply_edits(("typos",), blocks, reprint)


def test_edits_of_other_parts_of_the_page_leave_the_body_alone() -> None:
    assert apply_edits(("title", "links"), CHINESE, ZH) == CHINESE


_PARAGRAPH = st.text(st.sampled_from('天地人的在，。？！”abc XYZ.?!’"'), min_size=1).filter(str.strip)


@settings(max_examples=60, deadline=None)
@given(st.lists(_PARAGRAPH, min_size=1, max_size=4), st.sampled_from([ZH, EN]), st.integers(0, 2**32))
def test_any_text_survives_its_editors(paragraphs: list[str], reprint: EditContext, seed: int) -> None:
    blocks = tuple(map(ArticleBlock, paragraphs))
    reprint = EditContext(reprint.language, reprint.source, reprint.author, reprint.caption, seed)
    assert text(apply_edits(("resplit",), blocks, reprint)) == text(blocks)
    assert len(text(apply_edits(("typos",), blocks, reprint))) == len(text(blocks))
    assert text(blocks).startswith(text(apply_edits(("drop_end",), blocks, reprint)))
