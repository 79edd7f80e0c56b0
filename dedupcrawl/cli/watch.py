"""What is seen of a store, laid out for a terminal of any width.

Names and messages go into it as plain :class:`~rich.text.Text`, never as markup.

``dedupcrawl store watch``: a live view of a store and of the workers that crawl with it.
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

from dedupcrawl.cli.console import out
from dedupcrawl.cli.snapshot import Snapshot, Totals, Watcher
from dedupcrawl.cli.store import Namespace, StoreUrl, claims_of, store
from dedupcrawl.errors import SettingError
from dedupcrawl.stores.base import BUCKET_CAP
from dedupcrawl.utils.formatting import duration, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import RenderableType

    from dedupcrawl.cli.snapshot import Sight
    from dedupcrawl.stores.base import StoreInfo
    from dedupcrawl.stores.workers import Worker, WorkersInfo, WorkerStats


NORMAL, WIDE = 76, 112  #: columns from which on more is told of each worker
#: What is told of each, and from how many columns on.
_NUMBERS: Mapping[str, int] = {
    "up": WIDE,
    "said": WIDE,
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
OLD = 5.0  #: seconds from which on it is said how long ago pages were counted
_STYLES = {"here": "", "gone": "bold red", "done": "dim"}


def dashboard(snapshot: Snapshot, width: int, height: int | None = None, every: float | None = None) -> Group:
    """Lay out a snapshot.

    Args:
        snapshot: what was seen.
        width: columns.
        height: rows; of more workers than fit the first are shown. None: all.
        every: seconds between looks; None: there is but one.
    """
    parts: list[RenderableType] = [_head(snapshot, width, every)]
    if snapshot.away:
        lasts = f"away for {duration(snapshot.away_for)}" if snapshot.away_for >= 1 else "away"
        parts.append(Text(f"{lasts}: {snapshot.away}", "bold red"))
    if not snapshot.sights:
        parts.append(Text("no namespaces yet"))
    room = None if height is None else (height - 3) // max(1, len(snapshot.sights))
    for sight in snapshot.sights:
        parts += [Text(), *_sight(sight, width, room, stale=bool(snapshot.away))]
    return Group(*parts)


def _head(snapshot: Snapshot, width: int, every: float | None) -> Text:
    clock = f"{snapshot.moment:%H:%M:%S} UTC" + ("" if every is None else f", every {every:g} s")
    room = max(10, width - len(clock) - 2)
    store = Text(snapshot.store, "bold", overflow="ellipsis", no_wrap=True)
    store.truncate(room, overflow="ellipsis", pad=True)
    return Text.assemble(store, "  ", (clock, "dim"), no_wrap=True)


def _sight(sight: Sight, width: int, room: int | None, *, stale: bool) -> list[RenderableType]:
    title = Text.assemble((sight.namespace, "bold cyan"), (", as it was last seen" if stale else "", "dim"))
    if sight.info is None:
        return [title, Text(sight.trouble, "bold red")]
    facts = _facts(sight, sight.info, stale=stale)
    parts: list[RenderableType] = [title, facts]
    if sight.fleet is not None and sight.fleet.problem:
        parts.append(Text(f"not readable: {sight.fleet.problem}", "yellow"))
    if sight.fleet is not None and sight.fleet.workers:
        left = None if room is None else room - facts.row_count - len(parts) - 2
        parts += [Text(), _workers(sight.fleet.workers, width, left)]
    return parts


# -- the namespace ------------------------------------------------------------------------------


def _facts(sight: Sight, info: StoreInfo, *, stale: bool) -> Table:
    rows = {"pages": _pages(sight, info, stale=stale), "claims": claims_of(info)}
    if sight.fleet is not None:
        rows |= _done(Totals.of(sight.fleet), stale=stale)
    rows["memory"] = _memory(info, sight.fleet)
    if info.hot is not None:
        rows["hot buckets"] = _hot(info)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, told in rows.items():
        table.add_row(name, Text(told))
    return table


def _pages(sight: Sight, info: StoreInfo, *, stale: bool) -> str:
    growth = "" if stale or sight.growth is None else f", {sight.growth:+.1f} a second"
    return f"{info.pages:,}{growth}" + (
        f", counted {duration(sight.counted)} ago" if sight.counted >= OLD else ""
    )


def _done(totals: Totals, *, stale: bool) -> dict[str, str]:
    states = ", ".join(f"{count} {state}" for state, count in sorted(totals.states.items(), reverse=True))
    speed = "" if stale else f", {totals.checked_per_second:.1f} a second"
    rows = {
        "workers": states or "none has said anything in the last hour",
        "checked": f"{totals.checked:,}{speed}: {totals.kept:,} kept, {totals.dropped:,} dropped",
        "duplicates": _counts(totals.duplicates),
    }
    if totals.related:
        rows["related"] = _counts(totals.related)
    if totals.unchecked:
        rows["unchecked"] = _counts(totals.unchecked)
    return rows if totals.states else {"workers": rows["workers"]}


def _counts(counts: Mapping[str, int]) -> str:
    most_first = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{name} {count:,}" for name, count in most_first) or "none"


def _memory(info: StoreInfo, fleet: WorkersInfo | None) -> str:
    own = size(info.bytes) if info.bytes else "not told"
    if info.bytes and info.pages:
        own += f", {info.bytes / info.pages:,.0f} bytes a page"
    if fleet is None:
        return own
    if fleet.memory is None:
        return f"{own}; the server's: not allowed"
    limit = f" of {size(fleet.memory.limit)}" if fleet.memory.limit else ", no limit"
    return f"{own}; the server's: {size(fleet.memory.used)}{limit}"


def _hot(info: StoreInfo) -> str:
    if not info.hottest:
        return "none"
    fullest = info.hottest[0]
    beyond = f"{BUCKET_CAP + fullest.beyond:,} filed, {fullest.beyond:,} beyond the {BUCKET_CAP} read"
    return f"{info.hot:,}; fullest {fullest.key}: {beyond}"


# -- the workers --------------------------------------------------------------------------------


def _workers(workers: Sequence[Worker], width: int, room: int | None) -> Table:
    ordered = sorted(workers, key=lambda each: ("here", "gone", "done").index(each.state))
    shown = ordered if room is None or len(ordered) <= room else ordered[: max(1, room - 1)]
    table = Table(box=None, padding=(0, 1, 0, 0), width=width, pad_edge=False, header_style="dim")
    table.add_column("worker", no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column("spider", no_wrap=True, overflow="ellipsis", ratio=2)
    names = [name for name, least in _NUMBERS.items() if width >= least]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for each in shown:
        table.add_row(*_cells(each, names), style=_STYLES[each.state])
    if len(shown) < len(ordered):
        table.add_row(Text(f"… and {len(ordered) - len(shown)} more", "dim"))
    return table


def _cells(worker: Worker, names: Sequence[str]) -> list[Text]:
    told = worker.stats
    if told is None:
        return [Text(worker.token), Text("not readable", "yellow")]
    numbers = _numbers(worker, told)
    return [_place(told), Text(told.spider), *(Text(numbers[name]) for name in names)]


def _numbers(worker: Worker, told: WorkerStats) -> dict[str, str]:
    mean, worst = _waits(worker, told)
    return {
        "up": duration(told.uptime),
        "said": f"{duration(worker.age)} ago",
        "pages/s": _speed(worker, told),
        "checked": f"{told.checked:,}",
        "kept": f"{told.kept:,}",
        "copies": f"{sum(told.duplicates.values()):,}",
        "related": f"{sum(told.related.values()):,}",
        "unchecked": f"{sum(told.unchecked.values()):,}",
        "open": f"{told.claims:,}",
        "store ms": mean,
        "worst": worst,
    }


def _place(told: WorkerStats) -> Text:
    """Name a worker so that its process stays to be seen where the host is cut."""
    number = f":{told.process}"
    host = told.host if len(told.host) + len(number) <= 24 else told.host[: 23 - len(number)] + "…"
    return Text(host + number)


def _speed(worker: Worker, told: WorkerStats) -> str:
    if worker.state != "here":
        return worker.state
    return "-" if told.rate is None else f"{told.rate:.1f}"


def _waits(worker: Worker, told: WorkerStats) -> tuple[str, str]:
    if worker.state != "here" or not told.calls:
        return "-", "-"
    return f"{told.mean:.1f}", f"{told.worst:.0f}"


SHORTEST, LONGEST = 0.1, 86400.0  #: seconds between looks


@store.command()
def watch(
    where: StoreUrl,
    namespace: Namespace = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="How often to look.")] = 2.0,
    once: Annotated[
        bool, typer.Option("--once", help="Look once, as is done where there is no terminal.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write a line of JSON at each look.")] = False,
) -> None:
    """Show pages, claims, memory and workers as they are now, until Ctrl-C."""
    if not SHORTEST <= every <= LONGEST:
        raise SettingError("--every", every, f"seconds from {SHORTEST:g} to {LONGEST:g}")
    with closing(Watcher(where, namespace)) as watcher, suppress(KeyboardInterrupt):
        if as_json:
            _write(watcher, every, once=once)
        elif once or not sys.stdout.isatty():
            _print(watcher.look())
        else:
            _show(watcher, every)


def _write(watcher: Watcher, every: float, *, once: bool) -> None:
    try:
        while True:
            sys.stdout.buffer.write(orjson.dumps(watcher.look().as_dict(), option=orjson.OPT_APPEND_NEWLINE))
            sys.stdout.buffer.flush()
            if once:
                return
            time.sleep(every)
    except BrokenPipeError:
        # Nobody reads on. What Python would still flush at its end must have somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show(watcher: Watcher, every: float) -> None:
    seen = watcher.look()
    # The terminal must be given back as it was.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = out()
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(dashboard(seen, console.width, console.height, every), refresh=True)
                time.sleep(every)
                seen = watcher.look()
    finally:
        _print(seen)


def _print(seen: Snapshot) -> None:
    console = out()
    console.print(dashboard(seen, console.width))
