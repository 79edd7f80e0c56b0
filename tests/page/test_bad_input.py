from __future__ import annotations

import gzip
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html as lxml_html
from scrapy.http import HtmlResponse

from dedupcrawl.errors import DedupError
from dedupcrawl.page import Kind, PageError, ReadOptions, read_page, read_response, read_tree
from dedupcrawl.page.rules import KEPT_REASONS
from tests.page.samples import CHINESE, PARAGRAPH, SECOND, article

# -- nothing to read --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "", b"", "   ", b"\n\n", "\0\0", b"\0", "<html></html>", "<!-- nothing -->", "<body></body>",
        "<head><title>Only a title</title></head>", "<script>document.write('all of it')</script>",
        "<body><script src=a.js></script><noscript>Please enable JavaScript</noscript></body>",
        '<?xml version="1.0" encoding="gbk"?>', "<style>p{}</style><svg><text>drawn</text></svg>",
        "<frameset cols='20%,80%'><frame src=menu.html><frame src=main.html></frameset>",
    ],
)  # fmt: skip
def test_pages_without_text_are_empty(source: str | bytes) -> None:
    page = read_page(source)
    assert (page.kind, page.text, page.blocks) == (Kind.EMPTY, "", ())


def test_what_a_frameset_contains_for_browsers_without_frames_is_no_text() -> None:
    page = read_page(f"<frameset><frame src=a><noframes><p>{PARAGRAPH}</p></noframes></frameset>")
    assert page.kind is Kind.EMPTY


# -- broken markup ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "html",
    [
        f"<p>{PARAGRAPH}<p>{SECOND}",
        f"<div><p>{PARAGRAPH}</div></p><p>{SECOND}</html></body>",
        f"</div></td><b><p>{PARAGRAPH}</b><p>{SECOND}<",
        f"<table><tr><td><p>{PARAGRAPH}<td><p>{SECOND}",
        f"<html><html><body><body class=<p>{PARAGRAPH}<p>{SECOND}",
        f"<p>{PARAGRAPH}</p>\0<p>{SECOND}</p>",
        f"<?xml version='1.0'?><p>{PARAGRAPH}</p><![CDATA[x]]><p>{SECOND}</p>",
    ],
)
def test_broken_markup_is_repaired(html: str) -> None:
    text = read_page(html).text
    assert PARAGRAPH in text
    assert SECOND in text


def test_without_a_body() -> None:
    assert read_page(f"<title>x</title>{PARAGRAPH}").text == PARAGRAPH


def test_plain_text_is_a_page_without_markup() -> None:
    page = read_page(f"{PARAGRAPH}\n\n1 < 2 & 3 > 2\n{SECOND}".encode())
    assert page.kind is Kind.ARTICLE
    assert page.text == f"{PARAGRAPH} 1 < 2 & 3 > 2 {SECOND}"


def test_nul_bytes_are_passed_over() -> None:
    assert PARAGRAPH in read_page(PARAGRAPH.replace(" ", "\0 ").encode()).text


def test_a_form_around_the_page_is_not_skipped() -> None:
    html = f'<body><form id="aspnetForm" method="post"><input type=hidden value=x>{article("")}</form></body>'
    assert PARAGRAPH in read_page(html).text


@pytest.mark.parametrize("landmark", ["nav", "aside", "footer", "menu", "dialog"])
def test_an_unclosed_landmark_does_not_swallow_the_page(landmark: str) -> None:
    page = read_page(f"<body><{landmark}><p>{PARAGRAPH}</p><p>{SECOND}</p></body>")
    assert page.text == f"{PARAGRAPH}\n{SECOND}"


def test_lone_surrogates_do_not_raise() -> None:
    assert "before" in read_page(f"<p>before \ud800 after {PARAGRAPH}").text


@pytest.mark.parametrize("mark", [chr(point) for point in range(0xFDD0, 0xFDD8)])
def test_noncharacters_do_not_raise(mark: str) -> None:
    page = read_page(article(f"<p>{mark} <a href='{mark}{mark}'>{mark}x</a>{mark}{mark} end</p>"))
    assert SECOND in page.text


# -- too much ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("tag", ["div", "span", "b", "table", "font"])
def test_a_page_too_deep_to_be_parsed_to_its_end_is_refused(tag: str, *, closed: bool) -> None:
    end = f"</{tag}>" * 100_000 if closed else ""
    start = time.process_time()
    with pytest.raises(PageError, match="nested") as caught:
        read_page(f"<p>{PARAGRAPH}</p>" + f"<{tag}>" * 100_000 + end + "bottom")
    assert caught.value.reason == "too-deep"
    assert time.process_time() - start < 20


@pytest.mark.parametrize("tag", ["p", "li", "a href=x"])
def test_tags_that_end_each_other_are_not_deep(tag: str) -> None:
    assert PARAGRAPH in read_page(f"<p>{PARAGRAPH}</p>" + f"<{tag}>" * 100_000 + "bottom").text


