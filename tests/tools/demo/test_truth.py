"""Faults of verdicts, and the summary."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.tools.demo.corpus import load_content
from dedupcrawl.tools.demo.crawl import (
    INDEX,
    DemoReport,
    FaultKind,
    PageLabel,
    PageOutcome,
    all_pages,
    find_faults,
    summarize,
)


def outcome(cluster: str, *, kept: bool, kind: str = "original") -> PageOutcome:
    return PageOutcome(PageLabel("harbour", f"/{cluster}", kind, cluster), kept, {})


KEPT_A, DROPPED_A = outcome("a", kept=True), outcome("a", kept=False)
KEPT_B, DROPPED_B = outcome("b", kept=True), outcome("b", kept=False)
KEPT_INDEX, DROPPED_INDEX = outcome("i", kept=True, kind=INDEX), outcome("i", kept=False, kind=INDEX)


@pytest.mark.parametrize(
    ("outcomes", "kept_before", "expected"),
    [
        ([KEPT_A, DROPPED_A, KEPT_B], (), [None, None, None]),
        ([KEPT_A, KEPT_A], (), [None, FaultKind.MISSED]),
        ([DROPPED_A, KEPT_A, DROPPED_A], (), [FaultKind.WRONGLY_DROPPED, None, None]),
        ([KEPT_A, DROPPED_B], (), [None, FaultKind.WRONGLY_DROPPED]),
        ([DROPPED_A, DROPPED_B], ("a", "b"), [None, None]),
        ([KEPT_A], ("a",), [FaultKind.MISSED]),
        ([DROPPED_A], ("b",), [FaultKind.WRONGLY_DROPPED]),
        ([KEPT_INDEX, KEPT_INDEX], ("i",), [None, None]),
        ([KEPT_INDEX, DROPPED_INDEX], ("i",), [None, FaultKind.WRONGLY_DROPPED]),
    ],
)
def test_faults(outcomes: list[PageOutcome], kept_before: tuple[str, ...], expected: list[FaultKind | None]) -> None:
    assert find_faults(outcomes, kept_before) == expected


def test_the_summary_counts_articles_and_all_faults() -> None:
    outcomes = [KEPT_A, DROPPED_A, KEPT_A, DROPPED_B, KEPT_INDEX, DROPPED_INDEX]
    expected = DemoReport(pages=4, distinct=2, kept=2, dropped=2, wrongly_dropped=2, missed=1)
    assert summarize(outcomes, find_faults(outcomes)) == expected


def test_an_empty_crawl_counts_nothing() -> None:
    assert summarize([], []) == DemoReport(0, 0, 0, 0, 0, 0)


_OUTCOMES = st.lists(st.builds(outcome, st.sampled_from("abc"), kept=st.booleans()))


@settings(max_examples=100, deadline=None)
@given(_OUTCOMES, st.sets(st.sampled_from("abc")))
def test_figures_add_up(outcomes: list[PageOutcome], kept_before: set[str]) -> None:
    summary = summarize(outcomes, find_faults(outcomes, kept_before))
    assert summary.pages == summary.kept + summary.dropped == len(outcomes)
    kept_clusters = {each.truth.cluster for each in outcomes if each.kept}
    assert summary.missed == summary.kept - len(kept_clusters - kept_before)
    assert summary.wrongly_dropped <= summary.dropped


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from("abc")), st.sets(st.sampled_from("abc")))
def test_keeping_the_first_of_each_cluster_is_right(clusters: list[str], kept_before: set[str]) -> None:
    seen = set(kept_before)
    outcomes = []
    for cluster in clusters:
        outcomes.append(outcome(cluster, kept=cluster not in seen))
        seen.add(cluster)
    assert not any(find_faults(outcomes, kept_before))


def test_the_truth_covers_articles_and_index_pages() -> None:
    content = load_content()
    truths = all_pages(content)
    fronts = [truths[key, "/"] for key in content.sites]
    assert all(front.is_index for front in fronts)
    articles = [truth for truth in truths.values() if not truth.is_index]
    assert {(page.site, page.path) for page in content.pages} == {(truth.site, truth.path) for truth in articles}
    index = [truth.cluster for truth in truths.values() if truth.is_index]
    assert len(set(index)) == len(index) > 20
