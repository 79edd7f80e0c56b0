from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator, Page
from dedupcrawl.decision import Status, Verdict, cluster_of, unchecked
from dedupcrawl.detectors.base import Assessment, Evidence, Match, Relation, Threshold
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.ledger.ledger_schema import (
    MAX_ASSESSMENTS_BYTES,
    MAX_COMPARED,
    MAX_NEAR_MISSES,
    Comparison,
    dump_comparisons,
    dump_verdict,
    load_comparisons,
    load_verdict,
    select_comparisons,
)
from dedupcrawl.stores.base import Candidate, ClaimState, Record
from tests.crawl.site import text

if TYPE_CHECKING:
    from collections.abc import Mapping


NEW = Record("https://new.example/", (), (b"new",), 2.0)


def candidate(number: int, url: str, cluster: str = "") -> Candidate:
    record = Record(url, (), (b"old%d" % number,), 1.0, cluster)
    return Candidate(number, record, ClaimState.COMMITTED, mine=False)


class Weighing:
    """Returns prepared assessments for each earlier record, and counts the calls."""

    def __init__(self, similarities: dict[bytes, float], threshold: float = 0.8) -> None:
        self.similarities, self.threshold = similarities, threshold
        self.asked: list[bytes] = []

    def __call__(self, new: Record, old: Record) -> tuple[Assessment, ...]:
        self.asked.append(old.sketches[0])
        similarity = self.similarities[old.sketches[0]]
        match = Match(similarity, Relation.NEAR_DUPLICATE) if similarity >= self.threshold else None
        return (Assessment("exact", None), Assessment("minhash", match, similarity))


def verdict(of: str | None, cluster: str = "own") -> Verdict:
    if of is None:
        return Verdict(NEW.url, Status.UNIQUE, keep=True, cluster=cluster)
    return Verdict(NEW.url, Status.DUPLICATE, False, Relation.NEAR_DUPLICATE, of, cluster, detector="minhash")


def test_the_page_that_the_verdict_names_comes_first_then_near_misses_the_nearest_first() -> None:
    met = [candidate(n, f"https://{n}.example/") for n in range(5)]
    weigh = Weighing({b"old0": 0.5, b"old1": 0.9, b"old2": 0.7, b"old3": 0.39, b"old4": 0.6})
    held = select_comparisons(verdict("https://1.example/"), NEW, met, weigh, 0.4)
    assert [each.url for each in held] == [f"https://{n}.example/" for n in (1, 2, 4, 0)]
    assert [each.cluster for each in held] == [cluster_of(met[n].record) for n in (1, 2, 4, 0)]


def test_a_unique_page_has_near_misses_alone() -> None:
    met = [candidate(n, f"https://{n}.example/") for n in range(2)]
    held = select_comparisons(verdict(None), NEW, met, Weighing({b"old0": 0.5, b"old1": 0.1}), 0.4)
    assert [each.url for each in held] == ["https://0.example/"]


def test_of_several_versions_the_one_that_matched_is_meant() -> None:
    met = [candidate(n, "https://old.example/") for n in range(3)]
    weigh = Weighing({b"old0": 0.7, b"old1": 0.85, b"old2": 0.75})
    (held,) = select_comparisons(verdict("https://old.example/"), NEW, met, weigh, 0.4)
    assert [each.similarity for each in held.assessments] == [None, 0.85]


def test_pages_of_the_same_cluster_and_those_that_match_are_no_near_misses() -> None:
    met = [
        candidate(0, "https://0.example/"),
        candidate(1, "https://1.example/", cluster="own"),
        candidate(2, "https://2.example/"),
    ]
    weigh = Weighing({b"old0": 0.95, b"old1": 0.7, b"old2": 0.9})
    held = select_comparisons(verdict("https://0.example/"), NEW, met, weigh, 0.4)
    assert [each.url for each in held] == ["https://0.example/"]
    assert b"old1" not in weigh.asked


