from __future__ import annotations

import contextlib
import encodings.aliases

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.http import HtmlResponse

from dedupcrawl.page import PageError, read_page, read_response
from dedupcrawl.page.document import (
    MAX_ATTRIBUTES,
    MAX_ERROR_SHARE,
    MAX_RUN_BYTES,
    MIN_UTF8_BYTES,
    _sample,
    bounded_markup,
    decode,
    has_long_tag,
    is_encoding,
    is_plausible,
    parse,
    sample_step,
)
from dedupcrawl.page.time_limit import TooSlowError, time_limit
from tests.cost import least_cpu_seconds, takes_less
from tests.page.samples import CHINESE, CHINESE_TWO, PARAGRAPH, SECOND, article

TRADITIONAL = "昨夜的大雨讓河水漲到了橋下一掌的地方，清晨全村的人都來到岸邊觀看，誰也說不清自己在等待什麼。"
JAPANESE = "昨夜の大雨で川の水は橋のすぐ下まで上がり、朝には村じゅうの人が岸に集まって眺めていました。"
KOREAN = "어젯밤 큰비로 강물이 다리 바로 아래까지 차올랐고 아침에는 온 마을 사람들이 강가에 나와 지켜보았다."
RUSSIAN = "Ночью из-за сильного дождя вода в реке поднялась почти до моста, и утром вся деревня вышла посмотреть."
FRENCH = "Pendant la nuit, la rivière est montée jusqu'à une main du pont; à l'aube, tout le village était là."


def html(text: str, charset: str = "") -> str:
    meta = f'<meta charset="{charset}">' if charset else ""
    return f"<html><head>{meta}<title>{text[:8]}</title></head><body><p>{text}</p><p>{text[::-1]}</p></body>"


@pytest.mark.parametrize(
    ("text", "label", "codec"),
    [
        (CHINESE, "gb2312", "gb18030"),
        (CHINESE + "镕", "gb2312", "gbk"),  # beyond GB2312, as pages so labelled are
        (CHINESE, "gbk", "gbk"),
        (CHINESE + "𠮷㐂", "gb18030", "gb18030"),
        (TRADITIONAL, "big5", "big5"),
        (TRADITIONAL + "嘅喺", "big5", "big5hkscs"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE, "euc-jp", "euc_jp"),
        (KOREAN, "euc-kr", "cp949"),
        (RUSSIAN, "windows-1251", "cp1251"),
        (FRENCH + " “œuvre”", "iso-8859-1", "cp1252"),
        (CHINESE, "utf-8", "utf-8"),
    ],
)
@pytest.mark.parametrize("where", ["meta", "header", "argument"])
def test_declared(text: str, label: str, codec: str, where: str) -> None:
    body = html(text, label if where == "meta" else "").encode(codec)
    page = read_page(
        body,
        encoding=label if where == "argument" else None,
        content_type=f"text/html; charset={label}" if where == "header" else "text/html",
    )
    assert text in page.text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-8", "utf-32-le"])
def test_byte_order_mark_is_asked_first(codec: str) -> None:
    body = ("\ufeff" + html(CHINESE, "big5")).encode(codec)
    assert CHINESE in read_page(body, content_type="text/html; charset=gbk").text


def test_utf_16_without_mark() -> None:
    assert CHINESE in read_page(html(CHINESE).encode("utf-16-le")).text


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (CHINESE, "gb18030"),
        (TRADITIONAL, "big5"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "cp949"),
        (RUSSIAN, "cp1251"),
        (FRENCH, "cp1252"),
        (CHINESE, "utf-8"),
    ],
)
def test_nothing_declared(text: str, codec: str) -> None:
    assert text in read_page(html(text).encode(codec)).text


