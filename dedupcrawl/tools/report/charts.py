"""Scales and their ticks: where on a drawing a count, a similarity or a time stands.

Who reprints whom: a matrix of hosts, with the rest of them in a row and a column of their own.

How similar pairs were, by one detector: what it matched above the axis, what it did not below.

What became of the pages, over time: a stack for each span.

What became of all pages, as parts that add up to them.
"""

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

    from dedupcrawl.ledger.counters import Flow, Histogram, RunTotals, Slice


_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR for step in (1, 2, 3, 6, 12)),
    *(step * _DAY for step in (1, 2, 7, 14, 28, 91, 182, 365)),
)
_LOGARITHMIC_ABOVE = 40  #: counts beyond it would flatten a single pair to nothing on a linear scale


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    place: float  #: in pixels, from the left or the top
    label: str


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle of a drawing; ``kind`` is the class that colours it."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    told: str = ""  #: what it says on hover


@dataclass(frozen=True, slots=True)
class Scale:
    """From 0…``most`` things to 0…``length`` pixels; by logarithm where one would be too small to see."""

    most: int
    length: float

    @property
    def is_logarithmic(self) -> bool:
        """Whether lengths go by the logarithm of a count."""
        return self.most > _LOGARITHMIC_ABOVE

    def __call__(self, count: float) -> float:
        """Return the length of a count in pixels."""
        if self.most <= 0:
            return 0.0
        if self.is_logarithmic:
            return round(math.log1p(count) / math.log1p(self.most) * self.length, 2)
        return round(count / self.most * self.length, 2)

    @property
    def ticks(self) -> tuple[int, ...]:
        """Return round counts above 0, rising."""
        if self.is_logarithmic:
            return tuple(10**power for power in range(int(math.log10(self.most)) + 1))
        return round_counts(self.most)


def round_counts(most: int, wanted: int = 4) -> tuple[int, ...]:
    """Return some round numbers from above 0 to ``most``, equally far apart.

    >>> round_counts(7), round_counts(230), round_counts(0)
    ((2, 4, 6), (50, 100, 150, 200), ())
    """
    if most <= 0:
        return ()
    least = most / (wanted + 1)
    power = 10 ** math.floor(math.log10(least)) if least >= 1 else 1
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= least)
    return tuple(range(step, most + 1, step))


def time_ticks(start: float, end: float, width: float, *, apart: float) -> tuple[Tick, ...]:
    """Return ticks at round times, in UTC.

    Args:
        start: Unix time at place 0.
        end: Unix time at place ``width``.
        width: of the drawing, in pixels.
        apart: least distance of two ticks, in pixels.
    """
    span = end - start
    if not 0 < span < math.inf:
        return ()
    least = span * apart / width
    step = next((each for each in _STEPS if each >= least), _whole_years(least))
    first = math.ceil(start / step)
    last = math.floor(end / step)
    times = [number * step for number in range(first, last + 1)]
    return tuple(Tick(round((time - start) / span * width, 1), _time_label(time, step)) for time in times)


def _whole_years(least: float) -> int:
    return math.ceil(least / (365 * _DAY)) * 365 * _DAY


def _time_label(time: float, step: int) -> str:
    try:
        moment = datetime.fromtimestamp(time, UTC)
    except (ValueError, OverflowError, OSError):
        return "–"
    if step >= 182 * _DAY:
        return f"{moment:%b %Y}"
    if step >= _DAY:
        return f"{moment.day} {moment:%b}"
    is_midnight = moment.hour == moment.minute == moment.second == 0
    if is_midnight:
        return f"{moment.day} {moment:%b}"
    return f"{moment:%H:%M:%S}" if step < _MINUTE else f"{moment:%H:%M}"


