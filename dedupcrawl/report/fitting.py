"""The data of a page, in no more bytes than it may have.

What does not fit is left out: texts of pairs first, where they take more than half, then rows of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.report.assembling import packed
from dedupcrawl.report.columns import cluster_values, page_columns, pair_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from markupsafe import Markup

    from dedupcrawl.report.facts import Cluster, Pair, Report

_MARGIN = 0.97  #: of what should fit by rule of three, for the rest packs a little worse


@dataclass(frozen=True, slots=True)
class Fitted:
    """The data elements of a page, and what a reader must know of what is not in them."""

    data: tuple[Markup, ...]
    notes: tuple[str, ...] = ()


def fit(report: Report, most: int) -> Fitted:
    """Return the data of a report in at most ``most`` bytes."""
    pairs, texts = _lay_pairs(report, most // 2)
    rest = most - len(pairs)
    pages, rows = _shrink(len(report.pages), rest, lambda count: _lay_pages(report, count))
    notes = (
        _note("pairs are shown with their texts", texts, _with_texts(report.pairs)),
        _note("noted pages are in the table", rows, len(report.pages)),
    )
    return Fitted((pages, pairs), tuple(filter(None, notes)))


def _shrink(count: int, most: int, lay: Callable[[int], Markup]) -> tuple[Markup, int]:
    """Lay fewer and fewer things until what comes of it fits."""
    laid = lay(count)
    while len(laid) > most and count:
        count = min(count - 1, int(count * most / len(laid) * _MARGIN))
        laid = lay(count)
    return laid, count


def _lay_pages(report: Report, rows: int) -> Markup:
    clusters = [cluster_values(_among(each, rows)) for each in report.clusters]
    return packed("page-data", {"pages": page_columns(report.pages[:rows]), "clusters": clusters})


def _among(cluster: Cluster, rows: int) -> Cluster:
    return replace(cluster, pages=tuple(place for place in cluster.pages if place < rows))


def _lay_pairs(report: Report, most: int) -> tuple[Markup, int]:
    """Lay all pairs, and the texts of as many as fit: near misses first, then by their order."""
    wanted = [place for place in _by_need(report) if report.pairs[place].changes]

    def lay(count: int) -> Markup:
        shown = set(wanted[:count])
        kept = (
            each if place in shown else replace(each, changes=()) for place, each in enumerate(report.pairs)
        )
        return packed(
            "pair-data", {"pairs": [pair_values(each) for each in kept], "misses": list(report.misses)}
        )

    return _shrink(len(wanted), most, lay)


def _by_need(report: Report) -> Iterable[int]:
    return dict.fromkeys((*report.misses, *range(len(report.pairs))))


def _with_texts(pairs: Sequence[Pair]) -> int:
    return sum(bool(pair.changes) for pair in pairs)


def _note(what: str, shown: int, known: int) -> str:
    if shown == known:
        return ""
    return f"{shown:,} of {known:,} {what}: more would make this file too large."
