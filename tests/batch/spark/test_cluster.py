"""The command on a standalone cluster of two workers; the benchmark kills some of them, and starts another Java."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tests.batch.corpus import Batch, reprinted_texts, split
from tests.batch.spark.cluster import PATIENCE, cluster, wait_until
from tests.batch.spark.machine import JAVA_OPTIONS, small
from tests.batch.spark.test_engine import written
from tests.data import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.batch.spark.conftest import Commands

EXECUTORS = {
    "spark.executor.memory": "470m",
    "spark.executor.cores": "1",
    "spark.dedupcrawl.tail": "0",
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
}
PROGRESS = re.compile(r"\w+: [\d,]+ pages, ")  #: a line every 30 s
COMMAND = "from dedupcrawl.cli import main; main()"


def test_a_cluster_writes_what_one_machine_writes(tmp_path: Path, java_of_session: Commands) -> None:
    own_daemon = {"spark.python.daemon.module": ""}
    on_cluster(tmp_path, reprinted_texts(200), 4, java=java_of_session(EXECUTORS | own_daemon))


def on_cluster(
    folder: Path, rows: list[dict[str, Any]], parts: int, *, kill: bool = False, java: Mapping[str, str] | None = None
) -> list[int]:
    """Deduplicate rows locally and on a cluster, and compare the outputs; return the killed processes.

    kill: one worker loses its executor while pages are fingerprinted, and is killed itself while they are
    compared.
    java: variables with which the command uses a running Java; else it starts one.
    """
    batch = Batch(folder)
    split(rows, folder / "in", parts)
    batch.run(folder / "in", out="here", annotate=True)
    (folder / "daemons").mkdir()
    killed: list[int] = []
    with cluster(folder / "daemons") as running:
        command = _command(folder, java or small(folder, **EXECUTORS), "--master", running.master, "--annotate")
        try:
            if kill:
                killed = _when(command, folder, "prints/*.json", lambda: running.executors(0))
                killed += _when(command, folder, "spark/sweep-0", lambda: running.processes(0))
            output, complaints = command.communicate(timeout=PATIENCE)
        finally:
            command.kill()
    told = [line for line in complaints.decode().splitlines() if not PROGRESS.match(line)]  # on a slow machine
    assert (command.returncode, told) == (0, []), output
    assert all(any((folder / "daemons" / f"work-{number}").glob("app-*/*")) for number in range(2))
    assert written(folder / "spark") == written(folder / "here")
    return killed


def _when(command: subprocess.Popen[bytes], folder: Path, there: str, processes: Callable[[], list[int]]) -> list[int]:
    """Kill these processes when the run has reached this point; return them."""
    work = folder / "spark" / "_dedupcrawl"
    found: list[int] = []

    def is_time() -> bool:
        nonlocal found
        found = processes() if any(work.glob(there)) else []
        return bool(found) or command.poll() is not None

    wait_until(is_time, there)
    for each in found:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    return found


def _command(folder: Path, java: Mapping[str, str], *more: str) -> subprocess.Popen[bytes]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, **java, "PYTHONPATH": os.pathsep.join(paths)}
    words = ["batch", str(folder / "in"), "--out", str(folder / "spark"), *more]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
