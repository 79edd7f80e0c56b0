"""Lists of links are indexes, whatever stands beside them; short texts below menus, and pages of manuals, are none."""

from __future__ import annotations

import pytest

from dedupcrawl import Deduplicator, Page
from dedupcrawl.page import Kind, ReadOptions, read_page
from dedupcrawl.text.features import compared_text
from tests.page.samples import CHINESE, CHINESE_TWO, PARAGRAPH, SECOND, links

ABOUT = f"<h3>About this mill</h3><p>{PARAGRAPH}</p><p>{SECOND}</p><p>{PARAGRAPH[::-1]}</p><p>{SECOND[::-1]}</p>"
ABOUT_ZH = f"<h3>关于</h3><p>{CHINESE}{CHINESE_TWO}</p><p>{CHINESE_TWO}{CHINESE}</p><p>{CHINESE}</p>"
MENU = f"<div class=top>{' '.join(links(40, label='Part {}'))}</div>"
POSTS = links(8, label="How the river rose the {}th time")
POSTS_ZH = links(8, label="第{}次涨水之后的村子和磨坊")
RECENT = (
    f"<div class=box><h3>Recent</h3><ul><li>{'<li>'.join(links(15, label='The council met the {}th time'))}</ul></div>"
)
DATED = "".join(f"<li><time datetime='2019-05-01'>05-01</time> {link}</li>" for link in POSTS_ZH)
HEADED = "".join(f"<div class=post><h2>{link}</h2></div>" for link in POSTS)
WHOLE = "".join(
    f"<div class=post><h2>{link}</h2><p>{PARAGRAPH} {at}</p><p>{SECOND} {at}</p><p>{PARAGRAPH[::-1]} {at}</p></div>"
    for at, link in enumerate(POSTS[:3])
)

