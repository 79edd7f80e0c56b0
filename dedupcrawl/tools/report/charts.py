"""The charts of a report as coordinates: time, similarity, hosts, outcomes; templates draw them as SVG."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dedupcrawl.ledger.counters import OTHER_HOSTS
from dedupcrawl.utils.formatting import instant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dedupcrawl.ledger.counters import FlowCount, Histogram, RunCounts, SliceCount

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR for step in (1, 2, 3, 6, 12)),
    *(step * _DAY for step in (1, 2, 7, 14, 28, 91, 182, 365)),
)  #: seconds between two ticks of a time axis
_LOGARITHMIC_ABOVE = 40  #: counts above it need a logarithmic scale, or a count of 1 is invisible
_SHADES = 6  #: shades of the host matrix
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = (400, 44, 14, 22, 40)  #: size and margins of the similarity chart, pixels
_HEIGHT_ABOVE, _HEIGHT_BELOW = 110, 70  #: heights above and below its axis
_MIN_BAR = 2.0  #: height of its lowest bars
_TIME_LEFT, _TIME_RIGHT, _TIME_TOP, _TIME_BOTTOM = 48, 12, 8, 24  #: margins of the time chart, pixels
_TIME_APART = 90  #: least pixels between two labels; the last one ends at its tick, and comes nearer to the one before
_TIME_HEIGHT = 200
_OUTCOMES = ("kept", "dropped", "unchecked")  #: in the time chart, upwards from the axis
_RELATION_MEANINGS = {
    "identical": "the same main text as an earlier page",
    "near-duplicate": "the same with small changes",
    "unchanged": "seen before under the same URL, with the same text",
    "excerpt": "all of it is in a longer earlier page",
    "expansion": "contains a shorter earlier page, and more",
    "updated": "seen before under the same URL, with another text",
    "refreshed": "seen before under the same URL, with the same names and values and nearly the same text",
    "sibling": "nearly the text of an earlier page, about something else",
}


@dataclass(frozen=True, slots=True)
class AxisLabel:
    """A labelled position on an axis."""

    position: float  #: pixels from the left or the top
    label: str


@dataclass(frozen=True, slots=True)
class ChartRectangle:
    """A rectangle of a chart, in pixels; ``kind`` is its CSS class."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps counts from 0 to ``most`` to lengths from 0 to ``length`` pixels; logarithmic for large counts."""

    most: int
    length: float

    @property
    def is_logarithmic(self) -> bool:
        """Whether the scale is logarithmic."""
        return self.most > _LOGARITHMIC_ABOVE

    def __call__(self, count: float) -> float:
        """Return the length of a count."""
        if self.most <= 0:
            return 0.0
        if self.is_logarithmic:
            return round(math.log1p(count) / math.log1p(self.most) * self.length, 2)
        return round(count / self.most * self.length, 2)

    @property
    def ticks(self) -> tuple[int, ...]:
        """Return round counts above 0, in rising order."""
        if self.is_logarithmic:
            return tuple(10**power for power in range(int(math.log10(self.most)) + 1))
        return round_counts(self.most)


@dataclass(frozen=True, slots=True)
class TimeChart:
    """Stacked bars of pages by time slice, in pixels."""

    width: int
    height: int
    left: int
    right: int
    bottom: int  #: y of the axis
    rects: tuple[ChartRectangle, ...]
    x_ticks: tuple[AxisLabel, ...]
    y_ticks: tuple[AxisLabel, ...]


def draw_time(slices: Sequence[SliceCount], width: int) -> TimeChart | None:
    """Return a stacked bar for each time slice, in a chart of ``width`` pixels; None without slices."""
    if not slices:
        return None
    plot, bottom = width - _TIME_LEFT - _TIME_RIGHT, _TIME_HEIGHT - _TIME_BOTTOM
    most = max(each.kept + each.dropped + each.unchecked for each in slices)
    scale = (bottom - _TIME_TOP) / max(most, 1)
    ends = slices[0].start, slices[-1].start + _slice_seconds(slices)
    across = time_ticks(*ends, plot, apart=_TIME_APART)
    return TimeChart(
        width,
        _TIME_HEIGHT,
        _TIME_LEFT,
        width - _TIME_RIGHT,
        bottom,
        tuple(_stacks(slices, plot / len(slices), bottom, scale)),
        tuple(AxisLabel(tick.position + _TIME_LEFT, tick.label) for tick in across),
        tuple(AxisLabel(round(bottom - count * scale, 1), f"{count:,}") for count in round_counts(most)),
    )


def _slice_seconds(slices: Sequence[SliceCount]) -> float:
    return slices[1].start - slices[0].start if len(slices) > 1 else 1.0


def _stacks(slices: Sequence[SliceCount], step: float, bottom: int, scale: float) -> Iterator[ChartRectangle]:
    gap = 1.0 if step > 4 else 0.0
    for index, each in enumerate(slices):
        x, y = _TIME_LEFT + index * step, float(bottom)
        tooltip = f"{instant(each.start)}: {each.kept:,} kept, {each.dropped:,} dropped"
        tooltip += f", {each.unchecked:,} unchecked" if each.unchecked else ""
        for outcome in _OUTCOMES:
            height = getattr(each, outcome) * scale
            y -= height
            if height:
                yield ChartRectangle(outcome, round(x, 2), round(y, 2), round(step - gap, 2), round(height, 2), tooltip)


