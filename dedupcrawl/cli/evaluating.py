"""``dedupcrawl eval``: how right the reader and the detectors are on labelled pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from dedupcrawl.cli.options import DetectorNames, config_of
from dedupcrawl.cli.screen import out, print_json
from dedupcrawl.evaluation.duplicates import DuplicatesReport, evaluate_duplicates
from dedupcrawl.evaluation.extraction import evaluate_pages
from dedupcrawl.evaluation.rows import read_rows

if TYPE_CHECKING:
    from rich.console import Console

evaluation = typer.Typer(help="Score the reader and the detectors on labelled pages.", no_args_is_help=True)
AsJson = Annotated[bool, typer.Option("--json", help="Write the figures as JSON.")]


@evaluation.command()
def pages(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="html/<id>.html.gz and truth.jsonl")],
    as_json: AsJson = False,
) -> None:
    """Score main texts against hand-made ones, by 4-grams."""
    figures = evaluate_pages(folder).to_dict()
    if as_json:
        print_json(figures)
        return
    table = Table(show_header=False)
    for name, value in figures.items():
        table.add_row(name, str(value))
    out().print(table)


@evaluation.command()
def duplicates(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON Lines (.gz) of id, url, html|text, cluster")
    ],
    detector: DetectorNames = None,
    mistakes: Annotated[
        bool, typer.Option(help="List every page that was wrongly dropped or missed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score the drops that a crawler would make, and all pairs."""
    config = config_of(detector)
    with Progress(transient=True, disable=not out().is_terminal) as progress:
        report = evaluate_duplicates(progress.track(read_rows(file), total=None), config)
    if as_json:
        print_json(report.to_dict())
        return
    console = out()
    _show(console, report)
    if mistakes:
        _list_mistakes(console, report)


def _show(console: Console, report: DuplicatesReport) -> None:
    figures = f"{report.pages} pages, {report.seconds / max(report.pages, 1) * 1e6:.0f} µs each"
    table = Table(title=f"{', '.join(report.detectors)} · {figures}")
    for name in ("", "precision", "recall", "F1", "wrongly dropped", "missed"):
        table.add_column(name, justify="left" if not name else "right")
    for name, scores in (("drops", report.drops), ("pairs", report.pairs)):
        measures = [f"{value:.4f}" for value in scores.to_dict().values()]
        table.add_row(name, *measures, str(scores.wrong), str(scores.missing))
    console.print(table)
    edits = Table("edit", "pages", "dropped", "wrongly dropped", "missed", title="by kind of edit")
    for edit, counter in sorted(report.by_edit.items()):
        edits.add_row(
            edit or "-", *(str(counter[key]) for key in ("pages", "dropped", "wrongly_dropped", "missed"))
        )
    console.print(edits)


def _list_mistakes(console: Console, report: DuplicatesReport) -> None:
    table = Table(title="mistakes")
    for name in ("mistake", "id", "edit", "URL", "verdict"):
        table.add_column(name, overflow="fold")
    for mistake in report.mistakes:
        verdict = mistake.verdict
        said = verdict.reason or " ".join(
            str(part) for part in (verdict.relation, verdict.of, verdict.similarity, verdict.detector) if part
        )
        table.add_row(
            mistake.kind, mistake.row.id, mistake.row.edit, mistake.row.url, f"{verdict.status} {said}"
        )
    console.print(table)
