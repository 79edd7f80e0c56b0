from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl import Deduplicator
from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.simhash import SimHash
from dedupcrawl.errors import SettingError
from dedupcrawl.page import Kind, Page, ReadOptions, TopicOptions, read_page
from dedupcrawl.page.blocks import LINK, MARK, UNLINK
from dedupcrawl.page.document import MAX_DEPTH, parse
from dedupcrawl.page.topic import (
    BLOCK_TAGS,
    LEVEL,
    LEVEL_TAGS,
    NOISE,
    STOP_CHARACTERS,
    STOP_WORDS,
    TITLE,
    TITLE_TAGS,
    TOPIC,
    TOPIC_ANCHORS,
    TopicBlock,
    classify,
    measure_text,
    overlap,
    segments,
    topic_words,
)
from dedupcrawl.text.features import Features, compared_text
from dedupcrawl.tools.evaluation.extraction import evaluate_extraction
from tests.data import data
from tests.page.samples import CHINESE, CHINESE_TWO, PARAGRAPH, SECOND, links

if TYPE_CHECKING:
    from typing import Any

TOPIC_READER = ReadOptions(reader="topic")
FILLER = "x" * 99


def read(html: str) -> Page:
    return read_page(html, "https://a.example/", options=TOPIC_READER)


def cut(html: str, **constants: Any) -> list[TopicBlock]:
    return segments(parse(html), TopicOptions(**constants))


def reasons(page: Page) -> list[tuple[str, str]]:
    return [(block.text, block.reason) for block in page.blocks]


# -- segments -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "tags"), [(99, ["body"]), (100, ["section", "body"])])
def test_a_block_holds_a_hundred_characters(length: int, tags: list[str]) -> None:
    assert [each.tag for each in cut(f"<section>{'x' * length}</section><p>y")] == tags


@pytest.mark.parametrize(("levels", "tags"), [(4, ["body"]), (5, ["section", "body"])])
def test_or_five_level_tags(levels: int, tags: list[str]) -> None:
    assert [each.tag for each in cut(f"<section>{'<b>x</b>' * levels}</section><p>y")] == tags


def test_what_is_too_short_goes_to_its_parent_with_its_length_and_its_levels() -> None:
    half = "x" * 50
    (outer,) = cut(f"<article><div>{half}</div><div>{half}</div></article>")
    assert (outer.tag, outer.length, outer.texts) == ("article", 100, [half, half])
    (outer,) = cut("<article><div><b>1</b><i>2</i></div><td><u>3</u><em>4</em></td><big>5</big></article>")
    assert (outer.tag, outer.levels) == ("article", 5)


def test_a_block_passes_nothing_on() -> None:
    inner, outer = cut(f"<article>{FILLER}<div>{FILLER}y</div>{FILLER}</article>")
    assert (inner.tag, inner.length) == ("div", 100)
    assert (outer.tag, outer.length, outer.texts) == ("article", 198, [FILLER, FILLER])


def test_headings_are_segments_however_short() -> None:
    assert [(each.tag, each.text) for each in cut("<div><h1>A</h1>b<h3>C</h3></div>")] == [
        ("h1", "A"),
        ("h3", "C"),
        ("body", "b"),
    ]


def test_paragraphs_and_entries_are_lines_of_the_block_around_them() -> None:
    (only,) = cut(f"<div><p>{PARAGRAPH}</p><ul><li>Rain<li>Snow</ul>{SECOND}<br>End</div>")
    assert only.text.split("\n") == [PARAGRAPH, "Rain", "Snow", SECOND, "End"]


def test_what_is_ignored_and_metadata_are_no_text() -> None:
    html = f"<title>T</title><body><title>T</title><script>{FILLER}x</script><svg><text>no</text></svg>yes"
    assert [each.text for each in cut(html)] == ["yes"]


@pytest.mark.parametrize(
    ("raw", "inside", "expected"),
    [
        ("plain  text", False, ("plain text", 0, 0, 0, False)),
        ("plain  text", True, ("plain text", 10, 1, 0, True)),
        (f"a {LINK}link{UNLINK} b", False, ("a link b", 4, 1, 0, False)),
        (f"{LINK}one{UNLINK}, {LINK}two", False, ("one, two", 6, 2, 0, True)),
        (f"end{UNLINK} of it", True, ("end of it", 3, 1, 0, False)),
        (f"{LEVEL}bold {LINK}{LEVEL}both{UNLINK}", False, ("bold both", 4, 1, 2, False)),
    ],
)
def test_a_text_is_measured(raw: str, inside: bool, expected: tuple[Any, ...]) -> None:
    assert measure_text(raw, inside=inside) == expected


