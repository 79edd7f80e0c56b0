from __future__ import annotations

from dedupcrawl.detectors.base import Match, Opinion, Relation
from dedupcrawl.policy import cluster_of, unchecked
from dedupcrawl.report.nearness import MOST_NEAR, MOST_WEIGHED, held_against
from dedupcrawl.stores.base import Candidate, ClaimState, Record
from dedupcrawl.verdict import Status, Verdict

NEW = Record("https://new.example/", (), (b"new",), 2.0)


def candidate(number: int, url: str, cluster: str = "") -> Candidate:
    record = Record(url, (), (b"old%d" % number,), 1.0, cluster)
    return Candidate(number, record, ClaimState.COMMITTED, mine=False)


class Weighing:
    """Says of each old record what was set down for it, and how often it was asked."""

    def __init__(self, similarities: dict[bytes, float], threshold: float = 0.8) -> None:
        self.similarities, self.threshold = similarities, threshold
        self.asked: list[bytes] = []

    def __call__(self, new: Record, old: Record) -> tuple[Opinion, ...]:
        self.asked.append(old.sketches[0])
        similarity = self.similarities[old.sketches[0]]
        match = Match(similarity, Relation.NEAR_DUPLICATE) if similarity >= self.threshold else None
        return (Opinion("exact", None), Opinion("minhash", match, similarity))


def verdict(of: str | None, cluster: str = "own") -> Verdict:
    if of is None:
        return Verdict(NEW.url, Status.UNIQUE, keep=True, cluster=cluster)
    return Verdict(NEW.url, Status.DUPLICATE, False, Relation.NEAR_DUPLICATE, of, cluster, detector="minhash")


def test_the_page_that_the_verdict_names_comes_first_then_near_misses_the_nearest_first() -> None:
    met = [candidate(n, f"https://{n}.example/") for n in range(5)]
    weigh = Weighing({b"old0": 0.5, b"old1": 0.9, b"old2": 0.7, b"old3": 0.39, b"old4": 0.6})
    held = held_against(verdict("https://1.example/"), NEW, met, weigh, 0.4)
    assert [each.url for each in held] == [f"https://{n}.example/" for n in (1, 2, 4, 0)]
    assert [each.cluster for each in held] == [cluster_of(met[n].record) for n in (1, 2, 4, 0)]


def test_a_unique_page_has_near_misses_alone() -> None:
    met = [candidate(n, f"https://{n}.example/") for n in range(2)]
    held = held_against(verdict(None), NEW, met, Weighing({b"old0": 0.5, b"old1": 0.1}), 0.4)
    assert [each.url for each in held] == ["https://0.example/"]


def test_of_several_versions_the_one_that_matched_is_meant() -> None:
    met = [candidate(n, "https://old.example/") for n in range(3)]
    weigh = Weighing({b"old0": 0.7, b"old1": 0.85, b"old2": 0.75})
    (held,) = held_against(verdict("https://old.example/"), NEW, met, weigh, 0.4)
    assert [each.similarity for each in held.opinions] == [None, 0.85]


def test_pages_of_the_same_cluster_and_those_that_match_are_no_near_misses() -> None:
    met = [
        candidate(0, "https://0.example/"),
        candidate(1, "https://1.example/", cluster="own"),
        candidate(2, "https://2.example/"),
    ]
    weigh = Weighing({b"old0": 0.95, b"old1": 0.7, b"old2": 0.9})
    held = held_against(verdict("https://0.example/"), NEW, met, weigh, 0.4)
    assert [each.url for each in held] == ["https://0.example/"]
    assert b"old1" not in weigh.asked


def test_a_crowd_is_not_weighed_one_by_one_and_few_misses_of_a_page_stay() -> None:
    met = [candidate(n, f"https://{n}.example/") for n in range(100)]
    weigh = Weighing({b"old%d" % n: 0.5 + n / 1000 for n in range(100)})
    held = held_against(verdict(None), NEW, met, weigh, 0.4)
    assert [each.url for each in held] == [f"https://{n}.example/" for n in (99, 98, 97)]
    assert len(held) == MOST_NEAR
    assert len(weigh.asked) == MOST_WEIGHED


def test_an_unchecked_page_names_the_claim_that_it_did_not_wait_for() -> None:
    met = [candidate(0, "https://0.example/")]
    held = held_against(
        unchecked(NEW.url, "claimed", "https://0.example/"), NEW, met, Weighing({b"old0": 0.9}), 0.4
    )
    assert [each.url for each in held] == ["https://0.example/"]
