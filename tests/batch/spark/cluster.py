"""A standalone Spark master and its workers, each a process on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from dedupcrawl.batch.spark import java_home
from tests.batch.spark.machine import JAVA_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 1200  #: seconds; a busy machine takes its time


@dataclass(frozen=True)
class Cluster:
    """The address of the master, and the workers."""

    master: str
    workers: list[subprocess.Popen[bytes]]

    def executors(self, worker: int) -> list[int]:
        """The child processes of a worker."""
        return children(self.workers[worker].pid)

    def processes(self, worker: int) -> list[int]:
        """The worker and its child processes."""
        return [self.workers[worker].pid, *self.executors(worker)]


@contextmanager
def cluster(folder: Path, workers: int = 2, memory: str = "512m") -> Iterator[Cluster]:
    """Start a cluster, with this memory for each worker; end it with the context."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(_start(folder, "master", "Master", "--port", "0"))
        address = _told(folder / "master.log", r"Starting Spark master at (spark://\S+)", started[0])
        for number in range(workers):
            how = ["--port", "0", "--cores", "1", "--memory", memory, "--work-dir", str(folder / f"work-{number}")]
            started.append(_start(folder, f"worker-{number}", "Worker", *how, address))
        for number, worker in enumerate(started[1:]):
            _told(folder / f"worker-{number}.log", r"(Successfully registered with master)", worker)
        yield Cluster(address, started[1:])
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(PATIENCE)


def children(process: int) -> list[int]:
    """The processes below this one, the nearest first."""
    own = [int(each) for task in Path("/proc").glob(f"{process}/task/*/children") for each in _words(task)]
    return [*own, *(below for each in own for below in children(each))]


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:  # the thread has ended
        return []


def wait_until(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, f"it never came: {what}"
        time.sleep(0.05)


def _start(folder: Path, name: str, kind: str, *how: str) -> subprocess.Popen[bytes]:
    command = Path(pyspark.__file__).parent / "bin" / "spark-class"
    home = java_home(folder / "java")
    more = {"SPARK_DAEMON_MEMORY": "192m", "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS, "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [
                str(command),
                f"org.apache.spark.deploy.{kind.lower()}.{kind}",
                *("--host", "127.0.0.1", "--webui-port", "0"),
                *how,
            ],
            env={**os.environ, **more, **({"JAVA_HOME": home} if home else {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _told(log: Path, pattern: str, process: subprocess.Popen[bytes]) -> str:
    def found() -> re.Match[str] | None:
        assert process.poll() is None, log.read_text()
        return re.search(pattern, log.read_text())

    wait_until(lambda: found() is not None, pattern)
    match = found()
    assert match is not None
    return match[1]
