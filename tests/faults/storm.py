"""One round of a storm: processes crawl, are killed, ended and stopped at random moments, and their store fails."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from dedupcrawl import Deduplicator
from dedupcrawl.stores.base import ClaimState
from tests.faults.fleet import Crawls, ledger_of, log_of, rows, stories_in_feeds
from tests.faults.storm_events import LOSSES, Event
from tests.faults.storm_verdict import Aftermath, Damage, Stop, StormItem, StormLife, assess
from tests.faults.worker import NAMESPACE
from tests.stores.servers import PERSISTENT, Server, binaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from multiprocessing.process import BaseProcess

    from tests.faults.storm_events import Weather
    from tests.faults.web import Web

TICK = 0.02
PATIENCE = 3.0  #: seconds after which the next event happens without any progress
GUARD = 900.0  #: seconds that the last crawls may take
LEASE = 8.0
_SERVER_OPTIONS = (*PERSISTENT, "--repl-diskless-sync", "no")
_SIGNALS = {Event.TERM: signal.SIGTERM, Event.INTERRUPT: signal.SIGINT, Event.INTERRUPT_TWICE: signal.SIGINT}


@dataclass
class StormWorker:
    """A worker and its current process."""

    number: int
    folder: Path
    process: BaseProcess
    life: int = 0
    stops: list[Stop] = field(default_factory=list)
    wakes: float | None = None  #: when it is to go on; None: it is not stopped
    ends: bool = False  #: it was told to end in order
    killed_after: float | None = None

    @property
    def ledger(self) -> Path:
        """The ledger of the current process."""
        return ledger_of(self.folder, self.life)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process, unless it has ended."""
        with suppress(ProcessLookupError):
            os.kill(self.process.pid or 0, number)


@dataclass(frozen=True)
class StormResult:
    """The result of a round."""

    damage: Damage
    events: Mapping[Event, int]  #: how often each event happened
    stories: int
    seconds: float


