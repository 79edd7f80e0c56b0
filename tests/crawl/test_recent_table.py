"""A dict that forgets what was not used for longest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.crawl.recent_table import RecentTable


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans())), st.integers(1, 8))
def test_it_keeps_the_keys_used_last_and_no_more_than_twice_its_size(
    operations: list[tuple[int, bool]], most: int
) -> None:
    recent, used = RecentTable[int, int](most), list[int]()
    stored: dict[int, int] = {}
    for number, (key, is_set) in enumerate(operations):
        found = recent.get(key)
        assert found in (None, stored.get(key))
        if is_set:
            recent[key] = stored[key] = number
        if is_set or found is not None:
            used = [*(each for each in used if each != key), key]
        assert len(recent) <= 2 * most
    assert recent.has_forgotten or len(recent) == len(stored)
    for key in used[len(used) - most + 1 :] if most > 1 else ():
        assert recent.get(key) == stored[key]


def test_a_default_is_returned_and_not_stored() -> None:
    recent = RecentTable[str, int](2)
    assert recent.get("a", 7) == 7
    assert recent.get("a") is None
    assert len(recent) == 0
