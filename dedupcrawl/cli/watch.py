"""``dedupcrawl store watch``: a live view of a store and its workers, for a terminal of any width.

Names and messages are shown as :class:`~rich.text.Text`, never as markup.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.console import facts_table, output_console
from dedupcrawl.cli.snapshot import StoreMonitor, StoreSnapshot, WorkerTotals
from dedupcrawl.cli.store import Namespace, StoreUrl, claims_text, store
from dedupcrawl.errors import SettingError
from dedupcrawl.stores.base import BUCKET_CAP
from dedupcrawl.utils.formatting import duration, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from dedupcrawl.cli.snapshot import NamespaceSnapshot
    from dedupcrawl.stores.base import StoreInfo
    from dedupcrawl.stores.workers import Worker, WorkersInfo, WorkerStats


MIN_INTERVAL, MAX_INTERVAL = 0.1, 86400.0  #: seconds between two snapshots
OLD_COUNT = 5.0  #: seconds after which the age of a count is shown
NORMAL, WIDE = 76, 112  #: terminal columns
#: Columns of the table of workers, each with the least width of the terminal for which it is shown.
_COLUMNS: Mapping[str, int] = {
    "up": WIDE,
    "seen": WIDE,
    "pages/s": 0,
    "checked": 0,
    "kept": NORMAL,
    "copies": 0,
    "related": WIDE,
    "unchecked": WIDE,
    "open": NORMAL,
    "store ms": NORMAL,
    "worst": NORMAL,
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
        # The reader is gone. Python flushes at exit what is still buffered: send it to /dev/null.
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


def _print(snapshot: StoreSnapshot) -> None:
    console = output_console()
    console.print(dashboard(snapshot, console.width))


def dashboard(snapshot: StoreSnapshot, width: int, height: int | None = None, every: float | None = None) -> Group:
    """Lay out a snapshot for a terminal of ``width`` columns and ``height`` rows (None: any number).

    ``every`` is the number of seconds between two snapshots; None if there is only one.
    """
    parts: list[RenderableType] = [_header(snapshot, width, every)]
    if snapshot.error:
        outage = f"away for {duration(snapshot.outage)}" if snapshot.outage >= 1 else "away"
        parts.append(Text(f"{outage}: {snapshot.error}", "bold red"))
    if not snapshot.namespaces:
        parts.append(Text("no namespaces yet"))
    rows = None if height is None else (height - 3) // max(1, len(snapshot.namespaces))
    for each in snapshot.namespaces:
        parts += [Text(), *_namespace(each, width, rows, is_old=bool(snapshot.error))]
    return Group(*parts)


def _header(snapshot: StoreSnapshot, width: int, every: float | None) -> Text:
    clock = f"{snapshot.time:%H:%M:%S} UTC" + ("" if every is None else f", every {every:g} s")
    store = Text(snapshot.store, "bold", overflow="ellipsis", no_wrap=True)
    store.truncate(max(10, width - len(clock) - 2), overflow="ellipsis", pad=True)
    return Text.assemble(store, "  ", (clock, "dim"), no_wrap=True)


def _namespace(snapshot: NamespaceSnapshot, width: int, rows: int | None, *, is_old: bool) -> list[RenderableType]:
    title = Text.assemble((snapshot.namespace, "bold cyan"), (", as it was last seen" if is_old else "", "dim"))
    if snapshot.info is None:
        return [title, Text(snapshot.error, "bold red")]
    facts = facts_table(_namespace_rows(snapshot, snapshot.info, is_old=is_old), framed=False)
    parts: list[RenderableType] = [title, facts]
    if snapshot.workers is not None and snapshot.workers.problem:
        parts.append(Text(f"not readable: {snapshot.workers.problem}", "yellow"))
    if snapshot.workers is not None and snapshot.workers.workers:
        left = None if rows is None else rows - facts.row_count - len(parts) - 2
        parts += [Text(), _workers_table(snapshot.workers.workers, width, left)]
    return parts


def _namespace_rows(snapshot: NamespaceSnapshot, info: StoreInfo, *, is_old: bool) -> Iterator[tuple[str, str]]:
    growth = "" if is_old or snapshot.growth is None else f", {snapshot.growth:+.1f} a second"
    counted = f", counted {duration(snapshot.age)} ago" if snapshot.age >= OLD_COUNT else ""
    yield "pages", f"{info.pages:,}{growth}{counted}"
    yield "claims", claims_text(info)
    if snapshot.workers is not None:
        yield from _totals_rows(WorkerTotals.of(snapshot.workers), is_old=is_old)
    yield "memory", _memory(info, snapshot.workers)
    if info.hot is not None:
        yield "hot buckets", _hot_buckets(info)


def _totals_rows(totals: WorkerTotals, *, is_old: bool) -> Iterator[tuple[str, str]]:
    states = ", ".join(f"{count} {state}" for state, count in sorted(totals.states.items(), reverse=True))
    yield "workers", states or "none was active in the last hour"
    if not states:
        return
    speed = "" if is_old else f", {totals.checked_per_second:.1f} a second"
    yield "checked", f"{totals.checked:,}{speed}: {totals.kept:,} kept, {totals.dropped:,} dropped"
    yield "duplicates", _counts(totals.duplicates)
    if totals.related:
        yield "related", _counts(totals.related)
    if totals.unchecked:
        yield "unchecked", _counts(totals.unchecked)


def _counts(counts: Mapping[str, int]) -> str:
    descending = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{name} {count:,}" for name, count in descending) or "none"


def _memory(info: StoreInfo, workers: WorkersInfo | None) -> str:
    own = size(info.bytes) if info.bytes else "unknown"
    if info.bytes and info.pages:
        own += f", {info.bytes / info.pages:,.0f} bytes a page"
    if workers is None:
        return own
    if workers.memory is None:
        return f"{own}; the server's: not allowed"
    limit = f" of {size(workers.memory.limit)}" if workers.memory.limit else ", no limit"
    return f"{own}; the server's: {size(workers.memory.used)}{limit}"


def _hot_buckets(info: StoreInfo) -> str:
    if not info.hottest:
        return "none"
    fullest = info.hottest[0]
    beyond = f"{BUCKET_CAP + fullest.beyond:,} filed, {fullest.beyond:,} beyond the {BUCKET_CAP} read"
    return f"{info.hot:,}; fullest {fullest.key}: {beyond}"


def _workers_table(workers: Sequence[Worker], width: int, rows: int | None) -> Table:
    ordered = sorted(workers, key=lambda each: list(_STYLES).index(each.state))
    shown = ordered if rows is None or len(ordered) <= rows else ordered[: max(1, rows - 1)]
    table = Table(box=None, padding=(0, 1, 0, 0), width=width, pad_edge=False, header_style="dim")
    table.add_column("worker", no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column("spider", no_wrap=True, overflow="ellipsis", ratio=2)
    names = [name for name, min_width in _COLUMNS.items() if width >= min_width]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for each in shown:
        table.add_row(*_cells(each, names), style=_STYLES[each.state])
    if len(shown) < len(ordered):
        table.add_row(Text(f"… and {len(ordered) - len(shown)} more", "dim"))
    return table


def _cells(worker: Worker, names: Sequence[str]) -> list[Text]:
    figures = worker.stats
    if figures is None:
        return [Text(worker.token), Text("not readable", "yellow")]
    values = _values(worker, figures)
    return [_process(figures), Text(figures.spider), *(Text(values[name]) for name in names)]


def _values(worker: Worker, figures: WorkerStats) -> dict[str, str]:
    is_running = worker.state == "here"
    has_calls = is_running and figures.calls
    speed = "-" if figures.rate is None else f"{figures.rate:.1f}"
    return {
        "up": duration(figures.uptime),
        "seen": f"{duration(worker.age)} ago",
        "pages/s": speed if is_running else worker.state,
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