@pytest.mark.parametrize(("true", "claimed"), [("gb18030", "utf-8"), ("utf-8", "gb2312"), ("utf-8", "iso-8859-1")])
@pytest.mark.parametrize("where", ["meta", "header"])
def test_lying_label(true: str, claimed: str, where: str) -> None:
    body = html(CHINESE, claimed if where == "meta" else "").encode(true)
    header = f"text/html; charset={claimed}" if where == "header" else ""
    assert CHINESE in read_page(body, content_type=header).text


def test_a_lying_header_gives_way_to_a_true_meta() -> None:
    body = html(TRADITIONAL, "big5").encode("big5")
    assert TRADITIONAL in read_page(body, content_type="text/html; charset=utf-8").text


def test_an_unknown_label_is_passed_over() -> None:
    assert CHINESE in read_page(html(CHINESE, "klingon").encode("gbk"), content_type="text/html; charset=x-y").text


@given(
    st.lists(
        st.sampled_from([b"plain ", "é".encode(), "\ufffd".encode(), "水".encode(), b"\xff", b"\xe6\xb0"]), max_size=99
    ),
    st.sampled_from(["utf-8", "cp1252", "gb18030"]),
)
def test_plausible_is_what_is_valid_or_has_few_errors(parts: list[bytes], label: str) -> None:
    body = b"".join(parts)
    text = body.decode(label, "replace")
    foreign, errors = sum(not each.isascii() for each in text), text.count("\ufffd")
    expected = errors <= MAX_ERROR_SHARE * foreign
    with contextlib.suppress(UnicodeDecodeError):
        expected = len(body) - len(body.decode()) < MIN_UTF8_BYTES or label == "utf-8"
    declared = f"text/html; charset={label}"
    assert is_plausible(body, text, label, declared) == (expected or body.isascii())


def test_a_few_broken_bytes_do_not_refute_a_label() -> None:
    body = html(CHINESE * 20 + CHINESE_TWO, "gbk").encode("gbk").replace("磨坊主".encode("gbk"), b"\xff\xff\xff", 1)
    text = read_page(body).text
    assert CHINESE in text
    assert "\ufffd" in text


def test_short_words_that_look_like_utf8_keep_their_label() -> None:
    body = "<p>éé".encode()
    assert "Ã" in decode(body, content_type="text/html; charset=windows-1252")


def test_iso_2022_jp_is_ascii_bytes_only() -> None:
    assert JAPANESE[:20] in decode(html(JAPANESE, "iso-2022-jp").encode("iso2022_jp"))


@pytest.mark.parametrize(
    ("codec", "header"),
    [
        ("gb18030", "text/html"),  # Scrapy takes it for cp1252
        ("gb18030", "text/html; charset=utf-8"),
        ("utf-8", "text/html; charset=gbk"),
        ("gb18030", "text/html; charset=gb2312"),
        ("utf-8", "text/html"),
    ],
)
def test_responses(codec: str, header: str) -> None:
    response = HtmlResponse("http://example.com/", body=html(CHINESE).encode(codec), headers={"Content-Type": header})
    assert CHINESE in read_response(response).text


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["", "utf-8", "gb2312", "utf-16", "utf-7", "hex", "zz"]))
def test_any_bytes_decode(body: bytes, label: str) -> None:
    assert isinstance(decode(body, encoding=label or None), str)
    assert isinstance(decode(body, content_type=f"text/html; charset={label}"), str)
    assert isinstance(decode(b'<meta charset="' + label.encode() + b'">' + body), str)


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=200))
def test_utf8_is_read_back(text: str) -> None:
    assert decode(("\ufeff" + text).encode()) == text


def test_head_of_a_page() -> None:
    page = read_page(
        article(
            "",
            """
            <meta name="Description" content=" The river
              rose. "><meta name="keywords" content="river, flood">
            <link rel="canonical" href="/flood"><meta property="og:title" content="The Flood">
            <meta property="article:published_time" content="2024-03-01T06:00:00Z">
            """,
        ).replace("<html>", '<html lang="en-GB">'),
        "https://example.com/a/b?c",
    )
    assert page.url == "https://example.com/a/b?c"
    assert page.title == "The Flood"
    assert page.description == "The river rose."
    assert page.keywords == "river, flood"
    assert page.canonical == "https://example.com/flood"
    assert page.published == "2024-03-01T06:00:00Z"
    assert page.language == "en"


