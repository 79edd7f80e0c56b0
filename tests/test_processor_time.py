"""The table of processor time counts what a test starts, also what has ended."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.data import ROOT
from tests.processor_time import tree_seconds

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 0.3
WORK = f"import time\nwhile time.process_time() < {SECONDS}: pass"


def test_processes_that_run_and_that_have_ended_count() -> None:
    before = tree_seconds(os.getpid())
    grandchild = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORK!r}], check=True)"
    with subprocess.Popen(
        [sys.executable, "-c", f"{grandchild}\nprint(flush=True)\nsys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        running = tree_seconds(os.getpid())
        assert running - before >= 0.9 * SECONDS  # the grandchild has ended, the child has not
        process.communicate()
    assert tree_seconds(os.getpid()) - before >= 0.9 * SECONDS  # nor is its time lost when it has


@pytest.mark.parametrize(
    ("by", "row", "count"), [("file", "test_it.py", 2), ("folder", "", 2), ("test", "test_it.py::test_it[2]", 1)]
)
def test_the_costly_come_first(tmp_path: Path, by: str, row: str, count: int) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tests import processor_time\n"
        "pytest_addoption = processor_time.add_option\n"
        "pytest_configure = processor_time.begin\n"
    )
    test = "import subprocess, sys, pytest\n@pytest.mark.parametrize('n', [1, 2])\ndef test_it(n):\n"
    test += f"    n == 2 and subprocess.run([sys.executable, '-c', {WORK!r}], check=True)\n"
    (tmp_path / "test_it.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--cost={by}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    shown = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True, check=True).stdout
    head, *lines = shown[shown.index("CPU s") - 3 :].splitlines()
    assert head.split() == ["CPU", "s", "wall", "s", "tests", by]
    total = next(place for place, line in enumerate(lines) if line.endswith("in total"))
    cells = [(float(line[:8]), int(line[18:24]), line[26:].strip()) for line in lines[:total]]
    assert cells == sorted(cells, key=lambda each: -each[0])
    (seconds,) = [seconds for seconds, tests, name in cells if (tests, name) == (count, row)]
    assert seconds >= 0.9 * SECONDS
