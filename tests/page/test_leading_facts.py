"""Records and ingredients between the heading and the text are read, in all templates."""

from __future__ import annotations

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.page import read_page
from tests.page.samples import PARAGRAPH, SECOND

THIRD = PARAGRAPH[::-1]
PAIRS = [("Ward", "Mill side"), ("Applicant", "A. Soto"), ("Received", "3 May"), ("Reference", "22/0315")]
LIST = "<dl>{}</dl>".format("".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in PAIRS))
HEADS = "<table>{}</table>".format("".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in PAIRS))
CELLS = HEADS.replace("th>", "td>")
TEXT = f"<p>{PARAGRAPH}</p><p>{SECOND}</p>"
LONG = f"{TEXT}<p>{THIRD}</p><p>{SECOND[::-1]}</p>"
TEMPLATES = [
    "<div id=c><h1>Plan</h1>{}{}</div>",
    "<div id=c><h1>Plan</h1><div class=facts>{}</div><div class=body>{}</div></div>",
    "<article><h1>Plan</h1>{}<div class=entry>{}</div></article>",
    "<main><h1>Plan</h1><section>{}</section><section><h2>Proposal</h2>{}</section></main>",
    "<div><h1>Plan</h1>{}<h2>Proposal</h2>{}</div>",
    "<div><h1>Plan</h1><p>A short line.</p>{}{}</div>",
]


@pytest.mark.parametrize("record", [LIST, HEADS, CELLS], ids=["dl", "th", "td"])
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("text", [TEXT, LONG], ids=["short", "long"])
def test_a_record_above_the_text_is_read(record: str, template: str, text: str) -> None:
    page = read_page("<nav><a href=/>Home</a></nav>" + template.format(record, text))
    lines = page.text.split("\n")
    assert {word for pair in PAIRS for word in pair} <= {*lines}
    assert SECOND in lines


@pytest.mark.parametrize(
    "record",
    [
        "<dl><dt>Author</dt><dd>A. Soto</dd><dt>Section</dt><dd>News</dd></dl>",
        LIST.replace("A. Soto", "<a href=/soto>A. Soto</a>"),
        "<ul><li>Filters<li>With a wheel<li>With a dam<li>With a barn</ul>",
    ],
    ids=["byline", "links", "choices"],
)
def test_other_cells_and_items_above_the_text_are_left_out(record: str) -> None:
    page = read_page(TEMPLATES[1].format(record, LONG))
    assert page.text.split("\n") == [PARAGRAPH, SECOND, THIRD, SECOND[::-1]]


AMOUNTS = [
    "200 g flour",
    "2 eggs",
    "a pinch of salt",
    "½ l milk",
    "50 g butter",
    "1 lemon",
    "3 apples",
    "a little sugar",
]
AMOUNTS_ZH = ["面粉 200 克", "鸡蛋 2 个", "盐少许", "牛奶 500 毫升", "黄油 50克", "苹果 3 个"]
STEPS = f"<ol><li>{PARAGRAPH}</li><li>{SECOND}</li><li>{THIRD}</li></ol>"
RECIPES = [
    f"<h1>Cake</h1><p>{SECOND[:90]}.</p><h2>Ingredients</h2><ul>{{}}</ul><h2>Method</h2>{STEPS}",
    f"<h1>Cake</h1><div class=a><h2>Ingredients</h2><ul>{{}}</ul></div><div class=b><h2>Method</h2>{STEPS}</div>",
    f"<h1>Cake</h1><div class=a><ul>{{}}</ul></div><div class=b><p>{PARAGRAPH}</p><p>{SECOND}</p><p>{THIRD}</p></div>",
]


@pytest.mark.parametrize("amounts", [AMOUNTS, AMOUNTS_ZH], ids=["en", "zh"])
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("template", ["{}", "<main>{}</main>", "<article>{}</article>"])
def test_the_ingredients_of_a_recipe_are_read(amounts: list[str], recipe: str, template: str) -> None:
    page = read_page(template.format(recipe.format("".join(f"<li>{amount}</li>" for amount in amounts))))
    lines = page.text.split("\n")
    assert {*amounts} <= {*lines}
    assert SECOND in lines


BARE = [
    "<h2>Plan</h2>{}{}",
    "<h3>Plan</h3>{}{}",
    "{}{}",
    "<b>Plan</b>{}{}",
    "<h1>Gazette</h1><h1>Plan</h1>{}{}",
    "<h1><a href=/plan>Plan</a></h1>{}{}",
    "<h2>Plan</h2>{}<h2>Proposal</h2>{}",
]


