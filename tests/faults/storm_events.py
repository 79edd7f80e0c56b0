"""The events of a storm, drawn from a seed: signals to workers, and failures of the store or the disk."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Event(StrEnum):
    """What happens."""

    KILL = "kill"  #: SIGKILL
    TERM = "term"  #: SIGTERM: the crawl ends in order
    INTERRUPT = "interrupt"  #: SIGINT: the same
    INTERRUPT_TWICE = "interrupt twice"  #: the crawl ends at once
    NAP = "nap"  #: SIGSTOP, and SIGCONT within the lease
    SLEEP = "sleep"  #: the same after the end of the lease
    RESTART = "restart"  #: the server is killed and comes back with its data
    EMPTY = "empty"  #: the server comes back without data
    OLD = "old"  #: the server comes back with old data
    DEAF = "deaf"  #: the server does not answer
    FULL = "full"  #: the server has no memory left
    READ_ONLY = "read-only"  #: the server accepts no writes
    DISK_FULL = "disk full"  #: no file of a worker can grow beyond the size of the store's


SIGNALS = (Event.TERM, Event.INTERRUPT, Event.INTERRUPT_TWICE, Event.NAP, Event.SLEEP)
SERVER = (Event.RESTART, Event.EMPTY, Event.OLD, Event.DEAF, Event.FULL, Event.READ_ONLY)
LOSSES = (Event.EMPTY, Event.OLD)  #: events after which the store does not know all pages


@dataclass(frozen=True)
class Weather:
    """One round of a storm: the kind of the crawls, and the events in their order."""

    number: int
    seed: str
    store: str  #: "lmdb" or "valkey"
    layout: str  #: of the server's keys
    feeds: int  #: items of each file of the feed; 0: a pipeline stores the items
    on_store_error: str
    events: Sequence[Event]

    @property
    def name(self) -> str:
        """The kind of the round in a line."""
        how = f"feeds of {self.feeds}" if self.feeds else "pipeline"
        store = self.store if self.store == "lmdb" else f"{self.store} {self.layout}"
        return f"round {self.number}: {store}, {how}, {self.on_store_error}"


def forecast(seed: int, number: int, kills: int, stores: Sequence[str]) -> Weather:
    """Draw a round; the same arguments give the same round."""
    name = f"{seed} {number}"
    chance = Random(name)
    store = stores[number % len(stores)]
    events = [Event.KILL] * kills
    events += chance.choices(SIGNALS, k=max(2, kills // 3))
    failures = (Event.DISK_FULL,) if store == "lmdb" else SERVER
    events += chance.sample(failures, min(len(failures), 2))
    chance.shuffle(events)
    return Weather(
        number=number,
        seed=name,
        store=store,
        layout=chance.choice(("hash", "compact")),
        feeds=chance.choice((0, 0, 4)),
        on_store_error=chance.choice(("keep", "wait")),
        events=tuple(events),
    )
