from __future__ import annotations

import pytest

from dedupcrawl.page import Page, read_page
from dedupcrawl.page.rules import (
    FRAME,
    GUIDE_LINKS,
    MAIN_TEXT,
    SideKind,
    is_caption,
    is_consent_notice,
    is_credit,
    points_elsewhere,
    side_kind,
)
from tests.page.samples import CHINESE, CHINESE_TWO, PARAGRAPH, SECOND, article

STORIES = [(PARAGRAPH, SECOND), (CHINESE, CHINESE_TWO)]


def reason_of(page: Page, text: str) -> str:
    return next(block.reason for block in page.blocks if text in block.text)


# -- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Read more: The flood",
        "RELATED: The flood",
        "See also: The flood",
        "DON'T MISS\nThe flood",
        "You may also like: The flood",
        "相关阅读：昨夜大雨",
        "【推荐阅读】昨夜大雨",
        "上一篇：昨夜大雨",
    ],
)
def test_pointers(text: str) -> None:
    assert points_elsewhere(text)


@pytest.mark.parametrize(
    "text",
    [
        "Reading the report: a guide",
        "Read the report on the flood that came out today",
        "More than ten: that was the count",
        "Population: Paris",
        "相关部门：市水务局",
        "更多的人来到岸边",
    ],
)
def test_no_pointers(text: str) -> None:
    assert not points_elsewhere(text)


@pytest.mark.parametrize(
    "text",
    [
        "By Ann Smith, The Gazette, 3 November",
        "Source: The Gazette | 10:22 GMT",
        "(Reporting by Ann Smith; editing by Tom Brown)",
        "© 2024 The Gazette",
        "Last updated 3 May 2024",
        "来源：新华社",
        "（责任编辑：张三）",
        "2005-04-05 06:40更新 来源：转载文章",
        "本报记者 王燕平",
        "第1页/共3页",
    ],
)
def test_credits(text: str) -> None:
    assert is_credit(text, len(text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "By noon the water had begun to fall",
        "Source of the Nile found by two brothers.",
        "Sourcery for beginners",
        "时间：5月1日下午2点",
        "地点：市图书馆",
        "编辑部搬家了",
        "记者节快乐",
        "Source: " + "the river " * 20,
    ],
)
def test_no_credits(text: str) -> None:
    assert not is_credit(text, len(text.encode()))


@pytest.mark.parametrize(
    ("text", "caption"),
    [
        ("The dam above the town (Image: GETTY)", True),
        ("File photo: a view of the scene. (Getty Images)", True),
        ("图为活动现场。新华社记者 李明摄", True),
        ("图为活动现场。资料图片", True),
        ("The water fell (a hand in the hour)", False),
        ("He sold the house (it was too damp).", False),
        ("他卖掉了老照片和旧家具", False),
        ("The river rose. " * 20 + "(Getty Images)", False),
    ],
)
def test_captions(text: str, caption: bool) -> None:
    assert is_caption(text, len(text.encode())) is caption


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        ("This website uses cookies to count its visitors.", True),
        ("Diese Website verwendet Cookies.", True),
        ("本网站使用 Cookie 以改善您的体验。", True),
        ("Beat the butter, then fold in the cookie crumbs.", False),
        ("The site of the mill was sold.", False),
    ],
)
def test_consent_notices(text: str, notice: bool) -> None:
    assert is_consent_notice(text, len(text.encode())) is notice


