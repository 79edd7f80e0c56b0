"""Bars on a terminal that tell how far a run has come."""

from __future__ import annotations

from typing import Self

from rich.console import Console
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


class Bars:
    """A bar for each step, on standard error; nothing where that is no terminal."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[pages]:,} pages"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, step: str, total: int) -> None:
        """Begin the bar of a step, and end the one before."""
        self._end()
        self._task = self._progress.add_task(f"{step:<12}", total=total, pages=0, rate="")

    def advance(self, amount: int, pages: int = 0) -> None:
        """Move the bar."""
        if self._task is None:
            return
        task = self._progress.tasks[self._task]
        done = task.fields["pages"] + pages
        rate = f"{done / task.elapsed:,.0f}/s" if task.elapsed else ""
        self._progress.update(self._task, advance=amount, pages=done, rate=rate)

    def _end(self) -> None:
        if self._task is not None:
            self._progress.update(self._task, completed=self._progress.tasks[self._task].total)
