"""The table of pages: what a dict would say, or nothing."""

from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.foresee import page_table
from dedupcrawl.foresee.page_table import MAX_SLOTS, LatestPage, LatestPages, PageTable, TableEntry

KEYS = st.integers(-(2**63), 2**64 - 1) | st.integers(0, 3) | st.integers(0, 30).map(lambda n: n << 40)
ENTRIES = st.builds(TableEntry, st.integers(0, 2**32 - 1), st.integers(0, 2**31 - 1), st.booleans())


PAGES = st.builds(LatestPage, st.text(), st.sampled_from(["", "parse_item"]), st.integers(0, 3))


@given(st.lists(PAGES), st.integers(1, 9))
def test_the_latest_pages_are_a_deque(pages: list[LatestPage], size: int) -> None:
    latest, model = LatestPages(size), deque[LatestPage](maxlen=size)
    for page in pages:
        latest.add(page)
        model.append(page)
        assert list(latest) == list(model)
    for content in range(4):
        assert latest.with_content(content) == [page for page in model if page.content == content]


@given(st.lists(st.tuples(KEYS, ENTRIES), max_size=400))
def test_a_table_is_a_dict(pairs: list[tuple[int, TableEntry]]) -> None:
    table, model = PageTable(), {}
    for key, entry in pairs:
        table.put(key, entry)
        model[key % 2**64 or 1] = entry
    assert {key: table.get(key) for key in model} == model
    assert len(table) == len(model)


def test_a_full_table_forgets_and_is_never_wrong() -> None:
    keys = [(number * 0x9E3779B97F4A7C15) % 2**64 for number in range(1, 2 * MAX_SLOTS)]
    table = PageTable()
    for number, key in enumerate(keys):
        table.put(key, TableEntry(number, 1))
    found = [(number, entry) for number, key in enumerate(keys) if (entry := table.get(key)) is not None]
    assert table.bytes == 16 * MAX_SLOTS
    assert all(entry.content == number for number, entry in found)
    assert MAX_SLOTS // 2 < len(found) <= MAX_SLOTS


def test_a_table_that_was_cleared_is_small() -> None:
    table = PageTable()
    for number in range(10_000):
        table.put(hash(str(number)), TableEntry(number, 1))
    assert all(table.get(hash(str(number))) for number in range(10_000))
    table.clear()
    assert table.bytes == 16 * page_table.FIRST_SLOTS
    assert table.get(hash("1")) is None
