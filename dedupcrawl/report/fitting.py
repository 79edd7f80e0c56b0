"""The data of a page, in no more bytes than it may have.

What does not fit is left out: texts and evidence of pairs, where they take more than half, then rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dedupcrawl.report.assembling import packed
from dedupcrawl.report.columns import cluster_values, page_columns, pair_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

    from dedupcrawl.report.facts import Cluster, Pair, Report

_MARGIN = 0.97  #: of what should fit by rule of three, for the rest packs a little worse


@dataclass(frozen=True, slots=True)
class Fitted:
    """The data elements of a page, and what a reader must know of what is not in them."""

    data: tuple[Markup, ...] = ()
    notes: tuple[str, ...] = ()


def fit(report: Report, most: int) -> Fitted:
    """Return the data of a report in at most ``most`` bytes."""
    pairs, whole = _lay_pairs(report, most // 2)
    rest = most - len(pairs)
    pages, rows = _shrink(len(report.pages), rest, lambda count: _lay_pages(report, count))
    notes = (
        _note("pairs are shown with their texts and all evidence", whole, len(report.pairs)),
        _note("noted pages are in the table", rows, len(report.pages)),
    )
    return Fitted((pages, pairs), tuple(filter(None, notes)))


def _shrink(count: int, most: int, lay: Callable[[int], Markup]) -> tuple[Markup, int]:
    """Lay fewer and fewer things until what comes of it fits."""
    laid, bare = lay(count), 0
    while len(laid) > most and count:
        bare = bare or len(lay(0))
        share = max(most - bare, 0) / max(len(laid) - bare, 1)
        count = min(count - 1, int(count * share * _MARGIN))
        laid = lay(count)
    return laid, count


def _lay_pages(report: Report, rows: int) -> Markup:
    clusters = [cluster_values(_among(each, rows)) for each in report.clusters]
    return packed("page-data", {"pages": page_columns(report.pages[:rows]), "clusters": clusters})


def _among(cluster: Cluster, rows: int) -> Cluster:
    return replace(cluster, pages=tuple(place for place in cluster.pages if place < rows))


def _lay_pairs(report: Report, most: int) -> tuple[Markup, int]:
    """Lay all pairs, as many as fit with their texts: near misses first, then by their order."""
    wanted = list(dict.fromkeys((*report.misses, *range(len(report.pairs)))))

    def lay(count: int) -> Markup:
        shown = set(wanted[:count])
        kept = (each if place in shown else _bare(each) for place, each in enumerate(report.pairs))
        return packed(
            "pair-data", {"pairs": [pair_values(each) for each in kept], "misses": list(report.misses)}
        )

    return _shrink(len(wanted), most, lay)


def _bare(pair: Pair) -> Pair:
    """Leave nothing of a pair but the verdict and the conditions that led to it."""
    opinions = tuple(replace(each, figures={}, exhibits=()) for each in pair.opinions)
    return replace(pair, changes=(), opinions=opinions)


def _note(what: str, shown: int, known: int) -> str:
    if shown == known:
        return ""
    return f"{shown:,} of {known:,} {what}: more would make this file too large."