class Storm:
    """A round: workers that crawl the same web, each all of it, and share a store.

    Args:
        weather: the kind of the crawls, and the events.
        web: to crawl.
        folder: for everything that is written.
        workers: how many processes crawl at once.
        lease: DEDUP_LEASE in seconds.
    """

    def __init__(self, weather: Weather, web: Web, folder: Path, workers: int = 4, lease: float = LEASE) -> None:
        self._lease = lease
        self._weather = weather
        self._web = web
        self._folder = folder
        self._chance = Random(weather.seed)
        self._lives: list[tuple[StormLife, Path]] = []
        self._happened: Counter[Event] = Counter()
        self._problems: list[str] = []
        self._losses: list[float] = []
        self._wanted = 0.0  # stories stored before the next event
        self._read: dict[Path, int] = {}  # bytes of the ledgers
        self._done: set[str] = set()  # URLs of stored items
        self._server: Server | None = None
        url = f"lmdb://{folder}/store"
        if weather.store != "lmdb":
            self._server = Server(binaries()[weather.store], _SERVER_OPTIONS).start()
            url = self._server.laid_out(weather.layout)
        self._url = url
        settings = {
            "DEDUP_STORE": url,
            "DEDUP_LEASE": lease,
            "DEDUP_WAIT": 120,
            "DEDUP_ON_STORE_ERROR": weather.on_store_error,
            "DEDUP_STORE_PATIENCE": 120,
            "DEDUP_COMMIT": "feed_slot_closed" if weather.feeds else "item_scraped",
            "SLOW": 0.3,
        }
        self._crawls = Crawls(web.fronts, settings, weather.feeds)
        self._restarts = True
        self._workers = [self._begin(number) for number in range(workers)]

    def run(self) -> StormResult:
        """Let everything happen, then let one worker crawl everything undisturbed."""
        began = time.monotonic()
        try:
            for event in self._weather.events:
                self._await_moment()
                self._happen(event)
                self._happened[event] += 1
            self._calm()
            damage = assess(self._aftermath())
        finally:
            self._clear_up()
        return StormResult(damage, self._happened, len(self._web.distinct), time.monotonic() - began)

    # -- workers ------------------------------------------------------------------------------

    def _begin(self, number: int) -> StormWorker:
        folder = self._folder / str(number)
        return StormWorker(number, folder, self._crawls.start(folder, number, 0))

    def _bury(self, worker: StormWorker) -> None:
        """Record the end of a process."""
        worker.process.join()
        code, killed = worker.process.exitcode, worker.killed_after
        if code is not None and code < 0 and killed is None:
            killed = time.monotonic()  # a signal came before Scrapy handled signals
        has_begun = any(row["event"] == "begun" for row in rows(worker.ledger))
        if killed is None and code != 0 and has_begun:
            log = log_of(worker.folder, worker.life).read_text("utf-8", "replace")
            self._problems.append(f"worker {worker.number} (life {worker.life}) ended with {code}: …{log[-1500:]}")
        life = StormLife(worker.number, worker.life, killed, tuple(worker.stops))
        self._lives.append((life, worker.ledger))

    def _restart(self, worker: StormWorker) -> None:
        worker.life += 1
        worker.stops, worker.wakes, worker.ends, worker.killed_after = [], None, False, None
        worker.process = self._crawls.start(worker.folder, worker.number, worker.life)

    def _tick(self) -> None:
        time.sleep(TICK)
        for worker in self._workers:
            if worker.wakes is not None and time.monotonic() >= worker.wakes:
                self._wake(worker)
            if worker.process.exitcode is not None and self._restarts:
                self._bury(worker)
                self._restart(worker)

    def _wake(self, worker: StormWorker) -> None:
        worker.wakes = None
        worker.stops[-1] = Stop(worker.stops[-1].begin, time.monotonic())
        worker.send(signal.SIGCONT)

    def _running(self, *, begun: bool) -> list[StormWorker]:
        there = [worker for worker in self._workers if worker.process.exitcode is None and not worker.ends]
        if not begun:
            return there
        return [
            worker
            for worker in there
            if worker.wakes is None and any(r["event"] == "begun" for r in rows(worker.ledger))
        ]

    # -- events -------------------------------------------------------------------------------

    def _await_moment(self) -> None:
        """Wait for a share of the stories, so that the events are spread over the round, and a moment longer."""
        self._wanted += 2 * self._chance.random() * len(self._web.distinct) / len(self._weather.events)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and len(self._stored()) < self._wanted:
            for _ in range(5):
                self._tick()
        end = time.monotonic() + self._chance.uniform(0, 0.2)
        while time.monotonic() < end:
            self._tick()

    def _stored(self) -> set[str]:
        """Return the stories that are stored so far."""
        for path in self._folder.glob("*/ledger-*.jl"):
            with path.open("rb") as ledger:
                ledger.seek(self._read.get(path, 0))
                new = ledger.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._read[path] = self._read.get(path, 0) + len(whole)
            events = map(json.loads, whole.splitlines())
            self._done |= {event["url"] for event in events if event["event"] == "stored"}
        return {self._web.stories[url] for url in self._done if url in self._web.stories}

    def _happen(self, event: Event) -> None:
        if event is Event.KILL:
            self._kill()
        elif event in (Event.NAP, Event.SLEEP):
            self._stop(self._lease + 1.5 if event is Event.SLEEP else self._chance.uniform(0.05, self._lease / 3))
        elif event in _SIGNALS:
            self._end(event)
        else:
            self._until(lambda: not any(worker.ends for worker in self._workers))
            self._fail(event)

    def _kill(self) -> None:
        self._until(lambda: self._running(begun=False))
        victim = self._chance.choice(self._running(begun=False))
        self._strike(victim)
        self._tick()

    def _strike(self, victim: StormWorker) -> None:
        victim.killed_after = victim.killed_after or time.monotonic()
        victim.process.kill()
        victim.process.join()

    def _stop(self, seconds: float) -> None:
        self._until(lambda: self._running(begun=True))
        victim = self._chance.choice(self._running(begun=True))
        victim.send(signal.SIGSTOP)
        victim.stops.append(Stop(time.monotonic()))  # not before: this process may have to wait for a processor
        victim.wakes = time.monotonic() + seconds

    def _end(self, event: Event) -> None:
        self._until(lambda: self._running(begun=True))
        victim = self._chance.choice(self._running(begun=True))
        victim.ends = True
        victim.send(_SIGNALS[event])
        if event is Event.INTERRUPT_TWICE:
            end = time.monotonic() + self._chance.uniform(0.05, 0.3)
            while time.monotonic() < end:
                self._tick()
            if victim.ends and victim.process.exitcode is None:
                victim.killed_after = time.monotonic()
                victim.send(signal.SIGINT)

    def _until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + GUARD
        while not condition():
            self._tick()
            if time.monotonic() > end:
                raise TimeoutError(f"the storm stands still in {self._weather.name}: {self._folder}")

    # -- failures -----------------------------------------------------------------------------

    def _fail(self, event: Event) -> None:
        """Let the store or the disk fail for a while; a worker is killed meanwhile, and none is started."""
        self._restarts = False
        try:
            with self._failing(event):
                time.sleep(self._chance.uniform(0.2, 1.0))
                running = self._running(begun=False)
                if running:
                    self._strike(self._chance.choice(running))
                    self._happened[Event.KILL] += 1
                time.sleep(self._chance.uniform(0.2, 1.0))
        finally:
            self._restarts = True
        if event in LOSSES:
            self._losses.append(time.monotonic())

    @contextmanager
    def _failing(self, event: Event) -> Iterator[None]:
        if event is Event.DISK_FULL:
            with self._disk_full():
                yield
            return
        server = self._server
        assert server is not None
        if event is Event.DEAF:
            assert server.process is not None
            os.kill(server.process.pid, signal.SIGSTOP)
            yield
            os.kill(server.process.pid, signal.SIGCONT)
        elif event is Event.FULL:
            with self._commanded("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"):
                yield
        elif event is Event.READ_ONLY:
            with self._commanded("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"):
                yield
        else:
            with self._server_down(server, event):
                yield

    @contextmanager
    def _disk_full(self) -> Iterator[None]:
        limit = (self._folder / "store" / "data.mdb").stat().st_size
        running = [worker.process.pid or 0 for worker in self._workers if worker.process.exitcode is None]
        for pid in running:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        yield
        for pid in running:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    @contextmanager
    def _commanded(self, before: str, after: str) -> Iterator[None]:
        assert self._server is not None
        with self._server.client() as client:
            client.execute_command(*before.split())
            yield
            client.execute_command(*after.split())

    @contextmanager
    def _server_down(self, server: Server, event: Event) -> Iterator[None]:
        data, copy = server.folder / "appendonlydir", server.folder / "old"
        if event is Event.OLD:
            shutil.copytree(data, copy)
            seen = len(self._stored())
            end = time.monotonic() + 2 * PATIENCE
            while len(self._stored()) < seen + 5 and time.monotonic() < end:
                time.sleep(TICK)
        server.kill()
        if event in LOSSES:
            shutil.rmtree(data)
        if event is Event.OLD:
            copy.rename(data)
        yield
        server.start()

    # -- the end ------------------------------------------------------------------------------

    def _calm(self) -> None:
        """Let all crawls end; then one worker crawls everything once more."""
        for worker in self._workers:
            if worker.wakes is not None:
                self._wake(worker)
        self._until(lambda: not any(worker.ends for worker in self._workers))
        self._restarts = False
        self._finish(self._workers)
        self._restart(self._workers[0])
        self._finish(self._workers[:1])

    def _finish(self, workers: Sequence[StormWorker]) -> None:
        self._until(lambda: all(worker.process.exitcode is not None for worker in workers))
        for worker in workers:
            self._bury(worker)

    def _clear_up(self) -> None:
        for worker in self._workers:
            if worker.process.exitcode is None:
                worker.process.kill()
                worker.process.join()
        if self._server is not None:
            self._server.remove()

    def _aftermath(self) -> Aftermath:
        stories = self._web.stories
        items, replayed = list[StormItem](), Counter[str]()
        for life, ledger in self._lives:
            read = list(rows(ledger))
            committed = {row["url"]: row["at"] for row in read if row["event"] == "committed"}
            for row in read:
                story, url = stories.get(row.get("url", "")), row.get("url", "")
                if story is not None and row["event"] == "stored":
                    stored = (row["entered"], row["at"], row["reason"], committed.get(url))
                    items.append(StormItem(story, url, life, *stored))
                elif story is not None and row["event"] == "replayed":
                    replayed[story] += 1
        with Deduplicator(self._url, NAMESPACE, lease=self._lease) as beside:
            found = [each for each in beside.store.records() if each.state is ClaimState.COMMITTED]
            if self._server is not None:  # the leases of killed workers
                time.sleep(self._lease)
            beside.prune(0.0)
            info = beside.info()
        return Aftermath(
            stories=self._web.distinct,
            items=items,
            lease=self._lease,
            losses=self._losses,
            on_disk=stories_in_feeds(self._folder, stories) if self._weather.feeds else None,
            records=Counter(stories[each.record.url] for each in found if each.record.url in stories),
            replayed=replayed,
            overdue=info.open + info.scraped,
            problems=self._problems,
        )