# -- in pages -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pointer",
    [
        "Read more: <a href='/1'>The flood of the year before last</a>",
        "相关阅读：<a href='/1'>前年的大水让全村的人都搬到了山上</a>",
    ],
)
def test_a_pointer_inside_the_text_goes(pointer: str) -> None:
    page = read_page(f"<div><p>{PARAGRAPH}</p><p>{pointer}</p><p>{SECOND}</p></div>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}"
    assert GUIDE_LINKS in {block.reason for block in page.blocks}


def test_a_sentence_that_begins_like_a_pointer_stays() -> None:
    sentence = f"Related: {SECOND} Of this <a href='/1'>the Gazette</a> wrote."
    page = read_page(f"<div><p>{PARAGRAPH}</p><p>{sentence}</p></div>")
    assert SECOND in page.text


@pytest.mark.parametrize(("first", "second"), STORIES)
@pytest.mark.parametrize(
    "frame",
    [
        "<p>By Ann Smith, The Gazette, 3 November</p>{}<p>Copyright 2024. All rights reserved</p>",
        "<p>来源：江潮晚报</p>{}<p>（责任编辑：张三）</p>",
        "<p>This website uses cookies.</p>{}",
        "{}<p>The dam above the town (Image: GETTY)</p>",
        "{}<p>图为大桥。新华社记者 李明摄</p>",
    ],
)
def test_a_frame_goes(first: str, second: str, frame: str) -> None:
    page = read_page(f"<div>{frame.format(f'<p>{first}</p><p>{second}</p>')}</div>")
    assert page.text == f"{first}\n{second}"
    assert {block.reason for block in page.blocks if block.text not in (first, second)} <= {FRAME}


def test_a_credit_deep_in_the_text_stays() -> None:
    body = "".join(f"<p>{number} {SECOND}</p>" for number in range(5))
    page = read_page(article(f"{body}<p>By Ann Smith, who was there</p>{body}"))
    assert reason_of(page, "By Ann Smith") == MAIN_TEXT


@pytest.mark.parametrize(
    "pictures",
    [
        [f"The dam on day {day}, seen from the mill (Photo: Ann Smith)" for day in range(9)],
        [f"图为第{day}天从磨坊看到的大坝。新华社记者 李明摄" for day in range(9)],
    ],
)
def test_a_page_of_pictures_is_its_captions(pictures: list[str]) -> None:
    page = read_page("<div>" + "".join(f"<p>{picture}</p>" for picture in pictures) + "</div>")
    assert page.text == "\n".join(pictures)


def test_a_recipe_for_cookies_is_no_notice() -> None:
    steps = [f"Put {count} of the cookies on the tin and bake them until they are brown." for count in range(9)]
    assert read_page(f"<ol>{''.join(f'<li>{step}</li>' for step in steps)}</ol>").text == "\n".join(steps)


# -- class and id -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        "css-1d8ad8q",
        "col w-variant-2a872dd3-bab5-8141-0ad7-251b924e42e6",
        "field field--label-hidden",
        "qu-overflow--hidden",
        "hidden_indents",
        "elementor-text-editor",
        "sp-code-editor",
    ],
)
def test_generated_names_and_names_of_programs_show_no_side_part(names: str) -> None:
    assert side_kind(names) is SideKind.NONE


@pytest.mark.parametrize("names", ["ad", "ad-300x250", "topAd", "hidden", "box hidden", "is-hidden", "visually-hidden"])
def test_short_names_of_side_parts_are_still_known(names: str) -> None:
    assert side_kind(names) is SideKind.LIKELY


@pytest.mark.parametrize(
    "line",
    [
        "12 May 2021 Source: The Gazette By Ann Smith",
        "May 12th, 2021 | By Ann Smith | Source: The Gazette",
        "12. Mai 2021 Quelle: Der Bote Autor: Anna Schmidt",
        "Le 12 mai 2021 – Source : La Gazette",
        "12 de mayo de 2021 Fuente: El Correo Autor: Ana Soto",
        "12 maggio 2021 Fonte: Il Corriere",
        "12 maja 2021 Źródło: Kurier",
        "12 мая 2021 Источник: Вестник Автор: А. Иванова",
        "2021年5月12日 来源：清河日报 作者：李明",
        "2021年5月12日 出典：清河新聞",
        "2021년 5월 12일 출처: 청하일보",
        "12.05.2021 10:31 Kilde: Posten",
    ],
)
def test_a_line_with_date_and_origin_is_a_credit(line: str) -> None:
    assert is_credit(line, len(line.encode()))
    page = read_page(article(f"<p>{line}</p>"))
    assert page.text == f"{PARAGRAPH}\n{SECOND}"
    page = read_page(f"<h1>Flood</h1><div><p>{line}</p><p>{PARAGRAPH}</p><p>{SECOND}</p></div>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}"


@pytest.mark.parametrize(
    "line",
    [
        "On 12 May 2021 the mill was sold by Ann Smith for a sum that nobody was told.",
        "12 May 2021 was the day on which the river rose above the bridge",
        "Resource: the river at the mill, measured in May",
        "The source: a spring above the mill",
    ],
)
def test_a_line_with_a_date_or_an_origin_alone_is_none(line: str) -> None:
    assert not is_credit(line, len(line.encode()))