@dataclass(frozen=True, slots=True)
class SimilarityChart:
    """Histogram of one detector, in pixels: matched pairs above the axis, others below."""

    detector: str
    width: int
    height: int
    left: int
    right: int
    axis: int  #: y
    rects: tuple[ChartRectangle, ...]
    x_ticks: tuple[AxisLabel, ...]
    y_ticks: tuple[AxisLabel, ...]
    threshold: AxisLabel | None
    is_logarithmic: bool
    matched: int
    missed: int
    below: int  #: matched pairs below the threshold


def draw_similarity(histogram: Histogram) -> SimilarityChart | None:
    """Return the histogram of a detector; None if it compared no pairs."""
    matched, missed = sum(histogram.matched), sum(histogram.missed)
    if not matched + missed:
        return None
    scale = Scale(max(*histogram.matched, *histogram.missed), _HEIGHT_ABOVE)
    axis = _TOP + _HEIGHT_ABOVE
    return SimilarityChart(
        histogram.detector,
        _WIDTH,
        axis + (_HEIGHT_BELOW if missed else 0) + _BOTTOM,
        _LEFT,
        _WIDTH - _RIGHT,
        axis,
        tuple(_histogram_bars(histogram, scale, axis)),
        tuple(AxisLabel(_similarity_x(histogram, value), f"{value:.2g}") for value in _round_similarities(histogram)),
        tuple(_count_ticks(scale, axis, has_missed=missed > 0)),
        _threshold_tick(histogram),
        scale.is_logarithmic,
        matched,
        missed,
        _matched_below_threshold(histogram),
    )


def _similarity_x(histogram: Histogram, value: float) -> float:
    first, last = histogram.edges[0], histogram.edges[-1]
    share = (value - first) / (last - first) if last > first else 0.0
    return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 2)


def _round_similarities(histogram: Histogram) -> Sequence[float]:
    first, last = histogram.edges[0], histogram.edges[-1]
    step = 0.2 if last - first > 0.5 else 0.1 if last - first > 0.2 else 0.05
    numbers = (round(number * step, 2) for number in range(int(1 / step) + 1))
    return [value for value in numbers if first <= value <= last]


def _threshold_tick(histogram: Histogram) -> AxisLabel | None:
    value = histogram.threshold
    if value is None or not histogram.edges[0] <= value <= histogram.edges[-1]:
        return None
    return AxisLabel(_similarity_x(histogram, value), f"threshold {value:.3g}")


def _matched_below_threshold(histogram: Histogram) -> int:
    """Count matched pairs in the bins below the threshold."""
    if histogram.threshold is None:
        return 0
    bins = zip(histogram.edges[1:], histogram.matched, strict=False)
    return sum(matched for high, matched in bins if high <= histogram.threshold)


def _histogram_bars(histogram: Histogram, scale: Scale, axis: int) -> Iterator[ChartRectangle]:
    """Yield the bars; those below the axis are scaled to the lower height."""
    spans = zip(histogram.edges, histogram.edges[1:], histogram.matched, histogram.missed, strict=False)
    for low, high, matched, missed in spans:
        x, end = _similarity_x(histogram, low), _similarity_x(histogram, high)
        width = round(max(end - x - 1, 1), 2)
        span = f"{low:.3g} to {high:.3g}"
        if matched:
            height = max(scale(matched), _MIN_BAR)
            yield ChartRectangle("matched", x, round(axis - height, 2), width, height, f"{span}: {matched:,} matched")
        if missed:
            height = max(round(scale(missed) / _HEIGHT_ABOVE * _HEIGHT_BELOW, 2), _MIN_BAR)
            yield ChartRectangle("missed", x, axis, width, height, f"{span}: {missed:,} not matched")


