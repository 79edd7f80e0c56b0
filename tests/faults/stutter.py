"""Workers crawl while their store falters: it pauses for longer than a call may take, is far away, loses connections.

No worker is killed, and the server loses nothing. So every stored page must be on record when all crawls have finished:
under its URL, or under that of a page with the same story.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Any

from dedupcrawl import Deduplicator
from dedupcrawl.stores.base import ClaimState
from tests.crawl.running import PATIENCE, start
from tests.crawl.site import Site, fancy, plain, text
from tests.stores.proxy import Proxy
from tests.stores.servers import Cluster, Server, started

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.crawl.running import Running

NAMESPACE = "reader"  #: name of the spider
LAYOUTS = (plain, fancy)  #: of the copies of a story, one for each worker
EXCUSED = ("store", "claimed")  #: reasons for which a page may be stored twice: it was kept unchecked


class Fault(StrEnum):
    """What happens to the servers."""

    PAUSE = "pause"  #: they execute no command (``CLIENT PAUSE``)
    STOP = "stop"  #: their processes are stopped (SIGSTOP)
    CUT = "cut"  #: connections are cut a few times


@dataclass(frozen=True)
class Plan:
    """The parameters of a run."""

    faults: Sequence[Fault]  #: one of them at a time, drawn by the seed
    seed: int = 1
    pages: int = 700  #: of the site; each worker crawls all of them
    workers: int = 1  #: each story has as many copies
    timeout: float = 0.5  #: ``socket_timeout`` in seconds
    delay: float = 0.0  #: seconds of each direction of the network
    pause: tuple[float, float] = (1.0, 3.0)  #: shortest and longest pause in seconds
    gap: tuple[float, float] = (0.2, 1.4)  #: shortest and longest time in seconds between two of them
    times: int = 12  #: number of faults, spread over the requests of the crawls
    is_sharded: bool = False  #: the namespace is on all nodes of a cluster
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stories(self) -> int:
        """How many different pages there are."""
        return self.pages // self.workers


@dataclass(frozen=True)
class Stored:
    """An item that a worker has stored."""

    url: str
    worker: int
    reason: str | None  #: why its page is unchecked

    @property
    def story(self) -> str:
        """The number of its story."""
        return self.url.rpartition("/")[2]


@dataclass(frozen=True)
class Result:
    """The result of a run."""

    stored: Sequence[Stored]
    on_record: frozenset[str]  #: URLs
    stats: Sequence[Mapping[str, int]]  #: of the workers, without ``dedup/``
    reasons: Sequence[str]  #: finish reasons
    spools: Sequence[Path]  #: files that are left
    seconds: float
    plan: Plan

    @property
    def lost(self) -> frozenset[str]:
        """Stories that no worker has stored."""
        return frozenset(map(str, range(self.plan.stories))) - {each.story for each in self.stored}

    @property
    def left_behind(self) -> frozenset[str]:
        """URLs of stored pages if the store knows neither the URL nor the story."""
        known = {url.rpartition("/")[2] for url in self.on_record}
        return frozenset(each.url for each in self.stored if each.url not in self.on_record and each.story not in known)

    @property
    def twice(self) -> Sequence[Sequence[Stored]]:
        """Stories that were stored twice although both pages were checked."""
        by_story = defaultdict(list)
        for each in self.stored:
            if each.reason not in EXCUSED:
                by_story[each.story].append(each)
        return [stored for stored in by_story.values() if len(stored) > 1]

    @property
    def faults(self) -> list[str]:
        """All violations of the rules."""
        undelivered = sum(each.get("spool/added", 0) for each in self.stats) - self.count(
            "spool/filed", "spool/repeats"
        )
        return [
            *(f"story {story} is not stored" for story in sorted(self.lost)),
            *(f"{url} is stored, and on no record" for url in sorted(self.left_behind)),
            *(f"stored twice by living workers: {stored}" for stored in self.twice),
            *(f"{path} is left" for path in self.spools),
            *(f"a crawl ended with {reason!r}" for reason in self.reasons if reason != "finished"),
            *([f"{undelivered} pages of the spools were not delivered"] if undelivered else []),
        ]

    def count(self, *names: str) -> int:
        """Return the sum of stats of all workers."""
        return sum(each.get(name, 0) for each in self.stats for name in names)


class Stutter(threading.Thread):
    """Makes the servers falter, whenever the crawls have made a part of their requests.

    Args:
        plan: what happens.
        servers: that falter together.
        proxy: through which the workers reach them; None: directly.
    """

    def __init__(self, plan: Plan, servers: Sequence[Server], proxy: Proxy | None) -> None:
        super().__init__(daemon=True)
        self._plan = plan
        self._servers = servers
        self._proxy = proxy
        self._chance = Random(plan.seed)
        self._due = threading.Semaphore(0)
        self._ended = threading.Event()
        self._each = max(1, plan.pages * plan.workers // (plan.times + 1))

    def note(self, requests: int) -> None:
        """Take note that the site has got so many requests."""
        if requests % self._each == 0:
            self._due.release()

    def end(self) -> None:
        """End the faults."""
        self._ended.set()
        self._due.release()
        self.join()

    def run(self) -> None:
        """Let faults follow one another with short intervals in between."""
        while self._due.acquire() and not self._ended.is_set():
            self._falter(self._chance.choice(self._plan.faults))
            self._ended.wait(self._chance.uniform(*self._plan.gap))

    def _falter(self, fault: Fault) -> None:
        seconds = self._chance.uniform(*self._plan.pause)
        if fault is Fault.CUT:
            for _ in range(self._chance.randint(3, 12)):
                self._cut()
                self._ended.wait(self._chance.uniform(0, 0.3))
        elif fault is Fault.PAUSE:
            for server in self._servers:
                with server.client() as client:
                    client.client_pause(int(1000 * seconds), all=True)
            time.sleep(seconds)
        else:
            with stopped(self._servers):
                time.sleep(seconds)

    def _cut(self) -> None:
        if self._proxy is not None:
            self._proxy.cut()
            return
        for server in self._servers:
            with server.client() as client:
                client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


@contextmanager
def stopped(servers: Sequence[Server]) -> Iterator[None]:
    """Stop the processes of servers as long as the context lasts."""
    running = [server.process.pid for server in servers if server.process is not None]
    for process in running:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in running:
            os.kill(process, signal.SIGCONT)


def run(plan: Plan, folder: Path) -> Result:
    """Make a run, with the folders of the workers in ``folder``."""
    began = time.monotonic()
    with ExitStack() as stack:
        site = stack.enter_context(Site())
        urls = pages(site, plan)
        servers, store = stack.enter_context(serving(plan))
        proxy = stack.enter_context(Proxy(servers[0].port, plan.delay)) if plan.delay and not plan.is_sharded else None
        reached = store if proxy is None else f"redis://127.0.0.1:{proxy.port}/0"
        stutter = Stutter(plan, servers, proxy)
        site.on_request = stutter.note
        workers = [begin(folder / str(n), plan, reached, urls, n) for n in range(plan.workers)]
        stutter.start()
        try:
            for worker in workers:
                worker.process.join(PATIENCE)
        finally:
            stutter.end()
        return gather(plan, workers, store, folder, time.monotonic() - began)


def pages(site: Site, plan: Plan) -> list[str]:
    """Put all pages on the site; return their URLs."""
    chance = Random(plan.seed)
    return [
        site.put(f"/{copy}/{n}", LAYOUTS[copy](f"T{n}", text(n)), delay=chance.uniform(0.2, 0.3))
        for n in range(plan.stories)
        for copy in range(plan.workers)
    ]


@contextmanager
def serving(plan: Plan) -> Iterator[tuple[Sequence[Server], str]]:
    """Run a server, or a cluster without replicas; yield its processes and the URL of the store."""
    if not plan.is_sharded:
        with started() as server:
            yield [server], server.url
        return
    cluster = Cluster(replicas=0)
    try:
        cluster.start()
        yield cluster.nodes, cluster.url
    finally:
        cluster.remove()


def begin(folder: Path, plan: Plan, store: str, urls: Sequence[str], worker: int) -> Running:
    """Start a worker, which crawls all pages in an order of its own."""
    folder.mkdir()
    order = Random(f"{plan.seed} {worker}").sample(urls, len(urls))
    settings = {
        "DEDUP_STORE": f"{store}?socket_timeout={plan.timeout}",
        "DEDUP_WAIT": 60,
        "DEDUP_CLOSE_PATIENCE": 120,
        "CONCURRENT_REQUESTS": 8,
        "ITEM_PIPELINES": {"tests.crawl.components.Slow": 300},
        "SLOW": 0.15,
        "LOG_LEVEL": "INFO",
        **plan.settings,
    }
    return start(folder, ("Reader", {"urls": order}), settings=settings)


def gather(plan: Plan, workers: Sequence[Running], store: str, folder: Path, seconds: float) -> Result:
    """Collect the results of all workers, and what is on record."""
    for worker in workers:
        assert worker.process.exitcode == 0, worker.output[-5000:]
    reports = [json.loads(worker.report.read_text())["reports"][0] for worker in workers]
    with Deduplicator(store, NAMESPACE) as beside:
        on_record = frozenset(each.record.url for each in beside.store.records() if each.state is ClaimState.COMMITTED)
    return Result(
        stored=[
            Stored(item["url"], worker, (verdict or {}).get("reason"))
            for worker, report in enumerate(reports)
            for item, verdict in zip(report["items"], report["verdicts"], strict=True)
        ],
        on_record=on_record,
        stats=[
            {name.removeprefix("dedup/"): value for name, value in report["stats"].items() if name.startswith("dedup/")}
            for report in reports
        ],
        reasons=[report["reason"] for report in reports],
        spools=[*folder.rglob("*.sqlite")],
        seconds=seconds,
        plan=plan,
    )
