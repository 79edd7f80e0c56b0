"""A long page with another story appended is no copy: the lengths are bounded in characters too."""

from __future__ import annotations

from random import Random

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.detectors.base import Relation

FIRST, SECOND = "https://a.example/1", "https://b.example/2"


def story(seed: int, length: int) -> str:
    """Write sentences of random words, about ``length`` characters."""
    chance, sentences, size = Random(seed), list[str](), 0
    while size < length:
        words = ("".join(chance.choices("abcdefghijklmnoprstu", k=chance.randint(3, 9))) for _ in range(12))
        sentences.append(" ".join(words).capitalize() + ".")
        size += len(sentences[-1]) + 1
    return " ".join(sentences)


LONG, OTHER = story(1, 27_793), story(2, 1_563)
DETECTORS = ("minhash", "feature_codes", "datasketch", "feature_code")


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_long_page_with_a_second_story_is_kept(detector: str) -> None:
    with Deduplicator(detectors=[detector]) as dedup:
        dedup.add(text=LONG, url=FIRST)
        verdict = dedup.check(text=f"{LONG}\n{OTHER}", url=SECOND)
    assert verdict.keep
    assert verdict.relation is (None if detector == "feature_code" else Relation.EXPANSION)


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_long_page_with_a_byline_is_a_copy(detector: str) -> None:
    with Deduplicator(detectors=[detector]) as dedup:
        dedup.add(text=LONG, url=FIRST)
        verdict = dedup.check(text=f"{LONG}\n{OTHER[:300]}", url=SECOND)
    assert (verdict.keep, verdict.relation) == (False, Relation.NEAR_DUPLICATE)


@pytest.mark.parametrize("detector", DETECTORS)
def test_the_bound_is_a_setting(detector: str) -> None:
    with Deduplicator(detectors=[detector], length_slack=2_000) as dedup:
        dedup.add(text=LONG, url=FIRST)
        assert not dedup.check(text=f"{LONG}\n{OTHER}", url=SECOND).keep
