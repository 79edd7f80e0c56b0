"""Rules are learnt from groups of pages, act on what their evidence covers, and are refuted by one counter-example."""

from __future__ import annotations

import random
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.foresee.rule_learner import MAX_GROUPS, MAX_SUGGESTED, RECENT_PAGES, UNKNOWN, SiteRules
from dedupcrawl.foresee.rule_state import NEEDED_GROUPS, OPEN_VALUES, SITE_WIDE, wilson_bound

BASE = "http://shop.example"


def item(number: int, query: str = "", section: str = "item") -> str:
    return f"{BASE}/{section}/{number}" + (f"?{query}" if query else "")


def pairs(rules: SiteRules, count: int, query: str = "ref=a", *, start: int = 0, section: str = "item") -> None:
    """Add so many pages, and a copy of each."""
    for number in range(start, start + count):
        page, content = item(number, section=section), hash((section, number))
        rules.learn(page, content)
        rules.learn(item(number, query, section), content, page)


def texts(rules: SiteRules) -> set[str]:
    return {rule.text for rule in rules.active_rules()}


@given(st.integers(0, 200), st.integers(0, 200))
def test_the_bound_solves_its_equation(good: int, bad: int) -> None:
    """The bound p is the lowest share with (share - p)^2 = z^2 p (1 - p) / n."""
    n, z = good + bad, 1.645
    bound = wilson_bound(good, n)
    if n:
        assert (good / n - bound) ** 2 == pytest.approx(z * z * bound * (1 - bound) / n, abs=1e-9)
        assert 0 <= bound <= good / n
    else:
        assert bound == 0


@pytest.mark.parametrize(("good", "all_", "bound"), [(10, 10, 0.7870), (25, 25, 0.9023), (59, 60, 0.9287), (0, 9, 0)])
def test_known_values_of_the_bound(good: int, all_: int, bound: float) -> None:
    assert wilson_bound(good, all_) == pytest.approx(bound, abs=5e-5)
    if good == all_:
        assert bound == pytest.approx(good / (good + 1.645**2), abs=5e-5)
    assert sqrt(bound) <= 1


def test_a_rule_acts_from_the_needed_groups() -> None:
    rules = SiteRules()
    pairs(rules, NEEDED_GROUPS - 1)
    assert texts(rules) == set()
    assert rules.predict(item(3, "ref=a")) is None
    pairs(rules, 1, start=100)
    assert "?ref=* on shop.example/item/#" in texts(rules)
    rules.learn(item(500), 500)
    foreseen = rules.predict(item(500, "ref=a"))
    assert foreseen is not None
    assert foreseen.content == 500
    assert {rule.scope for rule in foreseen.rules} == {"shop.example/item/#"}


def test_groups_count_and_not_pages() -> None:
    rules = SiteRules()
    rules.learn(item(1), 1)
    for number in range(10 * NEEDED_GROUPS):
        rules.learn(item(1, f"sid={number}"), 1, item(1))
    assert [rule.good for rule in rules.rules if rule.text.startswith("?sid=*")] == [1]
    assert texts(rules) == set()


def test_a_copy_is_foreseen_whichever_url_comes_first() -> None:
    rules = SiteRules()
    pairs(rules, 40)
    rules.learn(item(500, "ref=a"), 500)
    assert rules.predict(item(500)) is not None
    assert rules.predict(item(500, "ref=a")) is None  # it is that page itself
    assert rules.predict(item(501)) is None
    assert rules.predict(item(501, "ref=a")) is None


def test_pages_from_before_a_rule_are_foreseen_once_a_copy_was_met() -> None:
    """Their URLs are forgotten, and a segment leads to no URL that was downloaded."""
    rules = SiteRules()
    for number in range(2 * RECENT_PAGES):
        rules.learn(f"{BASE}/n/{number}/first", number)
    for number in range(RECENT_PAGES, 2 * RECENT_PAGES):
        rules.learn(f"{BASE}/n/{number}/second-{'ab'[number % 2] * (number % 9)}", number, f"{BASE}/n/{number}/first")
    assert rules.predict(f"{BASE}/n/3/third") is None
    rules.learn(f"{BASE}/n/3/second", 3, f"{BASE}/n/3/first")
    assert rules.predict(f"{BASE}/n/3/third") is not None


def test_only_values_of_the_evidence_are_covered() -> None:
    rules = SiteRules()
    pairs(rules, 2 * NEEDED_GROUPS, "page=1")
    rules.learn(item(500), 500)
    assert rules.predict(item(500, "page=1")) is not None
    assert rules.predict(item(500, "page=2")) is None


