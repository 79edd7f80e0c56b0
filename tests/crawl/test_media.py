from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from scrapy.pipelines.files import FilesPipeline
from scrapy.pipelines.images import ImagesPipeline
from scrapy.utils.test import get_crawler

from dedupcrawl.crawl.media import Media


class Named(FilesPipeline):
    """Takes its URLs from another field."""


class Own(ImagesPipeline):
    """Asks for what nobody can foresee."""

    def get_media_requests(self, item: Any, info: Any) -> list[Any]:
        return []


def looking(*pipelines: object, ours: object) -> Media:
    engine = SimpleNamespace(scraper=SimpleNamespace(itemproc=SimpleNamespace(middlewares=pipelines)))
    media = Media()
    media.look(SimpleNamespace(engine=engine), ours)  # type: ignore[arg-type]
    return media


def made(kind: type[FilesPipeline], folder: str = "/nowhere", **settings: str) -> FilesPipeline:
    crawler = get_crawler(settings_dict=settings)
    crawler._apply_settings()
    return kind.__new__(kind) if kind is Own else kind(folder, crawler=crawler)


def test_only_pipelines_after_ours_that_ask_as_scrapy_does() -> None:
    ours = object()
    files, named = made(FilesPipeline, "/tmp"), made(Named, "/tmp", NAMED_FILES_URLS_FIELD="papers")
    assert not looking(files, ours, object(), made(Own), ours=ours).is_there
    assert not looking(ours=ours).is_there
    media = looking(ours, files, named, ours=ours)
    assert media.spared({"file_urls": ["a"], "papers": ["b", "c"], "image_urls": ["d"]}) == 3


URLS = st.lists(st.sampled_from("abcdefgh"), max_size=6)


@given(st.lists(st.tuples(st.booleans(), URLS), max_size=12))
def test_each_url_is_asked_for_once(items: list[tuple[bool, list[str]]]) -> None:
    ours = object()
    media = looking(ours, made(FilesPipeline, "/tmp"), ours=ours)
    saved, known = 0, set[str]()
    for is_dropped, urls in items:
        if is_dropped:
            saved += len(set(urls) - known)
            assert media.spared({"file_urls": urls}) == len(set(urls) - known)
        else:
            media.passed({"file_urls": urls})
        known |= set(urls)
    assert saved <= len(known)


def test_items_of_any_kind_do_no_harm() -> None:
    ours = object()
    media = looking(ours, made(FilesPipeline, "/tmp"), ours=ours)
    assert [
        media.spared(item) for item in ({}, {"file_urls": "abc"}, {"file_urls": [None, 7]}, "text", None)
    ] == [0] * 5
    assert media.spared({"file_urls": ["half \ud83d"]}) == 1
