"""Tests that apply only to a store on a server: layouts, clock, lost replies, restarts."""

from __future__ import annotations

import logging
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from redis.exceptions import ConnectionError as NoConnection

from dedupcrawl.errors import StoreError, StoreUnreachableError
from dedupcrawl.stores import list_namespaces, open_existing, open_store
from dedupcrawl.stores.base import BUCKET_CAP, FILE_ANYWAY, SCAN_CAP
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.redis.namespace import KeyNames
from dedupcrawl.stores.redis.offers import MANY
from dedupcrawl.stores.redis.store import RedisStore
from dedupcrawl.stores.redis.transports import PipelinedConnection
from tests.stores import subprocesses
from tests.stores.factories import START, Clock, Opener, file, key, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.stores.servers import Server


@pytest.fixture(params=LAYOUTS)
def opened(server: Server, request: pytest.FixtureRequest) -> Iterator[Opener]:
    opener = Opener(server.laid_out(request.param))
    yield opener
    opener.close()


def plain(server: Server, **options: Any) -> RedisStore:
    store = open_store(server.url, namespace="news", scheme={}, **options)
    assert isinstance(store, RedisStore)
    return store


# -- layouts ------------------------------------------------------------------------------------


def test_the_compact_layout_deals_its_buckets_to_small_hashes_and_finds_them_all(server: Server) -> None:
    store = Opener(server.laid_out("compact"))()
    ids = [file(store, f"http://a/{n}", *(f"{n} {part}" for part in range(7))) for n in range(400)]
    with server.client() as client:
        client.select(1)
        shelves = list(client.scan_iter("dedupcrawl:{news}:buckets:*"))
        assert len(shelves) == 400 * 8 // 40
        assert {client.object("encoding", shelf) for shelf in shelves} <= {b"listpack", b"ziplist"}
        assert sum(client.hlen(shelf) for shelf in shelves) == 400 * 8
        assert client.hlen("dedupcrawl:{news}:buckets") == 0
    for n, id in enumerate(ids):
        assert [hit.id for hit in store.find([key(f"{n} {n % 7}")])] == [id]
    assert sum(store.forget(f"http://a/{n}") for n in range(400)) == 400
    assert (store.info().pages, store.info().keys) == (0, 0)
    store.close()
    with server.client() as client:
        client.select(1)
        assert list(client.scan_iter("*")) == [b"dedupcrawl:{news}:meta"]


def test_a_bucket_that_grows_and_shrinks_is_found_all_the_while(opened: Opener) -> None:
    store = opened()
    ids: list[int] = []
    for n in range(25):
        ids.append(file(store, f"http://a/{n}", "hot"))
        assert [hit.id for hit in store.find([key("hot")])] == ids
    for n in range(25):
        store.forget(f"http://a/{n}")
        assert [hit.id for hit in store.find([key("hot")])] == ids[n + 1 :]
    assert store.info().keys == 0


def test_hot_buckets_are_counted_until_they_cool_down(opened: Opener) -> None:
    store = opened()
    for n in range(BUCKET_CAP + 3):
        file(store, f"http://a/{n}", "hot", "warm" if n < BUCKET_CAP else n)
    info = store.info()
    assert info.hot == 1
    assert [(each.key, each.beyond) for each in info.hottest] == [(key("hot").hex(), 3)]
    for n in range(3):
        store.forget(f"http://a/{n}")
    assert store.info().hot == 0


def test_a_url_is_forgotten_whole_though_its_bucket_was_cut(opened: Opener) -> None:
    store = opened()
    file(store, "http://b", "other")
    for n in range(SCAN_CAP + 20):
        file(store, "http://a", n)
    assert store.forget("http://a") == SCAN_CAP + 20
    assert (store.info().pages, store.info().keys) == (1, 2)


def test_a_record_may_have_thousands_of_keys(opened: Opener) -> None:
    store = opened()
    page = record("http://a", *range(5000))
    offer = store.offer(page)
    assert offer.id is not None
    assert store.offer(replace(record("http://b"), probes=page.keys)).id is None
    assert store.release([offer.id]) == 1
    assert store.info().keys == 0


