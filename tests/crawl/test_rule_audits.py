"""The audit of rules: how many of the skipped requests are sent, and what that finds."""

from __future__ import annotations

import random
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.crawl.rule_audits import CONFIDENCE, LATEST, RULE_PROBES, WRONG_SHARE, SiteSample, audit_size


def site(*skipped: int) -> SiteSample:
    """Return the sample of a site whose rules have skipped so many requests; the key names rule and request."""
    sample = SiteSample(random.Random(0))
    for rule, count in enumerate(skipped):
        for number in range(count):
            sample.add([str(rule)], b"%d %d" % (rule, number))
    return sample


def audit(sample: SiteSample) -> tuple[dict[bytes, str], list[str]]:
    """Send probes until there are no more, all of which are copies."""
    sent: dict[bytes, str] = {}
    unverified: list[str] = []
    while True:
        probes, more = sample.next_probes()
        if not probes and not more:
            return sent, unverified
        assert sent.keys().isdisjoint(probes)
        sent |= probes
        unverified += more
        for rule in probes.values():
            sample.confirm([rule], was_skipped=True)


@given(st.integers(1, 3000))
def test_a_tenth_that_is_wrong_is_found(requests: int) -> None:
    wrong, size = -(-requests // 10), audit_size(requests)
    assert WRONG_SHARE == 0.10
    assert 1 - comb(requests - wrong, size) / comb(requests, size) >= CONFIDENCE - 1e-9
    assert size == 1 or 1 - comb(requests - wrong, size - 1) / comb(requests, size - 1) < CONFIDENCE


def test_the_sample_of_a_rule_finds_a_quarter_that_is_wrong() -> None:
    assert 1 - (1 - 0.26) ** RULE_PROBES >= CONFIDENCE > 1 - (1 - 0.25) ** RULE_PROBES


@pytest.mark.parametrize("skipped", [(200,), (200, 200, 200), (1000, 20), (5, 7, 11), (500, 12, 3, 1)])
def test_the_rules_of_a_site_share_a_sample(skipped: tuple[int, ...]) -> None:
    sent, unverified = audit(site(*skipped))
    assert not unverified
    for rule, count in enumerate(skipped):
        probes = [key for key, probed in sent.items() if probed == str(rule)]
        assert len(probes) >= min(count, max(RULE_PROBES, audit_size(sum(skipped)) * count / sum(skipped)))
        assert {b"%d %d" % (rule, number) for number in range(max(0, count - LATEST), count)} <= {*probes}
    assert len(sent) <= audit_size(sum(skipped)) + RULE_PROBES * len(skipped)


def test_probes_of_the_crawl_count() -> None:
    sample = site(200)
    for _ in range(20):
        sample.confirm(["0"], was_skipped=False)
    assert len(audit(sample)[0]) == audit_size(220) - 20


@pytest.mark.parametrize("is_late", [False, True])
def test_a_rule_whose_probes_had_new_links_is_audited_by_itself(is_late: bool) -> None:
    """The probes of the crawl do not count: they were judged, but not what they lead to."""
    sample = site(200, 1000)
    for _ in range(25):
        sample.confirm(["0"], was_skipped=False)
    sent: dict[bytes, str] = {}
    if is_late:
        sent |= audit(sample)[0]
        assert [*sent.values()].count("0") <= LATEST
    sample.suspect("0")
    sent |= audit(sample)[0]

    assert [*sent.values()].count("0") == audit_size(200)
    assert [*sent.values()].count("1") < audit_size(1000)


def test_a_request_that_two_rules_have_skipped_probes_both() -> None:
    sample = SiteSample(random.Random(0))
    for number in range(100):
        sample.add(["one", "two"], b"%d" % number)
    probes, _ = sample.next_probes()
    assert len(probes) <= audit_size(200)


def test_once_a_rule_was_wrong_each_is_audited_by_itself() -> None:
    sample = site(200, 200, 200)
    sample.remove(["0"])
    sent, _ = audit(sample)
    for rule in ("1", "2"):
        assert [*sent.values()].count(rule) >= audit_size(200)
    assert "0" not in sent.values()


def test_a_rule_that_is_refuted_after_the_audit_of_others_opens_it_again() -> None:
    sample = site(200, 200, 200)
    first, _ = audit(sample)
    sample.remove(["0"])
    more, _ = audit(sample)
    assert more
    assert [*first.values(), *more.values()].count("1") >= audit_size(200)


def test_patterns_are_no_rules() -> None:
    sample = site(200, 200)
    sample.remove(["pattern /calendar"])
    assert len(audit(sample)[0]) < audit_size(200) * 2


def test_rules_whose_probes_cannot_be_judged_are_not_verified() -> None:
    sample = site(50)
    unverified: list[str] = []
    for _ in range(20):
        unverified += sample.next_probes()[1]
    assert unverified == ["0"]
