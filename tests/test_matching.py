"""A page and dozens of candidates: the pages of a catalogue."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl import Deduplicator, Page
from dedupcrawl.config import DROP
from dedupcrawl.decision import Policy
from dedupcrawl.detectors.base import Relation
from dedupcrawl.errors import DamageError
from dedupcrawl.matching import STRENGTH, Matcher
from dedupcrawl.sites.registrable_domain import SiteComparison, site_of
from dedupcrawl.stores.base import Candidate, ClaimState, Record
from tests.texts import ENGLISH, OTHER_ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NAMES = ("Carpenter", "Plumber", "Gardener", "Teacher", "Baker", "Tailor", "Weaver", "Mason")
STATES = st.sampled_from([(ClaimState.COMMITTED, False), (ClaimState.OPEN, False), (ClaimState.SCRAPED, True)])


def page(dedup: Deduplicator, number: int, *, host: str = "a.example", more: str = "") -> Page:
    """A page of a catalogue: names, and the text that all its pages have."""
    first, second = NAMES[number % len(NAMES)], NAMES[number // len(NAMES) % len(NAMES)]
    name = f"{first} {second} {number}"
    html = f"<title>{name} - Shop</title><main><h1>{name}</h1><p>{ENGLISH}</p><p>The {name}.{more}</p></main>"
    read = dedup.read(html=html, url=f"https://{host}/{number}")
    assert isinstance(read, Page)
    return read


@pytest.fixture(scope="module")
def dedup() -> Iterator[Deduplicator]:
    with Deduplicator(site_memory=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def records(dedup: Deduplicator) -> list[Record]:
    """Siblings, a copy on the same site and on another one, other texts, and another version of the last page."""
    made = [page(dedup, number) for number in range(20)]
    made += [replace(made[19], url="https://a.example/print/19"), page(dedup, 19, host="b.example", more=" Buy it.")]
    made += [replace(each, url=f"https://c.example/{at}") for at, each in enumerate(made[:3])]
    made += [Page(f"https://a.example/other/{at}", f"{at} {OTHER_ENGLISH}") for at in range(2)]
    found = [dedup.fingerprint(each) for each in made]
    return [each for each in found if isinstance(each, Record)]


def candidates(records: Sequence[Record], states: Sequence[tuple[ClaimState, bool]]) -> list[Candidate]:
    return [Candidate(at + 1, record, *state) for at, (record, state) in enumerate(zip(records, states, strict=False))]


@given(data=st.data())
def test_siblings_that_are_left_out_change_no_decision(
    dedup: Deduplicator, records: list[Record], data: st.DataObject
) -> None:
    new = data.draw(st.sampled_from(records))
    some = data.draw(st.lists(st.sampled_from(records), min_size=1, max_size=30, unique_by=id))
    olds = candidates(some, data.draw(st.lists(STATES, min_size=len(some), max_size=len(some))))
    matcher = Matcher(dedup._matcher.detectors, data.draw(st.sampled_from(["all", "other-hosts"])))
    for versions, keep in product((True, False), ("first", "latest")):
        policy = Policy(DROP, keep)
        full = matcher.findings(new, olds, versions=versions)
        brief = matcher.findings(new, olds, versions=versions, is_brief=policy.ignores_siblings)
        assert [each for each in full if each in brief] == brief
        assert policy.decide("u", new, brief) == policy.decide("u", new, full)
        assert policy.verdict("u", new, brief) == policy.verdict("u", new, full)
        assert policy.blockers(brief) == policy.blockers(full)


@given(data=st.data())
def test_candidates_are_related_together_as_each_is_alone(
    dedup: Deduplicator, records: list[Record], data: st.DataObject
) -> None:
    """Except where a third page shows a template."""
    new = data.draw(st.sampled_from(records[:20]))
    old = candidates([each for each in records[:20] if each is not new], [(ClaimState.COMMITTED, False)] * 20)
    alone = [dedup._matcher.findings(new, [each], versions=True) for each in old]
    together = dedup._matcher.findings(new, old, versions=True)
    found = [each for some in alone for each in some]
    assert together == sorted(found, key=lambda each: (STRENGTH[each.relation], each.candidate.id))
    assert {each.relation for each in together} == {Relation.SIBLING}


def test_a_catalogue_has_one_sibling_to_show(dedup: Deduplicator, records: list[Record]) -> None:
    olds = candidates(records[:19], [(ClaimState.COMMITTED, False)] * 19)
    brief = dedup._matcher.findings(records[19], olds, versions=True, is_brief=True)
    assert [(each.relation, each.candidate.id) for each in brief] == [(Relation.SIBLING, 1)]


def test_a_policy_that_drops_siblings_needs_them_all() -> None:
    assert Policy(DROP, "first").ignores_siblings
    assert not Policy(DROP | {Relation.SIBLING}, "first").ignores_siblings


def test_a_damaged_sketch_among_many_is_damage_unless_the_texts_are_equal(
    dedup: Deduplicator, records: list[Record]
) -> None:
    exact, minhash = records[0].sketches
    damaged = replace(records[0], sketches=(exact, minhash[:-1]))
    olds = candidates([*records[1:5], damaged], [(ClaimState.COMMITTED, False)] * 5)
    with pytest.raises(DamageError):
        dedup._matcher.findings(records[6], olds, versions=True)
    same = replace(records[0], url="https://b.example/copy")
    assert dedup._matcher.findings(same, olds, versions=True)[0].relation is Relation.IDENTICAL


urls = st.sampled_from(
    [
        "",
        "nothing",
        "https://a.example/1",
        "https://www.a.example/2",
        "https://A.example/2",
        "https://a.example",
        "https://a.example?x=/y",
        "https://u:p@a.example/1",
        "https://u:p@a.example/2",
        "https://b.example/1",
        "http://127.0.0.1:80/1",
        "http://127.0.0.1:81/1",
        "https://[::1]/a",
        "mailto:a@b.example",
    ]
)


@given(one=urls, other=urls)
def test_two_pages_are_of_one_site_if_their_urls_have_one(one: str, other: str) -> None:
    assert SiteComparison(one).has(other) == (bool(one and other) and site_of(one) == site_of(other))
