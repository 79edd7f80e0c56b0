from __future__ import annotations

import pytest

from dedupcrawl.page import read_page
from tests.page.samples import PARAGRAPH, article


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
