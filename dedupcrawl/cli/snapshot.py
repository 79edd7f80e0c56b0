"""What there is to see of a store at one moment, looked at again and again."""

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
from dedupcrawl.utils.formatting import hide_password

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupcrawl.stores.base import Store, StoreInfo
    from dedupcrawl.stores.workers import Worker, WorkersInfo

LISTED_EVERY = 10.0  #: seconds after which a store is asked for new namespaces
SPARED = 10  #: a namespace is counted for at most one part in so many of the time
SENTENCE = 1000  #: characters of what went wrong
WINDOW = 10.0  #: seconds over which its growth is measured


@dataclass(frozen=True, slots=True)
class Totals:
    """What the workers have done, those included that have ended of late."""

    states: dict[str, int]
    checked: int
    kept: int
    dropped: int
    duplicates: dict[str, int]
    related: dict[str, int]
    unchecked: dict[str, int]
    checked_per_second: float  #: of those that are here

    @classmethod
    def of(cls, fleet: WorkersInfo) -> Totals:
        """Add up."""
        told = [each.figures for each in fleet.workers if each.figures is not None]
        rates = (each.figures.rate for each in fleet.workers if each.figures and each.state == "here")
        return cls(
            states=dict(Counter(each.state for each in fleet.workers)),
            checked=sum(each.checked for each in told),
            kept=sum(each.kept for each in told),
            dropped=sum(each.dropped for each in told),
            duplicates=_sums(each.duplicates for each in told),
            related=_sums(each.related for each in told),
            unchecked=_sums(each.unchecked for each in told),
            checked_per_second=round(sum(rate for rate in rates if rate), 2),
        )


@dataclass(frozen=True, slots=True)
class Sight:
    """One namespace."""

    namespace: str
    info: StoreInfo | None  #: None: it could not be looked at
    fleet: WorkersInfo | None  #: None: nothing is known of workers
    growth: float | None  #: pages a second by which it grew of late; None: seen once only
    counted: float = 0.0  #: seconds since ``info`` was taken, which is done seldom where it takes long
    trouble: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain: dict[str, Any] = {"namespace": self.namespace, "trouble": self.trouble or None}
        if self.info is not None:
            plain |= {**_counted(self.info), "pages_per_second": _rounded(self.growth)}
            plain["counted_ago"] = round(self.counted, 2)
        if self.fleet is not None:
            plain["memory"] = asdict(self.fleet.memory) if self.fleet.memory else None
            plain["problem"] = self.fleet.problem or None
            plain["totals"] = asdict(Totals.of(self.fleet))
            plain["workers"] = [
                {"token": each.token, "state": each.state, "age": round(each.age, 2), **_said(each)}
                for each in self.fleet.workers
            ]
        return plain


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that is looked at."""

    store: str
    moment: datetime
    sights: tuple[Sight, ...]
    away: str = ""  #: why the store could not be asked; ``sights`` are older then
    away_for: float = 0.0  #: seconds

    def as_dict(self) -> dict[str, Any]:
        """Return plain values; nothing of a store that is away."""
        sights = () if self.away else self.sights
        return {
            "moment": self.moment.isoformat(),
            "store": self.store,
            "away": self.away or None,
            "namespaces": [each.as_dict() for each in sights],
        }


class Watcher:
    """Looks at a store, whatever becomes of it once it was there.

    Args:
        where: URL of the store.
        namespace: which one; None: all that it has at each moment.
        clock: seconds.
    """

    def __init__(
        self, where: str, namespace: str | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._where = where
        self._namespace = namespace
        self._clock = clock
        self._names: list[str] = []
        self._listed = -inf
        self._watched: dict[str, _Watched] = {}
        self._last: Snapshot | None = None
        self._left = 0.0

    def look(self) -> Snapshot:
        """Look at the store.

        Raises :class:`~dedupcrawl.errors.DedupError` the first time; later, what is wrong is part of what is
        seen.
        """
        try:
            self._last = self._snapshot(tuple(self._sights()))
        except StoreError as error:
            if self._last is None:
                raise
            self._last = self._without(self._last, error)
        return self._last

    def close(self) -> None:
        """Let the store go."""
        for each in self._watched.values():
            each.close()
        self._watched.clear()

    def _snapshot(self, sights: tuple[Sight, ...], away: str = "", away_for: float = 0.0) -> Snapshot:
        shown = printable(hide_password(self._where))
        return Snapshot(shown, datetime.now(UTC), sights, away, away_for)

    def _without(self, last: Snapshot, error: StoreError) -> Snapshot:
        self.close()
        if not last.away:
            self._left = self._clock()
        return self._snapshot(last.sights, printable(str(error), SENTENCE), self._clock() - self._left)

    def _sights(self) -> Iterable[Sight]:
        for name in self._list():
            try:
                if name not in self._watched:
                    self._watched[name] = _Watched(open_existing(self._where, name))
                yield self._watched[name].look(self._clock)
            except StoreUnreachableError:
                raise
            except StoreError as error:
                if self._last is None:
                    raise
                self._forget(name)
                yield Sight(printable(name), None, None, None, trouble=printable(str(error), SENTENCE))

    def _list(self) -> list[str]:
        if self._namespace is not None:
            return [self._namespace]
        if self._clock() - self._listed >= LISTED_EVERY or not self._names:
            self._names = list_namespaces(self._where)
            self._listed = self._clock()
            for gone in self._watched.keys() - set(self._names):
                self._forget(gone)
        return self._names

    def _forget(self, name: str) -> None:
        watched = self._watched.pop(name, None)
        if watched is not None:
            watched.close()


class _Watched:
    """An open namespace, and what was seen of it before."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._due = -inf
        self._info: StoreInfo | None = None
        self._counts: deque[tuple[float, int]] = deque()

    def look(self, clock: Callable[[], float]) -> Sight:
        info = self._counted(clock)
        fleet, counted = self._store.workers(), self._counts[-1][0]
        return Sight(printable(info.namespace), info, fleet, self._growth(), clock() - counted)

    def _counted(self, clock: Callable[[], float]) -> StoreInfo:
        began = clock()
        if self._info is None or began >= self._due:
            self._info = self._store.info()
            self._due = clock() + SPARED * (clock() - began)
            self._counts.append((began, self._info.pages))
            while len(self._counts) > 2 and self._counts[1][0] <= began - WINDOW:
                self._counts.popleft()
        return self._info

    def _growth(self) -> float | None:
        (began, first), (now, last) = self._counts[0], self._counts[-1]
        return (last - first) / (now - began) if now > began else None

    def close(self) -> None:
        self._store.close()


def _sums(counts: Iterable[Any]) -> dict[str, int]:
    whole: Counter[str] = Counter()
    for each in counts:
        whole.update(each)
    return dict(whole)


def _said(worker: Worker) -> dict[str, Any]:
    told = worker.figures
    if told is None:
        return {"readable": False}
    rate = told.rate if worker.state == "here" else None
    return {"readable": True, "pages_per_second": _rounded(rate), **asdict(told)}


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 2)


def _counted(info: StoreInfo) -> dict[str, Any]:
    """Return what was counted; not the scheme, which never changes and may hold any character."""
    plain = {**asdict(info), "url": printable(info.url), "namespace": printable(info.namespace)}
    del plain["scheme"]
    return plain
