"""A store that falters: every stored page is on record when the crawls have finished, and none is stored twice.

``python -m benchmarks.stutter`` does the same with 700 pages, in more ways.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.faults.stutter import Fault, Plan, Result, Stored, run

if TYPE_CHECKING:
    from pathlib import Path

#: The last fault is due with the last request: the store is away when the crawls end, unless the machine is very slow.
SHORT = Plan(tuple(Fault), pages=96, times=3)
ONE = replace(SHORT, faults=[Fault.PAUSE, Fault.STOP], gap=(0.0, 0.0))
TWO = replace(SHORT, workers=2, delay=0.05, timeout=1.0, settings={"DEDUP_ON_STORE_ERROR": "wait"})


@pytest.mark.parametrize("plan", [ONE, TWO], ids=["one worker", "two workers that wait"])
def test_what_is_stored_while_the_store_falters_is_on_record(plan: Plan, tmp_path: Path) -> None:
    result = run(plan, tmp_path)
    assert not result.faults, "\n".join(result.faults)
    assert result.count("outages") >= 1
    assert result.count("spool/added") >= 1
    assert (result.count("unchecked/store") == 0) is (plan is TWO)


def test_a_fault_is_found() -> None:
    stored = [Stored("http://a/0/1", 0, None), Stored("http://a/1/1", 1, "store"), Stored("http://a/0/2", 0, None)]
    plan = replace(SHORT, pages=6, workers=2)
    sound = Result(
        stored=[*stored, Stored("http://a/1/0", 1, None)],
        on_record=frozenset({"http://a/1/1", "http://a/0/2", "http://a/1/0"}),
        stats=[{"spool/added": 2, "spool/filed": 1}, {"spool/repeats": 1}],
        reasons=["finished", "finished"],
        spools=[],
        seconds=1.0,
        plan=plan,
    )
    assert sound.faults == []
    twice = [*sound.stored, Stored("http://a/1/2", 1, None)]
    found = {
        "story 0 is not stored": replace(sound, stored=stored),
        "http://a/0/2 is stored, and on no record": replace(sound, on_record=sound.on_record - {"http://a/0/2"}),
        f"stored twice by living workers: {[stored[2], twice[-1]]}": replace(sound, stored=twice),
        "1 pages of the spools were not delivered": replace(sound, stats=sound.stats[:1]),
        "a crawl ended with 'shutdown'": replace(sound, reasons=["finished", "shutdown"]),
    }
    assert {name: result.faults for name, result in found.items()} == {name: [name] for name in found}