_SHADES = 6


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """Pages of the row's host that repeat pages of the column's."""

    pages: int
    shade: int  #: 0…6, how dark: by the square root of its share of the largest cell
    is_same: bool  #: whether both hosts are one


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A host whose pages are copies."""

    host: str  #: "" for all others
    cells: tuple[MatrixCell, ...]  #: in the order of the columns
    pages: int


@dataclass(frozen=True, slots=True)
class HostMatrix:
    """Copies by row, sources by column."""

    columns: tuple[str, ...]  #: hosts whose pages came first; "" at the end for all others, if there are any
    rows: tuple[MatrixRow, ...]
    sums: tuple[int, ...]  #: of each column


def draw_hosts(flows: Sequence[Flow], most: int = 12) -> HostMatrix | None:
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
    rows, columns = _largest_hosts(copies, most), _largest_hosts(sources, most)
    cells = Counter[tuple[str, str]]()
    for flow in flows:
        place = (flow.copy if flow.copy in rows else "", flow.source if flow.source in columns else "")
        cells[place] += flow.pages
    sums = tuple(sum(cells[row, column] for row in rows) for column in columns)
    return HostMatrix(tuple(columns), tuple(_matrix_row(row, columns, cells) for row in rows), sums)


def _largest_hosts(hosts: Counter[str], most: int) -> list[str]:
    """Return the hosts with most pages; one that is left over is named too, more are put together as ""."""
    named = hosts.keys() - {OTHER_HOSTS, ""}
    ordered = sorted(named, key=lambda host: (-hosts[host], host))
    return ordered if len(named) == len(hosts) and len(ordered) <= most + 1 else [*ordered[:most], ""]


def _matrix_row(host: str, columns: Sequence[str], cells: Mapping[tuple[str, str], int]) -> MatrixRow:
    darkest = max(cells.values())
    made = tuple(_matrix_cell(cells.get((host, column), 0), darkest, host, column) for column in columns)
    return MatrixRow(host, made, sum(cell.pages for cell in made))


def _matrix_cell(pages: int, darkest: int, row: str, column: str) -> MatrixCell:
    shade = math.ceil(math.sqrt(pages / darkest) * _SHADES) if darkest else 0
    return MatrixCell(pages, shade, is_same=bool(row) and row == column)


_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 400, 44, 14, 22, 40
_HEIGHT_ABOVE, _HEIGHT_BELOW = 110, 70  #: heights above and below the axis
_MIN_BAR = 2.0  #: pixels of a bin with a single pair


@dataclass(frozen=True, slots=True)
class SimilarityChart:
    """The drawing, in pixels."""

    detector: str
    width: int
    height: int
    left: int
    right: int
    axis: int  #: y of the line between matched and missed
    blocks: tuple[Rect, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    threshold: Tick | None
    is_logarithmic: bool
    matched: int
    missed: int
    below: int  #: matched although less similar than the threshold


def draw_similarity(histogram: Histogram) -> SimilarityChart | None:
    """Return the bins of a detector, or nothing where it was never asked."""
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
        tuple(
            Tick(_similarity_x(histogram, value), f"{value:.2g}") for value in _round_similarities(histogram)
        ),
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


def _threshold_tick(histogram: Histogram) -> Tick | None:
    value = histogram.threshold
    if value is None or not histogram.edges[0] <= value <= histogram.edges[-1]:
        return None
    return Tick(_similarity_x(histogram, value), f"threshold {value:.3g}")


def _matched_below_threshold(histogram: Histogram) -> int:
    """Count what was matched in bins that end at the threshold, or before it."""
    if histogram.threshold is None:
        return 0
    bins = zip(histogram.edges[1:], histogram.matched, strict=False)
    return sum(matched for high, matched in bins if high <= histogram.threshold)


def _histogram_bars(histogram: Histogram, scale: Scale, axis: int) -> Iterator[Rect]:
    """Bars upwards and downwards by the same scale; what is below is cut at the drawing's lower edge."""
    spans = zip(histogram.edges, histogram.edges[1:], histogram.matched, histogram.missed, strict=False)
    for low, high, matched, missed in spans:
        x, end = _similarity_x(histogram, low), _similarity_x(histogram, high)
        width = round(max(end - x - 1, 1), 2)
        span = f"{low:.3g} to {high:.3g}"
        if matched:
            height = max(scale(matched), _MIN_BAR)
            yield Rect("matched", x, round(axis - height, 2), width, height, f"{span}: {matched:,} matched")
        if missed:
            height = max(round(scale(missed) / _HEIGHT_ABOVE * _HEIGHT_BELOW, 2), _MIN_BAR)
            yield Rect("missed", x, axis, width, height, f"{span}: {missed:,} not matched")


