"""Requests that were skipped are sent again as they were; their total counts each of them once."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request

from dedupcrawl import Deduplicator
from dedupcrawl.crawl import skipped_requests
from dedupcrawl.crawl.foreseen_requests import OWN_KEYS
from dedupcrawl.crawl.skipped_requests import SkippedEntry, SkippedRequestQueue, request_key, storable_fields
from tests.crawl.spiders import Errbacks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dedupcrawl.crawl.store_client import StoreClient

SITE = "shop.example"
URL = f"http://{SITE}/item/1?ref=a"


def restored(request: Request, spider: Errbacks) -> Request:
    fields = storable_fields(request, spider)
    assert fields is not None
    entry = SkippedEntry(b"key", fields, ("rule",), 1.0, "errbacks", 2)
    read = SkippedEntry.unpack(b"key", entry.pack())
    assert read == entry
    return read.request(spider)


@given(
    st.dictionaries(st.sampled_from(["X-One", "X-Two"]), st.binary(max_size=8)),
    st.dictionaries(st.text(max_size=4), st.text(max_size=4) | st.integers(-(2**50), 2**50) | st.booleans()),
    st.integers(-100, 100),
)
def test_a_request_is_restored_as_it_was(headers: dict[str, bytes], values: dict[str, Any], priority: int) -> None:
    spider = Errbacks()
    request = Request(
        URL, spider.parse, headers=headers, meta=values, cb_kwargs={"values": values}, priority=priority, flags=["a"]
    )
    again = restored(request, spider)

    assert again.headers == request.headers
    assert (again.meta, again.cb_kwargs, again.priority) == (values, {"values": values}, priority)
    assert (again.url, again.method, again.flags, again.callback) == (URL, "GET", ["a"], spider.parse)
    assert again.dont_filter


@pytest.mark.parametrize(
    "more",
    [{"cookies": {"session": "1"}}, {"headers": {"Cookie": "a=1"}}, {"body": b"x"}, {"meta": {"page": object()}}],
)
def test_a_request_with_secrets_or_objects_is_not_stored(more: dict[str, Any]) -> None:
    assert storable_fields(Request(URL, **more), Errbacks()) is None


def test_marks_of_probes_are_no_obstacle() -> None:
    marks = {key: [(SITE, "?ref=* on shop.example/item/#")] for key in OWN_KEYS}  # tuples are no JSON values
    request = Request(URL, meta={**marks, "page": 1})
    fields = storable_fields(request, Errbacks(), OWN_KEYS)

    assert storable_fields(request, Errbacks()) is None
    assert fields is not None
    assert fields["meta"] == {"page": 1}
    assert request.meta.keys() == {*OWN_KEYS, "page"}


def test_spiders_do_not_replace_requests_of_each_other() -> None:
    keys = {request_key(URL, purpose, spider) for purpose in ("", "parse_item") for spider in ("one", "two")}
    assert len(keys) == 4


async def call(work: Callable[..., Any], *args: Any) -> Any:
    return work(*args)


def queue(dedup: Deduplicator) -> SkippedRequestQueue:
    """Return a queue that calls a real store, in this thread."""
    client = SimpleNamespace(dedup=dedup, is_remote=False, call=call)
    return SkippedRequestQueue(cast("StoreClient", client))


def entry(number: int) -> SkippedEntry:
    return SkippedEntry(b"%d" % number, {"url": f"http://{SITE}/{number}"}, ("a rule",), 1e9 + number)


def test_what_is_skipped_or_removed_twice_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skipped_requests, "MAX_SKIPPED", 3)

    async def use(requests: SkippedRequestQueue) -> None:
        for _ in range(5):
            assert await requests.add(SITE, entry(1))
        assert await requests.add(SITE, entry(2))
        for _ in range(5):
            await requests.remove(SITE, [entry(2).key])
        assert await requests.add(SITE, entry(3))
        assert await requests.add(SITE, entry(4))
        assert not await requests.add(SITE, entry(5))
        assert {each.key for each in await requests.find(SITE)} == {b"1", b"3", b"4"}

    with Deduplicator(f"lmdb://{tmp_path}/store", "news") as dedup:
        asyncio.run(use(queue(dedup)))
