"""``dedupcrawl eval``: the commands that score readers and detectors on labelled pages or pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dedupcrawl.cli.console import ConsoleProgress, facts_table, output_console, print_json
from dedupcrawl.cli.eval_runs import run_contest, run_drop_suggestion, run_pair_suggestion, run_pairs, run_sweep
from dedupcrawl.cli.options import READER, AsJson, Assignments, parse_assignments
from dedupcrawl.config import Config
from dedupcrawl.errors import SettingError
from dedupcrawl.page import ReadOptions
from dedupcrawl.tools.evaluation.extraction import evaluate_extraction
from dedupcrawl.tools.evaluation.plot import check_plot
from dedupcrawl.tools.evaluation.runs import ALL, evaluation_runs, parse_sweep
from dedupcrawl.tools.label.labels import read_labels
from dedupcrawl.utils.messages import tr_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.tools.evaluation.runs import EvaluationRun
    from dedupcrawl.tools.label.labels import Label

PRECISION = 0.99  #: default of --precision

evaluation = typer.Typer(help="Score readers and detectors on labelled pages.", no_args_is_help=True)
Suggest = Annotated[bool, typer.Option("--suggest", help="Find the constants with the highest recall at a precision.")]
Detectors = Annotated[
    list[str] | None,
    typer.Option("--detector", metavar="NAME", help=f'Use this detector; repeatable. "{ALL}": each alone.'),
]


@evaluation.command()
def pages(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="html/<id>.html.gz and truth.jsonl.")],
    reader: Annotated[str, READER] = "blocks",
    as_json: AsJson = False,
) -> None:
    """Score the main texts of a reader against reference texts, by 4-grams."""
    with ConsoleProgress() as bars:
        scored = evaluate_extraction(
            folder, ReadOptions(reader=reader), track=lambda rows: bars.track("reading", rows, len(rows))
        )
    figures = scored.to_dict()
    if as_json:
        print_json(figures)
    else:
        output_console().print(facts_table((tr_sentence(name), str(value)) for name, value in figures.items()))


@evaluation.command()
def duplicates(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON Lines (.gz) with the fields id, url, html|text and cluster.")
    ],
    *,
    detector: Detectors = None,
    assignments: Assignments = None,
    reader: Annotated[str | None, READER] = None,
    sweep: Annotated[
        str | None, typer.Option(metavar="NAME=BEGIN:END:STEP", help="Evaluate each of these values of a constant.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Plot --sweep (.svg, .png).")] = None,
    precision: Annotated[
        float | None,
        typer.Option(min=0, max=1, help=f"Least precision for --sweep and --suggest (default: {PRECISION})."),
    ] = None,
    by_pairs: Annotated[bool, typer.Option("--pairs", help="Rank --sweep by pairs, not by drops.")] = False,
    mistakes: Annotated[bool, typer.Option("--mistakes", help="List wrongly dropped and missed pages.")] = False,
    suggest: Suggest = False,
    as_json: AsJson = False,
) -> None:
    """Score the drops that a crawl would make, and all pairs."""
    field = evaluation_runs(Config(), detector or (), parse_assignments(assignments, "reader", reader))
    if suggest:
        accepted = "an option without --suggest"
        _refuse("--sweep", sweep, accepted)
        _refuse("--plot", plot, accepted)
        _refuse("--pairs", by_pairs, accepted)
        _refuse("--mistakes", mistakes, accepted)
        run_drop_suggestion(file, _only_config(field), _precision(precision), as_json=as_json)
        return
    if sweep is None:
        _refuse("--plot", plot, "an option to use with --sweep")
        accepted = "an option to use with --sweep or --suggest"
        _refuse("--precision", precision, accepted)
        _refuse("--pairs", by_pairs, "an option to use with --sweep")
        run_contest(file, field, mistakes=mistakes, as_json=as_json)
        return
    if len(field) > 1:
        raise SettingError("--sweep", sweep, f'one detector, or several together, not "{ALL}"')
    _refuse("--mistakes", mistakes, "a list for one setting, without --sweep; --set chooses it")
    if plot is not None:
        check_plot(plot)
    runs = parse_sweep(sweep, field[0].config)
    least = PRECISION if precision is None else precision
    run_sweep(file, runs, "pairs" if by_pairs else "drops", least, plot, as_json=as_json)


@evaluation.command()
def pairs(
    files: Annotated[
        list[Path], typer.Argument(metavar="LABELS...", help="JSON Lines files that dedupcrawl label wrote.")
    ],
    *,
    detector: Detectors = None,
    assignments: Assignments = None,
    suggest: Suggest = False,
    precision: Annotated[
        float | None, typer.Option(help=f"Least precision for --suggest (default: {PRECISION}).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score the detectors on labelled pairs, with 95 % confidence intervals."""
    field = evaluation_runs(Config(), detector or (), parse_assignments(assignments))
    labels = _read_all_labels(files)
    if suggest:
        run_pair_suggestion(labels, _only_config(field), _precision(precision), as_json=as_json)
        return
    _refuse("--precision", precision, "an option to use with --suggest")
    run_pairs(labels, field, as_json=as_json)


def _precision(value: float | None) -> float:
    precision = PRECISION if value is None else value
    if not 0 < precision < 1:
        raise SettingError("--precision", precision, "a number above 0 and below 1: no sample proves a precision of 1")
    return precision


def _only_config(field: Sequence[EvaluationRun]) -> Config:
    if len(field) > 1:
        raise SettingError("--detector", "all", "with --suggest one detector, or several together")
    return field[0].config


def _read_all_labels(files: Sequence[Path]) -> list[Label]:
    """Read the labels of all files; the last label of a pair counts."""
    return list({label.pair.id: label for file in files for label in read_labels(file)}.values())


def _refuse(option: str, value: object, accepted: str) -> None:
    if value is not None and value is not False:
        raise SettingError(option, str(value) if isinstance(value, Path) else value, accepted)