def test_what_a_page_does_not_say_is_empty() -> None:
    page = read_page(f"<p>{PARAGRAPH}</p>")
    assert (page.title, page.description, page.keywords, page.canonical, page.published, page.language) == ("",) * 6


@pytest.mark.parametrize(
    "head",
    [
        '<meta name="pubdate" content="2024-03-01">',
        '<meta itemprop="datePublished" content="2024-03-01">',
        '<script type="application/ld+json">{"@type": "Article", "datePublished" : "2024-03-01"}</script>',
        '<script type="application/ld+json">{"dateModified": "2025",\n"datePublished":"2024-03-01"}</script>',
    ],
)
def test_published(head: str) -> None:
    assert read_page(article("", head)).published == "2024-03-01"


def test_published_by_the_first_time_element() -> None:
    html = article('<time datetime="2024-03-01">1 March</time> <time datetime="2025-01-01">later</time>')
    assert read_page(html).published == "2024-03-01"


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ('<html lang="zh-Hans">', "zh"),
        ('<html lang="ZH_cn">', "zh"),
        ('<html><meta http-equiv="content-language" content="de, en">', "de"),
        ('<html><meta property="og:locale" content="pt_BR">', "pt"),
        ('<html lang="">', ""),
        ('<html lang="utf-8">', ""),
        ('<html lang="language">', ""),
    ],
)
def test_language(html: str, language: str) -> None:
    assert read_page(f"{html}<p>{PARAGRAPH}").language == language


def test_the_title_of_a_drawing_is_not_the_title() -> None:
    assert read_page("<svg><title>Icon</title></svg><p>Text").title == ""


def test_a_title_outside_the_head_counts() -> None:
    assert read_page(f"<body><center><title> Flood\n report </title><p>{PARAGRAPH}").title == "Flood report"


def test_metadata_is_no_text() -> None:
    page = read_page(article('<meta itemprop="name" content="hidden"><script>var hidden</script>'))
    assert "hidden" not in page.text


@pytest.mark.parametrize("href", ["http://[", "//", "\x00", "javascript:void(0)"])
def test_a_broken_canonical_does_not_raise(href: str) -> None:
    assert isinstance(read_page(f'<link rel="canonical" href="{href}"><p>Text', "http://a/").canonical, str)


# -- labels that are no encodings, and wrong ones ---------------------------------------------------

NO_ENCODINGS = [
    "idna", "punycode", "hex", "base64", "rot13", "zlib", "bz2", "uu", "quopri", "unicode_escape",
    "raw_unicode_escape", "undefined", "mbcs", "oem", "utf-7", "cp037", "cp500", "no-such-thing", "-", "x" * 5000,
]  # fmt: skip
WRONG = ["utf-16", "utf-16le", "utf-32", "hz", "iso-2022-jp", "gb18030", "shift_jis", "koi8-r", "latin-1"]
ODD_TEXTS = (
    "It rained \\x41\\u4e00 in the hills + AGE- a-b.",
    "Il a plu à Québec, où les élèves étaient déjà rentrés à l’été.",
)


@pytest.mark.parametrize("text", ODD_TEXTS)
@pytest.mark.parametrize("label", [*NO_ENCODINGS, *WRONG])
@pytest.mark.parametrize("place", ["header", "meta", "argument"])
def test_a_label_that_does_not_fit_is_passed_over(place: str, label: str, text: str) -> None:
    html = (f"<meta charset={label}>" if place == "meta" else "") + f"<p>{text}</p>" + f"<p>{text}</p>" * 3
    header = f"text/html; charset={label}" if place == "header" else "text/html"
    argument = label if place == "argument" and len(label) < 5000 else None
    response = HtmlResponse("http://a.example", body=html.encode(), headers={"Content-Type": header}, encoding=argument)
    assert text in read_page(html.encode(), encoding=argument, content_type=header).text
    assert text in read_response(response).text


