"""The command on a standalone cluster of two workers, one of which dies on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.batch.corpus import Batch, reprinted_texts, split
from tests.batch.spark.cluster import PATIENCE, cluster, wait_until
from tests.batch.spark.machine import JAVA_OPTIONS, small, why_not
from tests.batch.spark.test_engine import written
from tests.data import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXECUTORS = {
    "spark.executor.memory": "470m",
    "spark.executor.cores": "1",
    "spark.dedupcrawl.tail": "0",
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
}
COMMAND = "from dedupcrawl.cli import main; main()"


def test_a_worker_is_killed_and_the_output_is_the_same(tmp_path: Path) -> None:
    missing = why_not()
    if missing:
        pytest.skip(f"NO SPARK IS TESTED HERE: {missing}")
    batch = Batch(tmp_path)
    split(reprinted_texts(), tmp_path / "in", 8)
    batch.run(tmp_path / "in", out="here", annotate=True)
    made = tmp_path / "spark" / "_dedupcrawl" / "prints"
    (tmp_path / "daemons").mkdir()
    with cluster(tmp_path / "daemons") as running:
        command = _command(tmp_path, "--master", running.master, "--annotate")
        try:
            wait_until(lambda: any(made.glob("*.json")) or command.poll() is not None, "fingerprints")
            dead = _kill(running.executors(0))
            said, complaints = command.communicate(timeout=PATIENCE)
        finally:
            command.kill()
        assert command.returncode == 0, said + complaints
        assert dead, "nobody was at work"
    assert written(tmp_path / "spark") == written(tmp_path / "here")
    assert not complaints


def _kill(processes: list[int]) -> list[int]:
    """End these at once, with all that they have in hand."""
    for each in processes:
        os.kill(each, signal.SIGKILL)
    return processes


def _command(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, **small(folder, **EXECUTORS), "PYTHONPATH": os.pathsep.join(paths)}
    words = ["batch", str(folder / "in"), "--out", str(folder / "spark"), *more]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
