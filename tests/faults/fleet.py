"""Workers that are started, killed and started again, and their ledgers."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

from tests.faults.worker import main
from tests.forking import processes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from multiprocessing.process import BaseProcess
    from pathlib import Path

GUARD = 60.0  #: seconds that the end of a process may take
_FEED = "feed-{life}-%(batch_id)05d.jl"


@dataclass(frozen=True)
class Life:
    """One process of a worker, from its start to its end; moments are those of ``time.monotonic``."""

    worker: int
    number: int  #: 0 for the first process of this worker
    alive_until: float = float("inf")  #: a time at which it certainly still ran
    gone_by: float = float("inf")  #: Unix time at which it had certainly ended
    killed: bool = False

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"worker {self.worker} (life {self.number})"


@dataclass
class Worker:
    """A worker: its current process, and the earlier ones."""

    number: int
    folder: Path
    process: BaseProcess
    life: Life
    past: list[Life] = field(default_factory=list)

    @property
    def ledger(self) -> Path:
        """The ledger of the current process."""
        return ledger_of(self.folder, self.life.number)


@dataclass(frozen=True)
class Crawls:
    """The crawls of all workers: the same pages with the same settings, each in an order of its own."""

    fronts: Sequence[str]  #: URLs of the front pages
    settings: Mapping[str, Any]
    feeds: int = 0  #: items of each file of the feed; 0: no feed

    def start(self, folder: Path, worker: int, life: int) -> BaseProcess:
        """Start a process of a worker; ``folder`` is for its ledger, log and feed."""
        folder.mkdir(exist_ok=True)
        order = Random(f"{worker} {life}").sample(self.fronts, len(self.fronts))
        settings = {**self.settings, "LEDGER": str(ledger_of(folder, life))}
        if self.feeds:
            options = {"format": "jsonlines", "batch_item_count": self.feeds}
            settings["FEEDS"] = {_FEED.format(life=life): options}
        process = processes().Process(target=main, args=(str(folder), str(log_of(folder, life)), order, settings))
        process.start()
        return process


class Fleet:
    """Workers that crawl the same web, each all of it, and share a store.

    A restarted worker crawls everything again, in another order. Of its earlier pages it has only what is in
    the store.

    Args:
        folder: for ledgers, logs and feeds.
        crawls: of all workers.
        workers: their number.
    """

    def __init__(self, folder: Path, crawls: Crawls, workers: int) -> None:
        self.crawls = crawls
        self.folder = folder
        self.workers = [self.begin(number, Life(number, 0)) for number in range(workers)]

    def begin(self, number: int, life: Life) -> Worker:
        folder = self.folder / str(number)
        return Worker(number, folder, self.crawls.start(folder, number, life.number), life)

    def kill(self, worker: Worker) -> None:
        """Kill the process of a worker (SIGKILL)."""
        alive_until = time.monotonic()
        worker.process.kill()
        worker.process.join(GUARD)
        killed = worker.process.exitcode == -signal.SIGKILL  # otherwise it had ended just before
        worker.past.append(replace(worker.life, alive_until=alive_until, gone_by=time.time(), killed=killed))

    def restart(self, worker: Worker) -> None:
        """Restart a killed worker."""
        worker.life = Life(worker.number, worker.life.number + 1)
        worker.process = self.crawls.start(worker.folder, worker.number, worker.life.number)

    @property
    def works(self) -> bool:
        """Whether any worker is still running."""
        return any(worker.process.is_alive() for worker in self.workers)

    def dismiss(self) -> None:
        """Record that all workers have ended."""
        for worker in self.workers:
            worker.process.join(GUARD)
            worker.past.append(replace(worker.life, gone_by=time.time()))

    def check(self) -> None:
        """Raise an error if a worker ended that should still run."""
        for worker in self.workers:
            assert worker.process.exitcode in (None, 0, -signal.SIGKILL), (
                f"{worker.life.name} failed: {self.log(worker)}"
            )

    def end(self) -> None:
        """End the remaining processes."""
        for worker in self.workers:
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join(GUARD)

    @property
    def lives(self) -> list[Life]:
        """All processes that have ended."""
        return [life for worker in self.workers for life in worker.past]

    def entries(self) -> Iterator[tuple[Life, dict[str, Any]]]:
        """Read all ledgers."""
        for worker in self.workers:
            for life in worker.past:
                for entry in rows(ledger_of(worker.folder, life.number)):
                    yield life, entry

    def logs(self) -> str:
        """Return the logs of all workers."""
        return "\n".join(path.read_text("utf-8", "replace") for path in self.folder.glob("*/log-*"))

    def log(self, worker: Worker) -> str:
        """Return the end of a worker's log."""
        path = log_of(worker.folder, worker.life.number)
        return path.read_text("utf-8", "replace")[-3000:] if path.exists() else ""


def ledger_of(folder: Path, life: int) -> Path:
    """Return the path of the ledger of a process of a worker."""
    return folder / f"ledger-{life}.jl"


def log_of(folder: Path, life: int) -> Path:
    """Return the path of the log of a process of a worker."""
    return folder / f"log-{life}"


def stories_in_feeds(folder: Path, stories: Mapping[str, str]) -> frozenset[str]:
    """Return the stories of the items in the feeds of all workers; ``stories`` are those of the URLs."""
    urls = {row["url"] for path in folder.glob("*/feed-*.jl") for row in rows(path)}
    return frozenset(stories[url] for url in urls if url in stories)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read JSON Lines; an incomplete last line, the result of a kill, is ignored."""
    text = path.read_bytes().decode("utf-8", "replace") if path.exists() else ""
    for line in text.split("\n")[:-1]:
        if line:
            yield json.loads(line)
