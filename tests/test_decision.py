"""Siblings, versions and the scope: from the candidates of a page to its verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl import Claim, Deduplicator, Page
from dedupcrawl.config import DROP
from dedupcrawl.decision import Pending, Policy
from dedupcrawl.detectors.base import Match, Relation
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.matching import SIBLINGS, STRENGTH, Finding, Matcher
from dedupcrawl.page.signatures import LITTLE_READ
from dedupcrawl.stores.base import Candidate, ClaimState, Record
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.decision import Verdict


def html(name: str, body: str, *, title: str | None = None) -> str:
    """Return a page with a heading; ``body`` is HTML or text."""
    return (
        f"<html><head><title>{name if title is None else title} | Harbour Shop</title></head><body>"
        f"<main>{f'<h1>{name}</h1>' if name else ''}<p>{body}</p></main></body></html>"
    )


def add(dedup: Deduplicator, url: str, name: str, body: str = ENGLISH, **how: Any) -> Verdict:
    return dedup.add(html=html(name, body, **how), url=f"https://{url}")


@pytest.fixture
def dedup() -> Iterator[Deduplicator]:
    with Deduplicator() as opened:
        yield opened


# -- siblings -----------------------------------------------------------------------------------


def test_a_sibling_is_kept_with_its_evidence(dedup: Deduplicator) -> None:
    first = add(dedup, "a.example/1", "Carpenter")
    second = add(dedup, "a.example/2", "Plumber")
    assert (second.status, second.keep, second.relation, second.of) == ("unique", True, "sibling", first.url)
    assert (second.detector, second.similarity) == ("exact", 1.0)
    assert second.evidence["siblings"] == "names over one text that is about neither"
    assert second.evidence["text"]  # of the detector
    assert second.cluster != first.cluster


@pytest.mark.parametrize("host", ["www.a.example", "m.shop.a.example", "a.example"])
def test_hosts_of_one_domain_are_one_site(dedup: Deduplicator, host: str) -> None:
    add(dedup, "shop.a.example/1", "Carpenter")
    assert add(dedup, f"{host}/2", "Plumber").relation is Relation.SIBLING


def test_a_copy_on_another_site_may_have_another_name(dedup: Deduplicator) -> None:
    add(dedup, "a.example/1", "Carpenter")
    assert add(dedup, "b.example/1", "Plumber").relation is Relation.IDENTICAL


def test_pages_without_a_url_have_no_site(dedup: Deduplicator) -> None:
    dedup.add(html=html("Carpenter", ENGLISH))
    assert dedup.add(html=html("Plumber", ENGLISH)).relation is Relation.IDENTICAL


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_a_copy_of_another_page_wins_over_a_sibling(order: tuple[str, str]) -> None:
    pages = {"a": ("a.example/1", "Carpenter", ENGLISH), "b": ("b.example/2", "Plumber", ENGLISH + " More.")}
    with Deduplicator(drop=frozenset()) as dedup:
        for each in order:
            add(dedup, *pages[each])
        found = add(dedup, "a.example/3", "Plumber", ENGLISH)
    assert (found.relation, found.of, found.status) == (Relation.NEAR_DUPLICATE, "https://b.example/2", "duplicate")


def test_a_copy_of_a_sibling_is_dropped(dedup: Deduplicator) -> None:
    for number, name in enumerate(("Carpenter", "Plumber", "Painter")):
        assert add(dedup, f"a.example/{number}", name).keep
    found = add(dedup, "a.example/print/1", "Plumber")
    assert (found.keep, found.relation, found.of) == (False, Relation.IDENTICAL, "https://a.example/1")


def test_siblings_can_be_dropped() -> None:
    with Deduplicator(drop=DROP | {Relation.SIBLING}) as dedup:
        add(dedup, "a.example/1", "Carpenter")
        found = add(dedup, "a.example/2", "Plumber")
        assert (found.relation, found.keep, found.status) == (Relation.SIBLING, False, "unique")
        assert add(dedup, "a.example/3", "Bridge", OTHER_ENGLISH).keep


def test_the_latest_sibling_replaces_none() -> None:
    with Deduplicator(keep="latest") as dedup:
        add(dedup, "a.example/1", "Carpenter")
        found = add(dedup, "a.example/2", "Plumber")
        assert (found.relation, found.keep, found.supersedes) == (Relation.SIBLING, True, None)
        assert len([*dedup.store.records()]) == 2


@pytest.mark.parametrize(("name", "relation"), [("Ferries", Relation.EXCERPT), ("All stories", Relation.SIBLING)])
def test_a_part_of_a_page_of_the_same_site_is_an_excerpt_under_its_name(
    dedup: Deduplicator, name: str, relation: Relation
) -> None:
    long = f"{ENGLISH}</p><p>{OTHER_ENGLISH}</p><p>{ENGLISH[::-1]}"
    add(dedup, "a.example/all", name, long)
    assert add(dedup, "a.example/1", "Ferries", f"{ENGLISH} {OTHER_ENGLISH}").relation is relation


@pytest.mark.parametrize(("text", "other"), [(ENGLISH, OTHER_ENGLISH), (CHINESE, OTHER_CHINESE)])
def test_the_weakest_relation_is_the_sibling(text: str, other: str) -> None:
    with Deduplicator(drop=frozenset()) as dedup:
        add(dedup, "a.example/1", "Carpenter", text)
        add(dedup, "a.example/2", "Plumber", text)
        found = add(dedup, "a.example/2", "Plumber", text + other[:20])  # a sibling of /1, a version of /2
        assert found.relation in {Relation.UPDATED, Relation.REFRESHED}
        assert found.of == "https://a.example/2"


def test_a_scope_compares_no_pages_of_one_site() -> None:
    with Deduplicator(scope="other-hosts") as scoped:
        add(scoped, "a.example/1", "Harbour")
        assert add(scoped, "a.example/2", "Harbour").relation is None
        assert add(scoped, "www.a.example/3", "Harbour").relation is None
        assert add(scoped, "b.example/1", "Harbour").relation is Relation.IDENTICAL
        assert add(scoped, "a.example/1", "Harbour").relation is Relation.UNCHANGED
        assert add(scoped, "a.example/1", "Harbour", ENGLISH + " More.").relation is Relation.REFRESHED


@pytest.mark.parametrize(("drop", "waits"), [({Relation.SIBLING}, True), (set[Relation](), False)])
def test_only_a_sibling_that_may_drop_a_page_is_waited_for(drop: set[Relation], *, waits: bool) -> None:
    with Deduplicator(drop=frozenset(drop)) as dedup:
        pages = [
            dedup.read(html=html(name, ENGLISH), url=f"https://a.example/{name}") for name in ("Carpenter", "Plumber")
        ]
        first, second = (dedup.try_claim(page) for page in pages if isinstance(page, Page))
        assert isinstance(first, Claim)
        assert isinstance(second, Pending if waits else Claim)


def test_a_matcher_and_a_policy_can_be_used_alone(dedup: Deduplicator) -> None:
    records = []
    for url, name in (("https://a.example/1", "Carpenter"), ("https://a.example/2", "Plumber")):
        page = dedup.read(html=html(name, ENGLISH), url=url)
        assert dedup.add(page).keep  # type: ignore[arg-type]
        records.append(dedup.store.lookup(url))
    old, new = records
    assert old is not None
    assert new is not None
    for scope, relation in (("all", Relation.SIBLING), ("other-hosts", None)):
        matcher = Matcher(build_detectors(dedup.config), scope)
        findings = matcher.findings(new.record, [old], versions=True)
        assert [finding.relation for finding in findings] == ([relation] if relation else [])
        assert Policy(frozenset(), "first").verdict("u", new.record, findings).relation is relation


RELATIONS = st.sampled_from(Relation)


@given(
    drop=st.frozensets(RELATIONS),
    keep=st.sampled_from(["first", "latest"]),
    relations=st.lists(st.tuples(RELATIONS, st.booleans(), st.booleans()), min_size=1, max_size=4),
)
def test_a_final_finding_drops_a_page_whatever_other_pages_there_are(
    drop: frozenset[Relation], keep: str, relations: list[tuple[Relation, bool, bool]]
) -> None:
    """Also pages with open claims, and pages that were hardly read."""
    page, policy = Record("http://new/", (), (), 0.0), Policy(drop, keep)
    findings = []
    for id, (relation, is_open, is_little) in enumerate(relations):
        state = ClaimState.OPEN if is_open else ClaimState.COMMITTED
        evidence = {SIBLINGS: LITTLE_READ} if is_little else {}
        match = Match(0.9, relation, evidence)
        findings.append(Finding(Candidate(id, replace(page, url=f"http://{id}/"), state, mine=False), match, "minhash"))
    found = sorted(findings, key=lambda each: (STRENGTH[each.relation], each.candidate.id))
    first, together = (policy.decide("u", page, some) for some in (findings[:1], found))
    if isinstance(first, Pending) or first.verdict.keep:
        return
    assert first.because is not None
    if policy.is_final(first.because):
        assert not isinstance(together, Pending)
        assert not together.verdict.keep


def test_near_duplicates_are_final_by_default() -> None:
    policy = Policy(DROP, "first")
    record = Candidate(1, Record("http://a/", (), (), 0.0), ClaimState.COMMITTED, mine=False)
    for relation in (Relation.IDENTICAL, Relation.NEAR_DUPLICATE, Relation.UNCHANGED):
        finding = Finding(record, Match(0.9, relation), "minhash")
        assert policy.is_final(finding)
        assert not replace(policy, keep="latest").is_final(finding)
    near = Finding(record, Match(0.9, Relation.NEAR_DUPLICATE), "minhash")
    assert not Policy(frozenset({Relation.NEAR_DUPLICATE}), "first").is_final(near)  # an identical page is kept


# -- revisits -----------------------------------------------------------------------------------

PRICE = "It costs 12.50 euros, weighs 3.5 kg and opens on 2024-05-03. "


def revisit(before: str, after: str, *, names: tuple[str, str] = ("Harbour", "Harbour"), **how: Any) -> Verdict:
    """Return the verdict on the second version of a page."""
    with Deduplicator(**how) as dedup:
        add(dedup, "a.example/1", names[0], before)
        return add(dedup, "a.example/1", names[1], after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{ENGLISH} Comments (12) were left.", f"{ENGLISH} Comments (13) were left."),
        (f"{ENGLISH} So far it has 3 comments from the town.", f"{ENGLISH} So far it has 4 comments from the town."),
        (
            f"{ENGLISH} Of those, 12 of 40 found this helpful so far.",
            f"{ENGLISH} Of those, 19 of 52 found this helpful so far.",
        ),
        (f"{ENGLISH} 12 people found this helpful in town.", f"{ENGLISH} 13 people found this helpful in town."),
        (f"{ENGLISH} The post has 1,204 views by now.", f"{ENGLISH} The post has 1,377 views by now."),
        (f"{ENGLISH} The post has 1.2k likes by now.", f"{ENGLISH} The post has 1.3k likes by now."),
        (f"{ENGLISH} It was written 3 hours ago in the port.", f"{ENGLISH} It was written 5 hours ago in the port."),
        (f"{ENGLISH} It was written 59 minutes ago in town.", f"{ENGLISH} It was written 1 hour ago in town."),
        (f"{ENGLISH} It was shared 12 times in the town.", f"{ENGLISH} It was shared 15 times in the town."),
        (f"Port Ltd ▲ 1.2, Ice Ltd ▼ 0.4. {ENGLISH}", f"Port Ltd ▲ 1.9, Ice Ltd ▲ 0.2. {ENGLISH}"),
        (f"{ENGLISH} There are 40 readers online now.", f"{ENGLISH} There are 31 readers online now."),
        (f"{ENGLISH} Their page has 300 followers now.", f"{ENGLISH} Their page has 301 followers now."),
        (f"{CHINESE}本文阅读 3051，欢迎转告。", f"{CHINESE}本文阅读 3388，欢迎转告。"),
        (f"{CHINESE}本文已有3051次阅读，欢迎转告。", f"{CHINESE}本文已有3388次阅读，欢迎转告。"),
        (f"{CHINESE}目前有12条评论，欢迎发言。", f"{CHINESE}目前有15条评论，欢迎发言。"),
        (f"{CHINESE}本文1.2万次浏览，欢迎转告。", f"{CHINESE}本文1.3万次浏览，欢迎转告。"),
        (f"{CHINESE}编辑于5分钟前完成修改。", f"{CHINESE}编辑于9分钟前完成修改。"),
        (f"{CHINESE}目前点赞(40)，感谢各位。", f"{CHINESE}目前点赞(41)，感谢各位。"),
        (f"{CHINESE}已有3051人看过，欢迎再来。", f"{CHINESE}已有3052人看过，欢迎再来。"),
        (f"{ENGLISH} {PRICE} The bakery is closed.", f"{ENGLISH} {PRICE} The bakery is shut."),
    ],
)
def test_a_counter_that_moved_makes_a_page_refreshed(before: str, after: str) -> None:
    found = revisit(before, after)
    assert (found.relation, found.keep, found.of) == (Relation.REFRESHED, True, "https://a.example/1")
    drop = frozenset({Relation.REFRESHED})
    dropped = revisit(before, after, drop=drop)
    assert (dropped.relation, dropped.keep) == (Relation.REFRESHED, False)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{ENGLISH} {PRICE}", f"{ENGLISH} {PRICE.replace('12.50', '13.50')}"),
        (f"{ENGLISH} {PRICE}", f"{ENGLISH} {PRICE.replace('3.5', '3.6')}"),
        (f"{ENGLISH} {PRICE}", f"{ENGLISH} {PRICE.replace('2024-05-03', '2024-05-04')}"),
        (f"{ENGLISH} {PRICE}", f"{ENGLISH} {PRICE} Only 3 are left."),
        (f"{ENGLISH} {PRICE}", f"{OTHER_ENGLISH} {PRICE}"),
        (f"{ENGLISH} {PRICE}", f"{ENGLISH[:500]} {OTHER_ENGLISH[:500]} {PRICE}"),
        (f"{CHINESE}票价40元。", f"{CHINESE}票价45元。"),
        (f"{CHINESE}会议于5月3日举行。", f"{CHINESE}会议于5月4日举行。"),
        (f"{CHINESE}这是第5次会议。", f"{CHINESE}这是第6次会议。"),
    ],
)
def test_a_page_that_says_something_else_is_updated(before: str, after: str) -> None:
    found = revisit(before, after, drop=frozenset({Relation.REFRESHED}))
    assert (found.relation, found.keep) == (Relation.UPDATED, True)


def test_a_page_with_another_name_is_updated() -> None:
    found = revisit(ENGLISH, ENGLISH + " More.", names=("Harbour frozen", "Harbour free of ice"))
    assert found.relation is Relation.UPDATED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<h1>Teapot</h1><div class=price>€ 10</div>", "<h1>Teapot</h1><div class=price>€ 20</div>"),
        ("<h1>Teapot</h1><table><tr><th>Price<td>€ 10</table>", "<h1>Teapot</h1><table><tr><th>Price<td>€ 20</table>"),
        ("<h1>Hamlet</h1><dl><dt>Date<dd>10 May 2024</dl>", "<h1>Hamlet</h1><dl><dt>Date<dd>20 May 2024</dl>"),
        ("<h1>Hamlet 10</h1>", "<h1>Hamlet 20</h1>"),
    ],
)
def test_another_price_beside_a_standing_text_is_an_update(before: str, after: str) -> None:
    """Their main text is the same: the terms of sale."""
    paragraphs = "".join(f"<p>{each}</p>" for each in ENGLISH.split("\n"))
    with Deduplicator() as dedup:
        first, second, third = (
            dedup.add(html=f"<title>Offer | Shop</title>{head}{paragraphs}", url="https://shop.example/1")
            for head in (before, after, after)
        )
    assert first.relation is None
    assert (second.relation, second.keep) == (Relation.UPDATED, True)
    assert (third.relation, third.keep) == (Relation.UNCHANGED, False)


def test_a_refreshed_page_joins_the_cluster_of_the_first() -> None:
    with Deduplicator() as dedup:
        first = add(dedup, "a.example/1", "Harbour")
        second = add(dedup, "a.example/1", "Harbour", ENGLISH + " More.")
        assert second.relation is Relation.REFRESHED
        assert second.cluster == first.cluster
        assert second.similarity is not None


@pytest.mark.parametrize("drop", [frozenset[Relation](), frozenset({Relation.REFRESHED})])
def test_of_refreshed_versions_the_latest_is_kept(drop: frozenset[Relation]) -> None:
    with Deduplicator(keep="latest", drop=drop) as dedup:
        add(dedup, "a.example/1", "Harbour", ENGLISH + " Comments (12) were left.")
        found = add(dedup, "a.example/1", "Harbour", ENGLISH + " Comments (13) were left.")
        assert (found.keep, found.supersedes) == (True, "https://a.example/1")
        assert len([*dedup.store.records()]) == 1