def test_a_parameter_with_many_values_is_covered() -> None:
    rules = SiteRules()
    for number in range(2 * NEEDED_GROUPS):
        pairs(rules, 1, f"sid={number % OPEN_VALUES}", start=number)
    rules.learn(item(500), 500)
    assert rules.predict(item(500, "sid=new")) is not None


def test_one_counter_example_doubles_the_evidence_that_is_needed() -> None:
    rules = SiteRules()
    pairs(rules, 40)
    rules.learn(item(500), 500)
    lost = rules.learn(item(500, "ref=a"), 501)
    assert {rule.text for rule in lost} == {"?ref=* on shop.example/item/#", "?ref=a on shop.example/item/#"}
    assert texts(rules) == set()
    assert rules.predict(item(500, "ref=a")) is None
    pairs(rules, 2 * NEEDED_GROUPS - 1, start=1000)
    assert texts(rules) == set()
    pairs(rules, 1, start=2000)
    assert "?ref=* on shop.example/item/#" in texts(rules)


def test_nothing_is_foreseen_by_what_a_refuted_rule_has_derived() -> None:
    rules = SiteRules()
    pairs(rules, 40, "ref=a")
    pairs(rules, 40, "print=1", start=100)
    rules.learn(item(500, "ref=a&print=1"), 500)
    assert rules.predict(item(500)) is not None
    rules.refute([rule for rule in rules.active_rules() if rule.text.startswith("?ref")])
    assert {text.partition("=")[0] for text in texts(rules)} == {"?print"}
    assert rules.predict(item(500)) is None


def test_urls_that_no_rule_changes_are_known_after_a_rule_was_refuted() -> None:
    """Another rule foresees the copies of all of these pages, also of those that were downloaded long before."""
    rules = SiteRules()
    for number in range(RECENT_PAGES + 100):
        rules.learn(item(number), number)
    for number in range(NEEDED_GROUPS):
        for query in ("ref=a", "lang=b"):
            rules.learn(item(number, query), number, item(number))
    assert rules.predict(item(60, "ref=a")) is not None
    assert rules.learn(item(61, "lang=b"), 9999)
    assert rules.predict(item(60, "ref=a")) is not None
    assert rules.predict(item(60, "lang=b")) is None


def test_a_wrong_prediction_refutes_each_rule_of_the_chain() -> None:
    rules = SiteRules()
    pairs(rules, 40, "ref=a")
    pairs(rules, 40, "print=1", start=100)
    rules.learn(item(500), 500)
    foreseen = rules.predict(item(500, "ref=a&print=1"))
    assert foreseen is not None
    assert len(foreseen.rules) == 2
    assert len(rules.refute(foreseen.rules)) == 2
    assert rules.refute(foreseen.rules) == []


def test_a_group_with_two_contents_is_one_counter_example() -> None:
    rules = SiteRules()
    pairs(rules, 3, "user=0")
    for user in range(1, 200):
        rules.learn(item(0, f"user={user}"), 1000 + user)
    assert {rule.refuted for rule in rules.rules if rule.text.startswith("?user=*")} == {1}


def test_a_rule_of_several_templates_holds_for_the_site() -> None:
    rules = SiteRules()
    for section in ("news", "sport", "blog"):
        pairs(rules, 12, "utm=x", section=section)
    assert {rule.scope for rule in rules.active_rules()} == {SITE_WIDE}
    rules.learn(item(7, section="travel"), 7)
    assert rules.predict(item(7, "utm=x", "travel")) is not None
    # One counter-example anywhere, and it holds for no other template.
    assert rules.learn(item(7, "utm=x", "travel"), 8)
    assert texts(rules) == set()


def test_a_wrong_probe_of_a_site_wide_rule_leaves_the_rules_with_evidence() -> None:
    rules = SiteRules()
    for section in ("news", "sport"):
        pairs(rules, 2 * NEEDED_GROUPS, "utm=x", section=section)
    rules.learn(item(7, section="travel"), 7)
    foreseen = rules.predict(item(7, "utm=x", "travel"))
    assert foreseen is not None
    assert rules.refute(foreseen.rules, item(7, "utm=x", "travel"))
    assert {rule.scope for rule in rules.active_rules()} == {"shop.example/news/#", "shop.example/sport/#"}


def test_one_template_is_not_the_site() -> None:
    rules = SiteRules()
    pairs(rules, 100, "utm=x")
    assert {rule.scope for rule in rules.active_rules()} == {"shop.example/item/#"}
    rules.learn(item(7, section="travel"), 7)
    assert rules.predict(item(7, "utm=x", "travel")) is None


