from __future__ import annotations

import logging
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.http import HtmlResponse

from dedupcrawl import Deduplicator
from dedupcrawl.decision import Status
from dedupcrawl.errors import SettingError, StoreMismatchError
from dedupcrawl.page import Kind, Page, ReaderError, ReadOptions, read_page, read_response, read_tree
from dedupcrawl.page.blocks import BLOCKS, IGNORED, LANDMARKS
from dedupcrawl.page.document import parse
from dedupcrawl.page.options import BUILT_IN, READER_ACCEPTED
from dedupcrawl.page.readers import ALL_TEXT, READERS
from tests.page.samples import CHINESE, PARAGRAPH, SECOND, article, links

URL = "https://a.example/story"
OWN = "tests.page.user_readers:"
HEAD = (
    '<meta name=keywords content="river, mill"><meta name=description content="A flood.">'
    '<link rel=canonical href="/flood"><meta property=article:published_time content="2024-05-01">'
)
INDEX = f"<title>Portal</title><nav>{' '.join(links(9))}</nav><ul><li>{'<li>'.join(links(40))}</ul>"


def read(html: str, reader: str, url: str = URL) -> Page:
    return read_page(html, url, options=ReadOptions(reader=reader))


# -- by name --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("topik", ""),
        ("", ""),
        ("no_such_package.readers:read", "ModuleNotFoundError"),
        ("tests.page.user_readers:absent", "AttributeError"),
        ("tests.page.user_readers:NOT_CALLABLE", "a str"),
        ("tests.page.user_readers:later", "a coroutine function"),
        (".own:read", "it cannot be imported"),
        ("a b:c", "it cannot be imported"),
        (3, ""),
    ],
)
def test_what_is_no_reader_is_refused_at_once(name: Any, why: str) -> None:
    with pytest.raises(SettingError) as caught:
        ReadOptions(reader=name)
    text = str(caught.value)
    assert text.startswith(f"reader = {name!r} is not accepted: {READER_ACCEPTED}")
    assert why in text
    assert "\n" not in text
    with pytest.raises(SettingError, match="reader"):
        Deduplicator(reader=name)


def test_every_built_in_reader_is_accepted_by_its_name() -> None:
    assert tuple(READERS) == BUILT_IN


def test_a_module_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torn_readers.py").write_text("raise RuntimeError('no licence')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SettingError, match="RuntimeError: no licence"):
        ReadOptions(reader="torn_readers:read")


@pytest.mark.parametrize("name", [f"{OWN}headline", "tests.page.user_readers.headline"])
def test_both_ways_to_write_a_dotted_name(name: str) -> None:
    assert read("<h1>Flood</h1><p>It rained.", name).text == "Flood"


def test_a_store_records_its_reader(tmp_path: Path) -> None:
    store = f"lmdb://{tmp_path}/store"
    Deduplicator(store, reader="text").close()
    with pytest.raises(StoreMismatchError, match="reader"):
        Deduplicator(store)


# -- what all readers have in common --------------------------------------------------------------


@pytest.mark.parametrize("reader", [*READERS, f"{OWN}headline"])
def test_metadata_is_the_same_for_all(reader: str) -> None:
    html = f"<html lang=en>{article('<h1>Flood</h1>', HEAD)}"
    expected, page = read(html, "blocks"), read(html, reader)
    assert page.canonical == "https://a.example/flood"
    assert page == replace(
        expected, text=page.text, rest=page.rest, blocks=page.blocks, anchors=page.anchors, titles=page.titles
    )


@pytest.mark.parametrize("reader", [*READERS, f"{OWN}echo"])
def test_an_index_is_one_for_all(reader: str) -> None:
    assert read(INDEX, reader).kind is Kind.INDEX
    assert Deduplicator(reader=reader).add(html=INDEX, url=URL).reason == "index"


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("html", ["", " ", "<html><head><title>T</title></head></html>", "<script>1</script>"])
def test_no_text_is_empty_for_all(reader: str, html: str) -> None:
    page = read(html, reader)
    assert (page.text, page.kind) == ("", Kind.EMPTY)


@pytest.mark.parametrize("reader", READERS)
def test_a_short_page_is_read_by_all(reader: str) -> None:
    page = read("<html><body>Closed today.</body></html>", reader)
    assert (page.text, page.kind) == ("Closed today.", Kind.ARTICLE)


@pytest.mark.parametrize("reader", READERS)
def test_blocks_may_be_left_out(reader: str) -> None:
    html = article(f"<nav>{' '.join(links(4))}</nav><h2>Noon</h2>")
    page = read(html, reader)
    assert page.blocks
    assert read_page(html, URL, options=ReadOptions(reader=reader, blocks=False)) == replace(page, blocks=())


@pytest.mark.parametrize("reader", READERS)
def test_the_tree_is_left_unchanged(reader: str) -> None:
    from lxml import etree

    root = parse(article(f"<aside>{links(3)}</aside><h2>Noon</h2><b>!</b>", HEAD))
    before = etree.tostring(root)
    read_tree(root, URL, ReadOptions(reader=reader))
    assert etree.tostring(root) == before


# -- "text" ---------------------------------------------------------------------------------------