def _count_ticks(scale: Scale, axis: int, *, has_missed: bool) -> Iterator[AxisLabel]:
    """Yield about three ticks in each direction."""
    counts = scale.ticks
    chosen = counts[:: max(1, -(-len(counts) // 3))]
    for count in chosen:
        yield AxisLabel(round(axis - scale(count), 1), f"{count:,}")
        if has_missed:
            yield AxisLabel(round(axis + scale(count) / _HEIGHT_ABOVE * _HEIGHT_BELOW, 1), f"{count:,}")


@dataclass(frozen=True, slots=True)
class HostMatrixEntry:
    """Pages of the row's host that are duplicates of pages of the column's host."""

    pages: int
    shade: int  #: 0 to 6, from the square root of its share of the largest cell
    is_same: bool  #: whether both hosts are the same


@dataclass(frozen=True, slots=True)
class HostMatrixRow:
    """A host with duplicates."""

    host: str  #: "": all other hosts
    cells: tuple[HostMatrixEntry, ...]  #: in the order of the columns
    pages: int


@dataclass(frozen=True, slots=True)
class HostChart:
    """Duplicates by their host (rows) and the host of the earlier pages (columns)."""

    columns: tuple[str, ...]  #: hosts; "" at the end: all other hosts
    rows: tuple[HostMatrixRow, ...]
    sums: tuple[int, ...]  #: of each column


def draw_hosts(flows: Sequence[FlowCount], most: int = 12) -> HostChart | None:
    """Return the matrix of ``most`` hosts each, the others summed up; None without duplicates."""
    copies, sources = Counter[str](), Counter[str]()
    for flow in flows:
        copies[flow.copy] += flow.pages
        sources[flow.source] += flow.pages
    if not copies:
        return None
    rows, columns = _largest_hosts(copies, most), _largest_hosts(sources, most)
    cells = Counter[tuple[str, str]]()
    for flow in flows:
        cell = (flow.copy if flow.copy in rows else "", flow.source if flow.source in columns else "")
        cells[cell] += flow.pages
    sums = tuple(sum(cells[row, column] for row in rows) for column in columns)
    return HostChart(tuple(columns), tuple(_matrix_row(row, columns, cells) for row in rows), sums)


def _largest_hosts(hosts: Counter[str], most: int) -> list[str]:
    """Return the hosts with most pages; "" stands for the others, if there are at least two."""
    named = hosts.keys() - {OTHER_HOSTS, ""}
    ordered = sorted(named, key=lambda host: (-hosts[host], host))
    return ordered if len(named) == len(hosts) and len(ordered) <= most + 1 else [*ordered[:most], ""]


def _matrix_row(host: str, columns: Sequence[str], cells: Mapping[tuple[str, str], int]) -> HostMatrixRow:
    darkest = max(cells.values())
    made = tuple(_matrix_cell(cells.get((host, column), 0), darkest, host, column) for column in columns)
    return HostMatrixRow(host, made, sum(cell.pages for cell in made))


def _matrix_cell(pages: int, darkest: int, row: str, column: str) -> HostMatrixEntry:
    shade = math.ceil(math.sqrt(pages / darkest) * _SHADES) if darkest else 0
    return HostMatrixEntry(pages, shade, is_same=bool(row) and row == column)


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """A segment of the bar of all pages."""

    kind: str  #: its CSS class
    name: str
    meaning: str
    pages: int
    start: float  #: per cent of the bar
    width: float  #: per cent of the bar


def outcome_bar(figures: RunCounts) -> tuple[OutcomeRow, ...]:
    """Return the segments in their order: new, related, duplicate, unchecked."""
    made, start = [], 0.0
    for kind, name, meaning, pages in _outcome_counts(figures):
        width = 100 * pages / max(figures.pages, 1)
        made.append(OutcomeRow(kind, name, meaning, pages, round(start, 3), round(width, 3)))
        start += width
    return tuple(made)


def _outcome_counts(figures: RunCounts) -> Iterator[tuple[str, str, str, int]]:
    related = sum(figures.duplicates.values()) + sum(figures.related.values())
    yield "unique", "new", "similar to no earlier page", figures.checked - related
    for counts in (figures.related, figures.duplicates):
        for relation, pages in counts.items():
            if pages:
                yield relation, relation, _RELATION_MEANINGS.get(relation, ""), pages
    unchecked = sum(figures.unchecked.values())
    if unchecked:
        reasons = (f"{reason} {pages:,}" for reason, pages in figures.unchecked.items() if pages)
        yield "unchecked", "unchecked", "could not be judged, and kept: " + ", ".join(reasons), unchecked


def round_counts(most: int, wanted: int = 4) -> tuple[int, ...]:
    """Return about ``wanted`` round numbers above 0, up to ``most``, at equal distances.

    >>> round_counts(7), round_counts(230), round_counts(0)
    ((2, 4, 6), (50, 100, 150, 200), ())
    """
    if most <= 0:
        return ()
    least = most / (wanted + 1)
    power = 10 ** math.floor(math.log10(least)) if least >= 1 else 1
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= least)
    return tuple(range(step, most + 1, step))


def time_ticks(start: float, end: float, width: float, *, apart: float) -> tuple[AxisLabel, ...]:
    """Return ticks at round times in UTC, at least ``apart`` pixels apart.

    ``start`` is the Unix time at pixel 0, ``end`` that at pixel ``width``.
    """
    span = end - start
    if not 0 < span < math.inf:
        return ()
    least = span * apart / width
    step = next((each for each in _STEPS if each >= least), math.ceil(least / _STEPS[-1]) * _STEPS[-1])
    first = math.ceil(start / step)
    last = math.floor(end / step)
    times = [number * step for number in range(first, last + 1)]
    return tuple(AxisLabel(round((time - start) / span * width, 1), _time_label(time, step)) for time in times)


def _time_label(time: float, step: int) -> str:
    try:
        moment = datetime.fromtimestamp(time, UTC)
    except (ValueError, OverflowError, OSError):
        return "–"
    if step >= 182 * _DAY:
        return f"{moment:%b %Y}"
    if step >= _DAY or moment.hour == moment.minute == moment.second == 0:
        return f"{moment.day} {moment:%b}"
    return f"{moment:%H:%M:%S}" if step < _MINUTE else f"{moment:%H:%M}"
