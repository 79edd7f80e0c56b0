"""Checks the evidence of a run for violations of the rules. Pure functions.

A story is *stored* when an item of one of its pages has gone through the storing pipeline, which writes a
line to a ledger by one system call; with feeds, it must be in a feed's file at the end as well.

*No two living workers store a story*: let a process store it at moment a, and another or the same at b > a.
Then the first must have been killed by moment b. It must also have been killed before it committed: of all
processes that stored a story only one has committed it, so the store holds one record of it. A process that
ended by itself has committed all that it stored; no process may store that again, at any later time.

Two exceptions are part of the design, and both are tagged. A page that could not be checked because the
server was away (``unchecked``, reason ``store``) may repeat any other, or be repeated. A page that has waited
for another worker's claim for more than ``DEDUP_WAIT`` seconds (reason ``claimed``) is kept although that
worker lives; it is filed too, so that the store may hold one record more for each.

One case is not visible from outside: pages stored while the server was away are filed from a spool, possibly
by the next process of the worker. If another worker has a claim on the same story at that time, both are
filed, because that claim could still be released.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.faults.fleet import Life

AWAY, CLAIMED = "store", "claimed"  #: reasons for which a page may be kept unchecked
MARGIN = 1.0  #: seconds that a call of a killed worker may have been in transit


@dataclass(frozen=True)
class Stored:
    """An item that was stored."""

    story: str
    url: str
    life: Life
    at: float  #: ``time.monotonic``
    reason: str = ""  #: why its page is unchecked

    def __str__(self) -> str:
        tag = f" [unchecked({self.reason})]" if self.reason else ""
        end = f"killed at {self.life.alive_until:.3f}" if self.life.killed else "not killed"
        return f"{self.url} by {self.life.name}, {end}, at {self.at:.3f}{tag}"


@dataclass(frozen=True)
class Evidence:
    """The data collected during a run."""

    stories: frozenset[str]
    stored: Sequence[Stored]
    lives: Sequence[Life]
    reasons: Mapping[Life, str]  #: finish reasons of the crawls that ended by themselves
    idle: Mapping[Life, int]  #: claims of the idle processes
    records: Mapping[str, int]  #: committed records by story
    replayed: Mapping[str, int]  #: pages filed, or to be filed, from spools, by story
    owners: Mapping[str, Life]  #: processes by the token on the server
    leases: Mapping[str, float]  #: the latest end of a lease that the server had, by token
    lease: float  #: seconds
    overdue: int  #: claims on the server when all leases have ended, after the store was pruned
    on_disk: frozenset[str] | None = None  #: stories in the feeds; None: there are none
    feeds: bool = False  #: claims wait for feeds


def again(evidence: Evidence) -> dict[str, list[Stored]]:
    """Return the stories that were stored more than once, with their items."""
    by_story = defaultdict(list)
    for stored in sorted(evidence.stored, key=lambda stored: stored.at):
        by_story[stored.story].append(stored)
    return {story: stored for story, stored in by_story.items() if len(stored) > 1}


def excused(evidence: Evidence) -> Counter[str]:
    """Count the items that were stored unchecked, by reason."""
    return Counter(stored.reason for stored in evidence.stored if stored.reason)


def faults(evidence: Evidence) -> list[str]:
    """Return all violations, each as one sentence."""
    return [
        *_lost(evidence),
        *_stored_by_two(evidence),
        *_committed_by_two(evidence),
        *_unjudged(evidence),
        *_overlong(evidence),
        *_unfinished(evidence),
    ]


def kept(evidence: Evidence) -> frozenset[str]:
    """Return the stories that are stored at least once."""
    there = frozenset(stored.story for stored in evidence.stored)
    return there if evidence.on_disk is None else there & evidence.on_disk


def _lost(evidence: Evidence) -> Iterator[str]:
    for story in sorted(evidence.stories - kept(evidence)):
        yield f"{story!r} is not stored; the store has {evidence.records.get(story, 0)} records of it."


def _stored_by_two(evidence: Evidence) -> Iterator[str]:
    for story, stored in again(evidence).items():
        for first, then in combinations(stored, 2):
            if not _may_follow(first, then):
                yield f"{story!r} is stored by two living workers: {first}; {then}."


def _may_follow(first: Stored, then: Stored) -> bool:
    if AWAY in (first.reason, then.reason) or then.reason == CLAIMED:
        return True
    return first.life.killed and first.life.alive_until <= then.at


def _committed_by_two(evidence: Evidence) -> Iterator[str]:
    tagged = Counter(stored.story for stored in evidence.stored if stored.reason == CLAIMED)
    how = again(evidence)
    for story in sorted(evidence.stories):
        count = evidence.records.get(story, 0)
        if not 1 <= count <= 1 + tagged[story] + evidence.replayed.get(story, 0):
            items = "; ".join(map(str, how.get(story, [])))
            yield f"{story!r} has {count} committed records, stored: {items}."


def _unjudged(evidence: Evidence) -> Iterator[str]:
    for stored in evidence.stored:
        if stored.reason not in ("", AWAY, CLAIMED):
            yield f"{stored} could not be judged."


def _overlong(evidence: Evidence) -> Iterator[str]:
    for token, till in evidence.leases.items():
        life = evidence.owners.get(token)
        if life is None:
            yield f"The server knows {token}, which is no worker."
        elif till > life.gone_by + evidence.lease + MARGIN:
            yield f"Claims of {life.name} were to hold {till - life.gone_by:.1f} s after its end."
    if evidence.overdue:
        yield f"{evidence.overdue} claims are left although all leases have ended and the store was pruned."
    for life, claims in evidence.idle.items():
        if claims and not evidence.feeds:
            yield f"{life.name} still had {claims} claims when it had nothing to do any more."


def _unfinished(evidence: Evidence) -> Iterator[str]:
    for life in evidence.lives:
        if not life.killed and evidence.reasons.get(life) != "finished":
            yield f"{life.name} ended with {evidence.reasons.get(life)!r}."


def summary(evidence: Evidence, **more: object) -> str:
    """Return the counts as a table."""
    repeated = again(evidence)
    reasons = excused(evidence)
    checked = [story for story, stored in repeated.items() if not any(each.reason for each in stored)]
    counts: dict[str, object] = {
        "stories": len(evidence.stories),
        "stored at least once": len(kept(evidence)),
        "stored by two living workers": len(list(_stored_by_two(evidence))),
        "stored again after a kill": len(checked),
        "kept unchecked, the server being away": reasons[AWAY],
        "kept unchecked after DEDUP_WAIT": reasons[CLAIMED],
        "filed from a spool": sum(evidence.replayed.values()),
        "records more than stories": sum(evidence.records.values()) - len(evidence.records),
        "kills": sum(life.killed for life in evidence.lives),
        **more,
    }
    return "\n".join(f"{name:40}{value}" for name, value in counts.items())
