"""Entries for the tests of ledgers."""

from __future__ import annotations

from typing import Any

from dedupcrawl.decision import Status, Verdict
from dedupcrawl.detectors.base import Assessment, Evidence, Match, Relation, Threshold
from dedupcrawl.ledger.ledger_schema import Comparison, Entry

ABOUT = {"title": "Crawl of the spider news", "kind": "crawl", "version": "1", "settings": {"DEDUP_KEEP": "first"}}
NOON = 1_700_000_000.0


def assessment(similarity: float, detector: str = "minhash", threshold: float = 0.8) -> Assessment:
    is_met = similarity >= threshold
    match = Match(similarity, Relation.NEAR_DUPLICATE, {"slots": 12}) if is_met else None
    return Assessment(
        detector,
        match,
        similarity,
        {"slots": 12},
        (Threshold("threshold", threshold, similarity, at_least=True, measure="similarity"),),
        (Evidence("slots", agreeing="1101", shared=("a", "b"), only_new=("c",)),),
    )


def unique(url: str, cluster: str, text: str = "", at: float = NOON, **more: Any) -> Entry:
    verdict = Verdict(url, Status.UNIQUE, keep=True, cluster=cluster)
    return Entry(url, at, verdict, 100, more.pop("title", "A title"), text, **more)


def copy(url: str, of: str, cluster: str, text: str = "", at: float = NOON, similarity: float = 0.9) -> Entry:
    verdict = Verdict(
        url,
        Status.DUPLICATE,
        keep=False,
        relation=Relation.NEAR_DUPLICATE,
        of=of,
        cluster=cluster,
        similarity=similarity,
        detector="minhash",
        evidence={"slots": 12},
    )
    held = (Comparison(of, cluster, (assessment(similarity),)),)
    return Entry(url, at, verdict, 100, "A copy", text, requests=2, comparisons=held)


def near(url: str, cluster: str, old: str, similarity: float, text: str = "") -> Entry:
    return unique(url, cluster, text, comparisons=(Comparison(old, "other", (assessment(similarity),)),))


def unchecked(url: str, reason: str = "short") -> Entry:
    return Entry(url, NOON, Verdict(url, Status.UNCHECKED, keep=True, reason=reason), 10)
