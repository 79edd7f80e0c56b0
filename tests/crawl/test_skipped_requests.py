"""Requests that were skipped are sent again as they were."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request

from dedupcrawl.crawl.skipped_requests import SkippedEntry, request_key, storable_fields
from tests.crawl.spiders import Errbacks

URL = "http://shop.example/item/1?ref=a"


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


def test_spiders_do_not_replace_requests_of_each_other() -> None:
    keys = {request_key(URL, purpose, spider) for purpose in ("", "parse_item") for spider in ("one", "two")}
    assert len(keys) == 4
