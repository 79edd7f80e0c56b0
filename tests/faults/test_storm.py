"""A short storm: workers are killed, ended and stopped while their store fails. Nothing is lost or stored twice.

``python -m benchmarks.storm`` makes a thousand kills.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.faults.fleet import rows
from tests.faults.storm import Storm
from tests.faults.storm_events import SERVER, SIGNALS, Event, Weather, forecast
from tests.faults.storm_verdict import Aftermath, Stop, StormItem, StormLife, assess
from tests.faults.web import serving, towns_of

if TYPE_CHECKING:
    from pathlib import Path

FAILURES = {"lmdb": Event.DISK_FULL, "valkey": Event.READ_ONLY}


@pytest.mark.parametrize("store", FAILURES)
def test_a_short_storm(tmp_path: Path, capsys: pytest.CaptureFixture[str], store: str) -> None:
    events = (Event.KILL, Event.NAP, Event.KILL, FAILURES[store], Event.TERM, Event.KILL)
    weather = Weather(0, "short", store, "compact", 0, "keep", events)
    with serving(towns_of(20)) as web:
        result = Storm(weather, web, tmp_path, workers=3, lease=10.0).run()
    with capsys.disabled():
        print(f"\n{weather.name}: {dict(result.events)}, again: {dict(result.damage.again)}, {result.seconds:.0f} s")
    assert result.damage.faults == []
    assert result.events[Event.KILL] >= 3
    commits = [row for path in tmp_path.glob("*/ledger-*.jl") for row in rows(path) if row["event"] == "committed"]
    assert commits  # how many are recorded depends on when the processes are killed


def test_a_round_depends_on_seed_and_number_alone() -> None:
    rounds = [forecast(7, number, 20, ["lmdb", "valkey"]) for number in range(40)]
    assert rounds == [forecast(7, number, 20, ["lmdb", "valkey"]) for number in range(40)]
    assert {event for each in rounds for event in each.events} == set(Event)
    assert all(each.events.count(Event.KILL) == 20 for each in rounds)
    assert all(not {*SERVER} & {*each.events} for each in rounds if each.store == "lmdb")
    assert len({each.events[:8] for each in rounds}) > 30
    assert set(SIGNALS) | set(SERVER) | {Event.KILL, Event.DISK_FULL} == set(Event)


# -- the rules ----------------------------------------------------------------------------------

ONE = StormLife(0, 0)
OTHER = StormLife(1, 0)
FINE = Aftermath(
    stories=frozenset("ab"),
    items=[StormItem("a", "http://x/a", ONE, 10.0, 10.1), StormItem("b", "http://x/b", OTHER, 11.0, 11.1)],
    lease=8.0,
    records={"a": 1, "b": 1},
)


def also(life: StormLife, entered: float, reason: str = "", by: StormLife = ONE) -> Aftermath:
    """Let ``life`` store a story that ``by`` had stored at 10.1."""
    first = StormItem("a", "http://x/a", by, 10.0, 10.1)
    return replace(
        FINE, items=[first, FINE.items[1], StormItem("a", "http://y/a", life, entered, entered + 0.1, reason)]
    )


def test_a_round_without_faults() -> None:
    damage = assess(FINE)
    assert (damage.faults, dict(damage.again)) == ([], {})


def test_what_is_not_stored_is_lost() -> None:
    assert assess(replace(FINE, items=FINE.items[:1])).lost == ["b"]
    assert assess(replace(FINE, on_disk=frozenset("a"))).lost == ["b"]


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (also(OTHER, 12.0), None),
        (also(ONE, 12.0), None),
        (also(OTHER, 12.0, "store"), "unchecked"),
        (also(OTHER, 12.0, "claimed"), "unchecked"),
        (also(OTHER, 12.0, "too-short"), None),
        (also(OTHER, 12.0, by=StormLife(0, 0, killed_after=11.0)), "after a kill"),
        (also(OTHER, 12.0, by=StormLife(0, 0, killed_after=13.0)), None),
        (replace(also(OTHER, 12.0), losses=[11.0]), "after a loss"),
        (replace(also(OTHER, 12.0), losses=[13.0]), None),
        (replace(also(OTHER, 60.0), losses=[11.0]), "after a loss"),
        (also(OTHER, 20.0, by=StormLife(0, 0, stops=(Stop(10.5, 20.5),))), "after a sleep"),
        (also(OTHER, 16.0, by=StormLife(0, 0, stops=(Stop(10.5, 20.5),))), "after a sleep"),
        (also(OTHER, 12.0, by=StormLife(0, 0, stops=(Stop(10.5, 20.5),))), None),
        (also(OTHER, 16.0, by=StormLife(0, 0, stops=(Stop(10.5, 12.5),))), None),
        (also(StormLife(1, 0, stops=(Stop(9.0, 18.0),)), 18.5), None),
        (also(StormLife(1, 0, stops=(Stop(9.5, 18.0),)), 9.4, ""), None),
    ],
)
def test_what_is_stored_again_needs_a_reason(after: Aftermath, reason: str | None) -> None:
    damage = assess(after)
    assert dict(damage.again) == ({reason: 1} if reason else {})
    assert len(damage.twice) == (reason is None)


@pytest.mark.parametrize(
    ("after", "committed", "reason"),
    [
        (also(OTHER, 12.0, by=StormLife(0, 0, killed_after=11.0)), 10.5, None),
        (also(OTHER, 99.0, by=StormLife(0, 0, killed_after=98.0)), 10.5, None),
        (also(OTHER, 12.0, by=StormLife(0, 0, killed_after=11.0)), 13.0, "after a kill"),
        (also(OTHER, 60.0, by=StormLife(0, 0, stops=(Stop(30.0, 50.0),))), 10.5, None),
        (also(OTHER, 60.0, by=StormLife(0, 0, stops=(Stop(30.0, 50.0),))), 30.5, "after a sleep"),
        (replace(also(OTHER, 60.0), losses=[11.0]), 10.5, "after a loss"),
        (replace(also(OTHER, 20.0), losses=[11.0]), 11.5, "after a loss"),
        (replace(also(OTHER, 60.0), losses=[11.0]), 11.5, None),
        (also(OTHER, 12.0, "store"), 10.5, "unchecked"),
    ],
)
def test_what_was_committed_is_not_stored_again(after: Aftermath, committed: float, reason: str | None) -> None:
    first, *others = after.items
    damage = assess(replace(after, items=[replace(first, committed=committed), *others]))
    assert dict(damage.again) == ({reason: 1} if reason else {})
    assert len(damage.twice) == (reason is None)


def test_an_item_inside_the_pipeline_that_stores_it_cannot_be_taken_back() -> None:
    sleeper = StormLife(1, 0, stops=(Stop(9.0, 18.0),))
    items = [FINE.items[0], FINE.items[1], StormItem("a", "http://y/a", sleeper, 8.9, 18.1)]
    assert dict(assess(replace(FINE, items=items)).again) == {"after a sleep": 1}
    for entered, at in ((0.0, 18.1), (8.9, 19.0), (18.05, 18.1)):  # never checked, stored later, checked afterwards
        items[2] = StormItem("a", "http://y/a", sleeper, entered, at)
        assert len(assess(replace(FINE, items=items)).twice) == 1


def test_a_committed_story_has_one_record() -> None:
    assert len(assess(replace(FINE, records={"a": 2, "b": 1})).other) == 1
    assert len(assess(replace(FINE, records={"a": 1})).other) == 1
    assert assess(replace(FINE, records={"a": 2, "b": 1}, replayed={"a": 1})).other == []
    assert assess(replace(FINE, records={"a": 1}, losses=[3.0])).other == []


def test_claims_and_processes_that_are_left_are_faults() -> None:
    assert len(assess(replace(FINE, overdue=1, problems=["worker 0 ended with 1"])).other) == 2
