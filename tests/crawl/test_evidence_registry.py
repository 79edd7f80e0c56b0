"""Requests wait whose pages would be no evidence that a rule needs; others are sent."""

from __future__ import annotations

from time import monotonic

import pytest
from scrapy import Request

from dedupcrawl.crawl.evidence_registry import MAX_SECONDS, MAX_TURNS, EvidenceRegistry
from dedupcrawl.crawl.foreseen_requests import POSTPONED
from dedupcrawl.foresee.rule_learner import ExpectedEvidence, SiteRules
from dedupcrawl.foresee.rule_state import NEEDED_GROUPS, PROMISING_GROUPS

BASE = "http://shop.example/item"


def learnt(groups: int, query: str = "ref=a") -> SiteRules:
    """Return the rules of a site of which so many articles and their copies, and then ten more articles, are known."""
    rules = SiteRules()
    for number in range(groups):
        rules.learn(f"{BASE}/{number}", number)
        rules.learn(f"{BASE}/{number}?{query}", number, f"{BASE}/{number}")
    for number in range(100, 110):
        rules.learn(f"{BASE}/{number}", number)
    return rules


def waits(registry: EvidenceRegistry, rules: SiteRules, url: str, turns: int = 0) -> bool:
    request = Request(url, meta={POSTPONED: turns} if turns else {})
    return registry.waits(request, rules.expected_evidence(url))


def send(registry: EvidenceRegistry, rules: SiteRules, url: str) -> None:
    registry.sent(url, rules.expected_evidence(url))


def test_nothing_waits_before_there_is_evidence() -> None:
    rules = learnt(PROMISING_GROUPS - 1)
    assert rules.expected_evidence(f"{BASE}/0?ref=a") == ExpectedEvidence(0, is_copy=False, groups=())
    assert not waits(EvidenceRegistry(), rules, f"{BASE}/0?ref=a")


def test_a_further_page_of_a_group_waits_and_a_new_group_does_not() -> None:
    registry, rules = EvidenceRegistry(), learnt(PROMISING_GROUPS)
    assert waits(registry, rules, f"{BASE}/0?ref=a")  # of a group that is evidence already
    assert not waits(registry, rules, f"{BASE}/100?ref=a")
    assert not waits(registry, rules, f"{BASE}/999")  # no page of this group is known
    assert not waits(registry, rules, f"{BASE}/0?ref=new")  # a value that the evidence does not cover


def test_no_more_groups_are_sent_than_a_rule_needs() -> None:
    registry, rules = EvidenceRegistry(), learnt(NEEDED_GROUPS - 2)
    first, second, third = (f"{BASE}/{number}?ref=a" for number in (100, 101, 102))
    send(registry, rules, first)
    assert not waits(registry, rules, second)
    send(registry, rules, second)
    assert waits(registry, rules, third)

    registry.forget(first)  # it failed, or was judged
    assert not waits(registry, rules, third)


def test_a_page_waits_for_one_under_way_that_rules_would_make_equal() -> None:
    registry, rules = EvidenceRegistry(), learnt(PROMISING_GROUPS)
    send(registry, rules, f"{BASE}/999")
    assert waits(registry, rules, f"{BASE}/999?ref=a")
    assert not waits(registry, rules, f"{BASE}/999")  # the same request, which is sent again
    registry.forget(f"{BASE}/999")
    assert not waits(registry, rules, f"{BASE}/999?ref=a")


def test_a_page_by_two_changes_waits_if_each_of_them_has_evidence() -> None:
    registry, rules = EvidenceRegistry(), learnt(PROMISING_GROUPS)
    assert not waits(registry, rules, f"{BASE}/100/?ref=a")
    for number in range(PROMISING_GROUPS):
        rules.learn(f"{BASE}/{200 + number}", 200 + number)
        rules.learn(f"{BASE}/{200 + number}/", 200 + number, f"{BASE}/{200 + number}")
    assert waits(registry, rules, f"{BASE}/100/?ref=a")


@pytest.mark.parametrize("turns", [0, MAX_TURNS - 1, MAX_TURNS])
def test_a_request_waits_so_often_and_is_sent_then(turns: int) -> None:
    rules = learnt(PROMISING_GROUPS)
    assert waits(EvidenceRegistry(), rules, f"{BASE}/0?ref=a", turns) == (turns < MAX_TURNS)


def test_a_page_that_is_not_judged_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    registry, rules = EvidenceRegistry(), learnt(PROMISING_GROUPS)
    send(registry, rules, f"{BASE}/999")
    assert waits(registry, rules, f"{BASE}/999?ref=a", MAX_TURNS)
    now = monotonic()
    monkeypatch.setattr("dedupcrawl.crawl.evidence_registry.time.monotonic", lambda: now + MAX_SECONDS)
    assert not waits(registry, rules, f"{BASE}/999?ref=a", MAX_TURNS)


def test_a_counter_example_ends_the_wait() -> None:
    registry, rules = EvidenceRegistry(), learnt(PROMISING_GROUPS)
    rules.learn(f"{BASE}/100?ref=a", 7777)  # kept: no copy
    assert not waits(registry, rules, f"{BASE}/0?ref=a")


def test_an_acting_rule_is_waited_for_by_nobody() -> None:
    rules = learnt(NEEDED_GROUPS)
    assert rules.predict(f"{BASE}/100?ref=a") is not None
    assert rules.expected_evidence(f"{BASE}/100?ref=a").groups == ()


def test_a_registry_forgets_all_of_a_request() -> None:
    registry, rules = EvidenceRegistry(), learnt(PROMISING_GROUPS)
    for number in (100, 101, 999):
        send(registry, rules, f"{BASE}/{number}?ref=a")
        send(registry, rules, f"{BASE}/{number}?ref=a")  # a retry
    for number in (100, 101, 999):
        registry.forget(f"{BASE}/{number}?ref=a")
    assert vars(registry) == vars(EvidenceRegistry())