def test_labels_of_python_codecs_are_known() -> None:
    """Every codec of this Python is either an encoding of pages, or does not decode ASCII markup as such."""
    for name in sorted(set(encodings.aliases.aliases.values())):
        if is_encoding(name) and not name.startswith(("utf_16", "utf_32")):
            assert b"<p>a-b.c 1</p>".decode(name) == "<p>a-b.c 1</p>"
    assert not [name for name in NO_ENCODINGS if is_encoding(name)]


def test_escaped_encodings_of_ascii_bytes_are_still_read() -> None:
    for label in ("hz", "iso2022_jp"):
        body = "<p>日本の天</p>".encode(label)
        assert body.isascii()
        response = HtmlResponse("http://a.example", body=body, headers={"Content-Type": f"text/html; charset={label}"})
        assert read_response(response).text == "日本の天"
        assert read_page(body, encoding=label).text == "日本の天"


@pytest.mark.parametrize("label", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_read_by_its_label(label: str) -> None:
    body = "<p>It rained in the hills all night.</p>".encode(label)
    response = HtmlResponse("http://a.example", body=body, headers={"Content-Type": f"text/html; charset={label}"})
    assert read_response(response).text == "It rained in the hills all night."


def test_the_sample_of_an_encoding_is_bounded() -> None:
    assert len(_sample(b"\xe9" + b" a" * 1_000_000)) == MAX_RUN_BYTES


# -- tags with many attributes ------------------------------------------------------------------

MANY = 12_000  #: enough that the tag is longer than three samples
FLOODS = {
    "values": "<p " + " ".join(f"a{n}=1" for n in range(MANY)) + ">",
    "no values": "<p " + " ".join(f"a{n}" for n in range(MANY)) + ">",
    "slashes": "<p" + "".join(f"/a{n}" for n in range(MANY)) + ">",
    "quoted signs": "<p " + "".join(f'a{n}="<>"' for n in range(MANY)) + ">",
    "single quotes": "<p " + "".join(f"a{n} = '>'" for n in range(MANY)) + ">",
    "quotes in names": "<p \" ' =" + " ".join(f'a{n}"' for n in range(MANY)) + ">",
    "an open quote before": f"<i title='<b x=\"'>{PARAGRAPH}</i><p " + " ".join(f"a{n}" for n in range(MANY)) + ">",
    "a comment before": "<!-- <b x=' --><p " + " ".join(f"a{n}" for n in range(MANY)) + ">",
    "a script before": "<script>'<b x=\"'</script><p " + " ".join(f"a{n}" for n in range(MANY)) + ">",
    "in what looks like a script": "<i title='<script>'><p " + " ".join(f"a{n}" for n in range(MANY * 2)) + ">",
    "namespaces": "<p " + " ".join(f"xmlns:a{n}=u" for n in range(MANY)) + ">",
    "never closed": "<p " + " ".join(f"a{n}" for n in range(MANY)),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_a_tag_with_too_many_attributes_is_refused_before_it_is_parsed(flood: str) -> None:
    html = f"<p>{PARAGRAPH}</p>{flood}{SECOND}"
    if flood.startswith("<i title='<script>'>"):  # parsed without a tag
        assert PARAGRAPH in read_page(html).text
        assert not has_long_tag(bounded_markup(html))
        return
    for read in (read_page, lambda page: read_response(HtmlResponse("http://a.example", body=page.encode()))):
        with pytest.raises(PageError, match=f"more than {MAX_ATTRIBUTES} attributes") as caught:
            read(html)
        assert caught.value.reason == "too-many-attributes"


def test_a_tag_with_the_highest_number_of_attributes_is_read() -> None:
    tag = "<p " + " ".join(f'a{n}=">"' for n in range(MAX_ATTRIBUTES)) + ">"
    assert read_page(f"{tag}{PARAGRAPH}</p><p>{SECOND}").text == f"{PARAGRAPH}\n{SECOND}"


def test_a_script_that_looks_like_a_long_tag_does_not_matter() -> None:
    script = "<script>for (i=0; i<n; i++) { " + "x = x + 1; " * 6000 + "}</script>"
    date = '<script type="application/ld+json">{"datePublished": "2024-01-02", "a<b": "' + "c " * 24_000 + '"}</script>'
    html = f"<body>{script}{date}<p>{PARAGRAPH}</p><p>{SECOND}</p>"
    assert has_long_tag(html)
    response = HtmlResponse("http://a.example", body=html.encode())
    for page in (read_page(html), read_response(response)):
        assert (page.text, page.published) == (f"{PARAGRAPH}\n{SECOND}", "2024-01-02")


def test_ordinary_pages_are_parsed_as_they_are() -> None:
    html = f"<p class='a' id=b>{PARAGRAPH}</p><script>if (a<b) c</script>"
    assert bounded_markup(html) is html


@pytest.mark.parametrize("step", [2048, 4096, 8192, 16384])
def test_attributes_cannot_be_hidden_between_samples_at_regular_places(step: int) -> None:
    """Wherever a sample at a multiple of the step would be, there is a value full of ``>``."""
    tag = "<p "
    for place in range(step, 320_000, step):
        attributes = "".join(f"a{len(tag) + n:x} " for n in range(0, step - 100, 8))
        tag += attributes[: place - len(tag) - 40] + f' b{place}="{">" * 60}" '
    assert has_long_tag(f"{tag}>{PARAGRAPH}")


@pytest.mark.parametrize("size", [400_000, 1_000_000, 3_000_000, 9_000_000])
def test_the_larger_a_page_the_shorter_the_tags_that_are_found(size: int) -> None:
    tag = "<p " + " ".join(f'a{n}=">"' for n in range(sample_step(size) // 2)) + ">"
    html = f"<p>{PARAGRAPH}</p>" * (size // len(PARAGRAPH)) + tag
    assert has_long_tag(html)


@pytest.mark.parametrize("size", [30_000, 100_000, 500_000])
def test_sampling_costs_little_of_the_time_of_parsing(size: int) -> None:
    html = f"<div class='a b' id=c><a href='/x'>{PARAGRAPH}</a><p>{SECOND}</p></div>" * (size // 300)
    assert takes_less(lambda: has_long_tag(html), 0.05 * least_cpu_seconds(lambda: parse(html), 5))


@pytest.mark.parametrize(
    ("html", "accepted"),
    [
        ("<script " * 80_000, False),
        ("<script>" + "<a " * 500_000, True),
        ("<script>" + "for(i=0;i<n;i++){a[i]<b&&c<d}\n" * 30_000 + "</script>", True),
        ("<p " + 'a1f=">>>>>>>>>" ' * 60_000 + ">", False),
    ],
    ids=["scripts that are not closed", "tags in a script", "loops in a script", "values full of >"],
)
def test_the_search_takes_linear_time(html: str, accepted: bool) -> None:
    def search() -> bool:
        try:
            bounded_markup(html)
        except PageError:
            return False
        return True

    assert search() == accepted
    assert takes_less(search, 1.0)


def test_the_search_ends_with_the_time_limit() -> None:
    """As many attributes as may be follow each ``<``. The script before starts the search."""
    script = "<script>for (i=0; i<n; i++) { " + "x = x + 1; " * 6000 + "}</script>"
    html = script + ("<a " * 250 + ">") * 12_000
    assert has_long_tag(script)
    with time_limit(0.2), pytest.raises(TooSlowError):
        bounded_markup(html)
