"""Claims of a dead worker under the keys of one template are removed in short calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.stores.base import BUCKET_CAP, FILE_ANYWAY, SCAN_CAP, Record, url_key
from dedupcrawl.stores.redis.address import LAYOUTS
from tests.stores.factories import START, Opener, file, key, record

if TYPE_CHECKING:
    from tests.stores.servers import Server

TEMPLATE = tuple(key(f"template {n}") for n in range(6))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_hundreds_of_dead_claims_under_hot_keys_go_some_at_a_time_with_few_commands(
    server: Server, layout: str
) -> None:
    opener = Opener(server.laid_out(layout))
    dead, living = opener(), opener()
    pages = [record(f"http://a/{n}", n) for n in range(SCAN_CAP)]
    pages = [replace(page, keys=(*TEMPLATE, *page.keys)) for page in pages]
    kept = [dead.add(page, FILE_ANYWAY).id for page in pages[:5]]
    for page in pages[5:]:
        dead.offer(page, FILE_ANYWAY)
    opener.clock.now += 61
    with server.client() as client:
        client.select(LAYOUTS.index(layout))
        rounds = 0
        while living.info().pages > len(kept):
            client.config_resetstat()
            offer = living.offer(replace(pages[0], url="http://b"))
            stats = client.info("commandstats")
            calls = sum(stats[f"cmdstat_{name}"]["calls"] for name in ("hget", "hset", "hdel", "hmget"))
            assert calls < 400
            assert [hit.id for hit in offer.candidates] == kept
            rounds += 1
    assert rounds == -(-(SCAN_CAP - len(kept)) // BUCKET_CAP)
    info = living.info()
    assert (info.pages, info.keys, info.hot) == (5, 5 * 8, 0)
    assert [hit.id for hit in living.find([TEMPLATE[0]])] == kept
    opener.close()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("gone", [1, 7, 8, 30])
def test_a_bucket_from_which_many_leave_keeps_the_others(server: Server, layout: str, gone: int) -> None:
    with Opener(server.laid_out(layout))() as store:
        ids = [file(store, f"http://a/{n}", "hot", commit=False) for n in range(BUCKET_CAP)]
        doomed = ids[::-1][: 2 * gone : 2]
        assert store.release(doomed) == len(doomed)
        assert [hit.id for hit in store.find([key("hot")])] == sorted({*ids} - {*doomed})
        assert store.info().keys == 2 * (BUCKET_CAP - len(doomed))


@pytest.mark.parametrize("count", [0, 2, 6, 7, 300])
@pytest.mark.parametrize("identity", [b"", b"i" * 255])
@pytest.mark.parametrize("cluster", ["", "c" * 300])
def test_a_script_finds_the_url_of_a_record_behind_parts_of_any_number_and_size(
    server: Server, count: int, identity: bytes, cluster: str
) -> None:
    """From 255 on a number takes more than a byte."""
    url, others = "https://www.a.example/Station/0123456789abcdef.html", [key(n) for n in range(count)]
    sketches = tuple(bytes(100 + count) for _ in range(count))
    page = Record(url, (url_key(url), *others), sketches, START, cluster, identity=identity)
    with Opener(server.url)() as store:
        id = store.add(page).id
        found = store.lookup(url)
        assert found is not None
        assert (found.id, found.record) == (id, page)
        # Another URL under the same key is left.
        store.add(replace(page, url="https://b.example"), FILE_ANYWAY)
        assert store.forget(url) == 1
        assert [hit.record.url for hit in store.find([url_key(url)])] == ["https://b.example"]
        assert store.info().keys == 1 + count
