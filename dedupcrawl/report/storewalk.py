"""What a walk through a store counts, in bounded memory."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import TYPE_CHECKING

from dedupcrawl.policy import cluster_of
from dedupcrawl.report.bounds import hash_of, is_sampled
from dedupcrawl.report.facts import PageRow
from dedupcrawl.report.figures import Host, Slice
from dedupcrawl.report.hosts import host_of
from dedupcrawl.report.material import Listed, Size
from dedupcrawl.report.merging import OTHERS, SLICES, joined_slices
from dedupcrawl.report.timeline import folded, width_for
from dedupcrawl.stores.base import ClaimState
from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.progress import Progress
    from dedupcrawl.stores.base import Candidate, Store

HOSTS = 100_000  #: that are told apart
CLUSTERS = 100_000  #: that are counted; beyond them half of them go
LOOKED_AT = 2_000  #: pages whose neighbours are looked up
_STEP = 256  #: pages after which progress is told
_WHY = "it was kept; with what it was compared is not in the store"


class Walk:
    """Counts the pages of a store as they pass."""

    def __init__(self, teller: Progress) -> None:
        self._teller = teller
        self.pages = 0
        self.claimed = 0  #: pages that are not committed
        self.level = 0  #: clusters are counted whose hash :func:`is_sampled` at it
        self._hosts: Counter[str] = Counter()
        self._clusters: dict[str, Size] = {}
        self._slices: dict[int, tuple[int, int, int]] = {}
        self._width = 1
        self._looked_at: list[tuple[int, int]] = []  # heap: the negative of a hash, and an id

    @property
    def looked_at(self) -> list[int]:
        """Return the ids of some pages, chosen by hash, by rising id."""
        return sorted(each for _, each in self._looked_at)

    def rows(self, store: Store) -> Iterator[Listed]:
        """Walk through a store; give every page."""
        for candidate in store.records():
            yield self._row(candidate)
            self.pages += 1
            if self.pages % _STEP == 0:
                self._teller.advance(_STEP, _STEP)
                self._trim()
        self._trim()

    def hosts(self) -> tuple[Host, ...]:
        """Return the hosts, those with most pages first."""
        return tuple(Host(name, count, count, 0) for name, count in self._hosts.most_common())

    def clusters(self, most: int) -> tuple[Size, ...]:
        """Return the largest clusters of at least two pages."""
        several = (each for each in self._clusters.values() if each.pages > 1)
        return tuple(heapq.nsmallest(most, several, key=lambda each: (-each.pages, each.name)))

    def slices(self) -> tuple[Slice, ...]:
        """Return what was kept when."""
        known = (Slice(float(place * self._width), *counts) for place, counts in sorted(self._slices.items()))
        return joined_slices([(self._width, known)])

    def _row(self, candidate: Candidate) -> Listed:
        record = candidate.record
        host, cluster = host_of(record.url), cluster_of(record)
        chance = hash_of(cluster)
        self.claimed += candidate.state is not ClaimState.COMMITTED
        is_named = host and (host in self._hosts or len(self._hosts) < HOSTS)
        self._hosts[host if is_named else OTHERS] += 1
        self._look_at(hash_of(record.url), candidate.id)
        self._count_cluster(cluster, chance, record.seen)
        place = int(record.seen) // self._width
        self._slices[place] = (self._slices.get(place, (0, 0, 0))[0] + 1, 0, 0)
        return Listed(
            PageRow(
                record.url, "", host, record.seen, 0, str(Status.UNIQUE), "kept", cluster=cluster, why=_WHY
            ),
            chance,
            candidate.id,
        )

    def _look_at(self, chance: int, id: int) -> None:  # the field's own word
        if len(self._looked_at) < LOOKED_AT:
            heapq.heappush(self._looked_at, (-chance, id))
        elif -chance > self._looked_at[0][0]:
            heapq.heapreplace(self._looked_at, (-chance, id))

    def _count_cluster(self, name: str, chance: int, when: float) -> None:
        if is_sampled(chance, self.level):
            before = self._clusters.get(name, Size(name, 0, when, when))
            first, last = min(before.first or when, when), max(before.last or when, when)
            self._clusters[name] = Size(name, before.pages + 1, first, last)

    def _trim(self) -> None:
        while len(self._clusters) > CLUSTERS:
            self.level += 1
            self._clusters = {
                name: size for name, size in self._clusters.items() if is_sampled(hash_of(name), self.level)
            }
        if len(self._slices) > 2 * SLICES:
            ends = min(self._slices) * self._width, max(self._slices) * self._width
            width = width_for(ends, self._width, SLICES)
            self._slices = folded(self._slices, width // self._width)
            self._width = width
