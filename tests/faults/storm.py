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
        self.lease = lease
        self.weather = weather
        self.web = web
        self.folder = folder
        self.chance = Random(weather.seed)
        self.lives: list[tuple[StormLife, Path]] = []
        self.happened: Counter[Event] = Counter()
        self.problems: list[str] = []
        self.losses: list[float] = []
        self.wanted = 0.0  # stories stored before the next event
        self.read: dict[Path, int] = {}  # bytes of the ledgers
        self.done: set[str] = set()  # URLs of stored items
        self.server: Server | None = None
        url = f"lmdb://{folder}/store"
        if weather.store != "lmdb":
            self.server = Server(binaries()[weather.store], _SERVER_OPTIONS).start()
            url = self.server.laid_out(weather.layout)
        self.url = url
        settings = {
            "DEDUP_STORE": url,
            "DEDUP_LEASE": lease,
            "DEDUP_WAIT": 120,
            "DEDUP_ON_STORE_ERROR": weather.on_store_error,
            "DEDUP_STORE_PATIENCE": 120,
            "DEDUP_COMMIT": "feed_slot_closed" if weather.feeds else "item_scraped",
            "SLOW": 0.3,
        }
        self.crawls = Crawls(web.fronts, settings, weather.feeds)
        self.restarts = True
        self.workers = [self.begin(number) for number in range(workers)]

    def run(self) -> StormResult:
        """Let everything happen, then let one worker crawl everything undisturbed."""
        began = time.monotonic()
        try:
            for event in self.weather.events:
                self.await_moment()
                self.happen(event)
                self.happened[event] += 1
            self.calm()
            damage = assess(self.aftermath())
        finally:
            self.clear_up()
        return StormResult(damage, self.happened, len(self.web.distinct), time.monotonic() - began)

    # -- workers ------------------------------------------------------------------------------

    def begin(self, number: int) -> StormWorker:
        folder = self.folder / str(number)
        return StormWorker(number, folder, self.crawls.start(folder, number, 0))

    def bury(self, worker: StormWorker) -> None:
        """Record the end of a process."""
        worker.process.join()
        code, killed = worker.process.exitcode, worker.killed_after
        if code is not None and code < 0 and killed is None:
            killed = time.monotonic()  # a signal came before Scrapy handled signals
        has_begun = any(row["event"] == "begun" for row in rows(worker.ledger))
        if killed is None and code != 0 and has_begun:
            log = log_of(worker.folder, worker.life).read_text("utf-8", "replace")
            self.problems.append(f"worker {worker.number} (life {worker.life}) ended with {code}: …{log[-1500:]}")
        life = StormLife(worker.number, worker.life, killed, tuple(worker.stops))
        self.lives.append((life, worker.ledger))

    def restart(self, worker: StormWorker) -> None:
        worker.life += 1
        worker.stops, worker.wakes, worker.ends, worker.killed_after = [], None, False, None
        worker.process = self.crawls.start(worker.folder, worker.number, worker.life)

    def tick(self) -> None:
        time.sleep(TICK)
        for worker in self.workers:
            if worker.wakes is not None and time.monotonic() >= worker.wakes:
                self.wake(worker)
            if worker.process.exitcode is not None and self.restarts:
                self.bury(worker)
                self.restart(worker)

    def wake(self, worker: StormWorker) -> None:
        worker.wakes = None
        worker.stops[-1] = Stop(worker.stops[-1].begin, time.monotonic())
        worker.send(signal.SIGCONT)

    def running(self, *, begun: bool) -> list[StormWorker]:
        there = [worker for worker in self.workers if worker.process.exitcode is None and not worker.ends]
        if not begun:
            return there
        return [
            worker
            for worker in there
            if worker.wakes is None and any(r["event"] == "begun" for r in rows(worker.ledger))
        ]

    # -- events -------------------------------------------------------------------------------

    def await_moment(self) -> None:
        """Wait for a share of the stories, so that the events are spread over the round, and a moment longer."""
        self.wanted += 2 * self.chance.random() * len(self.web.distinct) / len(self.weather.events)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and len(self.stored()) < self.wanted:
            for _ in range(5):
                self.tick()
        end = time.monotonic() + self.chance.uniform(0, 0.2)
        while time.monotonic() < end:
            self.tick()

    def stored(self) -> set[str]:
        """Return the stories that are stored so far."""
        for path in self.folder.glob("*/ledger-*.jl"):
            with path.open("rb") as ledger:
                ledger.seek(self.read.get(path, 0))
                new = ledger.read()
            whole = new[: new.rfind(b"\n") + 1]
            self.read[path] = self.read.get(path, 0) + len(whole)
            events = map(json.loads, whole.splitlines())
            self.done |= {event["url"] for event in events if event["event"] == "stored"}
        return {self.web.stories[url] for url in self.done if url in self.web.stories}

    def happen(self, event: Event) -> None:
        if event is Event.KILL:
            self.kill()
        elif event in (Event.NAP, Event.SLEEP):
            self.stop(self.lease + 1.5 if event is Event.SLEEP else self.chance.uniform(0.05, self.lease / 3))
        elif event in _SIGNALS:
            self.end(event)
        else:
            self.until(lambda: not any(worker.ends for worker in self.workers))
            self.fail(event)

    def kill(self) -> None:
        self.until(lambda: self.running(begun=False))
        victim = self.chance.choice(self.running(begun=False))
        self.strike(victim)
        self.tick()

    def strike(self, victim: StormWorker) -> None:
        victim.killed_after = victim.killed_after or time.monotonic()
        victim.process.kill()
        victim.process.join()

    def stop(self, seconds: float) -> None:
        self.until(lambda: self.running(begun=True))
        victim = self.chance.choice(self.running(begun=True))
        victim.send(signal.SIGSTOP)
        victim.stops.append(Stop(time.monotonic()))  # not before: this process may have to wait for a processor
        victim.wakes = time.monotonic() + seconds

    def end(self, event: Event) -> None:
        self.until(lambda: self.running(begun=True))
        victim = self.chance.choice(self.running(begun=True))
        victim.ends = True
        victim.send(_SIGNALS[event])
        if event is Event.INTERRUPT_TWICE:
            end = time.monotonic() + self.chance.uniform(0.05, 0.3)
            while time.monotonic() < end:
                self.tick()
            if victim.ends and victim.process.exitcode is None:
                victim.killed_after = time.monotonic()
                victim.send(signal.SIGINT)

    def until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + GUARD
        while not condition():
            self.tick()
            if time.monotonic() > end:
                raise TimeoutError(f"the storm stands still in {self.weather.name}: {self.folder}")

    # -- failures -----------------------------------------------------------------------------

    def fail(self, event: Event) -> None:
        """Let the store or the disk fail for a while; a worker is killed meanwhile, and none is started."""
        self.restarts = False
        try:
            with self.failing(event):
                time.sleep(self.chance.uniform(0.2, 1.0))
                running = self.running(begun=False)
                if running:
                    self.strike(self.chance.choice(running))
                    self.happened[Event.KILL] += 1
                time.sleep(self.chance.uniform(0.2, 1.0))
        finally:
            self.restarts = True
        if event in LOSSES:
            self.losses.append(time.monotonic())

    @contextmanager
    def failing(self, event: Event) -> Iterator[None]:
        if event is Event.DISK_FULL:
            with self.disk_full():
                yield
            return
        server = self.server
        assert server is not None
        if event is Event.DEAF:
            assert server.process is not None
            os.kill(server.process.pid, signal.SIGSTOP)
            yield
            os.kill(server.process.pid, signal.SIGCONT)
        elif event is Event.FULL:
            with self.commanded("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"):
                yield
        elif event is Event.READ_ONLY:
            with self.commanded("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"):
                yield
        else:
            with self.server_down(server, event):
                yield

    @contextmanager
    def disk_full(self) -> Iterator[None]:
        limit = (self.folder / "store" / "data.mdb").stat().st_size
        running = [worker.process.pid or 0 for worker in self.workers if worker.process.exitcode is None]
        for pid in running:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        yield
        for pid in running:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    @contextmanager
    def commanded(self, before: str, after: str) -> Iterator[None]:
        assert self.server is not None
        with self.server.client() as client:
            client.execute_command(*before.split())
            yield
            client.execute_command(*after.split())

    @contextmanager
    def server_down(self, server: Server, event: Event) -> Iterator[None]:
        data, copy = server.folder / "appendonlydir", server.folder / "old"
        if event is Event.OLD:
            shutil.copytree(data, copy)
            seen = len(self.stored())
            end = time.monotonic() + 2 * PATIENCE
            while len(self.stored()) < seen + 5 and time.monotonic() < end:
                time.sleep(TICK)
        server.kill()
        if event in LOSSES:
            shutil.rmtree(data)
        if event is Event.OLD:
            copy.rename(data)
        yield
        server.start()

    # -- the end ------------------------------------------------------------------------------

    def calm(self) -> None:
        """Let all crawls end; then one worker crawls everything once more."""
        for worker in self.workers:
            if worker.wakes is not None:
                self.wake(worker)
        self.until(lambda: not any(worker.ends for worker in self.workers))
        self.restarts = False
        self.finish(self.workers)
        self.restart(self.workers[0])
        self.finish(self.workers[:1])

    def finish(self, workers: Sequence[StormWorker]) -> None:
        self.until(lambda: all(worker.process.exitcode is not None for worker in workers))
        for worker in workers:
            self.bury(worker)

    def clear_up(self) -> None:
        for worker in self.workers:
            if worker.process.exitcode is None:
                worker.process.kill()
                worker.process.join()
        if self.server is not None:
            self.server.remove()

    def aftermath(self) -> Aftermath:
        stories = self.web.stories
        items, replayed = list[StormItem](), Counter[str]()
        for life, ledger in self.lives:
            read = list(rows(ledger))
            committed = {row["url"]: row["at"] for row in read if row["event"] == "committed"}
            for row in read:
                story, url = stories.get(row.get("url", "")), row.get("url", "")
                if story is not None and row["event"] == "stored":
                    stored = (row["entered"], row["at"], row["reason"], committed.get(url))
                    items.append(StormItem(story, url, life, *stored))
                elif story is not None and row["event"] == "replayed":
                    replayed[story] += 1
        with Deduplicator(self.url, NAMESPACE, lease=self.lease) as beside:
            found = [each for each in beside.store.records() if each.state is ClaimState.COMMITTED]
            if self.server is not None:  # the leases of killed workers
                time.sleep(self.lease)
            beside.prune(0.0)
            info = beside.info()
        return Aftermath(
            stories=self.web.distinct,
            items=items,
            lease=self.lease,
            losses=self.losses,
            on_disk=stories_in_feeds(self.folder, stories) if self.weather.feeds else None,
            records=Counter(stories[each.record.url] for each in found if each.record.url in stories),
            replayed=replayed,
            overdue=info.open + info.scraped,
            problems=self.problems,
        )