def test_pages_of_other_callbacks_are_not_compared() -> None:
    rules = SiteRules()
    pairs(rules, 40)
    rules.learn(item(500), 500, purpose="parse_reviews")
    assert rules.predict(item(500, "ref=a"), "parse_reviews") is not None
    assert rules.predict(item(500, "ref=a"), "parse_prices") is None


def test_pages_that_differ_teach_nothing() -> None:
    rules = SiteRules()
    for number in range(300):
        rules.learn(item(number % 20, f"size={number}"), number)
    assert rules.rules == []
    assert not rules.form(item(1))


def test_noise_does_not_grow() -> None:
    """Copies at random URLs suggest a new rule each."""
    rules, chance = SiteRules(), random.Random(1)
    for _ in range(2000):
        url = f"{BASE}/item/1?{chance.randrange(10**9)}=1"
        rules.learn(url, 1, f"{BASE}/item/1")
    assert len({rule.group for rule in rules.rules}) <= MAX_GROUPS
    assert rules.bytes <= 1 << 20


def test_nothing_is_foreseen_to_repeat_a_page_that_could_not_be_compared() -> None:
    rules = SiteRules()
    pairs(rules, NEEDED_GROUPS + OPEN_VALUES)
    rules.learn(item(500), UNKNOWN)
    rules.learn(item(501), 501)
    assert rules.predict(item(500, "ref=a")) is None
    assert rules.predict(item(501, "ref=a")) is not None


def test_two_pages_that_could_not_be_compared_are_no_copies() -> None:
    rules = SiteRules()
    for number in range(2 * NEEDED_GROUPS):
        rules.learn(item(number), UNKNOWN)
        rules.learn(item(number, "ref=a"), UNKNOWN)
    assert texts(rules) == set()


def test_a_canonical_url_suggests_a_rule_and_is_no_evidence() -> None:
    rules = SiteRules()
    for number in range(3 * NEEDED_GROUPS):
        rules.suggest(item(number, "ref=a"), item(number))
        rules.learn(item(number), number)
    assert [(rule.text, rule.good) for rule in rules.rules] == [
        ("?ref=* on shop.example/item/#", 0),
        ("?ref=a on shop.example/item/#", 0),
    ]
    assert rules.predict(item(3, "ref=a")) is None

    rules.learn(item(3, "ref=a"), 3, item(3))  # one page is enough to wait for the others
    assert rules.expected_evidence(item(4, "ref=a")).groups
    pairs(rules, NEEDED_GROUPS - 2, start=500)
    assert texts(rules) == set()
    pairs(rules, 1, start=600)
    assert "?ref=* on shop.example/item/#" in texts(rules)


def test_lying_canonical_urls_do_nothing() -> None:
    honest, misled = SiteRules(), SiteRules()
    for rules in (honest, misled):
        for number in range(NEEDED_GROUPS + 10):
            if rules is misled:
                for name in ("about", "news", f"section-{chr(97 + number % 26)}", "index.html", f"x{number}"):
                    rules.suggest(f"{BASE}/{name}?{name}=1&y={number}", BASE)  # all pages name the front page
                rules.suggest(item(number, f"page={number}"), item(number))
            pairs(rules, 1, start=number)
            rules.learn(item(number, f"page={number}"), 9000 + number)
    assert texts(misled) == texts(honest) == {"?ref=* on shop.example/item/#", "?ref=a on shop.example/item/#"}
    assert misled.predict(item(3, "ref=a")) == honest.predict(item(3, "ref=a"))
    assert misled.predict(item(3, "page=77")) is None
    unproven = [rule for rule in misled.rules if not rule.good and not rule.refuted]
    assert len({rule.group for rule in unproven}) <= MAX_SUGGESTED


def test_suggestions_never_replace_what_verdicts_have_taught() -> None:
    rules = SiteRules()
    for number in range(MAX_GROUPS):
        page = item(number)
        rules.learn(page, number)
        rules.learn(f"{page}?only{number}=1", number, page)
    taught = {rule.text for rule in rules.rules if rule.good}
    for number in range(100):
        rules.suggest(item(7, f"new{number}=1"), item(7))
    assert taught
    assert {rule.text for rule in rules.rules if rule.good} == taught


def test_what_is_only_observed_needs_no_table_of_expected_evidence() -> None:
    observed, asked = SiteRules(), SiteRules()
    asked.expected_evidence(item(1))
    for rules in (observed, asked):
        pairs(rules, NEEDED_GROUPS - 1)
    assert observed.bytes < asked.bytes
    late = observed.expected_evidence(item(3, "ref=b"))  # asked late, it knows the same
    assert late == asked.expected_evidence(item(3, "ref=b"))
    assert late.groups