def test_another_layout_is_refused_and_none_takes_what_is_there(server: Server) -> None:
    plain(server).close()
    with pytest.raises(StoreError, match="has layout 'hash', and its URL says 'compact'"):
        open_store(f"{server.url}?layout=compact", namespace="news", scheme={})
    with open_existing(server.url, "news") as store:
        assert store.info().layout == "hash"


def test_namespaces_of_any_name_are_apart_and_listed(server: Server) -> None:
    names = ["news", "a}b{c", "per%cent", "新闻", "with:colon", "*"]
    for name in names:
        with open_store(server.url, namespace=name, scheme={}) as store:
            assert store.info().pages == 0
            file(store, "http://a", "story")
    assert list_namespaces(server.url) == sorted(names)
    with pytest.raises(StoreError, match="has no namespace 'nothing'"):
        open_existing(server.url, "nothing")


def test_all_keys_of_a_namespace_share_a_hash_tag(server: Server) -> None:
    with open_store(f"{server.url}?layout=compact", namespace="a}b", scheme={}) as store:
        file(store, "http://a", "story")
        with server.client() as client:
            keys = [each.decode() for each in client.scan_iter("*")]
    assert len(keys) >= 4
    assert {each.partition("}")[0] for each in keys} == {"dedupcrawl:{a%7Db"}


# -- clocks -------------------------------------------------------------------------------------


def test_workers_whose_clocks_are_an_hour_off_share_leases_and_ages(server: Server) -> None:
    early, late = (Clock(time.time() + hours * 3600) for hours in (-1, 1))
    one, two = (plain(server, clock=clock, lease=60.0, ttl=600.0) for clock in (early, late))
    held = one.offer(record("http://a", "story", seen=early.now)).id
    assert held is not None
    offer = two.offer(record("http://b", "story", seen=late.now))
    assert [hit.id for hit in offer.candidates] == [held]
    assert one.commit([held]) == 1
    found = two.lookup("http://a")
    assert found is not None
    assert abs(found.record.seen - time.time()) < 30
    old = two.offer(record("http://old", "old", seen=late.now - 601)).id
    assert old is not None
    assert two.get(old) is None  # ten minutes old by the clock that saw it
    assert two.prune(late.now - 300) == 0
    assert two.commit([old]) == 1
    assert two.prune(late.now - 300) == 1
    oldest = one.info().oldest
    assert oldest is not None
    assert abs(oldest - time.time()) < 30
    one.close()
    two.close()


def test_the_server_decides_when_a_lease_ends(server: Server) -> None:
    with plain(server, lease=600.0) as waiting, plain(server, lease=60.0) as living:
        held = waiting.offer(record("http://a", "story")).id
        assert living.offer(record("http://b", "story")).candidates[0].id == held
        began = time.monotonic()
        with plain(server, lease=2.0) as dead:
            assert dead.offer(record("http://c", "news")).id is not None
            while living.offer(record("http://d", "news")).id is None:
                assert time.monotonic() < began + 600, "the lease does not end"
                time.sleep(0.05)
            assert time.monotonic() - began > 1.8
            assert dead.renew() == 0
        assert waiting.renew() == 1


# -- lost replies ------------------------------------------------------------------------------


