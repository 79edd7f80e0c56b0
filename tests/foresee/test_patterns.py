"""Patterns of URLs: what is exhausted, what is credited, and what may be left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.foresee.patterns import (
    EXHAUSTED,
    MAX_PATTERNS,
    MAX_TRAIL,
    PATTERN_AUDIT,
    SITE_AUDIT,
    SitePatternCounts,
    extended,
    pattern_of,
)

MONTH, DAY, EVENT = "c.example/cal?m&y", "c.example/cal?d&m&y", "c.example/event/#"


def productive(*trail: str) -> SitePatternCounts:
    """Return the counts of a site that has brought one page."""
    counts = SitePatternCounts()
    for pattern in trail:
        counts.answered(pattern)
    counts.brought(trail)
    return counts


def answer(counts: SitePatternCounts, pattern: str, pages: int) -> None:
    for _ in range(pages):
        counts.answered(pattern)


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("http://A.example", "a.example/"),
        ("http://a.example/News/today", "a.example/news/*"),
        ("http://a.example/item/12", "a.example/item/#"),
        ("http://a.example/12/x", "a.example/#/*"),
        ("http://a.example/p/p/p/p", "a.example/p/*/…"),
        ("http://a.example/p/p/p/p/p/", "a.example/p/*/…"),
        ("http://a.example/l?b=1&a=2&a=3#top", "a.example/l?a&b"),
        ("http://a.example:8080/l?", "a.example:8080/l"),
        ("http://[broken/", ""),
    ],
)
def test_a_pattern_is_host_path_and_names_of_parameters(url: str, pattern: str) -> None:
    assert pattern_of(url).text == pattern


@given(st.text())
def test_every_url_has_a_pattern(url: str) -> None:
    assert pattern_of(url) == pattern_of(url)
    assert "\n" not in pattern_of(f"http://a.example/{url.replace(chr(10), '')}").text


def test_a_pattern_is_exhausted_after_pages_in_a_row_that_brought_nothing() -> None:
    counts = productive(MONTH, EVENT)
    answer(counts, MONTH, EXHAUSTED - 1)
    assert not counts.is_exhausted(MONTH)
    counts.answered(MONTH)
    assert counts.is_exhausted(MONTH)
    assert counts.exhausted == [MONTH]
    assert not counts.is_exhausted(EVENT)


def test_a_page_behind_it_makes_a_pattern_productive_again() -> None:
    counts = productive(MONTH, EVENT)
    answer(counts, MONTH, 3 * EXHAUSTED)
    answer(counts, EVENT, 1)
    counts.brought((MONTH, EVENT))
    assert not counts.is_exhausted(MONTH)
    assert counts.was_exhausted(MONTH)  # and comes last nevertheless
    assert not counts.was_exhausted(EVENT)


def test_patterns_that_only_lead_to_each_other_are_exhausted() -> None:
    counts = productive(MONTH, EVENT)
    for _ in range(EXHAUSTED):
        answer(counts, MONTH, 1)
        answer(counts, DAY, 4)
    assert counts.exhausted == [MONTH, DAY]
    assert counts.was_productive(MONTH)
    assert not counts.was_productive(DAY)


def test_nothing_is_exhausted_on_a_site_that_never_brought_anything() -> None:
    counts = SitePatternCounts()
    answer(counts, MONTH, 2 * SITE_AUDIT)
    assert not counts.is_exhausted(MONTH)
    assert not counts.is_barren(MONTH)


def test_requests_are_left_out_after_both_audits() -> None:
    counts = productive(MONTH, EVENT)
    answer(counts, MONTH, EXHAUSTED + SITE_AUDIT)
    answer(counts, DAY, PATTERN_AUDIT - 1)
    assert counts.is_barren(MONTH)
    assert not counts.is_barren(DAY)
    counts.answered(DAY)
    assert counts.is_barren(DAY)


def test_one_new_page_begins_the_audit_of_the_site_again() -> None:
    counts = productive(MONTH, EVENT)
    answer(counts, MONTH, EXHAUSTED + SITE_AUDIT)
    counts.brought((EVENT,))
    assert not counts.is_barren(MONTH)


def test_an_audit_counts_pages_of_exhausted_patterns_only() -> None:
    counts = productive(MONTH, EVENT)
    for number in range(30):
        answer(counts, f"c.example/{number}", EXHAUSTED)
    answer(counts, MONTH, EXHAUSTED + PATTERN_AUDIT)
    assert not counts.is_barren(MONTH)


def test_first_segments_without_end_become_one_pattern() -> None:
    counts = productive("a.example/")
    letters = "abcdefghijklmnop"
    for one in letters:
        for two in letters:
            for three in letters[:3]:
                counts.answered(counts.name(f"http://a.example/{one}{two}{three}"))
    assert len(counts) <= MAX_PATTERNS + 2
    assert counts.exhausted == ["a.example/*"]


@given(st.lists(st.sampled_from("abcdefghijklm"), max_size=30))
def test_a_trail_is_short_and_has_each_pattern_once(patterns: list[str]) -> None:
    trail: tuple[str, ...] = ()
    for pattern in patterns:
        trail = extended(trail, pattern)
    assert len(trail) == len(set(trail)) == min(len(set(patterns)), MAX_TRAIL)
    assert trail[-1:] == tuple(patterns[-1:])