def _count_ticks(scale: Scale, axis: int, *, has_missed: bool) -> Iterator[Tick]:
    """Three round counts each way are enough for so small a drawing."""
    counts = scale.ticks
    chosen = counts[:: max(1, -(-len(counts) // 3))]
    for count in chosen:
        yield Tick(round(axis - scale(count), 1), f"{count:,}")
        if has_missed:
            yield Tick(round(axis + scale(count) / _HEIGHT_ABOVE * _HEIGHT_BELOW, 1), f"{count:,}")


_TIME_LEFT, _TIME_RIGHT, _TIME_TOP, _TIME_BOTTOM = 48, 12, 8, 24
_TIME_HEIGHT = 200
_FATES = ("kept", "dropped", "unchecked")  #: from the axis upwards


@dataclass(frozen=True, slots=True)
class TimeChart:
    """The drawing, in pixels."""

    width: int
    height: int
    left: int
    right: int
    bottom: int  #: y of the axis
    blocks: tuple[Rect, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


def draw_time(slices: Sequence[Slice], width: int) -> TimeChart | None:
    """Return the stacks of all spans, or nothing where there is no span.

    Args:
        slices: spans of time, equal and without gaps.
        width: of the whole drawing, in pixels.
    """
    if not slices:
        return None
    plot, bottom = width - _TIME_LEFT - _TIME_RIGHT, _TIME_HEIGHT - _TIME_BOTTOM
    most = max(each.kept + each.dropped + each.unchecked for each in slices)
    scale = (bottom - _TIME_TOP) / max(most, 1)
    ends = slices[0].start, slices[-1].start + _slice_seconds(slices)
    across = time_ticks(*ends, plot, apart=72)
    return TimeChart(
        width,
        _TIME_HEIGHT,
        _TIME_LEFT,
        width - _TIME_RIGHT,
        bottom,
        tuple(_stacks(slices, plot / len(slices), bottom, scale)),
        tuple(Tick(tick.place + _TIME_LEFT, tick.label) for tick in across),
        tuple(Tick(round(bottom - count * scale, 1), f"{count:,}") for count in round_counts(most)),
    )


def _slice_seconds(slices: Sequence[Slice]) -> float:
    return slices[1].start - slices[0].start if len(slices) > 1 else 1.0


def _stacks(slices: Sequence[Slice], step: float, bottom: int, scale: float) -> Iterator[Rect]:
    gap = 1.0 if step > 4 else 0.0
    for place, each in enumerate(slices):
        x, y = _TIME_LEFT + place * step, float(bottom)
        told = f"{instant(each.start)}: {each.kept:,} kept, {each.dropped:,} dropped"
        told += f", {each.unchecked:,} unchecked" if each.unchecked else ""
        for fate in _FATES:
            height = getattr(each, fate) * scale
            y -= height
            if height:
                yield Rect(fate, round(x, 2), round(y, 2), round(step - gap, 2), round(height, 2), told)


_RELATION_MEANINGS = {
    "identical": "the same main text as an earlier page",
    "near-duplicate": "the same but for small changes",
    "unchanged": "seen before under the same URL, with the same text",
    "excerpt": "all of it is in a longer earlier page",
    "expansion": "contains a shorter earlier page, and more",
    "updated": "seen before under the same URL, with another text",
}


@dataclass(frozen=True, slots=True)
class OutcomeSegment:
    """A part of the pages."""

    kind: str  #: the class that colours it
    name: str
    meaning: str
    pages: int
    start: float  #: where its part of the bar begins, 0…100
    width: float


def outcome_bar(figures: RunTotals) -> tuple[OutcomeSegment, ...]:
    """Return the parts in the order of the bar: new, related, repeated, unchecked."""
    made, start = [], 0.0
    for kind, name, meaning, pages in _outcome_counts(figures):
        width = 100 * pages / max(figures.pages, 1)
        made.append(OutcomeSegment(kind, name, meaning, pages, round(start, 3), round(width, 3)))
        start += width
    return tuple(made)


def _outcome_counts(figures: RunTotals) -> Iterator[tuple[str, str, str, int]]:
    said = sum(figures.duplicates.values()) + sum(figures.related.values())
    yield "unique", "new", "like no earlier page", figures.checked - said
    for counts in (figures.related, figures.duplicates):
        for relation, pages in counts.items():
            if pages:
                yield relation, relation, _RELATION_MEANINGS.get(relation, ""), pages
    unchecked = sum(figures.unchecked.values())
    if unchecked:
        reasons = (f"{reason} {pages:,}" for reason, pages in figures.unchecked.items() if pages)
        yield "unchecked", "unchecked", "could not be judged, and kept: " + ", ".join(reasons), unchecked
