"""Output of the commands: results on standard output, progress bars and errors on standard error."""

from __future__ import annotations

import json
import os
import re
import sys
import time
import webbrowser
from io import TextIOWrapper
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

import orjson
from rich.cells import cell_len
from rich.console import Console, RenderHook
from rich.measure import Measurement
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
from rich.table import Table
from rich.text import Text

from dedupcrawl.utils.formatting import duration
from dedupcrawl.utils.messages import mark, tr, tr_amount, tr_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import ConsoleOptions, ConsoleRenderable, RenderableType, RenderResult


T = TypeVar("T")

_UPDATE_INTERVAL = 0.05  #: seconds between two updates of a bar; an update costs more than counting one item
_PIPE_COLUMNS = 100  #: width of tables that are written to a file or a pipe
_UNLIMITED = 1 << 20  #: columns; more than any word has
_LINE_INTERVAL = 30.0  #: seconds between two lines about the progress, in a file or a pipe
#: Control characters, which a terminal obeys, and characters that change the direction of the text.
_CONTROL_CHARACTERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


UNITS = (mark("pages"), mark("records"), mark("documents"), mark("pairs"))
_STEP_COLUMNS = 12  #: least terminal columns of the name of a step


class ConsoleProgress:
    """A progress bar for each step, on standard error. Where that is no terminal: a line every 30 seconds.

    Implements :class:`~dedupcrawl.utils.iteration.Progress`. ``unit`` is the plural noun of the items, one of
    ``UNITS``; the names of steps are English, and translated.
    ``stacked`` keeps the bars of finished steps until the end; otherwise one bar is visible at a time.
    """

    def __init__(self, unit: str = "pages", *, stacked: bool = True) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn(tr("{n} {unit}", n="{task.fields[pages]:,}", unit=tr(unit))),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn(tr("left")),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._stacked = stacked
        self._unit = tr(unit)
        self._printed = time.monotonic()
        self._task: TaskID | None = None
        self._total: int | None = None
        self._amount = self._pages = 0  # done in the current step
        self._began = 0.0
        self._updated = -inf

    def __enter__(self) -> Self:
        if not self._progress.disable:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._update()
        if not self._progress.disable:  # Rich below 14.3 prints an empty line all the same
            self._progress.stop()

    def begin(self, step: str, total: int | None) -> None:
        """End the current step and begin another; ``total`` is None if the amount of work is unknown."""
        if self._task is not None and self._stacked:
            self._update()
            self._progress.update(self._task, completed=self._total)
        elif self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(_padded(tr_sentence(step)), total=total, pages=0, rate="")
        self._total = total
        self._amount = self._pages = 0
        self._began, self._updated = time.monotonic(), -inf

    def begin_run(self, name: str, number: int, runs: int, total: int) -> None:
        """Begin run ``number`` of ``runs``, counted from 1."""
        self.begin(f"{name} {number}/{runs}" if runs > 1 else name, total)

    def advance(self, amount: int, pages: int = 0) -> None:
        """Add to the current step."""
        self._amount += amount
        self._pages += pages
        now = time.monotonic()
        if now - self._updated >= _UPDATE_INTERVAL:
            self._updated = now
            self._update()
            if self._progress.disable and now - self._printed >= _LINE_INTERVAL:
                self._printed = now
                self._print_line()

    def track(self, step: str, items: Iterable[T], total: int | None = None) -> Iterator[T]:
        """Begin a step and yield its items, counting each one."""
        self.begin(step, total)
        for item in items:
            yield item
            self.advance(1, 1)

    def _update(self) -> None:
        if self._task is not None:
            elapsed = time.monotonic() - self._began
            rate = f"{self._pages / elapsed:,.0f}/s" if elapsed else ""
            self._progress.update(self._task, completed=self._amount, pages=self._pages, rate=rate)

    def _print_line(self) -> None:
        (task,) = [each for each in self._progress.tasks if each.id == self._task]
        done = tr("{n} {unit}", n=f"{self._pages:,}", unit=self._unit)
        parts = [tr("{step}: {done}", step=task.description.strip(), done=done), str(task.fields["rate"])]
        if self._total and self._amount:
            left = (time.monotonic() - self._began) * (self._total / self._amount - 1)
            parts += [f"{self._amount / self._total:.0%}", tr("{time} left", time=tr_amount(duration(max(0.0, left))))]
        print(tr(", ").join(filter(None, parts)), file=sys.stderr, flush=True)


def _padded(step: str) -> str:
    return step + " " * (_STEP_COLUMNS - cell_len(step))


def output_console(pipe_columns: int | None = None) -> Console:
    """Return a console on standard output. In a file or a pipe, lines are not wrapped, and tables only at spaces.

    Tables have ``pipe_columns`` there; None: as many as Rich takes.
    """
    console = Console(soft_wrap=not sys.stdout.isatty(), highlight=False)
    if console.is_terminal:
        console.push_render_hook(_ControlCharacterFilter())
        return console
    console.width = pipe_columns or console.width
    console.push_render_hook(_PipeFormat(console))
    return console


def table_console() -> Console:
    """Return a console for tables, which have a fixed width in a file or a pipe."""
    return output_console(None if "COLUMNS" in os.environ else _PIPE_COLUMNS)


def print_line(text: str, style: str = "") -> None:
    """Write text without markup to standard output."""
    output_console().print(Text(text, style))


def print_error(sentence: str) -> None:
    """Write an error to standard error."""
    print_note(Text.assemble((tr("error: "), "bold red"), sentence))


def print_note(text: str | Text) -> None:
    """Write text without markup to standard error."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.push_render_hook(_ControlCharacterFilter())
    console.print(Text(text) if isinstance(text, str) else text)


def print_json(value: object) -> None:
    """Write indented JSON to standard output, in UTF-8 regardless of the encoding of the terminal."""
    sys.stdout.flush()
    try:
        data = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a lone surrogate, which orjson rejects
        data = json.dumps(value, indent=2, default=dict).encode() + b"\n"
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def facts_table(rows: Iterable[tuple[str, str | Text]], title: str = "", *, framed: bool = True) -> Table:
    """Return a table of names and values without markup; long values fold instead of being cut."""
    table = Table(title=Text(title) if title else None, title_justify="left", show_header=False)
    if not framed:
        table.box, table.padding = None, (0, 2, 0, 0)
    rows = tuple(rows)
    # Rich measures the longest word of a name, and does not break names: what is missing is taken from the URLs.
    widest = max((cell_len(name) for name, _ in rows), default=0)
    table.add_column(no_wrap=True, min_width=widest, style="" if framed else "dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value) if isinstance(value, str) else value)
    return table


def open_in_browser(url: str, otherwise: str) -> None:
    """Open a URL in the browser; if there is none, print what the user can do instead."""
    if not webbrowser.open(url):
        print_error(tr("no browser can be opened here; {advice}", advice=otherwise))


def escape_unencodable() -> None:
    """Write characters that the encoding of the terminal lacks as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _PipeFormat(RenderHook):
    """Widens a console for tables with long words: in a file or a pipe, a URL is not broken."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = console.width

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        options = self._console.options.update(max_width=_UNLIMITED)
        needed = [Measurement.get(self._console, options, each).minimum for each in renderables]
        self._console.width = max([self._width, *needed])
        return renderables


class _ControlCharacterFilter(RenderHook):
    """Removes control characters from the output: titles and URLs of pages may contain them."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_FilteredText(each) for each in renderables]


class _FilteredText(NamedTuple):
    renderable: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self.renderable, options):
            yield Segment(text if control else _CONTROL_CHARACTERS.sub("", text), style, control)
