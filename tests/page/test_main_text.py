from __future__ import annotations

import pytest

from dedupcrawl.page import Kind, Page, ReadOptions, read_page
from dedupcrawl.page.rules import (
    COMMENTS,
    EDGE,
    GUIDE_LINKS,
    LANDMARK,
    MAIN_TEXT,
    NESTED,
    OUTSIDE,
    POOR_CONTAINER,
    REPEATED,
    SIDE_CLASS,
    TEASER,
    SideKind,
    side_kind,
)
from tests.page.samples import CHINESE, CHINESE_TWO, PARAGRAPH, SECOND, article, links

THIRD = (
    "By noon the water had begun to fall, a finger's breadth in the hour, and the children were sent back to "
    "school with mud on their boots and a story that none of them would ever finish telling."
)
FOURTH = (
    "The bridge was closed to carts for the rest of the week, since nobody could see what the water had done "
    "to its piers, and the post was carried over on foot by two men with a rope between them."
)
TEASE = THIRD[:90].strip()


def reason_of(page: Page, text: str) -> str:
    return next(block.reason for block in page.blocks if text in block.text)


# -- what goes ------------------------------------------------------------------------------------


def test_navigation_footer_and_side_column_go() -> None:
    page = read_page(
        f"<nav>{' '.join(links(8))}</nav><table><tr><td width=160>{'<br>'.join(links(12))}</td>"
        f"<td><h1>The flood</h1><p>{PARAGRAPH}</p><p>{SECOND}</p><p>{THIRD}</p></td>"
        f"<td>Weather: rain<br>Wind: west</td></tr></table><footer>{SECOND[::-1]}</footer>"
    )
    assert page.text == f"{PARAGRAPH}\n{SECOND}\n{THIRD}"
    assert page.kind is Kind.ARTICLE
    assert reason_of(page, SECOND[::-1]) == LANDMARK
    assert reason_of(page, "Weather") in {OUTSIDE, POOR_CONTAINER}


@pytest.mark.parametrize("names", ['class="relatedPosts"', 'id="sidebar-left"', 'class="box share_bar"'])
def test_side_classes_go(names: str) -> None:
    page = read_page(article(f"<div {names}><p>{TEASE}</p></div><p>{THIRD}</p><p>{PARAGRAPH[::-1]}</p>"))
    assert reason_of(page, TEASE) == SIDE_CLASS
    assert THIRD in page.text


@pytest.mark.parametrize("widget", ['<div class="code-widget">{}</div>', "<aside class=sidebar><div>{}</div></aside>"])
def test_a_listing_of_code_stays_in_the_text_around_it(widget: str) -> None:
    """Whatever the class of the widget around it says."""
    listing = "for page in crawl:\n    keep(page)"
    page = read_page(article(widget.format(f"<pre>{listing}</pre><p>{TEASE}</p>") + f"<p>{THIRD}</p>"))
    assert reason_of(page, "keep(page)") == (MAIN_TEXT if "aside" not in widget else LANDMARK)
    assert reason_of(page, TEASE) != MAIN_TEXT


def test_numbers_of_lines_are_no_headlines_of_a_listing() -> None:
    """Each line of a listing has a link to itself, and the page has several listings."""
    numbers = "<br>".join(f"<a href='/post?line={number}'>{number}</a>" for number in range(40))
    listings = "".join(
        f"<table><tr><td>{numbers}</td><td><pre>collator{at} = make({at})</pre></td></tr></table><p>{SECOND}{at}</p>"
        for at in range(5)
    )
    page = read_page(article(f"{listings}<p>{THIRD}</p>"))
    assert all(f"collator{at}" in page.text for at in range(5))


def test_a_listing_in_a_comment_goes_with_it() -> None:
    comment = f"<div class=comments><p>{TEASE}</p><pre>import spam; spam.send()</pre></div>"
    page = read_page(article(f"<p>{THIRD}</p><p>{FOURTH}</p><p>{PARAGRAPH[::-1]}</p>{comment}"))
    assert reason_of(page, "spam") == COMMENTS


