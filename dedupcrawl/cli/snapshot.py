"""Repeated snapshots of a store and its workers, for ``dedupcrawl store watch``."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import StoreError, StoreUnreachableError
from dedupcrawl.stores import list_namespaces, open_existing
from dedupcrawl.stores.workers import printable
from dedupcrawl.utils.redaction import hide_password

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupcrawl.stores.base import Store, StoreInfo
    from dedupcrawl.stores.workers import Worker, WorkersInfo

LIST_INTERVAL = 10.0  #: seconds between two listings of the namespaces
COUNT_INTERVAL_FACTOR = 10  #: after a count that took t seconds, the next one waits at least 10 t
MAX_MESSAGE_CHARS = 1000
GROWTH_WINDOW = 10.0  #: seconds over which the growth is measured


@dataclass(frozen=True, slots=True)
class WorkerTotals:
    """Sums over the workers, including those that ended recently."""

    states: dict[str, int]
    checked: int
    kept: int
    dropped: int
    duplicates: dict[str, int]
    related: dict[str, int]
    unchecked: dict[str, int]
    checked_per_second: float  #: of running workers

    @classmethod
    def of(cls, workers: WorkersInfo) -> WorkerTotals:
        """Add up the figures of the workers that could be read."""
        figures = [each.stats for each in workers.workers if each.stats]
        rates = (each.stats.rate for each in workers.workers if each.stats and each.state == "here")
        return cls(
            states=dict(Counter(each.state for each in workers.workers)),
            checked=sum(each.checked for each in figures),
            kept=sum(each.kept for each in figures),
            dropped=sum(each.dropped for each in figures),
            duplicates=_add_counts(each.duplicates for each in figures),
            related=_add_counts(each.related for each in figures),
            unchecked=_add_counts(each.unchecked for each in figures),
            checked_per_second=round(sum(rate for rate in rates if rate), 2),
        )


@dataclass(frozen=True, slots=True)
class NamespaceSnapshot:
    """The state of one namespace."""

    namespace: str
    info: StoreInfo | None  #: None: it could not be read
    workers: WorkersInfo | None  #: None: the store does not know of workers
    growth: float | None  #: pages per second; None: counted only once
    age: float = 0.0  #: seconds since ``info`` was read
    error: str = ""  #: why it could not be read

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        plain: dict[str, Any] = {"namespace": self.namespace, "trouble": self.error or None}
        if self.info is not None:
            plain |= {**_info_dict(self.info), "pages_per_second": _rounded(self.growth)}
            plain["counted_ago"] = round(self.age, 2)
        if self.workers is not None:
            plain["memory"] = asdict(self.workers.memory) if self.workers.memory else None
            plain["problem"] = self.workers.problem or None
            plain["totals"] = asdict(WorkerTotals.of(self.workers))
            plain["workers"] = [_worker_dict(each) for each in self.workers.workers]
        return plain


@dataclass(frozen=True, slots=True)
class StoreSnapshot:
    """The state of a store at one time."""

    store: str
    time: datetime
    namespaces: tuple[NamespaceSnapshot, ...]
    error: str = ""  #: why the store is unreachable; ``namespaces`` are of an earlier time then
    outage: float = 0.0  #: seconds since it became unreachable

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values, without namespaces while the store is unreachable."""
        return {
            "moment": self.time.isoformat(),
            "store": self.store,
            "away": self.error or None,
            "namespaces": [] if self.error else [each.as_dict() for each in self.namespaces],
        }


