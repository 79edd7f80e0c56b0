from __future__ import annotations

import pytest
from scrapy.http import TextResponse

from dedupcrawl.crawl.reading import read_page_of
from dedupcrawl.page import Page, ReadOptions
from dedupcrawl.verdict import Verdict


@pytest.mark.parametrize(
    ("body", "reason"), [(b"So it goes. " * 100, "too-large"), (b"%PDF-1.7 and so on", "binary")]
)
def test_plain_text_is_checked_as_html_is(body: bytes, reason: str) -> None:
    response = TextResponse("https://a.example/", body=body, headers={"Content-Type": "text/plain"})
    said = read_page_of(response, ReadOptions(max_bytes=1000))
    assert isinstance(said, Verdict)
    assert said.reason == reason


def test_plain_text_is_read_as_it_is() -> None:
    response = TextResponse("https://a.example/", body=b"1 < 2\n<p>", headers={"Content-Type": "text/plain"})
    page = read_page_of(response, ReadOptions())
    assert isinstance(page, Page)
    assert page.text == "1 < 2\n<p>"
