"""When two pages of one site are about different things, and when two versions of a page say the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.errors import DamageError
from dedupcrawl.identity import siblings as module
from dedupcrawl.identity.identity_codec import MAX_NAMES, MAX_VALUES, unpack_identity
from dedupcrawl.identity.identity_sketch import sketch_identity
from dedupcrawl.identity.siblings import (
    NAMES_IN_TEXT,
    NUMBERS_IN_NAMES,
    UNREADABLE,
    is_refresh,
    reference_names_apart,
    why_different,
    why_siblings,
)
from dedupcrawl.matching import names_apart
from dedupcrawl.page.model import Page
from dedupcrawl.page.signatures import files_signature, removed_signature, with_layout
from dedupcrawl.text import features
from dedupcrawl.text.features import Features

TERMS = "Goods that were used or cut to size cannot be returned. Parcels are sent on weekdays before noon. "


def page(
    name: str,
    text: str = TERMS,
    heading: str | None = None,
    title: str | None = None,
    beside: str = "",
    stated: str = "",
) -> Page:
    """Return a page; by default the name is its heading, and its title also carries the name of the site."""
    return Page(
        url="https://a.example/",
        text=text,
        heading=name if heading is None else heading,
        title=f"{name} | Harbour Shop" if title is None else title,
        beside=beside,
        stated=stated,
    )


def identity(some: Page) -> bytes:
    return sketch_identity(some, Features(some).encoded, 7)


def why(one: Page, two: Page) -> str:
    """Compare two pages both ways."""
    equal = Features(one).encoded == Features(two).encoded
    found = why_siblings(identity(one), identity(two), equal_text=equal)
    assert why_siblings(identity(two), identity(one), equal_text=equal) == found
    return found


# -- pages of one template, about a common title ---------------------------------------------------

NAME = "Announcement on the repurchase of shares by Larch Harbour Holdings"
LINES = [
    f"{NAME}.",
    "The board of Larch Harbour Holdings makes this announcement under the rules for listed companies. " * 2,
    "The board and all directors warrant that it contains no false record or misleading statement. " * 2,
    "Repurchase of shares: in the month under review the company bought 1,204,400 of its own shares.",
    "The highest price was 12.31, the lowest 11.02. The total amount paid was 14,203,511.40 in cash.",
    "The company will go on with the plan, depending on the market, and will announce what it buys. " * 2,
    "Registered under number 519003.",
]


def announcement(*changes: tuple[str, str], without: int | None = None, more: tuple[str, ...] = ()) -> Page:
    lines = [line.strip() for at, line in enumerate(LINES) if at != without]
    text = "\n".join((*lines, *more))
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return page(NAME, text)


@pytest.mark.parametrize(
    "change",
    [
        ("519003", "519004"),
        ("12.31", "12.37"),
        ("1,204,400", "1,188,700"),
        ("no false record", "a false record"),
        ("go on with", "end"),
        ("11.02.", "-11.02."),
    ],
    ids=["a number", "a price", "an amount", "a negation", "a word", "a sign"],
)
def test_pages_of_one_template_are_siblings(change: tuple[str, str]) -> None:
    assert why(announcement(), announcement(change)) in {module.SENTENCES, module.VALUES}


def test_an_edited_page_is_a_copy() -> None:
    """An editor who corrects a number, and removes a paragraph; one that is as long as a page of the template."""
    assert why(announcement(), announcement(("519003", "519004"), without=2)) == ""


@pytest.mark.parametrize(
    "stamps",
    [
        ("Updated 4 May 2026, 14:05", "Updated 5 May 2026, 9:31"),
        ("Read 1,204 times", "Read 1,377 times"),
        ("更新于 4月5日 14:05", "更新于 4月6日 9:31"),
        ("This is version 2.1", "This is version 2.2"),
    ],
)
def test_stamps_and_counters_make_no_siblings(stamps: tuple[str, str]) -> None:
    assert why(announcement(more=stamps[:1]), announcement(more=stamps[1:])) == ""


@pytest.mark.parametrize("size", [20, 300], ids=["form", "article"])
def test_a_long_text_is_an_article(size: int) -> None:
    """A word in a long text is corrected."""
    more = ("The harbour was quiet. " * size,)
    found = why(announcement(more=more), announcement(("in cash", "in kind"), more=more))
    assert found == (module.SENTENCES if size == 20 else "")


def test_a_view_with_a_line_more_is_a_copy() -> None:
    assert why(announcement(), announcement(more=("Share this with a friend",))) == ""


# -- pages of two sites ---------------------------------------------------------------------------


def test_brief_texts_of_two_sites_differ_by_a_number() -> None:
    one, two = identity(announcement()), identity(announcement(("519003", "519004")))
    assert why_different(one, two) == why_different(two, one) == module.VALUES


def test_longer_texts_of_two_sites_differ_by_many_numbers() -> None:
    """Opening hours and prices under a long introduction. Two numbers may be the date and the page of each site."""
    more = (TERMS * 20,)
    numbers = ("12.31", "9.07"), ("1,204,400", "77,100"), ("14,203,511.40", "703,019.55"), ("11.02", "8.99")
    assert different(announcement(more=more), announcement(*numbers[:2], more=more)) == ""
    assert different(announcement(more=more), announcement(*numbers, more=more)) == module.VALUES


def test_a_reprint_has_another_title_and_lines_more() -> None:
    reprint = replace(announcement(more=("Source: Harbour News, page 3",)), heading="Larch buys", title="Markets today")
    assert why_different(identity(announcement()), identity(reprint)) == ""
    assert why_different(identity(announcement()), b"") == ""


def notice(*words: str, more: str = "") -> Page:
    """Return a page filled in from one template."""
    lines = [f"The counter at the end of the hall is run by {word}." for word in words]
    return page("Guide", "\n".join([*lines, "It is open on all days of the week.", TERMS, more]), heading="Guide")


def different(one: Page, two: Page, **how: bool) -> str:
    found = why_different(identity(one), identity(two), **how)
    assert found == why_different(identity(two), identity(one), **how)
    return found


def test_two_sites_alone_may_have_edited_an_article() -> None:
    assert different(notice("Greta"), notice("Tilda")) == ""
    assert different(notice("Greta", "Ivo", "Max"), notice("Tilda", "Karl", "Rosa")) == ""


def goods(*facts: str, more: str = "") -> Page:
    """Return a page of one of many goods, with facts in words below a long text."""
    lines = [f"{label}: {value}" for label, value in zip(("Colour", "Maker", "Material"), facts, strict=True)]
    return page("Offer", "\n".join([TERMS, f"{TERMS} {TERMS}", *lines, more]), heading="Offer")


def goods_zh(*facts: str) -> Page:
    lines = [f"{label}：{value}" for label, value in zip(("颜色", "厂家", "材料"), facts, strict=True)]
    return page(
        "产品",
        "\n".join(["本公司产品均由专业工厂生产，质量稳定，交货及时，欢迎各界朋友来电洽谈订购。" * 4, *lines]),
        heading="产品",
    )


def test_facts_in_words_tell_pages_of_two_sites_apart() -> None:
    assert different(goods("red", "Harrow", "oak"), goods("blue", "Harrow", "oak")) == module.SHORT_FACTS
    assert different(goods("red", "Harrow", "oak"), goods("blue", "Castell", "oak")) == module.SHORT_FACTS
    assert different(goods_zh("红色", "华兴", "橡木"), goods_zh("蓝色", "华兴", "橡木")) == module.SHORT_FACTS
    assert different(goods_zh("红色", "华兴", "橡木"), goods_zh("红色", "华兴", "橡木")) == ""


def test_facts_of_an_edited_reprint_tell_nothing() -> None:
    """The credit of each site, beside another change of the text, or in a line more."""
    assert different(goods("red", "Harrow", "oak"), goods("blue", "Castell", "steel")) == ""
    first, other = goods("red", "Harrow", "oak"), goods("red", "By Ann Miller", "oak")
    edited = replace(other, text=other.text.replace("sent on weekdays", "sent on all days", 1))
    assert different(first, edited) == ""
    assert different(first, replace(other, text=f"{other.text}\nPhoto: Ann")) == ""


def test_a_line_that_a_site_adds_to_a_reprint_tells_nothing() -> None:
    more = notice("Greta", "Ivo", more="First printed in the Harbour Courier.")
    assert different(notice("Greta", "Ivo"), more) == different(notice("Greta", "Ivo"), more, of_template=True) == ""


def test_the_sentences_of_a_template_decide_however_many_they_are() -> None:
    one, two = notice("Greta", "Ivo", "Max"), notice("Tilda", "Karl", "Rosa")
    assert different(one, two, of_template=True) == module.SENTENCES_OF_TEMPLATE
    assert different(one, two, of_template=True, equal_text=True) == ""
    assert different(one, one, of_template=True) == ""


SHORT_TEXTS = (
    "Two herons stood at the lock, and one of them asked for the time.",
    "A baker sold his shadow, and had to work at noon from then on.",
    "The mayor of Aldmere paints every bench green, but never sits down.",
    "Nobody knew why the bell rang, least of all the man at the rope.",
    "A fox went to school for a week, and learned to wait at the gate.",
    "The ferry sank slowly enough for the band to finish its waltz.",
)


def collection(order: str, *more: str) -> Page:
    return page("Stories", "\n".join([*(SHORT_TEXTS[int(each)] for each in order), *more]))


@pytest.mark.parametrize("more", [(), (TERMS * 80,)], ids=["short", "long"])
def test_two_collections_of_two_sites_have_another_order(more: tuple[str, ...]) -> None:
    one = collection("012345", *more)
    assert different(one, collection("345012", *more)) == module.ORDER
    assert different(one, collection("345012", *more), equal_text=True) == ""
    assert different(one, collection("102345", *more, "First printed in the Harbour Courier.")) == ""


def test_the_order_of_few_common_sentences_tells_nothing() -> None:
    assert different(collection("012"), collection("210")) == ""


def test_on_one_site_the_order_does_not_count() -> None:
    assert why(collection("012345"), collection("345012")) == ""


@given(st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30), unique=True))
def test_common_sentences_in_another_order_are_counted(mine: list[int], others: list[int]) -> None:
    common = [each for each in mine if each in others]
    pairs = [(one, two) for place, one in enumerate(common) for two in common[place + 1 :]]
    inverted = [pair for pair in pairs if others.index(pair[0]) > others.index(pair[1])]
    expected = len(common) >= module.MIN_COMMON and len(inverted) / len(pairs) > module.MAX_INVERTED
    assert module.are_reordered(mine, others) == module.are_reordered(others, mine) == expected


# -- siblings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "two", "reason"),
    [
        # Each text has its own name: sizes, towns, lines of a timetable.
        (
            page("Flat in Norden", "A flat in Norden. " + TERMS),
            page("Flat in Esens", "A flat in Esens. " + TERMS),
            module.NAMES_IN_TEXT,
        ),
        (page("沪指快讯", "沪指今日上涨。"), page("深成快讯", "深成今日上涨。"), module.NAMES_IN_TEXT),
        # The terms are read as the text of both: it is about neither.
        (page("Carpenter"), page("Plumber"), module.NAMES_OVER_EQUAL_TEXT),
        (page("Carpenter", TERMS + "Today."), page("Plumber", TERMS + "Monday."), module.HEADINGS),
        (page("Bolt M3"), page("Bolt M4"), module.NUMBERS_IN_NAMES),
        (page("Bolt M3", "Bolt. " + TERMS), page("Bolt M4", "Bolt! " + TERMS), module.NUMBERS_IN_NAMES),
        # A single word of the name stands in the text by accident.
        (page("Carpenter"), page("Parcels"), module.NAMES_OVER_EQUAL_TEXT),
        # The name stands in the title only, and beside the text.
        (
            page("Carpenter wanted urgently", heading="", beside="Carpenter wanted urgently"),
            page("Plumber sought today", heading="", beside="Plumber sought today"),
            module.NAMES_OVER_EQUAL_TEXT,
        ),
        # One page has a name, the other only that of the site.
        (page("Carpenter"), page(""), module.NAME_OF_ONE),
        # One name, other values: two dates of a play, in the text or beside it.
        (
            page("The Seagull", "The Seagull, 3.5.2024, 19:30, 24 euros. " + TERMS),
            page("The Seagull", "The Seagull, 4.6.2024, 20:15, 31 euros. " + TERMS),
            module.VALUES,
        ),
        (
            page("Performance", stated="3.5.2024, 19:30"),
            page("Performance", stated="4.6.2024, 20:15"),
            module.VALUES_BESIDE,
        ),
    ],
)
def test_pages_about_two_things_are_siblings(one: Page, two: Page, reason: str) -> None:
    assert why(one, two) == reason


@pytest.mark.parametrize(
    ("one", "two", "reason"),
    [
        # A heading that names the kind of page says nothing about titles that differ.
        (
            page("", heading="Our doctors", title="Dr. Anna Albers | City Clinic"),
            page("", heading="Our doctors", title="Dr. Bernd Brandt | City Clinic"),
            module.NAMES_OVER_EQUAL_TEXT,
        ),
        (
            page("", "We need a baker. " + TERMS, heading="Job offer", title="Baker in Fuchs – Jobs Ltd"),
            page("", "We need a driver. " + TERMS, heading="Job offer", title="Driver in Esens – Jobs Ltd"),
            module.NAMES_IN_TEXT,
        ),
        (
            page("", heading="Decision", title="Case 7/2023"),
            page("", heading="Decision", title="Case 8/2023"),
            module.NUMBERS_IN_NAMES,
        ),
        (
            page("", "招聘护士。\n" + TERMS, heading="招聘信息", title="护士-某某公司"),
            page("", "招聘焊工。\n" + TERMS, heading="招聘信息", title="焊工-某某公司"),
            module.NAMES_IN_TEXT,
        ),
        # Numbers in titles without a heading, over one text about bolts.
        (
            page("", "The bolt factory ships every bolt. " + TERMS, heading="", title="Hex bolt M3 | Bolt factory"),
            page("", "The bolt factory ships every bolt. " + TERMS, heading="", title="Hex bolt M4 | Bolt factory"),
            module.NUMBERS_IN_NAMES,
        ),
        # Facts of a few words, beside the text or in it, under one name or none.
        (
            page("", heading="", title="Shop", stated="Article\nTeapot\nGlaze\nCeladon"),
            page("", heading="", title="Shop", stated="Article\nTeapot\nGlaze\nTenmoku"),
            module.SHORT_FACTS,
        ),
        (
            page("公示", "录用人员：张伟\n现予以公示。\n" + TERMS),
            page("公示", "录用人员：王芳\n现予以公示。\n" + TERMS),
            module.SHORT_FACTS,
        ),
        # Words of a text that is not about its heading: a town, a party to a case, a tick.
        (
            page("Plumber near you", "Our van reaches Alton soon. " + TERMS, title="Plumber near you"),
            page("Plumber near you", "Our van reaches Welby soon. " + TERMS, title="Plumber near you"),
            module.SENTENCES,
        ),
        (
            page("法院公告", "陈立新：本院受理原告诉你买卖合同纠纷一案，自公告之日起经过三十日即视为送达。" + TERMS),
            page("法院公告", "王秀兰：本院受理原告诉你买卖合同纠纷一案，自公告之日起经过三十日即视为送达。" + TERMS),
            module.SENTENCES,
        ),
        (
            page("Facilities", "✓ lift for all who cannot walk, ✗ ramp for wheels. " + TERMS),
            page("Facilities", "✗ lift for all who cannot walk, ✓ ramp for wheels. " + TERMS),
            module.SENTENCES,
        ),
        # Some of many numbers in a brief text that is not about its heading.
        (
            page("Lottery", "Issue 31: 5, 9, 12, 18, 24, 31. " + TERMS + "1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 14, 15."),
            page("Lottery", "Issue 32: 5, 9, 13, 18, 24, 31. " + TERMS + "1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 14, 15."),
            module.VALUES,
        ),
        # A price in digits of another script.
        (
            page("سيارة تويوتا كورولا", "سيارة تويوتا كورولا السعر ١٤٧٠٠ دينار " + TERMS),
            page("سيارة تويوتا كورولا", "سيارة تويوتا كورولا السعر ١١٢٠٠ دينار " + TERMS),
            module.VALUES,
        ),
        # A price beside the text, and no heading.
        (
            page("", heading="", title="Shop", stated="€ 13.10"),
            page("", heading="", title="Shop", stated="€ 14.20"),
            module.VALUES_BESIDE,
        ),
        # One date, price or measure among many numbers.
        (
            page("Hamlet", "3 May 2024, 19:30, Square 4, 20095 Hamburg, 12, 18, 24, telephone 040 3344. " + TERMS),
            page("Hamlet", "3 June 2024, 19:30, Square 4, 20095 Hamburg, 12, 18, 24, telephone 040 3344. " + TERMS),
            module.VALUES,
        ),
        (
            page("Flat to let", "2 rooms, 64 m², 551 €, 3 rents, 1 May 2024, 1998, 120 kWh. " + TERMS),
            page("Flat to let", "3 rooms, 64 m², 568 €, 3 rents, 1 May 2024, 1998, 120 kWh. " + TERMS),
            module.VALUES,
        ),
        (
            page("Tartuffe comedy", "Tartuffe, a comedy: 3 May 2024, 19:30, seats 9, 15, 21, hall 4. " + TERMS),
            page("Tartuffe comedy", "Tartuffe, a comedy: 4 May 2024, 19:30, seats 9, 15, 21, hall 4. " + TERMS),
            module.VALUES,
        ),
    ],
)
def test_a_few_words_or_numbers_tell_pages_apart(one: Page, two: Page, reason: str) -> None:
    assert why(one, two) == reason


STORY = "The harbour froze over in the night, and the ferries stood white at their piers on 3 May 2024. " + TERMS


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (page("Harbour froze over", STORY), page("Harbour froze over", STORY)),
        # Views of one page.
        (page("Harbour froze over", STORY), page("", STORY, title="Print")),
        (page("Harbour froze over", STORY), page("", STORY, title="Printer-friendly version")),
        (page("Harbour froze over", STORY), page("Harbour froze over", STORY, title="News: Harbour froze over")),
        (page("Harbour froze over", STORY), page("Harbour froze over", STORY, heading="")),
        # A new headline over the same text, which is about both.
        (page("Harbour froze over", STORY), page("Ferries stood white in the night", STORY)),
        # A stamp, an edited number, a correction.
        (page("Harbour froze over", STORY), page("Harbour froze over", STORY + "Updated at 12:31.")),
        (page("Harbour froze over", STORY), page("Harbour froze over", STORY + "1 and 2 and 3.")),
        # What stands beside the text tells nothing if the text is about the heading.
        (page("Harbour froze over", STORY, stated="1 2 3"), page("Harbour froze over", STORY, stated="4 5 6")),
        # Views with words of their own in other languages.
        (page("Harbour froze over", STORY), page("", STORY, title="Druckversion", heading="Druckversion")),
        (page("Harbour froze over", STORY), page("", STORY, title="Versión para imprimir")),
        (page("Harbour froze over", STORY), page("", STORY, title="印刷用ページ")),
        # A heading of many pages, and a view that is headed by the name in the title.
        (
            page("", "Greta Kessler passed away. " + TERMS, heading="In loving memory", title="Greta Kessler | Oak"),
            page("", "Greta Kessler passed away. " + TERMS, heading="Greta Kessler", title="Print"),
        ),
        # One product in two categories, with a text about it.
        (
            page("Brown teapot", "A brown teapot for six cups. " + TERMS, title="Brown teapot | Kitchen | Shop"),
            page("Brown teapot", "A brown teapot for six cups. " + TERMS, title="Brown teapot | Gifts | Shop"),
        ),
        # A print view lacks the facts that stand beside the page.
        (page("Shop item", stated="Glaze\nCeladon\n€ 13.10"), page("Shop item", title="Print")),
        # The day of a change, and a date in a long text.
        (
            page("Harbour", "Updated on 3 May 2024, 12:31. " + TERMS),
            page("Harbour", "Updated on 4 May 2024, 14:05. " + TERMS),
        ),
        (
            page("Harbour froze over", STORY + "6, 7, 8, 9. " + "It was cold. " * 200),
            page("Harbour froze over", (STORY + "6, 7, 8, 9. " + "It was cold. " * 200).replace("3 May", "4 May")),
        ),
        # Pages without names or values.
        (Page(url="https://a.example/", text=TERMS), Page(url="https://a.example/", text=TERMS)),
        (Page(url="https://a.example/", text=TERMS), Page(url="https://a.example/", text=TERMS + "More.")),
    ],
)
def test_views_and_versions_are_no_siblings(one: Page, two: Page) -> None:
    assert why(one, two) == ""


def test_one_page_under_two_titles_is_a_copy() -> None:
    """A list under two addresses: its text and all that stands around it are equal, and only the title differs."""
    one, two = (page("", heading="", title=title, beside="Shop\nImprint") for title in ("Page 2 of Ann", "Page two"))
    assert why(one, replace(two, title="Archive of everything")) == ""
    # What differs around the text may be what the page is about.
    assert why(one, replace(two, title="Archive of everything", beside="Imprint")) == module.NAMES_OVER_EQUAL_TEXT
    # A heading of its own is no mere title.
    headed = page("Carpenter", beside="Shop"), page("Plumber", beside="Shop")
    assert why(*headed) == module.NAMES_OVER_EQUAL_TEXT


REFERENCE = (
    "\nReturns a list of the {} found so far.\nRequest syntax: what to send, and how.\nResponse: {} as a list.\n"
)


@pytest.mark.parametrize("more", [0, 60], ids=["brief", "long"])
def test_a_name_with_one_word_more_is_another_one_if_the_lines_differ(more: int) -> None:
    """The word stands in its heading and in its text. A section that a title adds is no such word."""
    shared = "\n".join(
        f"Line {chr(97 + n % 26)}{chr(97 + n // 26)} of the manual that all calls have." for n in range(more)
    )
    one, two = (
        page(name, name + REFERENCE.format(what, what) + shared, title="Manual")
        for name, what in (
            ("list_discovered_resources", "resources"),
            ("list_aggregate_discovered_resources", "aggregate resources"),
        )
    )
    assert why(one, two) == module.SENTENCES
    assert why(one, replace(one, title="Aggregate manual")) == ""
    # A correction under another title.
    assert why(one, replace(one, title="Aggregate manual", text=one.text + "More.")) == ""


def test_a_heading_that_adds_words_to_another_one_over_a_text_about_neither() -> None:
    """The pages have one template and a heading each, so neither is a view of the other. A correction is about both."""
    names = ("Hex bolt", "Long hex bolt", "Long brass hex bolt")
    one, two, three = map(page, names)
    assert why(one, two) == why(two, three) == why(one, three) == module.NAME_OF_ONE
    assert why(page("六角螺栓"), page("加长六角螺栓")) == module.NAME_OF_ONE
    assert why(one, page("Hex bolt", title="Long hex bolts | Harbour Shop")) == ""
    assert why(one, page("Print: hex bolt")) == ""
    story = ("Harbour froze over", "Harbour froze over again")
    assert why(*(page(name, STORY, title="News") for name in story)) == ""


@pytest.mark.parametrize(("one", "two"), [("C++", "C#"), ("F#", "C#"), ("A+", "A-"), ("C", "C++")])
@pytest.mark.parametrize("text", ["{} is used here. ", ""])
def test_names_that_differ_in_a_sign(one: str, two: str, text: str) -> None:
    """Shingles are of words without signs, so the texts match."""
    pages = [page(f"{name} tutorial", STORY + text.format(name), title=f"{name} tutorial") for name in (one, two)]
    assert why(*pages) != ""
    assert why(pages[0], replace(pages[0], title=f"{one} tutorial - print")) == ""


BULLETIN = "\nOn Tuesday the ferries stood at their piers: the harbour froze over in the night, and no ship left."
OTHER_BULLETIN = "\nOn Tuesday the Norden theatre opened its season with a comedy by a local author."


@pytest.mark.parametrize("is_headed", [True, False])
def test_texts_that_differ_only_in_the_lines_of_their_names(*, is_headed: bool) -> None:
    """The names stand in both texts, or only above them."""
    one, new_headline, other = (
        page(name, f"{name}{BULLETIN}\n{TERMS}", title=name, heading=None if is_headed else "")
        for name in ("Harbour froze over", "Ferries stood at piers", "Flats near the station")
    )
    assert why(one, new_headline) == ""
    assert why(new_headline, other) == ""  # the text is about one of them
    about_neither = [
        replace(each, text=each.text.replace(BULLETIN, OTHER_BULLETIN)) for each in (one, new_headline, other)
    ]
    assert why(*about_neither[:2]) == why(*about_neither[1:]) == module.NAMES_IN_TEXT


def test_names_that_stand_in_different_sentences_are_those_of_siblings() -> None:
    one, two = (
        page(f"Flat with garden in {town}", f"Flat with garden in {town}\nThe flat lies in {town}. {TERMS}")
        for town in ("Norden Lütetsburg", "Esens Bensersiel")
    )
    assert why(one, two) == module.NAMES_IN_TEXT


def test_a_view_in_another_layout_may_have_no_name_but_that_of_the_site() -> None:
    story = page("Mission accomplished", beside="Mission accomplished at last")
    view = page("", title="Daily Example", heading="")
    one, two, three = (replace(view, layout=layout) for layout in (b"abcd", b"abxy", b"wxyz"))
    story = replace(story, layout=b"abcd")
    assert why(story, three) == ""
    # Siblings have one template, and the name of an item stands on its page.
    assert why(story, one) == why(story, two) == why(story, view) == module.NAMES_OVER_EQUAL_TEXT
    assert why(story, replace(three, beside="This is a Daily Example")) == module.NAMES_OVER_EQUAL_TEXT
    assert why(story, replace(three, heading="Daily Example")) == module.NAMES_OVER_EQUAL_TEXT
    # Neither page bears its name out.
    unsaid = replace(story, heading="", beside="", title="Mission accomplished")
    assert why(unsaid, three) == module.NAMES_OVER_EQUAL_TEXT


def test_what_a_site_adds_to_all_names_does_not_matter() -> None:
    one, two = (page(name, title=f"{name} – buy online at Harbour Shop") for name in ("Carpenter", "Plumber"))
    assert why(one, two) == module.NAMES_OVER_EQUAL_TEXT
    assert why(one, one) == ""


def test_the_heading_of_a_site_names_no_page() -> None:
    """The only h1 of every page is the name of the site, which the titles repeat."""
    one = page("Flat in Norden", "A flat in Norden. " + TERMS, heading="Harbour Shop")
    two = page("Flat in Esens", "A flat in Esens. " + TERMS, heading="Harbour Shop")
    assert why(one, two) == module.NAMES_IN_TEXT


def test_a_view_that_is_named_after_the_site_is_no_copy_of_a_part() -> None:
    part = page("Bolt M3", heading="Bolt M3", title="Bolt M3 – Harbour Shop")
    assert why(part, page("Harbour Shop", title="Print")) == module.NAME_OF_ONE


WORDS = ("bolt", "m3", "m4", "screw", "harbour", "shop", "3.5", "20", "9.99", "of", "沪指", "深指")
sketches = st.one_of(
    st.binary(max_size=60),
    st.builds(
        lambda heading, title, text, beside, stated: identity(
            Page(url="", heading=heading, title=title, text=text, beside=beside, stated=stated)
        ),
        *[st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)] * 5,
    ),
)


@given(one=sketches, two=sketches, equal=st.booleans())
def test_the_answer_is_the_same_both_ways(one: bytes, two: bytes, *, equal: bool) -> None:
    assert why_siblings(one, two, equal_text=equal) == why_siblings(two, one, equal_text=equal)
    assert is_refresh(one, two) == is_refresh(two, one)


@given(one=sketches, equal=st.booleans())
def test_a_page_is_no_sibling_of_itself(one: bytes, *, equal: bool) -> None:
    assert why_siblings(one, one, equal_text=equal) in {"", UNREADABLE}


@pytest.mark.parametrize("none", [b"", b"\1\2\3\4", b"\1\2\3\4\1"])
def test_a_page_without_an_identity_is_a_copy_of_any(none: bytes) -> None:
    known = identity(page("Carpenter"))
    assert why_siblings(none, known, equal_text=True) == ""
    assert why_siblings(known, none, equal_text=False) == ""
    assert why_different(none, known) == why_different(known, none) == ""
    assert not is_refresh(none, known)
    assert not is_refresh(none, none)


@pytest.mark.parametrize("damaged", [b"\0", bytes(5), b"\xff" * 60, identity(page("Carpenter"))[:-1]], ids=bytes.hex)
def test_an_identity_that_cannot_be_read_makes_no_copy(damaged: bytes) -> None:
    for other in (identity(page("Carpenter")), b"", damaged):
        for pair in ((damaged, other), (other, damaged)):
            assert why_siblings(*pair, equal_text=True) == why_siblings(*pair, equal_text=False) == UNREADABLE
            assert why_different(*pair) == UNREADABLE
            assert not is_refresh(*pair)


def test_names_cut_off_from_a_sample_are_not_missed() -> None:
    """Two pages, one with a long title, are views of each other, whatever the sample holds."""
    long = " ".join(f"word{chr(97 + n)}" for n in range(2 * MAX_NAMES))
    assert why(page("Harbour froze over", STORY), page("Harbour froze over", STORY, title=f"Harbour {long}")) == ""


def test_values_cut_off_from_a_sample_are_not_missed() -> None:
    numbers = [str(number) for number in range(100, 100 + 4 * MAX_VALUES)]
    one, two = (page("List", "List: " + " ".join(some)) for some in (numbers, numbers[: len(numbers) // 2]))
    assert why(one, two) == ""


# -- versions -----------------------------------------------------------------------------------


def test_a_version_with_the_same_names_and_values_is_a_refresh() -> None:
    old = page("Harbour froze over", STORY + "Comments (12)")
    new = replace(old, text=STORY + "Comments (13)")
    assert is_refresh(identity(new), identity(old))
    assert not is_refresh(identity(replace(old, text=STORY.replace("2024", "2025"))), identity(old))
    assert not is_refresh(identity(replace(old, title="Harbour free of ice", heading="")), identity(old))


@given(one=sketches, two=sketches, equal=st.booleans())
def test_names_in_both_texts_are_found_first_with_the_answer_of_all_rules(
    one: bytes, two: bytes, *, equal: bool
) -> None:
    found = why_siblings(one, two, equal_text=equal)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_names_in_both_texts", lambda *_: "")
        assert why_siblings(one, two, equal_text=equal) == found


def with_parts(known: bytes, *, removed: bool, files: bool) -> bytes:
    """Return an identity with signatures of removed text and of files."""
    parts = removed_signature([TERMS], 10) if removed else b"", files_signature(["Track one"]) if files else b""
    return with_layout(known[:4], known[4:], *parts)


def flipped(known: bytes, bit: int) -> bytes:
    """Return an identity of which one bit is another."""
    return (int.from_bytes(known, "big") ^ 1 << bit % (8 * len(known))).to_bytes(len(known), "big") if known else b""


wholes = st.builds(with_parts, sketches.filter(lambda some: len(some) > 4), removed=st.booleans(), files=st.booleans())
stored = st.one_of(sketches, wholes, st.builds(flipped, wholes, st.integers(0, 2000)))


@given(new=stored, olds=st.lists(stored, max_size=5))
def test_compiled_code_compares_names_as_the_reference_does(new: bytes, olds: list[bytes]) -> None:
    found = ["" if how == module.VALUES else how for how in names_apart(new, [*olds, new])]
    assert found == reference_names_apart(new, [*olds, new])


def have_many_values(new: bytes, old: bytes) -> bool:
    """Whether both identities can be read, and each has many values in the main text that the other lacks."""
    try:
        both = unpack_identity(new), unpack_identity(old)
    except DamageError:
        return False
    mine, other = both
    return mine is not None and other is not None and module._many_differ(mine.inner, other.inner)


@pytest.mark.skipif(features.kernel is None, reason="compiled code is not in use")
@given(new=stored, olds=st.lists(stored, min_size=1, max_size=5))
def test_pages_that_compiled_code_tells_apart_by_their_values_are_siblings(new: bytes, olds: list[bytes]) -> None:
    pairs = [*zip([*olds, new], names_apart(new, [*olds, new]), strict=True)]
    for old, how in pairs:
        by_names = how in {NAMES_IN_TEXT, NUMBERS_IN_NAMES}
        assert by_names or (how == module.VALUES) is have_many_values(new, old)
    for old in [old for old, how in pairs if how]:
        assert why_siblings(new, old, equal_text=False) not in {"", UNREADABLE}
        assert why_siblings(new, old, equal_text=False, by_sentences=False) not in {"", UNREADABLE}


def test_pages_of_a_catalogue_are_told_apart_by_their_names() -> None:
    carpenter, plumber, first, second = (
        identity(page(name, f"{name}. {TERMS}")) for name in ("Carpenter", "Plumber", "Screw 40", "Screw 50")
    )
    assert names_apart(carpenter, [plumber, carpenter, b"", b"\0"]) == [NAMES_IN_TEXT, "", "", ""]
    assert names_apart(first, [second]) == [NUMBERS_IN_NAMES]
    assert names_apart(b"\0", [carpenter]) == [""]


@pytest.mark.skipif(features.kernel is None, reason="compiled code is not in use")
def test_compiled_code_takes_identities_only() -> None:
    wrongs: list[tuple[object, ...]] = [(b"", [b"", "no bytes"]), (b"", (b"",)), ("", []), (b"",)]
    for wrong in wrongs:
        with pytest.raises(TypeError, match=r"names_apart\(\) takes"):
            features.loaded().names_apart(*wrong)


def test_equal_texts_with_other_line_breaks_have_equal_facts() -> None:
    """A reprint joins short paragraphs: that changes the short lines of a text, and nothing that it says."""
    three = page("", f"Celadon glaze\nTenmoku glaze\nAsh and salt\n{TERMS}", heading="", title="Shop")
    two = page("", f"Celadon glaze Tenmoku glaze\nAsh and salt\n{TERMS}", heading="", title="Shop")
    assert Features(three).encoded == Features(two).encoded
    assert why(three, two) == ""
    assert why_siblings(identity(three), identity(two), equal_text=False) == module.SHORT_FACTS
    blue, red = replace(three, stated="Colour\nBlue"), replace(two, stated="Colour\nRed")
    assert why(blue, red) == module.SHORT_FACTS
