"""Scales and their ticks: where on a drawing a count, a similarity or a time stands."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR for step in (1, 2, 3, 6, 12)),
    *(step * _DAY for step in (1, 2, 7, 14, 28, 91, 182, 365)),
)
_LOGARITHMIC_FROM = 40  #: counts beyond it would flatten a single pair to nothing on a linear scale


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    place: float  #: in pixels, from the left or the top
    label: str


@dataclass(frozen=True, slots=True)
class Block:
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
        return self.most > _LOGARITHMIC_FROM

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
    return tuple(Tick(round((time - start) / span * width, 1), _clock(time, step)) for time in times)


def _whole_years(least: float) -> int:
    return math.ceil(least / (365 * _DAY)) * 365 * _DAY


def _clock(time: float, step: int) -> str:
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
