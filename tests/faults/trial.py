"""One run: workers crawl, are killed and started again, and the server restarts under them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dedupcrawl import Deduplicator
from dedupcrawl.stores.base import ClaimState
from tests.faults.fleet import Crawls, Fleet, Worker, rows, stories_in_feeds
from tests.faults.observer import Observer
from tests.faults.verdict import Evidence, Stored, faults, summary
from tests.faults.worker import NAMESPACE
from tests.stores.servers import PERSISTENT, Server, binaries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.faults.web import Web

GLANCE = 0.01  #: seconds between two snapshots of the server


@dataclass(frozen=True)
class Plan:
    """The parameters of a run."""

    kills: int  #: one of them while the server is away
    lease: float  #: DEDUP_LEASE
    wait: float  #: DEDUP_WAIT
    workers: int = 4
    pause: float = 0.0  #: least seconds between two kills
    outage: float = 0.5  #: seconds for which the server is away
    crash: bool = False  #: the server is killed as well; False: it is shut down (SIGTERM)
    on_store_error: str = "wait"
    feeds: int = 0  #: items of a feed's file; 0: items are stored by a pipeline
    guard: float = 600.0  #: seconds after which a run counts as hanging
    slow: float = 0.1  #: seconds that an item spends in the pipelines before it is stored, and again after

    @property
    def waits(self) -> bool:
        """Whether a crawl that finds no server waits for it; otherwise it ends before its first request."""
        return self.on_store_error == "wait"

    @property
    def settings(self) -> dict[str, object]:
        """The settings of all workers."""
        return {
            "DEDUP_LEASE": self.lease,
            "DEDUP_WAIT": self.wait,
            "DEDUP_ON_STORE_ERROR": self.on_store_error,
            "DEDUP_COMMIT": "feed_slot_closed" if self.feeds else "item_scraped",
            "SLOW": self.slow,
        }


@dataclass(frozen=True)
class Result:
    """The result of a run."""

    evidence: Evidence
    summary: str  #: the counts
    log: str

    @property
    def faults(self) -> list[str]:
        """All violations of the rules."""
        return faults(self.evidence)


class Trial:
    """A run: a fleet, its server, and the failures caused in them.

    Kills depend on progress, not on time: they are spread over the commits of the stories, and each kills a
    worker with open claims. So the speed of the machine does not matter.
    """

    def __init__(self, plan: Plan, web: Web, folder: Path) -> None:
        self.plan = plan
        self.web = web
        self.struck = 0  #: claims that were open when their workers were killed
        self.deadline = time.monotonic() + plan.guard
        self.last = 0.0
        self.server = Server(next(iter(binaries().values())), PERSISTENT).start()
        try:
            settings = {**plan.settings, "DEDUP_STORE": self.server.url}
            self.observer = Observer(self.server, NAMESPACE)
            self.fleet = Fleet(folder, Crawls(web.fronts, settings, plan.feeds), plan.workers)
        except BaseException:
            self.server.remove()
            raise

    def run(self) -> Result:
        """Run until all workers have ended."""
        began = time.monotonic()
        try:
            for number in range(self.plan.kills):
                self.await_progress((number + 1) / (self.plan.kills + 2))
                self.strike(away=number == self.plan.kills // 2)
            while self.fleet.works:
                self.glance(5 * GLANCE)
            self.fleet.check()
            self.fleet.dismiss()
            evidence = self.gather()
        finally:
            self.fleet.end()
            self.server.remove()
        seconds = f"{time.monotonic() - began:.1f}"
        counts = summary(
            evidence,
            **{
                "claims open at the kills": self.struck,
                "most claims at once": self.observer.most,
                "longest that a claim was open, seconds": f"{self.observer.longest:.1f}",
                "seconds": seconds,
            },
        )
        return Result(evidence, counts, self.fleet.logs())

    # -- failures ------------------------------------------------------------------------------

    def await_progress(self, share: float) -> None:
        wanted = share * len(self.web.distinct)
        self.until(lambda: self.observer.committed >= wanted and time.monotonic() >= self.last + self.plan.pause)

    def strike(self, *, away: bool) -> None:
        """Kill a worker and start it again; ``away``: during an outage of the server."""
        if away and not self.plan.waits:
            self.until(lambda: all(map(_tokens, self.fleet.workers)))
        self.until(lambda: any(map(self.claims_of, self.fleet.workers)))
        victim = max(self.fleet.workers, key=lambda each: (bool(self.claims_of(each)), -each.life.number))
        self.struck += self.claims_of(victim)
        if away:
            self.interrupt(victim)
        else:
            self.fleet.kill(victim)
            self.fleet.restart(victim)
        self.last = time.monotonic()

    def interrupt(self, victim: Worker) -> None:
        """Stop the server and start it again; kill a worker in between."""
        (self.server.kill if self.plan.crash else self.server.stop)()
        time.sleep(self.plan.outage)
        self.fleet.kill(victim)
        if self.plan.waits:
            self.fleet.restart(victim)
        self.server.start()
        if not self.plan.waits:
            self.fleet.restart(victim)

    def claims_of(self, worker: Worker) -> int:
        if not worker.process.is_alive():
            return 0
        tokens = _tokens(worker)
        return sum(held.token in tokens for held in self.observer.claims.values())

    def until(self, condition: Callable[[], bool]) -> None:
        self.glance(GLANCE)
        while not condition():
            assert self.fleet.works, f"the crawls were over too soon; {self.struck} claims were struck"
            self.glance(GLANCE)

    def glance(self, pause: float) -> None:
        time.sleep(pause)
        self.observer.look()
        self.fleet.check()
        assert time.monotonic() < self.deadline, f"the crawls do not end:\n{self.fleet.logs()[-5000:]}"

    # -- evidence ------------------------------------------------------------------------------

    def gather(self) -> Evidence:
        assert self.observer.look()
        stories, entries = self.web.stories, list(self.fleet.entries())
        stored = [
            Stored(stories[entry["url"]], entry["url"], life, entry["at"], entry["reason"])
            for life, entry in entries
            if entry["event"] == "stored" and entry["url"] in stories
        ]
        return Evidence(
            stories=self.web.distinct,
            stored=stored,
            lives=self.fleet.lives,
            reasons={life: entry["reason"] for life, entry in entries if entry["event"] == "closed"},
            idle={life: entry["claims"] for life, entry in entries if entry["event"] == "idle"},
            records=self.records(),
            replayed=Counter(stories[entry["url"]] for _, entry in entries if entry["event"] == "replayed"),
            owners={entry["token"]: life for life, entry in entries if entry["event"] == "opened"},
            leases=self.observer.leases,
            lease=self.plan.lease,
            overdue=self.overdue(),
            on_disk=stories_in_feeds(self.fleet.folder, stories) if self.plan.feeds else None,
            feeds=bool(self.plan.feeds),
        )

    def records(self) -> Mapping[str, int]:
        with Deduplicator(self.server.url, NAMESPACE) as beside:
            return Counter(
                self.web.stories[each.record.url]
                for each in beside.store.records()
                if each.state is ClaimState.COMMITTED
            )

    def overdue(self) -> int:
        """Count the claims that remain after all leases have ended."""
        ends = [held.till for held in self.observer.claims.values()]
        time.sleep(min(max(0.0, max(ends, default=0.0) - time.time() + 0.1), self.plan.lease + 1))
        with Deduplicator(self.server.url, NAMESPACE) as beside:
            beside.prune(0.0)
            info = beside.info()
            return info.open + info.scraped


def _tokens(worker: Worker) -> set[str]:
    """Return the tokens of the current process on the server."""
    return {entry["token"] for entry in rows(worker.ledger) if entry["event"] == "opened"}
