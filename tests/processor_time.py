"""A table of the processor time of the tests: ``pytest --cost=file``, ``--cost=folder`` or ``--cost=test``.

Processor time hardly depends on what else the machine does. The time of a test is that of the process of pytest and of
all its descendants: servers, crawls, commands and their forks. What one file starts and another one uses, such as the
fork server, counts for the file that was running.

The system adds the time of a process that has ended to its parent, if that waits for it. Otherwise only the time
counts that was seen while it ran: so the processes are looked at every second.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

BY = ("folder", "file", "test")  #: what a row of the table may be
SECONDS = 1.0  #: between two looks at the processes, if tests of a row take longer
START = "(collection)"  #: the row of what runs before the first test
STATUS = Path("/proc/self/stat")
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 1
_STATE = 2  #: fields of ``/proc/PID/stat`` before the state, which follows the name in parentheses
_PARENT, _TIMES = 3, slice(13, 17)  #: fields: the parent, and the ticks of the process and of children it waited for


def add_option(parser: pytest.Parser) -> None:
    parser.getgroup("dedupcrawl").addoption(
        "--cost",
        choices=BY,
        help="print the processor time of each file, folder or test, with all processes that it starts (without -n)",
    )


def begin(config: pytest.Config) -> None:
    """Measure the tests of this run, if ``--cost`` asks for it."""
    by = config.getoption("cost")
    if not by:
        return
    if getattr(config.option, "tx", None):
        raise pytest.UsageError("--cost measures one process: leave -n out")
    if not STATUS.is_file():
        raise pytest.UsageError(f"--cost needs {STATUS}, as on Linux")
    config.pluginmanager.register(CostTable(by))


class CostTable:
    """Plugin of pytest that measures the tests, and prints the table at the end."""

    def __init__(self, by: str) -> None:
        self._by = by
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._elapsed: defaultdict[str, float] = defaultdict(float)
        self._tests: Counter[str] = Counter()
        self._last = (0.0, monotonic())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        if not self._tests:
            self._add(START)
        row = self._row(item)
        try:
            return (yield)
        finally:
            self._tests[row] += 1
            if nextitem is None or self._row(nextitem) != row:
                self._add(row)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        if monotonic() > self._last[1] + SECONDS:
            self._add(self._row(item))  # before the fixtures end their processes
        return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        write = terminalreporter.write_line
        write(f"{'CPU s':>8} {'wall s':>8} {'tests':>6}  {self._by}")
        for row in sorted(self._seconds, key=self._seconds.__getitem__, reverse=True):
            write(f"{self._seconds[row]:8.2f} {self._elapsed[row]:8.2f} {self._tests[row]:6}  {row}")
        total, elapsed = sum(self._seconds.values()), sum(self._elapsed.values())
        write(f"{total:8.2f} {elapsed:8.2f} {self._tests.total():6}  in total")

    def _row(self, item: pytest.Item) -> str:
        file = item.nodeid.partition("::")[0]
        return {"test": item.nodeid, "file": file, "folder": os.path.dirname(file)}[self._by]  # noqa: PTH120

    def _add(self, row: str) -> None:
        """Add what was used since the last call to a row."""
        before, self._last = self._last, (tree_seconds(os.getpid()), monotonic())
        self._seconds[row] += max(0.0, self._last[0] - before[0])
        self._elapsed[row] += self._last[1] - before[1]


def tree_seconds(root: int) -> float:
    """Return the processor time of a process, its descendants, and those of them that have ended."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for process, fields in _processes():
        parents[process] = int(fields[_PARENT - _STATE])
        ticks[process] = sum(map(int, fields[_TIMES.start - _STATE : _TIMES.stop - _STATE]))
    return sum(ticks[each] for each in ticks if _descends(each, root, parents)) / _TICKS


def _processes() -> Iterator[tuple[int, list[str]]]:
    """Yield each process of the machine, and its fields from the state on."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text(errors="replace")
        except OSError:  # it has ended
            continue
        yield int(folder.name), text.rpartition(")")[2].split()


def _descends(process: int, root: int, parents: dict[int, int]) -> bool:
    while process and process != root:
        process = parents.get(process, 0)
    return process == root