LISTS = {
    "main": f"<main><div id=content><h1>河</h1><ul>{DATED}</ul></div></main><div class=intro>{ABOUT_ZH}</div>",
    "aside in main": f"<title>标签: 河 | 磨坊</title><main><h1>河</h1><ul>{DATED}</ul><aside>{ABOUT_ZH}</aside></main>",
    "column in main": f"<title>标签: 河</title><main><h1>河</h1><ul>{DATED}</ul><div class=a>{ABOUT_ZH}</div></main>",
    "headlines": f"<div id=content><h1>Rivers</h1>{HEADED}</div><div id=secondary>{ABOUT}</div>",
    "no heading": f"<title>归档: 2019 | 磨坊</title><div class=wrap><ul>{DATED}</ul></div><div>{ABOUT_ZH}</div>",
    "archive": f"<title>Archives – The mill</title><div>{HEADED}</div><div>{ABOUT}</div>",
    "one post": f"<title>Category: rivers</title><div><h1>Rivers</h1><p>{POSTS[0]}</p></div><div>{ABOUT}</div>",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_an_index_whatever_stands_in_the_side_columns(name: str) -> None:
    assert read_page(LISTS[name]).kind is Kind.INDEX


TEXTS = {
    "recent posts": f"<title>The flood</title>{MENU}<div><h1>The flood</h1><p>{PARAGRAPH}</p></div>{RECENT}",
    "list in the head": f"<title>The flood</title><div><h1>The flood</h1>{HEADED}</div><div class=b>{ABOUT}</div>",
    "about tags": f"<title>Tags in HTML: an introduction</title><main><h1>Tags in HTML</h1>{ABOUT}</main>{RECENT}",
    "whole posts": f"<title>Tag: rivers</title><main><h1>Tag: rivers</h1>{WHOLE}</main>{RECENT}",
    "long, beside a list": f"<main><h1>河</h1><ul>{DATED}</ul></main><div>{ABOUT * 5}</div>",
    "titled as a list": f"<title>Archives: what they keep</title><div><h1>Archives</h1>{ABOUT}</div>{RECENT}",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_beside_a_list_is_an_article(name: str) -> None:
    assert read_page(TEXTS[name]).kind is Kind.ARTICLE


SHORT = {
    "under its heading": "<title>雨天</title>{}<div><h1>雨天</h1><p>今天下雨没有出门在家里修磨</p></div>{}",
    "under a second heading": "<title>雨</title><h1><a href=/>磨坊</a></h1>{}<div><h2>雨</h2><p>在家修磨</p></div>{}",
    "under a link": "<title>Rain – Mill</title>{}<div><h1><a href=/rain>Rain</a></h1><p>At home all day</p></div>{}",
    "declared": "<title>Rain</title>{}<article><h1>Rain</h1><p>Stayed at home and mended the old mill</p></article>{}",
}


@pytest.mark.parametrize("name", SHORT)
def test_a_short_post_below_large_menus_is_an_article(name: str) -> None:
    assert read_page(SHORT[name].format(MENU, RECENT)).kind is Kind.ARTICLE


def test_a_date_below_the_heading_of_a_list_is_no_post() -> None:
    page = read_page(f"<title>Results</title>{MENU}<div><h1>Results</h1><p>Sunday, 8 May 2022</p></div>{RECENT}")
    assert page.kind is Kind.INDEX


@pytest.mark.parametrize("title", ["Rivers « The mill", "The mill « The mill", "The mill"])
def test_the_motto_of_a_site_is_no_post(title: str) -> None:
    """Each list of the site has it: they would be copies of each other."""
    head = "<div id=header><h1><a href=/>The mill</a></h1><div>A weblog from the river that turns it</div></div>"
    few = f"<div id=content><h2>Rivers</h2><ul><li>{POSTS[0]}<li>{POSTS[1]}</ul></div>"
    assert read_page(f"<title>{title}</title>{head}{few}{RECENT}{MENU}").kind is Kind.INDEX


MEMBERS = "".join(
    f"<h3>turn{at}</h3><div>public void turn{at}(<a href=/w>Water</a> water)</div><div>Turns the wheel</div>"
    for at in range(6)
)
ROWS = "".join(
    f"<tr><td><a href=/t{at}>Text</a></td><td><a href=W.html#m{at}>turn{at}</a></td></tr>" for at in range(8)
)


@pytest.mark.parametrize(
    "body", [MEMBERS, f"<pre>public class Wheel extends <a href=/o>Object</a></pre><table>{ROWS}</table>"]
)
def test_a_short_page_of_a_class_is_an_article(body: str) -> None:
    assert read_page(f"<title>Wheel (mill)</title>{MENU}<h1>Class Wheel</h1>{body}").kind is Kind.ARTICLE


HEADLINES = [
    f"The {what} of the {where} is {how} again this year"
    for what in ("river", "council", "school", "museum")
    for where in ("north", "old town")
    for how in ("open", "closed", "delayed", "full", "empty")
]
MARKUP = {
    "li": "<ul><li>{}</ul>|<li>",
    "td": "<table><tr><td>{}</table>|<tr><td>",
    "h3": "<h3>{}</h3>|</h3><h3>",
    "br": "<div>{}</div>|<br>",
    "bar": "<p>{}</p>| | ",
    "dot": "<div>{}</div>| &middot; ",
    "space": "<div>{}</div>| ",
    "comma": "<p>{}</p>|, ",
    "dd": "<dl><dd>{}</dl>|<dd>",
    "div": "<div>{}</div>|</div><div>",
    "span": "<div><span>{}</span></div>|</span> <span>",
    "p": "<p>{}</p>|</p><p>",
    "numbers": "<table><tr><td>1.<td>{}</table>|<tr><td>2.<td>",
    "dates": "<dl><dt>{}<dd>3 May</dl>|<dd>3 May<dt>",
}


@pytest.mark.parametrize("markup", MARKUP)
@pytest.mark.parametrize(
    "page", ["{}", "<h1>News of the district</h1>{}", "<main><h1>News</h1>{}</main><footer>© 2026</footer>"]
)
def test_headlines_are_an_index_whatever_separates_them(page: str, markup: str) -> None:
    frame, _, separator = MARKUP[markup].partition("|")
    links = [f'<a href="/story/{place}.html">{headline}</a>' for place, headline in enumerate(HEADLINES)]
    read = read_page(f"<title>News</title>{page.format(frame.format(separator.join(links)))}")
    assert len(HEADLINES) == 40
    assert read.kind is Kind.INDEX


def test_r1_decides_whether_links_are_a_statement() -> None:
    links = "<br>".join(
        f'<a href="/story/{place}.html">{headline}</a> 3 May' for place, headline in enumerate(HEADLINES)
    )
    body = f"<title>News</title><h1>News</h1><div>{links}</div>"
    assert read_page(body).kind is Kind.ARTICLE  # R = .88
    assert read_page(body, options=ReadOptions(link_density_noise=0.8)).kind is Kind.INDEX


@pytest.mark.parametrize("separator", [" – ", "<br>&bull; ", " / ", "；"])
def test_the_separators_of_a_long_list_are_no_sentences(separator: str) -> None:
    links = [f'<a href="/story/{place}.html">{headline}</a>' for place, headline in enumerate(HEADLINES * 3)]
    assert read_page(f"<title>News</title><h1>News</h1><p>{separator.join(links)}</p>").kind is Kind.INDEX


def test_the_dates_of_a_long_list_are_no_article() -> None:
    links = "".join(f'<dt><a href="/{place}.html">{line}</a><dd>3 May' for place, line in enumerate(HEADLINES * 3))
    assert read_page(f"<title>News</title><h1>News</h1><dl>{links}</dl>").kind is Kind.INDEX


INTRODUCTIONS = {
    "en": "Here are all reports of our editors since the beginning of the year, ordered by the day of publication.",
    "zh": "这里汇集了本报编辑部今年以来的全部报道，按照发表的日期排列，更早的报道请使用搜索功能查找。",
}


@pytest.mark.parametrize("markup", MARKUP)
@pytest.mark.parametrize("language", INTRODUCTIONS)
@pytest.mark.parametrize("host", ["a", "b"])
def test_lists_with_one_introduction_are_no_copies(markup: str, language: str, host: str) -> None:
    frame, _, separator = MARKUP[markup].partition("|")

    def listing(url: str, lines: list[str]) -> Page:
        links = [f'<a href="/story/{line[:9]}{at}.html">{line}</a>' for at, line in enumerate(lines)]
        intro = f"<div id=c><h1>News</h1><p>{INTRODUCTIONS[language]}</p>{frame.format(separator.join(links))}</div>"
        return read_page(f"<title>News</title><nav><a href=/>Home</a></nav>{intro}", url)

    with Deduplicator() as dedup:
        assert dedup.add(listing("https://a.example/news", HEADLINES[:8])).keep
        assert dedup.add(listing(f"https://{host}.example/news?page=2", HEADLINES[8:16])).keep


def test_a_list_under_a_heading_of_its_own_is_beside_a_short_text() -> None:
    links = "".join(f'<li><a href="/{at}.html">{line}</a>' for at, line in enumerate(HEADLINES))
    news = f"<div><h1>Bridge closed</h1><p>{INTRODUCTIONS['en']}</p><h2>More news</h2><ul>{links}</ul></div>"
    assert HEADLINES[3] not in compared_text(read_page(f"<title>Bridge closed</title>{news}"))