def test_few_candidates_of_a_crowded_bucket_are_compared_and_few_near_misses_stored() -> None:
    met = [candidate(n, f"https://{n}.example/") for n in range(100)]
    weigh = Weighing({b"old%d" % n: 0.5 + n / 1000 for n in range(100)})
    held = select_comparisons(verdict(None), NEW, met, weigh, 0.4)
    assert [each.url for each in held] == [f"https://{n}.example/" for n in (99, 98, 97)]
    assert len(held) == MAX_NEAR_MISSES
    assert len(weigh.asked) == MAX_COMPARED


def test_an_unchecked_page_names_the_claim_that_it_did_not_wait_for() -> None:
    met = [candidate(0, "https://0.example/")]
    held = select_comparisons(
        unchecked(NEW.url, "claimed", "https://0.example/"), NEW, met, Weighing({b"old0": 0.9}), 0.4
    )
    assert [each.url for each in held] == ["https://0.example/"]


@pytest.mark.parametrize("name", sorted(DETECTORS))
def test_the_assessment_of_every_detector_comes_back_as_it_was(name: str) -> None:
    dedup = Deduplicator(detectors=_detectors(name))
    story = text(1) + "The ferry is in the harbour of a town, and the council can do nothing to help it. " * 3
    new, old = (dedup.fingerprint(Page.from_text(story + more, "https://a.example/")) for more in ("", "And more."))
    assert isinstance(new, Record)
    assert isinstance(old, Record)
    held = (Comparison("https://a.example/", "c1", dedup.assessments(new, old)),)
    assert load_comparisons(dump_comparisons(held, 100)) == held


def _detectors(name: str) -> Mapping[str, Mapping[str, object]]:
    if name == "combined":
        return {"combined": {"all_of": {"minhash": {}, "simhash": {}}}}
    return {name: {}}


def test_every_field_comes_back() -> None:
    assessment = Assessment(
        detector="d",
        match=Match(0.5, Relation.EXCERPT, {"a": [1, "b"]}),
        similarity=0.5,
        figures={"a": 1, "b": {"c": None}},
        thresholds=(Threshold("a", 1, 2, at_least=True, measure="m", is_strict=True),),
        evidence=(Evidence("words", "10", ("a",), ("b",), ("c", "d")),),
        silent="why",
        part_thresholds=(Threshold("b", 1, 2, at_least=False, measure="n"),),
    )
    bare = Assessment("d", None)
    assert all(getattr(assessment, each.name) != getattr(bare, each.name) for each in fields(Assessment)[1:])
    held = (Comparison("https://a.example/", "c1", (assessment, bare)), Comparison("https://b.example/", "c2", ()))
    assert load_comparisons(dump_comparisons(held, 100)) == held


def test_assessments_out_of_proportion_lose_what_pages_made_up_and_keep_their_numbers() -> None:
    words = ("x" * MAX_ASSESSMENTS_BYTES,)
    match = Match(0.5, Relation.IDENTICAL, {"word": words[0]})
    assessment = Assessment(
        "d", match, 0.5, {"word": words[0]}, (Threshold("a", 1, 2, at_least=True),), (Evidence("w", "", words),)
    )
    packed = dump_comparisons((Comparison("u", "c", (assessment,)),), 100)
    assert len(packed) < 500
    lean = replace(assessment, figures={}, evidence=(), match=Match(0.5, Relation.IDENTICAL))
    assert load_comparisons(packed) == (Comparison("u", "c", (lean,)),)


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict("u", Status.UNIQUE, keep=True, cluster="c"),
        Verdict("u", Status.UNCHECKED, keep=True, reason="short"),
        Verdict("u", Status.DUPLICATE, True, Relation.UNCHANGED, "o", "c", 0.5, "minhash", {"a": [1]}, supersedes="o"),
        Verdict("u", Status.UNIQUE, keep=True, evidence={"half": "\ud83d", "long": 2**70}),
    ],
)
def test_a_verdict_comes_back_as_it_was(verdict: Verdict) -> None:
    assert load_verdict("u", dump_verdict(verdict, 100)) == verdict


def test_evidence_out_of_proportion_is_left_out() -> None:
    verdict = Verdict("u", Status.UNIQUE, keep=True, cluster="c", evidence={"word": "x" * 10**6})
    assert load_verdict("u", dump_verdict(verdict, 100)) == replace(verdict, evidence={})
