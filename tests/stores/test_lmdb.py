"""Tests that apply only to a store in a folder."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

import pytest

from dedupcrawl.errors import SettingError, StoreError, StoreMismatchError
from dedupcrawl.stores import list_namespaces, open_existing, open_store
from dedupcrawl.stores.base import BUCKET_CAP, FILE_ANYWAY, ClaimState
from dedupcrawl.stores.lmdb import MAX_ID, LmdbStore, LmdbTables
from dedupcrawl.stores.lmdb_environment import LmdbEnvironment
from tests.stores.factories import START, Opener, key, lmdb_url, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupcrawl.stores.base import Store
    from dedupcrawl.stores.lmdb_environment import Transaction

T = TypeVar("T")


def commit(store: Store, url: str, *names: object) -> int:
    id = store.offer(record(url, *names)).id
    assert id is not None
    assert store.commit([id]) == 1
    return id


# -- URLs and namespaces ------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["mysql://host", "lmdb://", "lmdb:/x", "memory", "memory://x", "", "lmdb://a\0b"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(SettingError, match=r"^store = .*lmdb://relative/folder"):
        open_store(url, namespace="news", scheme={})


@pytest.mark.parametrize("namespace", ["", "x" * 201, "例" * 67, "a\0b"])
@pytest.mark.parametrize("url", ["memory://", "lmdb://x"])
def test_namespaces_that_no_table_can_be_named_after_are_refused(url: str, namespace: str) -> None:
    with pytest.raises(SettingError, match=r"^namespace = "):
        open_store(url, namespace=namespace, scheme={})


def test_a_relative_url_is_a_folder_below_the_working_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("lmdb://some/new folder", namespace="news", scheme={}) as store:
        commit(store, "http://a")
    assert (tmp_path / "some" / "new folder" / "data.mdb").is_file()


def test_namespaces_know_nothing_of_each_other(shared: Opener) -> None:
    names = ["news", "例子", "a/b", "a", "x" * 200]
    stores = [shared(namespace=name, scheme={"slots": n}) for n, name in enumerate(names)]
    for store in stores:
        commit(store, "http://a", "story")
    assert [store.info().pages for store in stores] == [1] * 5
    assert [store.forget("http://a") for store in stores[:2]] == [1, 1]
    assert [store.info().pages for store in stores] == [0, 0, 1, 1, 1]
    shared.close()
    assert list_namespaces(shared.url) == sorted(names, key=str.encode)


def test_memory_stores_are_private() -> None:
    one, other = (open_store("memory://", namespace="news", scheme={}) for _ in range(2))
    commit(one, "http://a", "story")
    assert other.find([key("story")]) == ()


# -- several objects on one folder --------------------------------------------------------------


def test_store_objects_on_one_folder_see_each_others_claims(shared: Opener) -> None:
    one, other = shared(), shared()
    id = one.offer(record("http://a", "story")).id
    assert id is not None
    (candidate,) = other.offer(record("http://b", "story")).candidates
    assert (candidate.id, candidate.state, candidate.mine) == (id, ClaimState.OPEN, False)
    assert (other.scraped(id), other.commit([id]), other.release([id]), other.renew()) == (False, 0, 0, 0)
    assert one.scraped(id)
    assert [hit.state for hit in other.find([key("story")])] == [ClaimState.SCRAPED]
    assert one.commit([id]) == 1
    (candidate,) = other.find([key("story")])
    assert (candidate.state, candidate.mine) == (ClaimState.COMMITTED, False)


def test_a_folder_is_the_same_by_any_name(shared: Opener, tmp_path: Path) -> None:
    commit(shared(), "http://a", "story")
    (tmp_path / "link").symlink_to(tmp_path / "store")
    for name in ("link", "store/../store/"):
        with open_existing(lmdb_url(tmp_path / name), "news") as store:
            assert store.lookup("http://a") is not None


def test_closing_withdraws_own_claims_only(shared: Opener) -> None:
    one, other = shared(), shared()
    kept = commit(one, "http://kept", "kept")
    open_id = one.offer(record("http://open", "open")).id
    scraped = one.offer(record("http://scraped", "scraped")).id
    theirs = other.offer(record("http://theirs", "theirs")).id
    assert open_id is not None
    assert scraped is not None
    assert theirs is not None
    one.scraped(scraped)
    one.close()
    assert [other.get(id) is None for id in (kept, open_id, scraped, theirs)] == [False, True, True, False]
    assert other.info().pages == 2
    assert other.commit([theirs]) == 1


def test_the_lease_of_another_ends_too(shared: Opener) -> None:
    one, other = shared(), shared()
    lost = one.offer(record("http://a", "story")).id
    kept = one.offer(record("http://c", "other")).id
    assert lost is not None
    assert kept is not None
    shared.clock.now += 61
    assert other.get(lost) is None
    assert other.offer(record("http://b", "story")).id is not None
    assert one.renew() == 1
    assert one.commit([lost, kept]) == 1


def test_forgetting_a_url_ends_the_claim_of_another(shared: Opener) -> None:
    one, other = shared(), shared()
    id = one.offer(record("http://a", "story")).id
    assert id is not None
    assert other.forget("http://a") == 1
    assert one.renew() == 0
    assert one.commit([id]) == 0


def test_records_outlive_the_store_and_ids_go_on(shared: Opener) -> None:
    store = shared()
    first = commit(store, "http://a", "story")
    released = store.offer(record("http://b", "other")).id
    assert released is not None
    store.close()
    again = shared()
    found = again.get(first)
    assert found is not None
    assert found.record == record("http://a", "story")
    assert commit(again, "http://c", "third") > released


def test_what_was_filed_is_flushed_by_renewing_and_by_the_last_to_leave(
    shared: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[None] = []
    monkeypatch.setattr(LmdbEnvironment, "flush", lambda _: flushed.append(None))
    one, other = shared(), shared()
    commit(one, "http://a")
    assert len(flushed) == 0
    one.renew()
    assert len(flushed) == 1
    one.close()
    assert len(flushed) == 1
    other.close()
    assert len(flushed) == 2


def test_prune_lets_others_write_in_between(shared: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    store = shared()
    for n in range(600):
        commit(store, f"http://a/{n}", n)
    sizes = [store.info().pages]
    write = LmdbEnvironment.write

    def watched(self: LmdbEnvironment, work: Callable[[Transaction], T]) -> T:
        result = write(self, work)
        sizes.append(store.info().pages)
        return result

    monkeypatch.setattr(LmdbEnvironment, "write", watched)
    assert store.prune(START + 1) == 600
    assert max(before - after for before, after in pairwise(sizes)) <= 256


def test_a_folder_left_by_all_is_tidy(shared: Opener, tmp_path: Path) -> None:
    stores = [shared(), shared(namespace="other")]
    folder = tmp_path / "store"
    assert len(list((folder / "owners").iterdir())) == 2
    for store in stores:
        assert (folder / "running").exists()
        store.close()
    assert sorted(path.name for path in folder.iterdir()) == ["data.mdb", "lock.mdb", "opening.lock", "owners"]
    assert list((folder / "owners").iterdir()) == []


# -- opening what exists ------------------------------------------------------------------------


def test_open_existing_takes_any_configuration(shared: Opener) -> None:
    commit(shared(scheme={"minhash": {"slots": 64}}), "http://a")
    with open_existing(shared.url, "news") as store:
        assert store.info().scheme == '{"minhash":{"slots":64}}'
        assert store.forget("http://a") == 1


def test_what_does_not_exist_is_not_made(shared: Opener, tmp_path: Path) -> None:
    for look in (lambda: open_existing(shared.url, "news"), lambda: list_namespaces(shared.url)):
        with pytest.raises(StoreError, match="There is no store"):
            look()
    assert list(tmp_path.iterdir()) == []
    shared(namespace="b").close()
    shared(namespace="a").close()
    with pytest.raises(StoreError, match=r"has no namespace 'news'; it has 'a', 'b'\."):
        open_existing(shared.url, "news")


def test_memory_cannot_exist_already() -> None:
    with pytest.raises(SettingError, match=r"^store = 'memory://'"):
        open_existing("memory://", "news")


# -- the guard ----------------------------------------------------------------------------------


def test_another_configuration_is_refused(shared: Opener) -> None:
    commit(shared(scheme={"minhash": {"slots": 64}}), "http://a")
    for _ in range(2):
        with pytest.raises(StoreMismatchError, match=r"'news'.*minhash\.slots is 64 there, 128 here"):
            shared(scheme={"minhash": {"slots": 128}})
    assert shared(scheme={"minhash": {"slots": 64}}).info().pages == 1
    assert shared(scheme={"minhash": {"slots": 128}}, namespace="another").info().pages == 0


# -- growth -------------------------------------------------------------------------------------


def test_the_map_grows_by_itself(shared: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedupcrawl.stores.lmdb_environment.MAP_SIZE", 1 << 16)
    store = shared()
    ids = [commit(store, f"http://a/{n}/" + "x" * 3000, n) for n in range(200)]
    assert ids == list(range(1, 201))
    assert store.info().pages == 200
    assert store.info().bytes > 1 << 19


# -- several calls in one transaction -----------------------------------------------------------


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The transactions of the test: whether each of them may write."""
    begun: list[bool] = []
    begin = LmdbEnvironment._begin

    def counted(environment: LmdbEnvironment, *, write: bool) -> Transaction:
        begun.append(write)
        return begin(environment, write=write)

    monkeypatch.setattr(LmdbEnvironment, "_begin", counted)
    return begun


