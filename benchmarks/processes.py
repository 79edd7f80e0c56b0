"""The cost of a command: time, processor time and memory of all its processes."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Run:
    """The cost of a command."""

    wall: float  #: seconds
    cpu: float  #: CPU seconds, with children
    peak: int  #: peak bytes of all its processes


def run(command: Sequence[str], *, watch: bool = False) -> Run:
    """Run a command until all of its processes have ended; raise RuntimeError if it fails."""
    become_subreaper()
    begun, before = time.perf_counter(), processor_seconds()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        peak = [0]
        watcher = threading.Thread(target=_watch, args=(process, peak), daemon=True)
        if watch:
            watcher.start()
        status = process.wait()
        wall = time.perf_counter() - begun
        _reap()
        output.seek(0)
        if status:
            raise RuntimeError(f"{' '.join(command)}: {output.read().decode(errors='replace')[-3000:]}")
    if watch:
        watcher.join()
    return Run(wall, processor_seconds() - before, peak[0])


def become_subreaper() -> None:
    """Become the parent of orphaned grandchildren, so that their CPU time counts (prctl(2))."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1)


def _reap() -> None:
    """Wait for orphaned processes of a command."""
    with suppress(ChildProcessError):
        while True:
            os.wait()


def processor_seconds() -> float:
    """Return the processor time of all processes that have ended, and whose parents waited for them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _watch(process: subprocess.Popen[bytes], peak: list[int]) -> None:
    """Record the peak memory of the processes of a session; shared pages count once."""
    while process.returncode is None:
        peak[0] = max(peak[0], sum(map(_held, _session(process.pid))))
        time.sleep(0.25)


def _session(leader: int) -> Iterator[Path]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rpartition(")")[2].split()[3]) == leader:
                yield folder
        except OSError:
            continue


def _held(folder: Path) -> int:
    """Return the anonymous memory of a process in bytes; mapped files belong to the system cache."""
    try:
        lines = (folder / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    sizes = dict(line.split()[:2] for line in lines[1:])
    return 1024 * int(sizes.get("Pss_Anon:", 0))
