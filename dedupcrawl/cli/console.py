"""Bars on a terminal that tell how far a run has come.

How the command speaks: text to standard output, remarks to standard error.
"""

from __future__ import annotations

import json
import re
import sys
import time
from io import TextIOWrapper
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

import orjson
from rich.console import Console, RenderHook
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import ConsoleOptions, ConsoleRenderable, RenderableType, RenderResult


T = TypeVar("T")

_OFTEN = 0.05  #: seconds between two looks at what is to be shown; counting may be faster than drawing


class Bars:
    """A bar for each step, on standard error; nothing where that is no terminal.

    Args:
        unit: what is counted.
        stacked: whether the bars of steps that are done stay until all are; else there is one at a time.
    """

    def __init__(self, unit: str = "pages", *, stacked: bool = True) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn(f"{{task.fields[pages]:,}} {unit}"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._stacked = stacked
        self._task: TaskID | None = None
        self._amount = self._pages = 0  # done, and not shown yet
        self._shown = -inf

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._show()
        self._progress.stop()

    def begin(self, step: str, total: int | None) -> None:
        """Begin the bar of a step, and end the one before; None: how much there is to do is not known."""
        self._end()
        self._task = self._progress.add_task(f"{step:<12}", total=total, pages=0, rate="")
        self._shown = -inf

    def advance(self, amount: int, pages: int = 0) -> None:
        """Move the bar."""
        self._amount += amount
        self._pages += pages
        now = time.monotonic()
        if now - self._shown >= _OFTEN:
            self._shown = now
            self._show()

    def run(self, name: str, number: int, runs: int, total: int) -> None:
        """Begin a step that is one of several alike."""
        self.begin(f"{name} {number}/{runs}" if runs > 1 else name, total)

    def track(self, step: str, items: Iterable[T], total: int | None = None) -> Iterator[T]:
        """Yield items, each of them one more that is done of a step."""
        self.begin(step, total)
        for item in items:
            yield item
            self.advance(1, 1)

    def _show(self) -> None:
        amount, pages = self._amount, self._pages
        self._amount = self._pages = 0
        task = next((each for each in self._progress.tasks if each.id == self._task), None)
        if task is not None:
            done = task.fields["pages"] + pages
            rate = f"{done / task.elapsed:,.0f}/s" if task.elapsed else ""
            self._progress.update(task.id, advance=amount, pages=done, rate=rate)

    def _end(self) -> None:
        self._show()
        if self._task is None:
            return
        if self._stacked:
            task = next(each for each in self._progress.tasks if each.id == self._task)
            self._progress.update(self._task, completed=task.total)
        else:
            self._progress.remove_task(self._task)


#: What steers a terminal, or turns the direction of what stands around it.
_STEERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def out() -> Console:
    """Return the console for results; it does not wrap what goes into a file or a pipe."""
    console = Console(soft_wrap=not sys.stdout.isatty(), highlight=False)
    if console.is_terminal:
        console.push_render_hook(_Disarming())
    return console


def complain(sentence: str) -> None:
    """Say what went wrong."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.push_render_hook(_Disarming())
    console.print(Text.assemble(("error: ", "bold red"), sentence))


class _Disarming(RenderHook):
    """Leaves out of what is shown whatever could steer the terminal; what came from a page may hold it."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Disarmed(each) for each in renderables]


class _Disarmed(NamedTuple):
    """Something to be shown, without signs that steer a terminal."""

    shown: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self.shown, options):
            yield Segment(text if control else _STEERS.sub("", text), style, control)


def print_json(value: object) -> None:
    """Write one JSON value, indented, in UTF-8 whatever the terminal's encoding."""
    sys.stdout.flush()
    sys.stdout.buffer.write(_indented(value))
    sys.stdout.buffer.flush()


def _indented(value: object) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # half a surrogate pair
        return json.dumps(value, indent=2, default=dict).encode() + b"\n"


def show_any_text() -> None:
    """Let characters that the terminal's encoding lacks be written as escapes, not end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
