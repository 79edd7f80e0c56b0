"""Notes: what each kind of store does with them."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.errors import StoreError
from dedupcrawl.stores import MEMORY, open_store
from dedupcrawl.stores.lmdb import LmdbStore
from dedupcrawl.stores.memory_tables import MemoryNoteTables
from dedupcrawl.stores.notes import (
    MAX_NOTE_BYTES,
    MAX_NOTE_KEY_BYTES,
    MAX_TOTAL,
    NoteSize,
    NoteTables,
    add_notes,
    counter_value,
)
from dedupcrawl.stores.redis.client import ServerStore
from dedupcrawl.stores.redis.note_hashes import NOTES
from tests.stores import subprocesses
from tests.stores.factories import Opener, lmdb_url

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.stores.base import Store
    from tests.stores.servers import Server

SITE = "shop.例子"
KEYS = st.binary(max_size=6)


def test_notes_are_read_as_written(store: Store) -> None:
    notes = store.notes
    assert notes.read("rules", SITE, [b"a"]) == [None]
    notes.write("rules", SITE, {b"a": b"1", b"\xff\0:{}": b"", b"gone": b"x"}, 10)
    notes.write("rules", SITE, {b"gone": None, b"never": None}, 10)
    assert notes.read("rules", SITE, [b"gone", b"\xff\0:{}", b"a"]) == [None, b"", b"1"]
    assert notes.read_all("rules", SITE) == {b"a": b"1", b"\xff\0:{}": b""}
    assert notes.read_all("other", SITE) == notes.read_all("rules", "other.example") == {}


def test_a_table_needs_a_name(store: Store) -> None:
    for name in ("", "a:b", "A", "x" * 17, "é"):
        with pytest.raises(ValueError, match="no name of a table"):
            store.notes.write(name, SITE, {b"a": b"1"}, 10)
        with pytest.raises(ValueError, match="no name of a table"):
            store.notes.read(name, SITE, [b"a"])


def test_the_oldest_notes_go(store: Store) -> None:
    for number in range(6):
        store.notes.write("rules", SITE, {b"%d" % number: b"x"}, 4)
        store.notes.write("rules", SITE, {b"0": b"y"}, 4)
    assert store.notes.read_all("rules", SITE) == {b"0": b"y", b"3": b"x", b"4": b"x", b"5": b"x"}
    store.notes.write("rules", SITE, {b"%d" % number: b"z" for number in range(10, 20)}, 3)
    assert sorted(store.notes.read_all("rules", SITE)) == [b"17", b"18", b"19"]


def test_what_is_too_large_is_not_stored(store: Store) -> None:
    long_key, long_site = b"k" * (MAX_NOTE_KEY_BYTES + 1), "s" * 2000
    store.notes.write("rules", SITE, {b"a": b"old", long_key: b"x"}, 10)
    store.notes.write("rules", SITE, {b"a": b"n" * (MAX_NOTE_BYTES + 1), long_key[1:]: b"fits"}, 10)
    assert store.notes.read_all("rules", SITE) == {long_key[1:]: b"fits"}
    store.notes.write("rules", long_site, {b"a": b"x"}, 10)
    assert store.notes.add("rules", long_site, {b"a": 2}) == {b"a": 2}
    assert store.notes.read("rules", long_site, [b"a"]) == [None]
    assert store.notes.take("rules", long_site, 1, 9.0) == store.notes.read_all("rules", long_site) == {}
    assert [*store.notes.sites("rules")] == [SITE]


def test_sites_with_notes(store: Store) -> None:
    store.notes.write("rules", SITE, {b"a": b"1"}, 10)
    store.notes.write("rules", "b{x}*.example", {b"a": b"1"}, 10)
    store.notes.add("counts", "c:\udcff.example", {b"a": 1})
    assert sorted(store.notes.sites("rules")) == ["b{x}*.example", SITE]
    assert [*store.notes.sites("counts")] == ["c:\udcff.example"]
    store.notes.write("rules", SITE, {b"a": None}, 10)
    assert [*store.notes.sites("rules")] == ["b{x}*.example"]
    assert sorted(store.notes.tables()) == [("counts", "c:\udcff.example"), ("rules", "b{x}*.example")]


def test_there_are_not_more_sites_than_the_limit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("dedupcrawl.stores.notes", "dedupcrawl.stores.redis.note_hashes"):
        monkeypatch.setattr(f"{module}.MAX_NOTE_SITES", 3)
    for number in range(6):
        store.notes.write("rules", f"{number}.example", {b"a": b"1", b"b": b"2"}, 10)
    assert len([*store.notes.sites("rules")]) == 3
    assert "5.example" in store.notes.sites("rules")
    assert store.notes.size().notes == 6


# -- counters -------------------------------------------------------------------------------------


def test_counters(store: Store) -> None:
    assert store.notes.add("rules", SITE, {b"a": 2, b"b": -1, b"c": 0}) == {b"a": 2, b"b": -1, b"c": 0}
    assert store.notes.add("rules", SITE, {b"a": 5, b"b": 0}) == {b"a": 7, b"b": -1}
    assert store.notes.read_all("rules", SITE) == {b"a": b"7", b"b": b"-1"}
    assert store.notes.add("rules", SITE, {}) == {}
    store.notes.write("rules", SITE, {b"a": b"0x7", b"b": b"9" * 20}, 10)
    assert store.notes.add("rules", SITE, {b"a": 1, b"b": 1}) == {b"a": 1, b"b": 1}
    assert store.notes.add("rules", SITE, {b"a": 2**80}) == {b"a": MAX_TOTAL}
    assert store.notes.add("rules", SITE, {b"a": -1}) == {b"a": MAX_TOTAL - 1}
    assert store.notes.add("rules", SITE, {b"a": -(2**80)}) == {b"a": -1}
    assert store.notes.add("rules", SITE, {b"%d" % n: 1 for n in range(9)}, 2).keys() == {b"%d" % n for n in range(9)}
    assert len(store.notes.read_all("rules", SITE)) == 2


@given(st.lists(st.dictionaries(KEYS, st.integers(-(2**70), 2**70), max_size=3), max_size=6))
def test_totals_are_sums_within_their_range(steps: list[dict[bytes, int]]) -> None:
    notes, sums = MemoryNoteTables(), dict[bytes, int]()
    for step in steps:
        totals = add_notes(notes, ("t", "s"), step, 100, 0.0)
        for key, delta in step.items():
            sums[key] = max(-MAX_TOTAL, min(MAX_TOTAL, sums.get(key, 0) + delta))
            assert totals[key] == sums[key]
    stored = {key: counter_value(note.value) for key, note in notes.notes("t", "s")}
    assert {key: total for key, total in stored.items() if total} == {
        key: total for key, total in sums.items() if total
    }


def test_counts_that_workers_add_at_once_are_all_there(opener: Opener) -> None:
    stores = [opener()] * 2 if "memory" in opener.url else [opener(), opener()]

    def work(store: Store) -> None:
        for _ in range(100):
            store.notes.add("rules", SITE, {b"a": 1, b"b": 2})

    with ThreadPoolExecutor(2) as threads:
        [*threads.map(work, stores)]
    assert stores[0].notes.add("rules", SITE, {b"a": 0, b"b": 0}) == {b"a": 200, b"b": 400}


# -- taking ---------------------------------------------------------------------------------------


def test_the_oldest_notes_are_taken_once(opener: Opener) -> None:
    store = opener()
    for number in range(700):
        store.notes.write("skipped", SITE, {b"%03d" % number: b"r"}, 1000)
    assert [*store.notes.take("skipped", SITE, 3, 60.0)] == [b"000", b"001", b"002"]
    assert len(store.notes.take("skipped", SITE, 600, 60.0)) == 600
    store.notes.write("skipped", SITE, {b"000": None, b"001": b"new"}, 1000)
    assert len(store.notes.take("skipped", SITE, 1000, 60.0)) == 98  # one was written again
    assert store.notes.take("skipped", SITE, 1, 60.0) == {}
    assert len(store.notes.read_all("skipped", SITE)) == 699
    opener.clock.now += 61.0
    assert [*store.notes.take("skipped", SITE, 2, 60.0)] == [b"002", b"003"]
    assert store.notes.take("skipped", SITE, 0, 60.0) == store.notes.take("none", SITE, 5, 60.0) == {}


def test_two_workers_take_different_notes(opener: Opener) -> None:
    stores = [opener()] * 2 if "memory" in opener.url else [opener(), opener()]
    stores[0].notes.write("skipped", SITE, {b"%d" % number: b"r" for number in range(300)}, 1000)

    def work(store: Store) -> list[bytes]:
        taken: list[bytes] = []
        while some := store.notes.take("skipped", SITE, 7, 600.0):
            taken += some
        return taken

    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(work, stores)
    assert sorted(one + other) == sorted(b"%d" % number for number in range(300))


# -- housekeeping ---------------------------------------------------------------------------------


def test_info_counts_notes(store: Store) -> None:
    before = store.info()
    assert before.notes == 0
    store.notes.write("rules", SITE, {b"%d" % number: b"x" * 100 for number in range(50)}, 100)
    after = store.info()
    assert (after.notes, after.pages, after.sites) == (50, 0, 0)
    assert after.note_bytes >= 5000
    assert after.bytes >= before.bytes + 5000


def test_the_notes_of_a_site_are_forgotten(store: Store) -> None:
    for table in ("rules", "skipped"):
        store.notes.write(table, SITE, {b"%d" % number: b"1" for number in range(2500)}, 5000)
        store.notes.write(table, "other.example", {b"a": b"1"}, 10)
    assert store.notes.forget([]) == set()
    assert store.notes.forget([SITE, "none.example"]) == {SITE}
    assert sorted(store.notes.tables()) == [("rules", "other.example"), ("skipped", "other.example")]
    assert store.notes.size().notes == 2
    store.notes.write("rules", SITE, {b"0": b"new"}, 10)
    assert store.notes.read_all("rules", SITE) == {b"0": b"new"}


def test_old_notes_are_pruned(opener: Opener) -> None:
    store = opener()
    store.notes.write("rules", SITE, {b"%d" % number: b"old" for number in range(2500)}, 5000)
    store.notes.write("rules", "old.example", {b"a": b"old"}, 10)
    opener.clock.now += 100.0
    middle = opener.clock.now - 50.0
    store.notes.write("rules", SITE, {b"7": b"new", b"x": b"new"}, 5000)
    store.prune(middle)
    assert store.notes.read_all("rules", SITE) == {b"7": b"new", b"x": b"new"}
    assert [*store.notes.sites("rules")] == [SITE]
    assert store.notes.prune(middle) == store.notes.prune(-inf) == 0
    assert store.notes.prune(inf) == 2


def test_old_notes_of_some_places_are_pruned(opener: Opener) -> None:
    notes = opener().notes
    for table in ("rules", "bodies"):
        for site in (SITE, "old.example"):
            notes.write(table, site, {b"a": b"old"}, 10)
    opener.clock.now += 100.0
    notes.write("bodies", SITE, {b"b": b"new"}, 10)
    places = [("bodies", SITE), ("bodies", "unknown.example"), ("bodies", "x" * 2000)]
    assert notes.prune(opener.clock.now - 50.0, places) == 1
    assert notes.prune(opener.clock.now - 50.0, []) == 0
    left = sorted((*place, *notes.read_all(*place)) for place in notes.tables())
    assert left == [
        ("bodies", "old.example", b"a"),
        ("bodies", SITE, b"b"),
        ("rules", "old.example", b"a"),
        ("rules", SITE, b"a"),
    ]


def test_the_notes_belong_to_a_namespace_and_survive(opener: Opener) -> None:
    store = opener()
    store.notes.write("rules", SITE, {b"a": b"1"}, 10)
    assert opener(namespace="other").notes.read_all("rules", SITE) == {}
    store.close()
    survives = "memory" not in opener.url
    assert opener().notes.read_all("rules", SITE) == ({b"a": b"1"} if survives else {})


def test_a_reset_removes_the_notes(opener: Opener) -> None:
    store = opener()
    store.notes.write("rules", SITE, {b"a": b"1"}, 10)
    store.close()
    scheme = {"exact": {"bits": 128}}
    with open_store(opener.url, namespace="news", scheme=scheme, reset="memory" not in opener.url) as store:
        assert store.notes.tables() == []
    with open_store(opener.url, namespace="news", scheme=scheme) as store:
        assert (store.notes.read_all("rules", SITE), store.notes.size().notes) == ({}, 0)


def test_a_closed_store_has_no_notes(opener: Opener) -> None:
    store = opener()
    store.close()
    for call in (lambda: store.notes.read_all("rules", SITE), lambda: store.notes.write("rules", SITE, {b"a": b"1"})):
        with pytest.raises(StoreError, match="closed"):
            call()


def test_a_store_that_keeps_no_notes() -> None:
    notes = NoteTables()
    notes.write("rules", SITE, {b"a": b"1"}, 10)
    assert notes.add("rules", SITE, {b"a": 3}) == {b"a": 3}
    assert (notes.read("rules", SITE, [b"a"]), notes.read_all("rules", SITE)) == ([None], {})
    assert (notes.take("rules", SITE, 1, 1.0), [*notes.sites("rules")], notes.tables()) == ({}, [], [])
    assert (notes.forget([SITE]), notes.prune(0.0), notes.size()) == (set(), 0, NoteSize())


# -- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("garbage", [b"", b"x", b"\xff" * 60])
def test_damaged_rows_of_a_folder_are_skipped(tmp_path: Path, garbage: bytes) -> None:
    store = open_store(lmdb_url(tmp_path / "store"), namespace="n", scheme={})
    assert isinstance(store, LmdbStore)
    store.notes.write("rules", SITE, {b"%d" % number: b"x" for number in range(20)}, 100)

    def damage(tables: Any) -> None:
        notes = tables.noted
        rows = [bytes(key) for key in notes._transaction.cursor(notes._notes).iternext(values=False)]
        for row in [row for row in rows if row.startswith(b"n")][:5]:
            notes._transaction.put(row, garbage, db=notes._notes)

    store._write(damage)
    assert len(store.notes.read_all("rules", SITE)) == 15
    assert len(store.notes.take("rules", SITE, 100, 1.0)) == 15
    assert store.notes.read("rules", SITE, [b"%d" % n for n in range(20)]).count(None) == 5
    store.notes.write("rules", SITE, {b"new %d" % number: b"y" for number in range(10)}, 10)
    assert store.notes.read_all("rules", SITE) == {b"new %d" % number: b"y" for number in range(10)}
    assert store.notes.forget([SITE]) == {SITE}
    assert store.notes.size() == NoteSize(0, 0, store.notes.size().bytes)
    store.close()


@pytest.mark.parametrize("kind", ["v", "o", "places"])
def test_the_order_is_repaired_after_an_eviction(server: Server, kind: str) -> None:
    opener = Opener(server.url)
    store = opener()
    assert isinstance(store, ServerStore)
    store.notes.write("rules", SITE, {b"%d" % number: b"x" for number in range(6)}, 10)
    places = store._names.key(NOTES)
    with server.client() as client:
        assert client.delete(places if kind == "places" else f"{places}:{kind}:rules:{SITE}") == 1
    assert store.notes.take("rules", SITE, 9, 1.0).keys() <= {b"%d" % number for number in range(6)}
    store.notes.write("rules", SITE, {b"new": b"y"}, 4)
    left = store.notes.read_all("rules", SITE)
    assert left[b"new"] == b"y"
    assert len(left) == (1 if kind == "v" else 4)
    assert [*store.notes.sites("rules")] == [SITE]
    assert store.notes.forget([SITE]) == {SITE}
    with server.client() as client:
        assert client.keys("*notes*") == []
    opener.close()


@pytest.mark.parametrize("garbage", [b"", b"x", b"\xff" * 60])
def test_damaged_values_on_a_server_are_skipped(server: Server, garbage: bytes) -> None:
    opener = Opener(server.url)
    store = opener()
    assert isinstance(store, ServerStore)
    store.notes.write("rules", SITE, {b"%d" % number: b"x" for number in range(20)}, 100)
    place = f":rules:{SITE}"
    with server.client() as client:
        client.hset(store._names.key(NOTES) + ":v" + place, mapping={str(number): garbage for number in range(5)})
        client.hset(store._names.key(NOTES) + ":o" + place, "f", garbage)
    assert store.notes.read_all("rules", SITE) == {b"%d" % number: b"x" for number in range(5, 20)}
    assert store.notes.read("rules", SITE, [b"0", b"9"]) == [None, b"x"]
    assert len(store.notes.take("rules", SITE, 100, 1.0)) == 15
    store.notes.write("rules", SITE, {b"new %d" % number: b"y" for number in range(10)}, 10)
    assert store.notes.read_all("rules", SITE) == {b"new %d" % number: b"y" for number in range(10)}
    assert store.notes.forget([SITE]) == {SITE}
    assert store.notes.size().notes == 0
    opener.close()


def test_a_key_of_another_program(server: Server) -> None:
    opener = Opener(server.url)
    store = opener()
    assert isinstance(store, ServerStore)
    with server.client() as client:
        client.set(store._names.key(NOTES) + f":v:rules:{SITE}", b"text")
    for call in (lambda: store.notes.read_all("rules", SITE), lambda: store.notes.write("rules", SITE, {b"a": b"1"})):
        with pytest.raises(StoreError, match="another program"):
            call()
    opener.close()


# -- processes ------------------------------------------------------------------------------------


def test_processes_race_for_notes(opener: Opener) -> None:
    url = opener.url
    if url == MEMORY:
        pytest.skip("a store in memory has one process")
    with subprocesses.open_here(url) as store:
        store.notes.write("skipped", SITE, {b"%d" % number: b"r" for number in range(200)}, 1000)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver")) as pool:
        one, other = pool.map(subprocesses.take_and_count, [url] * 2, [SITE] * 2)
    assert sorted(one + other) == sorted(b"%d" % number for number in range(200))
    with subprocesses.open_here(url) as store:
        assert store.notes.read_all("skipped", SITE) == {}
        assert store.notes.add("counts", SITE, {b"a": 0}) == {b"a": 300}
