"""Checks what is left after a round of a storm. Pure functions.

The rules are those of :mod:`tests.faults.verdict`, with what a storm adds. A story may be stored again

* after a kill: the process that stored it died before it committed it;
* after a loss: the server has lost its data since it was committed, or shortly before;
* after a sleep: the process that stored it was stopped for longer than its lease before it had committed it, or was
  stopped between the last check of its claim and the end of storing (``docs/shared.md``, stopped workers);
* unchecked: the store was away, or another worker's claim was open for longer than ``DEDUP_WAIT``; both are tagged.

Whatever else is stored again is stored twice by living workers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from tests.faults.verdict import AWAY, CLAIMED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MOMENT = 0.5  #: seconds that a busy machine may take to go on with what it does
SETTLING = 15.0  #: seconds that a page may have been claimed before it is stored


@dataclass(frozen=True)
class Stop:
    """A period in which a process was stopped; moments are those of ``time.monotonic``."""

    begin: float
    end: float = float("inf")


@dataclass(frozen=True)
class StormLife:
    """One process of a worker."""

    worker: int
    number: int
    killed_after: float | None = None  #: a time at which it certainly still ran; None: it ended in order
    stops: tuple[Stop, ...] = ()

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"worker {self.worker} (life {self.number})"


@dataclass(frozen=True)
class StormItem:
    """An item that was stored."""

    story: str
    url: str
    life: StormLife
    entered: float  #: when its claim was checked for the last time, directly before the pipeline that stores items
    at: float  #: when it was stored
    reason: str = ""  #: why its page is unchecked
    committed: float | None = None  #: when the store had committed its claim; None: it is not known to have done so

    def is_committed(self, moment: float) -> bool:
        """Whether the store had certainly committed it at a moment."""
        return self.committed is not None and self.committed <= moment

    def __str__(self) -> str:
        ended = "ended in order" if self.life.killed_after is None else f"killed at {self.life.killed_after:.3f}"
        stops = "".join(f", stopped {stop.begin:.3f} to {stop.end:.3f}" for stop in self.life.stops)
        tag = f" [unchecked({self.reason})]" if self.reason else ""
        when = f"checked at {self.entered:.3f}, stored at {self.at:.3f}"
        if self.committed is not None:
            when += f", committed at {self.committed:.3f}"
        return f"{self.url} by {self.life.name}, {ended}{stops}, {when}{tag}"


@dataclass(frozen=True)
class Aftermath:
    """The data collected in a round."""

    stories: frozenset[str]
    items: Sequence[StormItem]
    lease: float
    losses: Sequence[float] = ()  #: moments at which the server had lost data
    on_disk: frozenset[str] | None = None  #: stories in the feeds; None: there are none
    records: Mapping[str, int] = field(default_factory=dict)  #: committed records by story
    replayed: Mapping[str, int] = field(default_factory=dict)  #: pages filed from spools, by story
    overdue: int = 0  #: claims in the store when all workers have ended
    problems: Sequence[str] = ()  #: processes that ended otherwise than they should


@dataclass(frozen=True)
class Damage:
    """The result of a round."""

    lost: Sequence[str]  #: stories that are not stored
    twice: Sequence[str]  #: stories stored twice by living workers, with both items
    again: Mapping[str, int]  #: stories stored again, by reason
    other: Sequence[str]  #: other faults

    @property
    def faults(self) -> Sequence[str]:
        """All faults as sentences."""
        return [*(f"lost: {each}" for each in self.lost), *(f"twice: {each}" for each in self.twice), *self.other]


def assess(after: Aftermath) -> Damage:
    """Judge a round."""
    stored = frozenset(item.story for item in after.items)
    kept = stored if after.on_disk is None else stored & after.on_disk
    twice, again = list[str](), Counter[str]()
    for first, then in _pairs(after.items):
        reason = _excuse(after, first, then)
        if reason is None:
            twice.append(f"{first}; {then}")
        else:
            again[reason] += 1
    other = [*after.problems, *_records(after)]
    if after.overdue:
        other.append(f"{after.overdue} claims are left although all workers have ended")
    return Damage(sorted(after.stories - kept), twice, again, other)


def _pairs(items: Sequence[StormItem]) -> Iterator[tuple[StormItem, StormItem]]:
    by_story = defaultdict(list)
    for item in sorted(items, key=lambda item: item.at):
        by_story[item.story].append(item)
    for same in by_story.values():
        yield from combinations(same, 2)


def _excuse(after: Aftermath, first: StormItem, then: StormItem) -> str | None:
    if AWAY in (first.reason, then.reason) or CLAIMED in (first.reason, then.reason):
        return "unchecked"
    killed_after = first.life.killed_after
    if killed_after is not None and killed_after <= then.at and not first.is_committed(then.at):
        return "after a kill"
    # A page that was committed after the loss was filed again. Others may have been judged before.
    settled = first.is_committed(then.at - SETTLING)
    since = first.committed if settled and first.committed is not None else first.at - SETTLING
    if any(since <= loss <= then.at for loss in after.losses):
        return "after a loss"
    least = after.lease / 2  # the last renewal may have been some time before the stop
    asleep = [stop for stop in first.life.stops if stop.end - stop.begin >= least]
    if any(
        stop.begin >= first.at - 1 and not first.is_committed(stop.begin) and then.at >= stop.begin + least
        for stop in asleep
    ):
        return "after a sleep"
    if any(_is_inside(then, stop) for stop in then.life.stops):
        return "after a sleep"
    return None


def _is_inside(item: StormItem, stop: Stop) -> bool:
    """Whether the process was stopped while it stored the item: directly before and directly after."""
    return stop.begin - MOMENT <= item.entered <= stop.begin and stop.end <= item.at <= stop.end + MOMENT


def _records(after: Aftermath) -> Iterator[str]:
    """A committed story has one record; a page that was filed unchecked or from a spool may have one more."""
    if after.losses or any(stop for item in after.items for stop in item.life.stops):
        return
    tagged = Counter(item.story for item in after.items if item.reason)
    for story in sorted(after.stories):
        count = after.records.get(story, 0)
        if not 1 <= count <= 1 + tagged[story] + after.replayed.get(story, 0):
            items = "; ".join(str(item) for item in after.items if item.story == story)
            yield f"{story!r} has {count} committed records, stored: {items}"
