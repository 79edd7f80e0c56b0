"""Tables of sites: their bytes, and what a store does with them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.stores import site_tables
from dedupcrawl.stores.site_tables import (
    BASE_LINES,
    MAX_COUNT,
    MAX_LINES,
    PAGE_LINES,
    SPARE_LINES,
    SiteTable,
    SiteTables,
    changed_at,
    merge_site,
    unpack_site,
)

if TYPE_CHECKING:
    from dedupcrawl.stores.base import Store
    from tests.stores.factories import Opener

LINES = st.dictionaries(st.integers(0, 2**32 - 1), st.integers(1, MAX_COUNT), max_size=60)


def packed(lines: dict[int, int], pages: int = 5, now: float = 1000.0) -> bytes:
    return SiteTable(pages, dict(lines)).pack(now)


def test_the_bytes_of_a_table() -> None:
    value = packed({1: 2, 0xFFFFFFFF: 255}, pages=3, now=16.9)
    assert value.hex() == "0000001000000003" + "0000000102" + "ffffffffff"
    assert unpack_site(value) == SiteTable(3, {1: 2, 0xFFFFFFFF: 255})
    assert changed_at(value) == 16


@pytest.mark.parametrize("value", [None, b"", b"1234567", packed({1: 1}) + b"x"])
def test_bytes_that_are_no_table(value: bytes | None) -> None:
    assert unpack_site(value) == SiteTable()


@given(LINES, LINES)
def test_merging_adds_counts(one: dict[int, int], other: dict[int, int]) -> None:
    merged = unpack_site(merge_site(packed(one, 20), packed(other, 7)))
    assert merged.pages == 27
    assert merged.lines == {
        line: min(one.get(line, 0) + other.get(line, 0), MAX_COUNT) for line in [*one, *(set(other) - set(one))]
    }


@given(LINES, LINES)
def test_the_order_of_merging_does_not_matter_below_the_limit(one: dict[int, int], other: dict[int, int]) -> None:
    first, second = packed(one, 20, now=3.0), packed(other, 7, now=9.0)
    merged, reverse = merge_site(first, second), merge_site(second, first)
    assert unpack_site(merged).lines == unpack_site(reverse).lines
    assert changed_at(merged) == changed_at(reverse) == 9


def test_the_oldest_lines_that_were_seen_once_go_first() -> None:
    table = SiteTable()
    table.add([(0, 3), *((line, 1) for line in range(1, BASE_LINES + PAGE_LINES))], 1)
    table.add([(1000, 1), (1001, 1), (2, 1)], 0)
    table = unpack_site(table.pack(0.0))
    assert len(table.lines) == BASE_LINES + PAGE_LINES
    assert {0, 2, 1000, 1001} <= table.lines.keys()
    assert not {1, 3} & table.lines.keys()


def test_a_table_has_a_limit() -> None:
    table = SiteTable()
    for page in range(1000):
        table.add([(page * 16 + line, 1) for line in range(16)], 1)
        assert len(table.lines) <= min(MAX_LINES, BASE_LINES + PAGE_LINES * table.pages) + SPARE_LINES
        assert len(unpack_site(table.pack(0.0)).lines) <= min(MAX_LINES, BASE_LINES + PAGE_LINES * table.pages)
    assert len(table.pack(0.0)) <= 60 * 1000


# -- stores -------------------------------------------------------------------------------------


def test_a_store_adds_the_counts_of_workers(store: Store) -> None:
    assert store.load_sites(["a.example"]) == {}
    first = store.merge_sites({"a.example": packed({1: 1}), "中文.example": packed({2: 1}), "new.example": b""})
    assert {site: unpack_site(value).lines for site, value in first.items()} == {
        "a.example": {1: 1},
        "中文.example": {2: 1},
    }
    second = store.merge_sites({"a.example": packed({1: 1, 7: 1}, pages=2)})
    assert unpack_site(second["a.example"]) == SiteTable(7, {1: 2, 7: 1})
    assert store.load_sites(["a.example", "none.example"]) == second
    assert {site: unpack_site(value).pages for site, value in store.sites()} == {"a.example": 7, "中文.example": 5}


def test_info_counts_sites(store: Store) -> None:
    before = store.info()
    assert (before.sites, before.pages) == (0, 0)
    store.merge_sites({f"{number}.example": packed({1: 1}) for number in range(3)})
    after = store.info()
    assert after.sites == 3
    assert after.site_bytes > 0
    assert after.pages == 0


def test_a_site_can_be_forgotten(store: Store) -> None:
    store.merge_sites({"a.example": packed({1: 1}), "b.example": packed({1: 1})})
    assert store.forget_sites([]) == 0
    assert store.forget_sites(["a.example", "none.example"]) == 1
    assert [site for site, _ in store.sites()] == ["b.example"]


def test_old_tables_are_pruned(store: Store) -> None:
    store.merge_sites({"old.example": packed({1: 1}, now=1e9), "new.example": packed({1: 1}, now=2e9)})
    store.prune(1.5e9)
    assert [site for site, _ in store.sites()] == ["new.example"]


def test_there_are_not_more_tables_than_the_limit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("dedupcrawl.stores.site_tables", "dedupcrawl.stores.redis.site_hash"):
        monkeypatch.setattr(f"{module}.MAX_SITES", 3)
    for number in range(5):
        store.merge_sites({f"{number}.example": packed({1: 1})})
    assert len([*store.sites()]) == 3
    assert site_tables.MAX_SITES == 3


def test_the_tables_belong_to_a_namespace(opener: Opener) -> None:
    opener().merge_sites({"a.example": packed({1: 1})})
    assert [*opener(namespace="other").sites()] == []


def test_the_tables_survive(opener: Opener) -> None:
    store = opener()
    store.merge_sites({"a.example": packed({1: 1})})
    store.close()
    survives = "memory" not in opener.url
    assert [site for site, _ in opener().sites()] == ["a.example"] * survives


def test_a_store_that_keeps_no_tables() -> None:
    tables = SiteTables()
    assert tables.merge_sites({"a.example": packed({1: 1})}) == tables.load_sites(["a.example"]) == {}
    assert ([*tables.sites()], tables.forget_sites(["a.example"]), tables.prune_sites(0.0)) == ([], 0, 0)


def test_counts_that_workers_add_at_once_are_all_there(opener: Opener) -> None:
    stores = [opener()] * 2 if "memory" in opener.url else [opener(), opener()]
    rounds, sites = 60, ("a.example", "b.example")

    def work(store: Store) -> None:
        for line in range(rounds):
            store.merge_sites({site: packed({line % 5: 1}, pages=1) for site in sites})

    with ThreadPoolExecutor(2) as threads:
        [*threads.map(work, stores)]
    for store in stores:
        tables = [unpack_site(value) for value in store.load_sites(sites).values()]
        assert [table.pages for table in tables] == [2 * rounds, 2 * rounds]
        assert [table.lines for table in tables] == [dict.fromkeys(range(5), 2 * rounds // 5)] * 2
