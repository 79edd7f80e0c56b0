"""Offers, lookups, closing: the same tests for each store."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import BUCKET_CAP, FILE_ANYWAY, SCAN_CAP, Candidate, ClaimState, JudgedStore, Store
from tests.stores.factories import Clock, Opener, file, key, record

if TYPE_CHECKING:
    from collections.abc import Callable


# -- offers -------------------------------------------------------------------------------------


def test_offer_files_a_page_without_candidates(store: Store) -> None:
    page = record("http://a/1", "story", cluster="c7")
    offer = store.offer(page)
    assert offer.id is not None
    assert offer.candidates == ()
    found = store.get(offer.id)
    assert found is not None
    assert found.record == page
    assert (found.id, found.state, found.mine) == (offer.id, ClaimState.OPEN, True)


@pytest.mark.parametrize("identity", [b"", b"\0", bytes(range(255))])
def test_the_identity_of_a_page_comes_back(store: Store, identity: bytes) -> None:
    page = replace(record("http://a/1", "story"), identity=identity)
    offer = store.offer(page)
    hits = store.offer(record("http://b/1", "story")).candidates
    assert [hit.record.identity for hit in hits] == [identity]
    assert store.commit([offer.id or 0]) == 1
    found = (store.lookup("http://a/1"), *store.find([key("story")]), *store.records())
    assert [hit and hit.record for hit in found] == [page] * 3
    assert store.forget("http://a/1") == 1
    assert store.find(page.keys) == ()


def test_offer_files_nothing_where_a_candidate_exists(store: Store) -> None:
    first = file(store, "http://a/1", "story")
    offer = store.offer(record("http://b/1", "story"))
    assert offer.id is None
    assert [candidate.id for candidate in offer.candidates] == [first]
    assert store.info().pages == 1
    assert store.lookup("http://b/1") is None


def test_offer_since_the_highest_id_seen_files(store: Store) -> None:
    first = file(store, "http://a/1", "story")
    second = store.offer(record("http://b/1", "story"), since=first).id
    assert second is not None
    assert second > first
    offer = store.offer(record("http://c/1", "story"), since=first)
    assert [candidate.id for candidate in offer.candidates] == [second]


def test_candidates_of_several_buckets_come_once_by_rising_id(store: Store) -> None:
    ids = [file(store, f"http://a/{n}", "both", n % 2) for n in range(6)]
    offer = store.offer(record("http://b/1", "both", 1, 0))
    assert [candidate.id for candidate in offer.candidates] == ids


def test_probes_are_where_to_look_and_keys_where_to_file(store: Store) -> None:
    file(store, "http://a/1", "left")
    page = replace(record("http://b/1", "right"), probes=(key("left"),))
    assert store.offer(page).id is None
    elsewhere = replace(page, probes=(key("nowhere"),))
    filed = store.offer(elsewhere).id
    assert filed is not None
    assert [hit.record.probes for hit in store.find([key("right")])] == [None]


def test_a_record_without_keys_is_filed_and_never_found(store: Store) -> None:
    page = replace(record("http://a/1"), keys=())
    first, second = store.offer(page), store.offer(page)
    assert None not in (first.id, second.id)
    assert store.info().keys == 0


def test_a_bucket_shows_its_newest_records_only(store: Store) -> None:
    ids = [file(store, f"http://a/{n}", "hot") for n in range(BUCKET_CAP + 5)]
    assert [hit.id for hit in store.find([key("hot")])] == ids[5:]
    assert [hit.id for hit in store.offer(record("http://b", "hot")).candidates] == ids[5:]


def test_dead_records_do_not_hide_live_ones(store: Store, beside: Store, clock: Clock) -> None:
    live = file(store, "http://a/live", "hot")
    for n in range(BUCKET_CAP):
        file(beside, f"http://a/{n}", "hot", commit=False)
    clock.now += 61
    assert [hit.id for hit in store.find([key("hot")])] == [live]
    assert [hit.id for hit in store.offer(record("http://b", "hot")).candidates] == [live]
    assert store.info().pages == 1  # the offer removed the dead ones that it met


def test_the_dead_of_a_bucket_are_removed_a_bounded_number_at_a_time(store: Store, beside: Store, clock: Clock) -> None:
    for n in range(SCAN_CAP + 5):
        file(beside, f"http://a/{n}", "hot", commit=False)
    clock.now += 61
    pages = [SCAN_CAP + 5]
    for n in range(SCAN_CAP // BUCKET_CAP + 1):
        offer = store.offer(record(f"http://b/{n}", "hot"))
        assert (offer.id is None) == (n > 0)
        pages.append(store.info().pages)
    assert all(before - after <= SCAN_CAP for before, after in pairwise(pages))
    assert pages[-1] <= 1 + 5  # five may have been beyond what is kept of a bucket


def test_buckets_with_like_keys_are_apart(store: Store) -> None:
    low, high = b"\xff" * 5 + b"\xfe", b"\xff" * 6
    pages = [replace(record(f"http://a/{n}"), keys=(each,)) for n, each in enumerate([low, high])]
    ids = [store.offer(page).id for page in pages]
    assert [[hit.id for hit in store.find([each])] for each in (low, high)] == [[ids[0]], [ids[1]]]
    assert store.find([b"\0" * 6, b"\xff" * 5 + b"\xfd"]) == ()


def walked(store: Store) -> list[Candidate]:
    """The live records of a store by rising id; a cluster returns them part by part."""
    found = list(store.records())
    return sorted(found, key=lambda each: each.id) if isinstance(store, JudgedStore) else found


def test_the_live_records_are_walked_by_rising_id(store: Store, beside: Store, clock: Clock) -> None:
    ids = [store.offer(record(f"http://a/{n}", str(n))).id for n in range(600)]
    store.commit(id for id in ids[:400] if id is not None)
    store.release(id for id in ids[400:410] if id is not None)
    assert [each.id for each in walked(store)] == ids[:400] + ids[410:]
    clock.now += 1000  # the leases of the others end
    assert [each.record.url for each in walked(beside)] == [f"http://a/{n}" for n in range(400)]


def test_a_key_of_another_size_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="not 6 bytes"):
        store.offer(replace(record("http://a"), keys=(b"12345",)))


# -- filing for good ----------------------------------------------------------------------------


def test_add_commits_pages_without_candidates(store: Store, clock: Clock) -> None:
    page = record("http://a/1", "story", cluster="c7")
    offer = store.add(page)
    assert offer.id is not None
    assert offer.candidates == ()
    clock.now += 10**6  # no lease ends it
    found = store.get(offer.id)
    assert found is not None
    assert found.record == page
    assert (found.id, found.state, found.mine) == (offer.id, ClaimState.COMMITTED, False)
    assert store.renew() == 0
    assert (store.commit([offer.id]), store.release([offer.id]), store.scraped(offer.id)) == (0, 0, False)
    assert (store.info().pages, store.info().open, store.info().keys) == (1, 0, 2)


def test_add_files_nothing_where_a_candidate_exists_and_removes_nothing(store: Store) -> None:
    claimed = file(store, "http://a/1", "story", commit=False)
    old = file(store, "http://b/1", "old")
    offer = store.add(record("http://c/1", "story"), supersede=[old])
    assert offer.id is None
    assert [candidate.id for candidate in offer.candidates] == [claimed]
    assert store.get(old) is not None
    added = store.add(record("http://c/1", "story"), claimed).id
    assert added is not None
    assert added > old


def test_add_removes_what_is_superseded(store: Store) -> None:
    old = file(store, "http://a", "story", "first")
    kept = file(store, "http://b", "story")
    new = store.add(record("http://a", "story", "second"), kept, [old, 10**15]).id
    assert new is not None
    assert store.get(old) is None
    assert [hit.id for hit in store.find([key("story")])] == [kept, new]
    assert store.find([key("first")]) == ()
    found = store.lookup("http://a")
    assert found is not None
    assert found.id == new
    assert (store.info().pages, store.info().keys) == (2, 5)


def test_add_takes_the_place_of_a_claim_whose_lease_ran_out(store: Store, beside: Store, clock: Clock) -> None:
    lost = file(beside, "http://a", "story", commit=False)
    clock.now += 60
    assert store.add(record("http://b", "story")).id is not None
    assert store.get(lost) is None
    assert store.renew() == 0
    assert store.info().pages == 1


def test_add_looks_under_probes_and_files_under_keys(store: Store) -> None:
    first = file(store, "http://a/1", "left")
    page = replace(record("http://b/1", "right"), probes=(key("left"),))
    assert [hit.id for hit in store.add(page).candidates] == [first]
    assert store.add(replace(page, probes=())).id is not None
    assert [hit.record.url for hit in store.find([key("right")])] == ["http://b/1"]


def test_add_many_files_each_that_has_no_candidate_not_even_one_of_them(store: Store) -> None:
    first = file(store, "http://a/1", "story")
    names = ("new", "story", "other", "new")
    pages = [record(f"http://b/{n}", name) for n, name in enumerate(names)]
    new, known, other, copy = store.add_many(pages)
    assert (known.id, [hit.id for hit in known.candidates]) == (None, [first])
    assert new.id is not None
    assert other.id is not None
    assert other.id > new.id > first
    assert (copy.id, [hit.record.url for hit in copy.candidates]) == (None, ["http://b/0"])
    assert store.add_many([]) == []
    assert (store.info().pages, store.info().open) == (3, 0)


def test_restore_files_in_order_what_is_not_there(store: Store) -> None:
    pages = [record(f"http://a/{n % 300}", "same", n, seen=1e9 + n) for n in range(600)]
    for n in (3, 400):
        assert store.add(pages[n], FILE_ANYWAY).id is not None
    assert store.restore(pages) == 598
    assert store.restore(pages) == 0
    assert store.restore([]) == 0
    filed = [each.record for each in walked(store)]
    assert filed == [pages[3], pages[400], *pages[:3], *pages[4:400], *pages[401:]]
    assert store.info().open == 0
    # A cluster counts the ids in the buckets, and a bucket has at most the newest.
    assert store.info().keys == (1200 + SCAN_CAP if isinstance(store, JudgedStore) else 1800)


def test_ids_rise_and_are_never_given_twice(store: Store) -> None:
    given = []
    for n in range(5):
        given.append(file(store, "http://a", n, commit=False))
        assert store.release([given[-1]]) == 1
    given.append(file(store, "http://a", "last"))
    assert store.forget("http://a") == 1
    given.append(file(store, "http://a", "after"))
    assert given == sorted(set(given))


def test_any_text_is_a_url(store: Store) -> None:
    urls = ["", "http://例子/文章?x=1", "http://a/\udcff", "http://a/" + "x" * 5000]
    for n, url in enumerate(urls):
        file(store, url, n)
    for url in urls:
        found = store.lookup(url)
        assert found is not None
        assert found.record.url == url


# -- closing ------------------------------------------------------------------------------------

CALLS: dict[str, Callable[[Store], object]] = {
    "offer": lambda store: store.offer(record("http://a")),
    "add": lambda store: store.add(record("http://a")),
    "restore": lambda store: store.restore([record("http://a")]),
    "add_many": lambda store: store.add_many([record("http://a")]),
    "find": lambda store: store.find([key(1)]),
    "get": lambda store: store.get(1),
    "scraped": lambda store: store.scraped(1),
    "commit": lambda store: store.commit([1]),
    "release": lambda store: store.release([1]),
    "renew": lambda store: store.renew(),
    "lookup": lambda store: store.lookup("http://a"),
    "forget": lambda store: store.forget("http://a"),
    "prune": lambda store: store.prune(0.0),
    "info": lambda store: store.info(),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_closed_store_reports_it(store: Store, name: str) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreError, match="has been closed"):
        CALLS[name](store)


def test_a_store_closes_itself_behind_a_with_block(opener: Opener) -> None:
    with opener() as store:
        file(store, "http://a")
    with pytest.raises(StoreError, match="has been closed"):
        store.info()


# -- threads ------------------------------------------------------------------------------------


def test_threads_offering_the_same_pages_keep_each_once(store: Store) -> None:
    kept: list[str] = []

    def offer_all(site: int) -> None:
        for n in range(150):
            offer = store.offer(record(f"http://{site}/{n}", f"story {n}"))
            if offer.id is not None:
                store.commit([offer.id])
                kept.append(f"story {n}")
            store.find([key(f"story {n - 1}")])
            if n % 50 == 0:
                store.renew()

    threads = [Thread(target=offer_all, args=(site,)) for site in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(kept) == sorted(f"story {n}" for n in range(150))
    assert store.info().pages == 150
    assert store.renew() == 0
