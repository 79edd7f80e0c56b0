"""``dedupcrawl eval pairs``, and ``--suggest``: what is run, and how it is shown."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from dedupcrawl.cli.console import Bars, out, print_json
from dedupcrawl.cli.eval_view import screen
from dedupcrawl.constants import settings_lines
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.errors import SettingError
from dedupcrawl.tools.evaluation.dataset import ParsedPageCache, read_labelled_pages
from dedupcrawl.tools.evaluation.duplicates import judge_pages
from dedupcrawl.tools.evaluation.labelled_pairs import judge_pairs, score_pairs, weighted_pairs
from dedupcrawl.tools.evaluation.suggest import (
    explain_drop_shortfall,
    explain_shortfall,
    suggest_for_drops,
    suggest_for_pairs,
)
from dedupcrawl.tools.label.labels import Answer, read_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dedupcrawl.config import Config
    from dedupcrawl.tools.evaluation.duplicates import DuplicatesReport
    from dedupcrawl.tools.evaluation.labelled_pairs import JudgedPair, LabelledPair, PairScores
    from dedupcrawl.tools.evaluation.metrics import Proportion
    from dedupcrawl.tools.evaluation.runs import EvaluationRun
    from dedupcrawl.tools.label.labels import Label

    Row = tuple[str, int, int, int, Proportion, Proportion]  # name, found, wrong, missed, precision, recall

_WIDE = 100  #: columns in which a share and its interval stand in one line
PRECISION = 0.99  #: wanted, unless the user says otherwise


def wanted_precision(given: float | None) -> float:
    """Return the precision that is wanted.

    Raises :class:`~dedupcrawl.errors.SettingError` for one that no number of labels can show.
    """
    wanted = PRECISION if given is None else given
    if not 0 < wanted < 1:
        raise SettingError("--precision", wanted, "a number above 0 and below 1: no sample shows more")
    return wanted


def alone(field: Sequence[EvaluationRun]) -> Config:
    """Return the one choice of detectors; raises SettingError for several."""
    if len(field) > 1:
        raise SettingError("--detector", "all", "with --suggest one detector, or several together")
    return field[0].config


def read_all_labels(files: Sequence[Path]) -> list[Label]:
    """Read the labels of several files; of a pair that stands in several the last label counts."""
    found: dict[str, Label] = {}
    for file in files:
        found |= {label.pair.id: label for label in read_labels(file)}
    return list(found.values())


def run_pairs(labels: Sequence[Label], field: Sequence[EvaluationRun], *, as_json: bool) -> None:
    """Judge the pairs by every contestant, and print a row of each."""
    pairs, found = weighted_pairs(labels), []
    with Bars("pairs", stacked=False) as bars:
        for number, each in enumerate(field, 1):
            bars.run(each.label, number, len(field), len(pairs))
            judged = judge_pairs(pairs, each.config, lambda: bars.advance(1, 1))
            found.append((each.label, score_pairs(judged)))
    if as_json:
        runs = [{"name": name, **scores.to_dict()} for name, scores in found]
        print_json({**_counts(labels, pairs), "runs": runs})
        return
    _show(_headline(labels, pairs), "detector", [(name, *_figures(scores)) for name, scores in found])


def run_pair_suggestion(labels: Sequence[Label], config: Config, wanted: float, *, as_json: bool) -> None:
    """Search the constants, and print what is in force, what is suggested, and the lines for it."""
    pairs = weighted_pairs(labels)
    with Bars("pairs", stacked=False) as bars:

        def judge(changed: Config) -> list[JudgedPair]:
            bars.begin("judging", len(pairs))
            return judge_pairs(pairs, changed, lambda: bars.advance(1, 1))

        found = suggest_for_pairs(judge(config), config, wanted, judge)
    best, advice = found.best, "" if found.best else explain_shortfall(found)
    lines = settings_lines(found.config, best.values) if best and found.config else []
    if as_json:
        values = {"wanted": wanted, "values": best and dict(best.values), "settings": lines}
        scores = {"in_force": found.in_force.to_dict(), "suggested": best and best.scores.to_dict()}
        print_json({**_counts(labels, pairs), **values, **scores, "advice": advice or None})
        return
    rows: list[Row] = [("in force", *_figures(found.in_force))]
    if best and best.values:
        rows.append((_named(best.values), *_figures(best.scores)))
    _show(_headline(labels, pairs), "constants", rows)
    _say(best.values if best else None, lines, advice, wanted)
    _remark(labels, config, found.config)


def run_drop_suggestion(file: Path, config: Config, wanted: float, *, as_json: bool) -> None:
    """Do the same on labelled pages, by the drops of the stream."""
    with Bars(stacked=False) as bars:
        shelf = ParsedPageCache(bars.track("loading", read_labelled_pages(file)))
        readings = shelf.read(config, lambda rows: bars.track("reading", rows, len(rows)))

        def judge(changed: Config) -> DuplicatesReport:
            bars.begin("judging", len(shelf))
            return judge_pages(readings, changed, lambda: bars.advance(1, 1))

        found = suggest_for_drops(readings, config, wanted, judge)
    best, advice = found.best, "" if found.best else explain_drop_shortfall(found)
    lines = settings_lines(best.config, best.values) if best else []
    if as_json:
        values = {"wanted": wanted, "values": best and dict(best.values), "settings": lines}
        scores = {"in_force": found.in_force.to_dict(), "suggested": best and best.to_dict()}
        print_json({"pages": len(readings.pages), **values, **scores, "advice": advice or None})
        return
    shown = [("in force", found.in_force)] + ([(_named(best.values), best)] if best and best.values else [])
    rows: list[Row] = [(name, *_figures(each.scores)) for name, each in shown]
    _show(f"{len(readings.pages):,} labelled pages, by drops", "constants", rows)
    _say(best.values if best else None, lines, advice, wanted)
    _remark([], config, best.config if best else None)


def _figures(scores: PairScores) -> tuple[int, int, int, Proportion, Proportion]:
    return scores.found, scores.wrong, scores.missed, scores.precision, scores.recall


def _named(values: Mapping[str, float]) -> str:
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
    said = f"{counts['same']} same, {counts['different']} different"
    if counts["skipped"]:
        said += f", {counts['skipped']} skipped"
    if counts["stands_for"] != counts["pairs"]:
        said += f"; they stand for {counts['stands_for']:,}"
    return f"{len(pairs):,} labelled pairs: {said}"


def _show(headline: str, subject: str, rows: Sequence[Row]) -> None:
    console = screen()
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(subject, overflow="fold")
    for name in ("found", "wrong", "missed", "precision\nand 95 %", "recall\nand 95 %"):
        table.add_column(name, justify="right", no_wrap=True)
    between = "  " if console.width >= _WIDE else "\n"
    for name, found, wrong, missed, precision, recall in rows:
        counts = (f"{count:,}" for count in (found, wrong, missed))
        table.add_row(name, *counts, _share(precision, between), _share(recall, between))
    console.print(headline)
    console.print(table)


def _share(share: Proportion, between: str) -> str:
    if share.value is None:
        return "·"
    return f"{share.value:.3f}{between}{_down(share.low):.3f}–{share.high:.3f}"


def _down(value: float) -> float:
    """Round down to three digits, so that what is shown is no more than what was found."""
    return floor(value * 1000) / 1000


def _say(values: Mapping[str, float] | None, lines: Sequence[str], advice: str, wanted: float) -> None:
    console = out()
    if values is None:
        console.print(Text(advice, style="yellow"))
    elif not values:
        console.print(
            f"What is in force reaches a precision of {wanted:g}, by the lower limit of its interval; "
            "nothing else that does finds more."
        )
    else:
        console.print(
            f"Reaches a precision of {wanted:g}, by the lower limit, and finds the most. In settings.py:"
        )
    for line in lines if values else ():
        console.print(Text(f"    {line}", style="bold"))


def _remark(labels: Sequence[Label], config: Config, changed: Config | None) -> None:
    """Say what the figures do not: where the labels come from, and what a change asks for."""
    around = {label.stratum.around for label in labels if label.stratum}
    console = out()
    if around and config.threshold not in around:
        drawn = ", ".join(f"{each:g}" for each in sorted(around))
        console.print(
            f"The labels were drawn around {drawn}, and threshold is {config.threshold:g} here: "
            "was another one in force in the run? --set threshold=… says so."
        )
    if changed is None or changed == config:
        return
    if changed.threshold < min(around, default=0.0):
        console.print(
            "Pairs that the run never compared are in none of these figures: a lower threshold meets more."
        )
    if schemes(build_detectors(changed), changed) != schemes(build_detectors(config), config):
        console.print(
            "A store that was filled under the constants in force is refused under these: begin a new one."
        )
