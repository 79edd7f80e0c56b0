"""What editors do to a text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.demo.content import load_content
from dedupcrawl.demo.edits import Block, Blocks, Reprint, apply, sentences
from dedupcrawl.text.normalize import normalize

ZH = Reprint("zh", "江潮晚报网", "沈砚秋", "桥上的人。", seed=7)
EN = Reprint("en", "The Harbour Courier", "Imogen Tarrant", "The quay.", seed=7)
CHINESE = (Block("天亮了。“船呢？”他问。船在已经结冰的河上。"), Block("人在桥上，看了很久；没有做声。"))
ENGLISH = (
    Block("It was light. “Where’s the ferry?” he asked. Silence."),
    Block("Nobody answered. Somebody, perhaps, shivered."),
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
    assert sentences(ENGLISH[0].text, "en") == [
        "It was light.",
        "“Where’s the ferry?”",
        "he asked.",
        "Silence.",
    ]


def test_a_source_is_named_first_and_an_editor_last() -> None:
    assert apply(("source",), CHINESE, ZH)[0] == Block("（据江潮晚报网消息，记者沈砚秋）")
    assert apply(("source",), ENGLISH, EN)[0] == Block("By Imogen Tarrant, for The Harbour Courier.")
    assert apply(("editor",), CHINESE, ZH)[:-1] == CHINESE


def test_a_caption_is_no_paragraph() -> None:
    with_caption = apply(("caption",), ENGLISH, EN)
    assert with_caption == (*ENGLISH, Block("The quay.", caption=True))
    assert text(with_caption) == text(ENGLISH)


@pytest.mark.parametrize(("blocks", "reprint"), CASES)
def test_the_last_sentence_goes(blocks: Blocks, reprint: Reprint) -> None:
    last = sentences(blocks[-1].text, reprint.language)[-1]
    assert text(apply(("drop_end",), blocks, reprint)) == text(blocks).removesuffix("".join(last.split()))


def test_a_paragraph_of_one_sentence_goes_with_it() -> None:
    assert apply(("drop_end",), CHINESE, ZH) == CHINESE[:1]


@pytest.mark.parametrize(("blocks", "reprint"), CASES)
def test_splitting_anew_keeps_the_words_and_moves_the_paragraphs(blocks: Blocks, reprint: Reprint) -> None:
    anew = apply(("caption", "resplit"), blocks, reprint)
    assert text(anew) == text(blocks)
    assert [block.text for block in anew if not block.caption] != [block.text for block in blocks]
    assert [block for block in anew if block.caption] == [Block(reprint.caption, caption=True)]


@pytest.mark.parametrize(("blocks", "reprint"), CASES)
def test_width_and_quotes_change_signs_only(blocks: Blocks, reprint: Reprint) -> None:
    changed = apply(("width", "quotes"), blocks, reprint)
    assert changed != blocks
    assert _letters(text(changed)) == _letters(text(blocks))


def _letters(text: str) -> str:
    return "".join(character for character in normalize(text) if character.isalnum())


@pytest.mark.parametrize(("blocks", "reprint"), CASES)
def test_typos_are_few_and_the_same_every_time(blocks: Blocks, reprint: Reprint) -> None:
    mistyped = apply(("typos",), blocks, reprint)
    wrong = sum(a != b for a, b in zip(text(mistyped), text(blocks), strict=True))
    assert 1 <= wrong <= 6
    assert mistyped == apply(("typos",), blocks, reprint)


def test_edits_of_other_parts_of_the_page_leave_the_body_alone() -> None:
    assert apply(("title", "links"), CHINESE, ZH) == CHINESE


_PARAGRAPH = st.text(st.sampled_from('天地人的在，。？！”abc XYZ.?!’"'), min_size=1).filter(str.strip)


@settings(max_examples=60, deadline=None)
@given(st.lists(_PARAGRAPH, min_size=1, max_size=4), st.sampled_from([ZH, EN]), st.integers(0, 2**32))
def test_any_text_survives_its_editors(paragraphs: list[str], reprint: Reprint, seed: int) -> None:
    blocks = tuple(map(Block, paragraphs))
    reprint = Reprint(reprint.language, reprint.source, reprint.author, reprint.caption, seed)
    assert text(apply(("resplit",), blocks, reprint)) == text(blocks)
    assert len(text(apply(("typos",), blocks, reprint))) == len(text(blocks))
    assert text(blocks).startswith(text(apply(("drop_end",), blocks, reprint)))
