"""The watch of a lease: by any of its clocks, whichever thread renews it."""

from __future__ import annotations

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.filing import CLOCKS, LeaseMonitor


class Clocks:
    def __init__(self) -> None:
        self.boot, self.wall = 100.0, 1_000_000.0
        self.watch = LeaseMonitor(30.0, [lambda: self.boot, lambda: self.wall])

    def sleep(self, seconds: float) -> None:
        self.boot += seconds
        self.wall += seconds

    def renew(self, *, takes: float = 0.0) -> None:
        began = self.watch.now()
        self.sleep(takes)
        self.watch.renewed(began)


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


def test_renewals_in_time_keep_the_lease(clocks: Clocks) -> None:
    for _ in range(10):
        clocks.sleep(29.0)
        clocks.renew()
    assert clocks.watch.lapses == 0


def test_each_lapse_counts_once(clocks: Clocks) -> None:
    clocks.sleep(30.0)
    assert (clocks.watch.lapses, clocks.watch.lapses) == (1, 1)
    clocks.sleep(29.0)
    assert clocks.watch.lapses == 1
    clocks.sleep(1.0)
    assert clocks.watch.lapses == 2


def test_a_late_renewal_does_not_hide_the_lapse(clocks: Clocks) -> None:
    clocks.sleep(31.0)
    clocks.renew()
    assert clocks.watch.lapses == 1


def test_the_store_counts_from_the_call_at_the_latest(clocks: Clocks) -> None:
    """The store may have renewed the lease as soon as the call began, and its answer took long."""
    clocks.sleep(10.0)
    clocks.renew(takes=15.0)
    clocks.sleep(14.0)
    assert clocks.watch.lapses == 0
    clocks.sleep(1.0)
    assert clocks.watch.lapses == 1


def test_a_renewal_that_answers_late_takes_nothing_back(clocks: Clocks) -> None:
    early = clocks.watch.now()
    clocks.sleep(20.0)
    clocks.renew()
    clocks.watch.renewed(early)
    clocks.sleep(29.0)
    assert clocks.watch.lapses == 0


def test_a_wall_clock_set_forward_is_a_lapse(clocks: Clocks) -> None:
    clocks.wall += 3600
    assert clocks.watch.lapses == 1


def test_a_wall_clock_set_back_hides_nothing(clocks: Clocks) -> None:
    clocks.wall -= 3600
    clocks.sleep(29.0)
    assert clocks.watch.lapses == 0
    clocks.sleep(1.0)
    assert clocks.watch.lapses == 1
    clocks.renew()
    clocks.sleep(29.0)
    assert clocks.watch.lapses == 1


def test_the_clocks_run() -> None:
    assert all(clock() <= clock() for clock in CLOCKS)


TEXT = "The harbour froze over in the night. The ferries stayed at their piers, and children skated on it. " * 3


def test_a_claim_holds_until_another_worker_removes_it() -> None:
    now = [1000.0]
    with Deduplicator(lease=10.0, clock=lambda: now[0]) as dedup:
        claim = dedup.claim(text=TEXT, url="https://a.example/1")
        assert dedup.holds(claim)
        assert claim.id is not None
        dedup.store.release([claim.id])
        assert not dedup.holds(claim)
        assert not dedup.holds(dedup.claim(text="", url="https://a.example/2"))
