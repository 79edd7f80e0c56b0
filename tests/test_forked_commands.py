"""Commands that are forks of a preloaded process behave as if they were started themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.worker_server import FOLDER_OF_COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable

WAIT = 300  #: timeout in seconds
#: Writes the id of its process, then waits, before Scrapy handles signals.
SPIDER = """
import os, time
from pathlib import Path
import beside
Path("new").write_text(str(os.getpid()))
Path("new").rename("process")
time.sleep(600)
"""


def started(folder: Path, commands: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start a command that waits, and finds a module in the PYTHONPATH; return it, and the id of its fork."""
    (folder / "path").mkdir()
    (folder / "path" / "beside.py").touch()
    (folder / "waiting.py").write_text(SPIDER)
    environment = {**os.environ, "PYTHONPATH": str(folder / "path")}
    command = subprocess.Popen(
        [commands / "scrapy", "runspider", "waiting.py"], cwd=folder, env=environment, stderr=subprocess.DEVNULL
    )
    assert wait_until((folder / "process").exists)
    return command, int((folder / "process").read_text())


def wait_until(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + WAIT
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def is_over(process: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(process, 0)
        return False
    return True


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 1), (signal.SIGTERM, 70), (signal.SIGKILL, -9)])
def test_a_signal_to_the_command_reaches_its_fork(
    tmp_path: Path, commands: Path, number: signal.Signals, status: int
) -> None:
    command, process = started(tmp_path, commands)
    assert not is_over(process)
    command.send_signal(number)
    assert command.wait(WAIT) == status
    assert wait_until(lambda: is_over(process))


def test_workers_of_xdist_are_forks_and_share_the_commands(commands: Path) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("all tests run in one process")
    assert b"tests.worker_server" in Path(f"/proc/{os.getppid()}/cmdline").read_bytes()
    assert os.environ[FOLDER_OF_COMMANDS] == str(commands)
