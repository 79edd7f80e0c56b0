"""``dedupcrawl store watch``: a live view of a store and of the workers that crawl with it."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import closing, suppress
from typing import Annotated

import orjson
import typer
from rich.live import Live

from dedupcrawl.cli.dashboard import dashboard
from dedupcrawl.cli.screen import out
from dedupcrawl.cli.sighting import Snapshot, Watcher
from dedupcrawl.cli.storing import Namespace, StoreUrl, store
from dedupcrawl.errors import SettingError

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