def test_anchors_without_a_target_are_text() -> None:
    (only,) = cut("<div><a name=top>Top</a> <a href=/x>Next page</a></div>")
    assert (only.link_length, only.links, only.length) == (9, 1, 13)


def test_a_link_around_blocks_reaches_into_them() -> None:
    linked, rest = cut(f"<a href=/x><div>{PARAGRAPH}</div></a><p>plain")
    assert linked.anchor_share == 1
    assert rest.anchor_share == 0


texts = st.sampled_from(["ice", "the ferry", "河水涨了", "x" * 60, "<b>b</b>", "<a href=/x>l</a>"])
tags = st.sampled_from(["div", "section", "p", "li", "span", "td", "h2", "nav", "blockquote", "b"])
trees = st.recursive(
    texts.map(" {} ".format),
    lambda inner: st.tuples(tags, st.lists(inner, max_size=4)).map(
        lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"
    ),
    max_leaves=30,
)


@given(trees, st.integers(1, 200), st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_every_text_is_in_one_segment(body: str, characters: int, levels: int) -> None:
    root = parse(f"<html><body>{body}</body></html>")
    found = segments(root, TopicOptions(characters=characters, levels=levels))
    whole = Counter("".join(map(str, root.itertext())).split())
    assert sum((Counter(each.text.split()) for each in found), Counter()) == whole
    assert all(each.length == sum(map(len, each.texts)) for each in found)
    places = [place for each in found for place in each.places]
    assert len(places) == len(set(places))
    assert all(each.places == sorted(each.places) for each in found)


#: Nothing that folding would join or part: so lengths of texts add up.
plain_trees = st.recursive(
    st.sampled_from(["ice", "河水涨了", "x" * 30, "<b>b</b>", "<i></i>"]),
    lambda inner: st.tuples(
        st.sampled_from(["div", "section", "span", "td", "h2", "nav", "blockquote", "b"]), st.lists(inner, max_size=4)
    ).map(lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"),
    max_leaves=30,
)


@given(plain_trees)
@settings(max_examples=100, deadline=None)
def test_segments_agree_with_a_walk_over_the_tree(body: str) -> None:
    """The patent's queue, written as a recursion over elements."""
    root = parse(f"<html><body>{body}</body></html>")
    expected: list[tuple[str, int]] = []

    def visit(element: Any) -> tuple[int, int]:
        length, levels = len(element.text or ""), int(element.tag in LEVEL_TAGS)
        for child in element:
            below, level = visit(child)
            length += below + len(child.tail or "")
            levels += level
        big = element.tag in BLOCK_TAGS and (length >= 50 or levels >= 3)
        if length and (big or element.tag in TITLE_TAGS):
            expected.append((element.tag, length))
            return 0, 0
        return length, levels

    left, _ = visit(root)
    found = segments(root, TopicOptions(characters=50, levels=3))
    assert [(each.tag, each.length) for each in found] == expected + ([("body", left)] if left else [])


def test_no_page_is_too_deep_for_it() -> None:
    depth = MAX_DEPTH - 10
    found = cut("<div>y" * depth + FILLER + "</div>" * depth)
    assert sum(each.length for each in found) == depth + len(FILLER)


@pytest.mark.parametrize("mark", [MARK, MARK * 2, f"{MARK}div{MARK}", LINK, UNLINK, LEVEL])
def test_a_page_with_marks_of_its_own_is_read_somehow(mark: str) -> None:
    page = read(f"<div>{mark}{PARAGRAPH}</div><p>{mark}{SECOND}{mark}")
    assert any(SECOND in block.text for block in page.blocks)


# -- words ----------------------------------------------------------------------------------------


def test_stop_words_are_left_out() -> None:
    assert topic_words("The river, and THE mill by the River") == Counter({"river": 2, "mill": 1})
    assert topic_words("长江的水位和长江") == Counter({"长江": 2, "水位": 1})
    assert not topic_words(f"{' '.join(STOP_WORDS)} {STOP_CHARACTERS}")


@given(st.text("abc ", max_size=20).map(str.split), st.text("abc ", max_size=20).map(str.split))
def test_overlap_is_that_of_two_sorted_streams(one: list[str], other: list[str]) -> None:
    """The patent sorts both streams of words and walks along them."""
    left, right, common = sorted(one), sorted(other), 0
    while left and right:
        if left[0] == right[0]:
            common += 1
            del left[0], right[0]
        else:
            del (left if left[0] < right[0] else right)[0]
    small = min(len(one), len(other))
    assert overlap(Counter(one), Counter(other)) == (common / small if small else 0)


# -- topic ----------------------------------------------------------------------------------------


def segment(words: str, tag: str = "div", link_length: int = 0) -> TopicBlock:
    return TopicBlock(tag, [words], [0], len(words), link_length)


def test_the_longest_block_is_topic_and_so_is_what_shares_words_with_it() -> None:
    found = [
        segment("flood river mill wheel bridge grain loft miller supper night"),
        segment("river mill bridge " + "a1 a2 a3 a4 a5 a6 a7"),  # 3 of 10 words: not above 0.3
        segment("river mill bridge grain " + "b1 b2 b3 b4 b5 b6"),  # 4 of 10
        segment("river", "h2"),
        segment("weather stocks sport"),
    ]
    assert classify(found, TopicOptions()) == [TOPIC, NOISE, TOPIC, TITLE, NOISE]
    assert classify(found, TopicOptions(overlap=0.29)) == [TOPIC, TOPIC, TOPIC, TITLE, NOISE]


@pytest.mark.parametrize(("link_length", "reason"), [(7, TOPIC), (8, TOPIC_ANCHORS)])
def test_a_topic_block_of_anchors(link_length: int, reason: str) -> None:
    assert classify([segment("abcdefghij", link_length=link_length)], TopicOptions()) == [reason]


def test_nothing_or_titles_alone() -> None:
    assert classify([], TopicOptions()) == []
    assert classify([segment("river", "h1")], TopicOptions()) == [TITLE]


def test_blocks_without_words_share_none() -> None:
    found = [segment("!" * 40), segment("?" * 30), segment("the and of")]
    assert classify(found, TopicOptions()) == [TOPIC, NOISE, NOISE]


def test_a_page_shows_what_became_of_each_block() -> None:
    related = "Related: the river rose through the night until the whole village looked at the bridge"
    anchors = f"<div><a href=/1>{related}, the first</a> <a href=/2>{related}, the second</a></div>"
    weather = "Sunny with a light breeze from the south tomorrow; highs of nineteen degrees, lows of ten, no frost."
    story = f"<div><h1>Flood</h1><p>{PARAGRAPH}</p><p>{SECOND}</p></div>"
    page = read(f"<title>Flood</title><div>{weather}</div>{story}{anchors}")
    assert page.text == f"{PARAGRAPH}\n{SECOND}"
    assert page.anchors == f"{related}, the first {related}, the second"
    assert reasons(page) == [(weather, NOISE), ("Flood", TITLE), (page.text, TOPIC), (page.anchors, TOPIC_ANCHORS)]
    assert [block.kept for block in page.blocks] == [False, False, True, True]
    assert page.blocks[2].length == len(page.text)
    assert page.blocks[3].link_density == pytest.approx(page.blocks[3].link_length / page.blocks[3].length)
    assert page.title == "Flood"


def test_topic_text_is_in_reading_order_although_blocks_stand_in_one_another() -> None:
    page = read(f"<article>{PARAGRAPH}<div>{PARAGRAPH} {SECOND}</div>{SECOND}</article>")
    assert page.text.split("\n") == [PARAGRAPH, f"{PARAGRAPH} {SECOND}", SECOND]


def test_chinese_is_read_as_well() -> None:
    noise = "今日天气晴，明日多云转阴，最高气温二十度；股市收盘小幅上涨，成交量放大。" * 3
    page = read(
        f"<div>{noise}</div><td>{CHINESE}{CHINESE_TWO}{CHINESE}</td><div>{CHINESE}{CHINESE_TWO}{CHINESE_TWO}</div>"
    )
    assert page.text == f"{CHINESE}{CHINESE_TWO}{CHINESE}\n{CHINESE}{CHINESE_TWO}{CHINESE_TWO}"


def test_a_page_whose_topic_is_anchors_has_no_main_text() -> None:
    page = read(f"<ul><li>{'<li>'.join(links(40))}</ul>")
    assert (page.text, page.kind) == ("", Kind.INDEX)
    assert "Other story 7" in page.anchors


@pytest.mark.parametrize(
    ("constants", "name"),
    [
        ({"characters": 0}, "characters"),
        ({"levels": 0}, "levels"),
        ({"overlap": 1.1}, "overlap"),
        ({"anchors": -1}, "anchors"),
    ],
)
def test_constants_that_make_no_sense(constants: dict[str, Any], name: str) -> None:
    with pytest.raises(SettingError, match=f"{name} = {constants[name]}"):
        TopicOptions(**constants)


# -- quality gate ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pages", "reader", "f1", "recall"),
    [
        ("aeb", "topic", 0.855, 0.87),
        ("cwced", "topic", 0.875, 0.87),
        ("aeb", "text", 0.67, 0.99),
        ("cwced", "text", 0.83, 0.995),
    ],
)
def test_scores_do_not_fall(pages: str, reader: str, f1: float, recall: float) -> None:
    report = evaluate_extraction(data("pages", pages), ReadOptions(reader=reader, blocks=False), repeats=1)
    assert report.f1 >= f1
    assert report.recall >= recall


def test_the_words_of_the_topic_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    total = Counter.total

    def counted(words: Counter[str]) -> int:
        sizes.append(len(words))
        return total(words)

    monkeypatch.setattr(Counter, "total", counted)
    longest = "<div>" + " ".join(f"word{n}" for n in range(2000)) + "</div>"
    html = longest + "<div>" + f"</div><div>{'other words ' * 10}" * 200
    read_page(html, options=ReadOptions(reader="topic"))
    assert len([size for size in sizes if size == 2000]) == 1


# -- titles ------------------------------------------------------------------------------------------

HEADINGS = ["Before dawn", "At noon", "In the evening"]
OTHERS = ["A wet spring", "What the miller lost", "The repairs"]


def parted(headings: list[str], top: str = "<h1>Flood</h1>", tag: str = "h2") -> str:
    parts = zip(headings, (PARAGRAPH, SECOND, PARAGRAPH[::-1]), strict=True)
    return (
        f"<title>Flood</title><div>{top}{''.join(f'<{tag}>{name}</{tag}><p>{text}</p>' for name, text in parts)}</div>"
    )


@pytest.mark.parametrize("tag", ["h2", "h3", "h6"])
@pytest.mark.parametrize("top", ["<h1>Flood</h1>", "", "<h1>Gazette</h1><h1>Flood</h1>"])
def test_all_titles_are_in_the_title_field(top: str, tag: str) -> None:
    page = read(parted(HEADINGS, top, tag))
    lines = page.title_field.split("\n")
    assert lines[0] == "Flood"
    assert {*HEADINGS, *re.findall("Gazette", top)} == {*lines[1:]}


def test_titles_of_parts_are_compared_with_the_text() -> None:
    page = read(parted(HEADINGS))
    assert page.text.split("\n") == [PARAGRAPH, SECOND, PARAGRAPH[::-1]]
    assert page.rest.split("\n") == HEADINGS
    assert page.titles.split("\n") == ["Flood", *HEADINGS]
    assert {*HEADINGS} <= {*compared_text(page).split("\n")}


@pytest.mark.parametrize("top", ["<h1>Flood</h1>", "", "<h1>Gazette</h1><h1>Flood</h1>"])
def test_of_several_h1_only_the_name_of_the_page_is_left_out(top: str) -> None:
    page = read(parted(HEADINGS, top, "h1"))
    own = HEADINGS if "Flood" in top else HEADINGS[1:]  # the first of them names a page whose title contains none
    assert page.rest.split("\n") == own
    with Deduplicator() as dedup:
        assert dedup.add(read_at(parted(HEADINGS, top, "h1"), "a")).keep
        assert dedup.add(read_at(parted(OTHERS, top, "h1"), "b")).relation is not Relation.IDENTICAL


def read_at(html: str, host: str) -> Page:
    return read_page(html, f"https://{host}.example/", options=ReadOptions(reader="topic"))


def test_titles_of_other_parts_are_not() -> None:
    body = "<div><h2>Weather</h2>Sun tomorrow.</div>{}<div><h3>Most read</h3></div>"
    assert read(body.format(parted(HEADINGS))).rest == read(parted(HEADINGS)).rest


@pytest.mark.parametrize("top", ["<h1>Flood</h1>", "", "<h1>Gazette</h1><h1>Flood</h1>"])
def test_pages_with_other_titles_are_not_identical(top: str) -> None:
    pages = [
        read_page(parted(names, top), f"https://{host}.example/", options=ReadOptions(reader="topic"))
        for host, names in (("a", HEADINGS), ("b", OTHERS))
    ]
    with Deduplicator() as dedup:
        assert [dedup.add(page).relation for page in pages][1] is not Relation.IDENTICAL
    first, second = (SimHash().fingerprint(Features(page)) for page in pages)
    assert first is not None
    assert second is not None
    assert first.sketch != second.sketch
