"""What a detector says of a pair, on a terminal. What comes from pages is text: no control characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dedupcrawl.stores.fleet import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from dedupcrawl.detectors.base import Bar, Exhibit, Opinion

_WORD = 80  #: characters of an element of an exhibit
_ELEMENTS = 8  #: of each kind of an exhibit
_PLACES = 512  #: places of an exhibit that are drawn
_LINE = 32  #: of them in a line


def drawn(opinion: Opinion) -> RenderableType:
    """Draw an opinion: what it says, the bars, the figures and what two sketches share."""
    title = Text.assemble((opinion.detector, "bold"), "  ", _match(opinion))
    if opinion.silent:
        return title
    figures = Table.grid()  # a text of its own would not be folded in a pipe
    figures.add_row(Text(_figures(opinion.figures.items()), style="dim", overflow="fold"))
    parts: list[RenderableType] = [_bars(opinion), figures]
    rows = [row for shown in opinion.exhibits for row in _exhibit(shown)]
    if rows:
        parts.append(facts(rows))
    return Group(title, Padding(Group(*parts), (0, 0, 0, 2)))


def _match(opinion: Opinion) -> Text:
    if opinion.silent:
        return Text(opinion.silent, style="yellow")
    measured = "" if opinion.similarity is None else f"  similarity {opinion.similarity:.4f}"
    if opinion.match is None:
        return Text(f"no match{measured}", style="red")
    return Text(f"{opinion.match.relation}{measured}", style="green")


def _bars(opinion: Opinion) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    rows = [(bar, "") for bar in opinion.bars]
    rows += [(bar, " (for excerpts, expansions)") for bar in opinion.part_bars if bar not in opinion.bars]
    for bar, what in rows:
        mark = Text("✓", style="green") if bar.is_met else Text("✗", style="red")
        measure = (bar.measure if bar.constant else "") + what
        table.add_row(mark, Text(bar.constant or bar.measure), Text(_condition(bar)), Text(measure))
    return table


def _condition(bar: Bar) -> str:
    signs = (">" if bar.is_strict else "≥", "<" if bar.is_strict else "≤")
    found, value = _told_apart(bar.found, bar.value)
    return f"{found}, must be {signs[0] if bar.at_least else signs[1]} {value}"


def _told_apart(found: float, value: float) -> tuple[str, str]:
    """Write two numbers with as few digits as show that they differ, if they do."""
    shown = ((number(found, digits), number(value, digits)) for digits in (4, 6, 9))
    return next((pair for pair in shown if pair[0] != pair[1] or found == value), (repr(found), repr(value)))


def number(value: float, digits: int = 4) -> str:
    """Write a number with at most so many digits behind the point."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}".rstrip("0").rstrip(".")


def _figures(figures: Iterable[tuple[str, object]]) -> str:
    return " · ".join(f"{name.replace('_', ' ')} {_figure(value)}" for name, value in figures)


def _figure(value: object) -> str:
    if isinstance(value, dict):
        return f"({_figures(value.items())})"
    plain = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return printable(plain, _WORD * 4)


def _exhibit(shown: Exhibit) -> Iterator[tuple[str, Text]]:
    if 0 < len(shown.agreeing) <= _PLACES:
        yield shown.unit, _strip(shown.agreeing)
    kinds = (("in both", shown.shared), ("new only", shown.only_new), ("older only", shown.only_old))
    for kind, elements in kinds:
        if elements:
            yield f"{shown.unit}, {kind}", Text(_listed(elements))


def _strip(agreeing: str) -> Text:
    """Draw places: "#" where they agree; of ASCII, for other signs are of two widths in some terminals."""
    strip = Text()
    for place, agrees in enumerate(agreeing):
        strip.append("\n" if place and place % _LINE == 0 else "")
        strip.append("#" if agrees == "1" else ".", style="green" if agrees == "1" else "red")
    return strip


def _listed(elements: Sequence[str]) -> str:
    more = f" … and {len(elements) - _ELEMENTS} more" if len(elements) > _ELEMENTS else ""
    return ", ".join(printable(each, _WORD) for each in elements[:_ELEMENTS]) + more


def facts(rows: Iterable[tuple[str, Text]]) -> Table:
    """Make a table of names and what is to be said of them."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table
