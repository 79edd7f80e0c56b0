"""``dedupcrawl store watch``: a live view of a store and its workers, for a terminal of any width.

Names and messages are shown as :class:`~rich.text.Text`, never as markup.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter, deque
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.console import facts_table, output_console
from dedupcrawl.cli.store import Namespace, StoreUrl, claims_text, store
from dedupcrawl.errors import SettingError, StoreError, StoreUnreachableError
from dedupcrawl.stores import list_namespaces, open_existing
from dedupcrawl.stores.base import BUCKET_CAP
from dedupcrawl.stores.workers import printable
from dedupcrawl.utils.formatting import duration, size
from dedupcrawl.utils.messages import mark, tr, tr_amount, tr_sentence
from dedupcrawl.utils.redaction import hide_password

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from dedupcrawl.stores.base import Store, StoreInfo
    from dedupcrawl.stores.workers import WorkerRecord, WorkersInfo, WorkerStats

LIST_INTERVAL = 10.0  #: seconds between two listings of the namespaces
COUNT_INTERVAL_FACTOR = 10  #: after a count that took t seconds, the next one waits at least 10 t
MAX_MESSAGE_CHARS = 1000
GROWTH_WINDOW = 10.0  #: seconds over which the growth is measured


@dataclass(frozen=True, slots=True)
class WorkerCounts:
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
    def of(cls, workers: WorkersInfo) -> WorkerCounts:
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
class NamespaceState:
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
            plain["totals"] = asdict(WorkerCounts.of(self.workers))
            plain["workers"] = [_worker_dict(each) for each in self.workers.workers]
        return plain


@dataclass(frozen=True, slots=True)
class StoreState:
    """The state of a store at one time."""

    store: str
    time: datetime
    namespaces: tuple[NamespaceState, ...]
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
        self._last: StoreState | None = None
        self._outage_began = 0.0

    def snapshot(self) -> StoreState:
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

    def _make(self, namespaces: tuple[NamespaceState, ...], error: str = "", outage: float = 0.0) -> StoreState:
        store = printable(hide_password(self._url))
        return StoreState(store, datetime.now(UTC), namespaces, error, outage)

    def _unreachable(self, last: StoreState, error: StoreError) -> StoreState:
        self.close()
        if not last.error:
            self._outage_began = self._clock()
        return self._make(last.namespaces, _message(error), self._clock() - self._outage_began)

    def _read_namespaces(self) -> Iterable[NamespaceState]:
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
                yield NamespaceState(printable(name), None, None, None, error=_message(error))

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

    def snapshot(self, clock: Callable[[], float]) -> NamespaceState:
        info = self._count(clock)
        (began, first), (last_time, last) = self._counts[0], self._counts[-1]
        growth = (last - first) / (last_time - began) if last_time > began else None
        workers = self._store.workers()
        return NamespaceState(printable(info.namespace), info, workers, growth, clock() - last_time)

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


def _worker_dict(worker: WorkerRecord) -> dict[str, Any]:
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


MIN_INTERVAL, MAX_INTERVAL = 0.1, 86400.0  #: seconds between two snapshots
OLD_COUNT = 5.0  #: seconds after which the age of a count is shown
NORMAL, WIDE = 76, 112  #: terminal columns
#: Columns of the table of workers, each with the least width of the terminal for which it is shown.
_COLUMNS: Mapping[str, int] = {
    mark("up"): WIDE,
    mark("seen"): WIDE,
    mark("pages/s"): 0,
    mark("checked"): 0,
    mark("kept"): NORMAL,
    mark("copies"): 0,
    mark("related"): WIDE,
    mark("unchecked"): WIDE,
    mark("open"): NORMAL,
    mark("store ms"): NORMAL,
    mark("worst"): NORMAL,
}
_STYLES = {"here": "", "gone": "bold red", "done": "dim"}  #: by state, in the order of the table


@store.command()
def watch(
    where: StoreUrl,
    namespace: Namespace = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="Interval between two updates.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Print one snapshot and exit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write each snapshot as one line of JSON.")] = False,
) -> None:
    """Show pages, claims, memory and workers live, until Ctrl-C."""
    if not MIN_INTERVAL <= every <= MAX_INTERVAL:
        raise SettingError("--every", every, f"seconds from {MIN_INTERVAL:g} to {MAX_INTERVAL:g}")
    with closing(StoreMonitor(where, namespace)) as monitor, suppress(KeyboardInterrupt):
        if as_json:
            _write_lines(monitor, every, once=once)
        elif once or not sys.stdout.isatty():
            _print(monitor.snapshot())
        else:
            _show_live(monitor, every)


def _write_lines(monitor: StoreMonitor, every: float, *, once: bool) -> None:
    try:
        while True:
            line = orjson.dumps(monitor.snapshot().as_dict(), option=orjson.OPT_APPEND_NEWLINE)
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            if once:
                return
            time.sleep(every)
    except BrokenPipeError:
        # The reader is gone. Python flushes its buffer at exit: send the rest to /dev/null.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_live(monitor: StoreMonitor, every: float) -> None:
    snapshot = monitor.snapshot()
    # SIGTERM must leave the alternate screen too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = output_console()
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(dashboard(snapshot, console.width, console.height, every), refresh=True)
                time.sleep(every)
                snapshot = monitor.snapshot()
    finally:
        _print(snapshot)


def _print(snapshot: StoreState) -> None:
    console = output_console()
    console.print(dashboard(snapshot, console.width))


def dashboard(snapshot: StoreState, width: int, height: int | None = None, every: float | None = None) -> Group:
    """Lay out a snapshot for a terminal of ``width`` columns and ``height`` rows (None: any number).

    ``every`` is the number of seconds between two snapshots; None if there is only one.
    """
    parts: list[RenderableType] = [_header(snapshot, width, every)]
    if snapshot.error:
        outage = tr("away")
        if snapshot.outage >= 1:
            outage = tr("away for {time}", time=tr_amount(duration(snapshot.outage)))
        parts.append(Text(f"{outage}{tr(': ')}{tr_sentence(snapshot.error)}", "bold red"))
    if not snapshot.namespaces:
        parts.append(Text(tr("no namespaces yet")))
    rows = None if height is None else (height - 3) // max(1, len(snapshot.namespaces))
    for each in snapshot.namespaces:
        parts += [Text(), *_namespace(each, width, rows, is_old=bool(snapshot.error))]
    return Group(*parts)


def _header(snapshot: StoreState, width: int, every: float | None) -> Text:
    clock = f"{snapshot.time:%H:%M:%S} UTC" + ("" if every is None else tr(", every {seconds} s", seconds=f"{every:g}"))
    store = Text(snapshot.store, "bold", overflow="ellipsis", no_wrap=True)
    store.truncate(max(10, width - len(clock) - 2), overflow="ellipsis", pad=True)
    return Text.assemble(store, "  ", (clock, "dim"), no_wrap=True)


def _namespace(snapshot: NamespaceState, width: int, rows: int | None, *, is_old: bool) -> list[RenderableType]:
    title = Text.assemble((snapshot.namespace, "bold cyan"), (tr(", as it was last seen") if is_old else "", "dim"))
    if snapshot.info is None:
        return [title, Text(tr_sentence(snapshot.error), "bold red")]
    facts = facts_table(_namespace_rows(snapshot, snapshot.info, is_old=is_old), framed=False)
    parts: list[RenderableType] = [title, facts]
    if snapshot.workers is not None and snapshot.workers.problem:
        parts.append(Text(tr("not readable: {problem}", problem=snapshot.workers.problem), "yellow"))
    if snapshot.workers is not None and snapshot.workers.workers:
        left = None if rows is None else rows - facts.row_count - len(parts) - 2
        parts += [Text(), _workers_table(snapshot.workers.workers, width, left)]
    return parts


def _namespace_rows(snapshot: NamespaceState, info: StoreInfo, *, is_old: bool) -> Iterator[tuple[str, str]]:
    growth = counted = ""
    if not is_old and snapshot.growth is not None:
        growth = tr(", {n} a second", n=f"{snapshot.growth:+.1f}")
    if snapshot.age >= OLD_COUNT:
        counted = tr(", counted {time} ago", time=tr_amount(duration(snapshot.age)))
    yield tr("pages"), f"{info.pages:,}{growth}{counted}"
    yield tr("claims"), claims_text(info)
    if snapshot.workers is not None:
        yield from _totals_rows(WorkerCounts.of(snapshot.workers), is_old=is_old)
    yield tr("memory"), _memory(info, snapshot.workers)
    if info.hot is not None:
        yield tr("hot buckets"), _hot_buckets(info)


def _totals_rows(totals: WorkerCounts, *, is_old: bool) -> Iterator[tuple[str, str]]:
    states = sorted(totals.states.items(), reverse=True)
    shown = tr(", ").join(tr("{n} {status}", n=count, status=tr_sentence(state)) for state, count in states)
    yield tr("workers"), shown or tr("none was active in the last hour")
    if not states:
        return
    speed = "" if is_old else tr(", {n} a second", n=f"{totals.checked_per_second:.1f}")
    results = {"kept": f"{totals.kept:,}", "dropped": f"{totals.dropped:,}"}
    yield tr("checked"), f"{totals.checked:,}{speed}{tr(': {kept} kept, {dropped} dropped', **results)}"
    yield tr("duplicates"), _counts(totals.duplicates)
    if totals.related:
        yield tr("related"), _counts(totals.related)
    if totals.unchecked:
        yield tr("unchecked"), _counts(totals.unchecked)


def _counts(counts: Mapping[str, int]) -> str:
    descending = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return tr(", ").join(f"{tr_sentence(name)} {count:,}" for name, count in descending) or tr("none")


def _memory(info: StoreInfo, workers: WorkersInfo | None) -> str:
    own = tr_amount(size(info.bytes)) if info.bytes else tr("unknown")
    if info.bytes and info.pages:
        own += tr(", {n} bytes a page", n=f"{info.bytes / info.pages:,.0f}")
    if workers is None:
        return own
    if workers.memory is None:
        return own + tr("; the server's: not allowed")
    used = tr_amount(size(workers.memory.used))
    if not workers.memory.limit:
        return own + tr("; the server's: {used}, no limit", used=used)
    return own + tr("; the server's: {used} of {limit}", used=used, limit=tr_amount(size(workers.memory.limit)))


def _hot_buckets(info: StoreInfo) -> str:
    if not info.hottest:
        return tr("none")
    fullest = info.hottest[0]
    counts = {"n": f"{BUCKET_CAP + fullest.beyond:,}", "m": f"{fullest.beyond:,}", "limit": BUCKET_CAP}
    beyond = tr("{n} filed, {m} beyond the {limit} read", **counts)
    return tr("{n}; fullest {key}: {beyond}", n=f"{info.hot:,}", key=fullest.key, beyond=beyond)


def _workers_table(workers: Sequence[WorkerRecord], width: int, rows: int | None) -> Table:
    ordered = sorted(workers, key=lambda each: list(_STYLES).index(each.state))
    shown = ordered if rows is None or len(ordered) <= rows else ordered[: max(1, rows - 1)]
    table = Table(box=None, padding=(0, 1, 0, 0), width=width, pad_edge=False, header_style="dim")
    table.add_column(tr("worker"), no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column(tr("spider"), no_wrap=True, overflow="ellipsis", ratio=2)
    names = [name for name, min_width in _COLUMNS.items() if width >= min_width]
    for name in names:
        table.add_column(tr(name), justify="right", no_wrap=True)
    for each in shown:
        table.add_row(*_cells(each, names), style=_STYLES[each.state])
    if len(shown) < len(ordered):
        table.add_row(Text(tr("… and {n} more", n=len(ordered) - len(shown)), "dim"))
    return table


def _cells(worker: WorkerRecord, names: Sequence[str]) -> list[Text]:
    figures = worker.stats
    if figures is None:
        return [Text(worker.token), Text(tr("not readable"), "yellow")]
    values = _values(worker, figures)
    return [_process(figures), Text(figures.spider), *(Text(values[name]) for name in names)]


def _values(worker: WorkerRecord, figures: WorkerStats) -> dict[str, str]:
    is_running = worker.state == "here"
    has_calls = is_running and figures.calls
    speed = "-" if figures.rate is None else f"{figures.rate:.1f}"
    return {
        "up": tr_amount(duration(figures.uptime)),
        "seen": tr("{time} ago", time=tr_amount(duration(worker.age))),
        "pages/s": speed if is_running else tr_sentence(worker.state),
        "checked": f"{figures.checked:,}",
        "kept": f"{figures.kept:,}",
        "copies": f"{sum(figures.duplicates.values()):,}",
        "related": f"{sum(figures.related.values()):,}",
        "unchecked": f"{sum(figures.unchecked.values()):,}",
        "open": f"{figures.claims:,}",
        "store ms": f"{figures.mean:.1f}" if has_calls else "-",
        "worst": f"{figures.worst:.0f}" if has_calls else "-",
    }


def _process(figures: WorkerStats) -> Text:
    """Return ``host:process``; a long host is cut, so that the process id is visible."""
    number = f":{figures.process}"
    host = figures.host if len(figures.host) + len(number) <= 24 else figures.host[: 23 - len(number)] + "…"
    return Text(host + number)
