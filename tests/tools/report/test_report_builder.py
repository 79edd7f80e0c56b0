from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.ledger.ledger_schema import sampling_hash
from dedupcrawl.tools.report.report_builder import choose_pairs, choose_rows
from dedupcrawl.tools.report.report_model import ListedPage, PageRow

OUTCOMES = st.sampled_from(["kept", "dropped", "released"])
ROWS = st.lists(st.tuples(OUTCOMES, st.integers(0, 6), st.booleans()), max_size=60)


def listed(place: int, outcome: str, cluster: int, related: bool) -> ListedPage:
    row = PageRow(
        url=f"https://a.example/{place}",
        title="",
        host="a.example",
        time=float(place),
        bytes=1,
        status="unique",
        outcome=outcome,
        relation="near-duplicate" if related or outcome == "dropped" else "",
        cluster=str(cluster),
    )
    return ListedPage(row, sampling_hash(row.cluster), place, place if row.relation else None)


@given(ROWS, st.integers(1, 30))
def test_dropped_pages_are_preferred_and_listed_first(told: list[tuple[str, int, bool]], most: int) -> None:
    rows = [listed(place, *each) for place, each in enumerate(told)]
    chosen = choose_rows(rows, most, ())
    assert len(chosen) == min(most, len(rows))
    dropped = sum(each.row.outcome == "dropped" for each in rows)
    outcomes = [each.row.outcome == "dropped" for each in chosen]
    assert sum(outcomes) == min(most, dropped)
    assert outcomes == sorted(outcomes, reverse=True)
    for kind in (True, False):
        times = [each.row.time or 0 for each in chosen if (each.row.outcome == "dropped") is kind]
        assert times == sorted(times)


@given(ROWS, st.integers(1, 30))
def test_of_each_kind_whole_clusters_are_chosen(told: list[tuple[str, int, bool]], most: int) -> None:
    """At most one cluster of dropped pages is incomplete: the last one that fits."""
    rows = [listed(place, *each) for place, each in enumerate(told)]
    chosen = {each.row.url for each in choose_rows(rows, most, ())}
    parts: defaultdict[str, set[bool]] = defaultdict(set)
    for each in rows:
        if each.row.outcome == "dropped":
            parts[each.row.cluster].add(each.row.url in chosen)
    assert sum(len(of_one) > 1 for of_one in parts.values()) <= 1


@given(ROWS, st.integers(1, 30))
def test_the_pages_of_a_cluster_that_is_shown_go_last(told: list[tuple[str, int, bool]], most: int) -> None:
    rows = [listed(place, *each) for place, each in enumerate(told)]
    first = [each for each in rows if each.row.outcome == "dropped" or each.row.cluster == "3"]
    chosen = choose_rows(rows, most, {"3"})
    assert sum(each in first for each in chosen) == min(most, len(first))


@given(st.lists(st.lists(st.booleans(), max_size=5), max_size=5), st.integers(0, 3), st.integers(0, 20))
def test_pairs_come_from_all_clusters_by_turns(groups: list[list[bool]], misses: int, most: int) -> None:
    members = {
        str(cluster): [listed(100 * cluster + place, "kept", cluster, related) for place, related in enumerate(group)]
        for cluster, group in enumerate(groups)
    }
    near = [f"miss {number}" for number in range(misses)]
    chosen = choose_pairs(near, members, (), most)
    assert len(chosen) == len(set(chosen)) <= most
    assert chosen[:misses] == near[:most]
    taken: defaultdict[int, int] = defaultdict(int)
    for key in chosen[misses:]:
        taken[int(str(key)) // 100] += 1
    for cluster, group in enumerate(groups):
        others = max(taken.values(), default=0)
        assert taken[cluster] >= min(sum(group), others - 1)
