"""Tables of scores for the terminal; they fit into 100 columns."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.tools.evaluation.duplicates import DuplicatesReport, Mistake
    from dedupcrawl.tools.evaluation.metrics import Proportion, Scores

    Entry = tuple[str, DuplicatesReport]  #: name of a row, and its scores
    PairsRow = tuple[str, int, int, int, Proportion, Proportion]  #: name, found, wrong, missed, precision, recall

_GROUPS = (
    ("drops\nprec.", "drops\nrecall", "drops\nF1", "wrong\ndrops", "missed\ndrops"),
    ("pairs\nprec.", "pairs\nrecall", "pairs\nF1"),
    ("µs a\npage", "keys\na page", "bytes\na page", "cand.\na page"),
)
_FIGURE_COLUMNS = 7  #: most terminal columns of a figure, with the space before it
_MIN_EDIT_COLUMNS = 4  #: least terminal columns of a kind of edit
_ONE_LINE_COLUMNS = 100  #: least terminal columns for a share and its interval in one line


def scores_tables(subject: str, entries: Sequence[Entry], width: int) -> list[Table]:
    """Return scores and costs: one table, or three if the terminal has too few columns (``width``)."""
    report = entries[0][1]
    title = f"{report.pages:,} pages, read in {report.costs.reading_us_per_page:,.0f} µs each"
    groups = range(len(_GROUPS))
    is_one_table = _name_columns(subject, entries) + _FIGURE_COLUMNS * sum(map(len, _GROUPS)) - 5 <= width
    choices = [list(groups)] if is_one_table else [[group] for group in groups]
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


def _name_columns(subject: str, entries: Sequence[Entry]) -> int:
    return max(len(name) for name in (subject, *(name for name, _ in entries)))


def _figures(report: DuplicatesReport) -> tuple[list[str], ...]:
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
    title = "by kind of edit: missed copies, and with ! wrongly dropped pages"
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
    table.add_row(*(Text(str(cell), style="dim") for cell in ("pages", *pages)))
    for name, report in entries:
        table.add_row(name, *(_mistakes_of(report, edit) for edit in edits))
    return table


def _mistakes_of(report: DuplicatesReport, edit: str) -> Text:
    counter = report.by_edit[edit]
    missed, wrong = counter["missed"], counter["wrongly_dropped"]
    parts = [str(missed)] * bool(missed) + [f"{wrong}!"] * bool(wrong)
    return Text(" ".join(parts) or "·", style="red" if wrong else "yellow" if missed else "dim")


def mistakes_table(name: str, mistakes: Iterable[Mistake]) -> Table:
    """Return every wrongly dropped or missed page, with its verdict."""
    table = Table(title=Text(f"mistakes of {name}"))
    for column in ("mistake", "id", "edit", "URL", "verdict"):
        table.add_column(column, overflow="fold")
    for mistake in mistakes:
        row, verdict = mistake.row, mistake.verdict
        related = (verdict.relation, verdict.of, verdict.similarity, verdict.detector)
        details = verdict.reason or " ".join(str(part) for part in related if part)
        table.add_row(*map(Text, (mistake.kind, row.id, row.edit, row.url, f"{verdict.status} {details}")))
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
    for name in ("found", "wrong", "missed", "precision\nand 95 %", "recall\nand 95 %"):
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
