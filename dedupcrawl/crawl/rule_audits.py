"""The audit of rules at the end of a crawl: a sample of what each rule has skipped is downloaded after all.

The sample is so large that a rule of which more than ``WRONG_SHARE`` of the skipped requests are wrong is found with a
probability of ``CONFIDENCE``. It is one page that is no copy, or that leads to a page which nothing else leads to.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from random import Random

WRONG_SHARE = 0.10
CONFIDENCE = 0.95
LATEST = 4  #: requests that were skipped last are always part of the sample: a site may have changed
MAX_SAMPLE = 32  #: keys in memory, of each rule


class EntrySource(NamedTuple):
    """Where a skipped request is stored."""

    site: str
    key: bytes


@lru_cache(maxsize=1024)
def audit_size(requests: int) -> int:
    """Return how many of so many foreseen requests must be verified.

    >>> audit_size(5), audit_size(50), audit_size(100_000)
    (5, 22, 29)
    """
    wrong = ceil(WRONG_SHARE * requests)
    missed, size = 1.0, 0
    while size < requests and missed > 1 - CONFIDENCE:
        missed *= max(0, requests - wrong - size) / (requests - size)
        size += 1
    return size


@dataclass(slots=True)
class RuleSample:
    """The requests that a rule has skipped in this crawl, and the probes of it."""

    text: str
    skipped: int = 0
    right: int = 0  #: probes of the audit that were copies
    earlier: int = 0  #: the same, of the crawl before
    is_suspect: bool = False  #: a probe of the crawl had links that were new: their pages are not judged as its own are
    is_over: bool = False  #: it is verified, or all that it has skipped is sent
    _sample: list[EntrySource] = field(default_factory=list)
    _latest: deque[EntrySource] = field(default_factory=lambda: deque(maxlen=LATEST))
    _sent: set[EntrySource] = field(default_factory=set)

    def add(self, place: EntrySource, chance: Random) -> None:
        """Add a skipped request; each has the same chance to be in the sample."""
        self.skipped += 1
        self.is_over = False
        self._latest.append(place)
        if len(self._sample) < MAX_SAMPLE:
            self._sample.append(place)
        elif (index := chance.randrange(self.skipped)) < MAX_SAMPLE:
            self._sample[index] = place

    @property
    def places(self) -> set[EntrySource]:
        """The requests that may be sent, and those that were."""
        return {*self._sample, *self._latest}

    @property
    def missing(self) -> int:
        """How many more probes must be copies."""
        right = self.right + (0 if self.is_suspect else self.earlier)
        return audit_size(self.skipped + right) - right if self.skipped else 0

    def next_probes(self) -> list[EntrySource]:
        """Return the requests to send now; none if there are no more."""
        latest = [place for place in self._latest if place not in self._sent] if not self._sent else []
        others = [place for place in self._sample if place not in self._sent and place not in latest]
        probes = [*latest, *others[: max(0, self.missing - len(latest))]]
        self._sent.update(probes)
        return probes
