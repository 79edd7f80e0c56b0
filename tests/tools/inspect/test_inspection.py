"""Pages are read for inspection: blocks, reasons, passages, notes, and a canvas without active content."""

from __future__ import annotations

from typing import Any

import pytest

from dedupcrawl.page import Kind, Page, PageError, ReaderError, ReadOptions, read_page
from dedupcrawl.page.document import parse
from dedupcrawl.tools.inspect import inspection
from dedupcrawl.tools.inspect import inspection as drawing
from dedupcrawl.tools.inspect.inspection import InspectedPage, build_canvas, inspect_page, rule_counts
from dedupcrawl.tools.inspect.positions import visible
from dedupcrawl.tools.inspect.render import render
from dedupcrawl.tools.inspect.rules import FOUND, NOT_FOUND
from tests.page.samples import CHINESE, CHINESE_TWO, PARAGRAPH, SECOND, article, links
from tests.tools.inspect.attacks import HOSTILE

RIVER = f"{PARAGRAPH} {SECOND}"


def river(html: str, url: str) -> str:
    """A user's reader that returns a text."""
    return RIVER


def topical(html: str, url: str) -> Page:
    """A user's reader that calls a built-in one."""
    return read_page(html, url, options=ReadOptions(reader="topic"))


def invented(html: str, url: str) -> Page:
    """A user's reader whose blocks are not on the page."""
    return read_page(article("<p>No such text.</p>"), url)


def failing(html: str, url: str) -> str:
    """A user's reader that fails."""
    raise RuntimeError("no")


def seen(html: str | bytes, reader: str = "blocks") -> InspectedPage:
    return inspect_page(html, "https://a.example/", ReadOptions(reader=reader))


def marked(found: InspectedPage) -> dict[int, str]:
    """Return the text of each block in the steps."""
    said: dict[int, str] = {}
    for step in found.canvas.steps:
        if isinstance(step, list):
            said[int(step[0])] = said.get(int(step[0]), "") + visible(str(step[1]))
    return said


def elements(found: InspectedPage) -> list[dict[str, Any]]:
    return [step for step in found.canvas.steps if isinstance(step, dict)]


@pytest.mark.parametrize("reader", ["blocks", "topic", "text"])
def test_the_steps_hold_every_block(reader: str) -> None:
    for html in (HOSTILE, article(f"<nav>{' '.join(links(5))}</nav><p>{CHINESE}</p>")):
        found = seen(html, reader)
        assert marked(found) == {place: visible(block.text) for place, block in enumerate(found.blocks)}
        depth = 0
        for step in found.canvas.steps:
            depth += 1 if isinstance(step, dict) else -1 if step == 0 else 0
            assert depth >= 0
        assert depth == 0


def test_a_page_in_gbk_is_decoded_as_declared() -> None:
    html = article(f"<p>{CHINESE}</p><p>{CHINESE_TWO}</p>", "<meta charset='gb2312'>").encode("gb18030")
    found = seen(html)
    assert CHINESE in {each.text for each in found.passages}
    assert marked(found)[2] == CHINESE
    assert found.notes == ()


def test_bytes_that_no_encoding_explains_are_counted() -> None:
    assert any("2 characters could not be decoded" in note for note in seen(article("<p>\ufffd a \ufffd</p>")).notes)


def test_index_and_empty_pages_are_reported() -> None:
    index = seen(f"<ul><li>{'<li>'.join(links(20))}</ul>")
    assert index.page.kind is Kind.INDEX
    assert "unchecked(index)" in index.notes[0]
    assert len(index.blocks) == 20
    empty = seen("<title>x</title><script>var x</script>")
    assert "unchecked(empty)" in empty.notes[0]
    assert (empty.blocks, empty.passages) == ((), ())


@pytest.mark.parametrize(("body", "reason"), [("<div>" * 5000, "too-deep"), (b"%PDF-1.7 x", "binary")])
def test_what_cannot_be_read_is_refused(body: str | bytes, reason: str) -> None:
    with pytest.raises(PageError) as caught:
        seen(body)
    assert caught.value.reason == reason


def test_plain_text_is_a_page_too() -> None:
    assert [each.text for each in seen(f"{PARAGRAPH}\n\n{SECOND}").passages] == [f"{PARAGRAPH} {SECOND}"]


@pytest.mark.parametrize("reader", ["blocks", "topic", "text"])
def test_a_page_that_holds_the_marks_themselves_is_shown_without_any(reader: str) -> None:
    found = seen(article("<p>One \ufdd4 wheel turned.</p>"), reader)
    assert found.notes == (inspection._UNPLACED,)
    assert marked(found) == {}
    assert PARAGRAPH in {line for each in found.passages for line in each.text.split("\n")}
    assert any("wheel" in str(step) for step in found.canvas.steps)


def test_a_deep_page_is_laid_out_flat() -> None:
    found = seen("<div>" * 1500 + f"<p>{PARAGRAPH}</p>")
    assert len(elements(found)) <= drawing.MAX_DEPTH
    assert marked(found) == {0: visible(PARAGRAPH)}


