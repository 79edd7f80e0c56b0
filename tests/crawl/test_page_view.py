"""``DEDUP_TEXT_FIELD`` and ``response.meta["dedup"]`` in real crawls."""

from __future__ import annotations

import gc
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.settings import Settings

from dedupcrawl import Page
from dedupcrawl.crawl.page_view import META_KEY, PageView, drop_view
from dedupcrawl.crawl.settings import Options
from dedupcrawl.errors import SettingError
from tests.crawl.running import IN_TURN, finish, on_every_reactor, start
from tests.crawl.site import fancy, index, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dedupcrawl.page.model import Block
    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

TEXT_FIELD = {"DEDUP_TEXT_FIELD": "text"}
#: Kinds of items, and whether they get the text.
KINDS = {
    "dict": True,
    "text": True,
    "text-data": True,
    "text-attrs": True,
    "text-model": True,
    "text-frozen": False,
    "plain": False,
    "data": False,
    "strict": False,
}


def main_text(number: int) -> str:
    return " ".join(text(number).split())


def written(crawled: Crawled) -> list[str]:
    return [" ".join((item.get("text") or "").split()) for item in crawled.items]


def test_items_that_declare_the_field_get_the_main_text(site: Site, tmp_path: Path) -> None:
    urls = [site.put("/a", fancy("Ice", text(1)))]
    crawls = [("Reader", {"urls": urls, "kind": kind, "copies": 2}) for kind in KINDS]
    own = [{"DEDUP_NAMESPACE": kind} for kind in KINDS]
    done = finish(start(tmp_path, *crawls, settings=TEXT_FIELD, own=own))
    for (kind, gets), crawled in zip(KINDS.items(), done, strict=True):
        assert written(crawled) == [main_text(1) if gets else ""] * 2, kind
        assert not crawled.lines("Traceback"), kind
        if not gets and kind != "text-frozen":
            assert all("text" not in item for item in crawled.items), kind
    (refused,) = done[0].lines("cannot be written into the field text", "WARNING")  # the crawls share a log
    assert "FrozenTextItem" in refused


def test_without_the_settings_nothing_changes(site: Site, run: Run) -> None:
    urls = [site.put("/a", fancy("Ice", text(1)))]
    crawled = run("Viewer", urls=urls, settings={"ITEM_PIPELINES": {"tests.crawl.components.SeePage": 300}})
    assert crawled.items == []  # the spider found nothing in the meta
    (item,) = run(urls=urls, settings={"ITEM_PIPELINES": {"tests.crawl.components.SeePage": 300}}).items
    assert set(item) == {"url", "title", "body"}


def test_a_text_of_the_spider_stays(site: Site, run: Run) -> None:
    crawled = run("Prefiller", urls=[site.put("/a", plain("Ice", text(1)))], settings=TEXT_FIELD)
    assert written(crawled) == ["by the spider"]


@pytest.mark.parametrize("settings", [TEXT_FIELD, {"DEDUP_RESPONSE_META": True}])
def test_spiders_and_later_pipelines_see_page_blocks_and_verdict(
    site: Site, tmp_path: Path, settings: dict[str, Any]
) -> None:
    first, second = site.put("/a", plain("Ice", text(1))), site.put("/b", fancy("Ice", text(1)))
    wanted = {**IN_TURN, **settings, "DEDUP_ACTION": "tag", "ITEM_PIPELINES": {"tests.crawl.components.SeePage": 300}}
    crawl = ("Viewer", {"urls": [first, second]})
    for (crawled,) in on_every_reactor(tmp_path, crawl, settings=wanted).values():
        one, two = sorted(crawled.items, key=lambda item: str(item["url"]))
        for item in (one, two):
            seen, blocks, is_open = item["seen"]
            assert " ".join(seen.split()) == main_text(1)
            assert blocks > 2
            assert is_open
            assert item["later"][0] == seen
            assert ("text" in item) is (settings is TEXT_FIELD)
        assert [item["later"][1:] for item in (one, two)] == [["unique", first], ["duplicate", second]]


def test_a_page_is_read_once(site: Site, run: Run) -> None:
    reader = {"DEDUP_READER": "tests.page.user_readers:counting", **TEXT_FIELD}
    crawled = run("Viewer", urls=[site.put("/a", plain("Ice", text(1)))], copies=3, settings=reader)
    assert len(crawled.items) == 3
    # once for page, verdict and text, once more for the blocks that the spider asked for
    assert len(crawled.lines("read by the counting reader")) == 2


def test_an_unreadable_page_has_a_verdict_and_no_text(site: Site, run: Run) -> None:
    urls = [site.put("/skip", plain("Ice", text(1)))]  # its request has dedup_skip
    pipelines = {"tests.crawl.components.SeePage": 300}
    (item,) = run(urls=urls, settings={**TEXT_FIELD, "ITEM_PIPELINES": pipelines}).items
    assert "text" not in item
    assert item["later"] == [None, "unchecked", urls[0]]


def test_requests_with_the_meta_of_a_response_can_be_stored(site: Site, run: Run, tmp_path: Path) -> None:
    """``meta=response.meta`` is common in spiders; with JOBDIR requests are pickled."""
    links = [site.put(f"/{number}", plain(f"Ice {number}", text(number))) for number in (1, 2)]
    urls = [site.put("/", index(*links))]
    crawled = run("Viewer", urls=urls, settings={**TEXT_FIELD, "JOBDIR": str(tmp_path / "job")})
    assert sorted(written(crawled)) == sorted(map(main_text, (1, 2)))
    assert crawled.stats["scheduler/enqueued/disk"] == 3
    assert not crawled.lines("Unable to serialize")


class Source:
    """Reads every response as one page."""

    def read(self, response: Any) -> Page:
        return Page.from_text("words", response.url)

    def read_blocks(self, response: Any) -> tuple[Block, ...]:
        assert response.url
        return ()


def viewed() -> tuple[HtmlResponse, PageView]:
    response = HtmlResponse("https://a.example/", request=Request("https://a.example/"))
    view = PageView(Source(), response)
    response.meta[META_KEY] = view
    return response, view


def test_a_view_keeps_no_response_alive() -> None:
    response, view = viewed()
    gc.disable()
    try:
        del response
        assert view.page is None  # freed without the cyclic garbage collector
    finally:
        gc.enable()


def test_a_pickled_view_is_empty() -> None:
    response, view = viewed()
    assert view.page is not None
    stored = pickle.loads(pickle.dumps(response.meta))[META_KEY]
    assert (stored.page, stored.blocks, stored.verdict) == (None, (), None)


def test_only_requests_of_the_spider_lose_the_view() -> None:
    response, view = viewed()
    follow = Request("https://a.example/2", meta=response.meta)
    for request in (follow, response.request):
        assert request is not None
        drop_view(request, response)
    assert META_KEY not in follow.meta
    assert response.meta[META_KEY] is view


def test_the_field_of_the_verdict_is_refused() -> None:
    with pytest.raises(SettingError, match="DEDUP_TEXT_FIELD"):
        Options.from_settings(Settings({"DEDUP_TEXT_FIELD": "dedup"}), "spider")
