"""Workers are killed and the server restarts: nothing is lost, and no story is stored by two living workers.

``python -m benchmarks.faults`` does the same with 2,000 pages, in all modes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.trial import Plan, Trial
from tests.faults.web import serving, towns_of

if TYPE_CHECKING:
    from pathlib import Path


def test_kills_and_a_restart_of_the_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan(kills=4, lease=10.0, wait=120.0, crash=True)
    with serving(towns_of(116)) as web:
        result = Trial(plan, web, tmp_path).run()
    with capsys.disabled():
        print(f"\n{result.summary}")
    assert not result.faults, "\n".join(result.faults)
    assert "Traceback" not in result.log
    assert sum(life.killed for life in result.evidence.lives) == plan.kills