def test_a_very_large_page_is_cut_and_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "MAX_STEPS", 100)
    found = seen(article("".join(f"<p>{number} {SECOND}</p>" for number in range(200))))
    assert found.canvas.is_cut
    assert len(found.canvas.steps) < 110
    assert any("only its beginning is shown" in note for note in found.notes)
    assert found.canvas.steps.count(0) == len(elements(found))


def test_a_reader_of_the_user_is_compared_with_the_page() -> None:
    found = seen(article(f"<p>{CHINESE}</p>"), "tests.tools.inspect.test_inspection:river")
    assert [(block.reason, block.kept) for block in found.blocks] == [(FOUND, True), (FOUND, True), (NOT_FOUND, False)]
    assert [each.block for each in found.passages] == [None]  # it joined two blocks to one line
    assert marked(found)[2] == CHINESE
    assert "Your reader returns only the main text" in found.notes[0]
    assert "100% of its letters" in found.reasons[0]


def test_blocks_of_a_user_reader_are_shown_if_they_can_be_found() -> None:
    found = seen(article(f"<p>{CHINESE}</p>"), "tests.tools.inspect.test_inspection:topical")
    assert found.blocks == seen(article(f"<p>{CHINESE}</p>"), "topic").blocks
    assert "those that it returned" in found.notes[0]
    other = seen(article(f"<p>{CHINESE}</p>"), "tests.tools.inspect.test_inspection:invented")
    assert {block.reason for block in other.blocks} == {FOUND, NOT_FOUND}


def test_a_reader_of_the_user_that_fails_reports_it() -> None:
    with pytest.raises(ReaderError, match="RuntimeError: no"):
        seen(article(""), "tests.tools.inspect.test_inspection:failing")


def test_pictures_and_fields_are_frames_with_what_they_say_of_themselves() -> None:
    found = seen(
        article(
            "<img src='x' alt='The  bridge' width='300px' height=200><img width=1 height=1><button>Send "
            "<b>it</b></button><input type=hidden value=x><input placeholder='Search'><p hidden>no</p>"
            "<p style='color:red;display : none'>nor this</p><td colspan=2000 rowspan=0 lang='e\"n' dir=RTL>"
        )
    )
    frames = [step for step in elements(found) if step["is"] == "frame"]
    assert frames == [
        {"is": "frame", "name": "picture", "label": "The bridge", "width": 300, "height": 200},
        {"is": "frame", "name": "▫"},
        {"is": "frame", "name": "button", "label": "Send it"},
        {"is": "frame", "name": "field", "label": "Search"},
    ]
    assert [step["is"] for step in elements(found) if "hidden" in step] == ["p", "p"]


def test_only_known_names_and_small_numbers_get_through() -> None:
    root = parse("<table><tr><td colspan=9999 rowspan=0 lang='x\"y' dir=RTL onclick=x>a<x-y z>b</x-y>")
    steps = [step for step in build_canvas(root, []).steps if isinstance(step, dict)]
    assert {"is": "td", "colspan": 100, "rowspan": 1, "dir": "rtl"} in steps
    assert steps[-1] == {"is": "span"}


def test_the_topic_reader_shows_how_many_words_a_block_shares() -> None:
    some = f"{PARAGRAPH[:120]} Whales sing in the far north."
    told = seen(f"<div>{RIVER}</div><div>{some}</div><div>{CHINESE * 3}</div>", "topic").reasons
    assert "It is the longest" in told[0]
    assert "of the smaller one in common; more than 30% are required" in told[1]
    assert "It has 0% of the words" in told[2]


def test_counts_add_up() -> None:
    found = seen(article(f"<nav>{' '.join(links(5))}</nav><p>{CHINESE}</p>"))
    rows = rule_counts(found.blocks)
    assert sum(blocks for _, _, blocks, _ in rows) == len(found.blocks)
    assert sum(size for *_, size in rows) == sum(block.length for block in found.blocks)
    assert [kept for _, kept, *_ in rows] == sorted([kept for _, kept, *_ in rows], reverse=True)


def test_what_tells_a_page_from_others_of_its_site() -> None:
    body = (
        f"<h1>Bolt M3 x 20</h1><p>{PARAGRAPH} It weighs 3.5 g. 12 comments.</p><p>{SECOND}</p><aside>Price 0.35</aside>"
    )
    found = seen(f"<html><title>Bolt M3 | Shop</title><body><main>{body}</main></body></html>")
    assert found.page.heading == "Bolt M3 x 20"
    assert "3.5 g" in found.values
    assert "12" not in found.values
    shown = render(found)
    details = shown[shown.index('id="identity"') : shown.index("</details>")]
    for part in ("Bolt M3 x 20", "Bolt M3 | Shop", "3.5"):
        assert part in details
    hostile = seen(
        "<title><script>alert(1)</script></title><h1><b onclick=x>&lt;img src=x></b></h1>" + f"<p>{RIVER}</p>"
    )
    details = render(hostile)
    assert "<img src=x>" not in details
