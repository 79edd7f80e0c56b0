"""Calls whose replies are lost, and that the server executes later than those after them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.errors import StoreUnreachableError
from dedupcrawl.stores import open_store
from dedupcrawl.stores.redis.address import LAYOUTS
from tests.stores.factories import record
from tests.stores.proxy import Proxy, operation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.stores.base import Store
    from tests.stores.servers import Server

URL = "http://a/1"


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with Proxy(server.port) as proxy:
        yield proxy


@pytest.fixture(params=LAYOUTS)
def store(proxy: Proxy, request: pytest.FixtureRequest) -> Iterator[Store]:
    address = f"redis://127.0.0.1:{proxy.port}/0?socket_timeout=2&layout={request.param}"
    with open_store(address, namespace="news", scheme={}) as store:
        yield store


@pytest.mark.parametrize("name", ["offer", "offer_many"])
def test_a_late_withdrawal_does_not_remove_what_was_filed_again(store: Store, proxy: Proxy, name: str) -> None:
    """A thread withdraws a record that got no reply. Another one files it again before the server executes that."""
    page = record(URL, "story")
    proxy.lose(operation(name), 1)
    with pytest.raises(StoreUnreachableError):
        store.add(page) if name == "offer" else store.add_many([page])
    proxy.hold(operation("retract"))
    late = threading.Thread(target=renew, args=[store])
    late.start()
    assert proxy.held.wait(60)
    assert store.add(page).id is not None
    proxy.release()
    late.join()
    found = store.lookup(URL)
    assert found is not None
    assert found.record == page
    renew(store)
    assert [each.record for each in store.records()] == [page]


def test_a_page_whose_item_is_stored_is_not_withdrawn(store: Store, proxy: Proxy) -> None:
    """Another worker, which compares its page now, must find it."""
    page, claimed = record(URL, "story"), record("http://b/2", "other")
    claim = store.offer(claimed).id
    assert claim is not None
    store.commit([claim])
    proxy.lose(operation("offer_again"), 2)
    for each in (page, claimed):
        with pytest.raises(StoreUnreachableError):
            store.add_stored(each)
    assert proxy.lost == 2
    renew(store)
    assert {each.record.url for each in store.records()} == {URL, "http://b/2"}
    assert (store.add_stored(page).id, store.add_stored(claimed).id) == (claim + 1, claim)
    assert len([*store.records()]) == 2


def renew(store: Store) -> None:
    """Renew the leases, and withdraw what got no reply; that may get no reply either."""
    with suppress(StoreUnreachableError):
        store.renew()


def test_records_that_get_no_reply_at_first_are_filed_once_by_many_threads(store: Store, proxy: Proxy) -> None:
    """Each thread withdraws what all of them have not got a reply for."""
    pages = [record(f"http://a/{n}", f"story {n}") for n in range(16)]
    proxy.lose(operation("offer"), 16)

    def add_at_last(n: int) -> int:
        attempts = 0
        while True:
            attempts += 1
            try:
                return attempts if store.add(pages[n]).id is not None else 0
            except StoreUnreachableError:
                continue

    with ThreadPoolExecutor(16) as threads:
        attempts = list(threads.map(add_at_last, range(16)))
    assert sum(attempts) - 16 == proxy.lost == 16
    assert sorted(each.record.url for each in store.records()) == sorted(page.url for page in pages)
