"""``dedupcrawl eval``: how right the reader and the detectors are on labelled pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from dedupcrawl.cli.bakeoff import run_contest, run_sweep
from dedupcrawl.cli.options import Assignments, assignments_of
from dedupcrawl.cli.reading import ReaderName
from dedupcrawl.cli.screen import out, print_json
from dedupcrawl.config import Config
from dedupcrawl.errors import SettingError
from dedupcrawl.evaluation.contestants import ALL, contestants
from dedupcrawl.evaluation.extraction import evaluate_pages
from dedupcrawl.evaluation.plot import check_plot
from dedupcrawl.evaluation.sweep import sweep_of
from dedupcrawl.page import ReadOptions
from dedupcrawl.page.readers import READER_ACCEPTED

evaluation = typer.Typer(help="Score the reader and the detectors on labelled pages.", no_args_is_help=True)
_PRECISION = 0.99  #: wanted of the best setting, unless the user says otherwise
AsJson = Annotated[bool, typer.Option("--json", help="Write the figures as JSON.")]


@evaluation.command()
def pages(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="html/<id>.html.gz and truth.jsonl")],
    reader: ReaderName = "blocks",
    as_json: AsJson = False,
) -> None:
    """Score main texts against hand-made ones, by 4-grams."""
    figures = evaluate_pages(folder, ReadOptions(reader=reader)).to_dict()
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
    *,
    detector: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f'Use this detector instead of the default ones; repeatable. "{ALL}": each alone.',
        ),
    ] = None,
    assignments: Assignments = None,
    reader: Annotated[str | None, typer.Option(help=f"What finds the main text: {READER_ACCEPTED}.")] = None,
    sweep: Annotated[
        str | None,
        typer.Option(metavar="NAME=BEGIN:END:STEP", help="Try these values of a constant in turn."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the curve of the sweep (.svg, .png).")
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help=f"That the best setting of the sweep has to reach (default: {_PRECISION})."
        ),
    ] = None,
    of_pairs: Annotated[
        bool, typer.Option("--pairs", help="Best setting and curve go by pairs, not by drops.")
    ] = False,
    mistakes: Annotated[
        bool, typer.Option("--mistakes", help="List every page that was wrongly dropped or missed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score the drops that a crawler would make, and all pairs."""
    chosen = assignments_of(assignments)
    if reader is not None and chosen.setdefault("reader", reader) != reader:
        raise SettingError("--reader", reader, f"the same as --set reader={chosen['reader']}, or one of both")
    field = contestants(Config(), detector or (), chosen)
    if sweep is None:
        _refuse_without_sweep(plot, precision, of_pairs)
        run_contest(file, field, mistakes=mistakes, as_json=as_json)
        return
    if len(field) > 1:
        raise SettingError("--sweep", sweep, f'one detector, or several together, not "{ALL}"')
    if mistakes:
        raise SettingError("--mistakes", True, "a list for one setting, without --sweep; --set chooses it")
    if plot is not None:
        check_plot(plot)
    tried = sweep_of(sweep, field[0].config)
    wanted = _PRECISION if precision is None else precision
    run_sweep(file, tried, "pairs" if of_pairs else "drops", wanted, plot, as_json=as_json)


def _refuse_without_sweep(plot: Path | None, precision: float | None, of_pairs: bool) -> None:
    if plot is not None:
        raise SettingError("--plot", str(plot), "a picture of a --sweep, which is missing")
    if precision is not None:
        raise SettingError("--precision", precision, "what the best of a --sweep reaches, which is missing")
    if of_pairs:
        raise SettingError("--pairs", True, "what a --sweep goes by, which is missing")
