"""Notes on the publication of a text are no part of it."""

from __future__ import annotations

import pytest

from dedupcrawl import Deduplicator, Status
from dedupcrawl.page import read_page
from dedupcrawl.page.notices import _CHINESE_KEYS, _ENGLISH_KEYS, MAX_NOTED_BYTES, is_publication_note, may_hold_note
from tests.page.samples import CHINESE, CHINESE_TWO, PARAGRAPH, SECOND

ENGLISH_NOTES = [
    "This article was first published on the website of the Harbour Post. Read the original article.",
    "Disclaimer: the views expressed in this piece are those of the writer and not of this newspaper.",
    "The material in this release comes from the organisation named above and was edited for length.",
    "© 2026 The Harbour Post. Distributed by the Northern Content Agency, LLC.",
    "Reprinted with permission from the Harbour Post, which holds the rights.",
    "Subscribe to our newsletter, and follow us on Facebook for all that happens on the coast.",
    "This post may contain affiliate links, for which we are paid when you buy.",
]
CHINESE_NOTES = [
    "声明：本文转载自《海港日报》，版权归原作者所有，如有侵权请与我们联系删除。",
    "免责声明：以上内容为作者个人观点，与本平台无关，请读者自行核实文中的真实性。",
    "凡本网注明“来源：海港日报”的作品，未经授权不得转载、摘编。",
    "本文首发于微信公众号“海港观察”，经授权发布，文字略有删减。",
    "以上内容仅供参考，不构成任何投资建议，股市有风险，入市需谨慎。",
    "欢迎关注海港日报微信公众号，长按二维码即可关注。",
    "聲明：本文僅代表作者立場，不代表本網觀點，轉載請註明出處。",
]
#: First and last paragraphs of articles that are about publishing, or speak of texts.
STATEMENTS = [
    "The novel first appeared in 1840, and was reprinted with new plates after the war.",
    "In this article we compare three ways of measuring the height of the tide.",
    "The court held that the newspaper had published the photographs without the consent of the owner.",
    "The council's view is that the bridge should be edited out of the plans, a spokesman said.",
    "The bank left its rate unchanged at 5.25 percent, its governor said on Tuesday.",
    "2019 Harbour estate review: a car for the coast road",
    "法院认为，被告未经许可在网站上刊登原告拍摄的照片，应当赔偿损失。",
    "本文介绍了三种测量潮位的方法，并比较了它们的误差。",
    "外交部发言人在声明中表示，双方将继续就边界问题进行磋商。",
    "他声明自己没有看过那部小说，也不认识它的作者。",
    "未经水务局批准，不得擅自开启闸门，违者由公安机关处理。",
    "今起市民可以扫码乘坐渡轮，也可以下载“海港通”APP预约船票。",
    "新船的首航时间请关注码头的公告栏。",
    "If the symptoms persist, swimmers should seek medical advice.",
    "According to figures provided by the agency, the tide rose by four feet.",
    "The letters have been edited by his sister, who also wrote the preface.",
]


def page(*paragraphs: str) -> str:
    return f"<body><h1>The flood</h1>{''.join(f'<p>{each}</p>' for each in paragraphs)}</body>"


@pytest.mark.parametrize("note", [*ENGLISH_NOTES, *CHINESE_NOTES])
def test_a_note_on_either_side_of_a_text_goes(note: str) -> None:
    first, second = (PARAGRAPH, SECOND) if note in ENGLISH_NOTES else (CHINESE, CHINESE_TWO)
    assert read_page(page(first, second, note)).text == f"{first}\n{second}"
    assert read_page(page(note, first, second)).text == f"{first}\n{second}"


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_about_publishing_stays(statement: str) -> None:
    assert statement in read_page(page(PARAGRAPH, SECOND, statement)).text
    assert not is_publication_note(statement, len(statement.encode()))


@pytest.mark.parametrize(
    "ending", ["（责任编辑：王小明）", "<br>责任编辑：王小明", "<br>转载请注明来源。", " Follow us on Twitter."]
)
def test_a_paragraph_that_ends_with_a_note_stays(ending: str) -> None:
    assert CHINESE_TWO in read_page(page(CHINESE, CHINESE_TWO + ending)).text


def test_notes_inside_a_text_stay() -> None:
    paragraphs = [f"{PARAGRAPH[:90]} {n}." for n in range(5)]
    assert ENGLISH_NOTES[0] in read_page(page(*paragraphs, ENGLISH_NOTES[0], *paragraphs[::-1])).text


def test_a_page_of_notes_is_about_them() -> None:
    text = read_page(page(*CHINESE_NOTES[:4])).text
    assert all(note in text for note in CHINESE_NOTES[:4])


def test_beside_a_long_text_notes_are_not_looked_for() -> None:
    long = [PARAGRAPH] * (MAX_NOTED_BYTES // len(PARAGRAPH) + 1)
    assert ENGLISH_NOTES[0] in read_page(page(*long, ENGLISH_NOTES[0])).text


@pytest.mark.parametrize("note", [*ENGLISH_NOTES, *CHINESE_NOTES])
def test_what_is_looked_for_together_finds_each_note(note: str) -> None:
    texts = [CHINESE if note in CHINESE_NOTES else PARAGRAPH, note]
    assert may_hold_note(texts, sum(len(text.encode()) for text in texts))


def test_keys_are_in_lower_case() -> None:
    assert [key for key in (*_ENGLISH_KEYS, *_CHINESE_KEYS) if key != key.lower()] == []


@pytest.mark.parametrize("note", CHINESE_NOTES)
def test_a_short_reprint_with_a_note_of_its_site_is_dropped(note: str) -> None:
    def url(host: str) -> str:
        return f"https://{host}.example/news/1.html"

    with Deduplicator() as dedup:
        dedup.add(html=page(CHINESE, CHINESE_TWO), url=url("harbour"))
        verdict = dedup.add(html=page(CHINESE, CHINESE_TWO, note), url=url("portal"))
    assert verdict.status is Status.DUPLICATE
    assert not verdict.keep


def test_two_stories_under_one_note_are_kept() -> None:
    with Deduplicator() as dedup:
        kept = [
            dedup.add(html=page(story, *CHINESE_NOTES[:3]), url=f"https://portal.example/{place}").keep
            for place, story in enumerate((CHINESE, CHINESE_TWO))
        ]
    assert kept == [True, True]
