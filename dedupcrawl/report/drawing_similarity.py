"""How similar pairs were, by one detector: what it matched above the axis, what it did not below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.report.drawing import Block, Scale, Tick

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupcrawl.report.figures import Histogram

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 400, 44, 14, 22, 40
_UP, _DOWN = 110, 70  #: heights above and below the axis
_LEAST = 2.0  #: pixels of a bin with a single pair


@dataclass(frozen=True, slots=True)
class SimilarityChart:
    """The drawing, in pixels."""

    detector: str
    width: int
    height: int
    left: int
    right: int
    axis: int  #: y of the line between matched and missed
    blocks: tuple[Block, ...]
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
    scale = Scale(max(*histogram.matched, *histogram.missed), _UP)
    axis = _TOP + _UP
    return SimilarityChart(
        histogram.detector,
        _WIDTH,
        axis + (_DOWN if missed else 0) + _BOTTOM,
        _LEFT,
        _WIDTH - _RIGHT,
        axis,
        tuple(_bins(histogram, scale, axis)),
        tuple(Tick(_across(histogram, value), f"{value:.2g}") for value in _round_similarities(histogram)),
        tuple(_ticks(scale, axis, has_missed=missed > 0)),
        _threshold(histogram),
        scale.is_logarithmic,
        matched,
        missed,
        _below(histogram),
    )


def _across(histogram: Histogram, value: float) -> float:
    first, last = histogram.edges[0], histogram.edges[-1]
    share = (value - first) / (last - first) if last > first else 0.0
    return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 2)


def _round_similarities(histogram: Histogram) -> Sequence[float]:
    first, last = histogram.edges[0], histogram.edges[-1]
    step = 0.2 if last - first > 0.5 else 0.1 if last - first > 0.2 else 0.05
    numbers = (round(number * step, 2) for number in range(int(1 / step) + 1))
    return [value for value in numbers if first <= value <= last]


def _threshold(histogram: Histogram) -> Tick | None:
    value = histogram.threshold
    if value is None or not histogram.edges[0] <= value <= histogram.edges[-1]:
        return None
    return Tick(_across(histogram, value), f"threshold {value:.3g}")


def _below(histogram: Histogram) -> int:
    """Count what was matched in bins that end at the threshold, or before it."""
    if histogram.threshold is None:
        return 0
    bins = zip(histogram.edges[1:], histogram.matched, strict=False)
    return sum(matched for high, matched in bins if high <= histogram.threshold)


def _bins(histogram: Histogram, scale: Scale, axis: int) -> Iterator[Block]:
    """Bars upwards and downwards by the same scale; what is below is cut at the drawing's lower edge."""
    spans = zip(histogram.edges, histogram.edges[1:], histogram.matched, histogram.missed, strict=False)
    for low, high, matched, missed in spans:
        x, end = _across(histogram, low), _across(histogram, high)
        width = round(max(end - x - 1, 1), 2)
        span = f"{low:.3g} to {high:.3g}"
        if matched:
            height = max(scale(matched), _LEAST)
            yield Block("matched", x, round(axis - height, 2), width, height, f"{span}: {matched:,} matched")
        if missed:
            height = max(round(scale(missed) / _UP * _DOWN, 2), _LEAST)
            yield Block("missed", x, axis, width, height, f"{span}: {missed:,} not matched")


def _ticks(scale: Scale, axis: int, *, has_missed: bool) -> Iterator[Tick]:
    """Three round counts each way are enough for so small a drawing."""
    counts = scale.ticks
    chosen = counts[:: max(1, -(-len(counts) // 3))]
    for count in chosen:
        yield Tick(round(axis - scale(count), 1), f"{count:,}")
        if has_missed:
            yield Tick(round(axis + scale(count) / _UP * _DOWN, 1), f"{count:,}")
