"""Who reprints whom: a matrix of hosts, with the rest of them in a row and a column of their own."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.report.merging import OTHERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.report.figures import Flow

_SHADES = 6


@dataclass(frozen=True, slots=True)
class Cell:
    """Pages of the row's host that repeat pages of the column's."""

    pages: int
    shade: int  #: 0…6, how dark: by the square root of its share of the largest cell
    is_same: bool  #: whether both hosts are one


@dataclass(frozen=True, slots=True)
class Row:
    """A host whose pages are copies."""

    host: str  #: "" for all others
    cells: tuple[Cell, ...]  #: in the order of the columns
    pages: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """Copies by row, sources by column."""

    columns: tuple[str, ...]  #: hosts whose pages came first; "" at the end for all others, if there are any
    rows: tuple[Row, ...]
    sums: tuple[int, ...]  #: of each column


def draw_hosts(flows: Sequence[Flow], most: int = 12) -> Matrix | None:
    """Return the matrix of the hosts with most copies and most copied, or nothing where nothing was repeated.

    Args:
        flows: pages by copying and by copied host.
        most: rows, and columns, before the rest is put together.
    """
    copies, sources = Counter[str](), Counter[str]()
    for flow in flows:
        copies[flow.copy] += flow.pages
        sources[flow.source] += flow.pages
    if not copies:
        return None
    rows, columns = _named(copies, most), _named(sources, most)
    cells = Counter[tuple[str, str]]()
    for flow in flows:
        place = (flow.copy if flow.copy in rows else "", flow.source if flow.source in columns else "")
        cells[place] += flow.pages
    sums = tuple(sum(cells[row, column] for row in rows) for column in columns)
    return Matrix(tuple(columns), tuple(_row(row, columns, cells) for row in rows), sums)


def _named(hosts: Counter[str], most: int) -> list[str]:
    """Return the hosts with most pages; one that is left over is named too, more are put together as ""."""
    named = hosts.keys() - {OTHERS, ""}
    ordered = sorted(named, key=lambda host: (-hosts[host], host))
    return ordered if len(named) == len(hosts) and len(ordered) <= most + 1 else [*ordered[:most], ""]


def _row(host: str, columns: Sequence[str], cells: Mapping[tuple[str, str], int]) -> Row:
    darkest = max(cells.values())
    made = tuple(_cell(cells.get((host, column), 0), darkest, host, column) for column in columns)
    return Row(host, made, sum(cell.pages for cell in made))


def _cell(pages: int, darkest: int, row: str, column: str) -> Cell:
    shade = math.ceil(math.sqrt(pages / darkest) * _SHADES) if darkest else 0
    return Cell(pages, shade, is_same=bool(row) and row == column)
