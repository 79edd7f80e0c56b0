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
        self._deadline = time.monotonic() + plan.guard
        self._last = 0.0
        self._server = Server(next(iter(binaries().values())), PERSISTENT).start()
        try:
            settings = {**plan.settings, "DEDUP_STORE": self._server.url}
            self._observer = Observer(self._server, NAMESPACE)
            self._fleet = Fleet(folder, Crawls(web.fronts, settings, plan.feeds), plan.workers)
        except BaseException:
            self._server.remove()
            raise

    def run(self) -> Result:
        """Run until all workers have ended."""
        began = time.monotonic()
        try:
            for number in range(self.plan.kills):
                self._await_progress((number + 1) / (self.plan.kills + 2))
                self._strike(away=number == self.plan.kills // 2)
            while self._fleet.works:
                self._glance(5 * GLANCE)
            self._fleet.check()
            self._fleet.dismiss()
            evidence = self._gather()
        finally:
            self._fleet.end()
            self._server.remove()
        seconds = f"{time.monotonic() - began:.1f}"
        counts = summary(
            evidence,
            **{
                "claims open at the kills": self.struck,
                "most claims at once": self._observer.most,
                "longest that a claim was open, seconds": f"{self._observer.longest:.1f}",
                "seconds": seconds,
            },
        )
        return Result(evidence, counts, self._fleet.logs())

    # -- failures ------------------------------------------------------------------------------

    def _await_progress(self, share: float) -> None:
        wanted = share * len(self.web.distinct)
        self._until(lambda: self._observer.committed >= wanted and time.monotonic() >= self._last + self.plan.pause)

    def _strike(self, *, away: bool) -> None:
        """Kill a worker and start it again; ``away``: during an outage of the server."""
        if away and not self.plan.waits:
            self._until(lambda: all(map(_tokens, self._fleet.workers)))
        self._until(lambda: any(map(self._claims_of, self._fleet.workers)))
        victim = max(self._fleet.workers, key=lambda each: (bool(self._claims_of(each)), -each.life.number))
        self.struck += self._claims_of(victim)
        if away:
            self._interrupt(victim)
        else:
            self._fleet.kill(victim)
            self._fleet.restart(victim)
        self._last = time.monotonic()

    def _interrupt(self, victim: Worker) -> None:
        """Stop the server and start it again; kill a worker in between."""
        (self._server.kill if self.plan.crash else self._server.stop)()
        time.sleep(self.plan.outage)
        self._fleet.kill(victim)
        if self.plan.waits:
            self._fleet.restart(victim)
        self._server.start()
        if not self.plan.waits:
            self._fleet.restart(victim)

    def _claims_of(self, worker: Worker) -> int:
        if not worker.process.is_alive():
            return 0
        tokens = _tokens(worker)
        return sum(held.token in tokens for held in self._observer.claims.values())

    def _until(self, condition: Callable[[], bool]) -> None:
        self._glance(GLANCE)
        while not condition():
            assert self._fleet.works, f"the crawls were over too soon; {self.struck} claims were struck"
            self._glance(GLANCE)

    def _glance(self, pause: float) -> None:
        time.sleep(pause)
        self._observer.look()
        self._fleet.check()
        assert time.monotonic() < self._deadline, f"the crawls do not end:\n{self._fleet.logs()[-5000:]}"

    # -- evidence ------------------------------------------------------------------------------

    def _gather(self) -> Evidence:
        assert self._observer.look()
        stories, entries = self.web.stories, list(self._fleet.entries())
        stored = [
            Stored(stories[entry["url"]], entry["url"], life, entry["at"], entry["reason"])
            for life, entry in entries
            if entry["event"] == "stored" and entry["url"] in stories
        ]
        return Evidence(
            stories=self.web.distinct,
            stored=stored,
            lives=self._fleet.lives,
            reasons={life: entry["reason"] for life, entry in entries if entry["event"] == "closed"},
            idle={life: entry["claims"] for life, entry in entries if entry["event"] == "idle"},
            records=self._records(),
            replayed=Counter(stories[entry["url"]] for _, entry in entries if entry["event"] == "replayed"),
            owners={entry["token"]: life for life, entry in entries if entry["event"] == "opened"},
            leases=self._observer.leases,
            lease=self.plan.lease,
            overdue=self._overdue(),
            on_disk=stories_in_feeds(self._fleet.folder, stories) if self.plan.feeds else None,
            feeds=bool(self.plan.feeds),
        )

    def _records(self) -> Mapping[str, int]:
        with Deduplicator(self._server.url, NAMESPACE) as beside:
            return Counter(
                self.web.stories[each.record.url]
                for each in beside.store.records()
                if each.state is ClaimState.COMMITTED
            )

    def _overdue(self) -> int:
        """Count the claims that remain after all leases have ended."""
        ends = [held.till for held in self._observer.claims.values()]
        time.sleep(min(max(0.0, max(ends, default=0.0) - time.time() + 0.1), self.plan.lease + 1))
        with Deduplicator(self._server.url, NAMESPACE) as beside:
            beside.prune(0.0)
            info = beside.info()
            return info.open + info.scraped


def _tokens(worker: Worker) -> set[str]:
    """Return the tokens of the current process on the server."""
    return {entry["token"] for entry in rows(worker.ledger) if entry["event"] == "opened"}
