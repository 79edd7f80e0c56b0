"""Every kind of fault is detected, and reported with worker, page and time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.faults.fleet import Life
from tests.faults.verdict import Evidence, Stored, again, excused, faults, summary

KILLED = Life(0, 0, alive_until=10.0, gone_by=1010.0, killed=True)
HEIR = Life(0, 1, gone_by=1090.0)
OTHER = Life(1, 0, gone_by=1090.0)


def stored(story: str, life: Life, at: float, reason: str = "") -> Stored:
    return Stored(story, f"http://a.example/{story}", life, at, reason)


FINE = Evidence(
    stories=frozenset("ab"),
    stored=[stored("a", KILLED, 9.0), stored("a", OTHER, 16.0), stored("b", HEIR, 12.0)],
    lives=[KILLED, HEIR, OTHER],
    reasons={HEIR: "finished", OTHER: "finished"},
    idle={HEIR: 0, OTHER: 0},
    records={"a": 1, "b": 1},
    replayed={},
    owners={"00": KILLED, "01": HEIR, "02": OTHER},
    leases={"00": 1014.9, "01": 1089.0, "02": 1089.0},
    lease=5.0,
    overdue=0,
)


def test_a_story_stored_again_after_a_kill_is_fine() -> None:
    assert faults(FINE) == []
    assert list(again(FINE)) == ["a"]
    told = {line[:40].strip(): line[40:] for line in summary(FINE, seconds=1).splitlines()}
    assert told["stored again after a kill"] == "1"
    assert told["stored by two living workers"] == "0"
    assert told["kills"] == "1"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"stored": FINE.stored[:2]}, "'b' is not stored; the store has 1 records"),
        ({"on_disk": frozenset("a")}, "'b' is not stored"),
        ({"records": {"a": 2, "b": 1}}, "'a' has 2 committed records"),
        ({"records": {"a": 1}}, "'b' has 0 committed records"),
        ({"leases": {"00": 1017.0}}, "Claims of worker 0 (life 0) were to hold 7.0 s after its end"),
        ({"leases": {"03": 1.0}}, "03, which is no worker"),
        ({"overdue": 3}, "3 claims are left"),
        ({"idle": {OTHER: 2}}, "worker 1 (life 0) still had 2 claims"),
        ({"reasons": {HEIR: "finished"}}, "worker 1 (life 0) ended with None"),
        ({"stored": [*FINE.stored, stored("b", OTHER, 13.0)]}, "'b' is stored by two living workers"),
        ({"stored": [*FINE.stored, stored("b", HEIR, 13.0)]}, "'b' is stored by two living workers"),
        ({"stored": [*FINE.stored, stored("a", OTHER, 9.5)]}, "'a' is stored by two living workers"),
        ({"stored": [*FINE.stored, stored("b", OTHER, 11.0, "claimed")]}, "'b' is stored by two"),
        ({"stored": [*FINE.stored, stored("b", OTHER, 13.0, "error")]}, "could not be judged"),
    ],
)
def test_faults_are_detected(change: dict[str, Any], expected: str) -> None:
    found = faults(replace(FINE, **change))
    assert any(expected in fault for fault in found), found


def test_a_fault_names_worker_and_time() -> None:
    (fault,) = faults(replace(FINE, stored=[*FINE.stored, stored("b", OTHER, 13.0)]))
    for part in ("http://a.example/b", "worker 0 (life 1)", "at 12.000", "worker 1 (life 0)", "at 13.000"):
        assert part in fault


@pytest.mark.parametrize(
    ("more", "records"),
    [
        (stored("b", OTHER, 13.0, "store"), 1),
        (stored("b", OTHER, 11.0, "store"), 1),
        (stored("b", OTHER, 13.0, "claimed"), 2),
        (stored("b", OTHER, 13.0, "claimed"), 1),
    ],
)
def test_what_is_tagged_is_excused(more: Stored, records: int) -> None:
    evidence = replace(FINE, stored=[*FINE.stored, more], records={"a": 1, "b": records})
    assert faults(evidence) == []
    assert excused(evidence)[more.reason] == 1


def test_what_was_filed_from_a_spool_may_be_there_twice() -> None:
    twice = replace(FINE, records={"a": 2, "b": 1})
    assert faults(replace(twice, replayed={"a": 1})) == []
    assert faults(replace(twice, replayed={"b": 1})) != []


def test_claims_that_wait_for_a_feed_may_be_open_when_all_is_fetched() -> None:
    assert faults(replace(FINE, idle={OTHER: 2}, feeds=True)) == []