def test_offers_share_a_transaction_and_see_each_other(shared: Opener, transactions: list[bool]) -> None:
    store = shared()
    transactions.clear()
    pages = [record("http://a", "one"), record("http://b", "two"), record("http://c", "one")]
    offers = store.together(lambda: [store.offer(page) for page in pages])
    assert transactions == [True]
    assert [offer.id for offer in offers] == [1, 2, None]
    (candidate,) = offers[2].candidates
    assert (candidate.id, candidate.state, candidate.mine) == (1, ClaimState.OPEN, True)
    assert store.commit([1, 2]) == 2
    assert store.offer(record("http://c", "one")).id is None


def test_an_error_leaves_none_of_the_offers(shared: Opener) -> None:
    store = shared()
    commit(store, "http://a", "one")

    def work() -> None:
        store.offer(record("http://b", "two"))
        store.release([1])
        raise ValueError("a page of ours")

    with pytest.raises(ValueError, match="a page of ours"):
        store.together(work)
    assert [candidate.record.url for candidate in store.records()] == ["http://a"]
    assert commit(store, "http://b", "two") == 2


def test_the_map_grows_within_a_transaction_of_several_calls(shared: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedupcrawl.stores.lmdb_environment.MAP_SIZE", 1 << 16)
    store, attempts = shared(), []

    def work() -> list[int | None]:
        attempts.append(1)
        return [store.offer(record(f"http://a/{n}/" + "x" * 3000, n)).id for n in range(100)]

    assert store.together(work) == list(range(1, 101))
    assert len(attempts) > 1
    assert store.info().open == 100
    assert store.release(range(1, 101)) == 100


def test_other_threads_do_not_take_part(shared: Opener) -> None:
    store, other = shared(), shared()
    found: list[int] = []

    def work() -> None:
        store.offer(record("http://a", "one"))
        for each in (store, other):
            thread = Thread(target=lambda each=each: found.append(each.info().pages), daemon=True)
            thread.start()
            thread.join(0.05)
        assert found == []  # they wait for the end of the transaction
        waiting.append(thread)

    waiting: list[Thread] = []
    store.together(work)
    waiting[0].join(600)
    assert set(found) == {1}


def test_freed_space_is_used_again(shared: Opener, tmp_path: Path) -> None:
    store = shared()
    data = tmp_path / "store" / "data.mdb"

    def churn(first: int) -> int:
        for n in range(first, first + 1000):
            commit(store, f"http://a/{n}", n, f"other {n}")
        shared.clock.now += 10
        assert store.prune(shared.clock.now) == 1000
        return data.stat().st_size

    sizes = [churn(1000 * turn) for turn in range(6)]
    assert sizes[-1] <= 1.2 * sizes[1]


def test_a_bucket_has_the_ids_of_its_pages_the_newest_first(shared: Opener) -> None:
    """All buckets are one sorted set, and rows of others stand before it."""
    store = shared()
    assert isinstance(store, LmdbStore)
    pages = [record(f"https://a.example/{n}", n % 3, n, *(["all"] * (n > 5))) for n in range(4 * BUCKET_CAP)]
    for page in pages:
        store.add(page, FILE_ANYWAY)
    for name in (0, 1, 2, 7, "all", "none"):
        for since in (0, 1, 70, len(pages)):
            filed = [id for id, page in enumerate(pages, 1) if key(name) in page.keys and id > since]
            found = store._read(lambda tables, name=name, since=since: [*tables.newest(key(name), since)])  # type: ignore[misc]
            assert found == filed[::-1]


def test_rows_are_the_records_and_leases_of_ids(shared: Opener) -> None:
    store = shared()
    assert isinstance(store, LmdbStore)
    for n in range(4):
        offer = store.offer(record(f"https://a.example/{n}", n), FILE_ANYWAY)
        assert offer.id is not None
        if n % 2:
            store.commit([offer.id])
    for ids in ([1], [2], [0, 3, 1, 99, 2, MAX_ID + 1, 4], [3, 0], []):
        work = partial(_rows, ids)
        found = store._read(work)
        assert [value is not None for value, _ in found] == [0 < id < 5 for id in ids]
        assert [lease is not None for _, lease in found] == [id in {1, 3} for id in ids]


def _rows(ids: list[int], tables: LmdbTables) -> list[tuple[bytes | None, object]]:
    rows = [*tables.rows(ids)]
    assert rows == [(tables.record(id), tables.lease(id)) for id in ids]
    return [*rows]
