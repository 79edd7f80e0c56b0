"""Reading responses, and the requests for files and images that are saved."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from scrapy.pipelines.files import FilesPipeline
from scrapy.pipelines.images import ImagesPipeline
from scrapy.utils.test import get_crawler

from dedupcrawl.crawl.pipeline import MediaRequestCounts
from dedupcrawl.crawl.responses import read_page_of
from dedupcrawl.decision import Verdict
from dedupcrawl.page import Page, ReadOptions, readers


@pytest.mark.parametrize(("body", "reason"), [(b"So it goes. " * 100, "too-large"), (b"%PDF-1.7 and so on", "binary")])
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


class Named(FilesPipeline):
    """Takes its URLs from another field."""


class Own(ImagesPipeline):
    """A pipeline with unpredictable requests."""

    def get_media_requests(self, item: Any, info: Any) -> list[Any]:
        return []


def looking(*pipelines: object, ours: object) -> MediaRequestCounts:
    engine = SimpleNamespace(scraper=SimpleNamespace(itemproc=SimpleNamespace(middlewares=pipelines)))
    media = MediaRequestCounts()
    media.find_pipelines(SimpleNamespace(engine=engine), ours)  # type: ignore[arg-type]
    return media


def made(kind: type[FilesPipeline], folder: str = "/nowhere", **settings: str) -> FilesPipeline:
    crawler = get_crawler(settings_dict=settings)
    return kind.__new__(kind) if kind is Own else kind(folder, crawler=crawler)


def test_only_pipelines_after_ours_that_ask_as_scrapy_does() -> None:
    ours = object()
    files, named = made(FilesPipeline, "/tmp"), made(Named, "/tmp", NAMED_FILES_URLS_FIELD="papers")
    assert not looking(files, ours, object(), made(Own), ours=ours).is_active
    assert not looking(ours=ours).is_active
    media = looking(ours, files, named, ours=ours)
    assert media.count_new({"file_urls": ["a"], "papers": ["b", "c"], "image_urls": ["d"]}) == 3


URLS = st.lists(st.sampled_from("abcdefgh"), max_size=6)


@given(st.lists(st.tuples(st.booleans(), URLS), max_size=12))
def test_each_url_is_asked_for_once(items: list[tuple[bool, list[str]]]) -> None:
    ours = object()
    media = looking(ours, made(FilesPipeline, "/tmp"), ours=ours)
    saved, known = 0, set[str]()
    for is_dropped, urls in items:
        if is_dropped:
            saved += len(set(urls) - known)
            assert media.count_new({"file_urls": urls}) == len(set(urls) - known)
        else:
            media.count_new({"file_urls": urls})
        known |= set(urls)
    assert saved <= len(known)


def test_items_of_any_kind_do_no_harm() -> None:
    ours = object()
    media = looking(ours, made(FilesPipeline, "/tmp"), ours=ours)
    assert [media.count_new(item) for item in ({}, {"file_urls": "abc"}, {"file_urls": [None, 7]}, "text", None)] == [
        0
    ] * 5
    assert media.count_new({"file_urls": ["half \ud83d"]}) == 1


_URL = "http://a.example/1"
_PAGE = b"<html><body><p>The mill was built of stone in 1802.</p></body></html>"


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (HtmlResponse(_URL, status=404, body=_PAGE), "status"),
        (HtmlResponse(_URL, body=_PAGE, request=Request(_URL, meta={"dedup_skip": True})), "skip"),
        (HtmlResponse(_URL, body=b" \n"), "empty"),
        (HtmlResponse(_URL, body=b"\x89PNG\r\n\x1a\n" + _PAGE), "binary"),
        (HtmlResponse(_URL, body=_PAGE * 200), "too-large"),
        (JsonResponse(_URL, body=b'{"a": 1}'), "not-html"),
        (XmlResponse(_URL, body=b"<rss/>"), "not-html"),
        (Response(_URL, body=_PAGE), "not-html"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_refused_by_its_head_or_bytes_is_not_parsed(
    response: Response, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(*_: object) -> None:
        pytest.fail("the page was parsed")

    monkeypatch.setattr(readers, "parse", parse)
    monkeypatch.setattr(readers, "_tree_of", parse)
    found = read_page_of(response, ReadOptions(max_bytes=10_000))
    assert isinstance(found, Verdict)
    assert found.reason == reason
