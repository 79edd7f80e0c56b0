from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.config import Config
from dedupcrawl.decision import Status, Verdict
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.tools.report.report_model import verdict_sentence
from dedupcrawl.utils.formatting import similarity_text
from tests.texts import ENGLISH, OTHER_ENGLISH

OF = "https://a.example/1"


def verdict(relation: Relation | None, **more: Any) -> Verdict:
    return Verdict("https://b.example/2", Status.UNIQUE, keep=True, relation=relation, of=OF, **more)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            verdict(
                Relation.NEAR_DUPLICATE,
                similarity=0.9449,
                detector="minhash",
                evidence={"slots": "120 of 128", "lengths": [1812, 807], "new_in_old": 0.98},
            ),
            f"near-duplicate of {OF}: 0.944 alike by minhash, 120 of 128 slots agree, lengths 1,812 and 807",
        ),
        (
            verdict(Relation.EXCERPT, similarity=0.3, detector="minhash", evidence={"new_in_old": 0.986}),
            f"all of it stands in {OF}: 0.3 alike by minhash, 98 % of it stands there",
        ),
        (
            verdict(Relation.EXPANSION, similarity=0.3, detector="minhash", evidence={"old_in_new": 1}),
            f"it contains {OF}, and more: 0.3 alike by minhash, 100 % of that page stands in it",
        ),
        (
            verdict(Relation.UPDATED, detector="url"),
            f"another text than {OF} had before: nothing but the URL is the same",
        ),
        (verdict(Relation.UNCHANGED, detector="url"), f"unchanged since {OF} was seen before"),
        (
            verdict(Relation.IDENTICAL, similarity=1.0, detector="exact", supersedes=OF),
            f"the same text as {OF}: by exact; it takes that page's place",
        ),
        (
            verdict(
                Relation.NEAR_DUPLICATE,
                similarity=0.9,
                detector="combined",
                evidence={"simhash": {"similarity": 0.97, "relation": "near-duplicate", "bits": "62 of 64"}},
            ),
            f"near-duplicate of {OF}: 0.9 alike by combined, simhash 0.97",
        ),
        (Verdict("u", Status.UNIQUE, keep=True), "no earlier page is like it"),
        (Verdict("u", Status.UNCHECKED, keep=True, reason="empty"), "not judged: it has no main text"),
        (Verdict("u", Status.UNCHECKED, keep=True, reason="odd"), "not judged: odd"),
    ],
)
def test_a_verdict_in_one_sentence(said: Verdict, sentence: str) -> None:
    assert verdict_sentence(said) == sentence


@pytest.mark.parametrize("name", DETECTORS)
def test_every_detector_is_named_with_its_evidence(name: str) -> None:
    """What the detectors count changes now and then; a figure that nobody words would be lost in silence."""
    with Deduplicator(config=Config(detectors=(name,))) as dedup:
        dedup.add(text=f"{ENGLISH} {OTHER_ENGLISH}", url=OF)
        found = dedup.add(text=f"{ENGLISH} {OTHER_ENGLISH}", url="https://b.example/2")
    assert found.is_duplicate
    sentence = verdict_sentence(found)
    assert OF in sentence
    assert name in sentence
    if name not in ("exact", "imatch", "keywords", "combined"):  # which say that all is equal
        assert any(figure in sentence for figure in (" of ", "differ"))
        assert sentence.count(",") >= 1


@given(st.floats(0, 1))
def test_a_share_is_never_rounded_up(value: float) -> None:
    assert float(similarity_text(value)) <= value + 1e-9
    assert value - float(similarity_text(value)) < 0.001


@given(st.integers(0, 1000))
def test_a_whole_number_of_thousandths_stays_what_it_is(thousands: int) -> None:
    assert float(similarity_text(thousands / 1000)) == thousands / 1000