@pytest.mark.parametrize("depth", [1000, 2000])
def test_a_deep_page_is_read_to_its_end(depth: int) -> None:
    for end in ("", "</div>" * depth):
        assert SECOND in read_page(f"<p>{PARAGRAPH}</p>" + "<div>" * depth + end + f"<p>{SECOND}</p>").text


def test_a_deep_tree_of_another_parser_is_read() -> None:
    root = lxml_html.document_fromstring(f"<body><p>{PARAGRAPH}</p></body>")
    inner = root[0]
    for _ in range(2_000):
        inner = lxml_html.etree.SubElement(inner, "div")
    inner.text = "bottom"
    assert PARAGRAPH in read_tree(root).text


def test_a_page_of_50_mb_is_refused() -> None:
    source = b"<html><body>" + f"<p>{PARAGRAPH}</p>".encode() * 250_000
    assert len(source) > 50_000_000
    start = time.thread_time()
    with pytest.raises(PageError, match="max_bytes") as caught:
        read_page(source)
    assert caught.value.reason == "too-large"
    assert time.thread_time() - start < 2


def test_the_bound_can_be_moved_and_holds_for_trees_too() -> None:
    html = article(f"<p>{SECOND}</p>" * 10)
    options = ReadOptions(max_bytes=1000)
    with pytest.raises(PageError) as caught:
        read_tree(lxml_html.document_fromstring(html), options=options)
    assert caught.value.reason == "too-large"
    response = HtmlResponse("http://example.com", body=html.encode())
    with pytest.raises(PageError):
        read_response(response, options)
    assert read_page(html, options=ReadOptions(max_bytes=len(html))).text


def test_many_small_blocks_are_read_in_linear_time() -> None:
    start = time.process_time()
    page = read_page("<body>" + "<div><a href=x>a</a><br>b</div>" * 50_000)
    assert len(page.blocks) >= 50_000
    assert time.process_time() - start < 20


# -- no page at all ---------------------------------------------------------------------------------

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 4


@pytest.mark.parametrize(
    "body",
    [
        PNG,
        b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj",
        b"GIF89a\x01\0\x01\0",
        gzip.compress(b"<p>text</p>"),
        b"PK\x03\x04\x14\0",
        b"\x7fELF\x02\x01\x01",
        bytes(range(256)) * 20,
        zlib.compress(PARAGRAPH.encode() * 3 + bytes(range(256))),
    ],
)
def test_binary_called_html(body: bytes) -> None:
    with pytest.raises(PageError) as caught:
        read_page(body, content_type="text/html; charset=utf-8")
    assert caught.value.reason == "binary"
    assert isinstance(caught.value, DedupError)


def test_binary_response_called_html() -> None:
    with pytest.raises(PageError, match=r"http://example\.com/a") as caught:
        read_response(HtmlResponse("http://example.com/a", body=PNG, headers={"Content-Type": "text/html"}))
    assert caught.value.reason == "binary"


# -- anything ---------------------------------------------------------------------------------------

MARKUP = st.lists(
    st.sampled_from(
        [
            "<p>", "</p>", "<div class='comment'>", "<div id=related>", "</div>", "<td>", "<table>",
            "</table>", "<br>", "<hr>", "<a href='/x'>", "<a href=a.mp3>", "<a>", "</a>", "<li>", "<ul>",
            "</ul>", "<nav>", "</nav>", "<form>", "<h1>", "</h1>", "<aside>", "<script>", "</script>",
            "<!--", "-->", "<title>", "&amp;", "&#0;", "<meta name=date content=1>", " ", "\n", "\ufdd0",
            "\ufdd1", "\ufdd5", "|", PARAGRAPH, CHINESE, "word",
        ]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(MARKUP)
def test_any_markup_is_read_and_its_figures_agree(html: str) -> None:
    page = read_page(html)
    for block in page.blocks:
        assert block.text == block.text.strip()
        assert block.text
        assert block.length == len(block.text.encode("utf-8", "replace"))
        assert 0 <= block.link_length <= block.length
        assert 0 <= block.longest_run <= block.links
        assert block.kept == (block.reason in KEPT_REASONS)
    assert page.text == "\n".join(block.text for block in page.blocks if block.kept)
    if page.kind is not Kind.INDEX:
        assert bool(page.text) == (page.kind is Kind.ARTICLE)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=500), MARKUP.map(lambda text: text.encode("utf-16"))))
def test_any_bytes_are_read_or_refused_as_documented(body: bytes) -> None:
    reason = "binary"
    try:
        read_page(body)
    except PageError as error:
        reason = error.reason
    assert reason == "binary"


@settings(max_examples=100, deadline=None)
@given(MARKUP)
def test_reading_leaves_the_tree_alone_and_is_repeatable(html: str) -> None:
    root = lxml_html.document_fromstring(f"<html><body>{html}</body></html>")
    before = lxml_html.tostring(root)
    assert read_tree(root) == read_tree(root)
    assert lxml_html.tostring(root) == before


def test_endless_class_names_are_read() -> None:
    page = read_page(article(f"<div class='{'related ' * 100_000}'><p>Elsewhere</p></div><p>{SECOND[::-1]}</p>"))
    assert "Elsewhere" not in page.text
