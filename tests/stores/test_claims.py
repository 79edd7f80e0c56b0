"""Claims, leases, age and housekeeping: the same tests for each store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dedupcrawl.stores.base import ClaimState, JudgedStore, Store, url_key
from tests.stores.factories import START, Clock, Opener, file, key, record

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


def test_several_claims_are_scraped_at_once(store: Store) -> None:
    ids = [file(store, f"http://a/{n}", n, commit=n == 2) for n in range(4)]
    assert store.release([ids[3]]) == 1
    store.scraped_many(ids)
    states = {candidate.id: candidate.state for candidate in store.records()}
    assert states == {ids[0]: ClaimState.SCRAPED, ids[1]: ClaimState.SCRAPED, ids[2]: ClaimState.COMMITTED}


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
def test_a_removed_record_leaves_only_its_own_bucket_entries(store: Store, gone: int) -> None:
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


def test_a_claim_ends_with_its_lease(store: Store, beside: Store, clock: Clock) -> None:
    id = file(store, "http://a", "story", commit=False)
    clock.now += 59.9
    assert beside.get(id) is not None
    clock.now += 0.1
    assert beside.get(id) is None
    assert beside.find([key("story")]) == ()
    assert beside.lookup("http://a") is None


def test_an_own_claim_does_not_end_with_its_lease(store: Store, clock: Clock) -> None:
    """Its item may be in the pipelines: a copy must wait for it, and must not take its place."""
    id = file(store, "http://a", "story", commit=False)
    clock.now += 600
    offer = store.offer(record("http://b", "story"))
    assert offer.id is None
    assert [(hit.id, hit.mine) for hit in offer.candidates] == [(id, True)]
    assert [hit.id for hit in store.find([key("story")])] == [id]
    assert store.prune(0.0) == 0
    assert store.info().ended == 0
    assert store.commit([id]) == 1
    assert store.info().pages == 1


def test_each_claim_has_its_whole_lease(store: Store, beside: Store, clock: Clock) -> None:
    clock.now += 100
    id = file(store, "http://a", "story", commit=False)
    clock.now += 59
    assert beside.get(id) is not None


def test_renew_extends_every_claim(store: Store, beside: Store, clock: Clock) -> None:
    ids = [file(store, f"http://a/{n}", n, commit=False) for n in range(3)]
    store.scraped(ids[0])
    clock.now += 40
    assert store.renew() == 3
    clock.now += 59
    assert all(beside.get(id) for id in ids)
    clock.now += 1
    assert not any(beside.get(id) for id in ids)


def test_a_copy_takes_the_place_of_a_claim_whose_lease_ran_out(store: Store, beside: Store, clock: Clock) -> None:
    lost = file(store, "http://a", "story", commit=False)
    clock.now += 60
    taken = beside.offer(record("http://b", "story")).id
    assert taken is not None
    assert not store.scraped(lost)
    assert store.commit([lost]) == 0
    assert (store.renew(), beside.renew()) == (0, 1)
    assert store.info().pages == 1


def test_a_late_process_keeps_the_claims_that_no_other_took(store: Store, clock: Clock) -> None:
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


def test_prune_removes_old_committed_records_and_dead_claims(store: Store, beside: Store, clock: Clock) -> None:
    for n in range(600):
        file(store, f"http://a/{n}", n, seen=START + n)
    file(beside, "http://dead", "dead", commit=False)
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


def test_info_shows_how_many_claims_are_past_their_lease(store: Store, beside: Store, clock: Clock) -> None:
    file(store, "http://a", commit=False)
    store.scraped(file(store, "http://b", commit=False))
    assert store.info().ended == 0
    clock.now += 61
    file(beside, "http://c", commit=False)  # not by the store itself: in a cluster that renews all its claims
    info = beside.info()
    assert (info.open, info.scraped, info.ended) == (2, 1, 2)
    store.renew()
    assert beside.info().ended == 0


def test_expired_records_do_not_pile_up(opener: Opener, clock: Clock) -> None:
    store = opener(ttl=100)
    if isinstance(store, JudgedStore):
        pytest.skip("a cluster removes them later: see test_sharded.py")
    for n in range(200):
        clock.now += 10
        file(store, f"https://a.example/{n}", seen=clock.now)
        assert store.info().pages <= 11
    held = store.offer(record("https://a.example/open", seen=clock.now)).id
    assert held is not None
    clock.now += 101
    file(store, "https://a.example/last", seen=clock.now)
    assert store.info().pages <= 11


def test_a_store_whose_records_never_expire_keeps_them(opener: Opener, clock: Clock) -> None:
    store = opener()
    for n in range(20):
        clock.now += 1e8
        file(store, f"https://a.example/{n}")
    assert store.info().pages == 20
