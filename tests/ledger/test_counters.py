from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.ledger.counters import (
    MAX_SLICES,
    FlowCount,
    Histogram,
    HostCount,
    SliceCount,
    merge_flows,
    merge_histograms,
    merge_hosts,
    merge_slices,
    slice_width,
    totals_from_counters,
    widened,
)

COUNTS = st.integers(0, 9)
LEDGERS = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 8, 64]),
        st.dictionaries(st.integers(0, 300), st.tuples(COUNTS, COUNTS, COUNTS), max_size=9),
    ),
    max_size=4,
)


@given(LEDGERS)
def test_spans_of_several_ledgers_are_put_together(told: list[tuple[int, dict[int, tuple[int, int, int]]]]) -> None:
    ledgers = [
        (width, [SliceCount(float(place * width), *counts) for place, counts in sorted(spans.items())])
        for width, spans in told
    ]
    joined = merge_slices(ledgers)
    every = [each for _, spans in ledgers for each in spans]
    for name in ("kept", "dropped", "unchecked"):
        assert sum(getattr(each, name) for each in joined) == sum(getattr(each, name) for each in every)
    assert len(joined) <= MAX_SLICES
    steps = {after.start - before.start for before, after in pairwise(joined)}
    assert len(steps) <= 1
    if every:
        assert joined[0].start <= min(each.start for each in every)
        assert max(each.start for each in every) < joined[-1].start + max(steps, default=float("inf"))


@given(st.lists(st.tuples(st.sampled_from(["a.example", "b.example", ""]), COUNTS, COUNTS, COUNTS)))
def test_hosts_are_added_up(told: list[tuple[str, int, int, int]]) -> None:
    joined = merge_hosts(HostCount(*each) for each in told)
    assert sum(each.pages for each in joined) == sum(pages for _, pages, _, _ in told)
    assert [each.pages for each in joined] == sorted((each.pages for each in joined), reverse=True)
    assert len({each.name for each in joined}) == len(joined)
    assert "" not in {each.name for each in joined}


def test_flows_are_added_up() -> None:
    flows = [FlowCount("a", "b", 2), FlowCount("b", "a", 4), FlowCount("a", "b", 3), FlowCount("", "", 1)]
    assert merge_flows(flows) == (FlowCount("a", "b", 5), FlowCount("b", "a", 4), FlowCount("(others)", "(others)", 1))


def test_histograms_are_added_up_by_detector() -> None:
    edges = (0.0, 0.5, 1.0)
    one = Histogram("minhash", None, edges, (1, 2), (3, 0))
    two = Histogram("minhash", 0.8, edges, (0, 5), (1, 1))
    other = Histogram("exact", None, edges, (0, 1), (0, 0))
    assert merge_histograms([one, other, two]) == (Histogram("minhash", 0.8, edges, (1, 7), (4, 1)), other)


def test_the_headline_is_what_the_stats_say() -> None:
    counts = {"checked": 5, "unchecked/short": 1, "unchecked/status": 2, "duplicate": 3, "duplicate/identical": 3}
    found = totals_from_counters(counts | {"kept": 5, "dropped": 3, "bytes": 9, "bytes_saved": 4, "related/excerpt": 1})
    assert (found.pages, found.checked, found.kept, found.dropped) == (8, 5, 5, 3)
    assert (found.duplicates, found.related) == ({"identical": 3}, {"excerpt": 1})
    assert list(found.unchecked.items()) == [("status", 2), ("short", 1)]
    assert found.requests_saved is None
    assert totals_from_counters({"requests_saved": 0}).requests_saved == 0


SECONDS = st.lists(st.integers(0, 2**40), min_size=1, max_size=50)


@given(SECONDS, st.integers(1, 600))
def test_the_width_is_the_least_doubling_that_fits(seconds: list[int], most: int) -> None:
    width = slice_width(seconds, 1, most)
    assert width & (width - 1) == 0
    assert max(seconds) // width - min(seconds) // width < most
    if width > 1:
        half = width // 2
        assert max(seconds) // half - min(seconds) // half >= most


@given(st.dictionaries(st.integers(-100, 100), st.tuples(*[st.integers(0, 9)] * 3)), st.sampled_from([1, 2, 8]))
def test_folding_loses_nothing(counts: dict[int, tuple[int, int, int]], factor: int) -> None:
    wider = widened(counts, factor)
    assert {place // factor for place in counts} == set(wider)
    for i in range(3):
        assert sum(each[i] for each in wider.values()) == sum(each[i] for each in counts.values())


def test_nothing_needs_no_width() -> None:
    assert slice_width([], 4, 8) == 4
