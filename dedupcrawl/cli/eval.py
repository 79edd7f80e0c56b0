"""``dedupcrawl eval``: how right the reader and the detectors are on labelled pages.

``dedupcrawl read``: what is left of a page when the noise is gone.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.console import Bars, out, print_json
from dedupcrawl.cli.eval_view import run_contest, run_sweep
from dedupcrawl.cli.inspect import fetch_page
from dedupcrawl.cli.options import Assignments, assignments_of
from dedupcrawl.cli.suggest import (
    PRECISION,
    alone,
    read_all_labels,
    run_drop_suggestion,
    run_pair_suggestion,
    run_pairs,
    wanted_precision,
)
from dedupcrawl.config import Config
from dedupcrawl.errors import SettingError
from dedupcrawl.page import ReadOptions
from dedupcrawl.page.options import READER_ACCEPTED
from dedupcrawl.tools.evaluation.extraction import evaluate_extraction
from dedupcrawl.tools.evaluation.plot import check_plot
from dedupcrawl.tools.evaluation.runs import ALL, evaluation_runs
from dedupcrawl.tools.evaluation.sweep import parse_sweep

if TYPE_CHECKING:
    from dedupcrawl.page import Page


ReaderName = Annotated[
    str, typer.Option("--reader", metavar="NAME", help=f"What finds the main text: {READER_ACCEPTED}.")
]


def read(
    where: Annotated[
        str, typer.Argument(metavar="URL|FILE", help="An http(s) URL, or a file (.gz is unpacked).")
    ],
    blocks: Annotated[
        bool, typer.Option(help="Show every block with the reason why it was kept or cut.")
    ] = False,
    reader: ReaderName = "blocks",
    as_json: Annotated[bool, typer.Option("--json", help="Write everything that was read as JSON.")] = False,
) -> None:
    """Print the main text of a page."""
    page = fetch_page(where, ReadOptions(reader=reader))
    if as_json:
        print_json(asdict(page) | {"blocks": [block._asdict() for block in page.blocks]})
    elif blocks:
        out().print(_table(page))
    else:
        out().print(
            Text(page.text) if page.text else Text(f"(no main text: {page.kind} page)", style="yellow")
        )


def _table(page: Page) -> Table:
    kept = sum(block.kept for block in page.blocks)
    title = Text(f"{page.title or page.url} · {page.kind} · {kept} of {len(page.blocks)} blocks kept")
    table = Table(title=title, expand=True)
    for name in ("bytes", "R", "links", "run"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("tag", "why"):
        table.add_column(name, no_wrap=True)
    table.add_column("text", ratio=1)
    for block in page.blocks:
        numbers = (str(block.length), f"{block.link_density:.2f}", str(block.links), str(block.longest_run))
        style = "green" if block.kept else "dim"
        table.add_row(*numbers, block.tag, block.reason, Text(_short(block.text)), style=style)
    return table


def _short(text: str, most: int = 160) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


evaluation = typer.Typer(help="Score the reader and the detectors on labelled pages.", no_args_is_help=True)
Suggests = Annotated[
    bool, typer.Option("--suggest", help="Propose constants that reach a precision, and find the most.")
]
Contestants = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help=f'Use this detector instead of the default ones; repeatable. "{ALL}": each alone.',
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write the figures as JSON.")]


@evaluation.command()
def pages(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="html/<id>.html.gz and truth.jsonl")],
    reader: ReaderName = "blocks",
    as_json: AsJson = False,
) -> None:
    """Score main texts against hand-made ones, by 4-grams."""
    with Bars() as bars:
        done = evaluate_extraction(
            folder, ReadOptions(reader=reader), track=lambda rows: bars.track("reading", rows, len(rows))
        )
    figures = done.to_dict()
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
    detector: Contestants = None,
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
        typer.Option(min=0, max=1, help=f"That the best setting has to reach (default: {PRECISION})."),
    ] = None,
    of_pairs: Annotated[
        bool, typer.Option("--pairs", help="Best setting and curve go by pairs, not by drops.")
    ] = False,
    mistakes: Annotated[
        bool, typer.Option("--mistakes", help="List every page that was wrongly dropped or missed.")
    ] = False,
    suggest: Suggests = False,
    as_json: AsJson = False,
) -> None:
    """Score the drops that a crawler would make, and all pairs."""
    chosen = assignments_of(assignments)
    if reader is not None and chosen.setdefault("reader", reader) != reader:
        raise SettingError("--reader", reader, f"the same as --set reader={chosen['reader']}, or one of both")
    field = evaluation_runs(Config(), detector or (), chosen)
    if suggest:
        _refuse_beside_suggest(sweep, plot, of_pairs=of_pairs, mistakes=mistakes)
        wanted = wanted_precision(precision)
        run_drop_suggestion(file, alone(field), wanted, as_json=as_json)
        return
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
    tried = parse_sweep(sweep, field[0].config)
    wanted = PRECISION if precision is None else precision
    run_sweep(file, tried, "pairs" if of_pairs else "drops", wanted, plot, as_json=as_json)


@evaluation.command()
def pairs(
    files: Annotated[
        list[Path], typer.Argument(metavar="LABELS...", help="JSON Lines that dedupcrawl label wrote.")
    ],
    *,
    detector: Contestants = None,
    assignments: Assignments = None,
    suggest: Suggests = False,
    precision: Annotated[
        float | None,
        typer.Option(help=f"That what is suggested has to reach (default: {PRECISION})."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score what is found of labelled pairs, with intervals of 95 %."""
    field = evaluation_runs(Config(), detector or (), assignments_of(assignments))
    labels = read_all_labels(files)
    if suggest:
        run_pair_suggestion(labels, alone(field), wanted_precision(precision), as_json=as_json)
        return
    if precision is not None:
        raise SettingError("--precision", precision, "what --suggest reaches, which is missing")
    run_pairs(labels, field, as_json=as_json)


def _refuse_beside_suggest(sweep: str | None, plot: Path | None, *, of_pairs: bool, mistakes: bool) -> None:
    others = {"--sweep": sweep, "--plot": plot and str(plot), "--pairs": of_pairs, "--mistakes": mistakes}
    for name, value in others.items():
        if value:
            raise SettingError(name, value, "an option without --suggest")


def _refuse_without_sweep(plot: Path | None, precision: float | None, of_pairs: bool) -> None:
    if plot is not None:
        raise SettingError("--plot", str(plot), "a picture of a --sweep, which is missing")
    if precision is not None:
        accepted = "what the best of a --sweep or --suggest reaches, and both are missing"
        raise SettingError("--precision", precision, accepted)
    if of_pairs:
        raise SettingError("--pairs", True, "what a --sweep goes by, which is missing")
