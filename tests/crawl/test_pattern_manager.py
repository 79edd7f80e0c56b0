"""The order of requests whose patterns are exhausted."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request

from dedupcrawl.crawl.pattern_manager import IDLE, LEVELS, PatternManager, level
from dedupcrawl.decision import Status, Verdict
from dedupcrawl.foresee.patterns import EXHAUSTED

LIST, MONTH, EVENT = "http://c.example/list", "http://c.example/cal?m={}", "http://c.example/event/1"


def request(url: str, **meta: Any) -> Request:
    return Request(url, meta=meta)


def fetch(patterns: PatternManager, url: str) -> None:
    patterns.sent(request(url))
    patterns.answered(url)


def exhausted(url: str = MONTH) -> PatternManager:
    """Return a manager of a site that has brought an event, and whose months have brought nothing since."""
    patterns = PatternManager()
    fetch(patterns, EVENT)
    patterns.verdict_given(Verdict(EVENT, Status.UNIQUE, True))
    for month in range(EXHAUSTED):
        fetch(patterns, url.format(month))
    return patterns


def test_only_requests_of_exhausted_patterns_come_late() -> None:
    patterns = exhausted()
    assert patterns.lateness(request(MONTH.format(99)))
    assert not patterns.lateness(request(LIST))
    assert not patterns.lateness(request(EVENT))


def test_those_near_other_pages_come_first_and_of_them_those_near_the_start() -> None:
    patterns = exhausted()
    near = [request(MONTH.format(99), depth=depth) for depth in (2, 5, 900)]
    far = [request(MONTH.format(99), depth=3, **{IDLE: steps}) for steps in (1, 2, 3, 40, 900)]
    order = [patterns.lateness(each) for each in (*near, *far)]
    assert order == sorted({*order})


def test_patterns_that_have_brought_something_come_before_others_at_any_distance() -> None:
    patterns = exhausted(f"{LIST}/{{}}")
    for month in range(EXHAUSTED):
        fetch(patterns, MONTH.format(month))
    patterns.sent(request(f"{LIST}/0"))
    patterns.verdict_given(Verdict(f"{LIST}/0", Status.UNIQUE, True))
    far = patterns.lateness(request(f"{LIST}/1", **{IDLE: 10**6}))
    assert 0 < far < patterns.lateness(request(MONTH.format(99)))


def test_requests_count_the_steps_from_pages_that_are_not_exhausted() -> None:
    patterns = exhausted()
    found = request(MONTH.format(50))
    for steps in (0, 1, 2, 3):
        assert int(found.meta.get(IDLE) or 0) == steps
        patterns.sent(found)
        following = request(MONTH.format(51 + steps))
        patterns.mark(following, found.url)
        found = following
    patterns.sent(request(LIST))
    patterns.mark(found, LIST)
    assert IDLE not in found.meta


@given(st.integers(min_value=0), st.integers(min_value=0))
def test_levels_are_few_and_in_the_order_of_counts(one: int, other: int) -> None:
    assert level(min(one, other)) <= level(max(one, other)) < LEVELS


def test_a_negative_depth_is_none() -> None:
    assert level(-5) == 0