class StoreMonitor:
    """Takes snapshots of a store, and goes on through outages once it was reachable.

    Args:
        url: URL of the store.
        namespace: the only namespace to show; None for all, including later ones.
        clock: returns seconds.
    """

    def __init__(self, url: str, namespace: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._namespace = namespace
        self._clock = clock
        self._names: list[str] = []
        self._listed_at = -inf
        self._monitors: dict[str, _NamespaceMonitor] = {}
        self._last: StoreSnapshot | None = None
        self._outage_began = 0.0

    def snapshot(self) -> StoreSnapshot:
        """Read the store; after the first call, errors become part of the snapshot.

        Raises:
            DedupError: the first snapshot fails.
        """
        try:
            self._last = self._make(tuple(self._read_namespaces()))
        except StoreError as error:
            if self._last is None:
                raise
            self._last = self._unreachable(self._last, error)
        return self._last

    def close(self) -> None:
        """Close the store."""
        for each in self._monitors.values():
            each.close()
        self._monitors.clear()

    def _make(self, namespaces: tuple[NamespaceSnapshot, ...], error: str = "", outage: float = 0.0) -> StoreSnapshot:
        store = printable(hide_password(self._url))
        return StoreSnapshot(store, datetime.now(UTC), namespaces, error, outage)

    def _unreachable(self, last: StoreSnapshot, error: StoreError) -> StoreSnapshot:
        self.close()
        if not last.error:
            self._outage_began = self._clock()
        return self._make(last.namespaces, _message(error), self._clock() - self._outage_began)

    def _read_namespaces(self) -> Iterable[NamespaceSnapshot]:
        for name in self._list():
            try:
                if name not in self._monitors:
                    self._monitors[name] = _NamespaceMonitor(open_existing(self._url, name))
                yield self._monitors[name].snapshot(self._clock)
            except StoreUnreachableError:
                raise
            except StoreError as error:
                if self._last is None:
                    raise
                self._remove(name)
                yield NamespaceSnapshot(printable(name), None, None, None, error=_message(error))

    def _list(self) -> list[str]:
        if self._namespace is not None:
            return [self._namespace]
        if self._clock() - self._listed_at >= LIST_INTERVAL or not self._names:
            self._names = list_namespaces(self._url)
            self._listed_at = self._clock()
            for name in self._monitors.keys() - set(self._names):
                self._remove(name)
        return self._names

    def _remove(self, name: str) -> None:
        monitor = self._monitors.pop(name, None)
        if monitor is not None:
            monitor.close()


class _NamespaceMonitor:
    """An open namespace and its latest counts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next_count = -inf
        self._info: StoreInfo | None = None
        self._counts: deque[tuple[float, int]] = deque()  # times and numbers of pages

    def snapshot(self, clock: Callable[[], float]) -> NamespaceSnapshot:
        info = self._count(clock)
        (began, first), (last_time, last) = self._counts[0], self._counts[-1]
        growth = (last - first) / (last_time - began) if last_time > began else None
        workers = self._store.workers()
        return NamespaceSnapshot(printable(info.namespace), info, workers, growth, clock() - last_time)

    def _count(self, clock: Callable[[], float]) -> StoreInfo:
        began = clock()
        if self._info is None or began >= self._next_count:
            self._info = self._store.info()
            self._next_count = clock() + COUNT_INTERVAL_FACTOR * (clock() - began)
            self._counts.append((began, self._info.pages))
            while len(self._counts) > 2 and self._counts[1][0] <= began - GROWTH_WINDOW:
                self._counts.popleft()
        return self._info

    def close(self) -> None:
        self._store.close()


def _message(error: StoreError) -> str:
    return printable(str(error), MAX_MESSAGE_CHARS)


def _add_counts(counts: Iterable[Any]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _worker_dict(worker: Worker) -> dict[str, Any]:
    plain = {"token": worker.token, "state": worker.state, "age": round(worker.age, 2)}
    figures = worker.stats
    if figures is None:
        return {**plain, "readable": False}
    rate = figures.rate if worker.state == "here" else None
    return {**plain, "readable": True, "pages_per_second": _rounded(rate), **asdict(figures)}


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 2)


def _info_dict(info: StoreInfo) -> dict[str, Any]:
    """Return the counts without the scheme, which never changes and may contain any character."""
    plain = {**asdict(info), "url": printable(info.url), "namespace": printable(info.namespace)}
    del plain["scheme"]
    return plain