@pytest.mark.parametrize("record", [LIST, HEADS, CELLS], ids=["dl", "th", "td"])
@pytest.mark.parametrize("bare", BARE)
@pytest.mark.parametrize("text", [TEXT, LONG], ids=["short", "long"])
def test_a_record_is_read_in_a_bare_view_too(record: str, bare: str, text: str) -> None:
    lines = read_page(f"<title>Plan</title>{bare.format(record, text)}<p><a href=/>Home</a></p>").text.split("\n")
    assert {word for pair in PAIRS for word in pair} <= {*lines}
    assert SECOND in lines


@pytest.mark.parametrize("bare", BARE)
@pytest.mark.parametrize("template", TEMPLATES[:-1])
def test_a_bare_view_of_a_page_with_a_record_is_a_copy(template: str, bare: str) -> None:
    if "Gazette" in bare and "<h2>" in template:
        pytest.xfail("a copy is kept: each page has a line beside the text that the other lacks")
    record = CELLS.replace(
        "</table>", "<tr><td>Clerk</td><td>In the town hall</td><td>Phone</td><td>555 0102</td></table>"
    )
    full = read_page(
        f"<title>Plan</title><nav><a href=/>Home</a></nav>{template.format(record, LONG)}", "https://a.example/1"
    )
    view = read_page(f"<title>Plan</title>{bare.format(record, LONG)}", "https://a.example/print/1")
    with Deduplicator() as dedup:
        assert dedup.add(full).keep
        assert not dedup.add(view).keep


def test_cells_that_something_else_separates_from_the_text_are_left_out() -> None:
    page = read_page(
        f"<h2>Gazette</h2>{CELLS}<div><a href=/news>News</a> and <a href=/sport>sport</a></div><div>{LONG}</div>"
    )
    assert page.text.split("\n") == [PARAGRAPH, SECOND, THIRD, SECOND[::-1]]


# -- below the text -------------------------------------------------------------------------------

HOURS = [("Monday", "9 to 17"), ("Tuesday", "9 to 12"), ("Friday", "closed")]
ITEMS = "<ul><li>Cedar roof<li>Copper gutters<li>Oak doors</ul>"
BELOW = {
    "dl": "<dl>{}</dl>".format("".join(f"<dt>{day}</dt><dd>{when}</dd>" for day, when in HOURS)),
    "table": "<table>{}</table>".format("".join(f"<tr><td>{day}</td><td>{when}</td></tr>" for day, when in HOURS)),
    "list": ITEMS,
}


@pytest.mark.parametrize("name", BELOW)
@pytest.mark.parametrize("heading", ["", "<h2>In short</h2>"], ids=["plain", "headed"])
@pytest.mark.parametrize("text", [TEXT, LONG], ids=["short", "long"])
def test_a_list_or_table_below_the_text_is_read(name: str, heading: str, text: str) -> None:
    page = read_page(f"<article><h1>Plan</h1>{text}{heading}{BELOW[name]}</article><footer>Imprint</footer>")
    last = page.text.split("\n")[-1]
    assert last == ("Oak doors" if name == "list" else "closed")
    assert not heading or "In short" in page.text


@pytest.mark.parametrize(
    "below",
    [
        "<ul><li>News<li>Harbour</ul>",
        ITEMS.replace("Oak doors", "<a href=/doors>Oak doors</a>").replace(
            "Cedar roof", "<a href=/roof>Cedar roof</a>"
        ),
        "<ul><li>Source: The Gazette<li>By Ann Smith<li>Published 3 May 2024</ul>",
    ],
    ids=["labels", "links", "bylines"],
)
def test_other_items_below_the_text_are_left_out(below: str) -> None:
    page = read_page(f"<article><h1>Plan</h1>{LONG}{below}</article>")
    assert page.text.split("\n") == [PARAGRAPH, SECOND, THIRD, SECOND[::-1]]


def test_pages_of_two_sites_with_other_facts_below_one_text_are_not_identical() -> None:
    html = f"<article><h1>Plan</h1>{LONG}{BELOW['dl']}</article>"
    with Deduplicator() as dedup:
        dedup.add(html=html, url="https://a.example/1")
        other = html.replace("9 to 17", "8 to 16").replace("9 to 12", "7 to 11")
        assert dedup.add(html=other, url="https://b.example/1").keep
        assert not dedup.add(html=html, url="https://c.example/1").keep
