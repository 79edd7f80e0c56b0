"""The evaluations of ``dedupcrawl eval``: each runs with progress bars and prints its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from dedupcrawl.cli.console import ProgressBars, output_console, print_json, print_line, table_console
from dedupcrawl.cli.eval_tables import edit_tables, mistakes_table, pairs_table, scores_tables
from dedupcrawl.constants import settings_lines
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.tools.evaluation.dataset import ParsedPageCache, read_labelled_pages
from dedupcrawl.tools.evaluation.duplicates import judge_pages
from dedupcrawl.tools.evaluation.labelled_pairs import judge_pairs, score_pairs, weighted_pairs
from dedupcrawl.tools.evaluation.plot import draw_curve
from dedupcrawl.tools.evaluation.suggest import (
    explain_drop_shortfall,
    explain_shortfall,
    suggest_for_drops,
    suggest_for_pairs,
)
from dedupcrawl.tools.evaluation.sweep import SweepCurve, SweepPoint
from dedupcrawl.tools.label.labels import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    from dedupcrawl.cli.eval_tables import PairsRow
    from dedupcrawl.config import Config
    from dedupcrawl.tools.evaluation.duplicates import DuplicatesReport
    from dedupcrawl.tools.evaluation.labelled_pairs import JudgedPair, LabelledPair, PairScores
    from dedupcrawl.tools.evaluation.metrics import Proportion
    from dedupcrawl.tools.evaluation.runs import EvaluationRun
    from dedupcrawl.tools.evaluation.sweep import Measure, Sweep
    from dedupcrawl.tools.label.labels import Label


# -- labelled pages ---------------------------------------------------------------------------


def run_contest(file: Path, field: Sequence[EvaluationRun], *, mistakes: bool, as_json: bool) -> None:
    """Evaluate each contestant on the pages of a file, and print its scores."""
    reports = _evaluate(file, [(each.label, each.config) for each in field])
    entries = [(each.label, report) for each, report in zip(field, reports, strict=True)]
    if as_json:
        rows = []
        for name, report in entries:
            listed = {"mistakes": [each.to_dict() for each in report.mistakes]} if mistakes else {}
            rows.append({"name": name, **report.to_dict(), **listed})
        print_json(rows[0] if len(rows) == 1 else {"pages": reports[0].pages, "runs": rows})
        return
    console = table_console()
    _print_tables(console, scores_tables("detector", entries, console.width))
    _print_tables(console, edit_tables("detector", entries, console.width))
    if mistakes:
        found = (mistakes_table(name, report.mistakes) for name, report in entries if report.mistakes)
        _print_tables(console, found)


def run_sweep(
    file: Path, sweep: Sweep, measure: Measure, precision: float, plot: Path | None, *, as_json: bool
) -> None:
    """Evaluate each value of a constant, print the scores and the best value, and plot the curve.

    The best value has the highest recall of ``measure`` among those that reach ``precision``.
    """
    runs = [(f"{sweep.name}={setting.value:g}", setting.config) for setting in sweep.steps]
    reports = _evaluate(file, runs)
    values = (setting.value for setting in sweep.steps)
    points = (SweepPoint(value, report, measure) for value, report in zip(values, reports, strict=True))
    curve = SweepCurve(sweep.name, tuple(points), measure, precision)
    if plot is not None:
        draw_curve(plot, curve)
    if as_json:
        print_json(curve.to_dict())
        return
    console = table_console()
    entries = [(f"{point.value:g}", point.report) for point in curve.points]
    _print_tables(console, scores_tables(sweep.name, entries, console.width))
    console.print(_best_value(curve))


def run_drop_suggestion(file: Path, config: Config, precision: float, *, as_json: bool) -> None:
    """Search the constants on the pages of a file; print the scores in force, the best ones and the settings.

    The best ones drop the most copies at ``precision``, by the lower limit of its interval.
    """
    with ProgressBars(stacked=False) as bars:
        cache = ParsedPageCache(bars.track("loading", read_labelled_pages(file)))
        readings = cache.read(config, lambda rows: bars.track("reading", rows, len(rows)))

        def judge(changed: Config) -> DuplicatesReport:
            bars.begin("judging", len(cache))
            return judge_pages(readings, changed, lambda: bars.advance(1, 1))

        found = suggest_for_drops(readings, config, precision, judge)
    best, advice = found.best, "" if found.best else explain_drop_shortfall(found)
    lines = settings_lines(best.config, best.values) if best else []
    if as_json:
        values = {"wanted": precision, "values": best and dict(best.values), "settings": lines}
        scores = {"in_force": found.in_force.to_dict(), "suggested": best and best.to_dict()}
        print_json({"pages": len(readings.pages), **values, **scores, "advice": advice or None})
        return
    shown = [("in force", found.in_force)]
    if best and best.values:
        shown.append((_values_text(best.values), best))
    rows: list[PairsRow] = [
        (
            name,
            each.scores.found,
            each.report.wrongly_dropped,
            each.report.missed,
            each.scores.precision,
            each.scores.recall,
        )
        for name, each in shown
    ]
    _print_rows(f"{len(readings.pages):,} labelled pages, by drops", "constants", rows)
    _print_suggestion(best.values if best else None, lines, advice, precision)
    _print_warnings([], config, best.config if best else None)


def _evaluate(file: Path, runs: Sequence[tuple[str, Config]]) -> list[DuplicatesReport]:
    """Read the labelled pages once, and judge them with each named configuration."""
    reports = []
    with ProgressBars(stacked=False) as bars:
        cache = ParsedPageCache(bars.track("loading", read_labelled_pages(file)))
        for number, (name, config) in enumerate(runs, 1):
            readings = cache.read(config, lambda rows: bars.track("reading", rows, len(rows)))
            bars.begin_run(name, number, len(runs), len(cache))
            reports.append(judge_pages(readings, config, lambda: bars.advance(1, 1)))
    return reports


def _print_tables(console: Console, tables: Iterable[Table]) -> None:
    for table in tables:
        console.print(table)
        console.print()


def _best_value(curve: SweepCurve) -> str:
    precision, best = f"{curve.precision:g}", curve.best
    if best is not None:
        return (
            f"Most {curve.measure} found at a precision of at least {precision}: "
            f"{curve.name} = {best.value:g} (precision {best.scores.precision:.4f}, "
            f"recall {best.scores.recall:.4f})."
        )
    nearest = curve.most_precise
    if not nearest.scores.true_positives:
        return f"No setting finds anything that is right: there is no best {curve.name}."
    return (
        f"No setting reaches the precision of {precision} for {curve.measure}; "
        f"{curve.name} = {nearest.value:g} comes to {nearest.scores.precision:.4f}."
    )


# -- labelled pairs ---------------------------------------------------------------------------


def run_pairs(labels: Sequence[Label], field: Sequence[EvaluationRun], *, as_json: bool) -> None:
    """Judge the pairs with each contestant, and print its scores."""
    pairs, found = weighted_pairs(labels), []
    with ProgressBars("pairs", stacked=False) as bars:
        for number, each in enumerate(field, 1):
            bars.begin_run(each.label, number, len(field), len(pairs))
            judged = judge_pairs(pairs, each.config, lambda: bars.advance(1, 1))
            found.append((each.label, score_pairs(judged)))
    if as_json:
        runs = [{"name": name, **scores.to_dict()} for name, scores in found]
        print_json({**_counts(labels, pairs), "runs": runs})
        return
    _print_rows(_headline(labels, pairs), "detector", [(name, *_figures(scores)) for name, scores in found])


def run_pair_suggestion(labels: Sequence[Label], config: Config, precision: float, *, as_json: bool) -> None:
    """Do the same as :func:`run_drop_suggestion` with labelled pairs."""
    pairs = weighted_pairs(labels)
    with ProgressBars("pairs", stacked=False) as bars:

        def judge(changed: Config) -> list[JudgedPair]:
            bars.begin("judging", len(pairs))
            return judge_pairs(pairs, changed, lambda: bars.advance(1, 1))

        found = suggest_for_pairs(judge(config), config, precision, judge)
    best, advice = found.best, "" if found.best else explain_shortfall(found)
    lines = settings_lines(found.config, best.values) if best and found.config else []
    if as_json:
        values = {"wanted": precision, "values": best and dict(best.values), "settings": lines}
        scores = {"in_force": found.in_force.to_dict(), "suggested": best and best.scores.to_dict()}
        print_json({**_counts(labels, pairs), **values, **scores, "advice": advice or None})
        return
    rows: list[PairsRow] = [("in force", *_figures(found.in_force))]
    if best and best.values:
        rows.append((_values_text(best.values), *_figures(best.scores)))
    _print_rows(_headline(labels, pairs), "constants", rows)
    _print_suggestion(best.values if best else None, lines, advice, precision)
    _print_warnings(labels, config, found.config)


def _figures(scores: PairScores) -> tuple[int, int, int, Proportion, Proportion]:
    return scores.found, scores.wrong, scores.missed, scores.precision, scores.recall


def _values_text(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in values.items())


def _counts(labels: Sequence[Label], pairs: Sequence[LabelledPair]) -> dict[str, object]:
    same = sum(pair.is_same for pair in pairs)
    return {
        "pairs": len(pairs),
        "same": same,
        "different": len(pairs) - same,
        "skipped": sum(label.answer is Answer.SKIP for label in labels),
        "stands_for": round(sum(pair.weight for pair in pairs)),
    }


def _headline(labels: Sequence[Label], pairs: Sequence[LabelledPair]) -> str:
    counts = _counts(labels, pairs)
    text = f"{len(pairs):,} labelled pairs: {counts['same']} same, {counts['different']} different"
    if counts["skipped"]:
        text += f", {counts['skipped']} skipped"
    if counts["stands_for"] != counts["pairs"]:
        text += f"; they stand for {counts['stands_for']:,}"
    return text


def _print_rows(headline: str, subject: str, rows: Sequence[PairsRow]) -> None:
    console = table_console()
    console.print(headline)
    console.print(pairs_table(subject, rows, console.width))


def _print_suggestion(values: Mapping[str, float] | None, lines: Sequence[str], advice: str, precision: float) -> None:
    console = output_console()
    if values is None:
        console.print(Text(advice, style="yellow"))
    elif not values:
        console.print(
            f"What is in force reaches a precision of {precision:g}, by the lower limit of its interval; "
            "no other constants that reach it find more."
        )
    else:
        console.print(f"Reaches a precision of {precision:g}, by the lower limit, and finds the most. In settings.py:")
    for line in lines if values else ():
        print_line(f"    {line}", "bold")


def _print_warnings(labels: Sequence[Label], config: Config, changed: Config | None) -> None:
    """Print what the figures do not show: the limits of the sample, and what a change would require."""
    around = {label.stratum.around for label in labels if label.stratum}
    console = output_console()
    if around and config.threshold not in around:
        sampled = ", ".join(f"{each:g}" for each in sorted(around))
        console.print(
            f"The labels were drawn around {sampled}, and threshold is {config.threshold:g} here. "
            "If the run had another threshold, give it with --set threshold=…"
        )
    if changed is None or changed == config:
        return
    if changed.threshold < min(around, default=0.0):
        console.print(
            "These figures leave out the pairs that the run did not compare: a lower threshold compares more pairs."
        )
    if schemes(build_detectors(changed), changed) != schemes(build_detectors(config), config):
        console.print("A store that was filled under the constants in force is refused under these: begin a new one.")