class Losses:
    """Lets all calls of servers be executed, and loses some of their replies."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = count()
        self.lost = range(0)
        for name in ("call", "call_many"):
            monkeypatch.setattr(PipelinedConnection, name, self.lossy(getattr(PipelinedConnection, name)))

    def __call__(self, times: int, after: int = 0) -> None:
        """Lose the replies of the calls to come: ``times`` of them, after some that arrive."""
        self.calls = count()
        self.lost = range(after, after + times)

    def lossy(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any) -> Any:
            answer = call(*args)
            if next(self.calls) in self.lost:
                raise NoConnection("Connection closed by server.")
            return answer

        return called


@pytest.fixture
def lose(monkeypatch: pytest.MonkeyPatch) -> Losses:
    return Losses(monkeypatch)


def warmed(server: Server) -> RedisStore:
    store = plain(server)
    file(store, "http://warm", "warm")
    return store


def test_an_offer_called_twice_is_filed_once_and_never_its_own_copy(server: Server, lose: Losses) -> None:
    with warmed(server) as store:
        lose(1)
        offer = store.offer(record("http://a", "story"))
        assert offer.id is not None
        assert offer.candidates == ()
        assert store.info().pages == 2
        assert store.commit([offer.id]) == 1


def test_an_offer_of_which_nothing_was_heard_is_withdrawn_before_the_next(server: Server, lose: Losses) -> None:
    with warmed(server) as store:
        lose(2)
        with pytest.raises(StoreUnreachableError):
            store.offer(record("http://a", "story"))
        assert store.info().open == 1
        offer = store.offer(record("http://a", "story"))
        assert offer.id is not None
        assert store.info().open == 1
        lose(2)
        with pytest.raises(StoreUnreachableError):
            store.offer(record("http://b", "other"))
    with plain(server) as store:
        assert (store.info().open, store.info().pages) == (0, 1)


def test_a_commit_called_twice_counts_and_supersedes_once(server: Server, lose: Losses) -> None:
    with warmed(server) as store:
        old = file(store, "http://a", "story")
        new = file(store, "http://a", "story, longer", commit=False)
        lose(1)
        assert store.commit([new], [old]) == 1
        assert store.get(old) is None
        assert store.renew() == 0
        lose(1)
        assert store.commit([10**9]) == 0


@pytest.mark.parametrize("since", [0, FILE_ANYWAY])
def test_an_addition_called_twice_is_filed_once_and_never_its_own_copy(
    server: Server, lose: Losses, since: int
) -> None:
    with warmed(server) as store:
        old = file(store, "http://a", "old")
        page = replace(record("http://a", "story"), probes=(key("story"),))
        lose(1)
        offer = store.add(page, since, [old])
        assert (offer.id, offer.candidates) == (old + 1, ())
        assert [hit.record.url for hit in store.records()] == ["http://warm", "http://a"]
        lose(1)
        again = store.add(replace(page, seen=page.seen + 1e-3), since)  # another visit is not the same
        assert (again.id is None) == (since == 0)


def test_a_claim_that_files_in_any_case_is_filed_once_though_called_twice(server: Server, lose: Losses) -> None:
    with warmed(server) as store:
        lose(1)
        offer = store.offer(record("http://a", "story"), FILE_ANYWAY)
        assert offer.id is not None
        assert store.info().open == 1
        assert store.release([offer.id]) == 1


def test_an_addition_of_which_nothing_was_heard_is_taken_back_before_the_next(server: Server, lose: Losses) -> None:
    with warmed(server) as store:
        page = record("http://a", "story")
        lose(2)
        with pytest.raises(StoreUnreachableError):
            store.add(page)
        assert store.info().pages == 2
        assert store.add(page).id is not None
        assert store.info().pages == 2
        lose(2)
        with pytest.raises(StoreUnreachableError):
            store.add(record("http://b", "other"))
    with plain(server) as store:
        assert [hit.record for hit in store.records()][1:] == [page]


@pytest.mark.parametrize(("after", "times"), [(0, 1), (1, 1), (2, 1), (3, 1), (0, 2), (2, 2), (3, 2)])
def test_a_restoration_whose_replies_are_lost_files_nothing_twice(
    server: Server, lose: Losses, after: int, times: int
) -> None:
    """A first and the other calls look for the pages; then a first and the others file them."""
    pages = [record(f"http://a/{n}", n) for n in range(2 * MANY + 1)]
    with warmed(server) as store:
        lose(times, after)
        if times == 1:
            assert store.restore(pages) == len(pages)
        else:
            with pytest.raises(StoreUnreachableError):
                store.restore(pages)
            assert (store.info().pages > 1) == (after > 1)  # filed, and not confirmed
            assert store.restore(pages) == len(pages)
        assert [hit.record for hit in store.records()][1:] == pages


@pytest.mark.parametrize(("after", "times"), [(0, 1), (1, 1), (0, 2), (1, 2)])
def test_many_additions_whose_replies_are_lost_are_reported_or_withdrawn(
    server: Server, lose: Losses, after: int, times: int
) -> None:
    pages = [record(f"http://a/{n}", n) for n in range(2 * MANY + 1)]
    with warmed(server) as store:
        lose(times, after)
        if times == 1:
            assert None not in {offer.id for offer in store.add_many(pages)}
        else:
            with pytest.raises(StoreUnreachableError):
                store.add_many(pages)
            assert store.info().pages > 1  # filed, and not confirmed
            assert store.add(record("http://b", "other")).id is not None  # after they were taken back
            assert store.info().pages == 2
            assert None not in {offer.id for offer in store.add_many(pages)}
        assert {hit.record.url for hit in store.records()} > {page.url for page in pages}


def test_many_additions_of_which_one_is_refused_are_taken_back(server: Server) -> None:
    with warmed(server) as store, server.client() as client:
        client.hset(KeyNames("news").key("buckets"), key("bad"), b"short")
        with pytest.raises(StoreError, match="buckets"):
            store.add_many([record("http://a/1", "fine"), record("http://a/2", "bad")])
        assert store.add(record("http://a/1", "fine")).id is not None


def test_an_offer_that_was_never_sent_is_not_withdrawn(own: Callable[..., Server], lose: Losses) -> None:
    server = own("--appendonly", "yes", "--appendfsync", "always")
    with warmed(server) as store:
        server.stop()
        with pytest.raises(StoreUnreachableError):
            store.renew()  # the connections that were ready are given up
        for ask in (store.offer, store.add):
            with pytest.raises(StoreUnreachableError, match="cannot be reached"):
                ask(record("http://a", "story"))
        server.start()
        lose(0)
        assert store.add(record("http://a", "story")).id is not None
        assert next(lose.calls) == 1  # to withdraw would be another


def test_scripts_that_a_server_forgot_are_sent_again(server: Server) -> None:
    with warmed(server) as store, server.client() as client:
        client.script_flush()
        assert store.restore([record(f"http://a/{n}", n) for n in range(5)]) == 5
        client.script_flush()
        assert store.add(record("http://b", "story")).id is not None
        client.script_flush()
        assert len(store.find([key("story")])) == 1


# -- restarts -----------------------------------------------------------------------------------


def test_a_restarted_server_is_found_again_with_what_it_saved(own: Callable[..., Server]) -> None:
    server = own("--appendonly", "yes", "--appendfsync", "always")
    with plain(server) as store:
        first, held = (file(store, f"http://a/{n}", n, commit=n == 0) for n in range(2))
        server.kill()
        with pytest.raises(StoreUnreachableError, match="cannot be reached"):
            store.find([key(0)])
        server.start()
        assert store.renew() == 1
        assert store.commit([held]) == 1
        assert [hit.id for hit in store.find([key(0), key(1)])] == [first, held]


def test_a_server_that_lost_everything_is_filled_anew(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with plain(server) as store:
        held = file(store, "http://a", "story", commit=False)
        with server.client() as client:
            client.flushall()
            client.script_flush()
        assert store.commit([held]) == 0
        with caplog.at_level(logging.WARNING):
            ids = [store.offer(record(f"http://b/{n}", n)).id for n in range(3)]
        assert [message for message in caplog.messages if "has lost namespace 'news'" in message]
        assert len(caplog.messages) == 1
        assert ids == [held + 1, held + 2, held + 3]  # never the id of a claim that is remembered
        assert store.commit([held]) == 0
        assert store.renew() == 3


def test_a_server_that_lost_everything_is_filled_anew_in_the_layout_that_it_had(server: Server) -> None:
    with (
        open_store(f"{server.url}?layout=compact", namespace="news", scheme={}) as said,
        plain(server) as silent,
        server.client() as client,
    ):
        client.flushall()
        file(silent, "http://a", "story")
        assert file(said, "http://b", "other")
        assert silent.info().layout == said.info().layout == "compact"


def test_threads_that_find_the_server_emptied_begin_anew_once(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with plain(server) as store:
        file(store, "http://a", "story")
        with server.client() as client:
            client.flushall()
        with caplog.at_level(logging.WARNING), ThreadPoolExecutor(8) as pool:
            offers = list(pool.map(store.offer, (record(f"http://b/{n}", n) for n in range(64))))
        assert len(caplog.messages) == 1
        ids = [offer.id for offer in offers if offer.id is not None]
        assert len(set(ids)) == 64
        assert store.renew() == 64
        assert store.commit(ids) == 64


def test_ids_that_the_server_forgot_are_not_given_again(server: Server) -> None:
    with plain(server) as store:
        held = [file(store, f"http://a/{n}", n, commit=False) for n in range(5)]
        with server.client() as client:  # as after a crash: the last writes are gone
            client.hset("dedupcrawl:{news}:meta", "last", 2)
            client.hdel("dedupcrawl:{news}:claims", *held[2:])
            client.hdel("dedupcrawl:{news}:records", *held[2:])
        assert store.offer(record("http://b", "new")).id == held[-1] + 1
        # Two buckets name records that are not there: they are met, and set right.
        assert store.offer(record("http://c", 3)).id is not None
        assert [hit.record.url for hit in store.find([key(3)])] == ["http://c"]


# -- processes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_eight_processes_keep_each_page_once(server: Server, layout: str) -> None:
    pages, url = 200, server.laid_out(layout)
    context = multiprocessing.get_context("spawn" if not hasattr(os, "fork") else "forkserver")
    with ProcessPoolExecutor(8, mp_context=context) as pool:
        kept = list(pool.map(subprocesses.offer_all, [url] * 8, range(8), [pages] * 8))
    assert sorted(n for each in kept for n in each) == list(range(pages))
    with subprocesses.open_here(url) as store:
        info = store.info()
    assert (info.pages, info.open, info.scraped) == (pages, 0, 0)


def _use(url: str) -> str:
    return subprocesses.use_parents(_PARENTS["store"])


_PARENTS: dict[str, Any] = {}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_must_open_its_own_store(server: Server) -> None:
    store = _PARENTS["store"] = plain(server)
    held = file(store, "http://a", "story", commit=False)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        said = pool.submit(_use, server.url).result(timeout=60)
        assert said.endswith("was opened before this process forked: open it anew in the child.")
        pool.submit(store_close).result(timeout=60)
    assert store.commit([held]) == 1
    store.close()


def store_close() -> None:
    _PARENTS["store"].close()


def test_owners_whose_lease_ended_are_buried_by_prune(server: Server) -> None:
    clock = Clock(START)
    opener = Opener(server.url, clock)
    dead, living = opener(lease=10.0), opener(lease=10.0)
    file(dead, "http://a", "story", commit=False)
    clock.now += 11
    living.renew()
    with server.client() as client:
        assert client.hlen("dedupcrawl:{news}:owners") == 2
        assert living.prune(0.0) == 1
        assert client.hlen("dedupcrawl:{news}:owners") == 1
    assert dead.renew() == 0
    opener.close()


def test_owners_killed_long_ago_are_buried_by_those_who_come(server: Server) -> None:
    with plain(server) as store, server.client() as client:
        owners, now = KeyNames("news").key("owners"), time.time()
        (own,) = client.hkeys(owners)
        ends = {b"gone-%03d" % n: now - 7200 for n in range(50)} | {b"recently": now - 600, b"isthere-": now + 600}
        for token, end in ends.items():
            client.hset(owners, token, int(end * 1000).to_bytes(6, "big") + bytes(6))
        client.hset(owners, b"foreign", b"x")
        assert store.renew() == 0  # it is there already
        assert client.hlen(owners) == 54
        for _ in range(5):  # each takes 20 of them, and at most 4 stay
            plain(server).close()
        left = client.hkeys(owners)
        assert set(left) == {b"recently", b"isthere-", b"foreign", own}
