"""Pairs to ask about, with the truth in their URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.tools.label.pairs import OfferedPage, OfferedPair, StratifiedSample
from tests.batch.corpus import story
from tests.tools.report.judged_ledgers import changed

if TYPE_CHECKING:
    from collections.abc import Iterable


def pair(number: int, similarity: float = 0.85, relation: str = "near-duplicate", cluster: str = "") -> OfferedPair:
    return OfferedPair(
        new=OfferedPage.of(f"https://new.example/{number}", f"New {number}", f"text {number} with more at its end"),
        old=OfferedPage.of(f"https://old.example/{number}", f"Old {number}", f"text {number}"),
        relation=relation,
        similarity=similarity,
        detector="minhash",
        cluster=cluster or f"cluster {number}",
        is_dropped=relation == "near-duplicate",
    )


def stories(count: int) -> list[OfferedPair]:
    """Return pairs of long texts with few differences."""
    found = []
    for number in range(count):
        text = story(number, words=250)
        old = OfferedPage.of(f"https://first.example/{number}", f"Story {number}", text)
        new = OfferedPage.of(f"https://second.example/{number}", f"Again {number}", changed(text, 2 + number))
        found.append(OfferedPair(new, old, "near-duplicate", 0.85, "minhash", f"c{number}", is_dropped=True))
    return found


def sampler_of(
    pairs: Iterable[OfferedPair], run: str = "a run", around: float = 0.8, held: int = 2_000
) -> StratifiedSample:
    sampler = StratifiedSample(run, around, held)
    for each in pairs:
        sampler.add(each)
    return sampler
