"""Search for the pages of a cluster and for the nearest page, under shared keys or in the whole store."""

from __future__ import annotations

from dedupcrawl import Deduplicator, Page
from dedupcrawl.decision import cluster_of
from dedupcrawl.stores.base import Candidate
from dedupcrawl.tools.explain.pair_builder import PROGRESS_STEP, scan_keys, scan_store
from tests.texts import ENGLISH


def filled(count: int) -> Deduplicator:
    dedup = Deduplicator(min_chars=1)
    dedup.add_many([Page.from_text(f"number {n} of the list", f"https://a.example/{n}") for n in range(count)])
    return dedup


def test_every_record_is_looked_at_and_counted() -> None:
    for count in (0, 1, PROGRESS_STEP, 2 * PROGRESS_STEP + 3):
        ticks: list[int] = []
        with filled(count) as dedup:
            seen = scan_store(dedup.store, "nobody's", (), ticks.append)
        assert (seen.members, seen.nearest, seen.scanned) == ((), None, count)
        assert sum(ticks) == count


def test_the_nearest_is_the_one_that_measures_most() -> None:
    with filled(20) as dedup:

        def measure(each: Candidate) -> float | None:
            number = int(each.record.url.rpartition("/")[2])
            return None if number == 19 else number / 20

        near = scan_store(dedup.store, "", (), lambda _: None, measure).nearest
    assert near is not None
    assert near.record.url == "https://a.example/18"


def test_a_cluster_that_is_linked_by_shared_keys_is_found_either_way() -> None:
    with Deduplicator(drop=frozenset()) as dedup:
        for number in range(5):
            dedup.add(text=ENGLISH + " More." * number, url=f"https://a.example/{number}")
        first = dedup.store.lookup("https://a.example/0")
        assert first is not None
        name = cluster_of(first.record)
        linked = scan_keys(dedup.store, name, [first])
        assert len(linked.members) == 5
        assert linked.scanned is None
        assert scan_store(dedup.store, name, (), lambda _: None).members == linked.members
        assert scan_keys(dedup.store, "another", [first]).members == ()