def test_everything_visible_is_read_in_its_order() -> None:
    page = read(
        "<title>T</title><style>p{}</style><body><nav><a href=/1>One</a> <a href=/2>Two</a></nav>"
        "<script>var x</script><p>It <b>rai</b>ned<br>all night.</p><noscript>Enable scripts</noscript>"
        "<template>Later</template><ul><li>Snow<li><a href=/x>Ice</a></ul><footer><p>© Gazette</p></footer>",
        "text",
    )
    assert page.text == "One Two\nIt rained\nall night.\nSnow\nIce\n© Gazette"
    assert {block.reason for block in page.blocks} == {ALL_TEXT}
    assert [block.text for block in page.blocks] == ["One Two", "It rained\nall night.", *page.text.split("\n")[3:]]
    assert page.blocks[0].link_density == pytest.approx(6 / 7)


def test_long_runs_of_links_stay_where_they_stand() -> None:
    page = read(f"<p>{PARAGRAPH} {' | '.join(links(5))} {SECOND}</p>", "text")
    assert page.text == f"{PARAGRAPH} {' | '.join(f'Other story {n}' for n in range(1, 6))} {SECOND}"


class Oracle(HTMLParser):
    """The words outside of what is never shown, by another parser."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.hidden += tag in HIDDEN

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in HIDDEN

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.words += data.split()


HIDDEN = ("noscript", "template", "canvas", "video")
SHOWN = ("div", "section", "nav", "aside", "footer", "b", "span", "font", "blockquote", "center")
assert IGNORED.issuperset(HIDDEN)
assert {"div", "section", "blockquote", "center"} <= BLOCKS
assert {"nav", "aside", "footer"} <= LANDMARKS
words = st.sampled_from(["ice", "ferry", "河水", "snow.", "pier,"])
trees = st.recursive(
    words.map(" {} ".format),
    lambda inner: st.tuples(st.sampled_from(SHOWN + HIDDEN), st.lists(inner, max_size=4)).map(
        lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"
    ),
    max_leaves=25,
)


@given(st.lists(trees, max_size=4).map("".join))
@settings(max_examples=80, deadline=None)
def test_no_visible_word_is_lost(body: str) -> None:
    oracle = Oracle()
    oracle.feed(f"<div>{body}</div>")
    assert read(f"<html><body><div>{body}</div></body></html>", "text").text.split() == oracle.words


# -- a user's own ---------------------------------------------------------------------------------


def test_it_gets_the_decoded_text_and_the_url() -> None:
    html = f"<meta charset=gbk><p>{CHINESE}</p>"
    assert read_page(html.encode("gbk"), URL, options=ReadOptions(reader=f"{OWN}echo")).text == f"{URL} {html}"


def test_of_a_response_it_gets_the_text() -> None:
    response = HtmlResponse(URL, body=article("").encode(), encoding="utf-8")
    assert read_response(response, ReadOptions(reader=f"{OWN}echo")).text == f"{URL} {response.text}"


def test_of_a_tree_alone_it_gets_the_tree_written_out() -> None:
    page = read_tree(parse("<p>It <b>rained"), URL, ReadOptions(reader=f"{OWN}echo"))
    assert page.text == f"{URL} <html><body><p>It <b>rained</b></p></body></html>"


def test_none_is_no_main_text() -> None:
    page = read(article(""), f"{OWN}headline")
    assert (page.text, page.kind, page.title) == ("", Kind.EMPTY, "Flood")


def test_a_whole_page_is_taken_as_it_is() -> None:
    assert read("<p>12345", f"{OWN}whole") == Page(url=URL, text="8 characters", title="My own title")
    assert read("<p>12345", f"{OWN}moved").url == "https://elsewhere.example/"


def test_what_it_raises_is_reported_with_its_cause() -> None:
    with pytest.raises(ReaderError, match=r"fails_on_odd failed on https://a\.example/1: KeyError") as caught:
        read("<h1>Flood</h1>", f"{OWN}fails_on_odd", "https://a.example/1")
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.kind == "KeyError"


def test_it_may_refuse_a_page() -> None:
    verdict = Deduplicator(reader=f"{OWN}refuses").add(html=article(""), url=URL)
    assert (verdict.status, verdict.reason, verdict.keep) == (Status.UNCHECKED, "paywall", True)


def test_what_is_no_text_is_reported() -> None:
    with pytest.raises(ReaderError, match=r"returned list .* a str, a Page or None is accepted"):
        read("<p>1", f"{OWN}returns_a_list")


def test_a_page_on_which_it_fails_stays_unchecked(caplog: pytest.LogCaptureFixture) -> None:
    dedup = Deduplicator(reader=f"{OWN}fails_on_odd", min_chars=10)
    with caplog.at_level(logging.ERROR):
        verdicts = [dedup.add(html="<h1>The river rose</h1>", url=f"https://a.example/{number}") for number in range(6)]
    assert [verdict.status for verdict in verdicts[::2]] == [Status.UNIQUE, Status.DUPLICATE, Status.DUPLICATE]
    assert {(verdict.status, verdict.reason, verdict.keep) for verdict in verdicts[1::2]} == {
        (Status.UNCHECKED, "error", True)
    }
    (record,) = caplog.records
    assert "fails_on_odd failed on https://a.example/1" in record.getMessage()
    assert record.exc_info is not None
    assert record.exc_info[0] is KeyError


def test_a_response_with_an_invalid_base_is_read() -> None:
    body = f"<base href='http://['><p>{PARAGRAPH}</p>".encode()
    assert read_response(HtmlResponse("http://a.example", body=body)).text == PARAGRAPH
