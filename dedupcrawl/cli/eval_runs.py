"""The evaluations of ``dedupcrawl eval``: each runs with progress bars and prints its result."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.console import ConsoleProgress, output_console, print_json, print_line, table_console
from dedupcrawl.config import settings_lines
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.tools.evaluation.dataset import (
    ParsedPageCache,
    judge_pairs,
    read_labelled_pages,
    score_pairs,
    weighted_pairs,
)
from dedupcrawl.tools.evaluation.duplicates import judge_pages
from dedupcrawl.tools.evaluation.plot import draw_curve
from dedupcrawl.tools.evaluation.runs import SweepReport, SweepRow
from dedupcrawl.tools.evaluation.suggest import (
    explain_drop_shortfall,
    explain_shortfall,
    suggest_for_drops,
    suggest_for_pairs,
)
from dedupcrawl.tools.label.labels import AnswerKind
from dedupcrawl.utils.messages import mark, tr, tr_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from dedupcrawl.config import Config
    from dedupcrawl.tools.evaluation.dataset import JudgedPair, LabelledPair, PairScores
    from dedupcrawl.tools.evaluation.duplicates import DuplicatesReport, MisjudgedPage
    from dedupcrawl.tools.evaluation.metrics import Proportion, Scores
    from dedupcrawl.tools.evaluation.runs import EvaluationRun, Measure, SweepOptions
    from dedupcrawl.tools.label.labels import Label

    Entry = tuple[str, DuplicatesReport]  #: name of a row, and its scores
    PairsRow = tuple[str, int, int, int, Proportion, Proportion]  #: name, found, wrong, missed, precision, recall

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
    _print_tables(console, scores_tables(tr("detector"), entries, console.width))
    _print_tables(console, edit_tables(tr("detector"), entries, console.width))
    if mistakes:
        found = (mistakes_table(name, report.mistakes) for name, report in entries if report.mistakes)
        _print_tables(console, found)


def run_sweep(
    file: Path, sweep: SweepOptions, measure: Measure, precision: float, plot: Path | None, *, as_json: bool
) -> None:
    """Evaluate each value of a constant, print the scores and the best value, and plot the curve.

    The best value has the highest recall of ``measure`` among those that reach ``precision``.
    """
    runs = [(f"{sweep.name}={setting.value:g}", setting.config) for setting in sweep.steps]
    reports = _evaluate(file, runs)
    values = (setting.value for setting in sweep.steps)
    points = (SweepRow(value, report, measure) for value, report in zip(values, reports, strict=True))
    curve = SweepReport(sweep.name, tuple(points), measure, precision)
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
    with ConsoleProgress(stacked=False) as bars:
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
    shown = [(tr("in force"), found.in_force)]
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
    _print_rows(tr("{n} labelled pages, by drops", n=f"{len(readings.pages):,}"), tr("constants"), rows)
    _print_suggestion(best.values if best else None, lines, advice, precision)
    _print_warnings([], config, best.config if best else None)


def _evaluate(file: Path, runs: Sequence[tuple[str, Config]]) -> list[DuplicatesReport]:
    """Read the labelled pages once, and judge them with each named configuration."""
    reports = []
    with ConsoleProgress(stacked=False) as bars:
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


def _best_value(curve: SweepReport) -> str:
    precision, best = f"{curve.precision:g}", curve.best
    if best is not None:
        scores = {"precision": f"{best.scores.precision:.4f}", "recall": f"{best.scores.recall:.4f}"}
        return tr(
            "Most {measure} found at a precision of at least {least}: {name} = {value} (precision {precision}, "
            "recall {recall}).",
            measure=tr_sentence(curve.measure),
            least=precision,
            name=curve.name,
            value=f"{best.value:g}",
            **scores,
        )
    nearest = curve.most_precise
    if not nearest.scores.true_positives:
        return tr("No setting finds a right match, so there is no best {name}.", name=curve.name)
    return tr(
        "No setting reaches the precision of {least} for {measure}; {name} = {value} comes to {precision}.",
        least=precision,
        measure=tr_sentence(curve.measure),
        name=curve.name,
        value=f"{nearest.value:g}",
        precision=f"{nearest.scores.precision:.4f}",
    )


# -- labelled pairs ---------------------------------------------------------------------------


def run_pairs(labels: Sequence[Label], field: Sequence[EvaluationRun], *, as_json: bool) -> None:
    """Judge the pairs with each contestant, and print its scores."""
    pairs, found = weighted_pairs(labels), []
    with ConsoleProgress("pairs", stacked=False) as bars:
        for number, each in enumerate(field, 1):
            bars.begin_run(each.label, number, len(field), len(pairs))
            judged = judge_pairs(pairs, each.config, lambda: bars.advance(1, 1))
            found.append((each.label, score_pairs(judged)))
    if as_json:
        runs = [{"name": name, **scores.to_dict()} for name, scores in found]
        print_json({**_counts(labels, pairs), "runs": runs})
        return
    _print_rows(_headline(labels, pairs), tr("detector"), [(name, *_figures(scores)) for name, scores in found])


def run_pair_suggestion(labels: Sequence[Label], config: Config, precision: float, *, as_json: bool) -> None:
    """Search the constants on labelled pairs; print the scores in force, the best ones and the settings."""
    pairs = weighted_pairs(labels)
    with ConsoleProgress("pairs", stacked=False) as bars:

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
    rows: list[PairsRow] = [(tr("in force"), *_figures(found.in_force))]
    if best and best.values:
        rows.append((_values_text(best.values), *_figures(best.scores)))
    _print_rows(_headline(labels, pairs), tr("constants"), rows)
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
        "skipped": sum(label.answer is AnswerKind.SKIP for label in labels),
        "stands_for": round(sum(pair.weight for pair in pairs)),
    }


def _headline(labels: Sequence[Label], pairs: Sequence[LabelledPair]) -> str:
    counts = _counts(labels, pairs)
    answers = {"same": counts["same"], "different": counts["different"]}
    text = tr("{n} labelled pairs: {same} same, {different} different", n=f"{len(pairs):,}", **answers)
    if counts["skipped"]:
        text += tr(", {n} skipped", n=counts["skipped"])
    if counts["stands_for"] != counts["pairs"]:
        text += tr("; they stand for {n}", n=f"{counts['stands_for']:,}")
    return text


def _print_rows(headline: str, subject: str, rows: Sequence[PairsRow]) -> None:
    console = table_console()
    console.print(headline)
    console.print(pairs_table(subject, rows, console.width))


def _print_suggestion(values: Mapping[str, float] | None, lines: Sequence[str], advice: str, precision: float) -> None:
    console = output_console()
    if values is None:
        console.print(Text(tr_sentence(advice), style="yellow"))
    elif not values:
        console.print(
            tr(
                "The constants in force reach a precision of {precision}, by the lower limit of its interval; "
                "no other constants that reach it find more.",
                precision=f"{precision:g}",
            )
        )
    else:
        told = mark("Reaches a precision of {precision}, by the lower limit, and finds the most. In settings.py:")
        console.print(tr(told, precision=f"{precision:g}"))
    for line in lines if values else ():
        print_line(f"    {line}", "bold")


def _print_warnings(labels: Sequence[Label], config: Config, changed: Config | None) -> None:
    """Print notes on the figures: the limits of the sample, and the requirements of a change."""
    around = {label.stratum.around for label in labels if label.stratum}
    console = output_console()
    if around and config.threshold not in around:
        sampled = ", ".join(f"{each:g}" for each in sorted(around))
        console.print(
            tr(
                "The labels were drawn around {values}, and threshold is {threshold} here. "
                "If the run had another threshold, give it with --set threshold=…",
                values=sampled,
                threshold=f"{config.threshold:g}",
            )
        )
    if changed is None or changed == config:
        return
    if changed.threshold < min(around, default=0.0):
        console.print(
            tr("These figures leave out the pairs that the run did not compare: a lower threshold compares more pairs.")
        )
    if schemes(build_detectors(changed), changed) != schemes(build_detectors(config), config):
        console.print(
            tr("A store that was filled under the constants in force is refused under these: begin a new one.")
        )


_GROUPS = (
    (mark("drops\nprec."), mark("drops\nrecall"), mark("drops\nF1"), mark("wrong\ndrops"), mark("missed\ndrops")),
    (mark("pairs\nprec."), mark("pairs\nrecall"), mark("pairs\nF1")),
    (mark("µs a\npage"), mark("keys\na page"), mark("bytes\na page"), mark("cand.\na page")),
)
_FIGURE_COLUMNS = 7  #: most terminal columns of a figure, with the space before it
_MIN_EDIT_COLUMNS = 4  #: least terminal columns of a kind of edit
_ONE_LINE_COLUMNS = 100  #: least terminal columns for a share and its interval in one line


def scores_tables(subject: str, entries: Sequence[Entry], width: int) -> list[Table]:
    """Return scores and costs: one table, or three if the terminal has too few columns (``width``)."""
    report = entries[0][1]
    counts = {"n": f"{report.pages:,}", "time": f"{report.costs.reading_us_per_page:,.0f}"}
    title = tr("{n} pages, read in {time} µs each", **counts)
    groups = range(len(_GROUPS))
    is_one_table = _name_columns(subject, entries) + _FIGURE_COLUMNS * sum(map(len, _GROUPS)) - 5 <= width
    choices = [list(groups)] if is_one_table else [[group] for group in groups]
    return [_scores_table(title if 0 in choice else "", subject, entries, choice) for choice in choices]


def _scores_table(title: str, subject: str, entries: Sequence[Entry], groups: Sequence[int]) -> Table:
    table = _table(title, subject)
    for group in groups:
        for name in _GROUPS[group]:
            table.add_column(tr(name), justify="right", no_wrap=True)
    for name, report in entries:
        figures = _figure_groups(report)
        table.add_row(name, *(figure for group in groups for figure in figures[group]))
    return table


def _name_columns(subject: str, entries: Sequence[Entry]) -> int:
    return max(cell_len(name) for name in (subject, *(name for name, _ in entries)))


def _figure_groups(report: DuplicatesReport) -> tuple[list[str], ...]:
    """Return the figures of each group."""
    drops, costs = report.drops, report.costs
    per_page = (costs.us_per_page, costs.keys_per_page, costs.bytes_per_page, costs.candidates_per_page)
    return (
        [*_scores(drops), f"{drops.false_positives:,}", f"{drops.false_negatives:,}"],
        _scores(report.pairs),
        [f"{v:,.0f}" if v >= 100 else f"{v:.1f}" if v >= 10 else f"{v:.2f}" for v in per_page],
    )


def _scores(scores: Scores) -> list[str]:
    return [f"{value:.3f}" for value in (scores.precision, scores.recall, scores.f1)]


def edit_tables(subject: str, entries: Sequence[Entry], width: int) -> list[Table]:
    """Return the mistakes by kind of edit, in as many tables as fit side by side into ``width`` columns."""
    edits = sorted({edit for _, report in entries for edit in report.by_edit})
    title = tr("by kind of edit: missed copies, and with ! wrongly dropped pages")
    parts = _split_edits(edits, width - _name_columns(subject, entries))
    return [_edit_table("" if number else title, subject, entries, part) for number, part in enumerate(parts)]


def _split_edits(edits: Sequence[str], width: int) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    left = width
    for edit in edits:
        needed = 1 + max(_MIN_EDIT_COLUMNS, len(edit))
        if needed > left and parts[-1]:
            parts.append([])
            left = width
        parts[-1].append(edit)
        left -= needed
    return parts


def _edit_table(title: str, subject: str, entries: Sequence[Entry], edits: Sequence[str]) -> Table:
    table = _table(title, subject)
    for edit in edits:
        table.add_column(edit or "-", justify="right", overflow="fold", min_width=_MIN_EDIT_COLUMNS)
    pages = (entries[0][1].by_edit[edit]["pages"] for edit in edits)
    table.add_row(*(Text(str(cell), style="dim") for cell in (tr("pages"), *pages)))
    for name, report in entries:
        table.add_row(name, *(_mistakes_of(report, edit) for edit in edits))
    return table


def _mistakes_of(report: DuplicatesReport, edit: str) -> Text:
    counter = report.by_edit[edit]
    missed, wrong = counter["missed"], counter["wrongly_dropped"]
    parts = [str(missed)] * bool(missed) + [f"{wrong}!"] * bool(wrong)
    return Text(" ".join(parts) or "·", style="red" if wrong else "yellow" if missed else "dim")


def mistakes_table(name: str, mistakes: Iterable[MisjudgedPage]) -> Table:
    """Return every wrongly dropped or missed page, with its verdict."""
    table = Table(title=Text(tr("mistakes of {name}", name=name)), title_justify="left")
    for column in (tr("mistake"), "id", tr("edit"), "URL", tr("verdict")):
        table.add_column(column, overflow="fold")
    for mistake in mistakes:
        row, verdict = mistake.row, mistake.verdict
        related = (verdict.relation, verdict.of, verdict.similarity, verdict.detector)
        details = verdict.reason or " ".join(str(part) for part in related if part)
        table.add_row(*map(Text, (tr_sentence(mistake.kind), row.id, row.edit, row.url, f"{verdict.status} {details}")))
    return table


def _table(title: str, subject: str) -> Table:
    table = Table(title=Text(title) if title else None, title_justify="left", box=SIMPLE_HEAD)
    table.padding, table.pad_edge, table.show_edge = 0, False, False
    table.add_column(subject, overflow="fold")
    return table


def pairs_table(subject: str, rows: Sequence[PairsRow], width: int) -> Table:
    """Return the scores on labelled pairs with their intervals, for a terminal of ``width`` columns."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(subject, overflow="fold")
    columns = (tr("found"), tr("wrong"), tr("missed"), tr("precision\nand 95 %"), tr("recall\nand 95 %"))
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    separator = "  " if width >= _ONE_LINE_COLUMNS else "\n"
    for name, found, wrong, missed, *shares in rows:
        counts = (f"{count:,}" for count in (found, wrong, missed))
        table.add_row(name, *counts, *(_share(share, separator) for share in shares))
    return table


def _share(share: Proportion, separator: str) -> str:
    if share.value is None:
        return "·"
    low = floor(share.low * 1000) / 1000  # rounding up would promise more than the sample shows
    return f"{share.value:.3f}{separator}{low:.3f}–{share.high:.3f}"