def test_comments_go_although_they_are_longer_than_the_article() -> None:
    comments = "".join(f"<div class='comment'><p>{number} {THIRD}</p></div>" for number in range(30))
    page = read_page(article(f"<p>{THIRD}</p><p>{FOURTH}</p>") + f"<div id='comments'>{comments}</div>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}\n{THIRD}\n{FOURTH}"
    assert page.rest == ""
    assert reason_of(page, f"7 {THIRD}") == COMMENTS


def test_a_page_of_comments_alone_is_its_comments() -> None:
    assert read_page(f"<div id='comments'><p>{PARAGRAPH}</p><p>{SECOND}</p></div>").text == f"{PARAGRAPH}\n{SECOND}"


def test_a_class_word_does_not_cut_most_of_the_text() -> None:
    page = read_page(f"<div class='page has-sidebar sidebar'><p>{PARAGRAPH}</p><p>{SECOND}</p></div>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}"


def test_teasers_of_other_stories_go() -> None:
    teasers = "".join(
        f"<div><h3><a href='/{number}'>Headline of story {number}</a></h3><p>{TEASE} {number}</p></div>"
        for number in range(6)
    )
    page = read_page(article(f"<p>{THIRD}</p><p>{FOURTH}</p><div>{teasers}</div>"))
    assert page.text == f"{PARAGRAPH}\n{SECOND}\n{THIRD}\n{FOURTH}"
    assert page.rest == ""
    assert reason_of(page, f"{TEASE} 3") == TEASER
    assert reason_of(page, "Headline") == GUIDE_LINKS


@pytest.mark.parametrize(
    "inner", [f"<p>{THIRD} {{}}</p>", "<h2><a href='/{0}'>昨夜大雨</a></h2><p>昨夜的大雨让全城的街道都积了水。{0}</p>"]
)
def test_articles_inside_the_article_go(inner: str) -> None:
    others = "".join(f"<article>{inner.format(number)}</article>" for number in range(3))
    page = read_page(
        f"<article><p>{PARAGRAPH}</p><p>{SECOND}</p><p>{FOURTH}</p><p>{PARAGRAPH[::-1]}</p>{others}</article>"
    )
    assert page.text == f"{PARAGRAPH}\n{SECOND}\n{FOURTH}\n{PARAGRAPH[::-1]}"
    assert reason_of(page, inner.format(1).split("<p>")[1][:15]) == NESTED


def test_an_article_inside_another_stays_where_it_is_the_text() -> None:
    page = read_page(f"<article><p>{TEASE}</p><article><p>{PARAGRAPH}</p><p>{SECOND}</p></article></article>")
    assert f"{PARAGRAPH}\n{SECOND}" in page.text


def test_what_stands_outside_main_does_not_join_the_text_inside() -> None:
    about = f"<p>{THIRD}</p><p>{FOURTH}</p>"
    page = read_page(f"<main><div><p>{PARAGRAPH}</p><p>{SECOND}</p></div></main><div>{about}</div>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}"
    assert reason_of(page, FOURTH) == OUTSIDE


@pytest.mark.parametrize("name", ["cookie-bar", "site-footer", "gdprConsent"])
@pytest.mark.parametrize(
    ("story", "notice"),
    [((PARAGRAPH, SECOND), f"{THIRD} {FOURTH}"), ((CHINESE, CHINESE_TWO), CHINESE_TWO[::-1] + CHINESE[::-1])],
)
def test_notices_go_although_they_are_as_long_as_the_article(name: str, story: tuple[str, str], notice: str) -> None:
    page = read_page(f"<div><p>{story[0]}</p><p>{story[1]}</p><div class='{name}'><p>{notice}</p></div></div>")
    assert page.text == f"{story[0]}\n{story[1]}"
    assert reason_of(page, notice) == SIDE_CLASS


def test_a_long_text_in_a_notice_is_what_the_page_is_about() -> None:
    policy = "".join(f"<p>{number}. {THIRD}</p>" for number in range(12))
    page = read_page(f"<div class='privacy-policy'>{policy}</div><div><p>{PARAGRAPH}</p><p>{SECOND}</p></div>")
    assert f"11. {THIRD}" in page.text


def test_short_blocks_at_the_edges_go() -> None:
    page = read_page(f"<div><div>Monday</div><p>{PARAGRAPH}</p><p>{SECOND}</p><div>Page 1</div></div>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}"
    assert reason_of(page, "Monday") == EDGE
    assert reason_of(page, "Page 1") == EDGE


# -- what stays -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        *("Printed from", "Распечатано с", "Ausgedruckt von", "Gedruckt am 3. Mai 2026 von", "Impreso desde"),
        *("Imprimé le 3 mai 2026 :", "Stampato da", "Wydrukowano ze strony", "打印自：", "印刷元："),
    ],
)
def test_the_line_of_a_print_view_goes(words: str) -> None:
    line = f"{words} https://daily.example/news/2026/05/03/the-flood-at-the-old-bridge.html"
    page = read_page(f"<body><h1>The flood</h1><p>{PARAGRAPH}</p><p>{SECOND}</p><hr><small>{line}</small></body>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}"


@pytest.mark.parametrize(
    "line",
    [
        *("Распечатано с daily.example", "Gedruckt von daily.example/news/3", "Ausgedruckt am 3. Mai 2026"),
        *(
            "Impreso de daily.example el 3 de mayo de 2026",
            "Imprimé depuis daily.example",
            "Stampato da daily.example.",
        ),
        *(
            "Vytištěno z daily.example",
            "Nyomtatva: daily.example",
            "Εκτυπώθηκε από daily.example",
            "打印自：daily.example",
        ),
        *("Diese Seite wurde gedruckt von https://daily.example/3", "This page was printed from: daily.example"),
        *("Cet article a été imprimé depuis daily.example", "Página impresa de https://daily.example/3"),
        *("Questo articolo è stato stampato da daily.example", "Страница распечатана с daily.example"),
        *("Stampa da daily.example", "Wydruk ze strony daily.example", "Skrevet ut fra daily.example"),
        *("本页打印自：daily.example", "印刷日: 2026年5月3日", "この記事は https://daily.example/3 から印刷されました"),
        *("이 기사는 daily.example에서 인쇄되었습니다", "Print date: 3 May 2026", "Permalink: https://daily.example/3"),
        *("本文网址：https://daily.example/3", "Версия для печати: https://daily.example/3"),
        *("Printed from the Gazette on 3 May 2026", "Udskrevet fra daily.example", "Yazdırıldı: daily.example"),
    ],
)
def test_a_print_line_needs_no_url(line: str) -> None:
    page = read_page(f"<body><h1>The flood</h1><p>{PARAGRAPH}</p><p>{SECOND}</p><p>{line}</p></body>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}"


@pytest.mark.parametrize(
    "sentence",
    [
        "Imprimerie Duval, the old press, has its archive of the flood at www.duval.example.",
        "Impressed as they were, the masons wrote of the flood at www.duval.example.",
        "Gedruckt wurde das Buch in Leipzig, und niemand hat es je gelesen.",
        "Impreso en Sevilla, el libro cuenta la historia del puente.",
        "Der Artikel gedruckt am 3. Mai 1998 hängt noch in der Mühle.",
        "Website of the flood museum: https://museum.example/",
    ],
)
def test_a_line_about_printing_stays(sentence: str) -> None:
    page = read_page(f"<body><h1>The flood</h1><p>{PARAGRAPH}</p><p>{SECOND}</p><p>{sentence}</p></body>")
    assert sentence in page.text


def test_short_blocks_inside_stay() -> None:
    page = read_page(article(f"<h2>At noon</h2><p>It fell.</p><p>{THIRD}</p>"))
    assert page.text == f"{PARAGRAPH}\n{SECOND}\nAt noon\nIt fell.\n{THIRD}"


def test_a_post_that_the_article_embeds_stays() -> None:
    page = read_page(article(f"<div class='social-embed'><p>{THIRD}</p></div><p>{FOURTH}</p>"))
    assert page.text == f"{PARAGRAPH}\n{SECOND}\n{THIRD}\n{FOURTH}"


@pytest.mark.parametrize(("first", "second"), [(PARAGRAPH, SECOND), (CHINESE, CHINESE_TWO)])
def test_a_second_copy_of_the_article_brings_nothing_else_in(first: str, second: str) -> None:
    copy = f"<p>{first}</p><p>{second}</p>"
    other = f"<div><h2>News</h2><div>{'<br>'.join(links(3))}</div></div>"
    page = read_page(f"<div><div>{copy}</div>{other}</div><div class='reading-aid'><h3>Aid</h3>{copy}</div>")
    assert page.text == f"{first}\n{second}"
    assert page.rest == ""
    assert [block.reason for block in page.blocks if block.text == first] == [MAIN_TEXT, REPEATED]


def test_what_comes_again_stays() -> None:
    page = read_page(f"<div><p>{PARAGRAPH}</p><p>{SECOND}</p><p>{PARAGRAPH}</p></div>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}\n{PARAGRAPH}"


def test_lists_and_tables_inside_stay() -> None:
    rows = "".join(f"<tr><td>{hour} h</td><td>{hour * 7} cm</td></tr>" for hour in range(12))
    page = read_page(article(f"<ul><li>Rain</li><li>Snow</li></ul><table>{rows}</table><p>{THIRD}</p>"))
    assert "Rain\nSnow" in page.text
    assert "11 h\n77 cm" in page.text


def test_line_breaks_part_lines_of_one_block() -> None:
    page = read_page(f"<td>{PARAGRAPH}<br><br> {SECOND} <br/>{THIRD}</td>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}\n{THIRD}"
    assert len(page.blocks) == 1


def test_a_rule_parts_blocks() -> None:
    assert len(read_page(f"<div>{PARAGRAPH}<hr>{SECOND}</div>").blocks) == 2


def test_text_after_a_paragraph_is_a_block_of_its_own() -> None:
    page = read_page(f"<div><p>{PARAGRAPH}</p>{SECOND}<h2>Noon</h2>{THIRD}</div>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}\nNoon\n{THIRD}"


def test_inline_elements_part_no_words() -> None:
    page = read_page(article("<p>It was <b>bold</b>ly<span> said</span>, <i>once</i> <font>more</font>.</p>"))
    assert next(block.text for block in page.blocks if "bold" in block.text) == "It was boldly said, once more."


@pytest.mark.parametrize(
    "template",
    [
        "<div class=content>{}</div>",
        "<form><table><tr><td>{}</td></tr></table></form>",
        "<article><section>{}</section></article>",
        "<div><ul><li><a href=/>Home</a></li></ul></div><center>{}</center><div>All rights reserved</div>",
        "<main><div><div><div>{}</div></div></div></main><aside><p>Read us on paper</p></aside>",
    ],
)
@pytest.mark.parametrize(("first", "second"), [(PARAGRAPH, SECOND), (CHINESE, CHINESE_TWO)])
def test_the_same_article_in_any_template_is_the_same_text(template: str, first: str, second: str) -> None:
    assert read_page(template.format(f"<p>{first}</p><p>{second}</p>")).text == f"{first}\n{second}"
    assert read_page(template.format(f"{first}<br>{second}")).text == f"{first}\n{second}"


# -- kinds ----------------------------------------------------------------------------------------


def test_nothing_but_guide_links_is_an_index() -> None:
    lists = "".join(f"<div><h2>Part {part}</h2><ul><li>{'<li>'.join(links(15))}</ul></div>" for part in range(4))
    page = read_page(f"<title>Portal</title><nav>{' '.join(links(9))}</nav>{lists}<p>All rights reserved</p>")
    assert page.kind is Kind.INDEX


@pytest.mark.parametrize(
    "owner", ["© 2024 The Gazette. All rights reserved.", "版权所有 江潮晚报 京ICP备05000248号", "The Gazette"]
)
def test_an_index_is_one_although_its_owner_signs_it(owner: str) -> None:
    lists = "".join(f"<ul><li>{'<li>'.join(links(15))}</ul>" for _ in range(4))
    assert read_page(f"{lists}<div><p>{owner}</p></div>").kind is Kind.INDEX


def test_a_footer_does_not_make_an_article_of_an_index() -> None:
    footer = "<div id='footer'><p>Notes is held together with string. Entries and comments. 23 queries.</p></div>"
    assert read_page(f"<ul><li>{'<li>'.join(links(40))}</ul>{footer}").kind is Kind.INDEX


@pytest.mark.parametrize(
    "notice", ["Ridge Lane is closed to vehicles on Saturday from noon.", "周六中午起山脊路禁止车辆通行。"]
)
def test_a_notice_among_many_links_is_an_article(notice: str) -> None:
    page = read_page(f"<nav>{' '.join(links(40))}</nav><div><h1>Road closure</h1><p>{notice}</p></div>")
    assert page.kind is Kind.ARTICLE
    assert notice in page.text


@pytest.mark.parametrize(
    "flash",
    [
        "今晨大雾，轮渡停航两小时，公司称无人受伤。（财联社）",
        "The morning ferry was delayed for two hours by fog. (Reuters)",
        "The morning ferry was delayed for two hours by fog. Nobody was hurt <a href=/more>All details</a>",
        "今晨大雾，轮渡停航两小时，预计午后恢复",
        "The morning ferry was delayed for two hours by fog",
    ],
)
@pytest.mark.parametrize("menu", ["<nav>{}</nav>", "<ul><li>{}</ul>", "<div>{}</div>"])
def test_a_flash_under_a_menu_is_an_article(flash: str, menu: str) -> None:
    sections = menu.format(" ".join(links(20, label="Part {}")))
    foot = "<div><a href=/about>About us</a> <a href=/contact>Contact</a> © 2024 The Gazette</div>"
    page = read_page(f"<title>Fog</title>{sections}<div><h1>Fog</h1><p>{flash}</p></div>{foot}")
    assert page.kind is Kind.ARTICLE
    assert flash.partition(" <a")[0] in page.text


@pytest.mark.parametrize(
    "line", ["Choose your region from the list of all regions below", "请从下面的列表中选择您所在的地区"]
)
@pytest.mark.parametrize("label", ["Part {}", "Other story, number {}"])
def test_a_line_above_a_list_of_links_is_no_article(line: str, label: str) -> None:
    # two such pages have the same line, and other links: as articles they would be copies
    page = read_page(
        f"<title>Regions</title><h1>Regions</h1><p>{line}</p><ul><li>{'<li>'.join(links(40, label=label))}</ul>"
    )
    assert page.kind is Kind.INDEX
    menu = f"<nav>{' '.join(links(9))}</nav>"
    headlines = f"<ul><li>{'<li>'.join(links(40, label='The council has met for the {}th time'))}</ul>"
    assert read_page(f"{menu}{headlines}<h1>Regions</h1><p>{line}</p>").kind is Kind.INDEX
    address = f"<ul><li>{'<li>'.join(links(40, label=label))}</ul><p>{line}</p>"
    assert read_page(f"<h1>Regions</h1>{address}").kind is read_page(address).kind is Kind.INDEX


@pytest.mark.parametrize(
    "label", ["St. Mary and All Saints, at the old harbour: No. 5", "The U.S. edition of the paper"]
)
def test_an_abbreviation_is_no_end_of_a_sentence(label: str) -> None:
    page = read_page(f"<ul><li>{'<li>'.join(links(40))}</ul><div><p>{label}</p></div>")
    assert page.kind is Kind.INDEX


def test_a_bare_list_of_links_is_an_index() -> None:
    page = read_page("<br>".join(links(30)))
    assert (page.kind, page.text) == (Kind.INDEX, "")


def test_a_page_of_navigation_alone_is_an_index() -> None:
    assert read_page(f"<nav>{' '.join(links(30))}</nav>").kind is Kind.INDEX


def test_a_list_of_files_is_an_article() -> None:
    page = read_page("<br>".join(links(30, "/{}.pdf", "Annual report of the mill, volume {}")))
    assert page.kind is Kind.ARTICLE
    assert "volume 30" in page.text


def test_a_short_page_is_an_article() -> None:
    page = read_page("<html><body>Closed today.</body></html>")
    assert (page.kind, page.text) == (Kind.ARTICLE, "Closed today.")


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "side"),
    [
        ("", SideKind.NONE),
        ("article-body content", SideKind.NONE),
        ("relatedPosts", SideKind.LIKELY),
        ("rel main_RELATED-box", SideKind.LIKELY),
        ("post tag-ads category-newsletter has-sidebar", SideKind.NONE),
        ("commentlist", SideKind.COMMENTS),
        ("related comments", SideKind.COMMENTS),
        ("recommentation headline download shadow", SideKind.NONE),
    ],
)
def test_words_in_names(names: str, side: SideKind) -> None:
    assert side_kind(names) is side


def test_what_outweighs_the_main_text_is_the_rest_of_the_page() -> None:
    terms = "Orders are shipped within three working days; goods may be returned within thirty days of delivery."
    goods = "".join(f"<div><h3>Saw {n}</h3><span>{n}9.50 EUR</span></div>" for n in range(20))
    page = read_page(f"<div>{goods}</div><div><p>{terms}</p></div>")
    assert page.text == terms
    assert "Saw 7\n79.50 EUR" in page.rest


def test_an_article_has_no_rest() -> None:
    assert read_page(article(f"<p>{PARAGRAPH}</p><p>{SECOND}</p>")).rest == ""


THREAD = "<div class='{}'><div><a href='/u/{{0}}'>{{1}}</a></div><div>{{2}}</div></div>"


@pytest.mark.parametrize("name", ["post", "comment", "entry"])
@pytest.mark.parametrize(
    ("author", "post", "rules"),
    [
        ("member", "I have had the same trouble with pump {}, and only a new valve has put an end to it.", THIRD),
        ("会员", "我家的水泵{}号也有同样的毛病，唯一有用的办法是拆下来把阀门洗干净再反着装回去。", CHINESE_TWO),
    ],
)
def test_a_thread_is_not_taken_for_the_rules_of_its_board(name: str, author: str, post: str, rules: str) -> None:
    posts = "".join(THREAD.format(name).format(n, f"{author}{n}", post.format(n)) for n in range(8))
    page = read_page(f"<h1>Pump</h1><div>{posts}</div><div><p>{rules}</p></div>")
    assert post.format(5) in page.text + page.rest


def test_replies_that_are_articles_are_no_less_than_the_rules_of_their_board() -> None:
    replies = "".join(f"<article><a href='/u/{n}'>user{n}</a><p>{TEASE} {n}</p></article>" for n in range(6))
    page = read_page(f"<article><h1>Pump</h1><p>How do I open it?</p>{replies}</article><div><p>{THIRD}</p></div>")
    assert f"{TEASE} 4" in page.text + page.rest


def test_of_two_mains_none_bounds_the_text() -> None:
    notice = f"<main><p>{PARAGRAPH}</p><p>{SECOND}</p></main>"
    page = read_page(f"{notice}<main><h1>Bridge</h1><p>{THIRD}</p></main>")
    assert THIRD in page.text


TERMS = (
    "Goods may be returned within thirty days of delivery, provided that they are unused and in their box.",
    "Orders are shipped within three working days, and those of more than fifty euros are shipped for free.",
    "Our shop is open from Monday to Saturday; on public holidays, the telephone is answered until noon.",
)


def test_terms_do_not_outgrow_what_stands_under_the_heading() -> None:
    terms = "".join(f"<p>{term}</p>" for term in TERMS)
    spoon = "A spoon of olive wood that was carved by hand and oiled; it is no friend of dishwashers."
    page = read_page(f"<div><h1>Spoon</h1><div>{spoon}</div></div><div>{terms}</div>")
    assert spoon in page.text


def test_a_heading_that_is_the_name_of_the_site_draws_no_text_to_it() -> None:
    motto = "The paper of the valley since the first of May of the year 1871."
    page = read_page(f"<div><h1><a href='/'>Gazette</a></h1><div>{motto}</div></div><article><p>{THIRD}</p></article>")
    assert page.text == THIRD


def test_a_list_of_teasers_is_not_taken_for_what_introduces_it() -> None:
    def listing(number: int) -> Page:
        places = "".join(
            f"<li><h3><a href='/{number}/{n}'>Place {n}</a></h3><p>{number} {TEASE} {n}, {THIRD}</p></li>"
            for n in range(12)
        )
        introduction = "".join(f"<p>{text}</p>" for text in (PARAGRAPH, SECOND, FOURTH, CHINESE))
        return read_page(f"<main><h1>Places</h1>{introduction}<ul>{places}</ul></main>")

    first, second = listing(1), listing(2)
    assert f"1 {TEASE} 7" in first.text + first.rest
    assert (first.text, first.rest) != (second.text, second.rest)


def test_commentary_is_what_a_live_page_consists_of() -> None:
    lines = "".join(f"<div class='commentary-item'>Minute {n}: {TEASE}.</div>" for n in range(9))
    assert "Minute 5" in read_page(f"<article><h1>Final</h1>{lines}<p>{THIRD}</p></article>").text


@pytest.mark.parametrize("names", ["register", "privacy-policy", "footer", "comment"])
def test_no_side_part_has_the_heading_of_the_page(names: str) -> None:
    terms = "".join(f"<p>{term}</p>" for term in TERMS)
    page = read_page(f"<div class='{names}'><h1>Flood</h1><p>{THIRD}</p></div><div>{terms}{terms}</div>")
    assert THIRD in page.text


def test_a_gallery_is_its_captions() -> None:
    pictures = "".join(f"<figure><figcaption>{TEASE} {n}.</figcaption></figure>" for n in range(7))
    page = read_page(f"<div>{pictures}</div><div>{''.join(f'<p>{term}</p>' for term in TERMS)}</div>")
    assert f"{TEASE} 5" in page.text + page.rest


def test_goods_are_recognised_by_their_names_although_these_are_links() -> None:
    goods = "".join(f"<div><a href='/{n}'>Saw of steel {n}</a> {n} EUR</div>" for n in range(12))
    page = read_page(f"<div>{goods}</div><div><p>{TERMS[0]}</p></div>")
    assert "Saw of steel 7" in page.text + page.rest


@pytest.mark.parametrize("reader", ["blocks", "topic", "text"])
@pytest.mark.parametrize("tag", ["article", "main", "section", "my-app", "p"])
def test_a_page_may_leave_out_body(tag: str, reader: str) -> None:
    story = " ".join((PARAGRAPH, SECOND, THIRD, FOURTH))
    html = f"<!doctype html><title>T</title><meta charset=utf-8><{tag}><div>{story}</div></{tag}>"
    page = read_page(html, options=ReadOptions(reader=reader))
    assert (page.text, page.title) == (story, "T")
