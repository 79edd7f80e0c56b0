"""``dedupcrawl eval duplicates``: the evaluations that it runs, and how they are shown."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dedupcrawl.cli.progress import Bars
from dedupcrawl.cli.scoreboard import edit_tables, mistakes_table, scores_tables
from dedupcrawl.cli.screen import out, print_json
from dedupcrawl.evaluation.duplicates import judge_pages
from dedupcrawl.evaluation.plot import draw
from dedupcrawl.evaluation.readings import Shelf
from dedupcrawl.evaluation.rows import read_rows
from dedupcrawl.evaluation.sweep import Curve, Point

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    from dedupcrawl.cli.scoreboard import Entry
    from dedupcrawl.config import Config
    from dedupcrawl.evaluation.contestants import Contestant
    from dedupcrawl.evaluation.report import DuplicatesReport
    from dedupcrawl.evaluation.sweep import Measure, Sweep

_COLUMNS = 100  #: of a table that goes into a file or a pipe


def evaluate(file: Path, runs: Sequence[tuple[str, Config]]) -> list[DuplicatesReport]:
    """Read the labelled pages once, and judge them under each configuration, which has a name."""
    reports = []
    with Bars(stacked=False) as bars:
        shelf = Shelf(bars.track("loading", read_rows(file)))
        for number, (name, config) in enumerate(runs, 1):
            readings = shelf.read(config, lambda rows: bars.track("reading", rows, len(rows)))
            bars.run(name, number, len(runs), len(shelf))
            reports.append(judge_pages(readings, config, lambda: bars.advance(1, 1)))
    return reports


def run_contest(file: Path, field: Sequence[Contestant], *, mistakes: bool, as_json: bool) -> None:
    """Evaluate every contestant, and print a row of each."""
    reports = evaluate(file, [(each.label, each.config) for each in field])
    entries = [(each.label, report) for each, report in zip(field, reports, strict=True)]
    if as_json:
        rows = [{"name": name, **report.to_dict(), **_listed(report, mistakes)} for name, report in entries]
        print_json(rows[0] if len(rows) == 1 else {"pages": reports[0].pages, "runs": rows})
        return
    _show("detector", entries, mistakes=mistakes)


def run_sweep(
    file: Path, sweep: Sweep, measure: Measure, precision: float, plot: Path | None, *, as_json: bool
) -> None:
    """Evaluate every setting, print a row of each, draw the curve and name the best one."""
    runs = [(f"{sweep.name}={setting.value:g}", setting.config) for setting in sweep.settings]
    reports = evaluate(file, runs)
    values = (setting.value for setting in sweep.settings)
    points = (Point(value, report, measure) for value, report in zip(values, reports, strict=True))
    curve = Curve(sweep.name, tuple(points), measure, precision)
    if plot is not None:
        draw(plot, curve)
    if as_json:
        print_json(curve.to_dict())
        return
    entries = [(f"{point.value:g}", point.report) for point in curve.points]
    console = screen()
    _print(console, scores_tables(sweep.name, entries, console.width))
    console.print(_sentence(curve))


def _listed(report: DuplicatesReport, mistakes: bool) -> dict[str, object]:
    """Return the mistakes for JSON, if they are asked for."""
    return {"mistakes": [mistake.to_dict() for mistake in report.mistakes]} if mistakes else {}


def _show(subject: str, entries: Sequence[Entry], *, mistakes: bool) -> None:
    console = screen()
    _print(console, scores_tables(subject, entries, console.width))
    _print(console, edit_tables(subject, entries, console.width))
    if mistakes:
        _print(
            console, (mistakes_table(name, report.mistakes) for name, report in entries if report.mistakes)
        )


def _print(console: Console, tables: Iterable[Table]) -> None:
    for table in tables:
        console.print(table)
        console.print()


def screen() -> Console:
    """Return the console of tables, which have a width of their own in a file or a pipe."""
    console = out()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _COLUMNS
    return console


def _sentence(curve: Curve) -> str:
    wanted, chosen = f"{curve.precision:g}", curve.best
    if chosen is None:
        nearest = curve.most_precise
        if not nearest.scores.right:
            return f"No setting finds anything that is right: there is no best {curve.name}."
        return (
            f"No setting reaches the precision of {wanted} for {curve.measure}; "
            f"{curve.name} = {nearest.value:g} comes to {nearest.scores.precision:.4f}."
        )
    return (
        f"Most {curve.measure} found at a precision of at least {wanted}: {curve.name} = {chosen.value:g} "
        f"(precision {chosen.scores.precision:.4f}, recall {chosen.scores.recall:.4f})."
    )
