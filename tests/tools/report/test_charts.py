"""Charts match their data and stay inside their frames."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedupcrawl.ledger.counters import FlowCount, Histogram, RunCounts, SliceCount
from dedupcrawl.tools.report.charts import (
    Scale,
    draw_hosts,
    draw_similarity,
    draw_time,
    outcome_bar,
    round_counts,
    time_ticks,
)

COUNTS = st.integers(0, 10**9)
NAMES = st.text(max_size=3)


@given(st.integers(1, 10**12))
def test_round_counts_are_few_rising_and_within(most: int) -> None:
    ticks = round_counts(most)
    assert 1 <= len(ticks) <= 5
    assert list(ticks) == sorted(ticks)
    assert ticks[-1] <= most
    assert len({later - earlier for earlier, later in pairwise((0, *ticks))}) == 1


@given(st.floats(-1e9, 1e11), st.floats(0.01, 1e9), st.integers(100, 2000))
def test_times_are_within_and_apart(start: float, span: float, width: int) -> None:
    places = [tick.position for tick in time_ticks(start, start + span, width, apart=72)]
    assert all(0 <= place <= width + 0.1 for place in places)
    assert all(later - earlier > 71 for earlier, later in pairwise(places))


def test_times_are_round() -> None:
    midnight = 1_700_006_400
    hours = time_ticks(midnight - 3600 * 5, midnight + 3600 * 5, 400, apart=72)
    assert [tick.label for tick in hours] == ["20:00", "22:00", "15 Nov", "02:00", "04:00"]
    years = time_ticks(0, 1.7e9, 400, apart=72)
    assert years[0].label == "Jan 1970"
    assert time_ticks(5, 5, 400, apart=72) == time_ticks(0, math.inf, 400, apart=72) == ()


@given(st.integers(1, 10**9), st.data())
def test_more_is_longer(most: int, data: st.DataObject) -> None:
    scale = Scale(most, 100)
    few, many = sorted(data.draw(st.tuples(st.integers(0, most), st.integers(0, most))))
    assert 0 <= scale(few) <= scale(many) <= scale(most) == 100
    assert all(0 < tick <= most for tick in scale.ticks)


@given(st.lists(st.builds(SliceCount, st.just(0.0), COUNTS, COUNTS, COUNTS), min_size=1, max_size=80))
def test_stacks_are_as_high_as_their_pages_and_within(slices: list[SliceCount]) -> None:
    slices = [SliceCount(60.0 * at, each.kept, each.dropped, each.unchecked) for at, each in enumerate(slices)]
    chart = draw_time(slices, 600)
    assert chart is not None
    most = max(each.kept + each.dropped + each.unchecked for each in slices)
    heights = sum(block.height for block in chart.rects)
    pages = sum(each.kept + each.dropped + each.unchecked for each in slices)
    assert heights == pytest.approx(168 * pages / max(most, 1), abs=0.02 * len(chart.rects) + 1e-6)
    assert all(block.y >= 7.9 and block.y + block.height <= chart.bottom + 0.1 for block in chart.rects)
    assert all(block.x >= chart.left and block.x + block.width <= chart.right + 0.1 for block in chart.rects)


@given(st.integers(2, 80), st.floats(0.2, 1e7), st.sampled_from([320, 980]))
@example(7, 1.0, 320)
def test_labels_of_time_do_not_touch(count: int, seconds: float, width: int) -> None:
    chart = draw_time([SliceCount(1.7e9 + at * seconds, 1, 1, 1) for at in range(count)], width)
    assert chart is not None
    ends = []
    for tick in chart.x_ticks:
        wide = 7.0 * len(tick.label)
        right = tick.position if tick.position > chart.right - 24 else tick.position + wide / 2  # as in chart_time.html
        ends.append((right - wide, right))
    assert all(earlier[1] < later[0] for earlier, later in pairwise(ends))


def test_nothing_is_drawn_of_nothing() -> None:
    assert draw_time([], 600) is None
    assert draw_hosts([]) is None
    assert draw_similarity(Histogram("minhash", 0.8, (0, 1), (0,), (0,))) is None


@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=40), st.floats(-1, 2))
def test_bins_stand_within(bins: list[tuple[int, int]], threshold: float) -> None:
    edges = tuple(at / len(bins) for at in range(len(bins) + 1))
    matched, missed = zip(*bins, strict=True)
    chart = draw_similarity(Histogram("x", threshold, edges, matched, missed))
    assert (chart is None) == (sum(matched) + sum(missed) == 0)
    if chart is None:
        return
    assert (chart.threshold is None) == (not 0 <= threshold <= 1)
    for block in chart.rects:
        assert chart.left <= block.x <= block.x + block.width <= chart.right + 1
        assert 0 <= block.y <= block.y + block.height <= chart.height
        assert block.y + block.height <= chart.axis + 0.1 if block.kind == "matched" else block.y == chart.axis
    kinds = [sum(count > 0 for count in counts) for counts in (matched, missed)]
    assert [sum(block.kind == kind for block in chart.rects) for kind in ("matched", "missed")] == kinds


@given(st.lists(st.builds(FlowCount, NAMES, NAMES, st.integers(1, 99)), min_size=1, max_size=60))
def test_no_page_is_lost_in_the_matrix(flows: list[FlowCount]) -> None:
    matrix = draw_hosts(flows, most=3)
    assert matrix is not None
    pages = sum(flow.pages for flow in flows)
    assert sum(row.pages for row in matrix.rows) == sum(matrix.sums) == pages
    assert len(matrix.rows) <= 4 >= len(matrix.columns)
    assert all((cell.shade > 0) == (cell.pages > 0) for row in matrix.rows for cell in row.cells)
    assert max(cell.shade for row in matrix.rows for cell in row.cells) == 6


def test_a_host_that_copies_itself_is_on_the_diagonal() -> None:
    matrix = draw_hosts([FlowCount("a", "a", 2), FlowCount("a", "b", 8)])
    assert matrix is not None
    assert [(cell.pages, cell.is_same) for cell in matrix.rows[0].cells] == [(8, False), (2, True)]


@given(*[st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 99))] * 3, st.integers(0, 99))
def test_parts_of_the_bar_are_all_pages(
    duplicates: dict[str, int], related: dict[str, int], unchecked: dict[str, int], new: int
) -> None:
    checked = new + sum(duplicates.values()) + sum(related.values())
    pages = checked + sum(unchecked.values())
    parts = outcome_bar(RunCounts(pages, checked, 0, 0, duplicates, related, unchecked))
    assert sum(part.pages for part in parts) == pages
    if pages:
        assert sum(part.width for part in parts) == pytest.approx(100, abs=0.01)
        assert parts[-1].start + parts[-1].width == pytest.approx(100, abs=0.01)


def test_what_is_matched_below_the_threshold_is_counted() -> None:
    edges = (0.0, 0.4, 0.8, 1.0)
    below = [
        chart.below
        for threshold in (0.8, 0.7, None)
        if (chart := draw_similarity(Histogram("x", threshold, edges, (1, 2, 4), (0, 0, 0))))
    ]
    assert below == [3, 1, 0]


def test_hosts_that_are_not_named_stand_behind_those_that_are() -> None:
    """The hosts that are left out share one row, for any number of them."""
    flows = [
        FlowCount("(others)", "(others)", 9),
        FlowCount("a", "b", 2),
        FlowCount("c", "b", 1),
        FlowCount("d", "(others)", 4),
    ]
    whole, short = draw_hosts(flows), draw_hosts(flows, most=1)
    assert whole is not None
    assert short is not None
    assert (whole.columns, whole.sums) == (("b", ""), (3, 13))
    assert [(row.host, row.pages) for row in whole.rows] == [("d", 4), ("a", 2), ("c", 1), ("", 9)]
    assert [(row.host, row.pages) for row in short.rows] == [("d", 4), ("", 12)]
