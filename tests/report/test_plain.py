from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator, Page
from dedupcrawl.detectors.base import Bar, Exhibit, Match, Opinion, Relation
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.report.entry import Held
from dedupcrawl.report.plain import MOST_OPINIONS, pack_held, unpack_held, verdict_json, verdict_of
from dedupcrawl.stores.base import Record
from dedupcrawl.verdict import Status, Verdict
from tests.crawl.site import text

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.mark.parametrize("name", sorted(DETECTORS))
def test_the_opinion_of_every_detector_comes_back_as_it_was(name: str) -> None:
    dedup = Deduplicator(detectors=_detectors(name))
    story = text(1) + "The ferry is in the harbour of a town, and the council can do nothing to help it. " * 3
    new, old = (dedup.file(Page.from_text(story + more, "https://a.example/")) for more in ("", "And more."))
    assert isinstance(new, Record)
    assert isinstance(old, Record)
    held = (Held("https://a.example/", "c1", dedup.opinions(new, old)),)
    assert unpack_held(pack_held(held, 100)) == held


def _detectors(name: str) -> Mapping[str, Mapping[str, object]]:
    if name == "combined":
        return {"combined": {"all_of": {"minhash": {}, "simhash": {}}}}
    return {name: {}}


def test_every_field_comes_back() -> None:
    opinion = Opinion(
        detector="d",
        match=Match(0.5, Relation.EXCERPT, {"a": [1, "b"]}),
        similarity=0.5,
        figures={"a": 1, "b": {"c": None}},
        bars=(Bar("a", 1, 2, at_least=True, measure="m", is_strict=True),),
        exhibits=(Exhibit("words", "10", ("a",), ("b",), ("c", "d")),),
        silent="why",
        part_bars=(Bar("b", 1, 2, at_least=False, measure="n"),),
    )
    bare = Opinion("d", None)
    assert all(getattr(opinion, each.name) != getattr(bare, each.name) for each in fields(Opinion)[1:])
    held = (Held("https://a.example/", "c1", (opinion, bare)), Held("https://b.example/", "c2", ()))
    assert unpack_held(pack_held(held, 100)) == held


def test_opinions_out_of_proportion_lose_what_pages_made_up_and_keep_their_numbers() -> None:
    words = ("x" * MOST_OPINIONS,)
    match = Match(0.5, Relation.IDENTICAL, {"word": words[0]})
    opinion = Opinion(
        "d", match, 0.5, {"word": words[0]}, (Bar("a", 1, 2, at_least=True),), (Exhibit("w", "", words),)
    )
    packed = pack_held((Held("u", "c", (opinion,)),), 100)
    assert len(packed) < 500
    lean = replace(opinion, figures={}, exhibits=(), match=Match(0.5, Relation.IDENTICAL))
    assert unpack_held(packed) == (Held("u", "c", (lean,)),)


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict("u", Status.UNIQUE, keep=True, cluster="c"),
        Verdict("u", Status.UNCHECKED, keep=True, reason="short"),
        Verdict(
            "u",
            Status.DUPLICATE,
            True,
            Relation.UNCHANGED,
            "o",
            "c",
            0.5,
            "minhash",
            {"a": [1]},
            supersedes="o",
        ),
        Verdict("u", Status.UNIQUE, keep=True, evidence={"half": "\ud83d", "long": 2**70}),
    ],
)
def test_a_verdict_comes_back_as_it_was(verdict: Verdict) -> None:
    assert verdict_of("u", verdict_json(verdict, 100)) == verdict


def test_evidence_out_of_proportion_is_left_out() -> None:
    verdict = Verdict("u", Status.UNIQUE, keep=True, cluster="c", evidence={"word": "x" * 10**6})
    assert verdict_of("u", verdict_json(verdict, 100)) == replace(verdict, evidence={})
