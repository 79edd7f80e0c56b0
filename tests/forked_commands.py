"""Commands whose calls are forks of a preloaded process.

:func:`commands` starts that process, and writes commands that send it their arguments, current folder, environment and
open files. A command passes SIGINT and SIGTERM on to its fork; when the command is killed, so is the fork.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ADDRESS, READY = "s", "ready"  #: a socket, short as its path must be, and a file that is there when it listens
WAIT = 600  #: seconds that a preloaded process may take to start on a busy machine
_SIZE = 8  #: bytes of the length of a request
_PROCESS_SIZE = 4  #: bytes of the id of a fork
_COMMAND = """#!{python} -ISs
import json, os, signal, socket, sys
asked = json.dumps([{name!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    socket.send_fds(line, [len(asked).to_bytes({size}, "big")], [0, 1, 2])
    line.sendall(asked)
    fork = int.from_bytes(line.recv({process_size}, socket.MSG_WAITALL), "big")
    if fork:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda number, _: os.kill(fork, number))
    status = line.recv(1)
sys.exit(status[0] if status else 70)
"""


def start(folder: Path, names: Sequence[str], module: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Write commands of these names to an empty folder, and start a module that calls :func:`serve` for them.

    The process ends when its standard input is closed. It gets the folder, then the other arguments.
    """
    values = {"python": sys.executable, "address": str(folder / ADDRESS), "size": _SIZE, "process_size": _PROCESS_SIZE}
    for name in names:
        command = folder / name
        command.write_text(_COMMAND.format(name=name, **values), "utf-8")
        command.chmod(0o755)
    root = Path(__file__).resolve().parents[1]
    words = [sys.executable, "-m", module, str(folder), *arguments]
    return subprocess.Popen(words, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)


def wait_for(folder: Path, process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until the commands in a folder can be called."""
    until = time.monotonic() + WAIT
    while not (folder / READY).exists():
        assert process is None or process.poll() is None, f"the process of {folder} has ended"
        assert time.monotonic() < until, f"{folder} has no commands"
        time.sleep(0.02)


@contextmanager
def commands(folder: Path, names: Sequence[str], module: str, *arguments: str) -> Iterator[Path]:
    """Yield an empty folder with commands; see :func:`start`."""
    with start(folder, names, module, *arguments) as process:
        wait_for(folder, process)
        yield folder
        assert process.stdin is not None
        process.stdin.close()


def serve(folder: Path, run: Callable[[str], int]) -> None:
    """Call ``run`` with the name of each command that is called, in a fork that has taken its place.

    It returns the exit status of the command. This function returns when standard input is closed.
    """
    signal.signal(signal.SIGCHLD, _reap)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(folder / ADDRESS))
        door.listen()
        (folder / READY).touch()
        while select.select([door.fileno(), 0], [], [])[0] == [door.fileno()]:
            line, _ = door.accept()
            if not os.fork():
                door.close()
                _answer(line, run)
            line.close()


def _reap(*_: object) -> None:
    """Wait for forks that have ended: their processor time counts only then. They send their exit status themselves."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _answer(line: socket.socket, run: Callable[[str], int]) -> None:
    """Run the command in this process; does not return."""
    status = 70
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        name = _become(line)
        line.sendall(os.getpid().to_bytes(_PROCESS_SIZE, "big"))
        threading.Thread(target=_end_with, args=(line,), daemon=True).start()
        status = run(name)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        line.sendall(bytes([status & 255]))
        os._exit(0)


def _become(line: socket.socket) -> str:
    """Take over what the command has sent; return its name."""
    size, files, _, _ = socket.recv_fds(line, _SIZE, 3)
    with line.makefile("rb") as asked:
        name, arguments, folder, environment = json.loads(asked.read(int.from_bytes(size, "big")))
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # until the end
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    found = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [each for each in found if each and each not in sys.path]
    sys.argv = [name, *arguments]
    return str(name)


def _end_with(line: socket.socket) -> None:
    """Wait until the command has been killed, then kill this process."""
    line.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)
