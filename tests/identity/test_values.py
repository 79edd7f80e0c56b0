"""The values of a page: which numbers of a text are values, and which count readers."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from dedupcrawl.identity.values import MAX_NUMBERS, other_text, page_values, short_facts, values_of
from dedupcrawl.page.model import Page
from dedupcrawl.text.normalize import normalize


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("bolt 3.5 x 20, 4 packs", "3.5 20 4"),
        ("rooms 2024-05 and 12-31", "2024-05 12-31"),
        ("10x20 and 10 x 20", "10x20 10 20"),
        ("1,200 pieces, 3.", "1,200 3"),
        ("m3", "3"),
        ("-11.02 and a -7 to \u22127", "-11.02 -7"),
        ("rooms 2-4, pages 3 - 4, b-7, (-5), --6, 5-, -x", "2-4 3 4 7 5 6"),
        ("12,,3 and 3--", "12 3"),
        ("", ""),
        ("none", ""),
        ("7", "7"),
        ("1.2万人，3亿颗", "1.2 3"),
        ("the plan is for 10 users", "10"),
        ("updated on 4 may 2026, 14:05; 7 pages", "7"),
        ("更新：2026年5月4日 14:05，共7页", "7"),
        ("第5次会议，第 6 次会议", "5 6"),
        ("评分 4.5", "4.5"),
        ("won 3 times in 40 races", "3 40"),
        ("20 ready, 12 reading rooms, 5 doors", "20 12 5"),
        ("5 of 40 bolts for 12 people", "5 40 12"),
        ("30 days, 3 hours", "30 3"),
    ],
)
def test_values_are_numbers_with_the_marks_inside_them(text: str, values: str) -> None:
    assert values_of(text.encode()) == dict.fromkeys(values.encode().split(), False)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("on 2024-05-03, 3.5.2024 and 3/5/24 at 12:31", ["2024-05-03", "3.5.2024", "3/5/24"]),
        ("12 may 2024, 12 june", ["12 may 2024", "12 june"]),
        ("may 12th, 2024; sept. 2025", ["may 12th, 2024", "sept. 2025"]),
        ("12. märz 2024, le 1er août, 3 de enero de 2020", ["12. märz 2024", "1er août", "3 de enero de 2020"]),
        ("3 maggio 2024, 4 maja, 5 мая 2024", ["3 maggio 2024", "4 maja", "5 мая 2024"]),
        ("2024年5月3日，10月1日", ["2024年5月3日", "10月1日"]),
        (
            "551 €, 24€, € 16.13, $5, us$ 7, usd 30, 40 eur",
            ["551 €", "24€", "€ 16.13", "$5", "us$ 7", "usd 30", "40 eur"],
        ),
        ("300元，1.2万元，500円", ["300元", "1.2万元", "500円"]),
        ("64 m2, 120 kwh, 3.5 nm, 20mm, 12 %, 气温12.5度", ["64 m2", "120 kwh", "3.5 nm", "20mm", "12 %", "12.5度"]),
        ("-12.5 °c, \u22123 mm, -3 may 2024, $ -7", ["-12.5 °c", "-3 mm", "3 may 2024"]),
        ("is it 5 m? it is 20 kg! from $ 7", ["5 m", "20 kg", "$ 7"]),
        ("published on 3 may 2026, 12:31", []),
        ("3 marches, 4 mayors, 5 kids, 6 inns", []),
    ],
)
def test_dates_prices_and_measures_are_strong(text: str, values: list[str]) -> None:
    found = values_of(text.encode())
    assert [value.decode() for value, is_strong in found.items() if is_strong] == values


@pytest.mark.parametrize(
    "text",
    [
        "comments (12)",
        "comments: 12",
        "12 comments",
        "1.2k views",
        "1,204 views",
        "3 replies",
        "1 reply",
        "1 comment",
        "5 likes",
        "12 followers",
        "40 users online",
        "300+ downloads",
        "read 1,204 times",
        "viewed 12 times",
        "12 of 40 found this helpful",
        "12 of 40 people found this helpful",
        "12 people found this helpful",
        "7 minutes ago",
        "1 min ago",
        "3 hours ago",
        "2 days ago",
        "3051.23 ▲ 1.2",
        "▼ 12",
        "阅读 3051",
        "you are reading the manual of version 2.1.",
        "当前版本：2.1",
        "阅读3051",
        "阅读:3051",
        "阅读(3051)",
        "閱讀：3051",
        "浏览（12）",
        "3051次阅读",
        "1.2万次阅读",
        "1.2万 阅读",
        "12条评论",
        "12 评论",
        "3051人看过",
        "40人点赞",
        "5分钟前",
        "2小时前",
        "点击 12",
        "人气:12",
        "12 kommentare",
        "vor 3 stunden",
        "3 mal gelesen",
        "aufrufe: 3051",
        "12 commentaires",
        "il y a 3 heures",
        "12 comentarios",
        "visto 1201 veces",
        "hace 2 días",
        "12 commenti",
        "3 ore fa",
        "visualizzazioni: 12",
        "12 comentários",
        "12 reacties",
        "40 keer bekeken",
        "12 komentarzy",
        "12 kommentarer",
        "12 комментариев",
        "просмотров: 3051",
        "3 часа назад",
        "コメント 12件",
        "12件のコメント",
        "3051回視聴",
        "3時間前",
    ],
)
def test_numbers_that_count_readers_are_no_values(text: str) -> None:
    text = normalize(text)
    assert values_of(f"a {text} b".encode()) == {}
    assert values_of(f"3.5, {text}".encode()) == {b"3.5": False}
    assert values_of(text.encode()) == {}


def test_a_sign_begins_a_line_too() -> None:
    assert values_of("5\0-5\0\u22126".encode()) == {b"5": False, b"-5": False, b"-6": False}


def test_values_are_examined_up_to_a_number() -> None:
    text = " ".join(map(str, range(1000, 1000 + 2 * MAX_NUMBERS))).encode()
    assert values_of(text) == {str(number).encode(): False for number in range(1000, 1000 + MAX_NUMBERS)}


number_texts = st.lists(
    st.sampled_from(["1", "20", "3.5", "1,2", "x", "-", ".", " ", "  ", "a", "数", "/", ":", "'", "9"]), max_size=30
).map("".join)


def facts_of(text: str) -> bytes:
    return page_values(text.encode()).facts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ends on 12 may at noon", "ends on 12 june at noon"),
        ("was 10, now 8", "was 8, now 10"),
        ("it costs 300 eur", "it costs 300 usd"),
        ("价格三百元", "价格五百元"),
        ("a plan for 10 users", "a plan for 50 users"),
        (" ".join(map(str, range(5000))) + " and 59", " ".join(map(str, range(5000))) + " and 79"),
        ("1 " * 140 + "59 euros", "1 " * 140 + "79 euros"),
    ],
)
def test_facts_change_with_any_number_its_place_and_its_unit(old: str, new: str) -> None:
    assert facts_of(old) != facts_of(new)
    assert facts_of(old) == facts_of(old)


@pytest.mark.parametrize(
    ("old", "new"),
    [("price 3 eur. 12 comments.", "price 3 eur. 1,302 comments."), ("阅读 3051，售价5元", "阅读 9，售价5元")],
)
def test_facts_do_not_change_with_a_counter(old: str, new: str) -> None:
    assert facts_of(old) == facts_of(new)


def test_short_facts_are_short_lines_without_numbers() -> None:
    page = Page(
        url="",
        text="Colour: Red\nA line that says so much that it is no short fact of anything\n12:30",
        stated="Colour – RED\nGlaze 7\nUpdated: 3 May 2026",
    )
    assert short_facts(*other_text(page)) == {b"colour red": False, b"glaze": True}
