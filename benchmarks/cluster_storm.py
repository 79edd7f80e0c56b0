"""The storm of ``python -m benchmarks.cluster storm``: workers are killed while nodes fail and slots move."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from redis.crc import key_slot

from benchmarks.judged import BATCH, SameStory, is_waiting, small_page
from benchmarks.shared import page_of
from dedupcrawl.errors import StoreError
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import FILE_ANYWAY, JudgedOffer, JudgedStore
from dedupcrawl.stores.redis.sharded.layout import TAGS
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable

    from dedupcrawl.stores.base import Record
    from tests.stores.servers import Cluster

T = TypeVar("T")

STORM_WORKERS = 4
LEASE = 20.0  #: seconds: several times a failover


def patiently(call: Callable[[], T]) -> T:
    """Call until the store answers."""
    while True:
        try:
            return call()
        except StoreError:
            time.sleep(0.2)


def storm_worker(url: str, number: int, stories: int, file: str) -> None:
    """Offer all stories in random order; write what is kept before it is committed, and after.

    As a crawl with DEDUP_ON_STORE_ERROR = "wait".
    """
    random = Random(number)
    order = list(range(stories))
    random.shuffle(order)
    store = patiently(lambda: open_store(url, namespace="storm", scheme={}, lease=LEASE))
    assert isinstance(store, JudgedStore)
    with Path(file).open("ab", 0) as out:
        worker = _StormWorker(store, out)
        for some in chunked(order, BATCH):
            waiting = [replace(small_page(n), url=f"https://{number}.example/{n}", seen=time.time()) for n in some]
            while waiting:
                waiting = worker.offer(waiting)
        worker.offer([])
    patiently(store.close)
    os._exit(0)


class _StormWorker:
    """Offers pages with the commits of those that it has kept before.

    Args:
        store: of the worker.
        out: file for what it keeps, without a buffer.
    """

    def __init__(self, store: JudgedStore, out: Any) -> None:
        self._store = store
        self._out = out
        self._claims: dict[int, Record] = {}

    def offer(self, pages: list[Record]) -> list[Record]:
        """Offer pages; return those that are not decided yet."""
        offers = [JudgedOffer(page, SameStory(page)) for page in pages]
        count, ends = patiently(lambda: self._store.commit_and_offer(self._claims, offers))
        if count < len(self._claims):
            self._file_again()
        self._out.write(b"".join(b"c" + page.sketches[0] for page in self._claims.values()))
        self._claims = {end.id: page for end, page in zip(ends, pages, strict=True) if end.id is not None}
        self._out.write(b"".join(b"k" + page.sketches[0] for page in self._claims.values()))
        left = [page for end, page in zip(ends, pages, strict=True) if is_waiting(end, page)]
        if pages and len(left) == len(pages):
            time.sleep(0.02)
        return left

    def _file_again(self) -> None:
        """File claims that were lost again, as Deduplicator.commit does: they are stored."""
        for claim, page in self._claims.items():
            if patiently(partial(self._store.get, claim)) is None:
                patiently(partial(self._store.add, page, FILE_ANYWAY))


class Storm:
    """Workers that are killed while nodes fail and slots move."""

    def __init__(self, cluster: Cluster, url: str, folder: Path, stories: int, kills: int, failovers: int) -> None:
        self.cluster, self.folder, self.stories = cluster, folder, stories
        self.url = url
        self.kills, self.failovers = kills, failovers
        self.random = Random(1)
        self.context = multiprocessing.get_context("fork")
        self.started = 0
        self.running: dict[int, Any] = {}
        self.killed: set[int] = set()
        self.events = Counter[str]()
        self.begun = 0  #: failovers
        self.done = threading.Event()

    def start(self) -> None:
        """Start a worker."""
        self.started += 1
        file = str(self.folder / str(self.started))
        job = self.context.Process(target=storm_worker, args=(self.url, self.started, self.stories, file))
        job.start()
        self.running[self.started] = job

    def run(self) -> None:
        """Make the storm, and wait until all workers have offered all stories."""
        for _ in range(STORM_WORKERS):
            self.start()
        weather = threading.Thread(target=self._weather)
        weather.start()
        while self.events["kills"] < self.kills or not self.done.is_set():
            time.sleep(self.random.uniform(0.02, 0.4))
            for number in [number for number, job in self.running.items() if not job.is_alive()]:
                self.running.pop(number).join()
                self.start()
            if self.events["kills"] < self._kills_so_far():
                self._kill()
        weather.join()
        for job in self.running.values():
            job.join()

    def _kills_so_far(self) -> int:
        """Return how many kills are due: they are spread over the failovers, which may take longer than expected."""
        return self.kills if self.done.is_set() else self.kills * self.begun // max(1, self.failovers)

    def _kill(self) -> None:
        """Kill a worker, and start another one in its place."""
        number, job = self.random.choice([*self.running.items()])
        job.kill()
        job.join()
        if job.exitcode == -signal.SIGKILL:
            self.killed.add(number)
            self.events["kills"] += 1
        del self.running[number]
        self.start()

    def _weather(self) -> None:
        try:
            for number in range(self.failovers):
                self.begun = number + 1
                self._fail_over(number)
                self.cluster.wait(self.cluster.is_whole)
                for turn in range(5):
                    tag = self.random.randrange(TAGS)
                    self.cluster.move_slot(key_slot(f"{{storm:{tag:x}}}".encode()), turn)
                    self.events["slots moved"] += 1
        finally:
            self.done.set()

    def _fail_over(self, number: int) -> None:
        replicas = [node for node in self.cluster.nodes if self.cluster.role(node) == "slave"]
        if number % 2:
            self.cluster.fail_over(self.random.choice(replicas))
            self.events["failovers by command"] += 1
            return
        victim = self.random.choice(self.cluster.primaries())
        victim.kill()
        self.cluster.wait(lambda: len(self.cluster.primaries()) == 3)
        victim.start()
        self.events["failovers after a kill"] += 1

    def damage(self) -> tuple[int, int, int]:
        """Return how many stories are lost, stored twice without a reason, and again after a kill."""
        written: dict[bytes, list[tuple[int, bool]]] = {}
        for number in range(1, self.started + 1):
            path = self.folder / str(number)
            data = path.read_bytes() if path.exists() else b""
            entries = {data[at : at + 17] for at in range(0, len(data) - 16, 17)}
            for entry in entries:
                if entry[:1] == b"k":
                    is_sure = number not in self.killed or b"c" + entry[1:] in entries
                    written.setdefault(entry[1:], []).append((number, is_sure))
        lost = sum(page_of(n).sketches[0] not in written for n in range(self.stories))
        twice = sum(sum(is_sure for _, is_sure in each) > 1 for each in written.values())
        again = sum(len(each) > 1 for each in written.values()) - twice
        return lost, twice, again
