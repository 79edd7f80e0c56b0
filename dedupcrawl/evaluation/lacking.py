"""What to say where labels cannot show what is wanted, and how many more could."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

from dedupcrawl.evaluation.intervals import Counted, share_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.evaluation.suggesting import Suggestion
    from dedupcrawl.evaluation.suggestingdrops import DropSuggestion

MOST = 100_000  #: labels; beyond that nobody is told to make more


def labels_needed(counts: Sequence[Counted], wanted: float) -> int | None:
    """Return how many more pairs must be found, and be right, for the lower limit to reach ``wanted``.

    They are spread over the strata as those that there are. None: more than anybody will label.
    """
    low, high = 0, 1
    while not _shown(counts, high, wanted):
        low, high = high, 2 * high
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _shown(counts, middle, wanted) else (middle, high)
    return high


def _shown(counts: Sequence[Counted], more: int, wanted: float) -> bool:
    whole = sum(each.cases for each in counts) or 1
    grown = (
        Counted(each.right + added, each.cases + added, each.weight)
        for each in counts
        for added in [round(more * each.cases / whole)]
    )
    return share_of(grown).low >= wanted


def lack(suggestion: Suggestion) -> str:
    """Say why nothing is suggested for labelled pairs, and what would help, in plain words."""
    option = suggestion.nearest
    if option is None:
        return "None of the labelled pairs is found, whatever the constants: there is nothing to suggest."
    scores, where = option.scores, _named(option.values)
    counted = (
        f"{where}: {scores.found:,} of the labelled pairs are found, {scores.found - scores.wrong:,} rightly"
    )
    return _said(counted, scores.of_found, suggestion.wanted, "labels of such pairs")


def lack_of_drops(suggestion: DropSuggestion) -> str:
    """Say the same of labelled pages."""
    option = suggestion.nearest
    if not option.found:
        return "No page is dropped: there is nothing to suggest."
    counted = f"{_named(option.values)}: {option.found:,} pages are dropped, {option.report.right:,} rightly"
    counts = (Counted(option.report.right, option.found),)
    return _said(counted, counts, suggestion.wanted, "labelled copies")


def _said(counted: str, counts: Sequence[Counted], wanted: float, things: str) -> str:
    share = share_of(counts)
    estimate = share.value or 0.0
    if estimate < wanted:
        return (
            f"No value reaches a precision of {wanted:g} here. The most precise is {counted} "
            f"({estimate:.2f}). More labels will not change that; other detectors may "
            "(--detector all compares them)."
        )
    more = labels_needed(counts, wanted)
    asked = f"far more {things}" if more is None else f"some {_round(more):,} more {things}"
    return (
        f"There are too few labels to show a precision of {wanted:g}. At {counted}, which shows "
        f"{floor(share.low * 100) / 100:.2f} at least. It takes {asked}, all of them right, or a lower "
        "--precision."
    )


def _named(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in values.items()) or "what is in force"


def _round(number: int) -> int:
    """Round up to what one would say."""
    step = 10 if number >= 20 else 1
    return -(-number // step) * step
