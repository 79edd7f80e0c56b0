"""What every store does; the same tests for each of them."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import BUCKET_CAP, SCAN_CAP, ClaimState, Store, url_key
from tests.stores.making import START, Clock, Opener, key, record

if TYPE_CHECKING:
    from collections.abc import Callable


def file(store: Store, url: str, *names: object, commit: bool = True, seen: float = START) -> int:
    """File a page whether or not copies of it are there."""
    offer = store.offer(record(url, *names, seen=seen), since=2**63 - 1)
    assert offer.id is not None
    if commit:
        assert store.commit([offer.id]) == 1
    return offer.id


# -- offering -----------------------------------------------------------------------------------


def test_offer_files_a_page_that_nobody_has(store: Store) -> None:
    page = record("http://a/1", "story", cluster="c7")
    offer = store.offer(page)
    assert offer.id is not None
    assert offer.candidates == ()
    found = store.get(offer.id)
    assert found is not None
    assert found.record == page
    assert (found.id, found.state, found.mine) == (offer.id, ClaimState.OPEN, True)


def test_offer_files_nothing_where_a_candidate_stands(store: Store) -> None:
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


def test_a_record_without_keys_is_filed_and_never_met(store: Store) -> None:
    page = replace(record("http://a/1"), keys=())
    first, second = store.offer(page), store.offer(page)
    assert None not in (first.id, second.id)
    assert store.info().keys == 0


def test_a_bucket_shows_its_newest_records_only(store: Store) -> None:
    ids = [file(store, f"http://a/{n}", "hot") for n in range(BUCKET_CAP + 5)]
    assert [hit.id for hit in store.find([key("hot")])] == ids[5:]
    assert [hit.id for hit in store.offer(record("http://b", "hot")).candidates] == ids[5:]


def test_dead_records_do_not_hide_live_ones(store: Store, clock: Clock) -> None:
    live = file(store, "http://a/live", "hot")
    for n in range(BUCKET_CAP + 5):
        file(store, f"http://a/{n}", "hot", commit=False)
    clock.now += 61
    assert [hit.id for hit in store.find([key("hot")])] == [live]
    assert [hit.id for hit in store.offer(record("http://b", "hot")).candidates] == [live]
    assert store.info().pages == 1  # the offer removed the dead ones that it met


def test_the_dead_of_a_bucket_are_removed_a_bounded_number_at_a_time(store: Store, clock: Clock) -> None:
    for n in range(SCAN_CAP + 5):
        file(store, f"http://a/{n}", "hot", commit=False)
    clock.now += 61
    assert store.offer(record("http://b", "hot")).id is not None
    assert store.info().pages == 5 + 1


def test_buckets_with_like_keys_are_apart(store: Store) -> None:
    low, high = b"\xff" * 5 + b"\xfe", b"\xff" * 6
    pages = [replace(record(f"http://a/{n}"), keys=(each,)) for n, each in enumerate([low, high])]
    ids = [store.offer(page).id for page in pages]
    assert [[hit.id for hit in store.find([each])] for each in (low, high)] == [[ids[0]], [ids[1]]]
    assert store.find([b"\0" * 6, b"\xff" * 5 + b"\xfd"]) == ()


def test_a_key_of_another_size_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="not 6 bytes"):
        store.offer(replace(record("http://a"), keys=(b"12345",)))


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


# -- claims -------------------------------------------------------------------------------------


def test_a_claim_goes_from_open_to_scraped_to_committed(store: Store) -> None:
    id = file(store, "http://a", "story", commit=False)
    assert store.scraped(id)
    assert [hit.state for hit in store.find([key("story")])] == [ClaimState.SCRAPED]
    assert store.scraped(id)
    assert store.commit([id]) == 1
    found = store.get(id)
    assert found is not None
    assert (found.state, found.mine) == (ClaimState.COMMITTED, False)


def test_what_is_committed_is_no_claim_any_more(store: Store) -> None:
    id = file(store, "http://a", "story")
    assert not store.scraped(id)
    assert store.commit([id]) == 0
    assert store.release([id]) == 0
    assert store.renew() == 0
    assert store.get(id) is not None


def test_released_claims_are_gone_with_their_keys(store: Store) -> None:
    ids = [file(store, f"http://a/{n}", n, commit=False) for n in range(3)]
    assert store.release(ids[:2]) == 2
    assert [store.get(id) is None for id in ids] == [True, True, False]
    assert store.find([key(0), key(1)]) == ()
    assert (store.info().pages, store.info().keys, store.info().open) == (1, 2, 1)
    assert store.release(ids[:2]) == 0


@pytest.mark.parametrize("gone", range(3))
def test_a_record_leaves_its_bucket_and_nobody_elses_place(store: Store, gone: int) -> None:
    ids = [file(store, f"http://a/{n}", "hot", commit=False) for n in range(3)]
    assert store.release([ids[gone]]) == 1
    left = [id for id in ids if id != ids[gone]]
    assert [hit.id for hit in store.find([key("hot")])] == left
    assert store.info().keys == 4
    assert store.release(left) == 2
    assert store.info().keys == 0


def test_commit_takes_many_and_counts_those_that_were_there(store: Store) -> None:
    ids = [file(store, f"http://a/{n}", n, commit=False) for n in range(4)]
    store.release([ids[0]])
    assert store.commit([*ids, ids[1], 10**15]) == 3


def test_commit_removes_what_is_superseded(store: Store) -> None:
    old = file(store, "http://a", "story")
    new = file(store, "http://a", "story, longer", commit=False)
    assert store.commit([new], supersede=[old, 10**15]) == 1
    assert store.get(old) is None
    assert store.find([key("story")]) == ()
    found = store.lookup("http://a")
    assert found is not None
    assert found.id == new


def test_a_lost_claim_supersedes_nothing(store: Store) -> None:
    old = file(store, "http://a", "story")
    new = file(store, "http://b", "other", commit=False)
    store.release([new])
    assert store.commit([new], supersede=[old]) == 0
    assert store.get(old) is not None


# -- leases -------------------------------------------------------------------------------------


def test_a_claim_ends_with_its_lease(store: Store, clock: Clock) -> None:
    id = file(store, "http://a", "story", commit=False)
    clock.now += 59.9
    assert store.get(id) is not None
    clock.now += 0.1
    assert store.get(id) is None
    assert store.find([key("story")]) == ()
    assert store.lookup("http://a") is None


def test_each_claim_has_its_whole_lease(store: Store, clock: Clock) -> None:
    clock.now += 100
    id = file(store, "http://a", "story", commit=False)
    clock.now += 59
    assert store.get(id) is not None


def test_renew_extends_every_claim(store: Store, clock: Clock) -> None:
    ids = [file(store, f"http://a/{n}", n, commit=False) for n in range(3)]
    store.scraped(ids[0])
    clock.now += 40
    assert store.renew() == 3
    clock.now += 59
    assert all(store.get(id) for id in ids)
    clock.now += 1
    assert not any(store.get(id) for id in ids)


def test_a_copy_takes_the_place_of_a_claim_whose_lease_ran_out(store: Store, clock: Clock) -> None:
    lost = file(store, "http://a", "story", commit=False)
    clock.now += 60
    taken = store.offer(record("http://b", "story")).id
    assert taken is not None
    assert not store.scraped(lost)
    assert store.commit([lost]) == 0
    assert store.renew() == 1
    assert store.info().pages == 1


def test_a_late_process_keeps_the_claims_that_nobody_took(store: Store, clock: Clock) -> None:
    late, later = (file(store, f"http://a/{n}", n, commit=False) for n in range(2))
    clock.now += 600
    assert store.commit([late]) == 1
    assert store.get(late) is not None
    assert store.renew() == 1
    assert store.get(later) is not None


def test_committed_records_need_no_lease(store: Store, clock: Clock) -> None:
    id = file(store, "http://a", "story")
    clock.now += 10**8
    assert store.get(id) is not None


# -- time to live -------------------------------------------------------------------------------


def test_a_record_past_its_time_to_live_is_absent(opener: Opener) -> None:
    store = opener(ttl=100.0)
    id = file(store, "http://a", "story")
    opener.clock.now += 100
    assert store.get(id) is not None
    opener.clock.now += 1
    assert store.get(id) is None
    assert store.lookup("http://a") is None
    assert store.find([key("story")]) == ()
    assert store.info().pages == 1
    assert store.offer(record("http://b", "story", seen=opener.clock.now)).id is not None
    assert store.info().pages == 1


def test_prune_removes_what_is_past_its_time_to_live(opener: Opener) -> None:
    store = opener(ttl=100.0)
    file(store, "http://a", "story")
    opener.clock.now += 101
    assert store.prune(0.0) == 1
    assert store.info().pages == 0


# -- URLs and housekeeping ----------------------------------------------------------------------


def test_lookup_returns_the_newest_record_of_a_url(store: Store) -> None:
    file(store, "http://a", "first")
    second = file(store, "http://a", "second")
    file(store, "http://b", "third")
    found = store.lookup("http://a")
    assert found is not None
    assert found.id == second
    assert store.lookup("http://c") is None


def test_a_url_with_the_same_key_is_not_the_same_url(store: Store) -> None:
    page = replace(record("http://other", "story"), keys=(url_key("http://a"),))
    assert store.offer(page).id is not None
    assert store.lookup("http://a") is None
    assert store.forget("http://a") == 0


def test_forget_removes_every_record_of_a_url(store: Store) -> None:
    ids = [file(store, "http://a", n, commit=n > 0) for n in range(3)]
    other = file(store, "http://b", 0)
    assert store.forget("http://a") == 3
    assert not any(store.get(id) for id in ids)
    assert [hit.id for hit in store.find([key(0), key(1), key(2)])] == [other]
    assert store.forget("http://a") == 0
    assert store.renew() == 0


def test_prune_removes_old_committed_records_and_dead_claims(store: Store, clock: Clock) -> None:
    for n in range(600):
        file(store, f"http://a/{n}", n, seen=START + n)
    file(store, "http://dead", "dead", commit=False)
    clock.now += 61
    claimed = file(store, "http://old/but/claimed", "claimed", commit=False, seen=START - 100)
    assert store.prune(START + 500) == 501
    info = store.info()
    assert (info.pages, info.open, info.keys) == (101, 1, 202)
    assert store.get(claimed) is not None
    assert store.lookup("http://a/499") is None
    assert store.lookup("http://a/500") is not None
    assert store.prune(START + 500) == 0


def test_info_counts(opener: Opener) -> None:
    store = opener(namespace="daily", scheme={"minhash": {"slots": 128}, "exact": {}})
    empty = store.info()
    assert (empty.pages, empty.oldest, empty.newest) == (0, None, None)
    file(store, "http://a", 1, 2, seen=START + 1)
    file(store, "http://b", commit=False, seen=START + 2)
    store.scraped(file(store, "http://c", commit=False, seen=START + 3))
    info = store.info()
    assert (info.url, info.namespace) == (opener.url, "daily")
    assert (info.pages, info.keys, info.open, info.scraped) == (3, 5, 1, 1)
    assert (info.oldest, info.newest) == (START + 1, START + 3)
    assert info.bytes > 3 * 50
    assert info.scheme == '{"exact":{},"minhash":{"slots":128}}'


# -- closing ------------------------------------------------------------------------------------

CALLS: dict[str, Callable[[Store], object]] = {
    "offer": lambda store: store.offer(record("http://a")),
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
def test_a_closed_store_says_so(store: Store, name: str) -> None:
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
