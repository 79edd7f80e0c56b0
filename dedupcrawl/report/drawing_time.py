"""What became of the pages, over time: a stack for each span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.formatting import instant
from dedupcrawl.report.drawing import Block, Tick, round_counts, time_ticks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupcrawl.report.figures import Slice

_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 8, 24
_HEIGHT = 200
_FATES = ("kept", "dropped", "unchecked")  #: from the axis upwards


@dataclass(frozen=True, slots=True)
class TimeChart:
    """The drawing, in pixels."""

    width: int
    height: int
    left: int
    right: int
    bottom: int  #: y of the axis
    blocks: tuple[Block, ...]
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
    plot, bottom = width - _LEFT - _RIGHT, _HEIGHT - _BOTTOM
    most = max(each.kept + each.dropped + each.unchecked for each in slices)
    scale = (bottom - _TOP) / max(most, 1)
    ends = slices[0].start, slices[-1].start + _span(slices)
    across = time_ticks(*ends, plot, apart=72)
    return TimeChart(
        width,
        _HEIGHT,
        _LEFT,
        width - _RIGHT,
        bottom,
        tuple(_stacks(slices, plot / len(slices), bottom, scale)),
        tuple(Tick(tick.place + _LEFT, tick.label) for tick in across),
        tuple(Tick(round(bottom - count * scale, 1), f"{count:,}") for count in round_counts(most)),
    )


def _span(slices: Sequence[Slice]) -> float:
    return slices[1].start - slices[0].start if len(slices) > 1 else 1.0


def _stacks(slices: Sequence[Slice], step: float, bottom: int, scale: float) -> Iterator[Block]:
    gap = 1.0 if step > 4 else 0.0
    for place, each in enumerate(slices):
        x, y = _LEFT + place * step, float(bottom)
        told = f"{instant(each.start)}: {each.kept:,} kept, {each.dropped:,} dropped"
        told += f", {each.unchecked:,} unchecked" if each.unchecked else ""
        for fate in _FATES:
            height = getattr(each, fate) * scale
            y -= height
            if height:
                yield Block(fate, round(x, 2), round(y, 2), round(step - gap, 2), round(height, 2), told)
