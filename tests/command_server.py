"""The commands ``dedupcrawl`` and ``scrapy``, loaded once: each call is a fork of a preloaded process.

Loading them takes longer than most examples of the documentation. Run as a program, this module is the
preloaded process. :func:`ready` starts it, and yields a folder with two commands that send it their arguments,
current folder, environment and open files. A command passes SIGINT and SIGTERM on to its fork; when the command is
killed, so is the fork.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS = ("dedupcrawl", "scrapy")
SPARK = "dedupcrawl.batch.spark"  #: its commands start a Java, and import more
#: What other packages import when they need it.
ON_DEMAND = (
    "datasketch",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "pandas",
    "requests",
    "scipy.integrate",
    "scipy.optimize",
    "typer.rich_utils",
)
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


@contextmanager
def ready(folder: Path) -> Iterator[Path]:
    """Yield a folder for the PATH; ``folder`` is empty, and its path is short enough for a socket."""
    address = folder / "s"
    for name in COMMANDS:
        command = folder / name
        values = {"python": sys.executable, "name": name, "address": str(address)}
        command.write_text(_COMMAND.format(**values, size=_SIZE, process_size=_PROCESS_SIZE), "utf-8")
        command.chmod(0o755)
    root = Path(__file__).resolve().parents[1]
    start = [sys.executable, "-m", __name__, str(address)]
    with subprocess.Popen(start, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield folder
        finally:
            process.terminate()


def main(address: str) -> None:
    """Load the commands, then serve requests until the process is terminated."""
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks send their exit codes themselves
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        print("ready", flush=True)
        while True:
            line, _ = door.accept()
            if not os.fork():
                door.close()
                _serve(line)
            line.close()


def _load() -> None:
    """Import what the commands import, also what they import when they need it."""
    import jieba
    import scrapy.cmdline  # noqa: F401

    import dedupcrawl
    import tests.preloaded

    jieba.setLogLevel("WARNING")
    jieba.initialize()
    for module in walk_packages(dedupcrawl.__path__, "dedupcrawl."):
        if not module.name.startswith(SPARK):
            import_module(module.name)
    for name in ON_DEMAND:
        import_module(name)
    tests.preloaded.freeze()
    assert "twisted.internet.reactor" not in sys.modules  # each crawl chooses its own


def _serve(line: socket.socket) -> None:
    """Run the command in this process; does not return."""
    status = 70
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        name = _become(line)
        line.sendall(os.getpid().to_bytes(_PROCESS_SIZE, "big"))
        threading.Thread(target=_end_with, args=(line,), daemon=True).start()
        status = _run(name)
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
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # until the end
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


def _run(name: str) -> int:
    import scrapy.cmdline

    import dedupcrawl.cli

    try:
        {"dedupcrawl": dedupcrawl.cli.main, "scrapy": scrapy.cmdline.execute}[name]()
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001  # as Python does with uncaught exceptions
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main(sys.argv[1])
