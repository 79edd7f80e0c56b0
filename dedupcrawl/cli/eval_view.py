"""``dedupcrawl eval duplicates``: the evaluations that it runs, and how they are shown.

Tables of scores, readable in a terminal of a hundred columns.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.console import Bars, out, print_json
from dedupcrawl.tools.evaluation.dataset import ParsedPageCache, read_labelled_pages
from dedupcrawl.tools.evaluation.duplicates import judge_pages
from dedupcrawl.tools.evaluation.plot import draw_curve
from dedupcrawl.tools.evaluation.sweep import SweepCurve, SweepPoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rich.console import Console

    from dedupcrawl.config import Config
    from dedupcrawl.tools.evaluation.duplicates import DuplicatesReport, Mistake
    from dedupcrawl.tools.evaluation.metrics import Scores
    from dedupcrawl.tools.evaluation.runs import EvaluationRun
    from dedupcrawl.tools.evaluation.sweep import Measure, Sweep


Entry = tuple[str, "DuplicatesReport"]  #: what a row is about, and what came of it

_NARROW = 4  #: columns that a kind of edit takes at least
_GROUPS = (
    ("drops\nprec.", "drops\nrecall", "drops\nF1", "wrong\ndrops", "missed\ndrops"),
    ("pairs\nprec.", "pairs\nrecall", "pairs\nF1"),
    ("µs a\npage", "keys\na page", "bytes\na page", "cand.\na page"),
)
_FIGURE = 7  #: columns that a figure takes with the space before it, at most
_NOTHING = "·"


def scores_tables(subject: str, entries: Sequence[Entry], width: int) -> list[Table]:
    """Return scores and costs, a row for each entry; ``subject`` heads the first column.

    It is one table, or where ``width`` columns do not hold it one for the drops, the pairs and the costs.
    """
    report = entries[0][1]
    title = f"{report.pages:,} pages, read in {report.costs.reading_us_per_page:,.0f} µs each"
    groups = range(len(_GROUPS))
    whole = _room(subject, entries) + _FIGURE * sum(map(len, _GROUPS)) - 5 <= width
    choices = [list(groups)] if whole else [[group] for group in groups]
    return [_scores_table(title if 0 in choice else "", subject, entries, choice) for choice in choices]


def _scores_table(title: str, subject: str, entries: Sequence[Entry], groups: Sequence[int]) -> Table:
    table = _table(title, subject)
    for group in groups:
        for name in _GROUPS[group]:
            table.add_column(name, justify="right", no_wrap=True)
    for name, report in entries:
        figures = _figures(report)
        table.add_row(name, *(figure for group in groups for figure in figures[group]))
    return table


def _room(subject: str, entries: Sequence[Entry]) -> int:
    return max(len(name) for name in (subject, *(name for name, _ in entries)))


def _figures(report: DuplicatesReport) -> tuple[list[str], ...]:
    """Return the figures of each group."""
    drops, costs = report.drops, report.costs
    spent = (costs.us_per_page, costs.keys_per_page, costs.bytes_per_page, costs.candidates_per_page)
    return (
        [*_measures(drops), f"{drops.false_positives:,}", f"{drops.false_negatives:,}"],
        _measures(report.pairs),
        [_short(value) for value in spent],
    )


def _measures(scores: Scores) -> list[str]:
    return [f"{value:.3f}" for value in (scores.precision, scores.recall, scores.f1)]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def edit_tables(subject: str, entries: Sequence[Entry], width: int) -> list[Table]:
    """Return what went wrong by kind of edit, in as many tables as ``width`` columns ask for."""
    edits = sorted({edit for _, report in entries for edit in report.by_edit})
    room = width - _room(subject, entries)
    title = "by kind of edit: missed copies, and with ! wrongly dropped pages"
    return [
        _edit_table("" if number else title, subject, entries, some)
        for number, some in enumerate(_lines(edits, room))
    ]


def _lines(edits: Sequence[str], room: int) -> list[list[str]]:
    """Part the kinds of edit so that the columns of each part fit into ``room``."""
    parts: list[list[str]] = [[]]
    left = room
    for edit in edits:
        needed = 1 + max(_NARROW, len(edit))
        if needed > left and parts[-1]:
            parts.append([])
            left = room
        parts[-1].append(edit)
        left -= needed
    return parts


def _edit_table(title: str, subject: str, entries: Sequence[Entry], edits: Sequence[str]) -> Table:
    table = _table(title, subject)
    for edit in edits:
        table.add_column(edit or "-", justify="right", overflow="fold", min_width=_NARROW)
    pages = (entries[0][1].by_edit[edit]["pages"] for edit in edits)
    table.add_row(*(Text(str(cell), style="dim") for cell in ("pages", *pages)))
    for name, report in entries:
        table.add_row(name, *(_wrong(report, edit) for edit in edits))
    return table


def _wrong(report: DuplicatesReport, edit: str) -> Text:
    counter = report.by_edit[edit]
    missed, wrong = counter["missed"], counter["wrongly_dropped"]
    said = [str(missed)] * bool(missed) + [f"{wrong}!"] * bool(wrong)
    return Text(" ".join(said) or _NOTHING, style="red" if wrong else "yellow" if missed else "dim")


def mistakes_table(name: str, mistakes: Iterable[Mistake]) -> Table:
    """Return every page that was wrongly dropped or missed, with what was said of it."""
    table = Table(title=Text(f"mistakes of {name}"))
    for column in ("mistake", "id", "edit", "URL", "verdict"):
        table.add_column(column, overflow="fold")
    for mistake in mistakes:
        row, verdict = mistake.row, mistake.verdict
        related = (verdict.relation, verdict.of, verdict.similarity, verdict.detector)
        said = verdict.reason or " ".join(str(part) for part in related if part)
        table.add_row(*map(Text, (mistake.kind, row.id, row.edit, row.url, f"{verdict.status} {said}")))
    return table


def _table(title: str, subject: str) -> Table:
    table = Table(title=Text(title) if title else None, title_justify="left", box=SIMPLE_HEAD)
    table.padding, table.pad_edge, table.show_edge = 0, False, False
    table.add_column(subject, overflow="fold")
    return table


_COLUMNS = 100  #: of a table that goes into a file or a pipe


def evaluate(file: Path, runs: Sequence[tuple[str, Config]]) -> list[DuplicatesReport]:
    """Read the labelled pages once, and judge them under each configuration, which has a name."""
    reports = []
    with Bars(stacked=False) as bars:
        shelf = ParsedPageCache(bars.track("loading", read_labelled_pages(file)))
        for number, (name, config) in enumerate(runs, 1):
            readings = shelf.read(config, lambda rows: bars.track("reading", rows, len(rows)))
            bars.run(name, number, len(runs), len(shelf))
            reports.append(judge_pages(readings, config, lambda: bars.advance(1, 1)))
    return reports


def run_contest(file: Path, field: Sequence[EvaluationRun], *, mistakes: bool, as_json: bool) -> None:
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
    runs = [(f"{sweep.name}={step.value:g}", step.config) for step in sweep.steps]
    reports = evaluate(file, runs)
    values = (step.value for step in sweep.steps)
    points = (SweepPoint(value, report, measure) for value, report in zip(values, reports, strict=True))
    curve = SweepCurve(sweep.name, tuple(points), measure, precision)
    if plot is not None:
        draw_curve(plot, curve)
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


def _sentence(curve: SweepCurve) -> str:
    wanted, chosen = f"{curve.precision:g}", curve.best
    if chosen is None:
        nearest = curve.most_precise
        if not nearest.scores.true_positives:
            return f"No setting finds anything that is right: there is no best {curve.name}."
        return (
            f"No setting reaches the precision of {wanted} for {curve.measure}; "
            f"{curve.name} = {nearest.value:g} comes to {nearest.scores.precision:.4f}."
        )
    return (
        f"Most {curve.measure} found at a precision of at least {wanted}: {curve.name} = {chosen.value:g} "
        f"(precision {chosen.scores.precision:.4f}, recall {chosen.scores.recall:.4f})."
    )
